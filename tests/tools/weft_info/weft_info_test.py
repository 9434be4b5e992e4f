#!/usr/bin/env python3
"""weft-info: what it shows is there, in both forms, and what is wrong is named.

usage: weft_info_test.py PATH_OF_WEFT_INFO

In a guest of rdma-vm, which names its devices in RDMA_DEVICES, these must be shown, too.
"""
import json
import os
import subprocess
import sys
import unittest

WEFT_INFO = sys.argv.pop(1)
DEVICES = os.environ.get("RDMA_DEVICES", "").split()


def run(*flags, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    return subprocess.run([WEFT_INFO, *flags], env=environment | variables, text=True,
                          capture_output=True, timeout=60)


def report(**variables):
    result = run("--json", **variables)
    return json.loads(result.stdout), result.returncode


class WeftInfoTest(unittest.TestCase):
    def test_shows_the_machine(self):
        shown, status = report()
        self.assertEqual(shown["machine"]["host"], os.uname().nodename)
        self.assertEqual(shown["machine"]["cpus"]["allowed"], len(os.sched_getaffinity(0)))
        self.assertEqual(shown["machine"]["page_bytes"], os.sysconf("SC_PAGESIZE"))
        self.assertEqual(shown["problems"], [])
        self.assertEqual(status, 0)
        self.assertEqual(shown["choice"]["within_a_node"], "shared memory")

    def test_both_forms_tell_the_same(self):
        shown, _ = report()
        text = run().stdout
        self.assertIn("host: " + shown["machine"]["host"], text)
        self.assertIn("between nodes: " + shown["choice"]["between_nodes"], text)
        for name, option in shown["options"].items():
            self.assertIn(f"  {name}:\n    value: {option['value']}\n", text)

    def test_an_option_in_force_says_so(self):
        shown, _ = report(WEFT_DEADLINE="5s")
        self.assertEqual(shown["options"]["WEFT_DEADLINE"]["value"], "5s")
        self.assertEqual(shown["options"]["WEFT_DEADLINE"]["set_by"], "the environment")
        self.assertEqual(shown["options"]["WEFT_WAIT_DEADLINE"]["set_by"], "default")

    def test_what_is_wrong_is_a_problem(self):
        for name, value in (("WEFT_DEADLINE", "soon"), ("WEFT_TRANSPORT", "shm"),
                            ("WEFT_HEAP_BYTES", "60T")):
            shown, status = report(**{name: value})
            self.assertEqual(status, 1, name)
            self.assertEqual(len(shown["problems"]), 1, shown["problems"])
            self.assertIn(name, shown["problems"][0])

    def test_misuse(self):
        result = run("--jason")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--jason", result.stderr)
        self.assertIn("usage", run("--help").stdout)

    def test_no_device_is_a_problem_where_one_is_asked_for(self):
        shown, status = report(WEFT_TRANSPORTS="verbs", WEFT_VERBS_DEVICE="mlx9_9")
        self.assertEqual(status, 1)
        self.assertEqual(len(shown["problems"]), 1, shown["problems"])
        self.assertIn("RDMA", shown["problems"][0])

    def test_what_is_not_utf8_is_shown_all_the_same(self):
        shown, _ = report(WEFT_VERBS_DEVICE="\udcff")  # The byte 0xff.
        self.assertEqual(shown["options"]["WEFT_VERBS_DEVICE"]["value"], "\ufffd")

    @unittest.skipUnless(DEVICES, "no RDMA device")
    def test_shows_the_devices(self):
        shown, status = report(WEFT_TRANSPORTS="verbs", WEFT_VERBS_DEVICE=DEVICES[-1])
        self.assertEqual(status, 0, shown["problems"])
        self.assertEqual([device["device"] for device in shown["RDMA"]], DEVICES)
        for device in shown["RDMA"]:
            self.assertGreater(device["limits"]["queue_pairs"], 0)
            for port in device["ports"]:
                self.assertEqual(port["state"], "active")
                self.assertTrue(port["usable"], port)
        self.assertIn(DEVICES[-1] + ":1", shown["choice"]["within_a_node"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
