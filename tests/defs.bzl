"""The test macros of Weft.

Tags that tools/test understands, beside Bazel's own ("exclusive", "cpu:2", ...):

  no-sanitizer  runs natively only: what a sanitizer cannot see (a shell script),
                what it slows down beyond use, or what measures time
  tsan          runs under ThreadSanitizer too: threads in one process. Not its cases whose
                names contain Processes, or Racing: ranks that race on purpose
  verbs         boots guests of tools/rdma-vm, which takes minutes

A test that starts more processes or threads than a core holds gets "cpu:2"; one whose
outcome other tests could disturb (it fills the machine) gets "exclusive".
"""

load("//tests/nocompile:nocompile.bzl", "nocompile_test")

def weft_test(name, deps = [], **kwargs):
    """A cc_test on GoogleTest with its main; the source is <name>.cc unless srcs is given."""
    native.cc_test(
        name = name,
        srcs = kwargs.pop("srcs", [name + ".cc"]),
        size = kwargs.pop("size", "small"),
        deps = deps + [
            "//tests/tsan:suppressions",
            "@com_google_googletest//:gtest_main",
        ],
        **kwargs
    )

def weft_rank_test(
        name,
        deps = [],
        ranks = [1, 2, 4],
        fault_seeds = [],
        networks = True,
        tags = [],
        **kwargs):
    """GoogleTest cases that every rank of a job runs, started by weftrun.

    For each N of ranks a test <name>_<N>, which runs the program under `weftrun -n N`, and
    for each seed a test <name>_fault_<seed> with three ranks, whose operations are delayed,
    split and reordered; <name>_tcp_2 sends all over TCP, <name>_mixed_4 has two ranks each on
    two nodes (or so they believe) with TCP between them. All together are the suite <name>.
    tests/support/rank_test.h has the world.

    Args:
      name: the target's name; the source is <name>.cc unless srcs is given.
      deps: what the source uses.
      ranks: sizes of the job.
      fault_seeds: values of WEFT_FAULT.
      networks: whether there are tests over TCP.
      tags: of each test, beside "cpu:2".
      **kwargs: srcs; the rest is passed to each test.
    """
    native.cc_binary(
        name = name + "_program",
        testonly = True,
        srcs = kwargs.pop("srcs", [name + ".cc"]),
        deps = deps + [
            "//tests/support:rank_main",
            "@com_google_googletest//:gtest",
        ],
        visibility = ["//tests:__subpackages__"],
    )
    size = kwargs.pop("size", "medium")
    flags = {"%s_%d" % (name, n): ["-n", str(n)] for n in ranks}
    for seed in fault_seeds:
        flags["%s_fault_%d" % (name, seed)] = ["-n", "3", "-x", "WEFT_FAULT=%d" % seed]
    if networks:
        flags[name + "_tcp_2"] = ["-n", "2", "-x", "WEFT_TRANSPORTS=tcp"]
        flags[name + "_mixed_4"] = [
            "-n",
            "4",
            "--pretend-nodes",
            "2",
            "-x",
            "WEFT_TRANSPORTS=shm,tcp",
        ]
    for test, weftrun_flags in flags.items():
        native.sh_test(
            name = test,
            size = size,
            srcs = ["//tests:run_ranks.sh"],
            args = ["$(rootpath //tools/weftrun)"] + weftrun_flags +
                   ["--", "$(rootpath :%s_program)" % name],
            data = ["//tools/weftrun", ":%s_program" % name],
            tags = tags + (["cpu:2"] if weftrun_flags[1] != "1" else []),
            **kwargs
        )
    native.test_suite(
        name = name,
        tests = [":" + test for test in flags],
    )

def weft_fuzz_test(name, deps = [], runs = 100000, **kwargs):
    """A fuzz target: <name>.cc (or srcs) with one LLVMFuzzerTestOneInput.

    A plain test replays the files of <name>_corpus/ (optional), then `runs` mutations of
    them from a fixed seed, and from N more with --test_env=WEFT_SEEDS=N. With
    --config=fuzz the same target is a libFuzzer program:
      bazel run --config=fuzz //tests/fuzz:<name> -- -max_total_time=60 CORPUS_FOLDER

    Args:
      name: the target's name, by convention <what>_fuzz.
      deps: what the source uses.
      runs: mutations in a plain test; it should take a few seconds.
      **kwargs: passed to cc_test.
    """
    corpus = native.glob([name + "_corpus/*"])
    native.cc_test(
        name = name,
        srcs = kwargs.pop("srcs", [name + ".cc"]),
        size = kwargs.pop("size", "small"),
        args = select({
            "//tests/fuzz:libfuzzer": ["-max_total_time=30"],
            "//conditions:default": ["--runs=%d" % runs] + ["$(rootpath %s)" % f for f in corpus],
        }),
        data = corpus + kwargs.pop("data", []),
        linkopts = select({
            "//tests/fuzz:libfuzzer": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        deps = deps + select({
            "//tests/fuzz:libfuzzer": [],
            "//conditions:default": ["//tests/fuzz:replay_main"],
        }),
        **kwargs
    )

def weft_nocompile_test(name, deps = [], tags = [], **kwargs):
    """Misuse that has to be a compile error: the cases in a source.

    The source is common code (#include lines) followed by cases:

      // MISUSE(name): regular expression
      ...
      // CORRECTED
      ...
      // END

    The target <what>_test has the source <what>.cc, unless src is given. Common code and a case's misuse must fail to compile with a message that matches;
    common code with all corrected forms must compile without a warning. Each case is in
    a namespace of its own, and is a test case of its own.
    """
    nocompile_test(
        name = name,
        src = kwargs.pop("src", name[:-len("_test")] + ".cc"),
        size = kwargs.pop("size", "medium"),
        # The compiler's front end does the work: a sanitizer has nothing to see.
        tags = tags + ["no-sanitizer"],
        deps = deps,
        **kwargs
    )
