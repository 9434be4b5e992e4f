"""The user's cache of what takes long to make: folders <kind>_<recipe>_<version>.

A recipe stands for the code that makes the folder, so what older code made is not used. A
folder appears when it is complete, by a rename. Whoever adds or removes folders holds the lock
on the cache, and whoever uses one a shared lock on it. All locks are on open folders: they end
with their process, and a cache that has all may be read-only.
"""
import contextlib
import fcntl
import hashlib
import os
import shutil
import sys
import tempfile

from rdma_vm.failure import Failure

UNFINISHED = "unfinished_"


def say(text):
    print("rdma-vm: " + text, file=sys.stderr, flush=True)


def recipe(source):
    """A stamp of the source file."""
    with open(source, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:12]


@contextlib.contextmanager
def locked(folder, how):
    """Holds a lock; BlockingIOError when `how` says not to wait."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)


class Cache:
    def __init__(self):
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        self.folder = os.path.join(os.path.realpath(base), "weft", "rdma-vm")
        try:
            os.makedirs(self.folder, exist_ok=True)
        except OSError as error:
            raise Failure("no cache folder: %s; set XDG_CACHE_HOME" % error) from None

    def newest(self, kind, stamp):
        """The version that was made last; None without any."""
        start = "%s_%s_" % (kind, stamp)
        paths = [entry for entry in os.scandir(self.folder) if entry.name.startswith(start)]
        last = max(paths, key=lambda entry: entry.stat().st_mtime, default=None)
        return last and last.name[len(start):]

    @contextlib.contextmanager
    def entry(self, kind, stamp, version, make):
        """The path of a folder, filled by make(path) if need be; it stays meanwhile."""
        path = os.path.join(self.folder, "_".join((kind, stamp, version)))
        with contextlib.ExitStack() as held:
            while True:
                with self._locked(fcntl.LOCK_SH):
                    if os.path.exists(path):
                        held.enter_context(locked(path, fcntl.LOCK_SH))
                        break
                with self._locked(fcntl.LOCK_EX):
                    if not os.path.exists(path):
                        self._remove(UNFINISHED)
                        self._make(path, make)
                        self._remove(kind, but=path)
            yield path

    @contextlib.contextmanager
    def _locked(self, how):
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(locked(self.folder, how | fcntl.LOCK_NB))
            except BlockingIOError:
                say("waiting for another start that fills %s" % self.folder)
                held.enter_context(locked(self.folder, how))
            yield

    def _make(self, path, make):
        work = tempfile.mkdtemp(dir=self.folder, prefix=UNFINISHED)
        try:
            os.chmod(work, 0o755)
            make(work)
            os.rename(work, path)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _remove(self, prefix, but=None):
        """Removes what is not in use."""
        for entry in os.scandir(self.folder):
            if entry.name.startswith(prefix) and entry.path != but:
                with contextlib.suppress(BlockingIOError), \
                        locked(entry.path, fcntl.LOCK_EX | fcntl.LOCK_NB):
                    shutil.rmtree(entry.path, ignore_errors=True)
