// All that inlined code may know of the runtime: tables that say which
// addresses of the global heap this process can load and store, and the calls
// that take over where they do not.
//
// Not for users. A Reach is written by Join, Leave and fork alone, and read by
// every access without a lock.
#ifndef WEFT_INTERNAL_REACH_H_
#define WEFT_INTERNAL_REACH_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "weft/internal/address.h"
#include "weft/rank.h"

namespace weft::internal {

class Runtime;  // runtime/world

// Tables of 65,536 entries for a process that reaches nothing: before Join,
// after Leave, in a forked child.
extern std::atomic<uint64_t> no_limits[65536];
extern const std::atomic<uint32_t> always_unsettled;

struct Reach {
  // All indexed by the top 16 bits of an address. The address behind that slab, in
  // 8-byte words (0 for null and for a dead rank), in memory that only the node's
  // guard writes; and what to add to an address to get a pointer, which means
  // something only where the limit is not 0.
  const std::atomic<uint64_t>* limit = no_limits;
  // The same for atomics, which may have to go through a device even where loads and
  // stores need not.
  const std::atomic<uint64_t>* atomic_limit = no_limits;
  const uint64_t* bias = nullptr;
  // Not 0 while an operation of the Engine is under way or an error is recorded.
  const std::atomic<uint32_t>* unsettled = &always_unsettled;
  // How many ranks of the node are dead.
  const std::atomic<uint32_t>* dead = &always_unsettled;
  Runtime* runtime = nullptr;
};

// The process's own. Ranks that are threads of one test process have their own.
extern constinit Reach reach;

// --- Addresses that this process can load --------------------------------------

// The pointer to an address that was checked.
inline void* Pointer(const Reach& reach, uint64_t bits) {
  void* p = reinterpret_cast<void*>(reach.bias[bits >> kOffsetBits] + bits);
  if (p == nullptr) __builtin_unreachable();  // Callers test for null: not twice.
  return p;
}

// Where an aligned value of 1, 2, 4 or 8 bytes lies, or null. One rotate and one
// comparison cover bounds, alignment, null, and dead ranks: low bits that should
// be zero end up on top.
template <size_t kBytes>
inline void* ResolveIn(const std::atomic<uint64_t>* limits, const Reach& reach, uint64_t bits) {
  static_assert(std::has_single_bit(kBytes) && kBytes <= 8);
  constexpr int kShift = std::countr_zero(kBytes);
  const uint64_t limit = limits[bits >> kOffsetBits].load(std::memory_order_relaxed);
  if (std::rotr(bits, kShift) >= limit << (3 - kShift)) [[unlikely]] {
    return nullptr;
  }
  return Pointer(reach, bits);
}

template <size_t kBytes>
inline void* Resolve(const Reach& reach, uint64_t bits) {
  return ResolveIn<kBytes>(reach.limit, reach, bits);
}

// Where the word lies, if this process's atomics on it exclude all others'; else null.
template <size_t kBytes>
inline void* ResolveAtomic(const Reach& reach, uint64_t bits) {
  return ResolveIn<kBytes>(reach.atomic_limit, reach, bits);
}

// Where `bytes` bytes lie, or null.
inline void* ResolveBytes(const Reach& reach, uint64_t bits, size_t bytes) {
  const uint64_t end = 8 * reach.limit[bits >> kOffsetBits].load(std::memory_order_relaxed);
  if (end == 0 || bits > end || bytes > end - bits) [[unlikely]] {
    return nullptr;
  }
  return Pointer(reach, bits);
}

// The unsigned integer of so many bytes, which may alias any type.
template <size_t kBytes>
struct WordOf;
template <>
struct WordOf<1> {
  typedef uint8_t type __attribute__((may_alias));
};
template <>
struct WordOf<2> {
  typedef uint16_t type __attribute__((may_alias));
};
template <>
struct WordOf<4> {
  typedef uint32_t type __attribute__((may_alias));
};
template <>
struct WordOf<8> {
  typedef uint64_t type __attribute__((may_alias));
};

template <typename T>
inline constexpr bool kIsWord = sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 ||
                                sizeof(T) == 8;

template <typename T>
inline void StoreWord(void* at, const T& value) {
  using Word = typename WordOf<sizeof(T)>::type;
  __atomic_store_n(static_cast<Word*>(at), std::bit_cast<Word>(value), __ATOMIC_RELAXED);
}

template <typename T>
inline T LoadWord(const void* at) {
  using Word = typename WordOf<sizeof(T)>::type;
  return std::bit_cast<T>(__atomic_load_n(static_cast<const Word*>(at), __ATOMIC_RELAXED));
}

// Room for a T without a default constructor.
template <typename T>
union Uninitialized {
  Uninitialized() {}
  T value;
};

// --- Out of line ------------------------------------------------------------------

// What a put raises at its target once its data is visible there.
struct RideSpec {
  enum class Kind : uint8_t { kNone, kCounter, kSetSignal, kAddSignal };
  Kind kind = Kind::kNone;
  uint64_t value = 0;   // The counter's id, or the operand of the signal.
  uint64_t signal = 0;  // The signal's address.
};

enum class AtomicKind : uint8_t { kAdd, kCompareSwap, kSwap, kFetch, kSet, kAnd, kOr, kXor };

struct AtomicSpec {
  AtomicKind kind;
  uint8_t bytes;  // 4 or 8
  uint64_t at;
  uint64_t operand = 0;
  uint64_t compare = 0;
};

// An operation under way outside the inline path; waits when dropped.
class Pending {
 public:
  Pending() = default;  // Nothing is under way.
  Pending(std::shared_ptr<Runtime> runtime, uint64_t handle);
  Pending(Pending&& other) noexcept;
  Pending& operator=(Pending&& other) noexcept;
  ~Pending();

