// One job of survivor_program whose ranks are made to fail, and what must be so whatever fails:
// those that survive go on, all with the same dead in each epoch, and end well. Used by one
// thread.
#ifndef WEFT_TESTS_CAMPAIGN_TRIAL_H_
#define WEFT_TESTS_CAMPAIGN_TRIAL_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/tools/weftrun/weftrun_process.h"
#include "weft/rank.h"

namespace weft {

class Trial {
 public:
  using Ranks = std::set<Rank>;

  // Starts the program on `ranks` ranks with these flags of weftrun.
  Trial(Rank ranks, std::vector<std::string> flags);

  // Until all ranks work. False: they do not within a minute.
  bool AwaitUp();
  pid_t ProcessOf(Rank rank) const { return processes_.at(rank); }
  // Sends a rank's process a signal; SIGKILL: it is expected to be among the dead from here on.
  void Signal(Rank rank, int signal);
  // Is expected among the dead for another reason.
  void Expect(Rank rank) { dead_.insert(rank); }

  // Until every survivor has been told that those are dead who are expected to be, and has gone
  // on. False: not within a minute.
  bool AwaitSurvivors() const;
  // Has the survivors end, and checks all that is said above.
  void Finish();
  // Likewise, where it is not known who dies.
  void FinishWhateverDied();

  WeftrunProcess& process() { return process_; }
  const Ranks& dead() const { return dead_; }

 private:
  // "WORD EPOCH RANK: RANKS" lines, by epoch and rank.
  std::map<uint32_t, std::map<Rank, Ranks>> LinesOf(const std::string& word) const;
  Ranks Survivors() const;
  void Check(const WeftrunResult& result);

  const Rank size_;
  WeftrunProcess process_;
  std::map<Rank, pid_t> processes_;
  Ranks dead_;
};

}  // namespace weft
#endif  // WEFT_TESTS_CAMPAIGN_TRIAL_H_
