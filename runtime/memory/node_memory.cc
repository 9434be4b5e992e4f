#include "runtime/memory/node_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/doorbell.h"
#include "runtime/base/futex.h"
#include "weft/internal/address.h"

namespace weft {
namespace {

constexpr int kFixedSize = F_SEAL_SHRINK | F_SEAL_GROW;

std::string Mebibytes(uint64_t bytes) {
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

absl::Status Failed(std::string_view what, int error) {
  std::string cure;
  if (error == EMFILE) cure = "; raise the limit on open files (ulimit -n)";
  return absl::ResourceExhaustedError(
      absl::StrCat(absl::string_view(what.data(), what.size()), ": ", strerror(error), cure));
}

absl::StatusOr<UniqueFd> MakeMemfd(const char* name, uint64_t bytes) {
  // Past this limit ftruncate would raise SIGXFSZ.
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "%s needs %s, but the limit on file sizes (ulimit -f) is %s: raise it, or ask for a "
        "smaller heap (WEFT_HEAP_BYTES)",
        name, Mebibytes(bytes), Mebibytes(limit.rlim_cur)));
  }
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return Failed(absl::StrCat("cannot create ", name), errno);
  if (fchmod(fd.get(), 0600) != 0 || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return Failed(absl::StrCat("cannot size ", name, " to ", Mebibytes(bytes)), errno);
  }
  return fd;
}

absl::Status Seal(const UniqueFd& fd, int seals) {
  if (fcntl(fd.get(), F_ADD_SEALS, seals) != 0) return Failed("cannot seal shared memory", errno);
  return absl::OkStatus();
}

absl::StatusOr<Mapping> MapShared(const UniqueFd& fd, uint64_t bytes, int protection,
                                  std::string_view what) {
  void* address = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, fd.get(), 0);
  if (address != MAP_FAILED) return Mapping(address, bytes);
  rlimit limit;
  std::string limited;
  if (errno == ENOMEM && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    limited =
        absl::StrCat(" under a limit on address space (ulimit -v) of ", Mebibytes(limit.rlim_cur));
  }
  return absl::ResourceExhaustedError(absl::StrFormat(
      "cannot map %s of the %s%s: %s; raise the limit, use fewer ranks on this node, or ask for a "
      "smaller heap (WEFT_HEAP_BYTES)",
      Mebibytes(bytes), std::string(what), limited, strerror(errno)));
}

}  // namespace

absl::StatusOr<NodeAuthority::NodeMembership> NodeAuthority::MakeMembership(
    uint32_t node, uint64_t slab_bytes) const {
  auto fd = MakeMemfd("weft-membership", sizeof(Membership));
  if (!fd.ok()) return fd.status();
  auto mapping = MapShared(*fd, sizeof(Membership), PROT_READ | PROT_WRITE, "membership");
  if (!mapping.ok()) return mapping.status();
  absl::Status sealed = Seal(*fd, kFixedSize | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
  if (!sealed.ok()) return sealed;
  NodeMembership made = {*std::move(fd), *std::move(mapping)};
  Membership& membership = *made;
  for (Rank r = 0; r < map_.size(); ++r) {
    if (map_.nodes() > 1) {
      membership.node[r].store(static_cast<uint16_t>(map_.of(r)), std::memory_order_relaxed);
    }
    if (map_.of(r) != node) continue;
    membership.limit[r + 1].store(internal::EncodeAddress(r, slab_bytes) / 8,
                                  std::memory_order_relaxed);
  }
  return made;
}

absl::StatusOr<NodeAuthority> NodeAuthority::Create(Rank size, const MemoryShape& shape,
                                                    uint32_t nodes) {
  if (size == 0 || size > kMaxRanks) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a node has 1 to %u ranks, not %u", kMaxRanks, size));
  }
  if (nodes == 0 || nodes > size) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%u ranks run on 1 to %u nodes, not %u", size, size, nodes));
  }
  return Make(NodeMap::Blocks(size, nodes), 0, nodes, shape);
}

