#include "runtime/transport/verbs/agent.h"

#include "runtime/transport/address.h"
#include "runtime/transport/cpu_atomics.h"

namespace weft {

Message CarryOut(const Message& request, const NodeView& node) {
  const bool slab = request.segment == Segment::Kind::kSlab;
  std::byte* const base =
      slab ? node.slab(node.rank) : reinterpret_cast<std::byte*>(&node.control(node.rank));
  const RemoteRegion region = {.mapped = base,
                               .length = slab ? node.slab_bytes : uint64_t{kControlBytes}};
  Message reply = {.kind = Message::Kind::kReply, .number = request.number};
  if (GoodAddress({.kind = request.operation,
                   .region = &region,
                   .offset = request.offset,
                   .length = request.length})) {
    reply.operand = AtomicOnCpu(base + request.offset, request.operation, request.length,
                                request.operand, request.compare);
  } else {
    reply.result = Event::Result::kBadAddress;
  }
  return reply;
}

}  // namespace weft
