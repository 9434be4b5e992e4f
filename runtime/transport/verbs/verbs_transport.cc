#include "runtime/transport/verbs/verbs_transport.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

constexpr uint32_t kMaxDepth = 256;
constexpr uint32_t kMinDepth = 64;
// While others look, the service thread sees this often whether that goes on; or for room,
// while something is due to a peer.
constexpr absl::Duration kWhileOthersLook = absl::Milliseconds(1);
// Who waits for a connection looks this often what the service thread, which is told at once,
// has made of it.
constexpr absl::Duration kWhileConnecting = absl::Milliseconds(1);
// And who polls looks for requests to connect this often.
constexpr uint64_t kPollsAStep = 64;
// While completions come, who polls looks for arrivals this often.
constexpr uint64_t kPollsALook = 16;

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

VerbsTransport::VerbsTransport(std::shared_ptr<const VerbsDevice> device, const Dialect& dialect,
                               const NodeView& node)
    : device_(std::move(device)),
      dialect_(dialect),
      node_(node),
      caps_({.name = "verbs",
             .needs_registered_source = true,
             .needs_service = true,
             .atomics_match_cpu = dialect.messages,
             .atomics = dialect.messages ? Atomics::kAll : Atomics::kAddAndCompareSwap64,
             .max_length = device_->port().max_message}),
      sent_(nullptr, device_->library().destroy_cq) {}

VerbsTransport::~VerbsTransport() = default;

absl::StatusOr<std::unique_ptr<VerbsTransport>> VerbsTransport::Create(const VerbsLibrary& library,
                                                                       const VerbsOptions& options,
                                                                       const NodeView& node) {
  const absl::StatusOr<VerbsPort> port = ChoosePort(SurveyPorts(library), options.device);
  if (!port.ok()) return port.status();
  const absl::StatusOr<bool> by_cm = ConnectsByCm(options.connect, *port, node.size);
  if (!by_cm.ok()) return by_cm.status();
  std::optional<CmListener> listener;
  if (*by_cm) {
    const absl::StatusOr<const CmLibrary*> cm = CmLibrary::Load();
    if (!cm.ok()) return cm.status();
    absl::StatusOr<CmListener> listening = CmListener::Open(**cm, *port);
    if (!listening.ok()) return listening.status();
    listener = *std::move(listening);
  }
  absl::StatusOr<VerbsDevice> device =
      listener ? VerbsDevice::Borrow(library, *port, listener->context())
               : VerbsDevice::Open(library, *port);
  if (!device.ok()) return device.status();
  const absl::StatusOr<Dialect> dialect =
      ChooseDialect(device->port(), device->limits().atomic_cap, options);
  if (!dialect.ok()) return dialect.status();
  std::unique_ptr<VerbsTransport> transport(
      new VerbsTransport(std::make_shared<const VerbsDevice>(*std::move(device)), *dialect, node));
  if (absl::Status made = transport->MakeQueues(std::move(listener), options.secret); !made.ok()) {
    return made;
  }
  return transport;
}

absl::StatusOr<QueuePair> VerbsTransport::MakePair() {
  return QueuePair::Create(*device_,
                           {.sent = sent_.get(),
                            .received = arrivals_->completions(),
                            .receives = arrivals_->receives()},
                           {.depth = depth_, .max_inline = dialect_.max_inline});
}

absl::Status VerbsTransport::MakeQueues(std::optional<CmListener> listener,
                                        const JobSecret& secret) {
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
  auto arrivals = Arrivals::Create(*device_, dialect_, node_.size);
  if (!arrivals.ok()) return arrivals.status();
  arrivals_ = std::make_unique<Arrivals>(*std::move(arrivals));

  const size_t bytes = CreditBytes() + sizeof(uint64_t);
  void* const words =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (words == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no ", bytes, " bytes of memory for the credits: ", strerror(errno)));
  }
  words_ = Mapping(words, bytes);
  auto region =
      device_->Register({words_.get(), bytes},
                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  if (!region.ok()) return region.status();
  words_region_ = std::make_unique<RegionHandle>(*std::move(region));

  ready_.reserve(2 * kMaxTokens + pairs);
  for (Rank rank = 0; rank < node_.size; ++rank) {
    peers_.push_back(std::make_unique<VerbsPeer>(rank, SendQueue(depth_), SendQueue(depth_)));
  }
  // What a pair holds inline a pair tells.
  const absl::StatusOr<QueuePair> probe = MakePair();
  if (!probe.ok()) return probe.status();
  caps_.max_inline = probe->max_inline();
  setup_ = {.max_inline = caps_.max_inline,
            .scratch = {.at = words_.get() + CreditBytes(), .key = (*words_region_)->lkey},
            .dialect = dialect_};
  if (caps_.max_inline < Message::kBytes) {
    return absl::UnimplementedError(
        absl::StrCat(device_->port().name(), " takes only ", caps_.max_inline,
                     " bytes inline, but messages have ", Message::kBytes,
                     ": choose another device by WEFT_VERBS_DEVICE"));
  }
  if (!listener) return ExchangePairs();
  connector_ = std::make_unique<CmConnector>(
      *std::move(listener), *device_,
      CmConnector::Self{.rank = node_.rank,
                        .size = node_.size,
                        .secret = secret,
                        .credits = reinterpret_cast<uint64_t>(words_.get()),
                        .credit_key = (*words_region_)->rkey},
      static_cast<CmConnector::Owner&>(*this));
  return absl::OkStatus();
}

absl::Status VerbsTransport::ExchangePairs() {
  caps_.connects_eagerly = true;
  for (const auto& peer : peers_) {
    for (Lane lane : kLanes) {
      auto pair = MakePair(peer->rank, lane);
      if (!pair.ok()) return pair.status();
      (lane == Lane::kSmall ? peer->ours.small : peer->ours.bulk) = {pair->number(),
                                                                     RandomPacketNumber()};
      peer->lane(lane).queue.Renew(*std::move(pair));
    }
  }
  return absl::OkStatus();
}

// --- Control path ---------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<Registration>> VerbsTransport::Register(const Segment& segment) {
  int access = IBV_ACCESS_LOCAL_WRITE;
  if (segment.kind != Segment::Kind::kLocal) {
    access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    if (!dialect_.messages) access |= IBV_ACCESS_REMOTE_ATOMIC;
  } else if (dialect_.remote_sinks) {
    access |= IBV_ACCESS_REMOTE_WRITE;
  }
  auto region = device_->Register(segment.bytes, access);
  if (!region.ok()) return region.status();
  const MemoryKey key = {.rank = node_.rank,
                         .segment = segment.kind,
                         .base = reinterpret_cast<uint64_t>(segment.bytes.data()),
                         .length = segment.bytes.size(),
                         .key = (*region)->rkey};
  return std::make_unique<VerbsRegistration>(device_, *std::move(region), key);
}

