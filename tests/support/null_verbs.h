// An RDMA device for tests that carries nothing out: it accepts requests, and ends them when,
// and as, the test says; what fails on a real one now and then fails here on demand. It stands
// below the verbs transport, in the place of libibverbs, so that all of the transport is real.
//
// It has one device, "null0", with two Ethernet ports. Connections are not checked: a rank may
// connect to any address. One at a time in a process; any thread may call.
#ifndef WEFT_TESTS_SUPPORT_NULL_VERBS_H_
#define WEFT_TESTS_SUPPORT_NULL_VERBS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/transport/verbs/verbs_library.h"

namespace weft {

class NullVerbs {
 public:
  // A work request as it was posted.
  struct Posted {
    ibv_qp* pair;
    ibv_send_wr request;  // Its pointers are not valid any more.
    uint64_t local;
    uint32_t length;
  };
  // How the next calls end, beside success.
  struct Faults {
    int refuse_request = -1;    // Of the next chain, the request of this index, from 0 on.
    int fail_modify = 0;        // The errno of the next modify_qp to ready-to-receive.
    int fail_registration = 0;  // That of all registrations.
    bool complete_at_once = false;
    bool note = false;  // Keep what is posted for noted(), too.
  };

  NullVerbs();
  ~NullVerbs();
  NullVerbs(const NullVerbs&) = delete;
  NullVerbs& operator=(const NullVerbs&) = delete;

  const VerbsLibrary& library() const { return library_; }

  void SetFaults(const Faults& faults);
  // The GIDs of both ports from now on; the first set has one, at index 1.
  void SetGids(const std::vector<ibv_gid_entry>& gids);
  // The MTU in force on both ports, for whoever asks from now on.
  void SetMtu(ibv_mtu mtu);
  static ibv_gid_entry Ipv4Gid(uint8_t last, uint32_t index);

  // What was posted and has no completion yet. A queue pair that is destroyed takes its own along.
  std::vector<Posted> posted() const;
  std::vector<Posted> noted() const;
  // How many were ever posted, without those that were refused.
  size_t requests() const;
  // Ends all that is posted, in order; of those that succeed, only the signalled ones tell.
  void EndAll(ibv_wc_status status);
  // A completion that is no posted request's: `on_receives` on the queue of receives.
  void AddCompletion(bool on_receives, const ibv_wc& completion);
  // A SEND with `bytes` arrives on the queue pair with that number; it takes a receive of the
  // last shared queue that was made.
  void Deliver(uint32_t pair_number, std::span<const std::byte> bytes);
  // The device tells of `type`: of the queue pair that holds the first posted request, or of
  // `port`, or of itself.
  void Raise(ibv_event_type type, int port = 0);

  // Returns once whoever reads events has read and acknowledged all.
  void WaitUntilTaken() const;

  std::vector<ibv_qp_attr> connected() const;  // As modify_qp was told, for ready-to-receive.
  int alive() const;                           // Objects that were made and not destroyed.

 private:
  struct Functions;  // What the table points to.
  void EndAllLocked(ibv_wc_status status);

  VerbsLibrary library_;
  mutable std::mutex mutex_;
  Faults faults_;
  std::vector<ibv_gid_entry> gids_;
  ibv_mtu mtu_ = IBV_MTU_1024;
  std::deque<Posted> posted_;
  std::vector<Posted> noted_;
  size_t requests_ = 0;
  std::map<ibv_cq*, std::deque<ibv_wc>> completions_;
  struct Receive {
    uint64_t id;
    uint64_t at;
  };
  std::map<ibv_srq*, std::deque<Receive>> receives_;
  ibv_srq* shared_ = nullptr;   // The last that was made.
  ibv_cq* sent_ = nullptr;      // The last that was made without a channel.
  ibv_cq* received_ = nullptr;  // And with one.
  std::deque<ibv_async_event> events_;
  std::vector<ibv_qp_attr> connected_;
  int event_fd_ = -1;  // Counts events_.
  uint32_t next_number_ = 100;
  int alive_ = 0;
  int unacknowledged_ = 0;
};

}  // namespace weft
#endif  // WEFT_TESTS_SUPPORT_NULL_VERBS_H_
