#!/usr/bin/env python3
"""tools/count_tests.py on event files of each kind of run."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.environ["TEST_SRCDIR"], "weft/tools/count_tests.py")

XML = """<testsuites><testsuite>
<testcase name="a" classname="S"/><testcase name="b" classname="S"/>
<testcase name="c" classname="S"><skipped/></testcase>%s
</testsuite></testsuites>"""
FAILURE = '<testcase name="d" classname="S"><failure>text</failure></testcase>'


class CountTests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def result(self, label, status, xml=None, shard=1):
        result = {"status": status}
        if xml is not None:
            path = self.path("%s.%d.xml" % (label.strip("/"), shard))
            with open(path, "w", encoding="utf-8") as out:
                out.write(xml)
            result["testActionOutput"] = [{"name": "test.log", "uri": "file:///none"},
                                          {"name": "test.xml", "uri": "file://" + path}]
        return {"id": {"testResult": {"label": label, "run": 1, "shard": shard}},
                "testResult": result}

    def count(self, events, *flags, end="SUCCESS"):
        """Returns (exit status, output lines)."""
        if end:
            events = events + [{"id": {"buildFinished": {}},
                                "finished": {"exitCode": {"name": end}}}]
        path = self.path("native.json")
        with open(path, "w", encoding="utf-8") as out:
            out.writelines(json.dumps(event) + "\n" for event in events)
        done = subprocess.run([sys.executable, TOOL, *flags, path], text=True,
                              stdout=subprocess.PIPE, check=False)
        return done.returncode, done.stdout.splitlines()

    def test_counts_cases_of_all_shards(self):
        status, lines = self.count([self.result("//t", "PASSED", XML % "", 1),
                                    self.result("//t", "PASSED", XML % "", 2)])
        self.assertEqual((status, lines), (0, ["2 skipped", "4 passed, 0 failed"]))

    def test_names_failed_cases(self):
        status, lines = self.count([self.result("//t", "FAILED", XML % FAILURE)],
                                   end="TESTS_FAILED")
        self.assertEqual(status, 1)
        self.assertIn("FAILED native: //t: S.d", lines)
        self.assertEqual(lines[-1], "2 passed, 1 failed")

    def test_a_crash_without_xml_is_a_failure(self):
        status, lines = self.count([self.result("//t", "TIMEOUT")], end="TESTS_FAILED")
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed"))

    def test_a_crash_after_passed_cases_is_a_failure(self):
        status, lines = self.count([self.result("//t", "FAILED", XML % "")],
                                   end="TESTS_FAILED")
        self.assertEqual((status, lines[-1]), (1, "2 passed, 1 failed"))

    def test_a_test_without_cases_is_a_failure(self):
        status, lines = self.count([self.result("//t", "PASSED", "<testsuites/>")])
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed"))

    def test_what_does_not_build_is_a_failure(self):
        broken = {"id": {"targetCompleted": {"label": "//lib"}}, "completed": {}}
        status, lines = self.count([self.result("//t", "PASSED", XML % ""), broken],
                                   end="BUILD_FAILURE")
        self.assertEqual((status, lines[-1]), (1, "2 passed, 1 failed"))

    def test_a_run_that_ended_early_is_a_failure(self):
        passed = [self.result("//t", "PASSED", XML % "")]
        self.assertEqual(self.count(passed, end=None)[1][-1], "2 passed, 1 failed")
        self.assertEqual(self.count(passed, end="PARSING_FAILURE")[1][-1], "2 passed, 1 failed")

    def reports(self, **reports):
        """Makes a folder of NAME.xml; returns the flag for it."""
        folder = self.path("verbs")
        for name, text in reports.items():
            path = os.path.join(folder, "conformance", name + ".xml")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
        os.makedirs(folder, exist_ok=True)
        return "--reports=" + folder

    def test_a_folder_of_reports_counts(self):
        status, lines = self.count([self.result("//t", "PASSED", XML % "")],
                                   self.reports(one=XML % "", two=XML % FAILURE))
        self.assertEqual(status, 1)
        self.assertEqual(lines, ["FAILED verbs: conformance/two: S.d", "3 skipped",
                                 "6 passed, 1 failed"])

    def test_reports_without_cases_and_folders_without_reports_are_failures(self):
        passed = [self.result("//t", "PASSED", XML % "")]
        self.assertIn("FAILED verbs: no test ran", self.count(passed, self.reports())[1])
        status, lines = self.count(passed, self.reports(empty="<testsuites/>", cut="<testsui"))
        self.assertEqual((status, lines[-1]), (1, "2 passed, 2 failed"))

    def test_other_checks_count(self):
        status, lines = self.count([self.result("//t", "PASSED", XML % "")], "--failed=format")
        self.assertEqual((status, lines[-1]), (1, "2 passed, 1 failed"))

    def test_nothing_run_is_a_failure(self):
        self.assertEqual(self.count([]), (1, ["FAILED no test ran", "0 passed, 1 failed"]))


if __name__ == "__main__":
    unittest.main()
