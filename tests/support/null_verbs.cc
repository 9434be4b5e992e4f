#include "tests/support/null_verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace weft {
namespace {

NullVerbs* the_device = nullptr;
ibv_device the_entry = {};

}  // namespace

struct NullVerbs::Functions {
  static NullVerbs& The() { return *the_device; }

  // An object of the library's, that counts.
  template <typename T>
  static T* Make() {
    ++The().alive_;
    return new T();
  }
  template <typename T>
  static int Destroy(T* object) {
    const std::lock_guard lock(The().mutex_);
    --The().alive_;
    delete object;
    return 0;
  }

  static ibv_device** GetDeviceList(int* count) {
    *count = 1;
    return new ibv_device* [2] { &the_entry, nullptr };
  }
  static void FreeDeviceList(ibv_device** list) { delete[] list; }
  static const char* GetDeviceName(ibv_device*) { return "null0"; }

  static ibv_context* OpenDevice(ibv_device* device) {
    const std::lock_guard lock(The().mutex_);
    ibv_context* const context = Make<ibv_context>();
    context->device = device;
    context->async_fd = dup(The().event_fd_);
    return context;
  }
  static int CloseDevice(ibv_context* context) {
    close(context->async_fd);
    return Destroy(context);
  }
  static int QueryDevice(ibv_context*, ibv_device_attr* attributes) {
    *attributes = {};
    attributes->phys_port_cnt = 2;
    attributes->max_cqe = 32767;
    attributes->max_srq_wr = 32767;
    attributes->max_qp = 1000;
    attributes->max_mr = 100'000;
    attributes->max_qp_rd_atom = 16;
    attributes->max_qp_init_rd_atom = 16;
    attributes->atomic_cap = IBV_ATOMIC_HCA;
    return 0;
  }
  static int QueryPort(ibv_context*, uint8_t, ibv_port_attr* attributes) {
    *attributes = {};
    attributes->state = IBV_PORT_ACTIVE;
    attributes->link_layer = IBV_LINK_LAYER_ETHERNET;
    const std::lock_guard lock(The().mutex_);
    attributes->active_mtu = The().mtu_;
    attributes->max_msg_sz = 8 << 20;
    attributes->gid_tbl_len = 16;
    return 0;
  }
  static int QueryGid(ibv_context*, uint32_t, uint32_t index, ibv_gid_entry* entry, uint32_t,
                      size_t) {
    const std::lock_guard lock(The().mutex_);
    const auto found = std::ranges::find(The().gids_, index, &ibv_gid_entry::gid_index);
    if (found == The().gids_.end()) return ENODATA;
    *entry = *found;
    return 0;
  }
  static int GetAsyncEvent(ibv_context* context, ibv_async_event* event) {
    const std::lock_guard lock(The().mutex_);
    if ((fcntl(context->async_fd, F_GETFL) & O_NONBLOCK) == 0) std::abort();  // It would wait.
    uint64_t one;
    if (read(context->async_fd, &one, sizeof(one)) != sizeof(one)) return -1;
    *event = The().events_.front();
    The().events_.pop_front();
    ++The().unacknowledged_;
    return 0;
  }
  static void AckAsyncEvent(ibv_async_event*) {
    const std::lock_guard lock(The().mutex_);
    --The().unacknowledged_;
  }

