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
        source_script = Label("//tools:abseil_source"),
        source_folders = ["absl"],
        source_edits = [
            # The @platforms inside Debian's Bazel 4.2.3 has no wasm constraints.
            "sed -i 's,@platforms//cpu:wasm[36][24],@platforms//os:watchos,' absl/BUILD.bazel",
            # absl::string_view and its like stay the types that they are in the package.
            "cp /usr/include/absl/base/options.h absl/base/options.h",
        ],
    )

    # What the BUILD files in Abseil's source load; not needed by the installed Abseil.
    maybe(
        native.local_repository,
        name = "bazel_skylib",
        path = "/usr/share/bazel/tools/skylib",
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
    maybe(
        system_repository,
        name = "libsodium",
        headers = {
            "sodium.h": "libsodium-dev",
            "sodium": "libsodium-dev",
        },
        libs = ["sodium"],
        packages = "libsodium-dev",
        root_build = Label("//third_party:libsodium.BUILD.tpl"),
    )
    maybe(
        system_repository,
        name = "com_github_nlohmann_json",
        headers = {"nlohmann": "nlohmann-json3-dev"},
        packages = "nlohmann-json3-dev",
        root_build = Label("//third_party:json.BUILD.tpl"),
    )
    maybe(
        system_repository,
        name = "rdma_core",
        headers = {
            "infiniband": "libibverbs-dev",
            "rdma": "librdmacm-dev",
        },
        packages = "libibverbs-dev librdmacm-dev",
        root_build = Label("//third_party:rdma_core.BUILD.tpl"),
    )

    # For `tools/bench verbs --peers` alone.
    maybe(
        system_repository,
        name = "ucx",
        headers = {
            "ucp": "libucx-dev",
            "ucs": "libucx-dev",
        },
        packages = "libucx-dev",
        root_build = Label("//third_party:ucx.BUILD.tpl"),
    )
    maybe(
        system_repository,
        name = "openmpi",
        trees = {"include": "openmpi/include"},
        packages = "libopenmpi-dev",
        root_build = Label("//third_party:openmpi.BUILD.tpl"),
    )
