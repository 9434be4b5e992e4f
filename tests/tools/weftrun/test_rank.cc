// A program for weftrun's tests. Its arguments are what it does, in turn:
// "action", "action=value", or "R:action" for rank R alone. A call that fails
// prints its status and ends the program with status 1.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "runtime/bootstrap/bootstrap.h"
#include "runtime/memory/node_memory.h"

namespace weft {
namespace {

std::unique_ptr<Bootstrap> job;
std::optional<NodeMemory> memory;
uint32_t own_rank = 0;

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::printf("status: %s\n", status.ToString().c_str());
  std::fflush(stdout);
  _exit(1);
}

void Sleep(int64_t nanos) {
  timespec left = {.tv_sec = nanos / 1'000'000'000, .tv_nsec = nanos % 1'000'000'000};
  while (nanosleep(&left, &left) != 0) {
  }
}

void SleepForEver() {
  while (true) pause();
}

Deadline Generous() { return Deadline::After(absl::Seconds(120)); }

void Join(const std::string&) {
  auto found = Discover();
  Check(found.status());
  job = *std::move(found);
}

void Share(const std::string& bytes) {
  const MemoryShape shape = {.slab_bytes = std::stoull(bytes), .local_bytes = 0};
  auto fds = job->ShareMemory(shape, Generous());
  Check(fds.status());
  auto mapped = NodeMemory::Map(**fds, job->rank(), job->size(), shape);
  Check(mapped.status());
  memory = *std::move(mapped);
}

// Waits until the membership shows so many dead, by looking at nothing else.
void AwaitDead(const std::string& count) {
  const Membership& membership = *memory->view().membership;
  while (membership.dead.load() < std::stoul(count)) sched_yield();
  for (Rank rank = 0; rank < job->size(); ++rank) {
    if (membership.state[rank].load() != MemberState::kDead) continue;
    std::printf("dead: %u wait status %d limit %lu\n", rank, membership.wait_status[rank].load(),
                static_cast<unsigned long>(membership.limit[rank + 1].load()));
  }
}

void AwaitLeft(const std::string& count) {
  while (memory->view().membership->left.load() < std::stoul(count)) sched_yield();
}

void Abort(const std::string& value) {
  const size_t comma = value.find(',');
  job->Abort(std::stoi(value.substr(0, comma)),
             comma == std::string::npos ? "" : value.substr(comma + 1));
}

// A process that only a walk of the process tree finds: another session, no parent.
void LeaveGrandchild(const std::string&) {
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    // Nor does it hold the job's pipes.
    const int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
    SleepForEver();
  }
}

void Skew(const std::string& max_milliseconds) {
  std::random_device random;
  Sleep(
      std::uniform_int_distribution<int64_t>(0, std::stoll(max_milliseconds) * 1'000'000)(random));
}

const std::map<std::string, std::function<void(const std::string&)>>& Actions() {
  static const std::map<std::string, std::function<void(const std::string&)>> actions = {
      {"join", Join},
      {"share", Share},
      {"fence", [](const std::string&) { Check(job->Fence(Generous())); }},
      {"leave", [](const std::string&) { Check(job->Leave()); }},
      {"put", [](const std::string& key) { Check(job->Put(key, key)); }},
      {"get", [](const std::string& key) { Check(job->Get(key, Generous()).status()); }},
      {"await-dead", AwaitDead},
      {"await-left", AwaitLeft},
      {"abort", Abort},
      {"grandchild", LeaveGrandchild},
      {"skew", Skew},
      {"exit",
       [](const std::string& code) {
         std::fflush(stdout);
         _exit(std::stoi(code));
       }},
      {"kill",
       [](const std::string& number) {
         // A sanitizer may have a handler of its own.
         const int signal_number = std::stoi(number);
         if (signal_number != SIGKILL && signal_number != SIGSTOP) signal(signal_number, SIG_DFL);
         raise(signal_number);
       }},
      {"ignore", [](const std::string& number) { signal(std::stoi(number), SIG_IGN); }},
      {"exit-on",
       [](const std::string& number) { signal(std::stoi(number), [](int) { _exit(0); }); }},
      {"sleep", [](const std::string& ms) { Sleep(std::stoll(ms) * 1'000'000); }},
      // The process goes on in another thread.
      {"end-main-thread",
       [](const std::string&) {
         std::thread(SleepForEver).detach();
         pthread_exit(nullptr);
       }},
      {"hang", [](const std::string&) { SleepForEver(); }},
      {"print",
       [](const std::string& text) {
         std::printf("%s\n", text.c_str());
         std::fflush(stdout);
       }},
      {"print-job",
       [](const std::string&) { std::printf("rank %u of %u\n", job->rank(), job->size()); }},
      {"print-nodes",
       [](const std::string&) {
         std::string nodes = "nodes";
         for (Rank rank = 0; rank < job->size(); ++rank) {
           nodes += " " + std::to_string(memory->view().membership->node[rank].load());
         }
         std::printf("%s\n", nodes.c_str());
         std::fflush(stdout);
       }},
      {"print-source",
       [](const std::string&) { std::printf("%s\n", std::string(job->source()).c_str()); }},
      {"print-open-files",
       [](const std::string&) {
         rlimit limit;
         getrlimit(RLIMIT_NOFILE, &limit);
         std::printf("open files %lu\n", static_cast<unsigned long>(limit.rlim_cur));
       }},
      {"rejoin",
       [](const std::string&) {
         std::printf("rejoin: %s\n", Discover().status().ToString().c_str());
       }},
  };
  return actions;
}

void Do(const std::string& step) {
  std::string action = step;
  const size_t colon = action.find(':');
  if (colon != std::string::npos && colon < action.find('=')) {
    if (std::stoul(action.substr(0, colon)) != own_rank) return;
    action = action.substr(colon + 1);
  }
  const size_t equals = action.find('=');
  const auto found = Actions().find(action.substr(0, equals));
  if (found == Actions().end()) {
    std::printf("no action %s\n", step.c_str());
    std::exit(99);
  }
  found->second(equals == std::string::npos ? "" : action.substr(equals + 1));
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  const char* rank = getenv("WEFT_RANK");
  if (rank != nullptr) weft::own_rank = static_cast<uint32_t>(strtoul(rank, nullptr, 10));
  for (int i = 1; i < argc; ++i) weft::Do(argv[i]);
  return 0;
}
