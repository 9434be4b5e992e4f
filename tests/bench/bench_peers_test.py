#!/usr/bin/env python3
"""The parts of tools/bench verbs --peers that need neither a guest nor the peers."""
import os
import subprocess
import sys
import tempfile
import time
import unittest

TOOLS = os.path.join(os.environ["TEST_SRCDIR"], "weft/tools")
sys.dont_write_bytecode = True
sys.path.insert(0, TOOLS)

import bench_peers
import bench_verbs
from bench_figures import BenchError, line, rounded


def run(*command):
    """(exit status, what it printed, seconds that it took)."""
    start = time.monotonic()
    done = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE)
    return done.returncode, done.stdout, time.monotonic() - start


class Limit(unittest.TestCase):
    def limited(self, seconds, command):
        return run(os.path.join(TOOLS, "bench_limited"), str(seconds), "bash", "-c", command)

    def test_leaves_the_exit_status(self):
        self.assertEqual(self.limited(60, "echo said; exit 7")[:2], (7, "said\n"))
        self.assertEqual(self.limited(60, "exit 0")[0], 0)

    def test_stops_what_is_not_over(self):
        status, said, took = self.limited(2, "echo said; exec sleep 600")
        self.assertEqual((status, said), (bench_peers.STOPPED, "said\n"))
        self.assertLess(took, 60)

    def test_stops_what_does_not_want_to(self):
        status, _, took = self.limited(1, "trap '' TERM; while :; do :; done")
        self.assertEqual(status, bench_peers.STOPPED)
        self.assertLess(took, 60)


class Peers(unittest.TestCase):
    def test_that_fail_are_not_run_again_and_harm_nobody(self):
        text = bench_peers.PRELUDE + bench_verbs.script(
            {"weft": "echo op=put8 ns=10", "good": "peer good echo op=put8 ns=20",
             "bad": "peer bad bash -c 'echo op=put8 ns=30; echo no luck >&2; exit 3'"}, 3)
        status, said, _ = run("bash", "-c", text)
        self.assertEqual(status, 0)
        self.assertEqual(said.count("no luck"), 1)
        self.assertEqual((said.count("ns=10"), said.count("ns=20")), (3, 3))
        self.assertEqual(bench_verbs.scores(said), {"weft": {"put8": 10}, "good": {"put8": 20},
                                                    "bad": {"put8": 30}})
        self.assertEqual(bench_peers.failures(said),
                         ["bad failed with exit status 3 and said: no luck"])

    def test_that_end_in_the_middle_of_a_line_spoil_no_other(self):
        text = bench_peers.PRELUDE + bench_verbs.script(
            {"ucx": "peer ucx bash -c 'echo op=fadd; printf op=put8; exit 1'",
             "weft": "echo op=put8 ns=10"}, 1)
        said = run("bash", "-c", text)[1]
        self.assertEqual(bench_verbs.scores(said), {"ucx": {}, "weft": {"put8": 10}})
        self.assertEqual(bench_peers.failures(said),
                         ["ucx failed with exit status 1 and said: op=fadd op=put8"])

    def test_that_hang_are_told_of(self):
        said = "side=raw\nwords\nside=ucx\n-----\nfailed=ucx status=%d\n" % bench_peers.STOPPED
        self.assertEqual(bench_peers.failures(said), ["ucx was stopped after 120 s"])

    def test_are_limited_and_take_the_devices(self):
        for peer, command in bench_peers.commands(lambda name: "/bin/" + name).items():
            words = command.split()
            self.assertEqual(words[:2], ["peer", peer])
            self.assertEqual(words[2:4], [os.path.join(TOOLS, "bench_limited"), "120"])
            self.assertIn("/bin/bench/verbs/peers/" + bench_peers.PROGRAMS[peer], words)
            self.assertIn("--devices=", command)

    def test_need_packages(self):
        with tempfile.TemporaryDirectory() as root:
            with self.assertRaises(BenchError) as caught:
                bench_peers.require_packages(root)
            self.assertIn("apt-get install libucx-dev libopenmpi-dev openmpi-bin",
                          str(caught.exception))
            for file in ("usr/include/ucp/api/ucp.h", "usr/bin/oshrun",
                         "usr/lib/x86_64-linux-gnu/openmpi/include/shmem.h"):
                os.makedirs(os.path.dirname(os.path.join(root, file)), exist_ok=True)
                with open(os.path.join(root, file), "w", encoding="utf-8"):
                    pass
            bench_peers.require_packages(root)


class Figures(unittest.TestCase):
    def lines(self, operation, best, counted):
        return [line(rounded(figure))
                for figure in bench_peers.figures(operation, best, counted)]

    def test_of_a_time_are_below_one_where_weft_is_ahead(self):
        best = {"weft": {"put8": 20000}, "ucx": {"put8": 25000}, "oshmem": {"put8": 16000}}
        self.assertEqual(self.lines("put8", best, True), [
            "figure=verbs_put8_beside_ucx value=20000 unit=instructions reference=ucx ratio=0.8 "
            "reference_value=25000 difference=-5000",
            "figure=verbs_put8_beside_oshmem value=20000 unit=instructions reference=oshmem "
            "ratio=1.25 reference_value=16000 difference=4000"])

    def test_of_a_rate_are_above_one_where_weft_is_ahead(self):
        best = {"weft": {"put_bw_64k": 65536}, "open_mpi": {"put_bw_64k": 131072}}
        self.assertEqual(self.lines("put_bw_64k", best, False), [
            "figure=verbs_put_bw_64k_beside_open_mpi value=1 unit=GB/s reference=open_mpi "
            "ratio=2 reference_value=0.5 difference=-65540"])

    def test_are_those_that_were_measured(self):
        self.assertEqual(self.lines("cas", {"weft": {"cas": 1}, "ucx": {"fadd": 1}}, True), [])
        # No peer has such an operation.
        self.assertEqual(self.lines("notify8", {"weft": {"notify8": 1}, "ucx": {}}, True), [])


if __name__ == "__main__":
    unittest.main()
