#include "runtime/bootstrap/weftrun_bootstrap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/bootstrap/key_value.h"

namespace weft {
namespace {

using Type = WireMessage::Type;

// The guard answers at once what waits for nobody. This much only matters when
// somebody has stopped it.
Deadline Prompt() { return Deadline::After(absl::Seconds(30)); }

bool IsCollective(Type type) {
  return type == Type::kFence || type == Type::kShareMemory || type == Type::kContinue;
}

std::string_view NameOf(Type type) {
  switch (type) {
    case Type::kJoin:
      return "joining the job";
    case Type::kShareMemory:
      return "sharing the node's memory";
    case Type::kPut:
      return "putting a key";
    case Type::kGet:
      return "getting a key";
    case Type::kFence:
      return "the bootstrap fence";
    case Type::kContinue:
      return "going on with those that survive";
    case Type::kLeave:
      return "leaving the job";
    default:
      return "a request";
  }
}

absl::Status WithName(Type type, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(std::string(NameOf(type)), ": ", status.message()));
}

// "fd=N,ino=M"
bool ParsePlace(std::string_view place, int& fd, uint64_t& inode) {
  constexpr std::string_view kFd = "fd=", kInode = ",ino=";
  if (!place.starts_with(kFd)) return false;
  const char* const end = place.data() + place.size();
  auto parsed = std::from_chars(place.data() + kFd.size(), end, fd);
  if (parsed.ec != std::errc() || fd < 0) return false;
  if (!std::string_view(parsed.ptr, end).starts_with(kInode)) return false;
  parsed = std::from_chars(parsed.ptr + kInode.size(), end, inode);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

absl::Status NotTheSocket(int fd) {
  return absl::FailedPreconditionError(absl::StrFormat(
      "weftrun started this process as a rank, but descriptor %d is not the socket that it gave "
      "it: "
      "something between weftrun and this program closed it (sudo and ssh do), this process has "
      "been in the job already, or it was started by a rank and is none itself. Start the program "
      "directly under weftrun, or without WEFT_BOOTSTRAP in its environment to run it alone",
      fd));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Bootstrap>> WeftrunBootstrap::Connect(std::string_view place) {
  int fd = -1;
  uint64_t inode = 0;
  if (!ParsePlace(place, fd, inode)) {
    return absl::FailedPreconditionError(
        absl::StrCat("WEFT_BOOTSTRAP is \"", std::string(place),
                     "\", not fd=N,ino=M as weftrun sets it: start the program under weftrun, or "
                     "without WEFT_BOOTSTRAP in its environment to run it alone"));
  }
  struct stat file;
  if (fstat(fd, &file) != 0 || !S_ISSOCK(file.st_mode) || file.st_ino != inode) {
    return NotTheSocket(fd);
  }
  const int flags = fcntl(fd, F_GETFD);
  if ((flags & FD_CLOEXEC) != 0) {
    return absl::FailedPreconditionError(
        "this process, or the one that it was forked from, has joined the job already: a rank "
        "joins once, and a forked child is no rank");
  }
  if (fcntl(fd, F_SETFD, flags | FD_CLOEXEC) != 0) return NotTheSocket(fd);
  return ConnectTo(UniqueFd(fd));
}

absl::StatusOr<std::unique_ptr<Bootstrap>> WeftrunBootstrap::ConnectTo(UniqueFd socket) {
  std::unique_ptr<WeftrunBootstrap> client(new WeftrunBootstrap(std::move(socket)));
  auto welcome = client->Call({.type = Type::kJoin}, Prompt());
  if (!welcome.ok()) return welcome.status();
  const WireMessage& message = welcome->message;
  if (message.type != Type::kWelcome || message.first >= message.second ||
      message.value.size() != client->secret_.size()) {
    return absl::InternalError("joining the job: weftrun's answer makes no sense");
  }
  client->rank_ = static_cast<Rank>(message.first);
  client->size_ = static_cast<Rank>(message.second);
  std::ranges::copy(message.value, client->secret_.begin());
  return client;
}

WeftrunBootstrap::WeftrunBootstrap(UniqueFd socket)
    : socket_(std::move(socket)), process_(getpid()) {}

absl::StatusOr<std::optional<NodeFds>> WeftrunBootstrap::ShareMemory(const MemoryShape& shape,
                                                                     Deadline deadline) {
  auto answer =
      Call({.type = Type::kShareMemory, .first = shape.slab_bytes, .second = shape.local_bytes},
           deadline);
  if (!answer.ok()) return answer.status();
  if (answer->message.type != Type::kMemory || answer->fds.size() != kMaxChannelFds) {
    return absl::InternalError(
        "sharing the node's memory: weftrun's answer lacks the descriptors of the memory");
  }
  return NodeFds{.heap = std::move(answer->fds[0]),
                 .control = std::move(answer->fds[1]),
                 .membership = std::move(answer->fds[2]),
                 .nodes = static_cast<uint32_t>(answer->message.first)};
}

absl::Status WeftrunBootstrap::Put(std::string_view key, std::string_view value) {
  if (absl::Status status = CheckKeyAndValue(key, value); !status.ok()) return status;
  return Call({.type = Type::kPut, .text = std::string(key), .value = std::string(value)}, Prompt())
      .status();
}

absl::StatusOr<std::string> WeftrunBootstrap::Get(std::string_view key, Deadline deadline) {
  if (absl::Status status = CheckKey(key); !status.ok()) return status;
  auto answer = Call({.type = Type::kGet, .text = std::string(key)}, deadline);
  if (!answer.ok()) return answer.status();
  return std::move(answer->message.value);
}

absl::Status WeftrunBootstrap::Fence(Deadline deadline) {
  return Call({.type = Type::kFence}, deadline).status();
}

absl::Status WeftrunBootstrap::Leave() { return Call({.type = Type::kLeave}, Prompt()).status(); }

void WeftrunBootstrap::Abort(int code, std::string_view message) {
  Tell({.type = Type::kAbort, .first = static_cast<uint32_t>(code), .text = std::string(message)});
}

void WeftrunBootstrap::Tell(const WireMessage& message) {
  if (!CheckProcess().ok()) return;
  SendDatagram(socket_.get(), EncodeWire(message), {}, Deadline::After(absl::Seconds(1)))
      .IgnoreError();
}

void WeftrunBootstrap::Acknowledge(uint32_t proposal) {
  Tell({.type = Type::kAcknowledge, .first = proposal});
}

void WeftrunBootstrap::Accuse(Rank rank, std::string_view why) {
  Tell({.type = Type::kAccuse, .first = rank, .text = std::string(why)});
}

absl::StatusOr<Bootstrap::Survivors> WeftrunBootstrap::Continue(uint32_t epoch, uint64_t completed,
                                                                std::string_view result,
                                                                Deadline deadline) {
  auto answer = Call(
      {.type = Type::kContinue, .first = epoch, .second = completed, .value = std::string(result)},
      deadline);
  if (!answer.ok()) return answer.status();
  const WireMessage& message = answer->message;
  const size_t bitmap_bytes = size_ / 8 + 1;
  if (message.type != Type::kContinued || message.value.size() < bitmap_bytes) {
    return absl::InternalError("going on with those that survive: weftrun's answer makes no sense");
  }
  Survivors survivors = {.epoch = static_cast<uint32_t>(message.second),
                         .members = {},
                         .completed = message.first,
                         .result = message.value.substr(bitmap_bytes)};
  for (Rank rank = 0; rank < size_; ++rank) {
    if ((message.value[rank / 8] >> rank % 8 & 1) != 0) survivors.members.push_back(rank);
  }
  return survivors;
}

std::optional<Rank> WeftrunBootstrap::NextDeath() {
  if (!CheckProcess().ok()) return std::nullopt;
  if (BeginCall(Deadline::AtMonotonicNanos(0))) {
    // Id 0 is never answered: this takes in what has arrived, and no more.
    AwaitAnswer(0, Deadline::AtMonotonicNanos(0)).status().IgnoreError();
    EndCall();
  }
  std::lock_guard lock(deaths_mutex_);
  if (deaths_.empty()) return std::nullopt;
  const Rank rank = deaths_.front();
  deaths_.pop_front();
  return rank;
}

bool WeftrunBootstrap::BeginCall(Deadline deadline) {
  const absl::Duration patience =
      deadline.infinite() ? absl::InfiniteDuration() : absl::Nanoseconds(deadline.RemainingNanos());
  absl::MutexLock lock(&calls_mutex_);
  const auto idle = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !calling_; };
  if (!calls_mutex_.AwaitWithTimeout(absl::Condition(&idle), patience)) return false;
  calling_ = true;
  return true;
}

void WeftrunBootstrap::EndCall() {
  absl::MutexLock lock(&calls_mutex_);
  calling_ = false;
}

absl::StatusOr<WeftrunBootstrap::Answer> WeftrunBootstrap::Call(WireMessage request,
                                                                Deadline deadline) {
  const Type type = request.type;
  if (absl::Status status = CheckProcess(); !status.ok()) return WithName(type, status);
  if (!BeginCall(deadline)) {
    return absl::DeadlineExceededError(
        absl::StrCat(std::string(NameOf(type)), ": another thread's request was still under way"));
  }
  absl::Cleanup end_call = [this] { EndCall(); };
  auto answer = Exchange(std::move(request), deadline);
  std::string missing;
  if (absl::IsDeadlineExceeded(answer.status()) && IsCollective(type)) {
    missing = WhoIsMissing();
    // Should it have been answered meanwhile, nobody is waited for any more.
    if (suspended_ && suspended_->answer) answer = Exchange({.type = type}, deadline);
  }
  if (absl::IsDeadlineExceeded(answer.status())) {
    return absl::DeadlineExceededError(
        absl::StrCat(std::string(NameOf(type)), " did not end by its deadline", missing));
  }
  if (!answer.ok()) return WithName(type, answer.status());
  if (answer->message.type == Type::kStatus) {
    absl::Status status = StatusFromWire(answer->message);
    if (!status.ok()) return WithName(type, status);
  }
  return answer;
}

absl::StatusOr<WeftrunBootstrap::Answer> WeftrunBootstrap::Exchange(WireMessage request,
                                                                    Deadline deadline) {
  if (!IsCollective(request.type)) {
    request.id = ++last_id_;
    absl::Status sent = SendDatagram(socket_.get(), EncodeWire(request), {}, deadline);
    if (!sent.ok()) return sent;
    return AwaitAnswer(request.id, deadline);
  }
  if (!suspended_) {
    request.id = ++last_id_;
    absl::Status sent = SendDatagram(socket_.get(), EncodeWire(request), {}, deadline);
    if (!sent.ok()) return sent;
    suspended_ = Suspended{request.id, request.type, std::nullopt};
  } else if (suspended_->type != request.type) {
    return absl::FailedPreconditionError(
        absl::StrCat("this rank is still in ", std::string(NameOf(suspended_->type)),
                     ", which did not end by its deadline: call that again first"));
  }
  if (!suspended_->answer) {
    auto answer = AwaitAnswer(suspended_->id, deadline);
    if (!answer.ok()) return answer.status();
    suspended_->answer = *std::move(answer);
  }
  Answer answer = *std::move(suspended_->answer);
  suspended_.reset();
  return answer;
}

absl::StatusOr<WeftrunBootstrap::Answer> WeftrunBootstrap::AwaitAnswer(uint32_t id,
                                                                       Deadline deadline) {
  while (true) {
    auto datagram = ReceiveDatagram(socket_.get(), deadline);
    if (absl::IsUnavailable(datagram.status())) {
      return absl::UnavailableError(absl::StrCat(
          "the connection to weftrun is lost, so the job is over: ", datagram.status().message()));
    }
    if (!datagram.ok()) return datagram.status();
    auto message = DecodeWire(datagram->bytes);
    if (!message.ok()) return message.status();
    if (message->type == Type::kDeath) {
      AddDeath(message->first);
      continue;
    }
    const uint32_t answered = message->id;
    Answer answer = {*std::move(message), std::move(datagram->fds)};
    if (answered == id) return answer;
    if (suspended_ && answered == suspended_->id) suspended_->answer = std::move(answer);
    // Others answer requests that were given up at their deadlines.
  }
}

std::string WeftrunBootstrap::WhoIsMissing() {
  if (!suspended_) return "";
  const Deadline soon = Deadline::After(absl::Seconds(1));
  auto answer = Exchange({.type = Type::kMissing}, soon);
  if (!answer.ok() || answer->message.type != Type::kValue) return "";
  return absl::StrCat(": ", answer->message.value);
}

absl::Status WeftrunBootstrap::CheckProcess() const {
  if (getpid() == process_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "this process is a forked child of a rank, and no rank of the job itself");
}

void WeftrunBootstrap::AddDeath(uint64_t rank) {
  std::lock_guard lock(deaths_mutex_);
  deaths_.push_back(static_cast<Rank>(rank));
}

}  // namespace weft
