// What weftrun exits with and says last, for every way in which a job ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/tools/weftrun/weftrun_process.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// weftrun -n N test_rank STEPS...
std::vector<std::string> Job(int ranks, const std::vector<std::string>& steps) {
  std::vector<std::string> arguments = {"-n", std::to_string(ranks), TestRankPath()};
  arguments.insert(arguments.end(), steps.begin(), steps.end());
  return arguments;
}

std::vector<std::string> Shell(int ranks, const std::string& script) {
  return {"-n", std::to_string(ranks), "sh", "-c", script};
}

std::string LastLine(const std::string& text) {
  if (text.empty()) return "";
  const size_t begin = text.rfind('\n', text.size() - 2);
  return text.substr(begin == std::string::npos ? 0 : begin + 1);
}

std::string Host() {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  return host;
}

TEST(ExitStatusTest, ProgramsThatNeverJoinAreFine) {
  const WeftrunResult result = RunWeftrun({"-n", "3", "echo", "hello"});
  EXPECT_EQ(result.code(), 0);
  EXPECT_EQ(result.out, "hello\nhello\nhello\n");
  EXPECT_EQ(result.err, "");
}

TEST(ExitStatusTest, AJobThatJoinsAndLeaves) {
  const WeftrunResult result = RunWeftrun(Job(4, {"join", "share=1048576", "fence", "leave"}));
  EXPECT_EQ(result.code(), 0) << result.out << result.err;
  EXPECT_EQ(result.err, "");
}

TEST(ExitStatusTest, TheStatusOfTheRankThatFailed) {
  const WeftrunResult result = RunWeftrun(Job(3, {"2:exit=3", "hang"}));
  EXPECT_EQ(result.code(), 3);
  EXPECT_THAT(LastLine(result.err), ContainsRegex("^weftrun: rank 2 on " + Host() +
                                                  " \\(pid [0-9]+\\) exited with status 3; the "
                                                  "job was ended\n$"));
}

TEST(ExitStatusTest, ARankKilledByASignal) {
  for (const int signal : {6, 9, 11}) {
    const WeftrunResult result = RunWeftrun(Job(2, {"1:kill=" + std::to_string(signal), "hang"}));
    EXPECT_EQ(result.code(), 128 + signal);
    EXPECT_THAT(LastLine(result.err), ContainsRegex("rank 1 on .* was killed by signal " +
                                                    std::to_string(signal) + " \\("));
  }
}

TEST(ExitStatusTest, SurvivorsHaveHalfASecondThenTerm) {
  // The first waits for the word of the death and ends by itself; the status is the other's.
  const WeftrunResult result =
      RunWeftrun(Job(2, {"join", "share=1048576", "fence", "1:kill=9", "await-dead=1", "exit=7"}));
  EXPECT_EQ(result.code(), 137);
  EXPECT_EQ(result.out, "dead: 1 wait status 9 limit 0\n");
}

TEST(ExitStatusTest, WhoIgnoresTermIsKilled) {
  const WeftrunResult result = RunWeftrun(Job(3, {"ignore=15", "1:sleep=50", "1:exit=5", "hang"}));
  EXPECT_EQ(result.code(), 5);
  // Half a second and one more; the bound is generous.
  EXPECT_GE(result.seconds, 1.5);
}

TEST(ExitStatusTest, AStoppedRankIsKilled) {
  const WeftrunResult result =
      RunWeftrun(Job(2, {"ignore=15", "0:kill=19", "1:sleep=50", "1:exit=5"}));
  EXPECT_EQ(result.code(), 5);
}

TEST(ExitStatusTest, AJobThatIsTooLate) {
  WeftrunResult result =
      RunWeftrun({"--timeout", "0.3", "-n", "3", TestRankPath(), "1:exit=0", "hang"});
  EXPECT_EQ(result.code(), 124);
  // On a slow machine rank 1 still runs too.
  EXPECT_THAT(
      LastLine(result.err),
      ContainsRegex("did not end within 0.3 s \\(--timeout\\): ranks 0, (1, )?2 on " + Host()));
  result = RunWeftrun({"--timeout", "0.3", "-n", "2", TestRankPath(), "ignore=15", "hang"});
  EXPECT_EQ(result.code(), 124);
  // It counts from the start: not all of these are even started by then.
  result = RunWeftrun({"--timeout", "0.05", "-n", "500", "sleep", "1000"});
  EXPECT_EQ(result.code(), 124);
  result = RunWeftrun({"--timeout", "60", "-n", "2", "true"});
  EXPECT_EQ(result.code(), 0);
}

