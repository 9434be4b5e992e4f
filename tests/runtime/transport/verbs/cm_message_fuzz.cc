// The private data of strangers is refused; what is proved seals to the same bytes again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "runtime/transport/verbs/cm_message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using weft::CmMessage;
  const weft::JobSecret secret = {1};
  const CmMessage::Nonce nonce = {2};
  const std::span<const uint8_t> bytes(data, size);
  if (CmMessage::Open(bytes, secret, nonce).ok()) std::abort();  // Guessed.
  CmMessage::ProofOf(bytes);

  // A member of the job that says what it likes.
  CmMessage message;
  if (size < 24) return 0;
  const auto number = [&](size_t at) {
    return uint32_t{data[at]} | uint32_t{data[at + 1]} << 8 | uint32_t{data[at + 2]} << 16 |
           uint32_t{data[at + 3]} << 24;
  };
  message.kind = static_cast<CmMessage::Kind>(data[0] % 5);
  message.refusal = static_cast<CmMessage::Refusal>(data[1] % 9);
  message.lane = static_cast<weft::Lane>(data[2] % 3);
  message.from = number(4) & 0xffff;
  message.to = number(8) & 0xffff;
  message.number = number(12);
  message.pair = number(16);
  message.credit_key = number(20);
  const CmMessage::Bytes sealed = message.Seal(secret, nonce);
  const auto opened = CmMessage::Open(sealed, secret, nonce);
  if (opened.ok() && (!(*opened == message) || opened->Seal(secret, nonce) != sealed)) {
    std::abort();
  }
  return 0;
}
