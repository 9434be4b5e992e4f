#include "tests/tools/weftrun/network_hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/tools/weftrun/weftrun_process.h"

namespace weft {
namespace {

std::string AgentPath() { return Runfile("tests/tools/weftrun/test_agent"); }

std::string Address(int host) { return "10.91.0." + std::to_string(host); }

void WriteFile(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// A host's first process: a namespace of everything that it calls its own.
[[noreturn]] void BeHost(int host, int made, int go, int ready) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string name = "host" + std::to_string(host);
  if (unshare(CLONE_NEWNET | CLONE_NEWUTS) != 0 || sethostname(name.c_str(), name.size()) != 0) {
    _exit(1);
  }
  char byte = 'm';
  if (write(made, &byte, 1) != 1 || read(go, &byte, 1) != 1) _exit(1);
  const std::string set_up = "ip link set lo up && ip addr add " + Address(host) +
                             "/24 dev fabric && ip link set fabric up";
  if (system(set_up.c_str()) != 0) _exit(1);
  fcntl(ready, F_SETFD, 0);
  const std::string ready_number = std::to_string(ready);
  execl(AgentPath().c_str(), "test_agent", "serve", ready_number.c_str(), nullptr);
  _exit(1);
}

}  // namespace

NetworkHosts::NetworkHosts(int count) {
  if (!EnterNamespaces()) return;
  for (int host = 1; host <= count; ++host) {
    if (!AddHost(host)) return;
  }
}

NetworkHosts::~NetworkHosts() {
  for (const pid_t server : servers_) {
    kill(server, SIGKILL);
    waitpid(server, nullptr, 0);
  }
}

std::string NetworkHosts::agent() const { return AgentPath(); }

bool NetworkHosts::Run(const std::string& command) {
  if (system(("exec 2>/dev/null; " + command).c_str()) == 0) return true;
  why_not_ = "this does not work here: " + command;
  return false;
}

bool NetworkHosts::EnterNamespaces() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(user == 0 ? 0 : CLONE_NEWUSER) != 0 || unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) {
    why_not_ = std::string("no namespaces are allowed here: ") + strerror(errno);
    return false;
  }
  if (user != 0) {
    WriteFile("/proc/self/setgroups", "deny");
    WriteFile("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
    WriteFile("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
  }
  std::string names = "127.0.0.1 localhost\n";
  for (int host = 1; host < 255; ++host) {
    names += Address(host) + " host" + std::to_string(host) + "\n";
  }
  const char* folder = getenv("TEST_TMPDIR");
  const std::string file =
      std::string(folder == nullptr ? "/tmp" : folder) + "/hosts-" + std::to_string(getpid());
  WriteFile(file, names);
  const bool mounted = mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                       mount(file.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
  unlink(file.c_str());
  if (!mounted) {
    why_not_ = std::string("/etc/hosts cannot be replaced here: ") + strerror(errno);
    return false;
  }
  return Run("ip link set lo up") && Run("ip link add fabric type bridge") &&
         Run("ip addr add " + Address(254) + "/24 dev fabric") && Run("ip link set fabric up");
}

bool NetworkHosts::AddHost(int host) {
  int made[2], go[2], ready[2];
  if (pipe2(made, O_CLOEXEC) != 0 || pipe2(go, O_CLOEXEC) != 0 || pipe2(ready, O_CLOEXEC) != 0) {
    why_not_ = "there is no descriptor left";
    return false;
  }
  const pid_t server = fork();
  if (server == 0) {
    close(made[0]);
    close(go[1]);
    close(ready[0]);
    BeHost(host, made[1], go[0], ready[1]);
  }
  servers_.push_back(server);
  close(made[1]);
  close(go[0]);
  close(ready[1]);
  const std::string link = "link" + std::to_string(host);
  char byte = 'g';
  const bool up =
      read(made[0], &byte, 1) == 1 &&
      Run("ip link add " + link + " type veth peer name fabric netns " + std::to_string(server)) &&
      Run("ip link set " + link + " master fabric up") && write(go[1], &byte, 1) == 1 &&
      read(ready[0], &byte, 1) == 1;
  close(made[0]);
  close(go[1]);
  close(ready[0]);
  if (!up && why_not_.empty()) why_not_ = "a network namespace cannot be set up here";
  return up;
}

void NetworkHosts::SetLink(int host, bool up) {
  Run("ip link set link" + std::to_string(host) + (up ? " up" : " down"));
}

bool NetworkHosts::SetDrops(int host, Drops drops) {
  const auto chain = [](const std::string& hook, const std::string& rule) {
    return "chain " + hook + " { type filter hook " + hook + " priority 0; oifname lo accept; " +
           "iifname lo accept; " + rule + " drop; }; ";
  };
  constexpr char kSome[] = "numgen random mod 100 < 30";
  std::string chains;
  if (drops == Drops::kSent) chains = chain("output", "");
  if (drops == Drops::kReceived) chains = chain("input", "");
  if (drops == Drops::kSome) chains = chain("output", kSome) + chain("input", kSome);
  return Run("nsenter -t " + std::to_string(servers_[static_cast<size_t>(host - 1)]) +
             " -n /usr/sbin/nft -f - <<'END'\nflush ruleset\ntable inet drops { " + chains +
             "}\nEND\n");
}

}  // namespace weft
