// Which cpus each rank runs on. Pure functions, but for AllowedCpus.
#ifndef WEFT_TOOLS_WEFTRUN_BINDING_H_
#define WEFT_TOOLS_WEFTRUN_BINDING_H_

#include <string>
#include <vector>

#include "tools/weftrun/options.h"
#include "weft/rank.h"

namespace weft {

// The cpus that this process may use, ascending.
std::vector<int> AllowedCpus();

// The cpus of `rank`, out of `allowed`; empty: not bound. Neighbours are put
// together: with fewer ranks than cpus each has an equal share of its own, else
// each has one cpu, and every cpu equally many ranks (give or take one).
std::vector<int> CpusOf(Rank rank, Rank ranks, Options::Binding binding,
                        const std::vector<int>& allowed);

// "0-3,8", or "any" when empty.
std::string CpuList(const std::vector<int>& cpus);

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_BINDING_H_
