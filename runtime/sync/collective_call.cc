#include "runtime/sync/collective_call.h"

#include "absl/strings/str_cat.h"

namespace weft {

std::string DescribeCall(const CollectiveCall& call) {
  const auto with_arguments = [&call](const char* name) {
    return absl::StrCat(name, "(", call.arguments[0], ", ", call.arguments[1], ")");
  };
  switch (call.kind) {
    case CollectiveKind::kBarrier:
      return "Barrier()";
    case CollectiveKind::kCreateSymmetric:
      return with_arguments("Symmetric::Create");
    case CollectiveKind::kCreateCounter:
      return "NotificationCounter::Create()";
  }
  // A peer's memory may hold anything.
  return absl::StrCat("an unknown collective call (kind ", static_cast<uint64_t>(call.kind), ")");
}

absl::Status MismatchError(uint64_t odd, const CollectiveCall& odd_call, uint64_t first,
                           const CollectiveCall& first_call) {
  return absl::InvalidArgumentError(
      absl::StrCat("collective calls do not match: rank ", odd, " called ", DescribeCall(odd_call),
                   ", rank ", first, " called ", DescribeCall(first_call),
                   "; all ranks must make the same collective calls in the same order"));
}

}  // namespace weft
