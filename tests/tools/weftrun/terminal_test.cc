// weftrun on a terminal: Ctrl-C, what is typed, and in the background.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "tests/tools/weftrun/weftrun_process.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

// A session on a terminal of its own, as a shell has it.
class Terminal {
 public:
  // Runs `body` in the session's leader; its result is the exit status.
  template <typename Body>
  explicit Terminal(const Body& body) {
    leader_ = forkpty(&master_, nullptr, nullptr, nullptr);
    if (leader_ == 0) _exit(body());
  }
  ~Terminal() { close(master_); }

  void Type(const std::string& text) {
    EXPECT_EQ(write(master_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // Reads until `text` has come or the terminal is closed; returns all so far.
  const std::string& Await(const std::string& text) {
    char buffer[1024];
    while (seen_.find(text) == std::string::npos) {
      const ssize_t length = read(master_, buffer, sizeof(buffer));
      if (length <= 0) break;
      seen_.append(buffer, static_cast<size_t>(length));
    }
    return seen_;
  }
  int Wait() {
    Await("no such text");
    int status = -1;
    EXPECT_EQ(waitpid(leader_, &status, 0), leader_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  int master_ = -1;
  pid_t leader_ = -1;
  std::string seen_;
};

int ExecWeftrun(const std::string& script) {
  execl(WeftrunPath().c_str(), "weftrun", "-n", "2", "sh", "-c", script.c_str(), nullptr);
  return 99;
}

TEST(TerminalTest, ControlCReachesTheRanks) {
  Terminal terminal([] { return ExecWeftrun("echo ready; sleep 1000"); });
  terminal.Await("ready\r\nready\r\n");
  terminal.Type("\x03");
  EXPECT_EQ(terminal.Wait(), 130);
}

TEST(TerminalTest, RankZeroReadsWhatIsTyped) {
  Terminal terminal([] { return ExecWeftrun("read line; echo $WEFT_RANK got $line"); });
  terminal.Type("hello\n");
  // The other rank's read finds the end, but its echo ends well.
  EXPECT_EQ(terminal.Wait(), 0);
  EXPECT_THAT(terminal.Await("0 got hello"), HasSubstr("0 got hello"));
  EXPECT_THAT(terminal.Await("1 got"), HasSubstr("1 got\r\n"));
}

TEST(TerminalTest, InTheBackgroundItDoesNotStop) {
  Terminal terminal([] {
    // Even where background output stops.
    termios settings;
    tcgetattr(0, &settings);
    settings.c_lflag |= TOSTOP;
    tcsetattr(0, TCSANOW, &settings);
    const pid_t job = fork();
    if (job == 0) {
      setpgid(0, 0);
      _exit(ExecWeftrun("cat; echo done"));
    }
    setpgid(job, job);
    int status = 0;
    if (waitpid(job, &status, WUNTRACED) != job) return 98;
    if (WIFSTOPPED(status)) {
      kill(job, SIGKILL);
      return 97;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 96;
  });
  // What is typed is the shell's, not rank 0's, whose cat ends at once.
  EXPECT_EQ(terminal.Wait(), 0);
  EXPECT_THAT(terminal.Await("done\r\ndone\r\n"), HasSubstr("done\r\ndone\r\n"));
}

}  // namespace
}  // namespace weft