std::string VerbsTransport::Address() const {
  const VerbsPort& port = device_->port();
  VerbsAddress address = {.rank = node_.rank,
                          .agent = dialect_.messages,
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
                          .pairs = {},
                          .cm = {}};
  if (connector_ != nullptr) {
    address.cm = connector_->address();
  } else {
    for (const auto& peer : peers_) address.pairs.push_back(peer->ours);
  }
  return EncodeVerbsAddress(address);
}

absl::Status VerbsTransport::CheckRank(Rank peer) const {
  if (peer < node_.size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("there is no rank ", peer, " in a job of ", node_.size, " ranks"));
}

absl::Status VerbsTransport::CheckAddress(Rank rank, const VerbsAddress& address) const {
  const bool by_cm = connector_ != nullptr;
  if (address.cm.has_value() != by_cm) {
    const auto how = [](bool cm) { return cm ? "librdmacm (cm)" : "exchange"; };
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", rank, " connects by ", how(!by_cm), ", rank ", node_.rank, " by ",
                     how(by_cm), ": set WEFT_VERBS_CONNECT to the same on all ranks"));
  }
  if (address.rank != rank || address.credits.length < CreditBytes() ||
      (!by_cm && address.pairs.size() != node_.size)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the address is one of rank ", address.rank, " in a job of ", address.pairs.size(),
        " ranks, not of rank ", rank, " in one of ", node_.size));
  }
  if (address.agent != dialect_.messages) {
    const auto whose = [](bool agent) { return agent ? "its processor" : "its RDMA device"; };
    return absl::FailedPreconditionError(absl::StrCat(
        "rank ", rank, " carries atomics out by ", whose(address.agent), ", rank ", node_.rank,
        " by ", whose(dialect_.messages),
        ": set WEFT_ATOMICS=agent on all ranks, or give all a device that has atomics by "
        "WEFT_VERBS_DEVICE"));
  }
  return absl::OkStatus();
}

