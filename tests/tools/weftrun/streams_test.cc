// The ranks' standard streams: who reads stdin, whole lines, labels, slow and
// closed readers.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>
#include <thread>

#include "tests/tools/weftrun/weftrun_process.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    reads.reset(ends[0]);
    writes.reset(ends[1]);
  }
  UniqueFd reads, writes;
};

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// What a run says when its standard input is `input`.
WeftrunResult WithInput(const std::string& input, const std::vector<std::string>& arguments) {
  Pipe pipe;
  EXPECT_EQ(write(pipe.writes.get(), input.data(), input.size()),
            static_cast<ssize_t>(input.size()));
  pipe.writes.reset();
  WeftrunProcess process({.arguments = arguments, .stdin_fd = pipe.reads.get()});
  return process.Wait();
}

TEST(StreamsTest, RankZeroReadsStandardInput) {
  const std::string script = "while read line; do echo $WEFT_RANK $line; done; echo end";
  EXPECT_EQ(WithInput("a\nb\n", {"-n", "1", "sh", "-c", script}).out, "0 a\n0 b\nend\n");
  EXPECT_THAT(Lines(WithInput("a\nb\n", {"-n", "3", "sh", "-c", script}).out),
              UnorderedElementsAre("0 a", "0 b", "end", "end", "end"));
  EXPECT_THAT(Lines(WithInput("a\n", {"-n", "3", "--stdin", "2", "sh", "-c", script}).out),
              UnorderedElementsAre("2 a", "end", "end", "end"));
  EXPECT_THAT(Lines(WithInput("a\n", {"-n", "2", "--stdin", "none", "sh", "-c", script}).out),
              UnorderedElementsAre("end", "end"));
}

TEST(StreamsTest, NobodyReadsAheadOfTheShell) {
  WeftrunProcess process(
      {.arguments = {
           "-n", "1", "sh", "-c",
           "printf '1\\n2\\n3\\n' | while read line; do \"$0\" -n 2 true; echo $line; done",
           WeftrunPath()}});
  const WeftrunResult result = process.Wait();
  EXPECT_EQ(result.code(), 0);
  EXPECT_EQ(result.out, "1\n2\n3\n");
}

TEST(StreamsTest, LinesAreWhole) {
  constexpr int kLines = 500;
  // Each line is written in pieces, to both streams.
  const std::string script =
      "i=0; while [ $i -lt 500 ]; do printf \"$WEFT_RANK out \"; printf \"$WEFT_RANK err \" >&2; "
      "echo $i; echo $i >&2; i=$((i+1)); done";
  const WeftrunResult result = RunWeftrun({"-n", "4", "sh", "-c", script});
  EXPECT_EQ(result.code(), 0);
  for (const auto& [name, text] : {std::pair("out", result.out), std::pair("err", result.err)}) {
    std::map<int, int> next;
    for (const std::string& line : Lines(text)) {
      int rank, number;
      char stream[8];
      ASSERT_EQ(sscanf(line.c_str(), "%d %3s %d", &rank, stream, &number), 3) << line;
      EXPECT_EQ(std::string(stream), name);
      EXPECT_EQ(number, next[rank]++);
    }
    EXPECT_EQ(next, (std::map<int, int>{{0, kLines}, {1, kLines}, {2, kLines}, {3, kLines}}));
  }
}

TEST(StreamsTest, TheLastLineNeedsNoEnd) {
  WeftrunResult result = RunWeftrun({"-n", "2", "printf", "tail"});
  EXPECT_EQ(result.out, "tailtail");
  result = RunWeftrun({"-n", "2", "sh", "-c", "printf tail; kill -9 $$"});
  EXPECT_THAT(result.out, HasSubstr("tail"));
}

TEST(StreamsTest, LabelsOnRequest) {
  WeftrunResult result =
      RunWeftrun({"-n", "2", "--tag-output", "sh", "-c", "printf 'a\\n\\nb'; echo warning >&2"});
  EXPECT_THAT(Lines(result.err), UnorderedElementsAre("[0] warning", "[1] warning"));
  // The last lines have no end, so what comes next is right behind.
  EXPECT_THAT(result.out, HasSubstr("[0] a\n[0] \n"));
  EXPECT_THAT(result.out, HasSubstr("[1] a\n[1] \n"));
  EXPECT_THAT(result.out, HasSubstr("[0] b"));
  EXPECT_THAT(result.out, HasSubstr("[1] b"));
}

TEST(StreamsTest, LongLinesAndMuchOutputComeThrough) {
  const WeftrunResult result =
      RunWeftrun({"-n", "3", "sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' $WEFT_RANK"});
  EXPECT_EQ(result.code(), 0);
  EXPECT_EQ(result.out.size(), 15000000u);
  for (const char rank : {'0', '1', '2'}) {
    EXPECT_EQ(std::count(result.out.begin(), result.out.end(), rank), 5000000);
  }
}

