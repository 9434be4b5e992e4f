// The bootstrap of a program that was started without a launcher: rank 0 of 1,
// with the key-value store in its own memory. Any thread may call.
#ifndef WEFT_RUNTIME_BOOTSTRAP_LONE_BOOTSTRAP_H_
#define WEFT_RUNTIME_BOOTSTRAP_LONE_BOOTSTRAP_H_

#include <map>
#include <mutex>
#include <string>

#include "runtime/bootstrap/bootstrap.h"

namespace weft {

class LoneBootstrap final : public Bootstrap {
 public:
  Rank rank() const override { return 0; }
  Rank size() const override { return 1; }
  std::string_view source() const override { return "lone"; }
  const JobSecret& secret() const override { return secret_; }

  absl::StatusOr<std::optional<NodeFds>> ShareMemory(const MemoryShape& shape,
                                                     Deadline deadline) override;
  absl::Status Put(std::string_view key, std::string_view value) override;
  absl::StatusOr<std::string> Get(std::string_view key, Deadline deadline) override;
  absl::Status Fence(Deadline deadline) override;
  absl::Status Leave() override;
  // Prints the message on standard error: nobody else will.
  void Abort(int code, std::string_view message) override;
  std::optional<Rank> NextDeath() override { return std::nullopt; }

 private:
  const JobSecret secret_ = MakeJobSecret();
  std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> store_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_BOOTSTRAP_LONE_BOOTSTRAP_H_
