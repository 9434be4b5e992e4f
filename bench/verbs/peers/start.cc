#include "bench/verbs/peers/start.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include <string>

#include "bench/verbs/device.h"

namespace weft::bench {

void UseDevice(int argc, char** argv, int rank) {
  std::string device = DeviceOf(argc, argv, rank);
  if (device.empty()) return;
  if (device.find(':') == std::string::npos) device += ":1";
  setenv("UCX_NET_DEVICES", device.c_str(), 1);
}

void BecomeRank(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const char* const rank = getenv("OMPI_COMM_WORLD_RANK");
  UseDevice(argc, argv, rank == nullptr ? 0 : atoi(rank));
}

}  // namespace weft::bench
