// How operations are said to a device: what it lacks, and what is done instead. All that
// differs between devices, iWARP above all, is decided here; docs/verbs.md tells why.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_DIALECT_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_DIALECT_H_

#include <infiniband/verbs.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/transport/verbs/port.h"
#include "runtime/transport/verbs/verbs_options.h"

namespace weft {

struct Dialect {
  // The agent domain: atomics, notifications and signals are messages (SEND), carried out by
  // the processor of the rank that they are for.
  bool messages = false;
  // A WRITE's completion does not say that the data is at the target, and it may come ahead
  // of an earlier READ's: every chain ends in a request that the peer's device answers.
  bool proves = false;
  // No request waits for earlier ones at the device: the transport does.
  bool waits_to_fence = false;
  // A READ's answer is a remote write into the memory that it is for.
  bool remote_sinks = false;
  // Bytes that are asked for in a request; soft-iWARP makes no queue pair with more than 80.
  uint32_t max_inline = 128;
};

// Of a device that has `atomics`. kFailedPrecondition: it cannot do what was asked for.
absl::StatusOr<Dialect> ChooseDialect(const VerbsPort& port, ibv_atomic_cap atomics,
                                      const VerbsOptions& options);

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_DIALECT_H_
