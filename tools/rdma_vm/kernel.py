"""The guest's kernel: Debian's own package, unpacked into the cache, never installed."""
import contextlib
import glob
import lzma
import os
import re
import shutil

from rdma_vm import cache, processes
from rdma_vm.failure import Failure

# Modules of devices that no guest has: most of the package.
LEFT_OUT = ("sound", "drivers/gpu", "drivers/iio", "drivers/media", "drivers/scsi",
            "drivers/staging", "drivers/usb", "drivers/net/ethernet", "drivers/net/wireless")


class Kernel:
    """An unpacked kernel: its folder, the file QEMU boots, its modules and their version."""

    def __init__(self, folder):
        self.folder = folder
        self.image = os.path.join(folder, "vmlinux")
        self.modules = only(folder, "lib/modules/*")
        self.release = os.path.basename(self.modules)


def only(folder, pattern):
    """The one path that matches."""
    (path,) = glob.glob(os.path.join(glob.escape(folder), pattern))
    return path


def newest_known():
    """`<package>_<version>` of the kernel that apt would install; None when it knows none."""
    try:
        text = processes.output(["apt-cache", "show", "--no-all-versions", "linux-image-amd64"])
    except Failure:
        return None
    found = re.search(r"^Depends: (linux-image-\S+) \(= (\S+)\)", text, re.MULTILINE)
    return found and "_".join(found.groups())


def bare(image):
    """The ELF kernel inside a compressed one: unpacking takes the guest seconds."""
    start = image.find(b"\xfd7zXZ\0")
    return lzma.LZMADecompressor().decompress(image[start:]) if start >= 0 else image


def make(folder, version):
    cache.say("fetching %s, once" % version)
    processes.download([version.replace("_", "=")], folder)
    tar = os.path.join(folder, "tar")
    with open(tar, "wb") as out:
        processes.output(["dpkg-deb", "--fsys-tarfile", only(folder, "*.deb")], stdout=out)
    processes.output(["tar", "-xf", tar, "-C", folder, "--no-same-owner",
                      *("--exclude=./lib/modules/*/kernel/" + name for name in LEFT_OUT)])
    with open(only(folder, "boot/vmlinuz-*"), "rb") as packed, \
            open(os.path.join(folder, "vmlinux"), "wb") as out:
        out.write(bare(packed.read()))
    processes.output(["depmod", "-b", folder, Kernel(folder).release])
    os.remove(tar)
    os.remove(only(folder, "*.deb"))
    for name in ("boot", "usr"):
        shutil.rmtree(os.path.join(folder, name))


@contextlib.contextmanager
def ready(store):
    """A Kernel in the cache `store`, where it stays meanwhile."""
    stamp = cache.recipe(__file__)
    version = newest_known() or store.newest("kernel", stamp)
    if version is None:
        raise Failure("apt knows no linux-image-amd64; as root, run: apt-get update")
    with store.entry("kernel", stamp, version, lambda folder: make(folder, version)) as folder:
        yield Kernel(folder)
