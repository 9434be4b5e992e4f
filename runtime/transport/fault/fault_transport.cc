#include "runtime/transport/fault/fault_transport.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/transport/address.h"

namespace weft {
namespace {

constexpr size_t kEvents = 32;  // Of the inner transport, in one Poll.

// An inner token: which entry, and in which of its lives.
uint64_t InnerToken(size_t index, uint32_t generation) {
  return uint64_t{generation} << 32 | (index + 1);
}

}  // namespace

FaultTransport::FaultTransport(std::unique_ptr<Transport> inner, const FaultOptions& options)
    : inner_(std::move(inner)), options_(options), caps_(inner_->caps()), random_(options.seed) {
  caps_.name = "fault";
  caps_.wakes_sleepers = false;  // What is delayed here moves when it is polled.
  caps_.max_length = std::min(caps_.max_length, options_.max_length);
}

absl::StatusOr<std::unique_ptr<Registration>> FaultTransport::Register(const Segment& segment) {
  return inner_->Register(segment);
}

std::string FaultTransport::Address() const { return inner_->Address(); }

absl::Status FaultTransport::Connect(Rank peer, std::string_view address) {
  if (absl::Status status = inner_->Connect(peer, address); !status.ok()) return status;
  if (peer >= peers_.size()) peers_.resize(peer + 1);
  if (peers_[peer] == nullptr) {
    peers_[peer] = std::make_unique<Peer>();
    peers_[peer]->rank = peer;
    peers_[peer]->entries.resize(options_.capacity);
    connected_.push_back(peers_[peer].get());
  }
  return absl::OkStatus();
}

absl::StatusOr<RemoteRegion> FaultTransport::Import(Rank peer, std::string_view key) {
  return inner_->Import(peer, key);
}

void FaultTransport::Abandon(Rank peer, Lane lane) {
  if (Peer* const p = Find(peer)) {
    Drop(*p, lane);
  } else {
    inner_->Abandon(peer, lane);
  }
}

void FaultTransport::Drop(Peer& peer, Lane lane) {
  // The inner operations' events find another generation, and no entry.
  inner_->Abandon(peer.rank, lane);
  peer.down |= lane == Lane::kSmall;
  for (Entry& entry : peer.entries) {
    if (!entry.undone() || (lane == Lane::kBulk && entry.op.lane != Lane::kBulk)) continue;
    ++entry.generation;
    entry.result = Event::Result::kPeerDown;
    End(peer, entry);
    entry.due = 0;
  }
}

int64_t FaultTransport::Delay() {
  const int64_t spread = options_.max_delay_ns - options_.min_delay_ns;
  return options_.min_delay_ns +
         static_cast<int64_t>(random_.Below(static_cast<uint64_t>(std::max<int64_t>(spread, 0))));
}

uint64_t FaultTransport::OldestUndone(const Peer& peer, Lane lane) const {
  uint64_t oldest = UINT64_MAX;
  for (const Entry& entry : peer.entries) {
    if (entry.undone() && entry.op.lane == lane) oldest = std::min(oldest, entry.sequence);
  }
  return oldest;
}

void FaultTransport::Accept(Peer& peer, Entry& entry, const Op& op, int64_t now) {
  uint64_t& fence = peer.fence[static_cast<size_t>(op.lane)];
  const uint64_t sequence = peer.next_sequence++;
  if (op.fenced) fence = sequence;
  entry = {.op = op,
           .state = Entry::State::kWaiting,
           .generation = entry.generation + 1,
           .sequence = sequence,
           .after = fence,
           .due = now + Delay()};
  if (op.token != 0) {
    entry.result = std::exchange(peer.untold[static_cast<size_t>(op.lane)], Event::Result::kOk);
  }
  entry.op.fenced = false;  // What is before it is done when it is given.
  // What the inner transport refuses must stay whole, so that nothing of it moves.
  if (op.region != nullptr && GoodAddress(op) && !IsAtomic(op.kind) &&
      random_.Chance(options_.split)) {
    entry.ride_apart = op.ride != Ride::kNone;
    const bool single_value = op.length <= 8;  // Must not be torn.
    if (!single_value) {
      entry.pieces =
          static_cast<uint32_t>(2 + random_.Below(std::min<uint64_t>(kMaxPieces, op.length) - 1));
    }
  }
  entry.pieces_left = (uint32_t{1} << entry.pieces) - 1;
}

Op FaultTransport::PieceOf(const Entry& entry, unsigned piece) const {
  Op op = entry.op;
  if (entry.pieces > 1) {
    const uint64_t step = op.length / entry.pieces;
    const uint64_t begin = step * piece;
    op.length = piece + 1 == entry.pieces ? op.length - begin : step;
    op.offset += begin;
    op.local = static_cast<std::byte*>(op.local) + begin;
  }
  if (entry.ride_apart) op.ride = Ride::kNone;
  return op;
}

void FaultTransport::Give(Peer& peer, Entry& entry, unsigned most) {
  const size_t index = static_cast<size_t>(&entry - peer.entries.data());
  for (; most > 0 && entry.pieces_left != 0; --most) {
    // One of those left, by chance.
    uint32_t bits = entry.pieces_left;
    for (uint64_t skip = random_.Below(std::popcount(bits)); skip > 0; --skip) bits &= bits - 1;
    const unsigned piece = static_cast<unsigned>(std::countr_zero(bits));
    Op op = PieceOf(entry, piece);
    op.token = InnerToken(index, entry.generation);
    if (inner_->Post(peer.rank, {&op, 1}) == 0) return;
    entry.pieces_left &= ~(uint32_t{1} << piece);
    ++entry.under_way;
  }
  if (entry.pieces_left == 0 && entry.ride_apart && entry.under_way == 0 && most > 0) {
    Op op = entry.op;
    op.length = 0;
    op.local = nullptr;
    op.token = InnerToken(index, entry.generation);
    if (inner_->Post(peer.rank, {&op, 1}) == 0) return;
    entry.ride_apart = false;
    ++entry.under_way;
  }
  if (entry.pieces_left == 0 && !entry.ride_apart) entry.state = Entry::State::kMoving;
}

size_t FaultTransport::Post(Rank peer, std::span<const Op> ops) {
  Peer* const p = Find(peer);
  if (p == nullptr) return 0;
  const int64_t now = MonotonicNanos();
  size_t posted = 0;
  for (const Op& op : ops) {
    if (random_.Chance(options_.refuse)) {
      refused_ = true;
      break;
    }
    const auto free = std::ranges::find(p->entries, Entry::State::kFree, &Entry::state);
    if (free == p->entries.end()) break;
    Accept(*p, *free, op, now);
    ++posted;
    if (!p->down && random_.Chance(options_.kill)) {
      p->tell_down = true;
      Drop(*p, Lane::kSmall);
    } else if (op.lane == Lane::kBulk && random_.Chance(options_.break_bulk)) {
      Drop(*p, Lane::kBulk);
    } else if (p->down) {
      Done(*p, *free, Event::Result::kPeerDown, now);
    } else if (random_.Chance(options_.at_once)) {
      free->due = now;
      if (OldestUndone(*p, op.lane) >= free->after) Give(*p, *free, kMaxPieces + 1);
    }
  }
  return posted;
}

void FaultTransport::Done(Peer& peer, Entry& entry, Event::Result result, int64_t now) {
  ++entry.generation;
  if (entry.result == Event::Result::kOk) entry.result = result;
  End(peer, entry);
  entry.due = random_.Chance(options_.late_event) ? now + Delay() : now;
}

void FaultTransport::End(Peer& peer, Entry& entry) {
  const size_t lane = static_cast<size_t>(entry.op.lane);
  if (entry.op.token != 0) {
    entry.state = Entry::State::kDone;
    return;
  }
  entry.state = Entry::State::kFree;
  if (entry.result == Event::Result::kOk) return;
  Entry* next = nullptr;
  for (Entry& other : peer.entries) {
    const bool tells = other.state != Entry::State::kFree && other.op.token != 0 &&
                       other.op.lane == entry.op.lane && other.sequence > entry.sequence;
    if (tells && (next == nullptr || other.sequence < next->sequence)) next = &other;
  }
  (next == nullptr ? peer.untold[lane] : next->result) = entry.result;
}

bool FaultTransport::AwaitsEarlier(const Peer& peer, const Entry& entry) const {
  return std::ranges::any_of(peer.entries, [&](const Entry& other) {
    return other.undone() && other.op.token == 0 && other.op.lane == entry.op.lane &&
           other.sequence < entry.sequence;
  });
}

void FaultTransport::TakeInnerEvents(int64_t now) {
  Event events[kEvents];
  size_t count;
  do {
    count = inner_->Poll(events);
    for (const Event& event : std::span(events, count)) {
      Peer* const peer = Find(event.peer);
      if (peer == nullptr) continue;
      switch (event.kind) {
        case Event::Kind::kCompleted:
          OnInnerCompleted(*peer, event, now);
          break;
        case Event::Kind::kConnected:
          ++peer->tell_connected;
          break;
        case Event::Kind::kPeerDown:
          peer->tell_down = true;
          Drop(*peer, Lane::kSmall);
          break;
      }
    }
  } while (count == kEvents);
}

void FaultTransport::OnInnerCompleted(Peer& peer, const Event& event, int64_t now) {
  const size_t index = static_cast<uint32_t>(event.token) - size_t{1};
  if (index >= peer.entries.size()) return;
  Entry& entry = peer.entries[index];
  if (entry.generation != event.token >> 32 || entry.under_way == 0) return;
  --entry.under_way;
  if (event.result != Event::Result::kOk) {
    entry.result = event.result;
    entry.pieces_left = 0;  // The rest is not moved.
    entry.ride_apart = false;
  }
  if (entry.under_way == 0 && entry.pieces_left == 0 && !entry.ride_apart) {
    Done(peer, entry, event.result, now);
  }
}

void FaultTransport::MoveWhatIsDue(Peer& peer, int64_t now) {
  const size_t count = peer.entries.size();
  const size_t first = random_.Below(count);
  for (size_t i = 0; i < count; ++i) {
    Entry& entry = peer.entries[(first + i) % count];
    if (entry.state != Entry::State::kWaiting || entry.due > now) continue;
    if (OldestUndone(peer, entry.op.lane) < entry.after) continue;
    Give(peer, entry, static_cast<unsigned>(1 + random_.Below(kMaxPieces + 1)));
  }
}

size_t FaultTransport::Tell(Peer& peer, std::span<Event> events, int64_t now) {
  size_t count = 0;
  for (; count < events.size() && peer.tell_connected > 0; --peer.tell_connected) {
    events[count++] = {.peer = peer.rank, .kind = Event::Kind::kConnected};
  }
  if (count < events.size() && std::exchange(peer.tell_down, false)) {
    events[count++] = {.peer = peer.rank, .kind = Event::Kind::kPeerDown};
  }
  const size_t entries = peer.entries.size();
  const size_t first = random_.Below(entries);
  for (size_t i = 0; i < entries && count < events.size(); ++i) {
    Entry& entry = peer.entries[(first + i) % entries];
    if (entry.state != Entry::State::kDone || entry.due > now || AwaitsEarlier(peer, entry)) {
      continue;
    }
    entry.state = Entry::State::kFree;
    events[count++] = {.token = entry.op.token, .peer = peer.rank, .result = entry.result};
  }
  return count;
}

size_t FaultTransport::Poll(std::span<Event> events) {
  const int64_t now = MonotonicNanos();
  refused_ = false;
  TakeInnerEvents(now);
  for (Peer* peer : connected_) MoveWhatIsDue(*peer, now);
  TakeInnerEvents(now);
  size_t count = 0;
  for (Peer* peer : connected_) count += Tell(*peer, events.subspan(count), now);
  return count;
}

Armed FaultTransport::Arm() {
  Armed armed = inner_->Arm();
  armed.ready |= refused_;
  const int64_t now = MonotonicNanos();
  for (const Peer* peer : connected_) {
    armed.ready |= peer->tell_down || peer->tell_connected > 0;
    for (const Entry& entry : peer->entries) {
      if (entry.state != Entry::State::kWaiting && entry.state != Entry::State::kDone) continue;
      armed.ready |= entry.due <= now;
      armed.at = std::min(armed.at, Deadline::AtMonotonicNanos(entry.due));
    }
  }
  return armed;
}

void FaultTransport::Serve(Mutex& mutex, Deadline deadline) { inner_->Serve(mutex, deadline); }

}  // namespace weft
