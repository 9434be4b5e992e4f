# Abseil as Debian installs it. Users depend on the upstream labels (//absl/strings, ...),
# which are aliases to the targets below.

package(default_visibility = ["//visibility:public"])

# As .bazelrc sets it. Only in other modes can a shared library use Abseil: Debian's static
# one is not position-independent.
config_setting(
    name = "static",
    values = {"dynamic_mode": "off"},
)

cc_library(
    name = "headers",
    hdrs = glob([
        "include/absl/**/*.h",
        "include/absl/**/*.inc",
    ]),
    includes = ["include"],
    linkopts = ["-pthread"],
)

%{pkgconfig_targets}
