"""The module of soft-iWARP, which Debian's kernel package lacks: built from Debian's source,
with one fault of it mended."""
import contextlib
import glob
import os
import re
import shutil

from rdma_vm import cache, processes
from rdma_vm.kernel import only

DRIVER = "drivers/infiniband/sw/siw"


def packages(release):
    """Of the kernel 6.1.0-57-amd64: its headers, what builds with them, and the source."""
    series = ".".join(release.split(".")[:2])
    return ["linux-headers-" + release, "linux-headers-" + re.sub("-amd64$", "-common", release),
            "linux-kbuild-" + series, "linux-source-" + series]


def edit(path, change):
    """Replaces a file's text by change(text)."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(change(text))


def mended(source):
    """siw_verbs.c without a race that ends connections at random.

    Whoever posts says so in the queue pair (in_syscall) until it is back, though a thread of
    the kernel may serve that queue pair again by then. To answer a peer's short READ it copies
    from the user's address, as if it were the poster: in the address space of whatever process
    ran there last. That fails (EFAULT), and ends the connection, or sends another process's
    bytes. When nobody says so, all is copied from the registered pages.
    """
    return re.sub(r"^.*tx_ctx\.in_syscall = [01];\n", "", source, flags=re.MULTILINE)


def make(folder, release):
    for name in ("gcc-12", "make"):
        processes.program(name)
    cache.say("building siw for %s, once" % release)
    work = os.path.join(folder, "work")
    os.mkdir(work)
    processes.download(packages(release), work)
    for archive in glob.glob(os.path.join(glob.escape(work), "*.deb")):
        processes.output(["dpkg-deb", "-x", archive, work])
    usr_src = os.path.join(work, "usr/src")
    source = only(usr_src, "linux-source-*.tar.xz")
    driver = os.path.join(os.path.basename(source)[:-len(".tar.xz")], DRIVER)
    processes.output(["tar", "-xJf", source, "-C", work, driver])
    driver = os.path.join(work, driver)
    headers = os.path.join(usr_src, "linux-headers-" + release)
    # Debian's headers name each other by where they are installed.
    edit(os.path.join(headers, "Makefile"), lambda text: text.replace("/usr/src/", usr_src + "/"))
    edit(os.path.join(driver, "siw_verbs.c"), mended)
    processes.output(["make", "-C", headers, "M=" + driver, "CONFIG_RDMA_SIW=m", "modules"])
    os.rename(os.path.join(driver, "siw.ko"), os.path.join(folder, "siw.ko"))
    shutil.rmtree(work)


@contextlib.contextmanager
def ready(store, kernel):
    """The path of the module for a kernel, in the cache `store`, where it stays meanwhile."""
    with store.entry("siw", cache.recipe(__file__), os.path.basename(kernel.folder),
                     lambda folder: make(folder, kernel.release)) as folder:
        yield os.path.join(folder, "siw.ko")
