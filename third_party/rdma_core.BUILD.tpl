package(default_visibility = ["//visibility:public"])

# Headers only: the library is loaded when a rank looks for a device (runtime/transport/verbs),
# so that a program starts on a machine without it, and no slower.
cc_library(
    name = "ibverbs",
    hdrs = glob([
        "include/infiniband/*.h",
        "include/rdma/*.h",
    ]),
    includes = ["include"],
    linkopts = ["-ldl"],
)