TEST(ExitStatusTest, AProgramThatIsNotThere) {
  const WeftrunResult result = RunWeftrun({"-n", "4", "weft-no-such-program"});
  EXPECT_EQ(result.code(), 127);
  EXPECT_EQ(result.err,
            "weftrun: cannot run weft-no-such-program: there is no such program on the PATH (one "
            "in this directory is ./weft-no-such-program)\n");
  EXPECT_EQ(RunWeftrun({"-n", "2", "./no/such"}).code(), 127);
}

// A file of our own for the test, with `contents`.
std::string File(const std::string& name, const std::string& contents, mode_t mode) {
  const std::string path = std::string(getenv("TEST_TMPDIR")) + "/" + name;
  std::ofstream(path) << contents;
  chmod(path.c_str(), mode);
  return path;
}

TEST(ExitStatusTest, AProgramThatCannotRun) {
  const std::string plain = File("plain", "text", 0644);
  WeftrunResult result = RunWeftrun({"-n", "2", plain});
  EXPECT_EQ(result.code(), 126);
  EXPECT_EQ(result.err, "weftrun: cannot run " + plain + ": Permission denied\n");
  result = RunWeftrun({"-n", "2", "/"});
  EXPECT_EQ(result.code(), 126);
  const std::string script = File("script", "#!/no/such/interpreter\n", 0755);
  result = RunWeftrun({"-n", "2", script});
  EXPECT_EQ(result.code(), 127);
  EXPECT_THAT(result.err, HasSubstr("its interpreter or loader does not exist"));
}

TEST(ExitStatusTest, WeftrunsOwnErrors) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {},
           {"-n", "0", "true"},
           {"-n", "65536", "true"},
           {"-n", "x", "true"},
           {"-n", "2"},
           {"--no-such-flag", "-n", "2", "true"},
           {"-n", "2", "--wdir", "/no/such", "true"},
       }) {
    const WeftrunResult result = RunWeftrun(arguments);
    EXPECT_EQ(result.code(), 125);
    EXPECT_THAT(result.err, ContainsRegex("^weftrun: [^\n]* \\(see weftrun --help\\)\n$"));
    EXPECT_EQ(result.out, "");
  }
}

TEST(ExitStatusTest, ALimitOnOpenFilesIsNamed) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const std::string limited = "ulimit -n 100; exec \"$@\"";
  WeftrunProcess process({.arguments = Shell(1, limited + " # " + WeftrunPath())});
  EXPECT_EQ(process.Wait().code(), 0);
  // weftrun in a weftrun: the inner one has the limit.
  const WeftrunResult result =
      RunWeftrun({"-n", "1", "sh", "-c", limited, "sh", WeftrunPath(), "-n", "50", "true"});
  EXPECT_EQ(result.code(), 125);
  EXPECT_THAT(result.err, AllOf(HasSubstr("50 ranks need 264 open files"), HasSubstr("is 100"),
                                HasSubstr("raise it")));
}

TEST(ExitStatusTest, RanksKeepTheSoftLimitOnOpenFiles) {
  const WeftrunResult result =
      RunWeftrun({"-n", "1", "sh", "-c", "ulimit -Sn 77; exec \"$@\"", "sh", WeftrunPath(), "-n",
                  "1", TestRankPath(), "print-open-files"});
  EXPECT_EQ(result.code(), 0) << result.err;
  EXPECT_EQ(result.out, "open files 77\n");
}

TEST(ExitStatusTest, WhoEndsWithoutLeavingHasFailed) {
  const WeftrunResult result = RunWeftrun(Job(2, {"join", "fence", "1:exit=0", "hang"}));
  EXPECT_EQ(result.code(), 1);
  EXPECT_THAT(
      LastLine(result.err),
      ContainsRegex("rank 1 on .* ended without leaving the job \\(it exited with status 0\\)"));
}

