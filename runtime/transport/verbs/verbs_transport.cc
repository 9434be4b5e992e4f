#include "runtime/transport/verbs/verbs_transport.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/doorbell.h"
#include "runtime/transport/address.h"

namespace weft {
namespace {

constexpr uint32_t kMaxDepth = 256;
constexpr uint32_t kMinDepth = 64;
constexpr uint32_t kInlineBytes = 128;
// While somebody polls, the service thread looks this often whether that goes on.
constexpr absl::Duration kWhilePolled = absl::Milliseconds(1);

Event::Result ResultOf(const ibv_wc& completion) {
  switch (completion.status) {
    case IBV_WC_SUCCESS:
      return Event::Result::kOk;
    // Everything else has ended the queue pair. These are faults of ours:
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
      return Event::Result::kInternal;
    default:  // Addresses were checked: access is denied by a peer whose memory is gone.
      return Event::Result::kPeerDown;
  }
}

// Of a queue pair that replaces `end`: both sides can tell it.
uint32_t FirstPacket(const PairEnd& end, uint32_t number) {
  return (end.first_packet + number * 0x3779b9) & 0xffffff;
}

class VerbsRegistration final : public Registration {
 public:
  VerbsRegistration(std::shared_ptr<const VerbsDevice> device, RegionHandle region,
                    const MemoryKey& key)
      : device_(std::move(device)), region_(std::move(region)), key_(key) {}
  std::string key() const override { return EncodeMemoryKey(key_); }
  uint32_t local_key() const override { return region_->lkey; }

 private:
  const std::shared_ptr<const VerbsDevice> device_;  // May outlive the transport.
  const RegionHandle region_;
  const MemoryKey key_;
};

}  // namespace

VerbsTransport::VerbsTransport(std::shared_ptr<const VerbsDevice> device, const NodeView& node)
    : device_(std::move(device)),
      node_(node),
      caps_({.name = "verbs",
             .needs_registered_source = true,
             .needs_service = true,
             .connects_eagerly = true,
             .atomics = Atomics::kAddAndCompareSwap64,
             .max_length = device_->port().max_message}),
      sent_(nullptr, device_->library().destroy_cq) {}

VerbsTransport::~VerbsTransport() = default;

absl::StatusOr<std::unique_ptr<VerbsTransport>> VerbsTransport::Create(const VerbsLibrary& library,
                                                                       std::string_view wanted,
                                                                       const NodeView& node) {
  absl::StatusOr<VerbsDevice> device = VerbsDevice::Open(library, wanted);
  if (!device.ok()) return device.status();
  if (node.size > kMaxExchangedRanks) {
    return absl::ResourceExhaustedError(absl::StrCat("queue pairs of ", node.size,
                                                     " ranks cannot be exchanged through the "
                                                     "bootstrap: at most ",
                                                     kMaxExchangedRanks));
  }
  std::unique_ptr<VerbsTransport> transport(
      new VerbsTransport(std::make_shared<const VerbsDevice>(*std::move(device)), node));
  if (absl::Status made = transport->MakeQueues(); !made.ok()) return made;
  return transport;
}

absl::StatusOr<QueuePair> VerbsTransport::MakePair() {
  return QueuePair::Create(*device_,
                           {.sent = sent_.get(),
                            .received = arrivals_->completions(),
                            .receives = arrivals_->receives()},
                           {.depth = depth_, .max_inline = kInlineBytes});
}

absl::Status VerbsTransport::MakeQueues() {
  const VerbsLibrary& library = device_->library();
  const uint32_t pairs = 2 * node_.size;
  const auto max_cqe = static_cast<uint32_t>(device_->limits().max_cqe);
  depth_ = std::bit_floor(std::clamp(max_cqe / pairs, kMinDepth, kMaxDepth));
  max_under_way_ = std::min(max_cqe, pairs * depth_);
  sent_ = CompletionQueueHandle(
      library.create_cq(device_->context(), static_cast<int>(max_under_way_), nullptr, nullptr, 0),
      library.destroy_cq);
  if (sent_ == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot create a completion queue of ",
                                                     max_under_way_, " on ", device_->port().name(),
                                                     ": ", strerror(errno)));
  }
  if (device_->limits().atomic_cap == IBV_ATOMIC_NONE) {
    return absl::UnimplementedError(
        absl::StrCat(device_->port().name(),
                     " has no atomics, which Weft needs of a device so far: "
                     "choose another by WEFT_VERBS_DEVICE"));
  }
  auto arrivals = Arrivals::Create(*device_, node_.size);
  if (!arrivals.ok()) return arrivals.status();
  arrivals_ = std::make_unique<Arrivals>(*std::move(arrivals));

  const size_t bytes = CreditBytes() + sizeof(uint64_t);
  void* const words =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (words == MAP_FAILED) return absl::ResourceExhaustedError("no memory for the credits");
  words_ = Mapping(words, bytes);
  auto region =
      device_->Register({words_.get(), bytes}, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (!region.ok()) return region.status();
  words_region_ = std::make_unique<RegionHandle>(*std::move(region));

  ready_.reserve(2 * kMaxTokens + pairs);
  for (Rank rank = 0; rank < node_.size; ++rank) {
    auto small = MakePair();
    if (!small.ok()) return small.status();
    auto bulk = MakePair();
    if (!bulk.ok()) return bulk.status();
    arrivals_->Expect(small->number(), {.rank = rank, .lane = Lane::kSmall});
    arrivals_->Expect(bulk->number(), {.rank = rank, .lane = Lane::kBulk});
    caps_.max_inline = small->max_inline();
    const VerbsAddress::Pairs ours = {.small = {small->number(), RandomPacketNumber()},
                                      .bulk = {bulk->number(), RandomPacketNumber()}};
    peers_.push_back(std::make_unique<Peer>(rank, SendQueue(*std::move(small), depth_),
                                            SendQueue(*std::move(bulk), depth_)));
    peers_.back()->ours = ours;
  }
  return absl::OkStatus();
}

