// A call of this rank to a peer: tries the addresses that the peer listens on, one after the
// other, until somebody there has proved to be that peer, and has been proved to. Which of them
// can be reached shows only so: another host may have the same address on a network of its own.
//
// One thread at a time; nothing waits.
#ifndef WEFT_RUNTIME_TRANSPORT_TCP_CALL_H_
#define WEFT_RUNTIME_TRANSPORT_TCP_CALL_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/deadline.h"
#include "runtime/base/unique_fd.h"
#include "runtime/transport/tcp/hello.h"
#include "runtime/transport/tcp/socket_address.h"
#include "runtime/transport/tcp/socket_set.h"
#include "runtime/transport/tcp/tcp_options.h"

namespace weft {

class Call {
 public:
  enum class Outcome : uint8_t { kUnderWay, kMet, kFailed };

  // `hello` says who calls whom, and for which lane; its number and nonce are this call's to fill,
  // the numbers from `number` on, which counts on. All but `to` must outlive it.
  Call(const TcpOptions& options, SocketSet& sockets, Hello hello, uint32_t& number,
       std::vector<SocketAddress> to);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() { HangUp(); }

  // Does what can be done now.
  Outcome Step();
  // When Step has something to do even if nothing comes.
  Deadline next() const { return next_; }

  // After kMet: the connection.
  UniqueFd TakeSocket() { return std::move(socket_); }
  // After kFailed: what was tried, and what came of it.
  std::string why() const;

 private:
  enum class Stage : uint8_t { kPausing, kConnecting, kGreeting };

  void SayHello();
  void HangUp();
  Outcome ReadChallenge();
  // This attempt has come to nothing; the next address, or the first again after a pause.
  Outcome Failed(std::string_view why, bool final = false);
  SocketTag tag() const;

  const TcpOptions& options_;
  SocketSet& sockets_;
  Hello hello_;
  uint32_t& number_;
  const std::vector<SocketAddress> to_;
  const Deadline end_;
  Stage stage_ = Stage::kPausing;
  Deadline next_ = Deadline::AtMonotonicNanos(0);
  size_t attempt_ = 0;  // Whose address is to_[attempt_ % to_.size()].
  UniqueFd socket_;
  Hello::Bytes said_ = {};
  std::array<uint8_t, Challenge::kBytes> challenge_ = {};
  size_t read_ = 0;                 // Of it.
  std::vector<std::string> heard_;  // Of each address, what tells most of the last attempt.
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_TCP_CALL_H_
