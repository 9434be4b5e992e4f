// Errors of posted operations: each thread is told of each once.
#include "runtime/engine/errors.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>

namespace weft {
namespace {

absl::Status Error(int n) { return absl::OutOfRangeError("error " + std::to_string(n)); }

bool Mentions(const absl::Status& status, const std::string& text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

TEST(ErrorLog, AThreadIsToldOnce) {
  ErrorLog log;
  EXPECT_TRUE(log.Unseen(1).ok());
  log.Record(1, Error(1));
  EXPECT_TRUE(log.Unseen(2).ok());
  EXPECT_EQ(log.Unseen(1), Error(1));
  EXPECT_TRUE(log.Unseen(1).ok());
  log.Record(1, Error(2));
  EXPECT_EQ(log.Unseen(1), Error(2));
  EXPECT_TRUE(log.Unseen(1).ok());
}

TEST(ErrorLog, EachThreadIsToldWhatItHasNotSeen) {
  ErrorLog log;
  log.Record(0, Error(1));
  EXPECT_EQ(log.Unseen(0), Error(1));
  std::thread([&] {
    EXPECT_EQ(log.Unseen(0), Error(1));
    EXPECT_TRUE(log.Unseen(0).ok());
    log.Record(0, Error(2));
  }).join();
  EXPECT_EQ(log.Unseen(0), Error(2));
  // A thread that ended has left nothing behind for one that comes later.
  std::thread([&] { EXPECT_TRUE(Mentions(log.Unseen(0), "error 1")); }).join();
}

TEST(ErrorLog, TellsTheFirstOfSeveralAndTheirNumber) {
  ErrorLog log;
  for (int i = 1; i <= 3; ++i) log.Record(5, Error(i));
  const absl::Status status = log.Unseen(5);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(Mentions(status, "error 1"));
  EXPECT_TRUE(Mentions(status, "2 more"));
  EXPECT_TRUE(log.Unseen(5).ok());
}

TEST(ErrorLog, KeepsTheNumberOfWhatItDoesNotKeep) {
  ErrorLog log;
  for (int i = 0; i < 1000; ++i) log.Record(0, Error(i));
  const absl::Status status = log.Unseen(0);
  EXPECT_TRUE(Mentions(status, "error " + std::to_string(1000 - ErrorLog::kKept)));
  EXPECT_TRUE(Mentions(status, "999 more"));
}

TEST(ErrorLog, PayloadsSurvive) {
  ErrorLog log;
  absl::Status doubt = Error(1);
  doubt.SetPayload("weft/in-doubt", absl::Cord());
  log.Record(0, doubt);
  log.Record(0, Error(2));
  EXPECT_TRUE(log.Unseen(0).GetPayload("weft/in-doubt").has_value());
}

// A log at the address of one that is gone starts afresh for every thread.
TEST(ErrorLog, LogsAreNotMistakenForEachOther) {
  std::optional<ErrorLog> log;
  for (int i = 0; i < 100; ++i) {
    log.emplace();
    EXPECT_TRUE(log->Unseen(3).ok());
    log->Record(3, Error(i));
    EXPECT_EQ(log->Unseen(3), Error(i));
  }
}

}  // namespace
}  // namespace weft
