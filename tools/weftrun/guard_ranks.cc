// The guard's dealings with its ranks.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/weftrun/exit_status.h"
#include "tools/weftrun/guard_state.h"

namespace weft {
namespace {

// Ranks are forked in batches, between which the guard looks at what happens.
constexpr size_t kBatch = 16;
// So many datagrams of a rank are handled before the others' are; and what a
// rank has sent before its end, which no socket holds more of.
constexpr int kTurn = 64;
constexpr int kLastTurn = 4096;

}  // namespace

void Guard::StartRanks() {
  for (size_t i = 0; i < own_.size() && !ending_.begun(); ++i) {
    if (!StartRank(own_[i], i)) break;
    if (i % kBatch == kBatch - 1) RunOnce(Deadline::AtMonotonicNanos(0));
  }
  // Only the ranks have the ends of their pipes from here on.
  setup_.stdout_pipes.clear();
  setup_.stderr_pipes.clear();
  failures_.CloseWriter();
  dup2(empty_stdin_.get(), STDIN_FILENO);
}

bool Guard::StartRank(Rank rank, size_t index) {
  auto [own, theirs] = MakeRankSocket();
  if (!own) {
    CannotStart(absl::StrFormat("cannot make a socket for rank %u: %s", rank, strerror(errno)));
    return false;
  }
  const SpawnContext context = {.options = &options_,
                                .map = &plan_.map,
                                .signal_mask = setup_.signal_mask,
                                .open_files = setup_.open_files,
                                .failures = failures_.writer()};
  const pid_t process =
      Spawn(context, {.rank = rank,
                      .inherits_stdin = options_.stdin_rank == rank,
                      .empty_stdin = empty_stdin_.get(),
                      .stdout_fd = setup_.stdout_pipes[index].get(),
                      .stderr_fd = setup_.stderr_pipes[index].get(),
                      .socket = theirs.get(),
                      .cpus = CpusOf(static_cast<Rank>(index), static_cast<Rank>(own_.size()),
                                     options_.binding, cpus_)});
  if (process < 0) {
    CannotStart(absl::StrFormat(
        "cannot start rank %u of %u on %s: %s%s", rank, plan_.map.size(), plan_.host,
        strerror(errno),
        errno == EAGAIN ? "; raise the limit on processes (ulimit -u, or pids.max of the cgroup), "
                          "or start fewer ranks"
                        : ""));
    return false;
  }
  setup_.stdout_pipes[index].reset();
  setup_.stderr_pipes[index].reset();
  ranks_[rank].process = process;
  ranks_[rank].link = RankLink(std::move(own));
  rank_of_[process] = rank;
  Narrate(absl::StrFormat("rank %u is process %d", rank, process));
  const absl::Status watched =
      loop_.Add(ranks_[rank].link.fd(), EPOLLIN, [this, rank](uint32_t) { OnLink(rank); });
  if (!watched.ok()) CannotStart(std::string(watched.message()));
  return watched.ok();
}

void Guard::Send(Rank to, const WireMessage& message, const NodeFds* fds) {
  RankLink& link = ranks_[to].link;
  const bool was_blocked = link.blocked();
  link.Send(EncodeWire(message), fds);
  if (link.blocked() && !was_blocked) loop_.Change(link.fd(), EPOLLOUT);
}

void Guard::OnLink(Rank rank) {
  RankLink& link = ranks_[rank].link;
  if (link.blocked()) {
    link.Flush();
    if (!link.blocked()) loop_.Change(link.fd(), EPOLLIN);
  }
  if (!link.blocked()) Receive(rank, kTurn);
}

void Guard::Receive(Rank rank, int limit) {
  const bool open = ranks_[rank].link.Receive(limit, [&](pid_t sender, std::string_view datagram) {
    server_.Receive(rank, sender, datagram);
  });
  if (!open) loop_.Remove(ranks_[rank].link.fd());
}

void Guard::OnJoined(Rank rank, pid_t process) {
  Narrate(absl::StrFormat("rank %u joined the job (process %d)", rank, process));
  RankState& state = ranks_[rank];
  if (process == 0 || process == state.process) return;
  // A shell or a tool stands between; the process itself is watched.
  state.joined_pidfd.reset(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  if (!state.joined_pidfd) return;
  loop_
      .Add(state.joined_pidfd.get(), EPOLLIN,
           [this, rank, process](uint32_t) { OnJoinedProcessEnded(rank, process); })
      .IgnoreError();  // The shell's own end tells then.
}

void Guard::OnLeft(Rank rank) { Narrate(absl::StrFormat("rank %u left the job", rank)); }

void Guard::OnAbort(Rank rank, int code, std::string_view message) {
  const int status = code >= 0 && code <= 255 ? code : 1;
  const std::string how = absl::StrFormat("aborted the job with status %d%s%s", code,
                                          message.empty() ? "" : ": ", std::string(message));
  ending_.Failed(MonotonicNanos(), status,
                 absl::StrCat(Name(rank, ranks_[rank].process), " ", how));
  server_.ReportDeath(rank, -1, how);
}

void Guard::OnCondemned(Rank rank, std::string_view why) {
  RankState& state = ranks_[rank];
  if (state.process == 0) return;
  state.killed_because = why;
  kill(-state.process, SIGKILL);
}

bool Guard::Survived(int code, const std::string& who_and_how) {
  if (ending_.begun() || !server_.survivable()) return false;
  lifeline_.Send({.type = Frame::Type::kSurvived, .number = code, .text = who_and_how});
  return true;
}

void Guard::OnJoinedProcessEnded(Rank rank, pid_t process) {
  RankState& state = ranks_[rank];
  loop_.Remove(state.joined_pidfd.get());
  state.joined_pidfd.reset();
  Receive(rank, kLastTurn);
  if (server_.standing(rank) != NodeServer::Standing::kJoined) return;
  constexpr char kHow[] = "ended without leaving the job";
  const std::string line = absl::StrCat(Name(rank, process), " ", kHow);
  if (!Survived(1, line)) {
    if (!ending_.begun()) unexplained_ = rank;
    ending_.Failed(MonotonicNanos(), 1, line);
  }
  server_.ReportDeath(rank, -1, kHow);
}

void Guard::OnReaped(pid_t process, int wait_status) {
  const auto entry = rank_of_.find(process);
  if (entry == rank_of_.end()) return;  // An orphan of a rank.
  const Rank rank = entry->second;
  rank_of_.erase(entry);
  OnRankEnded(rank, process, wait_status);
}

void Guard::OnRankEnded(Rank rank, pid_t process, int wait_status) {
  RankState& state = ranks_[rank];
  // What it said before it ended comes first.
  Receive(rank, kLastTurn);
  state.process = 0;
  if (state.joined_pidfd) loop_.Remove(state.joined_pidfd.get());
  state.joined_pidfd.reset();
  std::string how = DescribeEnd(wait_status);
  if (!state.killed_because.empty()) how = absl::StrCat("was ended: ", state.killed_because);
  Narrate(absl::StrFormat("rank %u %s", rank, how));

  const auto standing = server_.standing(rank);
  const int64_t now = MonotonicNanos();
  if (const auto failure = failures_.Of(rank)) {
    const std::string why =
        absl::StrCat(plan_.node ? "on " + plan_.host + ": " : "", Describe(*failure, options_));
    how = absl::StrCat("could not start: ", why);
    ending_.Failed(now, ExitCode(wait_status), why);
  } else if (standing == NodeServer::Standing::kDead && server_.survivable()) {
    return;  // What ran it ends, too.
  } else if (wait_status != 0) {
    const std::string who_and_how = absl::StrCat(Name(rank, process), " ", how);
    if (standing != NodeServer::Standing::kJoined ||
        !Survived(ExitCode(wait_status), who_and_how)) {
      const std::string line = absl::StrCat(who_and_how, "; the job was ended");
      if (unexplained_ == rank) ending_.Explain(ExitCode(wait_status), line);
      ending_.RankFailed(now, wait_status, line);
    }
  } else if (standing == NodeServer::Standing::kJoined) {
    how = "ended without leaving the job";
    const std::string line =
        absl::StrCat(Name(rank, process), " ", how, " (it exited with status 0)");
    if (!Survived(1, line)) ending_.Failed(now, 1, line);
  } else {
    ++ended_well_;
    server_.ReportEndedUnjoined(rank);
    return;
  }
  if (unexplained_ == rank) unexplained_.reset();
  server_.ReportDeath(rank, wait_status, how);
}

}  // namespace weft
