// The two processes of a probe that no launcher starts.
#ifndef WEFT_BENCH_VERBS_PROCESS_PAIR_H_
#define WEFT_BENCH_VERBS_PROCESS_PAIR_H_

#include <sys/types.h>

namespace weft::bench {

// Ends the process with `what` and errno unless `holds`.
void Require(bool holds, const char* what);

class ProcessPair {
 public:
  // Both return from it. The second ends when the first does.
  ProcessPair();

  // 0 is the first.
  int me() const { return child_ == 0; }
  // A connection of the two.
  int socket() const { return sockets_[me()]; }

  // In the first: closes its side and waits for the second, which must end well.
  void AwaitSecond() const;

 private:
  int sockets_[2];
  pid_t child_;
};

}  // namespace weft::bench
#endif  // WEFT_BENCH_VERBS_PROCESS_PAIR_H_
