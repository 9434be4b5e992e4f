// What is on its way out on one connection: a buffer of small things, and at most one block of
// somebody else's memory behind it, which is not copied. While there is such a block nothing more
// is taken in, so that what is sent is what was said, in its order.
//
// Owns its buffer, not the block, which must stay until `empty()`. One thread at a time.
#ifndef WEFT_RUNTIME_TRANSPORT_TCP_OUTBOX_H_
#define WEFT_RUNTIME_TRANSPORT_TCP_OUTBOX_H_

#include <cstddef>
#include <memory>

namespace weft {

class Outbox {
 public:
  explicit Outbox(size_t capacity) : capacity_(capacity) {}

  bool empty() const { return head_ == tail_ && block_bytes_ == 0; }
  // How much Extend may be asked for.
  size_t room() const { return block_bytes_ > 0 ? 0 : capacity_ - (tail_ - head_); }

  // `bytes` <= room() more, which the caller fills.
  std::byte* Extend(size_t bytes);
  // Behind all that is there; afterwards room() is 0 until it was sent.
  void SetBlock(const void* block, size_t bytes);

  // Sends what `socket` takes without waiting, and some at a time, so that others have their turn.
  // False: the connection is broken, as errno says.
  bool Send(int socket);

  // Forgets everything.
  void Clear();

 private:
  const size_t capacity_;
  std::unique_ptr<std::byte[]> buffer_;  // Made when it is first needed.
  size_t head_ = 0;                      // The first byte that is not sent.
  size_t tail_ = 0;
  const std::byte* block_ = nullptr;
  size_t block_bytes_ = 0;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_TCP_OUTBOX_H_
