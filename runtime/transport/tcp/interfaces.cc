#include "runtime/transport/tcp/interfaces.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>

#include <algorithm>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// Networks within a host, as container engines and hypervisors make them.
bool IsVirtual(std::string_view name) {
  for (const std::string_view prefix : {"docker", "br-", "virbr", "veth", "cni", "flannel", "lxc",
                                        "podman", "kube", "cali", "vmnet"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::vector<InterfaceAddress>> ListInterfaces() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    return absl::InternalError(
        absl::StrCat("cannot list this host's interfaces: ", strerror(errno)));
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(first, freeifaddrs);
  std::vector<InterfaceAddress> all;
  for (const ifaddrs* i = first; i != nullptr; i = i->ifa_next) {
    if (auto address = SocketAddress::From(i->ifa_addr)) {
      all.push_back({.name = i->ifa_name, .address = *address, .up = (i->ifa_flags & IFF_UP) != 0});
    }
  }
  return all;
}

absl::StatusOr<std::vector<SocketAddress>> ChooseListened(std::span<const InterfaceAddress> all,
                                                          std::string_view chosen, bool one_node) {
  struct Candidate {
    int rank;
    SocketAddress address;
  };
  std::vector<Candidate> candidates;
  std::string seen;
  for (const InterfaceAddress& i : all) {
    absl::StrAppend(&seen, seen.empty() ? "" : ", ", i.name, " ", i.address.ip_text(),
                    i.up ? "" : " (down)");
    if (!i.up) continue;
    if (!chosen.empty()) {
      if (i.name != chosen && !i.address.ip_text().starts_with(chosen)) continue;
    } else if (i.address.is_loopback() != one_node) {
      continue;
    }
    // Such an address is none without its interface, whose number is another on each host.
    if (!i.address.is_v4() && i.address.is_link_local()) continue;
    const int rank = (IsVirtual(i.name) ? 4 : 0) + (i.address.is_link_local() ? 2 : 0) +
                     (i.address.is_v4() ? 0 : 1);
    candidates.push_back({rank, i.address});
  }
  if (candidates.empty()) {
    return absl::FailedPreconditionError(
        chosen.empty()
            ? absl::StrCat("this host has no network address that ",
                           one_node ? "it" : "other hosts",
                           " could reach; it has: ", seen.empty() ? "none" : seen)
            : absl::StrCat("WEFT_INTERFACE=", std::string(chosen),
                           ": no interface that is up has that name or an address that starts like "
                           "that; this host has: ",
                           seen.empty() ? "none" : seen));
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::rank);
  if (candidates.size() > kMaxListened) candidates.resize(kMaxListened);
  std::vector<SocketAddress> result;
  for (const Candidate& candidate : candidates) result.push_back(candidate.address);
  return result;
}

}  // namespace weft