TEST(ExitStatusTest, WhoEndsBeforeJoiningEndsTheJoinOfTheOthers) {
  const WeftrunResult result =
      RunWeftrun(Job(3, {"1:exit=0", "join", "share=1048576", "print=shared", "leave"}));
  EXPECT_EQ(result.code(), 1);
  EXPECT_THAT(result.out, HasSubstr("UNAVAILABLE"));
  EXPECT_THAT(result.out, HasSubstr("rank 1 ended without joining the job"));
  EXPECT_THAT(result.out, Not(HasSubstr("shared")));
}

TEST(ExitStatusTest, ADeathBeforeTheMemoryEndsTheJoinOfTheOthers) {
  const WeftrunResult result =
      RunWeftrun(Job(3, {"join", "1:kill=9", "share=1048576", "print=shared", "leave"}));
  EXPECT_EQ(result.code(), 137);
  EXPECT_THAT(result.out, HasSubstr("rank 1 was killed by signal 9 (Killed)"));
  EXPECT_THAT(result.out, Not(HasSubstr("shared")));
}

TEST(ExitStatusTest, ALeaveIsSeenByTheOthers) {
  const WeftrunResult result =
      RunWeftrun(Job(3, {"join", "share=1048576", "1:leave", "1:exit=0", "await-left=1", "leave"}));
  EXPECT_EQ(result.code(), 0) << result.out << result.err;
}

TEST(ExitStatusTest, AFailureAfterLeavingCounts) {
  const WeftrunResult result = RunWeftrun(Job(2, {"join", "leave", "1:exit=6"}));
  EXPECT_EQ(result.code(), 6);
}

TEST(ExitStatusTest, AnAbortHasItsCodeAndMessage) {
  WeftrunResult result =
      RunWeftrun(Job(3, {"join", "fence", "2:abort=42,no input", "2:exit=0", "hang"}));
  EXPECT_EQ(result.code(), 42);
  EXPECT_THAT(LastLine(result.err),
              ContainsRegex("^weftrun: rank 2 on .* aborted the job with status 42: no input\n$"));
  // A status that a process cannot have.
  result = RunWeftrun(Job(2, {"join", "fence", "1:abort=256", "hang"}));
  EXPECT_EQ(result.code(), 1);
  EXPECT_THAT(LastLine(result.err), HasSubstr("with status 256"));
}

TEST(ExitStatusTest, AWaiterHearsOfAnAbort) {
  const WeftrunResult result =
      RunWeftrun(Job(2, {"join", "fence", "1:abort=9,enough", "1:hang", "fence"}));
  EXPECT_EQ(result.code(), 9);
  EXPECT_THAT(result.out, HasSubstr("rank 1 aborted the job with status 9: enough"));
}

// Under a shell the guard sees the program itself, not only the shell.
TEST(ExitStatusTest, AProgramBelowAShellThatDiesIsSeenAtOnce) {
  const std::string program = TestRankPath();
  WeftrunResult result = RunWeftrun(Shell(2, "if [ $WEFT_RANK = 1 ]; then " + program +
                                                 " join fence kill=9; sleep 100; else exec " +
                                                 program + " join fence fence; fi"));
  EXPECT_EQ(result.code(), 1);
  EXPECT_THAT(result.out, HasSubstr("rank 1 ended without leaving the job"));
  EXPECT_LT(result.seconds, 30);
  // The shell's own status explains more.
  result = RunWeftrun(Shell(2, "if [ $WEFT_RANK = 1 ]; then " + program +
                                   " join fence kill=9; exit 77; else exec " + program +
                                   " join fence hang; fi"));
  EXPECT_EQ(result.code(), 77);
  EXPECT_THAT(result.err, HasSubstr("exited with status 77"));
}

TEST(ExitStatusTest, TheNamesOfAFewRanksAreEnough) {
  const WeftrunResult result = RunWeftrun({"--timeout", "0.5", "-n", "12", "sleep", "100"});
  EXPECT_EQ(result.code(), 124);
  EXPECT_THAT(result.err, HasSubstr("ranks 0, 1, 2, 3, 4, 5, 6, 7 and 4 more on"));
}

