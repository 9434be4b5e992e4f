"""nocompile_test: runs nocompile_test.py with the compiler and the flags of its deps."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _in_runfiles(ctx, path):
    """An include folder of the execution root, as a test sees it from its start folder."""
    for root in (ctx.bin_dir.path, ctx.genfiles_dir.path):
        if path == root:
            return "."
        if path.startswith(root + "/"):
            path = path[len(root) + 1:]
    return "../" + path[len("external/"):] if path.startswith("external/") else path

def _nocompile_test_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    context = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-iquote", "."]
    for option, folders in (
        ("-iquote", context.quote_includes),
        ("-I", context.includes),
        ("-isystem", context.system_includes),
    ):
        for folder in folders.to_list():
            flags += [option, _in_runfiles(ctx, folder)]
    flags += ["-D" + define for define in context.defines.to_list()]

    launcher = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(launcher, "#!/bin/sh\nexec python3 %s %s %s %s\n" % (
        ctx.file._runner.short_path,
        ctx.file.src.short_path,
        toolchain.compiler_executable,
        " ".join(["'%s'" % flag for flag in flags]),
    ), is_executable = True)
    return [DefaultInfo(
        executable = launcher,
        runfiles = ctx.runfiles(
            files = [ctx.file.src, ctx.file._runner],
            transitive_files = context.headers,
        ),
    )]

nocompile_test = rule(
    implementation = _nocompile_test_impl,
    test = True,
    attrs = {
        "src": attr.label(allow_single_file = [".cc"], mandatory = True),
        "deps": attr.label_list(providers = [CcInfo]),
        "_runner": attr.label(
            default = "//tests/nocompile:nocompile_test.py",
            allow_single_file = True,
        ),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
