// What is said before anybody is known, and what is published: it decodes to the bytes that it
// came from, or not at all; and nobody without the secret gets in.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "runtime/transport/tcp/greeting.h"
#include "runtime/transport/tcp/hello.h"
#include "runtime/transport/tcp/tcp_address.h"
#include "tests/runtime/transport/tcp/served_memory.h"

namespace {

constexpr weft::JobSecret kSecret = {7};

void Greet(std::span<const uint8_t> bytes) {
  weft::StreamPair pair;
  weft::Greeting greeting(std::move(pair.ours));
  if (send(pair.theirs.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) return;
  for (int i = 0; i < 4; ++i) {
    const auto outcome =
        greeting.Step(kSecret, [](const weft::Hello&) { return weft::HelloRefusal::kNone; });
    if (outcome == weft::Greeting::Outcome::kMet) std::abort();
    if (outcome == weft::Greeting::Outcome::kFailed) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span bytes(data, size);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto hello = weft::Hello::Decode(bytes); hello.ok()) {
    if (!std::ranges::equal(hello->Encode(), bytes)) std::abort();
  }
  if (weft::Challenge::Open(bytes, kSecret, {}).ok()) std::abort();
  if (const auto address = weft::TcpAddress::Decode(text); address.ok()) {
    if (address->Encode() != text) std::abort();
  }
  if (const auto key = weft::TcpKey::Decode(text); key.ok()) {
    if (key->Encode() != text) std::abort();
  }
  if (size > 0) Greet(bytes);
  // Mutations of what is right get further than random bytes.
  const weft::Hello::Bytes good = weft::Hello{.from = 1, .number = 1}.Encode();
  std::string hello(good.begin(), good.end());
  hello.append(32, '\0');  // In the place of the proof.
  std::string address = weft::TcpAddress{.rank = 1, .listening = {{.port = 1}}}.Encode();
  if (size < 2) return 0;
  for (std::string* mutated : {&hello, &address}) {
    const size_t at = data[0] % mutated->size();
    mutated->replace(at, std::min(size - 1, mutated->size() - at), text.substr(1));
  }
  Greet({reinterpret_cast<const uint8_t*>(hello.data()), hello.size()});
  if (const auto decoded = weft::TcpAddress::Decode(address); decoded.ok()) {
    if (decoded->Encode() != address) std::abort();
  }
  return 0;
}
