#!/usr/bin/env python3
"""Checks that misuse does not compile, and that its corrected form does.

  nocompile_test.py SOURCE COMPILER FLAG...

tests/defs.bzl (weft_nocompile_test) has the form of SOURCE. Writes a test.xml with one
test case for each misuse and one for all corrected forms together.
"""
import os
import re
import subprocess
import sys
import xml.sax.saxutils as sax

START = re.compile(r"// MISUSE\((\w+)\): (.+)$")


class Case:
    def __init__(self, name, pattern, line):
        self.name, self.pattern, self.line = name, pattern, line
        self.misuse, self.corrected = [], []


def parse(source):
    """Returns (common lines, cases); raises ValueError with the line of a wrong form."""
    common, cases, case, block = [], [], None, None
    with open(source, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            text = line.strip()
            start = START.match(text)
            if start:
                if case:
                    raise ValueError("%s:%d: MISUSE before the END of %s" %
                                     (source, number, case.name))
                case = Case(start.group(1), start.group(2), number)
                block = case.misuse
            elif text == "// CORRECTED" and case and block is case.misuse:
                block = case.corrected
            elif text == "// END" and case and block is case.corrected:
                if not "".join(case.misuse).strip() or not "".join(case.corrected).strip():
                    raise ValueError("%s:%d: %s lacks code" % (source, case.line, case.name))
                cases.append(case)
                case = block = None
            elif text.startswith(("// MISUSE", "// CORRECTED", "// END")):
                raise ValueError("%s:%d: unexpected %s" % (source, number, text))
            else:
                (common if block is None else block).append(line)
    if case:
        raise ValueError("%s: %s has no END" % (source, case.name))
    if not cases:
        raise ValueError("%s: no MISUSE" % source)
    return common, cases


def precompile(command, common, folder):
    """Compiles the common code once; returns the command that starts from it."""
    header = os.path.join(folder, "common.h")
    with open(header, "w", encoding="utf-8") as out:
        out.writelines(common)
    compile_only = [flag for flag in command if flag != "-fsyntax-only"]
    subprocess.run(compile_only + ["-x", "c++-header", header, "-o", header + ".gch"], check=True)
    return command + ["-include", header, "-x", "c++", "-"]


def compile_code(command, blocks):
    """Returns (compiles, messages); blocks is [(name, lines)]."""
    code = "".join("namespace case_%s {\n%s}  // namespace\n" % (name, "".join(lines))
                   for name, lines in blocks)
    done = subprocess.run(command, input=code, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "LC_ALL": "C"}, check=False)
    return done.returncode == 0, done.stdout


def check(command, case):
    """Returns what is wrong with the misuse of a case, or None."""
    compiles, messages = compile_code(command, [(case.name, case.misuse)])
    if compiles:
        return "compiles, and should not"
    if not re.search(r"\berror: ", messages):
        return "the compiler itself failed:\n" + messages
    if not any(re.search(case.pattern, line) for line in messages.splitlines()):
        return "no message matches '%s':\n%s" % (case.pattern, messages)
    return None


def main():
    source, command = sys.argv[1], sys.argv[2:]
    common, cases = parse(source)
    command = precompile(command, common, os.environ["TEST_TMPDIR"])
    compiles, messages = compile_code(command, [(c.name, c.corrected) for c in cases])
    results = [("corrected", None if compiles else "does not compile:\n" + messages)]
    results += [(case.name, check(command, case)) for case in cases]
    suite = os.path.splitext(os.path.basename(source))[0]
    with open(os.environ.get("XML_OUTPUT_FILE", os.devnull), "w", encoding="utf-8") as out:
        out.write('<testsuites><testsuite name="%s" tests="%d">\n' % (suite, len(results)))
        for name, failure in results:
            print("%s %s%s" % ("FAILED" if failure else "ok", name,
                               ": " + failure if failure else ""))
            out.write('<testcase classname="%s" name="%s">%s</testcase>\n' % (
                suite, name,
                "<failure>%s</failure>" % sax.escape(failure) if failure else ""))
        out.write("</testsuite></testsuites>\n")
    return 1 if any(failure for _, failure in results) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(str(error))
