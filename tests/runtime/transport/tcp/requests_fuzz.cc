// Whatever a peer sends, nothing outside of the slab and the control region is touched, and a
// request decodes to the bytes that it came from, or not at all.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>

#include "runtime/transport/tcp/frame.h"
#include "tests/runtime/transport/tcp/served_memory.h"

namespace {

void Decode(std::span<const std::byte> bytes) {
  if (bytes.size() < weft::RequestFrame::kMinBytes) return;
  const auto size = weft::RequestFrame::BytesOf(bytes.first<weft::RequestFrame::kMinBytes>());
  if (!size || bytes.size() < *size) return;
  const auto frame = weft::RequestFrame::Decode(bytes.first(*size));
  if (!frame || frame->bytes() != *size) std::abort();
  std::byte again[weft::RequestFrame::kMaxBytes];
  frame->Encode(again);
  if (!std::equal(again, again + *size, bytes.begin())) std::abort();
}

void Serve(std::span<const std::byte> bytes) {
  weft::GuardedMemory memory;
  weft::StreamPair pair;
  weft::ServedLane lane(std::move(pair.ours), weft::Lane::kSmall, memory.served());
  if (send(pair.theirs.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) return;
  bool any;
  do {
    any = false;
  } while (lane.Serve(any) == weft::ServedLane::Standing::kOpen && any);
  if (!memory.GuardsAreUntouched()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span bytes = std::as_bytes(std::span(data, size));
  Decode(bytes);
  if (size > 0) Serve(bytes);
  // Mutations of what is right get further than random bytes.
  std::byte good[2 * weft::RequestFrame::kMaxBytes + 8] = {};
  weft::RequestFrame{.length = 8}.Encode(good);
  weft::RequestFrame{.kind = weft::Op::Kind::kCompareSwap,
                     .offset = weft::GuardedMemory::kSlabBytes - 8,
                     .length = 8}
      .Encode(good + weft::RequestFrame::kMinBytes + 8);
  if (size < 2) return 0;
  const size_t at = data[0] % sizeof(good);
  std::copy_n(bytes.begin() + 1, std::min(size - 1, sizeof(good) - at), good + at);
  Serve(good);
  return 0;
}
