#include "examples/bfs/distributed_search.h"

#include <algorithm>
#include <span>

#include "weft/try.h"

namespace bfs {
namespace {

// Rank 0 owns the most vertices, and each may come from every other rank.
size_t InboxCapacity(const Partition& partition) {
  return size_t{partition.Count(0)} * (partition.ranks() - 1);
}

}  // namespace

absl::StatusOr<DistributedSearch> DistributedSearch::Create(weft::World& world,
                                                            DistributedGraph graph) {
  const Partition partition = graph.partition();
  auto tree = WEFT_TRY(weft::Symmetric<Reached>::Create(world, partition.Count(0)));
  auto inbox = WEFT_TRY(weft::Symmetric<Visit>::Create(world, InboxCapacity(partition)));
  auto inbox_size = WEFT_TRY(weft::Symmetric<uint64_t>::Create(world));
  auto total = WEFT_TRY(weft::Symmetric<uint64_t>::Create(world));
  return DistributedSearch(world, std::move(graph), std::move(tree), std::move(inbox),
                           std::move(inbox_size), std::move(total));
}

DistributedSearch::DistributedSearch(weft::World& world, DistributedGraph graph,
                                     weft::Symmetric<Reached> tree, weft::Symmetric<Visit> inbox,
                                     weft::Symmetric<uint64_t> inbox_size,
                                     weft::Symmetric<uint64_t> total)
    : world_(&world),
      graph_(std::move(graph)),
      tree_(std::move(tree)),
      inbox_(std::move(inbox)),
      inbox_size_(std::move(inbox_size)),
      total_(std::move(total)),
      outgoing_(world.size()) {}

uint64_t DistributedSearch::HeapBytes(const Partition& partition) {
  return partition.Count(0) * sizeof(Reached) + InboxCapacity(partition) * sizeof(Visit) +
         2 * sizeof(uint64_t);
}

absl::Status DistributedSearch::Run(Vertex root) {
  Start(root);
  // Nobody adds to it before the first barrier.
  uint64_t total = WEFT_TRY(weft::Fetch(total_.at(0)));
  for (uint32_t level = 1;; ++level) {
    Expand(level);
    WEFT_TRY(Send());
    WEFT_TRY(world_->Barrier());  // Flushes: all inboxes are complete.
    WEFT_TRY(Receive(level));
    weft::PostAdd(total_.at(0), next_frontier_.size());
    WEFT_TRY(world_->Barrier());  // All inboxes are empty, and the total is complete.
    const uint64_t new_total = WEFT_TRY(weft::Fetch(total_.at(0)));
    if (new_total == total) return absl::OkStatus();
    total = new_total;
    std::swap(frontier_, next_frontier_);
  }
}

void DistributedSearch::Start(Vertex root) {
  const Partition& partition = graph_.partition();
  std::fill(tree_.mine().begin(), tree_.mine().end(), Reached());
  told_.assign(partition.vertices(), false);
  next_frontier_.clear();
  if (partition.Owner(root) == world_->rank()) Reach({.vertex = root, .parent = root}, 0);
  frontier_ = std::exchange(next_frontier_, {});
}

// Takes one step along all edges of the frontier.
void DistributedSearch::Expand(uint32_t level) {
  const Partition& partition = graph_.partition();
  const weft::Rank me = world_->rank();
  next_frontier_.clear();
  for (auto& visits : outgoing_) visits.clear();  // The last barrier has flushed them.
  for (Vertex index : frontier_) {
    const Vertex parent = partition.At(me, index);
    for (Vertex vertex : graph_.Neighbours(index)) {
      const weft::Rank owner = partition.Owner(vertex);
      if (owner == me) {
        Reach({vertex, parent}, level);
      } else if (!told_[vertex]) {
        told_[vertex] = true;
        outgoing_[owner].push_back({vertex, parent});
      }
    }
  }
}

// An own vertex: the first who comes is its parent.
void DistributedSearch::Reach(Visit visit, uint32_t level) {
  const Vertex index = graph_.partition().Index(visit.vertex);
  Reached& reached = tree_.mine()[index];
  if (reached.reached()) return;
  reached = {.parent = visit.parent, .level = level};
  next_frontier_.push_back(index);
}

absl::Status DistributedSearch::Send() {
  // All ranks are asked for room at once, then all puts are under way at once.
  std::vector<std::pair<weft::Rank, weft::Future<uint64_t>>> reservations;
  for (weft::Rank rank = 0; rank < world_->size(); ++rank) {
    if (outgoing_[rank].empty()) continue;
    reservations.emplace_back(rank,
                              weft::AsyncFetchAdd(inbox_size_.at(rank), outgoing_[rank].size()));
  }
  for (auto& [rank, reservation] : reservations) {
    const uint64_t begin = WEFT_TRY(reservation.Wait());
    weft::PostPut(inbox_.at(rank, begin), outgoing_[rank]);
  }
  return absl::OkStatus();
}

absl::Status DistributedSearch::Receive(uint32_t level) {
  const uint64_t size = WEFT_TRY(weft::Swap(inbox_size_.at(world_->rank()), 0));
  for (const Visit& visit : inbox_.mine().first(size)) Reach(visit, level);
  return absl::OkStatus();
}

absl::StatusOr<SearchTree> DistributedSearch::Gather() const {
  const Partition& partition = graph_.partition();
  SearchTree tree(partition.vertices());
  std::vector<Reached> part(partition.Count(0));
  for (weft::Rank rank = 0; rank < partition.ranks(); ++rank) {
    const auto theirs = std::span(part).first(partition.Count(rank));
    WEFT_TRY(weft::Get(tree_.at(rank), theirs));
    for (Vertex index = 0; index < theirs.size(); ++index) {
      tree[partition.At(rank, index)] = theirs[index];
    }
  }
  return tree;
}

}  // namespace bfs
