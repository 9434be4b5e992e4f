#!/usr/bin/env python3
"""tools/rdma_vm/run_tests, on this machine: it needs no guest."""
import fcntl
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

SOURCES = os.path.join(os.environ["TEST_SRCDIR"], "weft")
TOOL = os.path.join(SOURCES, "tools/rdma_vm/run_tests")
DEVICES = os.path.join(SOURCES, "tests/tools/rdma_vm/devices_program")


class RunTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_manifest(self, *lines, flags=()):
        manifest = os.path.join(self.folder, "manifest")
        with open(manifest, "w", encoding="utf-8") as out:
            out.write("".join(line + "\n" for line in lines))
        done = subprocess.run([sys.executable, TOOL, *flags, manifest, self.folder], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return done.returncode, done.stdout.splitlines(), done.stderr

    def log(self, name):
        with open(os.path.join(self.folder, name + ".log"), encoding="utf-8") as file:
            return file.read()

    def report(self, name):
        """({case: whether it failed}, texts of failures)."""
        root = ElementTree.parse(os.path.join(self.folder, name + ".xml")).getroot()
        return ({case.get("name"): case.find("failure") is not None
                 for case in root.iter("testcase")},
                "".join(failure.get("message") + (failure.text or "")
                        for failure in root.iter("failure")))

    def test_passes(self):
        status, lines, _ = self.run_manifest("a/one\techo $((40 + 2))", "two\ttrue")
        self.assertEqual(status, 0)
        self.assertRegex(lines[0], r"^\[1/2\] a/one: passed \(\d+\.\d s\)$")
        self.assertEqual(lines[-1], "2 passed, 0 failed")
        self.assertEqual(self.log("a/one"), "42\n")
        self.assertEqual(self.report("a/one"), ({"a/one": False}, ""))

    def test_a_failure_has_the_log_in_its_report(self):
        status, lines, _ = self.run_manifest("bad\tprintf 'why \\001'; exit 3", "good\ttrue")
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed"))
        self.assertIn("bad: FAILED, exit status 3", lines[0])
        self.assertEqual(self.report("bad"), ({"bad": True}, "exit status 3why ?"))

    def test_a_time_limit_leaves_no_process(self):
        lock = os.path.join(self.folder, "lock")
        status, lines, _ = self.run_manifest(
            "slow\texec 9>%s; flock 9; sleep 1000 & sleep 1000" % lock, flags=["--timeout", "1"])
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed"))
        self.assertIn("timed out after 1 s", self.report("slow")[1])
        with open(lock, encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # Waits for the last of them.

    def test_googletest_reports_its_cases(self):
        # Its other case needs two devices.
        self.run_manifest("gtest\t%s --gtest_filter=*Nothing" % DEVICES)
        self.assertEqual(self.report("gtest"), ({"Nothing": False}, ""))

    def test_a_crash_after_a_good_report_is_a_failure(self):
        status, _, _ = self.run_manifest("gtest\t%s --gtest_filter=*Nothing; kill -9 $$" % DEVICES)
        self.assertEqual(status, 1)
        self.assertEqual(self.report("gtest")[0], {"gtest": True})

    def test_a_wrong_manifest_runs_nothing(self):
        for line in ("no tab", "/absolute\ttrue", "a/../b\ttrue", "", "\ttrue"):
            status, lines, error = self.run_manifest("fine\ttrue", line)
            self.assertEqual((status, lines), (1, []))
            self.assertIn("manifest:2: not `NAME<tab>COMMAND`", error)
        self.assertIn("is there twice", self.run_manifest("a\ttrue", "a\ttrue")[2])
        self.assertIn("has no tests", self.run_manifest()[2])

    def test_usage(self):
        done = subprocess.run([TOOL, "--help"], text=True, stdout=subprocess.PIPE, check=True)
        self.assertIn("MANIFEST has a line", done.stdout)
        done = subprocess.run([TOOL], text=True, stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)


if __name__ == "__main__":
    unittest.main()
