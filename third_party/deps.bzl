"""The external repositories of Weft, under their upstream names and labels."""

load("@bazel_tools//tools/build_defs/repo:utils.bzl", "maybe")
load("//third_party:absl_labels.bzl", "ABSL_LABELS")
load("//third_party:shims.bzl", "bazel_shim")
load("//third_party:system.bzl", "system_repository")

def weft_deps():
    """Declares every repository that Weft needs, unless it is declared already."""
    for name in ("rules_cc", "rules_java", "rules_proto", "remote_coverage_tools"):
        maybe(bazel_shim, name = name)

    maybe(
        system_repository,
        name = "com_google_absl",
        headers = {"absl": "libabsl-dev"},
        packages = "libabsl-dev",
        pkgconfig_prefix = "absl_",
        labels = ABSL_LABELS,
        root_build = Label("//third_party:absl.BUILD.tpl"),
    )
    maybe(
        system_repository,
        name = "com_google_googletest",
        # Built from the sources that the package ships, so that it gets the same
        # sanitizers as the tests.
        trees = {
            "googletest": "/usr/src/googletest/googletest",
            "googlemock": "/usr/src/googletest/googlemock",
        },
        packages = "googletest",
        root_build = Label("//third_party:googletest.BUILD.tpl"),
    )
    maybe(
        system_repository,
        name = "com_github_google_benchmark",
        headers = {"benchmark": "libbenchmark-dev"},
        libs = ["benchmark"],
        packages = "libbenchmark-dev",
        root_build = Label("//third_party:benchmark.BUILD.tpl"),
    )