TEST(ExitStatusTest, HelpAndDryRun) {
  WeftrunResult result = RunWeftrun({"--help"});
  EXPECT_EQ(result.code(), 0);
  EXPECT_THAT(result.out, HasSubstr("usage: weftrun -n N"));
  result = RunWeftrun({"-n", "3", "--dry-run", "--stdin", "1", "--bind-to", "none", "--wdir", "/",
                       "-x", "A=b c", "echo", "it's"});
  EXPECT_EQ(result.code(), 0);
  EXPECT_EQ(result.out,
            "rank 0: cpus any, stdin empty, in /: A='b c' echo 'it'\\''s'\n"
            "rank 1: cpus any, stdin inherited, in /: A='b c' echo 'it'\\''s'\n"
            "rank 2: cpus any, stdin empty, in /: A='b c' echo 'it'\\''s'\n");
}

TEST(ExitStatusTest, VerboseTellsTheStory) {
  const WeftrunResult result =
      RunWeftrun({"-v", "-n", "2", TestRankPath(), "join", "fence", "leave"});
  EXPECT_EQ(result.code(), 0);
  EXPECT_THAT(result.err, ContainsRegex("weftrun: [0-9.]+ s: rank 1 is process [0-9]+\n"));
  EXPECT_THAT(result.err, ContainsRegex("rank 0 joined the job"));
  EXPECT_THAT(result.err, ContainsRegex("rank 1 left the job"));
  EXPECT_THAT(result.err, EndsWith("exits with status 0\n"));
}

TEST(ExitStatusTest, DirectoryVariablesAndNumbers) {
  const WeftrunResult result = RunWeftrun({"-n", "1", "--wdir", "/", "-x", "WEFT_X=1 2", "sh", "-c",
                                           "echo $WEFT_RANK $WEFT_SIZE \"$WEFT_X\" `pwd`"});
  EXPECT_EQ(result.out, "0 1 1 2 /\n");
}

TEST(ExitStatusTest, WeftrunInsideAnotherLaunchersStep) {
  WeftrunProcess process({.arguments = Job(2, {"join", "0:print-job", "leave"}),
                          .environment = {"OMPI_COMM_WORLD_SIZE=4", "SLURM_STEP_ID=0",
                                          "SLURM_PROCID=1", "PMI_RANK=3"}});
  const WeftrunResult result = process.Wait();
  EXPECT_EQ(result.code(), 0) << result.out << result.err;
  EXPECT_EQ(result.out, "rank 0 of 2\n");
}

TEST(ExitStatusTest, AnotherLauncherIsAnError) {
  // The rank drops weftrun's variable, as if mpirun had started it.
  const WeftrunResult result = RunWeftrun(
      {"-n", "1", "env", "-u", "WEFT_BOOTSTRAP", "OMPI_COMM_WORLD_SIZE=4", TestRankPath(), "join"});
  EXPECT_EQ(result.code(), 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("Open MPI"),
                                HasSubstr("weftrun -n N program")));
}

TEST(ExitStatusTest, WithoutALauncherItIsALoneRank) {
  const WeftrunResult result = RunWeftrun({"-n", "1", "env", "-u", "WEFT_BOOTSTRAP", TestRankPath(),
                                           "join", "print-job", "print-source", "fence", "leave"});
  EXPECT_EQ(result.code(), 0);
  EXPECT_EQ(result.out, "rank 0 of 1\nlone\n");
}

TEST(ExitStatusTest, AClosedSocketIsExplained) {
  const WeftrunResult result = RunWeftrun(
      {"-n", "1", "bash", "-c", "fd=${WEFT_BOOTSTRAP#fd=}; fd=${fd%%,*}; exec {fd}>&-; exec \"$@\"",
       "bash", TestRankPath(), "join"});
  EXPECT_EQ(result.code(), 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("closed it")));
}

TEST(ExitStatusTest, ARankJoinsOnce) {
  const WeftrunResult result = RunWeftrun(Job(1, {"join", "rejoin", "leave"}));
  EXPECT_EQ(result.code(), 0);
  EXPECT_THAT(result.out, HasSubstr("has joined the job already"));
}

}  // namespace
}  // namespace weft
