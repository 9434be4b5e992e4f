// What a rank can ask of the verbs transport. Plain data and functions; any thread.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_VERBS_OPTIONS_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_VERBS_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/base/job_secret.h"
#include "weft/rank.h"

namespace weft {

struct VerbsPort;

// Who carries atomics out; WEFT_ATOMICS.
enum class AtomicsChoice : uint8_t {
  kAuto,   // The device if it can, else the agent.
  kNic,    // The device.
  kAgent,  // The processor of the rank that they are for.
};

// How connections come about; WEFT_VERBS_CONNECT.
enum class ConnectChoice : uint8_t {
  kAuto,
  kCm,        // By librdmacm, each when it is first needed.
  kExchange,  // By the numbers of queue pairs in the published addresses, all at once.
};

struct VerbsOptions {
  std::string device;  // As ChoosePort takes it.
  AtomicsChoice atomics = AtomicsChoice::kAuto;
  bool strict_flush = false;  // Prove all placement by READs.
  ConnectChoice connect = ConnectChoice::kAuto;
  JobSecret secret = {};  // What ranks that connect by librdmacm prove themselves by.
};

// Up to here kAuto exchanges: 128 queue pairs a rank, made and connected at Join in some tens of
// milliseconds, and none is waited for later. Beyond it most pairs of ranks never meet, and
// what is made for all of them grows with the square of the job.
inline constexpr Rank kMostEager = 64;

// Whether a rank that uses `port` connects by librdmacm. kFailedPrecondition,
// kResourceExhausted: it cannot do what was chosen.
absl::StatusOr<bool> ConnectsByCm(ConnectChoice choice, const VerbsPort& port, Rank ranks);

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_VERBS_OPTIONS_H_