// --- Control path ---------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<Registration>> VerbsTransport::Register(const Segment& segment) {
  int access = IBV_ACCESS_LOCAL_WRITE;
  if (segment.kind != Segment::Kind::kLocal) {
    access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    if (device_->limits().atomic_cap != IBV_ATOMIC_NONE) access |= IBV_ACCESS_REMOTE_ATOMIC;
  }
  auto region = device_->Register(segment.bytes, access);
  if (!region.ok()) return region.status();
  const MemoryKey key = {.rank = node_.rank,
                         .base = reinterpret_cast<uint64_t>(segment.bytes.data()),
                         .length = segment.bytes.size(),
                         .key = (*region)->rkey};
  return std::make_unique<VerbsRegistration>(device_, *std::move(region), key);
}

std::string VerbsTransport::Address() const {
  const VerbsPort& port = device_->port();
  VerbsAddress address = {.rank = node_.rank,
                          .port = {.ethernet = port.ethernet,
                                   .lid = port.lid,
                                   .gid = port.gid,
                                   .mtu = port.mtu,
                                   .max_reads = static_cast<uint8_t>(
                                       std::clamp(device_->limits().max_qp_rd_atom, 1, UINT8_MAX))},
                          .credits = {.rank = node_.rank,
                                      .base = reinterpret_cast<uint64_t>(words_.get()),
                                      .length = words_.bytes(),
                                      .key = (*words_region_)->rkey},
                          .pairs = {}};
  for (const auto& peer : peers_) address.pairs.push_back(peer->ours);
  return EncodeVerbsAddress(address);
}

absl::Status VerbsTransport::CheckRank(Rank peer) const {
  if (peer < node_.size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("there is no rank ", peer, " in a job of ", node_.size, " ranks"));
}

