#include "runtime/transport/verbs/arrivals.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft {

Arrivals::Arrivals(const VerbsDevice& device, ChannelHandle channel,
                   CompletionQueueHandle completions, SharedReceiveQueueHandle receives,
                   Mapping buffers, RegionHandle region)
    : device_(&device),
      channel_(std::move(channel)),
      completions_(std::move(completions)),
      receives_(std::move(receives)),
      buffers_(std::move(buffers)),
      region_(std::move(region)) {}

absl::StatusOr<Arrivals> Arrivals::Create(const VerbsDevice& device, const Dialect& dialect,
                                          Rank peers) {
  const VerbsLibrary& library = device.library();
  const uint32_t depth = peers * (kReceives + (dialect.messages ? kReplies : 0));
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
  const size_t bytes = depth * Message::kBytes;
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return failed("buffers");
  Mapping buffers(memory, bytes);
  auto region = device.Register({buffers.get(), bytes}, IBV_ACCESS_LOCAL_WRITE);
  if (!region.ok()) return region.status();
  Arrivals arrivals(device, std::move(channel), std::move(completions), std::move(receives),
                    std::move(buffers), *std::move(region));
  std::array<uint64_t, kBatch> batch;
  for (uint64_t first = 0; first < depth; first += kBatch) {
    std::iota(batch.begin(), batch.end(), first);
    arrivals.Receive(std::span(batch).first(std::min<uint64_t>(kBatch, depth - first)));
  }
  return arrivals;
}

void Arrivals::Receive(std::span<const uint64_t> buffers) {
  if (buffers.empty()) return;
  ibv_recv_wr requests[kBatch];
  ibv_sge pieces[kBatch];
  for (size_t i = 0; i < buffers.size(); ++i) {
    pieces[i] = {.addr = reinterpret_cast<uint64_t>(Buffer(buffers[i])),
                 .length = Message::kBytes,
                 .lkey = region_->lkey};
    requests[i].wr_id = buffers[i];
    requests[i].sg_list = &pieces[i];
    requests[i].num_sge = 1;
    requests[i].next = i + 1 < buffers.size() ? &requests[i + 1] : nullptr;
  }
  ibv_recv_wr* refused = nullptr;
  // Refused only by a device that is gone.
  device_->library().post_srq_recv(receives(), requests, &refused);
}

std::optional<Message> Arrivals::Read(const ibv_wc& completion) {
  if (completion.status != IBV_WC_SUCCESS) return std::nullopt;
  if ((completion.wc_flags & IBV_WC_WITH_IMM) != 0) {
    return Message::FromImmediate(ntohl(completion.imm_data));
  }
  return Message::Decode({Buffer(completion.wr_id), completion.byte_len});
}

std::optional<Arrivals::Source> Arrivals::SourceOf(uint32_t pair_number) const {
  const auto found = source_of_.find(pair_number);
  if (found == source_of_.end() || found->second.former) return std::nullopt;
  return found->second;
}

std::span<const Arrivals::Arrival> Arrivals::Take() {
  uint64_t buffers[kBatch];
  size_t count = 0;
  const std::span<const ibv_wc> arrived(arrived_, static_cast<size_t>(looked_));
  for (size_t i = 0; i < arrived.size(); ++i) {
    buffers[i] = arrived[i].wr_id;
    const auto source = source_of_.find(arrived[i].qp_num);
    const std::optional<Message> message = Read(arrived[i]);
    if (source == source_of_.end() || !message) continue;
    taken_[count++] = {source->second, *message};
  }
  Receive(std::span(buffers, arrived.size()));
  return {taken_, count};
}

void Arrivals::Disarm() {
  ibv_cq* queue = nullptr;
  void* user = nullptr;
  if (device_->library().get_cq_event(channel_.get(), &queue, &user) == 0) {
    device_->library().ack_cq_events(queue, 1);
  }
}

}  // namespace weft