absl::StatusOr<NodeAuthority> NodeAuthority::CreateOn(uint32_t node, const NodeMap& map,
                                                      const MemoryShape& shape) {
  return Make(map, node, node + 1, shape);
}

absl::StatusOr<NodeAuthority> NodeAuthority::Make(const NodeMap& map, uint32_t first_node,
                                                  uint32_t end_node, const MemoryShape& shape) {
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const Rank size = map.size();
  if (shape.slab_bytes == 0 || shape.slab_bytes % page != 0 ||
      shape.slab_bytes > (uint64_t{1} << 47) / size || shape.local_bytes > shape.slab_bytes) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "a slab of %u bytes (%u of them local) for each of %u ranks: it must be a multiple of the "
        "page size %u, and all must fit an address space of 128 TiB",
        shape.slab_bytes, shape.local_bytes, size, page));
  }
  NodeAuthority authority(map);
  authority.first_node_ = first_node;

  auto heap = MakeMemfd("weft-heap", size * shape.slab_bytes);
  if (!heap.ok()) return heap.status();
  auto control = MakeMemfd("weft-control", size * kControlBytes);
  if (!control.ok()) return control.status();

  auto control_map =
      MapShared(*control, size * kControlBytes, PROT_READ | PROT_WRITE, "control regions");
  if (!control_map.ok()) return control_map.status();
  absl::Status sealed = Seal(*heap, kFixedSize | F_SEAL_SEAL);
  sealed.Update(Seal(*control, kFixedSize | F_SEAL_SEAL));
  if (!sealed.ok()) return sealed;

  authority.heap_ = *std::move(heap);
  authority.control_fd_ = *std::move(control);
  authority.control_ = *std::move(control_map);
  for (uint32_t node = first_node; node < end_node; ++node) {
    auto membership = authority.MakeMembership(node, shape.slab_bytes);
    if (!membership.ok()) return membership.status();
    authority.memberships_.push_back(*std::move(membership));
  }
  return authority;
}