absl::Status VerbsTransport::Connect(Rank rank, std::string_view bytes) {
  if (absl::Status status = CheckRank(rank); !status.ok()) return status;
  const absl::StatusOr<VerbsAddress> address = DecodeVerbsAddress(bytes);
  if (!address.ok()) return address.status();
  if (address->rank != rank || address->pairs.size() != node_.size ||
      address->credits.length < CreditBytes()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the address is one of rank ", address->rank, " in a job of ", address->pairs.size(),
        " ranks, not of rank ", rank, " in one of ", node_.size));
  }
  const std::lock_guard lock(mutex_);
  Peer& peer = *peers_[rank];
  if (peer.state == Peer::State::kGone) {
    return absl::UnavailableError(absl::StrCat("rank ", rank, " was given up"));
  }
  if (peer.state == Peer::State::kNew) {
    peer.port = address->port;
    peer.ends = address->pairs[node_.rank];
    peer.credit_address = address->credits.base + node_.rank * 2 * sizeof(uint64_t);
    peer.credit_key = address->credits.key;
    for (Lane lane : {Lane::kSmall, Lane::kBulk}) {
      const bool small = lane == Lane::kSmall;
      absl::Status connected =
          peer.queue(lane).pair().Connect(peer.port, small ? peer.ends.small : peer.ends.bulk,
                                          (small ? peer.ours.small : peer.ours.bulk).first_packet);
      if (!connected.ok()) {
        return absl::Status(connected.code(),
                            absl::StrCat("to rank ", rank, ": ", connected.message()));
      }
    }
    peer.state = Peer::State::kConnected;
  }
  Tell({.peer = rank, .kind = Event::Kind::kConnected});
  return absl::OkStatus();
}

absl::StatusOr<RemoteRegion> VerbsTransport::Import(Rank peer, std::string_view bytes) {
  if (absl::Status status = CheckRank(peer); !status.ok()) return status;
  const absl::StatusOr<MemoryKey> key = DecodeMemoryKey(bytes);
  if (!key.ok()) return key.status();
  if (key->rank != peer) {
    return absl::InvalidArgumentError(
        absl::StrCat("the key is of memory of rank ", key->rank, ", not of rank ", peer));
  }
  return RemoteRegion{.mapped = nullptr, .base = key->base, .key = key->key, .length = key->length};
}

void VerbsTransport::Abandon(Rank rank, Lane lane) {
  if (rank >= node_.size) return;
  const std::lock_guard lock(mutex_);
  Peer& peer = *peers_[rank];
  if (peer.state == Peer::State::kGone) return;
  if (lane == Lane::kBulk && peer.state == Peer::State::kConnected) {
    BreakBulk(peer);
  } else if (lane == Lane::kSmall) {
    LosePeer(peer);
  }
}

// --- Sending ---------------------------------------------------------------------------

size_t VerbsTransport::Post(Rank rank, std::span<const Op> ops) {
  const std::lock_guard lock(mutex_);
  if (rank >= node_.size) return 0;
  Peer& peer = *peers_[rank];
  size_t posted = 0;
  while (posted < ops.size()) {
    const Lane lane = ops[posted].lane;
    size_t run = posted + 1;
    while (run < ops.size() && ops[run].lane == lane) ++run;
    const size_t taken = PostRun(peer, lane, ops.subspan(posted, run - posted));
    posted += taken;
    if (posted < run) {
      refused_ = true;
      break;
    }
  }
  return posted;
}

WorkChain::Local VerbsTransport::Scratch() const {
  return {.at = words_.get() + CreditBytes(), .key = (*words_region_)->lkey};
}

std::atomic<uint64_t>& VerbsTransport::CreditWord(Rank peer, Lane lane) const {
  auto* const words = reinterpret_cast<std::atomic<uint64_t>*>(words_.get());
  return words[peer * 2 + static_cast<size_t>(lane)];
}

bool VerbsTransport::MayTake(const Peer& peer, const SendQueue& queue, size_t chained,
                             const Op& op) const {
  const size_t requests = WorkChain::RequestsOf(op);
  if (queue.room() < requests || max_under_way_ - under_way_ < chained + requests) return false;
  if (op.lane == Lane::kBulk && !peer.bulk_open) return false;
  if (op.ride == Ride::kNone) return true;
  return peer.credits[static_cast<size_t>(op.lane)].sent -
             CreditWord(peer.rank, op.lane).load(std::memory_order_acquire) <
         Arrivals::kCredits;
}

