// The receiving side of a rank: what its peers notify it of.
//
// A message, as an immediate or a SEND, takes a receive from the shared queue of all peers. Each
// peer may have a fixed number of them under way on each lane, its credits, for
// which the queue always has receives; so nobody ever has to wait for one and try again. What was
// taken in is told back to the peer, by a count that it reads in its own memory. Replies take no
// credits: there are never more than requests.
//
// Guarded by the transport's lock.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_ARRIVALS_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_ARRIVALS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/base/mapping.h"
#include "runtime/transport/transport.h"
#include "runtime/transport/verbs/device.h"
#include "runtime/transport/verbs/dialect.h"
#include "runtime/transport/verbs/message.h"
#include "runtime/transport/verbs/requests.h"
#include "weft/rank.h"

namespace weft {

class Arrivals {
 public:
  // Messages that a peer may have under way on a lane. What renews a lane must not wait
  // for credits: a question, and an answer, at a time.
  static constexpr uint32_t kCredits = 16;
  // For each peer, and in the dialect of messages for the replies.
  static constexpr uint32_t kReceives = 2 * kCredits + 4;
  static constexpr uint32_t kReplies = Requests::kMost;

  // What a queue pair is one end of.
  struct Source {
    Rank rank = 0;
    Lane lane = Lane::kSmall;
    bool former = false;  // It was replaced.
  };
  struct Arrival {
    Source from;
    Message message;
  };

  // For `peers` peers.
  static absl::StatusOr<Arrivals> Create(const VerbsDevice& device, const Dialect& dialect,
                                         Rank peers);

  // What queue pairs receive by.
  ibv_cq* completions() const { return completions_.get(); }
  ibv_srq* receives() const { return receives_.get(); }
  void Expect(uint32_t pair_number, const Source& source) { source_of_[pair_number] = source; }
  // The pair is about to be destroyed; what came before is still taken in.
  void Retire(uint32_t pair_number) { source_of_[pair_number].former = true; }

  // What the pair is an end of; nullopt: of nothing (any more).
  std::optional<Source> SourceOf(uint32_t pair_number) const;

  // Whether something has arrived, some of which Take returns, once; it makes up for the receives
  // that this took. Failed receives belong to queue pairs that are gone; what is no message is
  // dropped. Valid until the next call.
  bool Look() {
    looked_ = device_->library().poll_cq(completions(), kBatch, arrived_);
    return looked_ > 0;
  }
  std::span<const Arrival> Take();
  bool may_be_more() const { return looked_ == int{kBatch}; }

  // --- Sleeping until something arrives. ---
  // Readable then, once Arm was called.
  int fd() const { return channel_->fd; }
  void Arm() { device_->library().req_notify_cq(completions(), 0); }
  // Takes the event that made the descriptor readable.
  void Disarm();

 private:
  static constexpr uint32_t kBatch = 16;

  Arrivals(const VerbsDevice& device, ChannelHandle channel, CompletionQueueHandle completions,
           SharedReceiveQueueHandle receives, Mapping buffers, RegionHandle region);

  std::byte* Buffer(uint64_t index) { return buffers_.get() + index * Message::kBytes; }
  std::optional<Message> Read(const ibv_wc& completion);
  // Posts receives, at most kBatch, into the buffers with these indices.
  void Receive(std::span<const uint64_t> buffers);

  const VerbsDevice* device_;
  ChannelHandle channel_;
  CompletionQueueHandle completions_;
  SharedReceiveQueueHandle receives_;
  Mapping buffers_;  // One for each receive; immediates leave them empty.
  RegionHandle region_;
  int looked_ = 0;
  ibv_wc arrived_[kBatch] = {};
  Arrival taken_[kBatch];
  absl::flat_hash_map<uint32_t, Source> source_of_;  // By queue pair.
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_ARRIVALS_H_