TEST(StreamsTest, APromptOfASingleRankShowsAtOnce) {
  WeftrunProcess process({.arguments = {"-n", "1", "sh", "-c", "printf 'name> '; sleep 1000"}});
  const Deadline deadline = Deadline::After(absl::Seconds(60));
  while (process.out() != "name> " && !deadline.Expired()) std::this_thread::yield();
  EXPECT_EQ(process.out(), "name> ");
}

TEST(StreamsTest, ASlowReaderGetsEverything) {
  for (const bool socket : {false, true}) {
    int ends[2];
    ASSERT_EQ(
        socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) : pipe2(ends, O_CLOEXEC),
        0);
    const UniqueFd reads(ends[0]);
    UniqueFd writes(ends[1]);
    WeftrunProcess process({.arguments = {"-n", "2", "head", "-c", "2000000", "/dev/zero"},
                            .stdout_fd = writes.get()});
    writes.reset();
    size_t total = 0;
    std::vector<char> buffer(10000);
    while (true) {
      const ssize_t length = read(reads.get(), buffer.data(), buffer.size());
      if (length <= 0) break;
      total += static_cast<size_t>(length);
    }
    EXPECT_EQ(process.Wait().code(), 0);
    EXPECT_EQ(total, 4000000u);
  }
}

// Waits until the pipe is full: the job cannot write any more.
void AwaitFull(const Pipe& pipe) {
  const Deadline deadline = Deadline::After(absl::Seconds(60));
  pollfd room = {.fd = pipe.writes.get(), .events = POLLOUT, .revents = 0};
  while (poll(&room, 1, 0) > 0 && !deadline.Expired()) std::this_thread::yield();
}

TEST(StreamsTest, AReaderThatStopsHoldsUpNoSignalOrTimeout) {
  Pipe pipe;
  {
    WeftrunProcess process({.arguments = {"-n", "2", "yes"}, .stdout_fd = pipe.writes.get()});
    AwaitFull(pipe);
    process.Signal(SIGTERM);
    const WeftrunResult result = process.Wait();
    EXPECT_EQ(result.code(), 143);
    EXPECT_THAT(result.err, HasSubstr("ended by signal 15"));
    EXPECT_TRUE(process.Gone(Deadline::After(absl::Seconds(2))));
  }
  WeftrunProcess process(
      {.arguments = {"--timeout", "0.5", "-n", "2", "yes"}, .stdout_fd = pipe.writes.get()});
  EXPECT_EQ(process.Wait().code(), 124);
}

TEST(StreamsTest, ThePipeOfTheCallerStaysBlocking) {
  Pipe pipe;
  WeftrunProcess process({.arguments = {"-n", "2", "echo", "x"}, .stdout_fd = pipe.writes.get()});
  EXPECT_EQ(process.Wait().code(), 0);
  EXPECT_EQ(fcntl(pipe.writes.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(StreamsTest, AReaderThatGoesEndsTheJobQuietly) {
  Pipe pipe;
  WeftrunProcess process({.arguments = {"-n", "2", "yes"}, .stdout_fd = pipe.writes.get()});
  pipe.writes.reset();
  char byte;
  ASSERT_EQ(read(pipe.reads.get(), &byte, 1), 1);
  pipe.reads.reset();
  const WeftrunResult result = process.Wait();
  EXPECT_EQ(result.code(), 141);
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(process.Gone(Deadline::After(absl::Seconds(2))));
}

TEST(StreamsTest, AFullDiskIsReported) {
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  WeftrunProcess process({.arguments = {"-n", "2", "yes"}, .stdout_fd = full.get()});
  const WeftrunResult result = process.Wait();
  EXPECT_EQ(result.code(), 125);
  EXPECT_EQ(result.err, "weftrun: cannot write standard output: No space left on device\n");
}

TEST(StreamsTest, ClosedStreamsAreEmptyOnes) {
  const WeftrunResult result =
      RunWeftrun({"-n", "1", "sh", "-c", "exec \"$@\" <&- >&- 2>&-", "sh", WeftrunPath(), "-n", "2",
                  "sh", "-c", "echo lost; cat; exit 4"});
  EXPECT_EQ(result.code(), 4);
}

TEST(StreamsTest, TheWriterSeesThatTheRankClosedItsInput) {
  Pipe pipe;
  WeftrunProcess process(
      {.arguments = {"-n", "2", "sh", "-c", "exec <&-; sleep 1000"}, .stdin_fd = pipe.reads.get()});
  pipe.reads.reset();
  // Only the rank could read it, and it will not.
  pollfd closed = {.fd = pipe.writes.get(), .events = 0, .revents = 0};
  EXPECT_EQ(poll(&closed, 1, 60000), 1);
  EXPECT_NE(closed.revents & POLLERR, 0);
}

}  // namespace
}  // namespace weft
