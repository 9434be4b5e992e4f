#!/usr/bin/env python3
"""However tools/rdma-vm is killed, its guest ends, and no file is left."""
import os
import signal
import subprocess
import tempfile
import time
import unittest

TOOL = os.path.join(os.environ["TEST_SRCDIR"], "weft/tools/rdma-vm")
SOON = 2
BOOT = 240


def processes(text):
    """Ids of the processes that have `text` in their command line."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % name, "rb") as line:
                if text.encode() in line.read():
                    found.append(int(name))
        except OSError:
            continue  # It has just ended.
    return found


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


class KilledTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        # A folder of its own, which QEMU's command line names.
        self.folder = folder.name
        self.share = "path=" + self.folder

    def start(self, before=(), command=("sleep", "1000")):
        """The tool, whose guest has started, as a child of `before` if there is one."""
        tool = subprocess.Popen([*before, TOOL, "--device", "none", "--", *command],
                                cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env={**os.environ, "TMPDIR": self.folder})
        self.addCleanup(tool.communicate)
        self.addCleanup(tool.kill)
        self.assertTrue(wait_for(lambda: processes(self.share), BOOT))
        return tool

    def assert_gone(self):
        self.assertTrue(wait_for(lambda: not processes(self.share), SOON), "QEMU is left")
        self.assertEqual(os.listdir(self.folder), [])

    def test_each_signal(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number.name):
                tool = self.start()
                tool.send_signal(number)
                self.assertEqual(tool.wait(), -number)
                self.assert_gone()

    def test_while_the_command_runs(self):
        tool = self.start(command=["bash", "-c", "echo up; sleep 1000"])
        self.assertEqual(tool.stdout.readline(), "up\n")
        tool.kill()
        self.assert_gone()

    def test_its_shell(self):
        shell = self.start(before=["bash", "-c", '"$@"; true', "shell"])
        shell.kill()
        self.assert_gone()

    def test_its_reader(self):
        tool = self.start(command=["bash", "-c", "while echo more; do :; done"])
        self.assertEqual(tool.stdout.readline(), "more\n")
        tool.stdout.close()
        self.assertEqual(tool.wait(), -signal.SIGPIPE)
        tool.stdout = None
        self.assert_gone()

    def test_qemu_itself(self):
        tool = self.start()
        for process in processes(self.share):
            os.kill(process, signal.SIGKILL)
        _, errors = tool.communicate()
        self.assertEqual(tool.returncode, 125)
        self.assertIn("rdma-vm: the guest did not boot, or died", errors)


if __name__ == "__main__":
    unittest.main()
