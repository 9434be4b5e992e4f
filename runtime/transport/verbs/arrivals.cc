#include "runtime/transport/verbs/arrivals.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft {

Arrivals::Arrivals(const VerbsDevice& device, ChannelHandle channel,
                   CompletionQueueHandle completions, SharedReceiveQueueHandle receives)
    : device_(&device),
      channel_(std::move(channel)),
      completions_(std::move(completions)),
      receives_(std::move(receives)) {}

absl::StatusOr<Arrivals> Arrivals::Create(const VerbsDevice& device, Rank peers) {
  const VerbsLibrary& library = device.library();
  const uint32_t depth = peers * kReceives;
  if (depth >
      static_cast<uint32_t>(std::min(device.limits().max_srq_wr, device.limits().max_cqe))) {
    return absl::ResourceExhaustedError(
        absl::StrCat(device.port().name(), " can hold ", device.limits().max_srq_wr,
                     " receives, but ", peers, " peers need ", depth, ": use fewer ranks"));
  }
  const auto failed = [&](const char* what) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot create ", what, " for ", depth,
                                                     " receives on ", device.port().name(), ": ",
                                                     strerror(errno)));
  };
  ChannelHandle channel(library.create_comp_channel(device.context()),
                        library.destroy_comp_channel);
  if (channel == nullptr) return failed("a completion channel");
  fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
  CompletionQueueHandle completions(
      library.create_cq(device.context(), static_cast<int>(depth), nullptr, channel.get(), 0),
      library.destroy_cq);
  if (completions == nullptr) return failed("a completion queue");
  ibv_srq_init_attr attributes = {};
  attributes.attr.max_wr = depth;
  attributes.attr.max_sge = 1;
  SharedReceiveQueueHandle receives(library.create_srq(device.domain(), &attributes),
                                    library.destroy_srq);
  if (receives == nullptr) return failed("a shared receive queue");
  Arrivals arrivals(device, std::move(channel), std::move(completions), std::move(receives));
  arrivals.Refill(depth);
  return arrivals;
}

void Arrivals::Refill(uint32_t count) {
  // They have no memory: an immediate comes in the completion.
  constexpr uint32_t kBatch = 32;
  ibv_recv_wr batch[kBatch] = {};
  while (count > 0) {
    const uint32_t n = std::min(count, kBatch);
    for (uint32_t i = 0; i < n; ++i) batch[i].next = i + 1 < n ? &batch[i + 1] : nullptr;
    ibv_recv_wr* refused = nullptr;
    // Refused only by a device that is gone.
    if (device_->library().post_srq_recv(receives(), batch, &refused) != 0) return;
    count -= n;
  }
}

std::optional<Arrivals::Source> Arrivals::SourceOf(uint32_t pair_number) const {
  const auto found = source_of_.find(pair_number);
  if (found == source_of_.end() || found->second.former) return std::nullopt;
  return found->second;
}

size_t Arrivals::Take(std::span<Arrival> arrivals) {
  size_t count = 0;
  uint32_t taken = 0;
  ibv_wc completions[16];
  while (count < arrivals.size()) {
    const int wanted = static_cast<int>(std::min(std::size(completions), arrivals.size() - count));
    const int n = device_->library().poll_cq(this->completions(), wanted, completions);
    for (int i = 0; i < n; ++i) {
      ++taken;
      const ibv_wc& completion = completions[i];
      if (completion.status != IBV_WC_SUCCESS || (completion.wc_flags & IBV_WC_WITH_IMM) == 0) {
        continue;
      }
      const auto source = source_of_.find(completion.qp_num);
      if (source == source_of_.end()) continue;
      arrivals[count++] = {source->second, Immediate::Decode(ntohl(completion.imm_data))};
    }
    if (n < wanted) break;
  }
  Refill(taken);
  return count;
}

void Arrivals::Disarm() {
  ibv_cq* queue = nullptr;
  void* user = nullptr;
  if (device_->library().get_cq_event(channel_.get(), &queue, &user) == 0) {
    device_->library().ack_cq_events(queue, 1);
  }
}

}  // namespace weft
