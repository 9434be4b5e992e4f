#include "runtime/world/variables.h"

namespace weft {

std::span<const Variable> Variables() {
  static constexpr Variable kVariables[] = {
      {"WEFT_HEAP_BYTES", "256M", "bytes of each rank's slab of the global heap; K, M, G, T"},
      {"WEFT_LOCAL_BYTES", "a quarter of the slab", "bytes of it that Allocate serves"},
      {"WEFT_DEADLINE", "30s", "the longest an operation may take"},
      {"WEFT_WAIT_DEADLINE", "10m", "the longest a wait, barrier or lock may take; or inf"},
      {"WEFT_TRANSPORTS", "shm,verbs,tcp",
       "the transports that may be used, a list of shm, verbs and tcp"},
      {"WEFT_INTERFACE", "any that peers can reach",
       "where TCP listens: an interface's name, or how its address starts"},
      {"WEFT_VERBS_DEVICE", "the first usable port", "the RDMA port: a device, or device:port"},
      {"WEFT_ATOMICS", "auto", "who carries atomics out over RDMA: auto, nic or agent"},
      {"WEFT_VERBS_STRICT_FLUSH", "0", "1: prove by a read that what was put by RDMA is there"},
      {"WEFT_VERBS_CONNECT", "auto",
       "how ranks connect over RDMA: exchange (at Join), cm (by librdmacm, when needed), or auto"},
      {"WEFT_FAULT", "none", "for tests: delay and reorder operations, from this seed"},
  };
  return kVariables;
}

}  // namespace weft
