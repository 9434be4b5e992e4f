"""with_shared_abseil: a target as it is when Abseil's shared libraries are linked.

A transition, so that the target is this in every build, without a flag for the whole of it.
"""

def _shared_abseil_impl(_settings, _attr):
    # third_party/absl.BUILD.tpl
    return {"//command_line_option:dynamic_mode": "default"}

_shared_abseil = transition(
    implementation = _shared_abseil_impl,
    inputs = [],
    outputs = ["//command_line_option:dynamic_mode"],
)

def _with_shared_abseil_impl(ctx):
    return [DefaultInfo(files = depset(ctx.files.target))]

with_shared_abseil = rule(
    implementation = _with_shared_abseil_impl,
    attrs = {
        "target": attr.label(cfg = _shared_abseil, mandatory = True),
        "_whitelist_function_transition": attr.label(
            default = "@bazel_tools//tools/whitelists/function_transition_whitelist",
        ),
    },
)
