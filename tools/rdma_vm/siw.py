"""The module of soft-iWARP, which Debian's kernel package lacks: built from Debian's source."""
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


def relocate(makefile, usr_src):
    """Debian's headers name each other by where they are installed."""
    with open(makefile, encoding="utf-8") as file:
        text = file.read()
    with open(makefile, "w", encoding="utf-8") as file:
        file.write(text.replace("/usr/src/", usr_src + "/"))


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
    relocate(os.path.join(headers, "Makefile"), usr_src)
    processes.output(["make", "-C", headers, "M=" + driver, "CONFIG_RDMA_SIW=m", "modules"])
    os.rename(os.path.join(driver, "siw.ko"), os.path.join(folder, "siw.ko"))
    shutil.rmtree(work)


@contextlib.contextmanager
def ready(store, kernel):
    """The path of the module for a kernel, in the cache `store`, where it stays meanwhile."""
    with store.entry("siw", cache.recipe(__file__), os.path.basename(kernel.folder),
                     lambda folder: make(folder, kernel.release)) as folder:
        yield os.path.join(folder, "siw.ko")