size_t VerbsTransport::PostRun(Peer& peer, Lane lane, std::span<const Op> ops) {
  SendQueue& queue = peer.queue(lane);
  WorkChain chain(peer.rank << 1 | static_cast<uint32_t>(lane), queue.next(), caps_.max_inline,
                  Scratch());
  size_t taken = 0;
  size_t chained = 0;
  for (const Op& op : ops) {
    if (op.token != 0 && tokens_ == kMaxTokens) break;
    if (peer.state != Peer::State::kConnected) {
      if (op.token != 0) ++tokens_;
      End(peer.rank, op.token, Event::Result::kPeerDown);
      ++taken;
      continue;
    }
    const size_t requests = WorkChain::RequestsOf(op);
    const bool good = op.region != nullptr && op.length <= UINT32_MAX && GoodAddress(op);
    if (!good || requests == 0) {
      if (op.token != 0) ++tokens_;
      End(peer.rank, op.token, good ? Event::Result::kInternal : Event::Result::kBadAddress);
      ++taken;
      continue;
    }
    if (chained == WorkChain::kMaxOperations || !MayTake(peer, queue, chain.size(), op)) break;
    chain.Add(op);
    for (size_t i = 1; i < requests; ++i) queue.Push(0);
    queue.Push(op.token);
    if (op.token != 0) ++tokens_;
    if (op.ride != Ride::kNone) ++peer.credits[static_cast<size_t>(lane)].sent;
    ++chained;
    ++taken;
  }
  if (chained > 0) PostChain(peer, lane, chain);
  // More than one chain holds.
  if (chained == WorkChain::kMaxOperations && taken < ops.size()) {
    return taken + PostRun(peer, lane, ops.subspan(taken));
  }
  return taken;
}

bool VerbsTransport::PostChain(Peer& peer, Lane lane, WorkChain& chain) {
  SendQueue& queue = peer.queue(lane);
  ibv_send_wr* refused = nullptr;
  under_way_ += static_cast<uint32_t>(chain.size());
  ibv_send_wr* const first = chain.Close();
  if (device_->library().post_send(queue.pair().get(), first, &refused) == 0) return true;
  // There was room, so the queue pair or the device is broken. What was refused has no
  // completion.
  uint32_t count = 0;
  for (const ibv_send_wr* request = refused; request != nullptr; request = request->next) ++count;
  for (uint32_t i = count; i > 0; --i) {
    End(peer.rank, queue.token(queue.next() - i), Event::Result::kPeerDown);
  }
  queue.Unpush(count);
  under_way_ -= count;
  peer.broken[static_cast<size_t>(lane)] = any_broken_ = true;
  return false;
}

void VerbsTransport::End(Rank peer, uint64_t token, Event::Result result) {
  if (token != 0) Tell({.token = token, .peer = peer, .result = result});
}

void VerbsTransport::ReapSent() {
  constexpr int kBatch = 32;
  ibv_wc completions[kBatch];
  int n;
  do {
    n = device_->library().poll_cq(sent_.get(), kBatch, completions);
    for (int i = 0; i < n; ++i) OnSent(completions[i]);
  } while (n == kBatch);
}

void VerbsTransport::OnSent(const ibv_wc& completion) {
  const auto owner = static_cast<uint32_t>(completion.wr_id >> 32);
  Peer& peer = *peers_[owner >> 1];
  const Lane lane = static_cast<Lane>(owner & 1);
  SendQueue& queue = peer.queue(lane);
  const uint32_t before = queue.under_way();
  const bool live =
      queue.Complete(static_cast<uint32_t>(completion.wr_id), ResultOf(completion),
                     [&](uint64_t token, Event::Result result) { End(peer.rank, token, result); });
  under_way_ -= before - queue.under_way();
  if (live && completion.status != IBV_WC_SUCCESS) {
    peer.broken[static_cast<size_t>(lane)] = any_broken_ = true;
  }
}

void VerbsTransport::MendBroken() {
  while (std::exchange(any_broken_, false)) {
    for (const auto& peer : peers_) {
      const bool small = std::exchange(peer->broken[static_cast<size_t>(Lane::kSmall)], false);
      const bool bulk = std::exchange(peer->broken[static_cast<size_t>(Lane::kBulk)], false);
      if (peer->state != Peer::State::kConnected) continue;
      if (small) {
        LosePeer(*peer);
      } else if (bulk) {
        BreakBulk(*peer);
      }
    }
  }
}

size_t VerbsTransport::Poll(std::span<Event> events) {
  polls_.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  refused_ = false;
  if (under_way_ > 0) ReapSent();
  TakeArrivals();
  SendAllDue();
  MendBroken();
  const size_t count = std::min(events.size(), ready_.size() - ready_first_);
  for (size_t i = 0; i < count; ++i) {
    events[i] = ready_[ready_first_++];
    if (events[i].kind == Event::Kind::kCompleted) --tokens_;
  }
  // The vector never grows beyond what it reserved.
  if (ready_first_ == ready_.size() || ready_first_ >= kMaxTokens) {
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<ptrdiff_t>(ready_first_));
    ready_first_ = 0;
  }
  return count;
}

