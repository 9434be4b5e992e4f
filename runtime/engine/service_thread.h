// The thread that answers a transport's peers while the program computes. It sleeps
// until the transport has something; see Transport::Serve.
//
// The transport and its mutex must outlive it. Destruction waits for it to end, some tens of
// milliseconds at most.
#ifndef WEFT_RUNTIME_ENGINE_SERVICE_THREAD_H_
#define WEFT_RUNTIME_ENGINE_SERVICE_THREAD_H_

#include <signal.h>

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "runtime/base/deadline.h"
#include "runtime/base/mutex.h"
#include "runtime/transport/transport.h"

namespace weft {

class ServiceThread {
 public:
  // `mutex` guards the transport. `look`, if there is one, is called each time before the thread
  // serves: again within a millisecond if it returns true.
  ServiceThread(Transport& transport, Mutex& mutex, std::function<bool()> look = nullptr)
      : transport_(transport), mutex_(mutex), look_(std::move(look)) {
    // Signals are for the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] {
      while (!stop_.load(std::memory_order_relaxed)) {
        const bool soon = look_ != nullptr && look_();
        transport_.Serve(mutex_, Deadline::After(absl::Milliseconds(soon ? 1 : 20)));
      }
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ServiceThread(const ServiceThread&) = delete;
  ServiceThread& operator=(const ServiceThread&) = delete;
  ~ServiceThread() {
    stop_.store(true, std::memory_order_relaxed);
    thread_.join();
  }

 private:
  Transport& transport_;
  Mutex& mutex_;
  const std::function<bool()> look_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_ENGINE_SERVICE_THREAD_H_
