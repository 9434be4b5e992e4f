#!/usr/bin/env python3
"""tools/install from an archive, and programs that are built with what it installed."""
import glob
import os
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.environ["TEST_SRCDIR"], "weft")
ARCHIVE = os.path.join(ROOT, "packaging/weft.tar")
HELLO = os.path.join(ROOT, "examples/hello.cc")

CMAKE_LISTS = """cmake_minimum_required(VERSION 3.25)
project(hello CXX)
find_package(weft %s REQUIRED)
add_executable(hello %s)
target_link_libraries(hello weft::weft)
"""


def run(*command, **environment):
    return subprocess.run(command, text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env={**os.environ, **environment})


def install(*arguments):
    return run(os.path.join(ROOT, "tools/install"), *arguments)


def files_below(folder):
    return sorted(os.path.join(path, name) for path, _, names in os.walk(folder) for name in names)


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.prefix = cls.path("prefix")
        cls.installed = install("--archive", ARCHIVE, "--prefix", cls.prefix)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def check_run(self, *command, **environment):
        """The standard output of a command that must succeed."""
        done = run(*command, **environment)
        self.assertEqual(done.returncode, 0, "%s\n%s%s" % (command, done.stdout, done.stderr))
        return done.stdout

    def pkg_config(self, *flags):
        return self.check_run("pkg-config", *flags, "weft",
                              PKG_CONFIG_PATH=os.path.join(self.prefix, "lib/pkgconfig")).split()

    def version(self):
        return self.pkg_config("--modversion")[0]

    def check_hello(self, program):
        said = self.check_run(os.path.join(self.prefix, "bin/weftrun"), "-n", "2", program,
                              LD_LIBRARY_PATH=os.path.join(self.prefix, "lib"))
        self.assertEqual(sorted(said.splitlines()),
                         ["hello from rank 0 of 2, greeted by rank 1",
                          "hello from rank 1 of 2, greeted by rank 0"])

    def cmake(self, build, version):
        source = tempfile.mkdtemp(dir=self.folder.name)
        with open(os.path.join(source, "CMakeLists.txt"), "w", encoding="utf-8") as out:
            out.write(CMAKE_LISTS % (version, HELLO))
        return run("cmake", "-S", source, "-B", build, CMAKE_PREFIX_PATH=self.prefix)

    def test_says_what_is_where(self):
        self.assertEqual(self.installed.returncode, 0, self.installed.stderr)
        said = [line.strip() for line in self.installed.stdout.splitlines() if line[0] == " "]
        self.assertEqual(said, [os.path.join(self.prefix, path) for path in (
            "bin/weft-info", "bin/weftrun", "include/weft/*", "lib/cmake/weft/weft-config-version.cmake",
            "lib/cmake/weft/weft-config.cmake", "lib/libweft.so",
            "lib/libweft.so." + self.version(), "lib/pkgconfig/weft.pc")])
        self.assertEqual([path for path in said if not glob.glob(path)], [])

    def test_pkg_config_builds_a_program(self):
        program = self.path("hello")
        self.check_run("g++", HELLO, "-o", program, *self.pkg_config("--cflags", "--libs"))
        self.check_hello(program)

    def test_cmake_builds_a_program(self):
        build = self.path("build")
        done = self.cmake(build, self.version())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_run("cmake", "--build", build)
        self.check_hello(os.path.join(build, "hello"))

    def test_cmake_refuses_another_version(self):
        done = self.cmake(self.path("refused"), "99.0")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('requested version "99.0"', done.stderr)

    def test_all_headers_are_there(self):
        headers = files_below(os.path.join(self.prefix, "include"))
        self.assertIn(os.path.join(self.prefix, "include/weft/task.h"), headers)
        included = [word for header in headers for word in ("-include", header)]
        self.check_run("g++", "-fsyntax-only", "-x", "c++", "/dev/null", *included,
                       *self.pkg_config("--cflags"))

    def test_library_exports_nothing_of_abseil(self):
        library = os.path.join(self.prefix, "lib/libweft.so")
        names = [line.split()[-1] for line in
                 self.check_run("nm", "-D", "--defined-only", library).splitlines()]
        self.assertIn("_ZN4weft8internal5reachE", names)
        self.assertEqual([name for name in names if name.startswith(("_ZN4absl", "_ZNK4absl"))], [])

    def test_installs_again(self):
        prefix = self.path("again")
        first, files = install("--archive", ARCHIVE, "--prefix", prefix), files_below(prefix)
        second = install("--archive", ARCHIVE, "--prefix", prefix)
        self.assertEqual((second.returncode, second.stdout), (0, first.stdout), second.stderr)
        self.assertEqual(files_below(prefix), files)

    def test_destdir_holds_the_prefix(self):
        destdir = self.path("destdir")
        done = install("--archive", ARCHIVE, "--destdir", destdir, "--prefix", "/opt/weft")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(destdir + "/opt/weft/lib/libweft.so"))
        self.assertNotIn("LD_LIBRARY_PATH", done.stdout)

    def test_errors_are_one_line_with_a_cure(self):
        os.mkdir(self.path("blocked"))
        with open(self.path("blocked/lib"), "w", encoding="utf-8"):
            pass
        for arguments, said in [
                (["--prefix", "/dev/null/weft"],
                 "cannot write in /dev/null/weft; choose another --prefix, or run it as root"),
                (["--prefix", self.path("blocked"), "--archive", ARCHIVE], "free the way"),
                (["--archive", "/nowhere"], "to make one: bazel build"),
                (["--prefix"], "--prefix needs a value; see: tools/install --help"),
                (["--prfix"], "no option '--prfix'; see: tools/install --help")]:
            with self.subTest(arguments):
                done = install(*arguments)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertRegex(done.stderr, r"\Atools/install: [^\n]+\n\Z")
                self.assertIn(said, done.stderr)

    def test_helps(self):
        done = install("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("--prefix DIR", done.stdout)


if __name__ == "__main__":
    unittest.main()
