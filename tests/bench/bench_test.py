#!/usr/bin/env python3
"""tools/bench on all benchmarks, in a moment, and on bad command lines."""
import json
import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.environ["TEST_SRCDIR"], "weft")
FIGURES = """put8 get8 put8_flush put8_rate fadd cas fadd_contended notify8 notify4k notify64k
    put_bw_4k put_bw_64k put_bw_1m put_bw_8m get_bw_4k get_bw_64k get_bw_1m get_bw_8m
    histogram barrier2 barrier4 barrier16 startup8 memory8""".split()
LINE = re.compile(r"figure=(\S+) value=(\S+) unit=\S+ reference=\S+ ratio=(\S+)( \w+=\S+)*")


def bench(*arguments):
    return subprocess.run([os.path.join(ROOT, "tools/bench"), *arguments], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          cwd=os.environ["TEST_TMPDIR"])


class Bench(unittest.TestCase):
    def measure(self, *arguments):
        """The figures of a run, from its lines; its JSON must say the same."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.json")
            done = bench("local", "--quick", "--bin", ROOT, "--json", path, *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                written = json.load(file)
        figures = {}
        for line in done.stdout.splitlines():
            match = LINE.fullmatch(line)
            self.assertTrue(match, line)
            self.assertGreater(float(match[2]), 0, line)
            self.assertGreater(float(match[3]), 0, line)
            figures[match[1]] = float(match[2])
        self.assertEqual({f["figure"]: f["value"] for f in written["figures"]}, figures)
        self.assertIn("switch_ns", written["machine"]["before"])
        return figures

    def test_measures_every_figure(self):
        self.assertEqual(sorted(self.measure()), sorted(FIGURES))

    def test_measures_only_what_is_asked_for(self):
        self.assertEqual(sorted(self.measure("put8", "memory8")), ["memory8", "put8"])

    def test_counts_the_instructions_of_a_posted_put(self):
        done = bench("verbs", "--bin", ROOT, "verbs_put8_instructions")
        self.assertEqual(done.returncode, 0, done.stderr)
        match = re.match(r"figure=verbs_put8_instructions value=(\S+) unit=instructions ",
                         done.stdout)
        self.assertTrue(match, done.stdout)
        # Weft does something in a put, and its own library is not counted.
        self.assertGreater(float(match[1]), 20)

    def test_refuses_what_it_does_not_know(self):
        for arguments, said in [(["local", "put9"], "no figure is called put9"),
                                (["remote"], "invalid choice: 'remote'"), ([], "required: set"),
                                (["verbs", "put8"], "no figure is called put8"),
                                (["local", "--native"], "--native is for verbs"),
                                (["local", "--peers"], "--peers is for verbs"),
                                (["local", "--bin", "/nowhere"], "no program /nowhere/")]:
            with self.subTest(arguments):
                done = bench(*arguments)
                self.assertEqual(done.returncode, 1)
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_helps(self):
        done = bench("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("figure=<name> value=<v>", done.stdout)


if __name__ == "__main__":
    unittest.main()
