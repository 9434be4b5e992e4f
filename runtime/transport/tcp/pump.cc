// How bytes move: sending, receiving and serving, by whoever polls, or by the thread that serves.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/doorbell.h"
#include "runtime/base/waiter.h"
#include "runtime/transport/tcp/tcp_transport.h"

namespace weft {
namespace {

// So many lanes are looked at directly; more are left to the set, which tells which are ready.
constexpr size_t kDirect = 4;
// The set is asked each time that so many pumps have gone by, or when nothing else is to do.
constexpr uint32_t kPumpsALook = 4;
// The thread that serves looks on this long after something came: where the program sleeps, longer
// than a round trip; where it computes, as long as its peer takes to ask again.
constexpr int64_t kSpinAsleepNanos = 50'000;
constexpr int64_t kSpinComputingNanos = 10'000;

}  // namespace

bool TcpTransport::Pump() {
  if (!calling_.empty()) StepCalls();
  if (!parting_.empty()) StepParting();
  bool any = !active_.empty() && WorkOnActive();
  const bool served = hot_.peer != nullptr;
  if (served) any |= ServeLane(*hot_.peer, hot_.lane);
  if (++pumps_ % kPumpsALook == 0 || (active_.empty() && !served)) {
    if (!meeting_.empty() || !hears_listening_) StepMeetings();
    for (const SocketTag& tag : sockets_->Ready()) any |= OnReady(tag);
  }
  return any;
}

bool TcpTransport::WorkOnActive() {
  bool any = false;
  for (size_t i = 0; i < active_.size();) {
    const LaneOf at = active_[i];
    if (WorkOn(at, /*receive=*/i < kDirect, any)) {
      ++i;
      continue;
    }
    at.peer->outgoing(at.lane).active = false;
    active_[i] = active_.back();
    active_.pop_back();
  }
  return any;
}

bool TcpTransport::WorkOn(const LaneOf& at, bool receive, bool& any) {
  Outgoing& outgoing = at.peer->outgoing(at.lane);
  RequestLane& requests = outgoing.requests;
  if (!requests.open() || !outgoing.parts.infinite()) return false;
  bool good = !requests.unsent() || requests.Send();
  if (good && receive) {
    good = requests.Receive(events_, any);
  } else if (good) {
    requests.TellDone(events_);
  }
  if (!good) {
    PartFrom(at);
    return false;
  }
  if (requests.unsent() != outgoing.send_armed) {
    outgoing.send_armed = requests.unsent();
    sockets_->Change(TagOf(*at.peer, at.lane, SocketTag::Role::kRequests, requests.socket()),
                     /*readable=*/true, outgoing.send_armed);
  }
  return requests.waiting() || requests.unsent();
}

bool TcpTransport::ServeLane(Peer& peer, Lane lane) {
  Incoming& incoming = peer.incoming(lane);
  if (incoming.served == nullptr) return false;
  ServedLane& served = *incoming.served;
  bool any = false;
  const ServedLane::Standing standing = served.Serve(any);
  if (standing == ServedLane::Standing::kRefused) {
    LosePeer(peer, served.why());
    return true;
  }
  if (standing == ServedLane::Standing::kClosed) {
    if (hot_.peer == &peer && hot_.lane == lane) hot_.peer = nullptr;
    sockets_->Remove(served.socket());
    incoming.served.reset();
    return true;
  }
  if (served.blocked() != incoming.blocked) {
    incoming.blocked = served.blocked();
    sockets_->Change(TagOf(peer, lane, SocketTag::Role::kServed, served.socket()),
                     !incoming.blocked, incoming.blocked);
  }
  if (any) hot_ = {&peer, lane};
  return any;
}

bool TcpTransport::OnReady(const SocketTag& tag) {
  switch (tag.role) {
    case SocketTag::Role::kListening:
      Accept();
      return true;
    case SocketTag::Role::kMeeting:
      StepMeetings();
      return true;
    case SocketTag::Role::kCalling:
      StepCalls();
      return true;
    case SocketTag::Role::kServed:
      return ServeLane(PeerOf(tag.peer), tag.lane);
    case SocketTag::Role::kRequests:
      break;
  }
  // Also one with nothing outstanding: its peer has hung up.
  bool any = false;
  Peer& peer = PeerOf(tag.peer);
  RequestLane& requests = peer.outgoing(tag.lane).requests;
  if (requests.open() && requests.socket() == tag.socket) {
    WorkOn({&peer, tag.lane}, /*receive=*/true, any);
  }
  return any;
}

int64_t TcpTransport::SpinNanos() const {
  const bool asleep = node_.control(node_.rank).doorbell.state.load(std::memory_order_relaxed) != 0;
  return asleep ? kSpinAsleepNanos : kSpinComputingNanos;
}

void TcpTransport::Serve(Mutex& mutex, Deadline deadline) {
  while (!deadline.Expired()) {
    const bool ready = sockets_->Wait(deadline);
    std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock.owns_lock()) {
      // Whoever has it is in the library, and polls.
      if (ready) sockets_->Leave();
      continue;
    }
    // At the deadline those are looked at that are late, and events that nobody was woken for.
    if (!ready && calling_.empty() && parting_.empty() && meeting_.empty() && hears_listening_ &&
        events_.empty()) {
      continue;
    }
    for (int64_t until = 0;;) {
      const bool any = Pump();
      const bool tells = !events_.empty() || refused_;
      lock.unlock();
      if (tells) {
        // Orders the events before the look at who sleeps.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        Ring(node_.control(node_.rank).doorbell);
      }
      const int64_t now = MonotonicNanos();
      if (any) until = now + SpinNanos();
      if (now >= until || now >= deadline.monotonic_nanos()) break;
      for (int i = 0; i < 8; ++i) CpuPause();
      if (!lock.try_lock()) {
        sockets_->Leave();
        break;
      }
    }
  }
}

}  // namespace weft
