#include "tests/support/test_node.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace weft {
namespace {

template <typename T>
T ValueOrDie(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "no node for the test: %s\n", value.status().ToString().c_str());
  std::abort();
}

}  // namespace

TestNode::TestNode(Rank size, uint64_t slab_bytes)
    : authority_(
          ValueOrDie(NodeAuthority::Create(size, {.slab_bytes = slab_bytes, .local_bytes = 0}))),
      memory_(ValueOrDie(NodeMemory::Map(ValueOrDie(authority_.Duplicate()), 0, size,
                                         {.slab_bytes = slab_bytes, .local_bytes = 0}))) {}

}  // namespace weft