  static ibv_pd* AllocPd(ibv_context*) {
    const std::lock_guard lock(The().mutex_);
    return Make<ibv_pd>();
  }
  static ibv_mr* RegMr(ibv_pd*, void* address, size_t length, int) {
    const std::lock_guard lock(The().mutex_);
    if (The().faults_.fail_registration != 0) {
      errno = The().faults_.fail_registration;
      return nullptr;
    }
    ibv_mr* const region = Make<ibv_mr>();
    region->addr = address;
    region->length = length;
    region->lkey = region->rkey = The().next_number_++;
    return region;
  }
  static ibv_comp_channel* CreateCompChannel(ibv_context*) {
    const std::lock_guard lock(The().mutex_);
    ibv_comp_channel* const channel = Make<ibv_comp_channel>();
    channel->fd = eventfd(0, EFD_NONBLOCK);
    return channel;
  }
  static int DestroyCompChannel(ibv_comp_channel* channel) {
    close(channel->fd);
    return Destroy(channel);
  }
  static ibv_cq* CreateCq(ibv_context*, int entries, void*, ibv_comp_channel* channel, int) {
    const std::lock_guard lock(The().mutex_);
    ibv_cq* const queue = Make<ibv_cq>();
    queue->cqe = entries;
    queue->channel = channel;
    (channel == nullptr ? The().sent_ : The().received_) = queue;
    return queue;
  }
  static int GetCqEvent(ibv_comp_channel* channel, ibv_cq** queue, void**) {
    uint64_t count;
    if (read(channel->fd, &count, sizeof(count)) != sizeof(count)) return -1;
    *queue = The().received_;
    return 0;
  }
  static void AckCqEvents(ibv_cq*, unsigned) {}
  static ibv_srq* CreateSrq(ibv_pd*, ibv_srq_init_attr*) {
    const std::lock_guard lock(The().mutex_);
    return The().shared_ = Make<ibv_srq>();
  }
  static ibv_qp* CreateQp(ibv_pd*, ibv_qp_init_attr* attributes) {
    const std::lock_guard lock(The().mutex_);
    ibv_qp* const pair = Make<ibv_qp>();
    pair->send_cq = attributes->send_cq;
    pair->qp_num = The().next_number_++;
    return pair;
  }
  static int ModifyQp(ibv_qp*, ibv_qp_attr* attributes, int) {
    const std::lock_guard lock(The().mutex_);
    if (attributes->qp_state != IBV_QPS_RTR) return 0;
    if (The().faults_.fail_modify != 0) return std::exchange(The().faults_.fail_modify, 0);
    The().connected_.push_back(*attributes);
    return 0;
  }
  static int DestroyQp(ibv_qp* pair) {
    {
      const std::lock_guard lock(The().mutex_);
      // As the real one, which would wait for it.
      if (The().unacknowledged_ != 0) std::abort();
      std::erase_if(The().posted_, [&](const Posted& posted) { return posted.pair == pair; });
    }
    return Destroy(pair);
  }

  static int PostSend(ibv_qp* pair, ibv_send_wr* first, ibv_send_wr** refused) {
    const std::lock_guard lock(The().mutex_);
    const int refuse = std::exchange(The().faults_.refuse_request, -1);
    int index = 0;
    for (ibv_send_wr* request = first; request != nullptr; request = request->next, ++index) {
      if (index == refuse) {
        *refused = request;
        return ENOMEM;
      }
      const bool any = request->num_sge > 0;
      ++The().requests_;
      The().posted_.push_back({.pair = pair,
                               .request = *request,
                               .local = any ? request->sg_list->addr : 0,
                               .length = any ? request->sg_list->length : 0});
      if (The().faults_.note) The().noted_.push_back(The().posted_.back());
    }
    if (The().faults_.complete_at_once) The().EndAllLocked(IBV_WC_SUCCESS);
    return 0;
  }
  static int PostSrqRecv(ibv_srq* queue, ibv_recv_wr* first, ibv_recv_wr**) {
    const std::lock_guard lock(The().mutex_);
    for (const ibv_recv_wr* request = first; request != nullptr; request = request->next) {
      The().receives_[queue].push_back({request->wr_id, request->sg_list->addr});
    }
    return 0;
  }
  static int PollCq(ibv_cq* queue, int count, ibv_wc* completions) {
    const std::lock_guard lock(The().mutex_);
    std::deque<ibv_wc>& waiting = The().completions_[queue];
    int n = 0;
    for (; n < count && !waiting.empty(); ++n) {
      completions[n] = waiting.front();
      waiting.pop_front();
    }
    return n;
  }
  static int ReqNotifyCq(ibv_cq*, int) { return 0; }
};

NullVerbs::NullVerbs() : event_fd_(eventfd(0, EFD_SEMAPHORE)) {
  if (std::exchange(the_device, this) != nullptr) std::abort();
  gids_ = {Ipv4Gid(1, 1)};
  using F = Functions;
  library_ = {.get_device_list = F::GetDeviceList,
              .free_device_list = F::FreeDeviceList,
              .get_device_name = F::GetDeviceName,
              .open_device = F::OpenDevice,
              .close_device = F::CloseDevice,
              .query_device = F::QueryDevice,
              .query_port = F::QueryPort,
              .query_gid = F::QueryGid,
              .get_async_event = F::GetAsyncEvent,
              .ack_async_event = F::AckAsyncEvent,
              .alloc_pd = F::AllocPd,
              .dealloc_pd = F::Destroy<ibv_pd>,
              .reg_mr = F::RegMr,
              .dereg_mr = F::Destroy<ibv_mr>,
              .create_comp_channel = F::CreateCompChannel,
              .destroy_comp_channel = F::DestroyCompChannel,
              .create_cq = F::CreateCq,
              .destroy_cq = F::Destroy<ibv_cq>,
              .get_cq_event = F::GetCqEvent,
              .ack_cq_events = F::AckCqEvents,
              .create_srq = F::CreateSrq,
              .destroy_srq = F::Destroy<ibv_srq>,
              .create_qp = F::CreateQp,
              .modify_qp = F::ModifyQp,
              .destroy_qp = F::DestroyQp,
              .post_send = F::PostSend,
              .post_srq_recv = F::PostSrqRecv,
              .poll_cq = F::PollCq,
              .req_notify_cq = F::ReqNotifyCq};
}

