// What a real RDMA device (a soft one, in a guest) makes of large and of many registrations:
// offsets beyond 4 GiB, messages beyond its longest, many small segments, little lockable memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "runtime/engine/engine.h"
#include "runtime/transport/verbs/verbs_transport.h"
#include "tests/support/test_node.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kGiB = uint64_t{1} << 30;

Deadline Soon() { return Deadline::After(absl::Seconds(100)); }

std::unique_ptr<VerbsTransport> Make(const NodeView& node) {
  const char* const devices = std::getenv("RDMA_DEVICES");
  const std::vector<std::string> names =
      absl::StrSplit(devices == nullptr ? "" : devices, ' ', absl::SkipEmpty());
  auto library = VerbsLibrary::Load();
  if (!library.ok()) return nullptr;
  VerbsOptions options;
  if (!names.empty()) options.device = names[node.rank % names.size()];
  auto transport = VerbsTransport::Create(**library, options, node);
  EXPECT_TRUE(transport.ok()) << transport.status();
  return transport.ok() ? *std::move(transport) : nullptr;
}

// Much address space over little memory: a window of it, again and again. The window's size
// divides no power of two, so that an address that lost its upper bits finds another place.
class Folded {
 public:
  static constexpr uint64_t kWindow = (uint64_t{16} << 20) + 3 * 4096;

  explicit Folded(uint64_t bytes) : bytes_(bytes / kWindow * kWindow) {
    const int fd = memfd_create("folded", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, kWindow) != 0) std::abort();
    void* const space =
        mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) std::abort();
    base_ = static_cast<std::byte*>(space);
    for (uint64_t at = 0; at < bytes_; at += kWindow) {
      void* const window = mmap(base_ + at, kWindow, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0);
      if (window == MAP_FAILED) std::abort();
    }
    close(fd);
  }
  ~Folded() { munmap(base_, bytes_); }

  std::span<std::byte> bytes() const { return {base_, bytes_}; }

 private:
  const uint64_t bytes_;
  std::byte* base_;
};

// Case 20.
TEST(VerbsLimits, OffsetsBeyondFourGibibytesAndMessagesBeyondTheLongest) {
  TestNode node(2, 32 << 20);
  const Folded memory(4 * kGiB + (uint64_t{64} << 20));
  auto near = Make(node.view(0)), far = Make(node.view(1));
  ASSERT_TRUE(near != nullptr && far != nullptr);
  const auto control = [&](Rank rank) {
    return Segment{Segment::Kind::kControl,
                   {node.view(0).control_base + rank * kControlBytes, kControlBytes}};
  };
  const std::span<std::byte> source(node.view(0).slab(0), 32 << 20);
  auto source_registration = near->Register({Segment::Kind::kSlab, source});
  auto near_control = near->Register(control(0));
  auto far_slab = far->Register({Segment::Kind::kSlab, memory.bytes()});
  auto far_control = far->Register(control(1));
  ASSERT_TRUE(far_slab.ok()) << far_slab.status();
  ASSERT_TRUE(source_registration.ok() && near_control.ok() && far_control.ok());
  const PeerCard cards[] = {
      {near->Address(), (*source_registration)->key(), (*near_control)->key()},
      {far->Address(), (*far_slab)->key(), (*far_control)->key()}};
  const auto directory = [&](Rank rank) -> absl::StatusOr<PeerCard> { return cards[rank]; };
  const uint64_t longest = near->caps().max_length;
  Engine there(std::move(far), node.view(1), directory);
  Engine here(std::move(near), node.view(0), directory,
              {{.bytes = source, .local_key = (*source_registration)->local_key()}});
  // Either completes the other's connection.
  absl::Status connected[2];
  std::thread other([&] { connected[1] = there.ConnectAll(Soon()); });
  connected[0] = here.ConnectAll(Soon());
  other.join();
  ASSERT_TRUE(connected[0].ok() && connected[1].ok()) << connected[0] << connected[1];

  for (const uint64_t offset : {2 * kGiB - 8, 2 * kGiB + 8, 4 * kGiB - 8, 4 * kGiB + 8}) {
    const uint64_t value = offset * 3;
    uint64_t old = 0, back[2] = {};
    const uint64_t two[2] = {offset, ~offset};
    ASSERT_TRUE(
        here.Run({.peer = 1, .offset = offset, .source = &value, .length = 8}, Soon()).ok());
    ASSERT_TRUE(here.Run({.kind = Op::Kind::kFetchAdd,
                          .peer = 1,
                          .offset = offset,
                          .destination = &old,
                          .length = 8,
                          .operand = 5},
                         Soon())
                    .ok());
    EXPECT_EQ(old, value);
    uint64_t there_now = 0;
    std::memcpy(&there_now, memory.bytes().data() + offset, 8);
    EXPECT_EQ(there_now, value + 5);
    // Across the boundary.
    ASSERT_TRUE(
        here.Run({.peer = 1, .offset = offset + 4, .source = two, .length = 16}, Soon()).ok());
    ASSERT_TRUE(here.Run({.kind = Op::Kind::kGet,
                          .peer = 1,
                          .offset = offset + 4,
                          .destination = back,
                          .length = 16},
                         Soon())
                    .ok());
    EXPECT_EQ(std::memcmp(two, back, 16), 0);
  }

  // Of several messages, with one notification: all of it is there when that is.
  const uint64_t bytes = longest + (1 << 20) + 24;
  if (bytes < source.size()) {
    const uint64_t offset = 4 * kGiB - (1 << 20);
    source[0] = std::byte{0x11};
    source[bytes - 1] = std::byte{0x5a};
    const auto put = here.Start({.ride = Ride::kCounter,
                                 .peer = 1,
                                 .offset = offset,
                                 .source = source.data(),
                                 .length = bytes,
                                 .operand = 7},
                                Soon());
    ASSERT_TRUE(put.ok()) << put.status();
    std::atomic<uint64_t>& arrivals = node.view(1).control(1).counters[7].arrivals;
    const Deadline patience = Soon();
    while (arrivals == 0 && !patience.Expired()) here.Progress();
    EXPECT_EQ(arrivals, 1u);
    EXPECT_EQ(memory.bytes()[offset], std::byte{0x11});
    EXPECT_EQ(memory.bytes()[offset + bytes - 1], std::byte{0x5a});
    EXPECT_TRUE(here.Finish(*put, Soon()).ok());
  }
}

