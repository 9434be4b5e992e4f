// The agent: carries out on this rank's memory, with its processor, the atomics that peers ask
// for, so that they exclude those of the processors of this host.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_AGENT_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_AGENT_H_

#include "runtime/base/node_view.h"
#include "runtime/transport/verbs/message.h"

namespace weft {

// The reply to `request`, an atomic that was decoded. What lies outside of the memory of
// `node.rank`, or is not aligned, touches nothing: kBadAddress.
Message CarryOut(const Message& request, const NodeView& node);

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_AGENT_H_
