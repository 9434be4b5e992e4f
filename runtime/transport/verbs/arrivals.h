// The receiving side of a rank: what its peers notify it of.
//
// A WRITE with immediate takes a receive from the shared queue of all peers. Each
// peer may have a fixed number of them under way on each lane, its credits, for
// which the queue always has receives; so nobody ever has to wait for one and try again. What was
// taken in is told back to the peer, by a count that it reads in its own memory.
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
#include "runtime/transport/transport.h"
#include "runtime/transport/verbs/device.h"
#include "runtime/transport/verbs/work_chain.h"
#include "weft/rank.h"

namespace weft {

class Arrivals {
 public:
  // Immediates that a peer may have under way on a lane. What renews a lane must not wait
  // for credits: a question, and an answer, at a time.
  static constexpr uint32_t kCredits = 16;
  static constexpr uint32_t kReceives = 2 * kCredits + 4;

  // What a queue pair is one end of.
  struct Source {
    Rank rank = 0;
    Lane lane = Lane::kSmall;
    bool former = false;  // It was replaced.
  };
  struct Arrival {
    Source from;
    Immediate immediate;
  };

  // For `peers` peers.
  static absl::StatusOr<Arrivals> Create(const VerbsDevice& device, Rank peers);

  // What queue pairs receive by.
  ibv_cq* completions() const { return completions_.get(); }
  ibv_srq* receives() const { return receives_.get(); }
  void Expect(uint32_t pair_number, const Source& source) { source_of_[pair_number] = source; }
  // The pair is about to be destroyed; what came before is still taken in.
  void Retire(uint32_t pair_number) { source_of_[pair_number].former = true; }

  // What the pair is an end of; nullopt: of nothing (any more).
  std::optional<Source> SourceOf(uint32_t pair_number) const;

  // Takes in what has arrived, at most `arrivals.size()`, and makes up for the receives
  // that it took. Failed receives belong to queue pairs that are gone.
  size_t Take(std::span<Arrival> arrivals);

  // --- Sleeping until something arrives. ---
  // Readable then, once Arm was called.
  int fd() const { return channel_->fd; }
  void Arm() { device_->library().req_notify_cq(completions(), 0); }
  // Takes the event that made the descriptor readable.
  void Disarm();

 private:
  Arrivals(const VerbsDevice& device, ChannelHandle channel, CompletionQueueHandle completions,
           SharedReceiveQueueHandle receives);

  // Posts `count` empty receives.
  void Refill(uint32_t count);

  const VerbsDevice* device_;
  ChannelHandle channel_;
  CompletionQueueHandle completions_;
  SharedReceiveQueueHandle receives_;
  absl::flat_hash_map<uint32_t, Source> source_of_;  // By queue pair.
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_ARRIVALS_H_