// The machine's limit of mappings a process, changed for a while.
class MapCount {
 public:
  static constexpr char kPath[] = "/proc/sys/vm/max_map_count";

  MapCount() { std::ifstream(kPath) >> before_; }
  ~MapCount() { Set(before_); }
  bool Set(uint64_t count) {
    return static_cast<bool>(std::ofstream(kPath) << count << std::flush);
  }

 private:
  uint64_t before_ = 0;
};

// Case 19: 70,000 of them under the usual limit of 65,530 mappings take minutes in a guest.
TEST(VerbsLimits, MoreSegmentsThanMappingsWorkOrTheLimitIsNamed) {
  constexpr size_t kSegments = 3000, kMappings = 2000, kPage = 4096;
  TestNode node(1, 4 << 20);
  auto transport = Make(node.view(0));
  ASSERT_TRUE(transport != nullptr);
  void* const memory =
      mmap(nullptr, kSegments * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::vector<std::unique_ptr<Registration>> registrations;
  {
    MapCount limit;
    if (!limit.Set(kMappings)) GTEST_SKIP() << "needs root, to lower vm.max_map_count";
    for (size_t i = 0; i < kSegments; ++i) {
      auto registration = transport->Register(
          {Segment::Kind::kLocal, {static_cast<std::byte*>(memory) + i * kPage, kPage}});
      if (!registration.ok()) {
        EXPECT_THAT(std::string(registration.status().message()), HasSubstr("vm.max_map_count"));
        break;
      }
      registrations.push_back(*std::move(registration));
    }
  }
  std::cout << registrations.size() << " segments\n";
  EXPECT_GT(registrations.size(), 500u);
  registrations.clear();
  const std::span<std::byte> all(static_cast<std::byte*>(memory), kSegments * kPage);
  EXPECT_TRUE(transport->Register({Segment::Kind::kLocal, all}).ok());
  munmap(memory, kSegments * kPage);
}

// As an ordinary user's process: without the capability that lifts the limit.
void LimitLockable(uint64_t bytes) {
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[2] = {};
  ASSERT_EQ(syscall(SYS_capget, &header, data), 0);
  data[0].effective &= ~(1U << CAP_IPC_LOCK);
  ASSERT_EQ(syscall(SYS_capset, &header, data), 0);
  const rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
}

// The last one: it gives the capability up for good.
TEST(VerbsLimits, TooLittleLockableMemoryIsNamedBeforehand) {
  LimitLockable(4 << 20);
  TestNode node(1, 8 << 20);
  auto transport = Make(node.view(0));
  ASSERT_TRUE(transport != nullptr);
  const std::span<std::byte> slab(node.view(0).slab(0), 8 << 20);
  // What fits is not refused: the kernel counts as we do.
  const auto half = transport->Register({Segment::Kind::kLocal, slab.first(3 << 20)});
  EXPECT_TRUE(half.ok()) << half.status();
  const auto more = transport->Register({Segment::Kind::kSlab, slab.first(1 << 20)});
  EXPECT_EQ(more.status().code(), absl::StatusCode::kResourceExhausted) << more.status();
  EXPECT_THAT(std::string(more.status().message()),
              AllOf(HasSubstr("1024 KiB"), HasSubstr("4096 KiB (ulimit -l)"),
                    HasSubstr("are in use"), HasSubstr("WEFT_HEAP_BYTES")));
}

}  // namespace
}  // namespace weft
