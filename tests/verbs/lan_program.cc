// One of two ranks on two hosts, over RDMA: lan_program RANK ADDRESS PORT, where ADDRESS is rank
// 0's. Operates on the other until an operation fails, then tells how it failed and how long
// after the last that did not.
//
// A job over two hosts needs a launcher; this needs only the transport and the Engine, and
// exchanges what they publish over a TCP connection.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/engine/engine.h"
#include "runtime/transport/verbs/verbs_transport.h"
#include "tests/support/test_node.h"
#include "weft/try.h"

namespace weft {
namespace {

constexpr uint64_t kSlabBytes = 4 << 20;

Deadline Soon() { return Deadline::After(absl::Seconds(60)); }

// The connection between the two ranks, over which each tells the other strings.
class Line {
 public:
  Line(Rank rank, const char* address, uint16_t port) {
    sockaddr_in where = {};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    inet_pton(AF_INET, address, &where.sin_addr);
    const auto* const name = reinterpret_cast<const sockaddr*>(&where);
    fd_ = socket(AF_INET, SOCK_STREAM, 0);
    if (rank == 1) {
      // The other host may not be there yet.
      while (connect(fd_, name, sizeof(where)) != 0) {
        close(fd_);
        usleep(100'000);
        fd_ = socket(AF_INET, SOCK_STREAM, 0);
      }
    } else {
      const int listener = fd_;
      const int one = 1;
      setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
      if (bind(listener, name, sizeof(where)) != 0 || listen(listener, 1) != 0) std::abort();
      fd_ = accept(listener, nullptr, nullptr);
      close(listener);
    }
  }
  ~Line() { close(fd_); }

  std::string Exchange(const std::string& ours) {
    const uint32_t length = static_cast<uint32_t>(ours.size());
    Write(&length, sizeof(length));
    Write(ours.data(), ours.size());
    uint32_t theirs = 0;
    Read(&theirs, sizeof(theirs));
    std::string text(theirs, '\0');
    Read(text.data(), text.size());
    return text;
  }

 private:
  void Write(const void* bytes, size_t count) {
    if (send(fd_, bytes, count, MSG_NOSIGNAL) != static_cast<ssize_t>(count)) std::abort();
  }
  void Read(void* bytes, size_t count) {
    if (recv(fd_, bytes, count, MSG_WAITALL) != static_cast<ssize_t>(count)) std::abort();
  }

  int fd_ = -1;
};

absl::Status Round(Engine& engine, Rank other, uint64_t round, std::span<std::byte> block) {
  const Deadline deadline = Soon();
  uint64_t old = 0;
  WEFT_TRY(engine.Run({.peer = other, .source = &round, .length = 8}, deadline));
  WEFT_TRY(engine.Run({.kind = Op::Kind::kFetchAdd,
                       .peer = other,
                       .offset = 8,
                       .destination = &old,
                       .length = 8,
                       .operand = 1},
                      deadline));
  if (old != round) return absl::InternalError(absl::StrCat("additions: ", old, " of ", round));
  return engine.Run({.peer = other, .offset = 64, .source = block.data(), .length = block.size()},
                    deadline);
}

absl::Status Run(Rank rank, Line& line) {
  TestNode node(2, kSlabBytes);
  const NodeView view = node.view(rank);
  const std::span<std::byte> slab(view.slab(rank), kSlabBytes);
  const std::span<std::byte> control(view.control_base + rank * kControlBytes, kControlBytes);
  const VerbsLibrary* const library = WEFT_TRY(VerbsLibrary::Load());
  auto transport = WEFT_TRY(VerbsTransport::Create(*library, {}, view));
  const auto slab_registration = WEFT_TRY(transport->Register({Segment::Kind::kSlab, slab}));
  const auto control_registration =
      WEFT_TRY(transport->Register({Segment::Kind::kControl, control}));
  const PeerCard ours = {.address = transport->Address(),
                         .slab_key = slab_registration->key(),
                         .control_key = control_registration->key()};
  const PeerCard theirs = {.address = line.Exchange(ours.address),
                           .slab_key = line.Exchange(ours.slab_key),
                           .control_key = line.Exchange(ours.control_key)};
  Engine engine(std::move(transport), view,
                [&](Rank peer) -> absl::StatusOr<PeerCard> { return peer == rank ? ours : theirs; },
                {{.bytes = slab, .local_key = slab_registration->local_key()}});
  WEFT_TRY(engine.ConnectAll(Soon()));
  line.Exchange("connected");

  absl::Status status;
  int64_t last = MonotonicNanos();
  for (uint64_t round = 0; status.ok(); ++round) {
    last = MonotonicNanos();
    status = Round(engine, 1 - rank, round, slab.subspan(1 << 20, 100'000));
    if (round == 10) {
      std::puts("runs");
      std::fflush(stdout);
    }
  }
  std::printf("%.3f s: %s\n", static_cast<double>(MonotonicNanos() - last) * 1e-9,
              status.ToString().c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto rank = static_cast<weft::Rank>(std::atoi(argv[1]));
  weft::Line line(rank, argv[2], static_cast<uint16_t>(std::atoi(argv[3])));
  const absl::Status status = weft::Run(rank, line);
  if (status.ok()) return 0;
  std::printf("failed: %s\n", status.ToString().c_str());
  return 1;
}