// --- Receiving -------------------------------------------------------------------------

void VerbsTransport::TakeArrivals() {
  constexpr size_t kBatch = 32;
  Arrivals::Arrival arrivals[kBatch];
  size_t count;
  do {
    count = arrivals_->Take(arrivals);
    for (const Arrivals::Arrival& arrival : std::span(arrivals, count)) {
      OnArrival(*peers_[arrival.from.rank], arrival);
    }
  } while (count == kBatch);
}

void VerbsTransport::OnArrival(Peer& peer, const Arrivals::Arrival& arrival) {
  const Immediate& immediate = arrival.immediate;
  ControlRegion& control = node_.control(node_.rank);
  switch (immediate.kind) {
    case Immediate::Kind::kCount:
      if (immediate.value < kMaxCounters) {
        control.counters[immediate.value].arrivals.fetch_add(1, std::memory_order_seq_cst);
      }
      Ring(control.doorbell);
      break;
    case Immediate::Kind::kWake:
      std::atomic_thread_fence(std::memory_order_seq_cst);
      Ring(control.doorbell);
      break;
    // These take no credit.
    case Immediate::Kind::kAskBulk:
      return OnAskBulk(peer, immediate.value);
    case Immediate::Kind::kAnswerBulk:
      if (std::exchange(peer.awaits_answer, false)) OpenBulk(peer, immediate.value);
      return;
  }
  if (arrival.from.former) return;  // The credits of a lane start anew with it.
  ++peer.credits[static_cast<size_t>(arrival.from.lane)].taken;
  SendDue(peer);
}

void VerbsTransport::SendAllDue() {
  if (!std::exchange(any_due_, false)) return;
  for (const auto& peer : peers_) SendDue(*peer);
}

void VerbsTransport::SendDue(Peer& peer) {
  if (peer.state != Peer::State::kConnected) return;
  for (Lane lane : {Lane::kSmall, Lane::kBulk}) {
    Peer::Credits& credits = peer.credits[static_cast<size_t>(lane)];
    if (credits.due() && ReturnCredits(peer, lane)) credits.returned = credits.taken;
    any_due_ |= credits.due();
  }
  if (peer.due != Peer::Due::kNothing) {
    const Immediate::Kind kind =
        peer.due == Peer::Due::kAsk ? Immediate::Kind::kAskBulk : Immediate::Kind::kAnswerBulk;
    if (SendImmediate(peer, {kind, peer.queue(Lane::kBulk).pair().number()})) {
      peer.due = Peer::Due::kNothing;
    }
    any_due_ |= peer.due != Peer::Due::kNothing;
  }
}

bool VerbsTransport::ReturnCredits(Peer& peer, Lane lane) {
  SendQueue& queue = peer.queue(Lane::kSmall);
  if (queue.room() == 0 || under_way_ == max_under_way_) return false;
  WorkChain chain(peer.rank << 1, queue.next(), caps_.max_inline, Scratch());
  const size_t index = static_cast<size_t>(lane);
  chain.AddWord(peer.credit_address + index * sizeof(uint64_t), peer.credit_key,
                peer.credits[index].taken);
  queue.Push(0);
  return PostChain(peer, Lane::kSmall, chain);
}

bool VerbsTransport::SendImmediate(Peer& peer, const Immediate& immediate) {
  SendQueue& queue = peer.queue(Lane::kSmall);
  if (queue.room() == 0 || under_way_ == max_under_way_) return false;
  WorkChain chain(peer.rank << 1, queue.next(), caps_.max_inline, Scratch());
  chain.AddImmediate(immediate);
  queue.Push(0);
  return PostChain(peer, Lane::kSmall, chain);
}

// --- Lanes that end --------------------------------------------------------------------

void VerbsTransport::EndLane(Peer& peer, Lane lane) {
  SendQueue& queue = peer.queue(lane);
  ReapSent();  // What has ended well is not in doubt.
  under_way_ -= queue.under_way();
  arrivals_->Retire(queue.pair().number());
  queue.Destroy(Event::Result::kPeerDown,
                [&](uint64_t token, Event::Result result) { End(peer.rank, token, result); });
  peer.broken[static_cast<size_t>(lane)] = false;
}

