# Abseil as Debian installs it, linked statically. Users depend on the upstream labels
# (//absl/strings, ...), which are aliases to the targets below.

package(default_visibility = ["//visibility:public"])

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
