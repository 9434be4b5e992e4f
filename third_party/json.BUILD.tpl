package(default_visibility = ["//visibility:public"])

cc_library(
    name = "json",
    hdrs = glob(["include/nlohmann/**"]),
    includes = ["include"],
)
