#!/usr/bin/env python3
"""tools/rdma-vm with real guests."""
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

SOURCES = os.path.join(os.environ["TEST_SRCDIR"], "weft")
TOOL = os.path.join(SOURCES, "tools/rdma-vm")
RUN_TESTS = os.path.join(SOURCES, "tools/rdma_vm/run_tests")
DEVICES = os.path.join(SOURCES, "tests/tools/rdma_vm/devices_program")


class GuestTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, *arguments, command, **environment):
        return subprocess.Popen([TOOL, *arguments, "--", *command], cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={**os.environ, **environment})

    def run_guest(self, *arguments, command, **environment):
        """(exit status, standard output, standard error)."""
        with self.start(*arguments, command=command, **environment) as tool:
            out, errors = tool.communicate()
        return tool.returncode, out, errors

    def test_rxe(self):
        """Two devices on the two ends of a cable, and all that a command may rely on."""
        status, out, errors = self.run_guest(command=["bash", "-c", r"""
            for device in $RDMA_DEVICES; do
              cat /sys/class/infiniband/$device/ports/1/{state,gid_attrs/ndevs/1,gids/1}
            done
            echo "$RDMA_IPS|$MINE|$PWD|$(id -u)|$(nproc)|$(grep -cE '\<(erms|fsrm)\>' /proc/cpuinfo)"
            [ -p /dev/stdout ] && echo through >/dev/stdout
            echo complaint >&2
            touch written
            touch /usr/lost
            sleep 1000 &
            exit 7
            """], MINE="two\nlines 'quoted'")
        self.assertEqual((status, errors), (7, "complaint\n"))
        self.assertEqual(out, (
            "4: ACTIVE\nrn0\n0000:0000:0000:0000:0000:ffff:0a4d:0001\n"
            "4: ACTIVE\nrn1\n0000:0000:0000:0000:0000:ffff:0a4d:0002\n"
            "10.77.0.1 10.77.0.2|two\nlines 'quoted'|%s|0|2|0\nthrough\n" % self.folder))
        self.assertEqual(os.listdir(self.folder), ["written"])
        self.assertFalse(os.path.exists("/usr/lost"))

    def test_siw(self):
        status, out, errors = self.run_guest("--device", "siw", command=["rdma", "link"])
        self.assertEqual(status, 0, errors)
        self.assertRegex(out, r"link siw0/1 state ACTIVE .* netdev rn0.*\n"
                              r"link siw1/1 state ACTIVE .* netdev rn1")

    def test_counted_mode_without_devices(self):
        """A command that a signal ends."""
        status, out, errors = self.run_guest("--device", "none", "--counted", command=[
            "bash", "-c", "nproc; ls -A /sys/class/infiniband 2>&-; "
            "cat /sys/devices/system/clocksource/clocksource0/current_clocksource; kill -ABRT $$"])
        self.assertEqual((status, out), (128 + signal.SIGABRT, "1\ntsc\n"), errors)

    def test_lan(self):
        """Two guests: one listens, the other connects until it is heard."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            lan = ("--lan", str(free.getsockname()[1]))
        listen = ("import socket; peer = socket.create_server(('10.77.1.1', 7000)).accept();"
                  "print(peer[1][0], peer[0].recv(99).decode())")
        connect = """
            until echo "$(hostname) $RDMA_DEVICES" >/dev/tcp/10.77.1.1/7000; do sleep 0.2; done"""
        with self.start("--node", "1", *lan, command=["python3", "-c", listen]) as one, \
                self.start("--node", "2", *lan, command=["bash", "-c", connect]) as two:
            out, errors = one.communicate()
            two.communicate()
        self.assertEqual((one.returncode, two.returncode), (0, 0), errors)
        self.assertEqual(out, "10.77.1.2 rdma-vm-2 rxe0\n\n")

    def test_time_limit(self):
        start = time.monotonic()
        status, _, errors = self.run_guest("--timeout", "3", "--device", "none",
                                           command=["sleep", "1000"])
        self.assertEqual((status, errors), (124, "rdma-vm: timed out after 3 s\n"))
        self.assertLess(time.monotonic() - start, 60)

    def test_a_guest_that_dies(self):
        status, _, errors = self.run_guest("--device", "none", command=[
            "bash", "-c", "echo c >/proc/sysrq-trigger"])
        self.assertEqual(status, 125)
        self.assertIn("sysrq triggered crash", errors)
        self.assertIn("rdma-vm: the guest did not boot, or died", errors)

    def test_a_command_that_is_missing(self):
        status, _, errors = self.run_guest("--device", "none", command=["no-such-command"])
        self.assertEqual(status, 127)
        self.assertIn("no-such-command", errors)

    def test_run_tests_in_one_boot(self):
        extra = os.path.join(self.folder, "results")
        os.mkdir(extra)
        manifest = os.path.join(self.folder, "manifest")
        with open(manifest, "w", encoding="utf-8") as out:
            out.write("devices\t%s\nfails\tfalse\n" % DEVICES)
        status, out, errors = self.run_guest("--rw", extra, command=[RUN_TESTS, manifest, extra])
        self.assertEqual((status, out.splitlines()[-1]), (1, "1 passed, 1 failed"), out + errors)
        with open(os.path.join(extra, "devices.xml"), encoding="utf-8") as report:
            self.assertIn("TwoAreActive", report.read())


class MistakesTest(unittest.TestCase):
    def fails(self, status, text, *arguments, **environment):
        done = subprocess.run([sys.executable, TOOL, *arguments], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, **environment})
        self.assertEqual((done.returncode, done.stdout), (status, ""))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(text, done.stderr)

    def test_usage(self):
        self.fails(2, "no command")
        self.fails(2, "no command", "--cpus", "1", "--")
        self.fails(2, "--nonsense", "--nonsense", "--", "true")
        self.fails(2, "'mlx5'", "--device", "mlx5", "--", "true")
        self.fails(2, "'0' is not a number in 1..250", "--node", "0", "--", "true")
        self.fails(2, "'/missing' is not a folder", "--rw", "/missing", "--", "true")
        self.fails(2, "--counted has one CPU", "--counted", "--cpus", "2", "--", "true")

    def test_help(self):
        done = subprocess.run([TOOL, "--help"], stdout=subprocess.PIPE, text=True, check=True)
        self.assertIn("usage: tools/rdma-vm", done.stdout)

    def test_what_is_not_installed(self):
        self.fails(125, "qemu-system-x86_64 is not installed; run: tools/setup", "--", "true",
                   PATH="/usr/sbin")


if __name__ == "__main__":
    unittest.main()
