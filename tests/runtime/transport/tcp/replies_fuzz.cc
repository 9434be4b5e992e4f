// Whatever a peer replies, nothing but what was asked for is written, and every operation ends
// once.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "runtime/transport/tcp/request_lane.h"
#include "tests/runtime/transport/tcp/served_memory.h"

namespace {

constexpr uint64_t kOperations = 4;

void Reply(std::span<const std::byte> bytes) {
  weft::StreamPair pair;
  weft::RequestLane lane(1);
  lane.Open(std::move(pair.ours));
  std::vector<std::byte> memory(3 * 64, weft::GuardedMemory::kUntouched);
  std::byte* const local = memory.data() + 64;
  const weft::RemoteRegion region = {.length = 4096};
  using Kind = weft::Op::Kind;
  const weft::Op ops[kOperations] = {
      {.token = 1, .region = &region, .local = local, .length = 8},
      {.kind = Kind::kGet, .token = 2, .region = &region, .local = local, .length = 64},
      {.kind = Kind::kFetchAdd, .token = 3, .region = &region, .local = local, .length = 8},
      {.kind = Kind::kSet, .token = 4, .region = &region, .length = 8}};
  if (lane.Post(ops) != kOperations || !lane.Send()) std::abort();
  if (send(pair.theirs.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) return;
  weft::EventQueue events;
  bool any;
  do {
    any = false;
  } while (lane.Receive(events, any) && any);
  lane.End(events);
  uint64_t ended = 0;
  weft::Event event;
  while (events.Take({&event, 1}) == 1) {
    if (event.token == 0 || event.token > kOperations || (ended >> event.token & 1) != 0) {
      std::abort();
    }
    ended |= uint64_t{1} << event.token;
  }
  if (ended != 0b11110) std::abort();
  for (size_t i = 0; i < 64; ++i) {
    if (memory[i] != weft::GuardedMemory::kUntouched ||
        memory[128 + i] != weft::GuardedMemory::kUntouched) {
      std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span bytes = std::as_bytes(std::span(data, size));
  if (size >= weft::ReplyFrame::kBytes) {
    const auto start = bytes.first<weft::ReplyFrame::kBytes>();
    if (const auto frame = weft::ReplyFrame::Decode(start)) {
      std::byte again[weft::ReplyFrame::kBytes];
      frame->Encode(again);
      if (!std::ranges::equal(again, start)) std::abort();
    }
  }
  if (size > 0) Reply(bytes);
  // Mutations of what is right get further than random bytes.
  using Reply_ = weft::ReplyFrame;
  std::byte good[4 * Reply_::kBytes + 64 + 8] = {};
  Reply_{.number = 1}.Encode(good);
  Reply_{.kind = Reply_::Kind::kData, .number = 64}.Encode(good + 8);
  Reply_{.kind = Reply_::Kind::kWord}.Encode(good + 16 + 64);
  Reply_{.number = 1}.Encode(good + 32 + 64);
  if (size < 2) return 0;
  const size_t at = data[0] % sizeof(good);
  std::copy_n(bytes.begin() + 1, std::min(size - 1, sizeof(good) - at), good + at);
  Reply(good);
  return 0;
}