absl::StatusOr<NodeFds> NodeAuthority::Duplicate(uint32_t node) const {
  NodeFds copy;
  copy.nodes = map_.nodes();
  copy.heap.reset(fcntl(heap_.get(), F_DUPFD_CLOEXEC, 0));
  copy.control.reset(fcntl(control_fd_.get(), F_DUPFD_CLOEXEC, 0));
  copy.membership.reset(fcntl(memberships_[node - first_node_].fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy.heap || !copy.control || !copy.membership) {
    return Failed("cannot duplicate the descriptors of the shared memory", errno);
  }
  return copy;
}

void NodeAuthority::MarkDead(Rank rank, int wait_status) {
  for (const NodeMembership& membership : memberships_) {
    (*membership).wait_status[rank].store(wait_status, std::memory_order_relaxed);
    (*membership).limit[rank + 1].store(0, std::memory_order_release);
  }
  Publish(rank, MemberState::kDead, &Membership::dead);
}

void NodeAuthority::MarkLeft(Rank rank) { Publish(rank, MemberState::kLeft, &Membership::left); }

void NodeAuthority::Publish(Rank rank, MemberState state,
                            std::atomic<uint32_t> Membership::*count) {
  for (const NodeMembership& of_node : memberships_) {
    Membership& membership = *of_node;
    membership.lost_at[rank].store(membership.changes.load(std::memory_order_relaxed) + 1,
                                   std::memory_order_relaxed);
    membership.state[rank].store(state, std::memory_order_release);
    (membership.*count).fetch_add(1, std::memory_order_release);
  }
  WakeAll();
}

void NodeAuthority::LetSurvivorsGoOn() {
  for (const NodeMembership& of_node : memberships_) {
    (*of_node).survivors_go_on.store(1, std::memory_order_relaxed);
  }
}

void NodeAuthority::Propose(uint32_t proposal) {
  for (const NodeMembership& of_node : memberships_) {
    (*of_node).proposal.store(proposal, std::memory_order_release);
  }
  WakeAll();
}

void NodeAuthority::Announce(uint32_t epoch) {
  for (const NodeMembership& of_node : memberships_) {
    Membership& membership = *of_node;
    for (Rank r = 0; r < map_.size(); ++r) {
      if (membership.state[r].load(std::memory_order_relaxed) != MemberState::kDead) continue;
      uint32_t none = 0;
      membership.dead_since[r].compare_exchange_strong(none, epoch, std::memory_order_release);
    }
    membership.epoch.store(epoch, std::memory_order_release);
  }
  WakeAll();
}

void NodeAuthority::WakeAll() {
  for (const NodeMembership& of_node : memberships_) {
    (*of_node).changes.fetch_add(1, std::memory_order_seq_cst);
    FutexWakeAll((*of_node).changes);
  }
  std::vector<bool> node_seen(map_.nodes());
  for (Rank r = 0; r < map_.size(); ++r) {
    const uint32_t node = map_.of(r);
    if (node < first_node_ || node >= first_node_ + memberships_.size()) continue;
    auto& region = *reinterpret_cast<ControlRegion*>(control_.get() + r * kControlBytes);
    RingAlways(region.doorbell);
    if (!node_seen[node]) RingAlways(region.barrier.doorbell);
    node_seen[node] = true;
  }
}

absl::StatusOr<NodeMemory> NodeMemory::Map(const NodeFds& fds, Rank rank, Rank size,
                                           const MemoryShape& shape) {
  if (rank >= size || size > kMaxRanks) {
    return absl::InvalidArgumentError(absl::StrFormat("rank %u of %u ranks", rank, size));
  }
  // What the other side sealed and sized is checked, not trusted.
  struct Expected {
    const UniqueFd& fd;
    uint64_t bytes;
    const char* name;
  };
  for (const Expected& e : {Expected{fds.heap, size * shape.slab_bytes, "heap"},
                            Expected{fds.control, size * kControlBytes, "control regions"},
                            Expected{fds.membership, sizeof(Membership), "membership"}}) {
    struct stat file;
    if (fstat(e.fd.get(), &file) != 0)
      return Failed(absl::StrCat("cannot stat the ", e.name), errno);
    const int seals = fcntl(e.fd.get(), F_GET_SEALS);
    if (static_cast<uint64_t>(file.st_size) != e.bytes || seals < 0 ||
        (seals & F_SEAL_SHRINK) == 0) {
      return absl::InternalError(
          absl::StrFormat("the %s received has %d bytes and seals 0x%x; expected %u bytes, sealed "
                          "against shrinking",
                          e.name, file.st_size, seals, e.bytes));
    }
  }
  NodeMemory memory;
  memory.rank_ = rank;
  memory.size_ = size;
  memory.slab_bytes_ = shape.slab_bytes;
  auto heap = MapShared(fds.heap, size * shape.slab_bytes, PROT_READ | PROT_WRITE, "heap");
  if (!heap.ok()) return heap.status();
  auto control =
      MapShared(fds.control, size * kControlBytes, PROT_READ | PROT_WRITE, "control regions");
  if (!control.ok()) return control.status();
  auto membership = MapShared(fds.membership, sizeof(Membership), PROT_READ, "membership");
  if (!membership.ok()) return membership.status();
  memory.heap_ = *std::move(heap);
  memory.control_ = *std::move(control);
  memory.membership_ = *std::move(membership);
  // A core has this rank's slab, not everybody's. Advice only: failure is harmless.
  const size_t before = rank * shape.slab_bytes;
  const size_t after = before + shape.slab_bytes;
  if (before > 0) madvise(memory.heap_.get(), before, MADV_DONTDUMP);
  if (after < memory.heap_.bytes()) {
    madvise(memory.heap_.get() + after, memory.heap_.bytes() - after, MADV_DONTDUMP);
  }
  return memory;
}

NodeView NodeMemory::view() const {
  return {.rank = rank_,
          .size = size_,
          .heap = heap_.get(),
          .slab_bytes = slab_bytes_,
          .control_base = control_.get(),
          .membership = reinterpret_cast<const Membership*>(membership_.get())};
}

}  // namespace weft
