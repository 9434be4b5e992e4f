"""Child processes that do not outlive this one, not even when it is killed."""
import ctypes
import os
import shutil
import signal
import subprocess

from rdma_vm.failure import Failure

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)
# Programs of the system's administrator are not on every user's path.
PATH = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"


def with_parent(parent):
    """Makes the kernel kill this process with `parent`, which has just forked it."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # It was faster.


def program(name):
    path = shutil.which(name, path=PATH)
    if path is None:
        raise Failure("%s is not installed; run: tools/setup" % name)
    return path


def start(command, **kwargs):
    parent = os.getpid()
    return subprocess.Popen([program(command[0])] + command[1:], stdin=subprocess.DEVNULL,
                            preexec_fn=lambda: with_parent(parent), **kwargs)


def output(command, stdout=subprocess.PIPE, **kwargs):
    """What the command prints. Its failure is ours, with its last line of errors."""
    with start(command, stdout=stdout, stderr=subprocess.PIPE, **kwargs) as child:
        out, errors = child.communicate()
    if child.returncode != 0:
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        raise Failure("`%s` failed: %s" % (" ".join(command), last))
    return out and out.decode()


def download(packages, folder):
    """Fetches Debian packages, without installing them."""
    try:
        output(["apt-get", "-q", "download", *packages], cwd=folder)
    except Failure as failure:
        raise Failure("no network, or old package lists (as root, run: apt-get update): %s" %
                      failure) from None


def watched_parent():
    """A descriptor that is readable when the process that started this one has ended."""
    try:
        return os.pidfd_open(os.getppid())
    except OSError:
        # It has ended before, or it is outside of this container.
        return os.pidfd_open(1)
