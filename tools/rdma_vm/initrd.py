"""The guest's first file system, in memory: what reaches this machine's root, and what to run.

A run needs no other file, so nothing is left when it is killed.
"""
import os

from rdma_vm import processes

# With these the guest reaches this machine's files, and writes to us.
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_console")


def archive(files):
    """A cpio archive (format newc) of {path: (mode, content)}; folders come before their files."""
    out = bytearray()

    def pad():
        out.extend(bytes(-len(out) % 4))

    def add(number, path, mode, content):
        name = path.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
        out.extend(b"070701" + b"".join(b"%08x" % field for field in fields) + name)
        pad()
        out.extend(content)
        pad()

    for number, (path, (mode, content)) in enumerate(files.items(), 1):
        add(number, path, mode, content)
    add(0, "TRAILER!!!", 0, b"")
    return bytes(out)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def modules(kernel):
    """Files of MODULES and what they depend on, in the order of loading."""
    found = {}
    for name in MODULES:
        steps = processes.output(["modprobe", "-d", kernel.folder, "-S", kernel.release,
                                  "--show-depends", name])
        found.update((line.split()[1], None) for line in steps.splitlines()
                     if line.startswith("insmod "))
    return list(found)


def build(kernel, run_files):
    """The archive, as the descriptor of a file in memory; /run has `run_files`, by name."""
    folder, script, plain = 0o40755, 0o100755, 0o100644
    files = {name: (folder, b"") for name in ("bin", "modules", "run")}
    files["bin/busybox"] = script, read(processes.program("busybox"))
    for number, path in enumerate(modules(kernel), 10):
        files["modules/%d.ko" % number] = plain, read(path)
    files["init"] = script, read(os.path.join(os.path.dirname(__file__), "init.sh"))
    files.update(("run/" + name, (plain, content)) for name, content in run_files.items())
    memory = os.memfd_create("rdma-vm-initrd")
    with open(memory, "wb", closefd=False) as out:
        out.write(archive(files))
    return memory