  bool active() const { return runtime_ != nullptr; }
  // Whether Finish would return at once.
  bool Ready() const;
  // Waits until the operation is complete, at most until `deadline_nanos` on the
  // monotonic clock (0: the runtime's default, from now on).
  absl::Status Finish(int64_t deadline_nanos);

 private:
  std::shared_ptr<Runtime> runtime_;
  uint64_t handle_ = 0;
};

// Where `bytes` bytes lie in memory that this process has mapped, or null; also
// where the inline path is closed.
void* LocalAddress(const Reach& reach, uint64_t bits, size_t bytes);

// The monotonic clock's reading at `deadline`.
int64_t MonotonicNanosAt(absl::Time deadline);

// `ride`: null where there is none.
absl::Status SlowPut(const Reach& reach, uint64_t to, const void* from, size_t bytes,
                     const RideSpec* ride);
absl::Status SlowGet(const Reach& reach, void* to, uint64_t from, size_t bytes);
absl::Status SlowAtomic(const Reach& reach, const AtomicSpec& atomic, void* old);

void SlowPostPut(const Reach& reach, uint64_t to, const void* from, size_t bytes,
                 const RideSpec* ride);
void SlowPostGet(const Reach& reach, void* to, uint64_t from, size_t bytes);
void SlowPostAtomic(const Reach& reach, const AtomicSpec& atomic);

absl::StatusOr<Pending> SlowAsyncPut(const Reach& reach, uint64_t to, const void* from,
                                     size_t bytes, const RideSpec* ride);
absl::StatusOr<Pending> SlowAsyncGet(const Reach& reach, void* to, uint64_t from, size_t bytes);
absl::StatusOr<Pending> SlowAsyncAtomic(const Reach& reach, const AtomicSpec& atomic, void* old);

void SlowFence(const Reach& reach, Rank rank);
absl::Status SlowFlush(const Reach& reach, Rank rank);
absl::Status SlowFlushAll(const Reach& reach);

// Raises a ride whose data was moved inline to `to`. PostRaise leaves an error to Flush.
absl::Status Raise(const Reach& reach, uint64_t to, const RideSpec& ride);
absl::StatusOr<Pending> AsyncRaise(const Reach& reach, uint64_t to, const RideSpec& ride);
void PostRaise(const Reach& reach, uint64_t to, const RideSpec& ride);

}  // namespace weft::internal
#endif  // WEFT_INTERNAL_REACH_H_
