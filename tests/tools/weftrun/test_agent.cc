// A remote shell for tests: what ssh and sshd are, without keys.
//
//   test_agent serve READY     on a host: runs the commands that come in, below itself;
//                              writes to descriptor READY when it listens
//   test_agent HOST COMMAND    the agent: runs the command on that host, its standard
//                              input and output over the connection
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace {

constexpr uint16_t kPort = 514;

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "test_agent: %s: %s\n", what, strerror(errno));
  std::exit(255);
}

void WriteAll(int fd, const char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t written = write(fd, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) std::exit(255);
    bytes += written;
    count -= static_cast<size_t>(written);
  }
}

// The mark of the test's run, then the command, each with a 0 behind.
std::string ReadText(int fd) {
  std::string text;
  char c;
  while (read(fd, &c, 1) == 1 && c != '\0') text += c;
  return text;
}

[[noreturn]] void RunCommand(int connection) {
  setsid();
  const std::string mark = ReadText(connection);
  const std::string command = ReadText(connection);
  setenv("WEFT_TEST_RUN", mark.c_str(), 1);
  dup2(connection, 0);
  dup2(connection, 1);
  if (connection > 2) close(connection);
  signal(SIGCHLD, SIG_DFL);
  execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  _exit(127);
}

int Serve(int ready) {
  signal(SIGCHLD, SIG_IGN);
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in any = {};
  any.sin_family = AF_INET;
  any.sin_port = htons(kPort);
  if (bind(listener, reinterpret_cast<sockaddr*>(&any), sizeof(any)) != 0) Die("bind");
  if (listen(listener, 16) != 0) Die("listen");
  WriteAll(ready, "r", 1);
  close(ready);
  while (true) {
    const int connection = accept(listener, nullptr, nullptr);
    if (connection < 0) continue;
    if (fork() == 0) {
      close(listener);
      RunCommand(connection);
    }
    close(connection);
  }
}

int Connect(const char* host) {
  addrinfo hints = {};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host, nullptr, &hints, &found); error != 0) {
    std::fprintf(stderr, "test_agent: %s: %s\n", host, gai_strerror(error));
    std::exit(255);
  }
  reinterpret_cast<sockaddr_in*>(found->ai_addr)->sin_port = htons(kPort);
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(connection, found->ai_addr, found->ai_addrlen) != 0) Die("connect");
  return connection;
}

int Run(const char* host, const char* command) {
  const int connection = Connect(host);
  const char* mark = getenv("WEFT_TEST_RUN");
  if (mark == nullptr) mark = "";
  WriteAll(connection, mark, strlen(mark) + 1);
  WriteAll(connection, command, strlen(command) + 1);
  pollfd ends[2] = {{.fd = 0, .events = POLLIN, .revents = 0},
                    {.fd = connection, .events = POLLIN, .revents = 0}};
  char buffer[65536];
  while (poll(ends, 2, -1) > 0 || errno == EINTR) {
    if (ends[0].revents != 0) {
      const ssize_t length = read(0, buffer, sizeof(buffer));
      if (length <= 0) {
        shutdown(connection, SHUT_WR);
        ends[0].fd = -1;
      } else {
        WriteAll(connection, buffer, static_cast<size_t>(length));
      }
    }
    if (ends[1].revents != 0) {
      const ssize_t length = read(connection, buffer, sizeof(buffer));
      if (length <= 0) return length < 0 ? 255 : 0;
      WriteAll(1, buffer, static_cast<size_t>(length));
    }
  }
  return 255;
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  if (argc != 3) return 255;
  if (std::string(argv[1]) == "serve") return Serve(atoi(argv[2]));
  return Run(argv[1], argv[2]);
}
