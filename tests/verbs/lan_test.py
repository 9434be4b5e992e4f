#!/usr/bin/env python3
"""Two hosts, each a guest of tools/rdma-vm on one LAN, with a rank each; one host is lost."""
import os
import socket
import subprocess
import tempfile
import unittest

SOURCES = os.path.join(os.environ["TEST_SRCDIR"], "weft")
TOOL = os.path.join(SOURCES, "tools/rdma-vm")
PROGRAM = os.path.join(SOURCES, "tests/verbs/lan_program")


class LanTest(unittest.TestCase):
    def start(self, rank, lan):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return subprocess.Popen(
            [TOOL, "--node", str(rank + 1), "--lan", lan, "--", PROGRAM, str(rank), "10.77.1.1",
             "7000"], cwd=folder.name, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_a_host_that_is_lost(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            lan = str(free.getsockname()[1])
        with self.start(0, lan) as survivor, self.start(1, lan) as victim:
            self.assertEqual(survivor.stdout.readline(), "runs\n")
            self.assertEqual(victim.stdout.readline(), "runs\n")
            victim.kill()  # Its guest goes with it.
            victim.communicate()
            out, errors = survivor.communicate()
        self.assertEqual(survivor.returncode, 0, out + errors)
        print(out, end="")
        # The operation's own deadline, which would say so, is 60 s.
        self.assertRegex(out, r"^[0-9.]+ s: UNAVAILABLE: .* rank 1 cannot be reached any more")


if __name__ == "__main__":
    unittest.main()
