// What has come in on one connection and is not taken in yet. Owns its buffer. One thread at a
// time.
#ifndef WEFT_RUNTIME_TRANSPORT_TCP_INBOX_H_
#define WEFT_RUNTIME_TRANSPORT_TCP_INBOX_H_

#include <cstddef>
#include <memory>
#include <span>

namespace weft {

// What became of a read that does not wait.
struct Received {
  enum class Kind { kSome, kNothing, kClosed, kBroken };
  Kind kind = Kind::kNothing;
  size_t bytes = 0;
  int error = 0;  // Of kBroken, an errno.
};

// Reads up to `bytes` straight to where they belong.
Received ReceiveInto(int socket, std::byte* to, size_t bytes);

class Inbox {
 public:
  explicit Inbox(size_t capacity) : capacity_(capacity) {}

  std::span<const std::byte> bytes() const { return {buffer_.get() + head_, tail_ - head_}; }
  bool empty() const { return head_ == tail_; }
  void Drop(size_t bytes) { head_ += bytes; }
  // Reads more, so that it holds `limit` bytes at most; there is room for at least one.
  Received Fill(int socket, size_t limit);
  void Clear() { head_ = tail_ = 0; }

 private:
  const size_t capacity_;
  std::unique_ptr<std::byte[]> buffer_;  // Made when it is first needed.
  size_t head_ = 0;
  size_t tail_ = 0;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_TCP_INBOX_H_
