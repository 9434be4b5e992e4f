// Coroutines over Futures, opt-in: one thread keeps many operations under way
// and writes each chain of them as straight code.
//
//   weft::Task Chase(weft::RemotePtr<Node> at, uint64_t& sum) {
//     while (at) {
//       auto node = co_await weft::AsyncGet(at);
//       if (!node.ok()) co_return node.status();
//       sum += node->value;
//       at = node->next;
//     }
//     co_return absl::OkStatus();
//   }
//   std::vector<weft::Task> tasks;  // ... one for each list
//   absl::Status status = weft::RunAll(std::move(tasks));
//
// A Task and what it awaits belong to the thread that runs it.
#ifndef WEFT_TASK_H_
#define WEFT_TASK_H_

#include <coroutine>
#include <exception>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "weft/future.h"

namespace weft {

namespace internal {

// What a suspended task waits for.
class Awaited {
 public:
  virtual bool Ready() const = 0;
  // Blocks until it is ready, at most the operations' deadline.
  virtual void Block() = 0;

 protected:
  ~Awaited() = default;
};

}  // namespace internal

// A coroutine that ends with a Status. It starts when RunAll runs it; one that is
// dropped before its end is destroyed where it stands, and the Future that it
// awaits waits as dropped Futures do.
class [[nodiscard]] Task {
 public:
  struct promise_type {
    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_value(absl::Status ended) { status = std::move(ended); }
    void unhandled_exception() { std::terminate(); }

    internal::Awaited* awaited = nullptr;
    absl::Status status;
  };

  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(coroutine_, other.coroutine_);
    return *this;
  }
  ~Task() {
    if (coroutine_ != nullptr) coroutine_.destroy();
  }

 private:
  friend absl::Status RunAll(std::vector<Task> tasks);
  explicit Task(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

namespace internal {

template <typename T>
class FutureAwaiter final : public Awaited {
 public:
  explicit FutureAwaiter(Future<T> future) : future_(std::move(future)) {}

  bool Ready() const override { return future_.Ready(); }
  void Block() override { (void)future_.Wait(); }

  bool await_ready() const { return future_.Ready(); }
  void await_suspend(std::coroutine_handle<Task::promise_type> task) {
    task.promise().awaited = this;
  }
  auto await_resume() { return future_.Wait(); }

 private:
  Future<T> future_;
};

}  // namespace internal

// In a Task: suspends it until the operation is complete; yields what
// Future::Wait would return.
template <typename T>
internal::FutureAwaiter<T> operator co_await(Future<T> future) {
  return internal::FutureAwaiter<T>(std::move(future));
}

// Runs all tasks to their ends, each as far as it goes whenever what it awaits is
// complete; blocks while none can go on. Returns the first error in the order of
// `tasks`, after all have ended.
inline absl::Status RunAll(std::vector<Task> tasks) {
  for (bool any_left = true; any_left;) {
    any_left = false;
    bool any_moved = false;
    internal::Awaited* first_awaited = nullptr;
    for (Task& task : tasks) {
      if (task.coroutine_.done()) continue;
      internal::Awaited*& awaited = task.coroutine_.promise().awaited;
      if (awaited == nullptr || awaited->Ready()) {
        awaited = nullptr;
        task.coroutine_.resume();
        any_moved = true;
      } else if (first_awaited == nullptr) {
        first_awaited = awaited;
      }
      any_left |= !task.coroutine_.done();
    }
    if (!any_moved && first_awaited != nullptr) first_awaited->Block();
  }
  for (const Task& task : tasks) {
    const absl::Status& status = task.coroutine_.promise().status;
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace weft
#endif  // WEFT_TASK_H_
