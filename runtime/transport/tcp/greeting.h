// A connection that somebody has made to this rank, until it is known who: reads his hello,
// challenges him, and reads his proof. Before that he gets no more than this object and its few
// seconds.
//
// One thread at a time; nothing waits.
#ifndef WEFT_RUNTIME_TRANSPORT_TCP_GREETING_H_
#define WEFT_RUNTIME_TRANSPORT_TCP_GREETING_H_

#include <array>
#include <cstdint>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "runtime/base/deadline.h"
#include "runtime/base/job_secret.h"
#include "runtime/base/unique_fd.h"
#include "runtime/transport/tcp/hello.h"

namespace weft {

class Greeting {
 public:
  static constexpr absl::Duration kLimit = absl::Seconds(3);

  enum class Outcome : uint8_t { kUnderWay, kMet, kFailed };
  // Whether a caller that says this may come in.
  using Judge = absl::FunctionRef<HelloRefusal(const Hello&)>;

  explicit Greeting(UniqueFd socket) : socket_(std::move(socket)) {}

  int socket() const { return socket_.get(); }
  // Does what can be done now.
  Outcome Step(const JobSecret& secret, Judge judge);

  // After kMet: who it is, and the connection.
  const Hello& hello() const { return hello_; }
  UniqueFd TakeSocket() { return std::move(socket_); }

 private:
  enum class Stage : uint8_t { kHello, kProof };

  // Reads on until `bytes` are there.
  Outcome Read(size_t bytes);
  Outcome AnswerHello(const JobSecret& secret, Judge judge);

  UniqueFd socket_;
  Deadline end_ = Deadline::After(kLimit);
  Stage stage_ = Stage::kHello;
  Hello::Bytes said_ = {};
  Challenge::Bytes challenge_ = {};
  Hello hello_;
  std::array<uint8_t, 64> buffer_ = {};
  size_t read_ = 0;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_TCP_GREETING_H_
