// Arrivals are taken in whatever else this rank does: while its own operations complete at each
// poll, by whoever polls, and where the polls are few, by the service thread.
#include <gtest/gtest.h>

#include "tests/runtime/transport/verbs/failing_device.h"

namespace weft::testing {
namespace {

constexpr uint32_t kCounter = 3;

class VerbsArrivals : public VerbsFailure {
 protected:
  void SetUp() override {
    MakeAll();
    Connect();
    Poll();
    verbs_.SetFaults({.complete_at_once = true});
    Arrive(1, {.kind = Message::Kind::kCount, .number = kCounter});
  }
  void PutAndPoll() {
    const Op put = Put(1, ++token_);
    ASSERT_EQ(transport().Post(1, {&put, 1}), 1u);
    Event event;
    ASSERT_EQ(transport().Poll({&event, 1}), 1u);
    ASSERT_EQ(event.token, token_);
  }
  uint64_t arrived() { return node_.view(0).control(0).counters[kCounter].arrivals.load(); }

  uint64_t token_ = 0;
};

TEST_F(VerbsArrivals, AreTakenByWhoPollsForCompletions) {
  for (int i = 0; i < 20 && arrived() == 0; ++i) PutAndPoll();
  EXPECT_EQ(arrived(), 1u);
}

TEST_F(VerbsArrivals, AreTakenByTheServiceThreadWhereOthersSeldomLook) {
  Mutex mutex;
  for (int i = 0; i < 4 && arrived() == 0; ++i) {
    PutAndPoll();
    transport().Serve(mutex, Deadline::After(absl::Microseconds(500)));
  }
  EXPECT_EQ(arrived(), 1u);
}

TEST_F(VerbsArrivals, APollWithoutCompletionsLooks) {
  Poll();
  EXPECT_EQ(arrived(), 1u);
}

}  // namespace
}  // namespace weft::testing