NullVerbs::~NullVerbs() {
  close(event_fd_);
  the_device = nullptr;
}

void NullVerbs::SetFaults(const Faults& faults) {
  const std::lock_guard lock(mutex_);
  faults_ = faults;
}

void NullVerbs::SetGids(const std::vector<ibv_gid_entry>& gids) {
  const std::lock_guard lock(mutex_);
  gids_ = gids;
}

void NullVerbs::SetMtu(ibv_mtu mtu) {
  const std::lock_guard lock(mutex_);
  mtu_ = mtu;
}

void NullVerbs::WaitUntilTaken() const {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (events_.empty() && unacknowledged_ == 0) return;
    }
    usleep(100);
  }
}

std::vector<NullVerbs::Posted> NullVerbs::noted() const {
  const std::lock_guard lock(mutex_);
  return noted_;
}

ibv_gid_entry NullVerbs::Ipv4Gid(uint8_t last, uint32_t index) {
  ibv_gid_entry entry = {};
  entry.gid_type = IBV_GID_TYPE_ROCE_V2;
  entry.gid_index = index;
  const uint8_t mapped[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, last};
  std::memcpy(entry.gid.raw, mapped, sizeof(mapped));
  return entry;
}

std::vector<NullVerbs::Posted> NullVerbs::posted() const {
  const std::lock_guard lock(mutex_);
  return {posted_.begin(), posted_.end()};
}

size_t NullVerbs::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void NullVerbs::EndAll(ibv_wc_status status) {
  const std::lock_guard lock(mutex_);
  EndAllLocked(status);
}

void NullVerbs::EndAllLocked(ibv_wc_status status) {
  for (const Posted& posted : posted_) {
    if (status == IBV_WC_SUCCESS && (posted.request.send_flags & IBV_SEND_SIGNALED) == 0) continue;
    ibv_wc completion = {};
    completion.wr_id = posted.request.wr_id;
    completion.status = status;
    completion.qp_num = posted.pair->qp_num;
    completions_[posted.pair->send_cq].push_back(completion);
  }
  posted_.clear();
}

void NullVerbs::AddCompletion(bool on_receives, const ibv_wc& completion) {
  const std::lock_guard lock(mutex_);
  completions_[on_receives ? received_ : sent_].push_back(completion);
  if (!on_receives || received_->channel == nullptr) return;
  const uint64_t one = 1;
  if (write(received_->channel->fd, &one, sizeof(one)) != sizeof(one)) std::abort();
}

void NullVerbs::Deliver(uint32_t pair_number, std::span<const std::byte> bytes) {
  ibv_wc completion = {};
  {
    const std::lock_guard lock(mutex_);
    std::deque<Receive>& receives = receives_[shared_];
    if (receives.empty()) std::abort();  // What a real one calls "receiver not ready".
    std::memcpy(reinterpret_cast<void*>(receives.front().at), bytes.data(), bytes.size());
    completion.wr_id = receives.front().id;
    receives.pop_front();
  }
  completion.qp_num = pair_number;
  completion.byte_len = static_cast<uint32_t>(bytes.size());
  AddCompletion(true, completion);
}

void NullVerbs::Raise(ibv_event_type type, int port) {
  const std::lock_guard lock(mutex_);
  ibv_async_event event = {};
  event.event_type = type;
  if (port != 0) {
    event.element.port_num = port;
  } else if (!posted_.empty()) {
    event.element.qp = posted_.front().pair;
  }
  events_.push_back(event);
  const uint64_t one = 1;
  if (write(event_fd_, &one, sizeof(one)) != sizeof(one)) std::abort();
}

std::vector<ibv_qp_attr> NullVerbs::connected() const {
  const std::lock_guard lock(mutex_);
  return connected_;
}

int NullVerbs::alive() const {
  const std::lock_guard lock(mutex_);
  return alive_;
}

}  // namespace weft
