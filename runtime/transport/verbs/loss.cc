#include "runtime/transport/verbs/loss.h"

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// Of RoCE v2 on IPv6 with the longest of the extended headers, and the checksum.
constexpr int kHeaderBytes = 40 + 8 + 12 + 28 + 4;

bool PortIsDown(const VerbsDevice& device) {
  ibv_port_attr attributes = {};
  return device.library().query_port(device.context(), device.port().number, &attributes) != 0 ||
         attributes.state != IBV_PORT_ACTIVE;
}

std::string DescribeSilence(const LossFacts& facts, const VerbsDevice& device) {
  const VerbsPort& port = device.port();
  if (PortIsDown(device)) {
    return absl::StrCat("this rank's port ", port.name(),
                        " is down: is the cable in, and the interface up?");
  }
  const int mtu = 128 << facts.mtu;
  std::string text = "it acknowledged nothing, however often it was sent";
  if (facts.loss == Loss::kBulkSilence && facts.small_passed && !facts.large_passed) {
    return absl::StrCat(
        text, "; small messages had reached it, large ones never did: if it lives, ",
        "the network drops full packets, which carry ", mtu, " bytes (the RDMA MTU in use): let ",
        "every interface and switch on the way take IP packets of ", mtu + kHeaderBytes,
        " bytes, or give both ends' interfaces an MTU that all of them take");
  }
  absl::StrAppend(&text, ": its process, its host or the link to it is gone");
  if (!facts.large_passed) {
    absl::StrAppend(&text, ", or packets that carry ", mtu,
                    " bytes (the RDMA MTU in use) do not get through");
  }
  if (!port.ethernet && !facts.small_passed) {
    absl::StrAppend(&text, ", or its port is in another partition (P_Key)");
  }
  return text;
}

}  // namespace

Loss LossOf(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
      return Loss::kSilence;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return Loss::kNotReady;
    case IBV_WC_REM_ACCESS_ERR:
      return Loss::kDenied;
    case IBV_WC_LOC_QP_OP_ERR:
      return Loss::kNoPath;
    default:
      return Loss::kFault;
  }
}

std::string DescribeLoss(const LossFacts& facts, const VerbsDevice& device) {
  const std::string name = device.port().name();
  switch (facts.loss) {
    case Loss::kNone:
      break;
    case Loss::kGivenUp:
      return "this rank has given it up";
    case Loss::kSilence:
    case Loss::kBulkSilence:
      return DescribeSilence(facts, device);
    case Loss::kNotReady:
      return "it had no receive ready for a notification";
    case Loss::kDenied:
      return "its device denied the access: its process has ended";
    case Loss::kNoPath:
      return absl::StrCat(name, " could not send to it: is its interface up, with a route to it?");
    case Loss::kFault:
      return absl::StrCat("the queue pair on ", name, " to it failed");
    case Loss::kRefused:
      return absl::StrCat(name, " refused a request to it");
    case Loss::kPair:
      return absl::StrCat(name, " has reported that the queue pair to it failed");
    case Loss::kQueues:
      return absl::StrCat(name, " has reported that a queue of all peers failed");
    case Loss::kDevice:
      return absl::StrCat("this rank's device ", device.port().device,
                          " has failed or was removed");
    case Loss::kRenewal:
      return absl::StrCat("its bulk lane could not start anew on ", name);
    case Loss::kClosed:
      return "it has closed the connection, or lost it";
    case Loss::kNoConnection:
      break;
  }
  return "";
}

}  // namespace weft
