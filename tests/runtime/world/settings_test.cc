// Options: explicit wins over the environment, which wins over the defaults; and
// what is wrong is named.
#include "runtime/world/settings.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/world/variables.h"

namespace weft {
namespace {

std::function<const char*(const char*)> Environment(
    const std::map<std::string, std::string>& variables) {
  return [variables](const char* name) -> const char* {
    static thread_local std::string value;
    const auto found = variables.find(name);
    if (found == variables.end()) return nullptr;
    value = found->second;
    return value.c_str();
  };
}

TEST(Settings, DefaultsAreWhatTheHeaderSays) {
  auto settings = ResolveSettings({}, Environment({}));
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->shape.slab_bytes, 256u << 20);
  EXPECT_EQ(settings->shape.local_bytes, 64u << 20);
  EXPECT_EQ(settings->deadline, absl::Seconds(30));
  EXPECT_EQ(settings->wait_deadline, absl::Minutes(10));
  EXPECT_FALSE(settings->fault_seed.has_value());
}

TEST(Settings, ExplicitWinsOverTheEnvironment) {
  const auto environment = Environment({{"WEFT_HEAP_BYTES", "8M"},
                                        {"WEFT_LOCAL_BYTES", "1M"},
                                        {"WEFT_DEADLINE", "500ms"},
                                        {"WEFT_WAIT_DEADLINE", "inf"},
                                        {"WEFT_FAULT", "7"}});
  auto from_environment = ResolveSettings({}, environment);
  ASSERT_TRUE(from_environment.ok()) << from_environment.status();
  EXPECT_EQ(from_environment->shape.slab_bytes, 8u << 20);
  EXPECT_EQ(from_environment->shape.local_bytes, 1u << 20);
  EXPECT_EQ(from_environment->deadline, absl::Milliseconds(500));
  EXPECT_EQ(from_environment->wait_deadline, absl::InfiniteDuration());
  EXPECT_EQ(from_environment->fault_seed, 7u);

  auto explicitly = ResolveSettings({.heap_bytes = 5000,
                                     .local_bytes = 1,
                                     .deadline = absl::Seconds(1),
                                     .wait_deadline = absl::Seconds(2)},
                                    environment);
  ASSERT_TRUE(explicitly.ok()) << explicitly.status();
  EXPECT_EQ(explicitly->shape.slab_bytes, 8192u) << "rounded up to pages";
  EXPECT_EQ(explicitly->shape.local_bytes, 4096u);
  EXPECT_EQ(explicitly->deadline, absl::Seconds(1));
  EXPECT_EQ(explicitly->wait_deadline, absl::Seconds(2));
}

TEST(Settings, BadValuesAreNamed) {
  for (const auto& [variable, value] :
       std::vector<std::pair<std::string, std::string>>{{"WEFT_HEAP_BYTES", "lots"},
                                                        {"WEFT_HEAP_BYTES", "-1"},
                                                        {"WEFT_LOCAL_BYTES", "0"},
                                                        {"WEFT_LOCAL_BYTES", "12X"},
                                                        {"WEFT_DEADLINE", "30"},
                                                        {"WEFT_WAIT_DEADLINE", "-3s"},
                                                        {"WEFT_FAULT", "yes"},
                                                        {"WEFT_TRANSPORTS", "tcpip"},
                                                        {"WEFT_TRANSPORTS", "shm,"},
                                                        {"WEFT_TRANSPORTS", "Verbs"},
                                                        {"WEFT_ATOMICS", "cpu"},
                                                        {"WEFT_VERBS_STRICT_FLUSH", "yes"},
                                                        {"WEFT_VERBS_CONNECT", "yes"}}) {
    const absl::Status status = ResolveSettings({}, Environment({{variable, value}})).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << variable << "=" << value;
    EXPECT_NE(status.message().find(variable), absl::string_view::npos) << status;
    EXPECT_NE(status.message().find(value), absl::string_view::npos) << status;
  }
  EXPECT_EQ(
      ResolveSettings({.heap_bytes = 4096, .local_bytes = 8192}, Environment({})).status().code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ResolveSettings({.heap_bytes = SIZE_MAX}, Environment({})).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ResolveSettings({.deadline = -absl::Seconds(1)}, Environment({})).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Settings, TransportsAreThoseNamed) {
  const auto settings = [](const std::map<std::string, std::string>& variables) {
    return ResolveSettings({}, Environment(variables)).value();
  };
  const Settings any = settings({});
  EXPECT_TRUE(any.use_shm && any.use_verbs && any.use_tcp) << "whatever serves";
  const Settings shm = settings({{"WEFT_TRANSPORTS", "shm"}});
  EXPECT_TRUE(shm.use_shm && !shm.use_verbs && !shm.use_tcp);
  const Settings verbs = settings({{"WEFT_TRANSPORTS", "verbs"},
                                   {"WEFT_VERBS_DEVICE", "rxe0:1"},
                                   {"WEFT_VERBS_CONNECT", "cm"}});
  EXPECT_TRUE(!verbs.use_shm && verbs.use_verbs);
  EXPECT_EQ(verbs.verbs.device, "rxe0:1");
  EXPECT_EQ(verbs.verbs.connect, ConnectChoice::kCm);
  const Settings both = settings({{"WEFT_TRANSPORTS", "verbs,shm"}});
  EXPECT_TRUE(both.use_shm && both.use_verbs && !both.use_tcp);
  const Settings tcp = settings({{"WEFT_TRANSPORTS", "shm,tcp"}, {"WEFT_INTERFACE", "eth1"}});
  EXPECT_TRUE(tcp.use_shm && !tcp.use_verbs && tcp.use_tcp);
  EXPECT_EQ(tcp.interface, "eth1");
}

// weft-info shows what Variables lists.
TEST(Settings, AllVariablesThatAreReadAreListed) {
  std::set<std::string> read, listed;
  const auto resolved = ResolveSettings({}, [&](const char* name) -> const char* {
    read.insert(name);
    return nullptr;
  });
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  for (const Variable& variable : Variables()) listed.insert(variable.name);
  EXPECT_EQ(read, listed);
}

TEST(Settings, WhoCarriesAtomicsOutIsChosen) {
  const auto settings = [](const std::map<std::string, std::string>& variables) {
    return ResolveSettings({}, Environment(variables));
  };
  EXPECT_EQ(settings({})->verbs.atomics, AtomicsChoice::kAuto);
  EXPECT_FALSE(settings({})->verbs.strict_flush);
  EXPECT_EQ(settings({{"WEFT_ATOMICS", "auto"}})->verbs.atomics, AtomicsChoice::kAuto);
  EXPECT_EQ(settings({{"WEFT_ATOMICS", "nic"}})->verbs.atomics, AtomicsChoice::kNic);
  EXPECT_EQ(settings({{"WEFT_ATOMICS", "agent"}})->verbs.atomics, AtomicsChoice::kAgent);
  EXPECT_TRUE(settings({{"WEFT_VERBS_STRICT_FLUSH", "1"}})->verbs.strict_flush);
  for (const char* variable : {"WEFT_ATOMICS", "WEFT_VERBS_STRICT_FLUSH"}) {
    const absl::Status status = settings({{variable, "cpu"}}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(variable), absl::string_view::npos) << status;
  }
}

// Case 24: a slab that can never be backed is refused with both sizes, instead
// of ending in a signal when it is touched.
TEST(Settings, ASlabLargerThanTheMachineIsRefusedWithTheSizes) {
  const absl::Status status =
      ResolveSettings({.heap_bytes = size_t{1} << 45}, Environment({})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("35184372088832"), absl::string_view::npos) << status;
  EXPECT_NE(status.message().find("memory"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace weft
