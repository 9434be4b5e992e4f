"""Offline stand-ins for repositories that Bazel 4.2 downloads on its own.

@bazel_tools loads @rules_cc//cc:defs.bzl (always), @rules_java//java:defs.bzl
(whatever resolves a JDK) and @rules_proto. Debian's package bazel-rules-cc
0.0.4 is NOT usable: it loads `use_cpp_toolchain`, which Bazel 4.2.3 does not
have. In 4.2 these files only wrap native rules, so we write the wrappers here.
"""

_RULES = {
    "rules_cc": {
        "cc": [
            "cc_binary",
            "cc_import",
            "cc_library",
            "cc_proto_library",
            "cc_test",
            "cc_toolchain",
            "cc_toolchain_suite",
            "objc_import",
            "objc_library",
        ],
    },
    "rules_java": {
        "java": [
            "java_binary",
            "java_import",
            "java_library",
            "java_proto_library",
            "java_runtime",
            "java_test",
            "java_toolchain",
        ],
    },
    "rules_proto": {
        "proto": [
            "proto_lang_toolchain",
            "proto_library",
        ],
    },
}

def _bazel_shim_impl(rctx):
    rctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % rctx.name, executable = False)
    if rctx.name == "remote_coverage_tools":
        # Every test names Bazel's downloaded coverage merger; nothing here runs it.
        rctx.file("BUILD.bazel", """\
package(default_visibility = ["//visibility:public"])

filegroup(name = "lcov_merger")

filegroup(name = "coverage_report_generator")
""", executable = False)
        return
    for directory, rules in _RULES[rctx.name].items():
        rctx.file(
            directory + "/defs.bzl",
            "".join(["%s = native.%s\n" % (r, r) for r in rules]),
            executable = False,
        )
        rctx.file(directory + "/BUILD.bazel", "", executable = False)

bazel_shim = repository_rule(
    implementation = _bazel_shim_impl,
)
