package(default_visibility = ["//visibility:public"])

cc_library(
    name = "sodium",
    hdrs = ["include/sodium.h"] + glob(["include/sodium/*.h"]),
    includes = ["include"],
    linkopts = %{linkopts_sodium} + ["-pthread"],
)
