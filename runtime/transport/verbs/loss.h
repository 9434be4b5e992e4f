// Why a peer, or one of its lanes, came to its end: kept when it happens, told in the errors of
// the operations that it ended. Plain data and functions; any thread.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_LOSS_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_LOSS_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

#include "runtime/transport/verbs/device.h"

namespace weft {

enum class Loss : uint8_t {
  kNone,
  kGivenUp,       // By this rank.
  kSilence,       // Nothing was acknowledged, however often it was sent.
  kBulkSilence,   // The same, and it happened on the bulk lane.
  kNotReady,      // The peer had no receive for too long.
  kDenied,        // The peer's device refused the access: its memory is gone.
  kNoPath,        // Our device could not send: soft ones say so when their interface is down.
  kFault,         // Any other failed request.
  kRefused,       // Our device took no more requests.
  kPair,          // The queue pair failed, as the device has told.
  kQueues,        // A queue of all pairs failed.
  kDevice,        // The device failed or was removed.
  kRenewal,       // The bulk lane could not start anew.
  kClosed,        // The peer has ended the connection, or lost it.
  kNoConnection,  // None came about; what was tried is the peer's to tell.
};

// Of a request that ended like this.
Loss LossOf(ibv_wc_status status);

// What to know about a peer in order to tell.
struct LossFacts {
  Loss loss = Loss::kNone;
  ibv_mtu mtu = IBV_MTU_256;  // In force towards that peer.
  // Whether anything, and whether large transfers, ever got through.
  bool small_passed = false;
  bool large_passed = false;
};

// One sentence without an end; asks the device for its port's state.
std::string DescribeLoss(const LossFacts& facts, const VerbsDevice& device);

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_LOSS_H_