void VerbsTransport::LosePeer(Peer& peer) {
  if (std::exchange(peer.state, Peer::State::kGone) == Peer::State::kGone) return;
  peer.bulk_open = false;
  EndLane(peer, Lane::kSmall);
  if (peer.queue(Lane::kBulk).pair().get() != nullptr) EndLane(peer, Lane::kBulk);
  Tell({.peer = peer.rank, .kind = Event::Kind::kPeerDown});
}

void VerbsTransport::BreakBulk(Peer& peer) {
  if (peer.awaits_answer) return;  // It takes nothing, and is new.
  // A pair that the peer was not told of yet is replaced without a word.
  const bool untold = peer.due == Peer::Due::kAnswer;
  if (!RenewBulk(peer)) return;
  if (untold) return OpenBulk(peer, peer.far_number);
  peer.awaits_answer = true;
  peer.due = Peer::Due::kAsk;
  SendDue(peer);
}

bool VerbsTransport::RenewBulk(Peer& peer) {
  peer.bulk_open = false;
  EndLane(peer, Lane::kBulk);
  Peer::Credits& credits = peer.credits[static_cast<size_t>(Lane::kBulk)];
  credits.taken = credits.returned = 0;
  absl::StatusOr<QueuePair> pair = MakePair();
  if (!pair.ok()) {
    LosePeer(peer);
    return false;
  }
  arrivals_->Expect(pair->number(), {.rank = peer.rank, .lane = Lane::kBulk});
  peer.queue(Lane::kBulk).Renew(*std::move(pair));
  return true;
}

void VerbsTransport::OnAskBulk(Peer& peer, uint32_t number) {
  if (peer.state != Peer::State::kConnected) return;
  // Both have asked: each takes the other's question for the answer.
  if (!std::exchange(peer.awaits_answer, false)) {
    if (!RenewBulk(peer)) return;
    peer.due = Peer::Due::kAnswer;
  }
  OpenBulk(peer, number);
}

void VerbsTransport::OpenBulk(Peer& peer, uint32_t number) {
  peer.far_number = number;
  // The peer counts from 0 again; what it wrote before came before its message.
  peer.credits[static_cast<size_t>(Lane::kBulk)].sent = 0;
  CreditWord(peer.rank, Lane::kBulk).store(0, std::memory_order_release);
  QueuePair& pair = peer.queue(Lane::kBulk).pair();
  const absl::Status connected =
      pair.Connect(peer.port, {number, FirstPacket(peer.ends.bulk, number)},
                   FirstPacket(peer.ours.bulk, pair.number()));
  if (!connected.ok()) return LosePeer(peer);
  peer.bulk_open = true;
  SendDue(peer);
}

// --- Waiting ---------------------------------------------------------------------------

Armed VerbsTransport::Arm() {
  const std::lock_guard lock(mutex_);
  return {.ready = under_way_ > 0 || refused_ || !ready_.empty(), .fd = -1, .at = Deadline()};
}

void VerbsTransport::Serve(Deadline deadline) {
  uint64_t seen = polls_.load(std::memory_order_relaxed);
  while (!deadline.Expired()) {
    bool polled_by_others;
    {
      const std::lock_guard lock(mutex_);
      const uint64_t polls = polls_.load(std::memory_order_relaxed);
      polled_by_others = polls != std::exchange(seen, polls);
      TakeArrivals();
      // What is due to a peer may wait for room that only completions make.
      if (any_due_) ReapSent();
      SendAllDue();
      MendBroken();
      if (!polled_by_others) {
        arrivals_->Arm();
        TakeArrivals();  // What came in between makes no event.
      }
    }
    pollfd wait = {.fd = polled_by_others ? -1 : arrivals_->fd(), .events = POLLIN, .revents = 0};
    const absl::Duration left = absl::Nanoseconds(deadline.RemainingNanos());
    const timespec time = absl::ToTimespec(polled_by_others ? std::min(left, kWhilePolled) : left);
    if (ppoll(&wait, 1, &time, nullptr) > 0) {
      const std::lock_guard lock(mutex_);
      arrivals_->Disarm();
    }
  }
}

}  // namespace weft
