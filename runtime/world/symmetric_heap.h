// The symmetric part of the slabs: the same objects at the same offsets on every
// rank, without a word between the ranks but the agreement of each Create.
//
// Every rank keeps the same books, since all change them only in Create, by what
// all agreed on. A release is noted by its rank alone; a later Create frees what
// all have released. Create: one call at a time, which the Agreement guards.
// Release: any thread, never blocks.
#ifndef WEFT_RUNTIME_WORLD_SYMMETRIC_HEAP_H_
#define WEFT_RUNTIME_WORLD_SYMMETRIC_HEAP_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/status/statusor.h"
#include "runtime/base/deadline.h"
#include "runtime/base/node_view.h"
#include "runtime/memory/arena.h"
#include "runtime/sync/agreement.h"

namespace weft {

class SymmetricHeap {
 public:
  struct Object {
    uint32_t id;
    uint64_t offset;
  };

  // Manages the first `bytes` of each slab.
  SymmetricHeap(const NodeView& node, Agreement& agreement, uint64_t bytes)
      : node_(node), agreement_(agreement), ready_(agreement), arena_(0, bytes) {}

  // Collective: see Symmetric<T>::Create. The object is zeroed. A call that was late
  // goes on when it is made again.
  absl::StatusOr<Object> Create(uint64_t count, uint64_t size, uint64_t alignment,
                                Deadline deadline);
  void Release(uint32_t id);

  // Going on without lost ranks: the call that this rank was in will not be made again. `result`:
  // what the call came to that others have completed and this rank has not, if there is one. They
  // have its object, and so this rank has, released.
  void GoOn(const std::optional<Agreement::Result>& result);

 private:
  struct Placed {
    Object object;
    uint64_t dirty;  // The first so many bytes are to be cleared; the rest is zero.
  };

  // A call that this rank has arrived in, and does not know what it came to.
  struct Asked {
    CollectiveCall call;
    uint64_t alignment;
  };

  absl::StatusOr<Placed> Place(const CollectiveCall& call, uint64_t alignment, Deadline deadline);
  // What every rank does alike.
  absl::StatusOr<Placed> PlaceAgreed(const Asked& asked, const AgreedBitmaps& agreed);

  const NodeView node_;
  Agreement& agreement_;
  ReadyMeeting ready_;
  std::optional<Asked> asked_;
  Arena arena_;
  std::map<uint32_t, uint64_t> objects_;  // id -> offset
  std::array<std::atomic<uint64_t>, kMaxSymmetricObjects / 64> released_ = {};
};

}  // namespace weft
#endif  // WEFT_RUNTIME_WORLD_SYMMETRIC_HEAP_H_
