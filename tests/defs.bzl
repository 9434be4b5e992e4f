"""The test macro of Weft."""

def weft_test(name, deps = [], **kwargs):
    """A cc_test on GoogleTest with its main; the source is <name>.cc unless srcs is given."""
    native.cc_test(
        name = name,
        srcs = kwargs.pop("srcs", [name + ".cc"]),
        size = kwargs.pop("size", "small"),
        deps = deps + ["@com_google_googletest//:gtest_main"],
        **kwargs
    )
