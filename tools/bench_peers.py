"""tools/bench verbs --peers: Weft beside other libraries, in the same run as beside bare verbs.

They are more sides of bench_verbs. A peer that fails, or hangs, is not run again, and Weft's
own figures are none the worse.
"""
import glob
import os
import re
import shlex

import bench_verbs
from bench_figures import BenchError

# Of Debian, and a file that tells whether it is installed.
PACKAGES = {"libucx-dev": "usr/include/ucp/api/ucp.h",
            "libopenmpi-dev": "usr/lib/*/openmpi/include/shmem.h",
            "openmpi-bin": "usr/bin/oshrun"}

OPERATIONS = ("put8", "get8", "fadd", "cas", "put8_rate", "put_bw_64k", "put_bw_1m",
              "get_bw_64k", "get_bw_1m")

# bench/README.md says why these.
UCX = "env UCX_TLS=rc,self UCX_UD_VERBS_ETH_DGID_CHECK=n"
OPEN_MPI = ("--allow-run-as-root --bind-to none --oversubscribe -n 2 --mca pml ucx "
            "--mca osc ucx --mca spml ucx --mca opal_common_ucx_progress_iterations 10")
LAUNCHERS = {"ucx": "", "open_mpi": "mpirun " + OPEN_MPI, "oshmem": "oshrun " + OPEN_MPI}
PROGRAMS = {"ucx": "ucx_probe", "open_mpi": "mpi_probe", "oshmem": "shmem_probe"}

# What a run takes is 10 to 25 s of it.
LIMIT_SECONDS = 120
STOPPED = 124

# For bash. peer NAME COMMAND...: runs it unless it failed before, and tells when it fails.
PRELUDE = """\
declare -A failed
peer() {
  [[ -z ${failed[$1]-} ]] || return 0
  "${@:2}" 2>&1 || failed[$1]=$?
  [[ -z ${failed[$1]-} ]] || printf '\\nfailed=%s status=%s\\n' "$1" "${failed[$1]}"
}
"""
FAILED = re.compile(r"failed=(\w+) status=(\d+)")


def require_packages(root="/"):
    missing = [package for package, file in PACKAGES.items()
               if not glob.glob(os.path.join(root, file))]
    if missing:
        raise BenchError("--peers needs packages that are not installed; as root, run: "
                         "apt-get install " + " ".join(missing))


def commands(path):
    """{peer: command} after PRELUDE, of the programs, which path(NAME) finds."""
    limited = shlex.quote(os.path.join(os.path.dirname(__file__), "bench_limited"))
    return {peer: " ".join(["peer", peer, limited, str(LIMIT_SECONDS), UCX, LAUNCHERS[peer],
                            path("bench/verbs/peers/" + program),
                            '--devices="${RDMA_DEVICES/ /,}"'])
            for peer, program in PROGRAMS.items()}


def failures(text):
    """A line about each peer that failed, from what the script printed."""
    lines, words = [], []
    for line in text.splitlines():
        if bench_verbs.SIDE.fullmatch(line):
            words = []
        elif match := FAILED.fullmatch(line):
            peer, status = match[1], int(match[2])
            what = ("was stopped after %d s" % LIMIT_SECONDS if status == STOPPED
                    else "failed with exit status %d" % status)
            lines.append(" ".join([peer, what, *(["and said:", *words[:3]] if words else [])]))
        elif line.strip(" -") and not bench_verbs.OPERATION.fullmatch(line):
            words.append(line.strip())
    return lines


def figures(operation, best, counted):
    """Of one operation, from the scores: one a peer that measured it."""
    return [{"figure": "verbs_%s_beside_%s" % (operation, peer), "reference": peer,
             **bench_verbs.beside(operation, best[bench_verbs.WEFT][operation], operation,
                                  best[peer][operation], counted)}
            for peer in PROGRAMS if operation in OPERATIONS and operation in best.get(peer, {})]
