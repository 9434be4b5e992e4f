// Where a rank waits for its peers' requests to connect: an IP address of the port that it uses,
// and librdmacm's channel of events.
//
// Owned by the connector; guarded by the transport's lock.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_CM_LISTENER_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_CM_LISTENER_H_

#include <netinet/in.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/transport/verbs/cm_library.h"
#include "runtime/transport/verbs/cm_message.h"
#include "runtime/transport/verbs/port.h"

namespace weft {

// As the rank publishes it.
struct CmAddress {
  bool v6 = false;
  uint8_t ip[16] = {};  // Of IPv4 the first four.
  uint16_t port = 0;
  CmMessage::Nonce nonce = {};  // Random: what requests to this rank are proved over.

  std::string name() const;  // "10.77.0.1:4711"
  friend bool operator==(const CmAddress&, const CmAddress&) = default;
};

class CmListener {
 public:
  // Listens on that one of the machine's IP addresses which leads to `port`; of several IPv4
  // goes first, then global IPv6, then link-local.
  static absl::StatusOr<CmListener> Open(const CmLibrary& library, const VerbsPort& port);

  const CmLibrary& library() const { return *library_; }
  const CmAddress& address() const { return address_; }
  // The device, as librdmacm has opened it, once for the process and until its end: all memory
  // and queues that are to do with its connections must be this context's.
  ibv_context* context() const { return id_->verbs; }
  rdma_event_channel* channel() const { return channel_.get(); }
  bool is(const rdma_cm_id* id) const { return id == id_.get(); }

  // An id that starts from here, and where to go.
  absl::StatusOr<CmIdHandle> Depart(const CmAddress& to, void* context) const;

 private:
  CmListener(const CmLibrary& library, EventChannelHandle channel, CmIdHandle id);

  const CmLibrary* library_;
  EventChannelHandle channel_;
  CmIdHandle id_;
  CmAddress address_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_CM_LISTENER_H_