absl::Status VerbsTransport::Connect(Rank rank, std::string_view bytes) {
  if (absl::Status status = CheckRank(rank); !status.ok()) return status;
  const absl::StatusOr<VerbsAddress> address = DecodeVerbsAddress(bytes);
  if (!address.ok()) return address.status();
  if (absl::Status status = CheckAddress(rank, *address); !status.ok()) return status;
  VerbsPeer& peer = *peers_[rank];
  if (peer.state == VerbsPeer::State::kGone) {
    return absl::UnavailableError(absl::StrCat("rank ", rank, " was given up"));
  }
  if (!std::exchange(peer.reached, true)) {
    peer.port = address->port;
    peer.credits = {address->credits.base + node_.rank * 2 * sizeof(uint64_t),
                    address->credits.key};
    if (connector_ != nullptr) {
      connector_->Reach(rank, *address->cm);
    } else {
      peer.ends = address->pairs[node_.rank];
    }
  }
  if (peer.state == VerbsPeer::State::kNew && connector_ != nullptr) {
    ++peer.untold;
    for (Lane lane : kLanes) {
      if (!peer.lane(lane).open) connector_->Open(rank, lane);
    }
    return absl::OkStatus();
  }
  if (peer.state == VerbsPeer::State::kNew) {
    for (Lane lane : kLanes) {
      const absl::Status connected = peer.lane(lane).queue.pair().Connect(
          peer.port, peer.ends.of(lane), peer.ours.of(lane).first_packet);
      if (!connected.ok()) {
        return absl::Status(connected.code(),
                            absl::StrCat("to rank ", rank, ": ", connected.message()));
      }
      peer.lane(lane).open = true;
    }
    peer.state = VerbsPeer::State::kConnected;
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
  return RemoteRegion{.mapped = nullptr,
                      .base = key->base,
                      .key = RegionKey(key->key, key->segment),
                      .length = key->length};
}

void VerbsTransport::Abandon(Rank rank, Lane lane) {
  if (rank >= node_.size) return;
  VerbsPeer& peer = *peers_[rank];
  TakeArrivals();  // What has come before is not in doubt.
  if (peer.state == VerbsPeer::State::kGone) return;
  if (lane == Lane::kBulk && peer.state == VerbsPeer::State::kConnected) {
    BreakBulk(peer);
  } else if (lane == Lane::kSmall) {
    LosePeer(peer, Loss::kGivenUp);
  }
}

// --- Waiting ---------------------------------------------------------------------------

size_t VerbsTransport::Poll(std::span<Event> events) {
  const uint64_t polls = polls_++;
  refused_ = false;
  // A system call: not each time, unless something is awaited.
  if (connector_ != nullptr && (connector_->busy() || polls % kPollsAStep == 0)) {
    connector_->Step();
  }
  told_ = events.data() + (ready_.empty() ? 0 : TakeReady(events));
  told_end_ = events.data() + events.size();
  Event* const first = told_;
  if (under_way_ > 0) ReapSent();
  // Whoever waits for arrivals has no completions: to him they matter each time.
  if (told_ == first || any_broken_ || polls % kPollsALook == 0) {
    TakeArrivalsAndAnswer();
    looks_.store(looks_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  const auto count = static_cast<size_t>(told_ - events.data());
  told_ = told_end_ = nullptr;
  return count;
}

size_t VerbsTransport::TakeReady(std::span<Event> events) {
  const size_t count = std::min(events.size(), ready_.size() - ready_first_);
  for (size_t i = 0; i < count; ++i) {
    events[i] = ready_[ready_first_++];
    tokens_ -= events[i].kind == Event::Kind::kCompleted;
  }
  // The vector never grows beyond what it reserved.
  if (ready_first_ == ready_.size() || ready_first_ >= kMaxTokens) {
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<ptrdiff_t>(ready_first_));
    ready_first_ = 0;
  }
  return count;
}

Armed VerbsTransport::Arm() {
  const bool connecting = connector_ != nullptr && connector_->busy();
  return {.ready = under_way_ > 0 || unanswered_ > 0 || refused_ || !ready_.empty(),
          .fd = -1,
          .at = connecting ? Deadline::After(kWhileConnecting) : Deadline()};
}

void VerbsTransport::Serve(Mutex& mutex, Deadline deadline) {
  bool device_tells = false, cm_tells = false;
  while (!deadline.Expired()) {
    const uint64_t looks = looks_.load(std::memory_order_relaxed);
    bool others_look = looks != std::exchange(seen_looks_, looks);
    bool awaits_room = false, arrivals_tell = false;
    Deadline wake = deadline;
    // Whoever looks does the rest himself, and need not wait for this thread. So does whoever
    // holds the lock, which on one cpu he does most of the time that he posts.
    std::unique_lock lock(mutex, std::defer_lock);
    if (device_tells || cm_tells) {
      lock.lock();
    } else if (!others_look) {
      others_look = !lock.try_lock();
    }
    if (lock.owns_lock()) {
      // What is due to a peer may wait for room that only completions make.
      if (any_due_) ReapSent();
      if (device_tells) TakeAsyncEvents();
      if (connector_ != nullptr && (cm_tells || connector_->busy())) connector_->Step();
      if (connector_ != nullptr) wake = std::min(deadline, connector_->next());
      TakeArrivalsAndAnswer();
      arrivals_tell = !others_look && !device_lost_;
      if (arrivals_tell) {
        arrivals_->Arm();
        TakeArrivals();  // What came in between makes no event.
      }
      WakePollers();
      awaits_room = any_due_;
      lock.unlock();
    }
    pollfd wait[] = {
        {.fd = arrivals_tell ? arrivals_->fd() : -1, .events = POLLIN, .revents = 0},
        {.fd = device_lost_ ? -1 : device_->context()->async_fd, .events = POLLIN, .revents = 0},
        {.fd = connector_ == nullptr ? -1 : connector_->fd(), .events = POLLIN, .revents = 0}};
    const absl::Duration left = absl::Nanoseconds(wake.RemainingNanos());
    const timespec time =
        absl::ToTimespec(others_look || awaits_room ? std::min(left, kWhileOthersLook) : left);
    const bool any = ppoll(wait, std::size(wait), &time, nullptr) > 0;
    device_tells = any && wait[1].revents != 0;
    cm_tells = any && wait[2].revents != 0;
    if (any && wait[0].revents != 0) {
      const std::lock_guard lock(mutex);
      arrivals_->Disarm();
    }
  }
}

}  // namespace weft
