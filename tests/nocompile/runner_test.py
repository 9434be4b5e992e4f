#!/usr/bin/env python3
"""nocompile_test.py on sources that have to pass, to fail, and to be refused."""
import os
import subprocess
import sys
import tempfile
import unittest

RUNNER = os.path.join(os.environ["TEST_SRCDIR"], "weft/tests/nocompile/nocompile_test.py")

GOOD = """struct S {};
// MISUSE(assign): cannot convert
int x = S();
// CORRECTED
int x = 1;
// END
"""


class RunnerTest(unittest.TestCase):
    def run_on(self, text):
        """Returns (exit status, output)."""
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "cases.cc")
            with open(source, "w", encoding="utf-8") as out:
                out.write(text)
            done = subprocess.run(
                [sys.executable, RUNNER, source, "g++", "-std=c++20", "-fsyntax-only"],
                text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                env={**os.environ, "XML_OUTPUT_FILE": os.path.join(folder, "test.xml")})
            return done.returncode, done.stdout

    def test_misuse_that_fails_passes(self):
        self.assertEqual(self.run_on(GOOD), (0, "ok corrected\nok assign\n"))

    def test_misuse_that_compiles_fails(self):
        status, output = self.run_on(GOOD.replace("int x = S()", "S x = S()"))
        self.assertEqual(status, 1)
        self.assertIn("FAILED assign: compiles", output)

    def test_another_message_fails(self):
        status, output = self.run_on(GOOD.replace("cannot convert", "no matching function"))
        self.assertEqual(status, 1)
        self.assertIn("FAILED assign: no message matches", output)

    def test_a_corrected_form_that_does_not_compile_fails(self):
        status, output = self.run_on(GOOD.replace("int x = 1", "int x = y"))
        self.assertEqual(status, 1)
        self.assertIn("FAILED corrected", output)

    def test_wrong_forms_are_refused(self):
        for text, message in (
                ("int x;\n", "no MISUSE"),
                (GOOD.replace("// END\n", ""), "no END"),
                (GOOD.replace("// CORRECTED\n", ""), "unexpected // END"),
                (GOOD.replace("int x = 1;\n", ""), "lacks code"),
                ("// CORRECTED\n" + GOOD, "unexpected // CORRECTED")):
            status, output = self.run_on(text)
            self.assertEqual(status, 1, output)
            self.assertIn(message, output)


if __name__ == "__main__":
    unittest.main()
