#!/usr/bin/env python3
"""Runs clang-tidy over C++ sources, with the compiler commands of the build.

  tools/tidy.py [FILE.cc...]

Without files: all sources of ours. Writes compile_commands.json on the way, whole when no
files are given (clangd reads it too). The exit status is 1 when clang-tidy has something to say.
"""
import concurrent.futures
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def bazel(*args):
    done = subprocess.run(["bazel", *args], check=False, text=True, cwd=ROOT,
                          stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit("tools/tidy.py: bazel %s failed (status %d)" % (args[0], done.returncode))
    return done.stdout


def compile_commands(targets):
    """Returns {source: entry of compile_commands.json} of our own sources below targets."""
    root = bazel("info", "execution_root").strip()
    graph = json.loads(bazel("aquery", "--output=jsonproto", "--noshow_progress",
                             'mnemonic("CppCompile", %s)' % " + ".join(targets)))
    commands = {}
    for action in graph["actions"]:
        arguments = action["arguments"]
        source = arguments[arguments.index("-c") + 1]
        if source.startswith(("external/", "bazel-out/")):
            continue
        # What gcc takes and clang does not.
        arguments = [a for a in arguments if a != "-fno-canonical-system-headers"
                     and not a.startswith(("-D__DATE__", "-D__TIME"))]
        commands[source] = {"directory": root, "file": os.path.join(ROOT, source),
                            "arguments": arguments}
    return commands


def tidy(source):
    done = subprocess.run(["clang-tidy", "--quiet", "-p", ROOT,
                           "--config-file=" + os.path.join(ROOT, ".clang-tidy"), source], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0 and not done.stdout:
        return done.stderr
    return done.stdout


def main():
    files = [os.path.relpath(os.path.abspath(f), ROOT) for f in sys.argv[1:]]
    targets = sorted({"//%s:all" % os.path.dirname(f) for f in files}) or ["//..."]
    commands = compile_commands(targets)
    # Generated headers (include prefixes) have to be there.
    bazel("build", "--noshow_progress", "--ui_event_filters=-info,-stdout", *targets)
    with open(os.path.join(ROOT, "compile_commands.json"), "w", encoding="utf-8") as out:
        json.dump(list(commands.values()), out, indent=1)
    wanted = files or list(commands)
    unknown = [f for f in wanted if f not in commands]
    if unknown:
        sys.exit("tools/tidy.py: not a source of the build: %s" % " ".join(unknown))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        findings = [text for text in pool.map(tidy, wanted) if text.strip()]
    for text in findings:
        print(text)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
