#!/usr/bin/env python3
"""Counts single test cases in Bazel's build event files; prints 'N passed, N failed'.

  tools/count_tests.py [--failed=WHAT]... [--reports=FOLDER]... [EVENTS.json]...

The cases are those of each test.xml (GoogleTest writes one per shard). What fails
without a failed case (a crash, a time-out, a target that does not build, a run
that ended early) counts as one failure, as does each --failed. A folder of reports
(NAME.xml, of tests that Bazel did not run) is counted, too. The exit status is 0
only when something passed and nothing failed.
"""
import argparse
import json
import os
import pathlib
import sys
import urllib.parse
import xml.etree.ElementTree as ET


def count_cases(path):
    """Returns (passed, failed names, skipped) of one test.xml."""
    passed, failed, skipped = 0, [], 0
    try:
        root = ET.parse(path).getroot()
    except (OSError, ET.ParseError):
        return 0, [], 0
    for case in root.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append("%s.%s" % (case.get("classname"), case.get("name")))
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def xml_path(result):
    """The file of a test result's test.xml, or ''."""
    for output in result.get("testActionOutput", ()):
        uri = output.get("uri", "")
        if output["name"] == "test.xml" and uri.startswith("file://"):
            return urllib.parse.unquote(uri[len("file://"):])
    return ""


def read_events(path):
    """Returns ({(label, run, shard): last result}, labels that did not build, complete)."""
    results, broken, complete = {}, set(), False
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            try:
                event = json.loads(line)
            except json.JSONDecodeError:
                return results, broken, False
            ident = event.get("id", {})
            if "testResult" in ident:
                key = ident["testResult"]
                results[key["label"], key.get("run"), key.get("shard")] = event["testResult"]
            elif "targetCompleted" in ident:
                if not event.get("completed", {}).get("success"):
                    broken.add(ident["targetCompleted"]["label"])
            elif "finished" in event:
                # PARSING_FAILURE, ANALYSIS_FAILURE ... end a run before its tests.
                code = event["finished"].get("exitCode", {}).get("name", "")
                complete = code in ("SUCCESS", "TESTS_FAILED", "BUILD_FAILURE")
    return results, broken, complete


def tally(stage, tests):
    """Returns (passed, failures, skipped) of [(name, path of its report, Bazel's status)]."""
    passed, failures, skipped = 0, [], 0
    for name, report, status in tests:
        case_passed, case_failed, case_skipped = count_cases(report)
        if status not in ("PASSED", "FLAKY") and not case_failed:
            case_failed = [status]
        elif status == "PASSED" and not case_passed + case_skipped and not case_failed:
            case_failed = ["passed without a single test case"]
        passed += case_passed
        skipped += case_skipped
        failures += ["%s: %s: %s" % (stage, name, case) for case in case_failed]
    return passed, failures, skipped


def count_run(path):
    """The tally of one run of Bazel."""
    stage = os.path.splitext(os.path.basename(path))[0]
    results, broken, complete = read_events(path)
    passed, failures, skipped = tally(stage, (
        (label, xml_path(result), result.get("status", "NO_STATUS"))
        for (label, _, _), result in sorted(results.items(), key=str)))
    failures += ["%s: %s: does not build" % (stage, label)
                 for label in sorted(broken - {key[0] for key in results})]
    if not complete:
        failures.append("%s: the run ended early" % stage)
    return passed, failures, skipped


def count_reports(folder):
    """The tally of a folder of reports."""
    stage = os.path.basename(folder)
    passed, failures, skipped = tally(stage, (
        (path.relative_to(folder).with_suffix(""), path, "PASSED")
        for path in sorted(pathlib.Path(folder).rglob("*.xml"))))
    if not passed and not failures:
        failures.append("%s: no test ran" % stage)
    return passed, failures, skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--failed", action="append", default=[])
    parser.add_argument("--reports", action="append", default=[])
    parser.add_argument("events", nargs="*")
    args = parser.parse_args()
    passed, failures, skipped = 0, list(args.failed), 0
    for counts in [*map(count_run, args.events), *map(count_reports, args.reports)]:
        passed += counts[0]
        failures += counts[1]
        skipped += counts[2]
    if not passed and not failures:
        failures.append("no test ran")
    for failure in failures:
        print("FAILED %s" % failure)
    if skipped:
        print("%d skipped" % skipped)
    print("%d passed, %d failed" % (passed, len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
