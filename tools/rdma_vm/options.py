"""The command line of tools/rdma-vm."""
import argparse
import os

HELP = """\
usage: tools/rdma-vm [OPTION]... -- COMMAND ARGUMENT...

Boots Debian's stock kernel in QEMU (plain emulation: no KVM, no root) over this machine's own
root file system, and runs COMMAND there as root, on real verbs: two software RDMA devices on
the two ends of a virtual cable. Programs built here run unmodified, about ten times slower.

  --device D     rxe, soft-RoCE (default); siw, soft-iWARP (librdmacm only; no atomics, no
                 immediates); none
  --node K       be one of several guests on a LAN, K in 1..250, with one device instead of two
  --lan PORT     the LAN: the guests whose UDP port is the same (default 17701)
  --cpus N       (default 2)
  --mem MIB      (default 4096)
  --timeout S    the longest a guest lives, in seconds (default 600)
  --rw FOLDER    a folder that COMMAND may write to; can be repeated
  --counted      one CPU, whose clock counts instructions as nanoseconds: timing that repeats

COMMAND gets this environment and this working directory, and no input; its output comes out
here as it is written. It reads all of this machine's files, and may write to the working
directory and to each --rw FOLDER; what it writes elsewhere is lost.

  devices        $RDMA_DEVICES  $RDMA_IPS               packets
  two (default)  rxe0 rxe1      10.77.0.1 10.77.0.2     over the cable rn0 - rn1
  --node K       rxe0           10.77.1.K               over eth0

Exit status: COMMAND's; 124 timed out; 125 the guest did not boot, or died; 2 usage.
The guest ends with this command, and with the process that started it, however they end.
The first start fetches the kernel with apt, into $XDG_CACHE_HOME/weft/rdma-vm; without that
variable, into ~/.cache/weft/rdma-vm.

  tools/rdma-vm -- rdma link
  tools/rdma-vm --timeout 60 -- bazel-bin/tests/NAME --gtest_filter='Verbs*'
"""


class Parser(argparse.ArgumentParser):
    """One line for a mistake."""

    def error(self, message):
        self.exit(2, "rdma-vm: %s; see: tools/rdma-vm --help\n" % message)

    def format_help(self):
        return HELP


def between(low, high):
    def number(text):
        if not text.isdecimal() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError("%r is not a number in %d..%d" % (text, low, high))
        return int(text)
    return number


def folder(text):
    if not os.path.isdir(text):
        raise argparse.ArgumentTypeError("%r is not a folder" % text)
    return os.path.realpath(text)


def parse(arguments):
    """Options as attributes, among them `command`; exits with 2 on a mistake."""
    parser = Parser(allow_abbrev=False)
    parser.add_argument("--device", choices=("rxe", "siw", "none"), default="rxe")
    parser.add_argument("--node", type=between(1, 250))
    parser.add_argument("--lan", type=between(1024, 65535), default=17701)
    parser.add_argument("--cpus", type=between(1, 64))
    parser.add_argument("--mem", type=between(256, 1 << 20), default=4096)
    parser.add_argument("--timeout", type=between(1, 1 << 20), default=600)
    parser.add_argument("--rw", type=folder, action="append", default=[])
    parser.add_argument("--counted", action="store_true")
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:end])
    options.command = arguments[end + 1:]
    if not options.command:
        parser.error("no command after `--`")
    if options.counted and options.cpus not in (None, 1):
        parser.error("--counted has one CPU")
    options.cpus = options.cpus or (1 if options.counted else 2)
    return options
