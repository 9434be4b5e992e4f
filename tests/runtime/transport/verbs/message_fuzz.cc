// What a peer sends decodes to the bytes that it came from, or not at all; and what it asks
// for is carried out within the slab and the control region, or refused.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>

#include "runtime/transport/verbs/agent.h"
#include "runtime/transport/verbs/message.h"

namespace {

constexpr size_t kSlabBytes = 64;
constexpr unsigned char kUntouched = 0xa5;

// The second of three ranks, between memory that nobody may touch.
struct Memory {
  alignas(4096) std::byte slabs[3 * kSlabBytes];
  alignas(4096) std::byte controls[3 * weft::kControlBytes];
};
Memory memory;

void CheckUntouched(std::span<const std::byte> bytes) {
  for (std::byte byte : bytes) {
    if (byte != std::byte{kUntouched}) std::abort();
  }
}

void TryOne(std::span<const std::byte> bytes) {
  const std::optional<weft::Message> message = weft::Message::Decode(bytes);
  if (!message) return;
  std::byte again[weft::Message::kBytes];
  message->Encode(again);
  if (!std::equal(bytes.begin(), bytes.end(), std::begin(again), std::end(again))) std::abort();
  if (message->kind != weft::Message::Kind::kAtomic) return;

  weft::NodeView node;
  node.rank = 1;
  node.size = 3;
  node.heap = memory.slabs;
  node.slab_bytes = kSlabBytes;
  node.control_base = memory.controls;
  const weft::Message reply = weft::CarryOut(*message, node);
  const bool slab = message->segment == weft::Segment::Kind::kSlab;
  const uint64_t size = slab ? kSlabBytes : weft::kControlBytes;
  const bool inside = message->offset < size && message->offset % message->length == 0;
  if ((reply.result == weft::Event::Result::kOk) != inside) std::abort();
  CheckUntouched({memory.slabs, kSlabBytes});
  CheckUntouched({memory.slabs + 2 * kSlabBytes, kSlabBytes});
  if (slab) return;
  // Looking at all of the others' control regions each time would be slow: at what is near.
  CheckUntouched({memory.controls + weft::kControlBytes - 64, 64});
  CheckUntouched({memory.controls + 2 * weft::kControlBytes, 64});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::memset(memory.slabs, kUntouched, sizeof(memory.slabs));
  static const bool prepared = [] {
    std::memset(memory.controls, kUntouched, sizeof(memory.controls));
    return true;
  }();
  if (!prepared) std::abort();
  TryOne(std::as_bytes(std::span(data, size)));
  // Mutations of what is right get further than random bytes.
  std::byte bytes[weft::Message::kBytes];
  weft::Message{.kind = weft::Message::Kind::kAtomic,
                .operation = weft::Op::Kind::kFetchAdd,
                .length = 8,
                .offset = kSlabBytes - 8,
                .operand = 1}
      .Encode(bytes);
  if (!weft::Message::Decode(bytes)) std::abort();
  if (size < 2) return 0;
  const size_t at = data[0] % sizeof(bytes);
  std::memcpy(bytes + at, data + 1, std::min(size - 1, sizeof(bytes) - at));
  TryOne(bytes);
  return 0;
}
