// One end of a connection in bare verbs: what a program without Weft would write.
//
// A fault ends the process, with a line that says what failed. One thread.
#ifndef WEFT_BENCH_VERBS_RAW_PAIR_H_
#define WEFT_BENCH_VERBS_RAW_PAIR_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weft::bench {

class RawPair {
 public:
  static constexpr uint32_t kDepth = 256;  // As Weft's queue pairs.
  static constexpr uint32_t kInline = 128;
  static constexpr uint32_t kReceives = 16;

  // Opens the port `device[:port]` (empty: the first that is active), registers
  // `memory`, and connects to whoever holds the other end of the socket.
  RawPair(const std::string& device, std::span<std::byte> memory, int socket);

  // A request on the bytes at `offset` of both memories.
  struct Request {
    ibv_wr_opcode opcode;
    size_t offset;
    size_t length;
    unsigned flags = IBV_SEND_SIGNALED;
    uint64_t operand = 0;
    uint64_t compare = 0;
  };
  void Post(const Request& request);
  // Waits for completions of what was sent.
  void AwaitSent(uint32_t count = 1) { Await(sent_, count); }
  // Waits for an immediate, and makes up for the receive that it took.
  void AwaitArrival();

 private:
  static void Await(ibv_cq* queue, uint32_t count);
  void PostReceive();
  void Connect(int socket);

  const std::span<std::byte> memory_;
  ibv_context* context_ = nullptr;
  uint8_t port_ = 1;
  ibv_pd* domain_ = nullptr;
  ibv_mr* region_ = nullptr;
  ibv_cq* sent_ = nullptr;
  ibv_cq* received_ = nullptr;
  ibv_qp* pair_ = nullptr;
  uint64_t peer_base_ = 0;
  uint32_t peer_key_ = 0;
};

}  // namespace weft::bench
#endif  // WEFT_BENCH_VERBS_RAW_PAIR_H_
