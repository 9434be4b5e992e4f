#!/usr/bin/env python3
"""tools/rdma_vm/cache.py: concurrent starts, killed ones, and what older code left."""
import os
import signal
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.environ["TEST_SRCDIR"], "weft/tools"))

from rdma_vm import cache


def fill(folder):
    with open(os.path.join(folder, "content"), "w", encoding="utf-8") as out:
        out.write("whole")


def never(folder):
    raise AssertionError("made again: " + folder)


class CacheTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.environ["XDG_CACHE_HOME"] = folder.name
        self.cache = cache.Cache()

    def names(self):
        return sorted(os.listdir(self.cache.folder))

    def child(self, run):
        """The process id of a fork that calls run()."""
        child = os.fork()
        if child == 0:
            try:
                run()
            finally:
                os._exit(1)
        return child

    def test_makes_once(self):
        with self.cache.entry("kernel", "r", "v1", fill) as path:
            self.assertEqual(os.listdir(path), ["content"])
        with self.cache.entry("kernel", "r", "v1", never):
            pass
        self.assertEqual(self.cache.newest("kernel", "r"), "v1")
        self.assertIsNone(self.cache.newest("kernel", "other"))

    def test_replaces_what_another_recipe_or_version_made(self):
        for stamp, version in (("old", "v1"), ("new", "v1"), ("new", "v2")):
            with self.cache.entry("kernel", stamp, version, fill):
                self.assertEqual(self.names(), ["_".join(("kernel", stamp, version))])

    def test_keeps_what_is_in_use_and_other_kinds(self):
        with self.cache.entry("siw", "r", "v1", fill):
            pass
        with self.cache.entry("kernel", "r", "v1", fill), self.cache.entry("kernel", "r", "v2", fill):
            self.assertEqual(self.names(), ["kernel_r_v1", "kernel_r_v2", "siw_r_v1"])

    def test_a_failure_leaves_nothing(self):
        with self.assertRaises(AssertionError), self.cache.entry("kernel", "r", "v1", never):
            pass
        self.assertEqual(self.names(), [])

    def test_a_killed_start_is_made_up_for(self):
        ready, done = os.pipe()

        def start():
            def half(folder):
                fill(folder)
                os.write(done, b".")
                time.sleep(1000)
            with self.cache.entry("kernel", "r", "v1", half):
                pass

        child = self.child(start)
        os.read(ready, 1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.assertTrue(self.names()[0].startswith("unfinished_"))
        with self.cache.entry("kernel", "r", "v1", fill):
            self.assertEqual(self.names(), ["kernel_r_v1"])

    def test_concurrent_starts_make_once(self):
        made = []

        def slow(folder):
            made.append(folder)
            time.sleep(0.2)
            fill(folder)

        def start():
            with self.cache.entry("kernel", "r", "v1", slow) as path:
                self.assertEqual(os.listdir(path), ["content"])

        starts = [threading.Thread(target=start) for _ in range(4)]
        for thread in starts:
            thread.start()
        for thread in starts:
            thread.join()
        self.assertEqual(len(made), 1)


if __name__ == "__main__":
    unittest.main()
