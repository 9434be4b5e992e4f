#!/usr/bin/env python3
"""The parts of tools/bench verbs that need no guest: what it runs, reads and computes."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["TEST_SRCDIR"], "weft/tools"))

import bench_verbs
from bench_figures import BenchError, judged, line

PUT8 = {"raw": 20000.0, "weft": 20500.0, "same": 20100.0, "more": 21000.0}


def said(**ns_of_side):
    """What the script prints when each side measures one operation."""
    return "".join("side=%s\nop=put8 ns=%s\n" % item for item in ns_of_side.items())


class Sides(unittest.TestCase):
    def test_take_turns(self):
        sides = {side: "run " + side for side in bench_verbs.SIDES}
        lines = bench_verbs.script(sides, 3).splitlines()
        self.assertEqual(lines[0], "set -e")
        run = [line.split()[1] for line in lines if line.startswith("run ")]
        order = list(bench_verbs.SIDES)
        self.assertEqual(run, order + order[::-1] + order)
        self.assertEqual([line.partition("=")[2] for line in lines if "side=" in line], run)

    def test_score_the_least_of_their_medians(self):
        text = said(raw=20100, weft=20700) + "noise\n" + said(weft=20500, raw=20200)
        self.assertEqual(bench_verbs.scores(text),
                         {"raw": {"put8": 20100}, "weft": {"put8": 20500}})

    def test_must_all_measure(self):
        with self.assertRaisesRegex(BenchError, "put8 was not measured on one side: 'weft'"):
            bench_verbs.figure("put8", bench_verbs.scores(said(raw=1, same=1, more=1)), True)


class Figures(unittest.TestCase):
    def figure(self, operation, counted, best):
        made = bench_verbs.figure(operation, best, counted)
        return judged(made, bench_verbs.bounds_of(made["figure"], counted))

    def put8(self, counted=True, **changes):
        best = {side: {"put8": ns} for side, ns in {**PUT8, **changes}.items()}
        return self.figure("put8", counted, best)

    def test_of_a_time(self):
        self.assertEqual(
            line(self.put8()),
            "figure=verbs_put8 value=20500 unit=instructions reference=raw_write_inline "
            "ratio=1.025 reference_value=20000 difference=500 same=1.005 more=1.05 "
            "bound=ratio<=1.03,difference<=600 met=yes")

    def test_of_a_rate(self):
        best = {side: {"put_bw_64k": ns} for side, ns in PUT8.items()}
        made = self.figure("put_bw_64k", False, best)
        self.assertEqual((made["unit"], made["value"], made["ratio"], made["met"]),
                         ("GB/s", 3.197, 0.9756, "no"))
        self.assertEqual(made["reference_value"], 3.277)

    def test_of_unregistered_memory_compares_with_registered(self):
        best = {side: {"put_bw_1m": 4e6} for side in bench_verbs.SIDES}
        best["weft"]["put_bw_1m_unregistered"] = 5e6
        made = self.figure("put_bw_1m_unregistered", True, best)
        self.assertEqual((made["ratio"], made["met"]), (0.8, "no"))

    def test_hold_every_bound(self):
        self.assertEqual(self.put8(weft=20601.0)["met"], "no")  # 1.03, but 601 more.
        self.assertEqual(self.put8(raw=10000.0, weft=10400.0)["met"], "no")
        # There are no instructions where time is measured.
        self.assertEqual(self.put8(counted=False, weft=20700.0)["met"], "no")
        self.assertEqual(self.put8(counted=False, raw=200000.0, weft=205000.0)["met"], "yes")

    def test_count_by_their_controls(self):
        self.assertEqual(bench_verbs.faults(self.put8()), [])
        self.assertEqual(bench_verbs.faults(self.put8(same=20400.0, more=20800.0)), [])
        self.assertEqual(bench_verbs.faults(self.put8(same=19500.0)),
                         ["same was 0.975 of the reference instead of 1.00 +- 0.02"])
        self.assertEqual(bench_verbs.faults(self.put8(more=21300.0)),
                         ["more was 1.065 of the reference instead of 1.05 +- 0.01"])

    def test_have_bounds_and_references(self):
        names = {"verbs_" + operation for operation in bench_verbs.REFERENCES}
        self.assertEqual(names | {bench_verbs.INSTRUCTIONS}, set(bench_verbs.BOUNDS))


class Instructions(unittest.TestCase):
    def test_belong_to_the_code_that_ran_them(self):
        profile = """version: 1
summary: 60

ob=(1) /bin/program
fn=(1) PostPuts
5 10
+2 20
cob=(2) /lib/libibverbs.so.1
calls=3 8
+1 900
* 5

ob=(2)
fn=(2) ibv_post_send
0 25

ob=(1)
fn=(3) other
-1
"""
        self.assertEqual(bench_verbs.own_instructions(profile),
                         {"/bin/program": 35, "/lib/libibverbs.so.1": 25})


if __name__ == "__main__":
    unittest.main()
