package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(["include/**/*.h"]),
    # The C interface alone.
    defines = ["OMPI_SKIP_MPICXX"],
    includes = ["include"],
)

cc_library(
    name = "mpi",
    linkopts = ["-lmpi"],
    deps = [":headers"],
)

cc_library(
    name = "shmem",
    # It stands on libraries of Open MPI's that it does not name to the linker.
    linkopts = [
        "-loshmem",
        "-lmpi",
        "-Wl,--allow-shlib-undefined",
    ],
    deps = [":headers"],
)
