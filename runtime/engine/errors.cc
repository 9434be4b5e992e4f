#include "runtime/engine/errors.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// What a thread has seen of one peer's errors in one log.
struct Note {
  std::weak_ptr<void> log;
  Rank peer;
  uint64_t seen;
};
thread_local std::vector<Note> notes;

bool SameLog(const std::weak_ptr<void>& a, const std::shared_ptr<void>& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

void ErrorLog::Record(Rank peer, absl::Status status) {
  PeerErrors& errors = peers_[peer];
  ++errors.count;
  errors.kept.push_back(std::move(status));
  if (errors.kept.size() > kKept) errors.kept.pop_front();
}

absl::Status ErrorLog::Unseen(Rank peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return absl::OkStatus();
  const PeerErrors& errors = found->second;
  uint64_t& seen = SeenByThisThread(peer);
  const uint64_t unseen = errors.count - std::exchange(seen, errors.count);
  if (unseen == 0) return absl::OkStatus();

  const size_t kept = std::min<uint64_t>(unseen, errors.kept.size());
  const absl::Status& first = errors.kept[errors.kept.size() - kept];
  if (unseen == 1) return first;
  absl::Status all(first.code(),
                   absl::StrCat(first.message(), " (and ", unseen - 1,
                                " more errors of operations posted to rank ", peer, ")"));
  first.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { all.SetPayload(url, payload); });
  return all;
}

std::vector<Rank> ErrorLog::peers() const {
  std::vector<Rank> ranks;
  for (const auto& [rank, errors] : peers_) ranks.push_back(rank);
  return ranks;
}

uint64_t& ErrorLog::SeenByThisThread(Rank peer) {
  for (Note& note : notes) {
    if (note.peer == peer && SameLog(note.log, identity_)) return note.seen;
  }
  std::erase_if(notes, [](const Note& note) { return note.log.expired(); });
  return notes.emplace_back(Note{.log = identity_, .peer = peer, .seen = 0}).seen;
}

}  // namespace weft
