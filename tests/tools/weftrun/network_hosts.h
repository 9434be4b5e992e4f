// Hosts for tests, on this machine: each is a network namespace with an address, a
// link to all others and a host name of its own, and runs test_agent's server. They,
// and the network, end with this process. Nothing of it is seen outside: the test
// process moves into namespaces of its own first, where /etc/hosts has the names.
// Used by one thread, before any other is there.
#ifndef WEFT_TESTS_TOOLS_WEFTRUN_NETWORK_HOSTS_H_
#define WEFT_TESTS_TOOLS_WEFTRUN_NETWORK_HOSTS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace weft {

class NetworkHosts {
 public:
  // Hosts "host1", "host2", ... at 10.91.0.1 and on, on the interface "fabric". Once a process,
  // which is "host254" itself.
  explicit NetworkHosts(int count);
  ~NetworkHosts();

  // Why there are none, to skip a test with: namespaces are not allowed here, mostly. Empty: there
  // are.
  const std::string& why_not() const { return why_not_; }

  // For weftrun's --agent.
  std::string agent() const;
  // The host's link, pulled out or put back.
  void SetLink(int host, bool up);
  // What a host's own network drops, from here on: nothing, all that it sends, all that comes, or
  // 30 of 100 packets, of either kind.
  enum class Drops { kNothing, kSent, kReceived, kSome };
  bool SetDrops(int host, Drops drops);

 private:
  bool Run(const std::string& command);
  bool EnterNamespaces();
  bool AddHost(int host);

  std::string why_not_;
  std::vector<pid_t> servers_;
};

}  // namespace weft
#endif  // WEFT_TESTS_TOOLS_WEFTRUN_NETWORK_HOSTS_H_
