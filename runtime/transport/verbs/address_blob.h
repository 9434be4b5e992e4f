// What the verbs transport publishes through the bootstrap, as bytes: where this
// rank's port is, its queue pairs for every peer or where it listens, and the keys of its memory.
//
// The bytes come from other processes: decoding checks everything. Plain data and
// functions; any thread.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_ADDRESS_BLOB_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_ADDRESS_BLOB_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/transport/transport.h"
#include "runtime/transport/verbs/cm_listener.h"
#include "runtime/transport/verbs/queue_pair.h"
#include "weft/rank.h"

namespace weft {

// Registered memory of a rank, as its peers address it.
struct MemoryKey {
  Rank rank = 0;
  Segment::Kind segment = Segment::Kind::kSlab;
  uint64_t base = 0;
  uint64_t length = 0;
  uint32_t key = 0;
};

struct VerbsAddress {
  struct Pairs {
    PairEnd small;
    PairEnd bulk;
    const PairEnd& of(Lane lane) const { return lane == Lane::kSmall ? small : bulk; }
  };

  Rank rank = 0;
  bool agent = false;  // Atomics are carried out by the agent, not by the device.
  RemotePort port;
  MemoryKey credits;  // One word a peer, by its rank.
  // One of both: the pairs for each rank, by its rank; or where it listens.
  std::vector<Pairs> pairs;
  std::optional<CmAddress> cm;
};

// As many pairs as fit what a bootstrap holds under one key.
inline constexpr size_t kMaxExchangedRanks = 1000;

std::string EncodeVerbsAddress(const VerbsAddress& address);
// kInvalidArgument for anything that EncodeVerbsAddress did not make.
absl::StatusOr<VerbsAddress> DecodeVerbsAddress(std::string_view bytes);

std::string EncodeMemoryKey(const MemoryKey& key);
absl::StatusOr<MemoryKey> DecodeMemoryKey(std::string_view bytes);

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_ADDRESS_BLOB_H_
