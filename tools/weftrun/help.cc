#include "tools/weftrun/options.h"

namespace weft {

const char kHelp[] = R"(weftrun: starts the ranks of a Weft job, on this machine or on several.

usage: weftrun -n N [flags] [--] program [arguments]

  -n, -np N            how many ranks: 1 to 65535, more than cpus is fine
  -x NAME[=VALUE]      set an environment variable for the ranks
  --wdir DIR           start the ranks in DIR
  --tag-output         put "[rank] " before each line that a rank writes
  --timeout SECONDS    end the job when it has not ended by then
  --on-failure end|notify
                       when a rank fails, end the job (the default); or tell the
                       others (weft::World::OnDeath), which go on
  --stdin RANK|none    who reads weftrun's standard input (default: rank 0);
                       the others read an empty one
  --bind-to cpu|none   bind each rank to one cpu, or none to any
                       (default: the cpus are dealt out evenly)
  --pretend-nodes K    for tests: the ranks believe that they run on K nodes, the
                       lower ranks on the first; WEFT_NODE says on which
  --host A,B:2,...     run on these hosts; A:K has room (slots) for K ranks, 1
                       unless said. Without -n as many ranks as there are slots;
                       with more, what is over is dealt out in turn
  --hostfile FILE      likewise, from lines "A" or "A slots=K"; # starts a comment
  -N, --ppn K          K ranks on each host
  --map-by slot|node   fill a host before the next (the default), or deal the
                       ranks out, one to each host in turn
  --agent CMD          how to run a command on a host, in place of ssh:
                       CMD HOST COMMAND, with the command as one argument
  --remote-weftrun FILE
                       where weftrun is on the other hosts; else it is looked for
                       where it is here, then on the PATH there
                       (or the variable WEFT_REMOTE_WEFTRUN)
  --interface NAME     for traffic between hosts: a network interface, or how its
                       address begins (sets WEFT_INTERFACE)
  -v                   say on standard error what happens, and when
  --dry-run            print what would be started, and start nothing
  --help               this

Flags end at the program's name or at --. Each rank finds its number in
WEFT_RANK and the number of ranks in WEFT_SIZE; a program on Weft calls
weft::World::Join instead. Standard output and error come through by whole
lines.

A signal INT, TERM, HUP or QUIT goes on to the ranks; what has not ended 5 s
later, or at a second one, is killed. USR1 and USR2 are passed on. When a rank
fails, the others have half a second to end, one more after a SIGTERM, and are
killed then. Nothing of a job outlives weftrun, children in the background
included. With --on-failure notify a rank that fails once all have joined, and
before it leaves, is only reported; a rank that aborts the job ends it all the
same.

On several hosts the program, its directory and weftrun itself are at the same
place on each. Ranks get the variables that -x names, and this shell's WEFT_*.
A host from which nothing is heard for 3 s is lost, and its ranks are dead: the
job ends. There the ranks are killed as soon as weftrun is not heard.

exit status:
  0          all ranks ended well
  1..255     that of the rank that failed first, which the last line names; with
             --on-failure notify only if no rank ended well
  128+N      that rank was killed by signal N, or weftrun was ended by it
             (141: whoever read standard output has gone)
  124        the job did not end within --timeout
  125        weftrun itself failed, or was misused
  126, 127   the program cannot be run, or was not found

examples:
  weftrun -n 4 ./program input.txt
  weftrun -n 2 --tag-output -x WEFT_HEAP_BYTES=1073741824 ./program
  weftrun --host node1:4,node2:4 ./program
  weftrun -n 8 --timeout 60 -- sh -c 'echo rank $WEFT_RANK of $WEFT_SIZE'
)";

}  // namespace weft
