// The keeper: weftrun on a host other than the launcher's, started there by the
// agent. It stands above the guard of that host and does nothing else: carries
// frames between its standard streams and the guard's life-line, and the ranks'
// output. When it does not hear the launcher any more, in whatever way, it ends
// everything of the job on its host. It leads a session of its own, and is a
// subreaper.
#ifndef WEFT_TOOLS_WEFTRUN_KEEPER_H_
#define WEFT_TOOLS_WEFTRUN_KEEPER_H_

namespace weft {

// The flag that makes weftrun a keeper; its only argument.
inline constexpr char kKeeperFlag[] = "--keeper";

// The keeper's life; returns its exit status, which nobody needs.
int RunKeeper();

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_KEEPER_H_
