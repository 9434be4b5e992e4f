// One lane of a peer's operations on this rank: takes its requests from the connection, carries
// them out on this rank's memory in their order, and replies. Every field of a request is checked
// before anything is touched; what does not fit ends the connection.
//
// A peer that does not take its replies is not read from until it does, and holds nobody else up.
// The memory must outlive the object. One thread at a time.
#ifndef WEFT_RUNTIME_TRANSPORT_TCP_SERVED_LANE_H_
#define WEFT_RUNTIME_TRANSPORT_TCP_SERVED_LANE_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/base/control_layout.h"
#include "runtime/base/unique_fd.h"
#include "runtime/transport/tcp/frame.h"
#include "runtime/transport/tcp/inbox.h"
#include "runtime/transport/tcp/outbox.h"
#include "runtime/transport/transport.h"

namespace weft {

// What peers may reach of this rank. Empty: not registered.
struct ServedMemory {
  std::array<std::span<std::byte>, 2> segments;  // By Segment::Kind: the slab, the control region.
  ControlRegion* control = nullptr;              // For what rides.
};

class ServedLane {
 public:
  enum class Standing : uint8_t {
    kOpen,
    kClosed,   // By the peer, or broken.
    kRefused,  // The peer has sent what it must not; `why` tells.
  };

  ServedLane(UniqueFd socket, Lane lane, const ServedMemory& memory);
  ServedLane(const ServedLane&) = delete;
  ServedLane& operator=(const ServedLane&) = delete;
  ~ServedLane();

  int socket() const { return socket_.get(); }
  // Whether the peer must take replies before more of its requests are read.
  bool blocked() const { return !out_.empty(); }
  // Carries out what has come, some at a time. `any`: there was something.
  Standing Serve(bool& any);
  const std::string& why() const { return why_; }

 private:
  enum class Taken : uint8_t {
    kOne,
    kNone,    // The next is not whole yet.
    kNoRoom,  // There is none for its reply.
    kRefused,
  };

  // Reads once, carries out what has come, and replies. `turn` counts what was read; kTurn when
  // there is no more.
  Standing ReadMore(size_t& turn);
  // Carries out the next request of the inbox.
  Taken TakeRequest();
  Taken TakePut(const RequestFrame& frame, std::byte* memory, std::span<const std::byte> data);
  bool CheckAddress(const RequestFrame& frame);
  void CarryOut(const RequestFrame& frame, std::byte* memory);
  void ReplyWithData(const RequestFrame& frame, const std::byte* memory);
  void ReplyWithWord(uint64_t word);
  // The last byte of a put is there.
  void EndPut(const RequestFrame& frame);
  // As far as there is room.
  void ReplyDone();
  Taken Refuse(RefusalReason reason, std::string why);

  UniqueFd socket_;
  const size_t read_limit_;
  const ServedMemory& memory_;
  Inbox in_{size_t{64} << 10};
  Outbox out_{size_t{64} << 10};
  uint32_t done_ = 0;  // Puts that were carried out and not replied to.
  // A put whose data come straight to where they belong.
  RequestFrame put_;
  std::byte* put_to_ = nullptr;
  size_t put_left_ = 0;
  bool rang_ = false;      // Something rode: who sleeps is to look.
  bool received_ = false;  // Since Serve began.
  std::string why_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_TCP_SERVED_LANE_H_
