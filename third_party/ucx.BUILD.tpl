package(default_visibility = ["//visibility:public"])

cc_library(
    name = "ucp",
    hdrs = glob(["include/uc*/**/*.h"]),
    includes = ["include"],
    linkopts = [
        "-lucp",
        "-lucs",
    ],
)
