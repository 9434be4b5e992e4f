#include "tests/support/noting_transport.h"

#include <algorithm>

#include "absl/time/clock.h"

namespace weft {

void TransportNotes::Complete(size_t index, Event::Result result) {
  const std::lock_guard lock(mutex_);
  const Posted& posted = posted_.at(index);
  completed_.at(index) = true;
  Tell(posted, result);
}

void TransportNotes::Tell(const Posted& posted, Event::Result result) {
  if (posted.op.token == 0) return;
  events_.push_back({.token = posted.op.token, .peer = posted.peer, .result = result});
}

void TransportNotes::CompleteAll() {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < posted_.size(); ++i) {
    if (completed_[i]) continue;
    completed_[i] = true;
    Tell(posted_[i], Event::Result::kOk);
  }
}

void TransportNotes::SetRoom(size_t room) {
  const std::lock_guard lock(mutex_);
  room_ = room;
}

std::vector<TransportNotes::Posted> TransportNotes::posted() const {
  const std::lock_guard lock(mutex_);
  return posted_;
}

size_t TransportNotes::empty_polls() const {
  const std::lock_guard lock(mutex_);
  return empty_polls_;
}

size_t TransportNotes::serves() const {
  const std::lock_guard lock(mutex_);
  return serves_;
}

std::vector<Lane> TransportNotes::abandoned() const {
  const std::lock_guard lock(mutex_);
  return abandoned_;
}

NotingTransport::NotingTransport(TransportNotes& notes, uint64_t segment_bytes, uint64_t max_length,
                                 bool needs_service)
    : notes_(notes),
      segment_bytes_(segment_bytes),
      caps_({.name = "noting", .needs_service = needs_service, .max_length = max_length}) {}

absl::StatusOr<std::unique_ptr<Registration>> NotingTransport::Register(const Segment&) {
  return absl::UnimplementedError("nobody comes here");
}

absl::Status NotingTransport::Connect(Rank peer, std::string_view) {
  const std::lock_guard lock(notes_.mutex_);
  notes_.events_.push_back({.peer = peer, .kind = Event::Kind::kConnected});
  return absl::OkStatus();
}

absl::StatusOr<RemoteRegion> NotingTransport::Import(Rank, std::string_view) {
  return RemoteRegion{.length = segment_bytes_};
}

void NotingTransport::Abandon(Rank peer, Lane lane) {
  const std::lock_guard lock(notes_.mutex_);
  notes_.abandoned_.push_back(lane);
  for (size_t i = 0; i < notes_.posted_.size(); ++i) {
    const TransportNotes::Posted& posted = notes_.posted_[i];
    if (notes_.completed_[i] || posted.peer != peer) continue;
    if (lane == Lane::kBulk && posted.op.lane != Lane::kBulk) continue;
    notes_.completed_[i] = true;
    notes_.Tell(posted, Event::Result::kPeerDown);
  }
}

size_t NotingTransport::Post(Rank peer, std::span<const Op> ops) {
  const std::lock_guard lock(notes_.mutex_);
  const size_t count = std::min(ops.size(), notes_.room_);
  if (notes_.room_ != SIZE_MAX) notes_.room_ -= count;
  for (const Op& op : ops.first(count)) {
    notes_.posted_.push_back({peer, op});
    notes_.completed_.push_back(notes_.at_once_);
    if (notes_.at_once_) notes_.Tell(notes_.posted_.back(), Event::Result::kOk);
  }
  return count;
}

size_t NotingTransport::Poll(std::span<Event> events) {
  const std::lock_guard lock(notes_.mutex_);
  std::deque<Event>& from = notes_.events_;
  const size_t count = std::min(events.size(), from.size());
  notes_.empty_polls_ += count == 0;
  std::copy_n(from.begin(), count, events.begin());
  from.erase(from.begin(), from.begin() + static_cast<ptrdiff_t>(count));
  return count;
}

void NotingTransport::Serve(Mutex&, Deadline deadline) {
  {
    const std::lock_guard lock(notes_.mutex_);
    ++notes_.serves_;
  }
  // There is nothing to serve.
  absl::SleepFor(absl::Nanoseconds(deadline.RemainingNanos()));
}

Armed NotingTransport::Arm() {
  const std::lock_guard lock(notes_.mutex_);
  return {.ready = !notes_.events_.empty(), .fd = -1, .at = Deadline()};
}

}  // namespace weft
