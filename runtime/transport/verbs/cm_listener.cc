#include "runtime/transport/verbs/cm_listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// Requests that wait to be looked at; more are refused, and come again.
constexpr int kBacklog = 256;
constexpr int kResolveMs = 2000;

// Room for an address of either family.
union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

// The smaller the better.
int OrderOf(const SocketAddress& address) {
  if (address.any.sa_family == AF_INET) return 0;
  return IN6_IS_ADDR_LINKLOCAL(&address.v6.sin6_addr) ? 2 : 1;
}

// Of the interfaces that are up, but for the loopback; in that order.
std::vector<SocketAddress> MachineAddresses() {
  std::vector<SocketAddress> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0 ||
        (entry->ifa_flags & IFF_LOOPBACK) != 0) {
      continue;
    }
    SocketAddress address = {};
    if (entry->ifa_addr->sa_family == AF_INET) {
      memcpy(&address.v4, entry->ifa_addr, sizeof(address.v4));
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      memcpy(&address.v6, entry->ifa_addr, sizeof(address.v6));
    } else {
      continue;
    }
    found.push_back(address);
  }
  freeifaddrs(list);
  std::ranges::stable_sort(found, {}, OrderOf);
  return found;
}

SocketAddress ToSocket(const CmAddress& address, uint32_t scope) {
  SocketAddress socket = {};
  if (address.v6) {
    socket.v6.sin6_family = AF_INET6;
    socket.v6.sin6_port = htons(address.port);
    memcpy(&socket.v6.sin6_addr, address.ip, sizeof(socket.v6.sin6_addr));
    // A link-local address of the peer is on the link that ours is on.
    if (IN6_IS_ADDR_LINKLOCAL(&socket.v6.sin6_addr)) socket.v6.sin6_scope_id = scope;
  } else {
    socket.v4.sin_family = AF_INET;
    socket.v4.sin_port = htons(address.port);
    memcpy(&socket.v4.sin_addr, address.ip, sizeof(socket.v4.sin_addr));
  }
  return socket;
}

CmAddress FromSocket(const SocketAddress& socket) {
  CmAddress address;
  address.v6 = socket.any.sa_family == AF_INET6;
  if (address.v6) {
    memcpy(address.ip, &socket.v6.sin6_addr, sizeof(socket.v6.sin6_addr));
    address.port = ntohs(socket.v6.sin6_port);
  } else {
    memcpy(address.ip, &socket.v4.sin_addr, sizeof(socket.v4.sin_addr));
    address.port = ntohs(socket.v4.sin_port);
  }
  return address;
}

SocketAddress SourceOf(const rdma_cm_id& id) {
  SocketAddress socket = {};
  memcpy(&socket, &id.route.addr.src_storage, sizeof(socket));
  return socket;
}

}  // namespace

std::string CmAddress::name() const {
  char text[INET6_ADDRSTRLEN];
  inet_ntop(v6 ? AF_INET6 : AF_INET, ip, text, sizeof(text));
  return v6 ? absl::StrCat("[", text, "]:", port) : absl::StrCat(text, ":", port);
}

CmListener::CmListener(const CmLibrary& library, EventChannelHandle channel, CmIdHandle id)
    : library_(&library), channel_(std::move(channel)), id_(std::move(id)) {
  address_ = FromSocket(SourceOf(*id_));
  FillAtRandom(address_.nonce);
}

absl::StatusOr<CmListener> CmListener::Open(const CmLibrary& library, const VerbsPort& port) {
  EventChannelHandle channel(library.create_event_channel(), library.destroy_event_channel);
  if (channel == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot connect by librdmacm: ", strerror(errno),
                                               "; does the kernel have its module (modprobe "
                                               "rdma_ucm)?"));
  }
  fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
  for (SocketAddress& address : MachineAddresses()) {
    rdma_cm_id* made = nullptr;
    if (library.create_id(channel.get(), &made, nullptr, RDMA_PS_TCP) != 0) break;
    CmIdHandle id(made, library.destroy_id);
    // To a port that the system chooses.
    if (library.bind_addr(id.get(), &address.any) != 0 || id->verbs == nullptr ||
        port.device != id->verbs->device->name || id->port_num != port.number) {
      continue;
    }
    if (library.listen(id.get(), kBacklog) != 0) {
      return absl::UnavailableError(absl::StrCat(
          "cannot listen for connections on ", FromSocket(address).name(), ": ", strerror(errno)));
    }
    return CmListener(library, std::move(channel), std::move(id));
  }
  return absl::NotFoundError(absl::StrCat(
      "no IP address of this machine belongs to ", port.name(),
      ", and librdmacm connects by them: give its network interface one, or choose another port "
      "by WEFT_VERBS_DEVICE"));
}

absl::StatusOr<CmIdHandle> CmListener::Depart(const CmAddress& to, void* context) const {
  const auto failed = [&](const char* what) {
    return absl::UnavailableError(absl::StrCat(what, " ", to.name(), ": ", strerror(errno)));
  };
  rdma_cm_id* made = nullptr;
  if (library_->create_id(channel_.get(), &made, context, RDMA_PS_TCP) != 0) {
    return failed("no way can be looked for to");
  }
  CmIdHandle id(made, library_->destroy_id);
  SocketAddress from = SourceOf(*id_);
  const uint32_t scope = from.any.sa_family == AF_INET6 ? from.v6.sin6_scope_id : 0;
  (from.any.sa_family == AF_INET6 ? from.v6.sin6_port : from.v4.sin_port) = 0;
  SocketAddress destination = ToSocket(to, scope);
  // Bound first: the way must start at this device, whatever the routes say.
  if (library_->bind_addr(id.get(), &from.any) != 0 ||
      library_->resolve_addr(id.get(), &from.any, &destination.any, kResolveMs) != 0) {
    return failed("no way is found to");
  }
  return id;
}

}  // namespace weft
