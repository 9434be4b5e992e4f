"""system_repository: one C++ dependency as the distribution installed it.

/usr/include itself is never on a command line (`-isystem /usr/include` breaks
libstdc++'s #include_next): only the wanted header folders are linked into the
repository. Static libraries are linked by file name (-l:libfoo.a).

With WEFT_DEPS=source in the environment (--repo_env) a repository that has a
source_script stands on that source tree and on the BUILD files in it instead, so
that it is compiled with our flags.
"""

_INCLUDE_DIRS = ["/usr/local/include", "/usr/include"]

def _lib_dirs(rctx):
    arch = rctx.execute(["uname", "-m"]).stdout.strip()
    return ["/usr/local/lib", "/usr/lib/%s-linux-gnu" % arch, "/usr/lib64", "/usr/lib"]

def _fail_missing(rctx, what):
    fail("\n\nweft: %s not found (repository @%s). Run tools/setup, or: apt-get install %s\n" %
         (what, rctx.name, rctx.attr.packages))

def _find(rctx, dirs, name):
    for d in dirs:
        p = rctx.path(d + "/" + name)
        if p.exists:
            return p
    return None

def _link_flag(rctx, lib):
    """The static library where there is one, else the shared one."""
    if _find(rctx, _lib_dirs(rctx), "lib%s.a" % lib):
        return "-l:lib%s.a" % lib
    if _find(rctx, _lib_dirs(rctx), "lib%s.so" % lib):
        return "-l" + lib
    return _fail_missing(rctx, "lib%s" % lib)

def _pc_field(text, key):
    for line in text.split("\n"):
        if line.startswith(key + ":"):
            return line[len(key) + 1:].strip()
    return ""

_PKGCONFIG_TARGET = """\
cc_library(
    name = "%s",
    linkopts = select({
        ":static": %s,
        "//conditions:default": %s,
    }),
    deps = %s,
)
"""

def _pkgconfig_targets(rctx):
    """One cc_library a <prefix>*.pc file, with deps from its Requires line.

    Abseil has about 140 small libraries; their .pc files carry the exact
    dependency graph, so nothing of it is written down here.
    """
    prefix = rctx.attr.pkgconfig_prefix
    probe = _find(rctx, [d + "/pkgconfig" for d in _lib_dirs(rctx)], prefix + "base.pc")
    if not probe:
        _fail_missing(rctx, prefix + "base.pc")
    out = []
    for name in sorted([p.basename for p in probe.dirname.readdir()]):
        if not (name.startswith(prefix) and name.endswith(".pc")):
            continue
        text = rctx.read(probe.dirname.get_child(name))
        deps = []
        for item in _pc_field(text, "Requires").split(","):
            word = item.strip().split(" ")[0]
            if word.startswith(prefix) and word not in deps:
                deps.append(word)
        shared = [w for w in _pc_field(text, "Libs").split(" ") if w.startswith("-l" + prefix)]
        static = [_link_flag(rctx, w[2:]) for w in shared]
        out.append(_PKGCONFIG_TARGET % (
            name[:-len(".pc")],
            repr(static),
            repr(shared),
            repr(["headers"] + deps),
        ))
    return "\n".join(out)

def _run(rctx, command):
    result = rctx.execute(command)
    if result.return_code != 0:
        fail("\n\nweft: repository @%s: %s\n" % (rctx.name, result.stderr))
    return result.stdout.strip()

def _source(rctx):
    script = rctx.path(rctx.attr.source_script)
    tree = _run(rctx, [script, "--path"])
    for name in rctx.attr.source_folders:
        _run(rctx, ["cp", "-r", tree + "/" + name, name])
    for edit in rctx.attr.source_edits:
        _run(rctx, ["sh", "-c", edit])
    rctx.file("BUILD.bazel", "", executable = False)
    rctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % rctx.name, executable = False)

def _system_repository_impl(rctx):
    if rctx.attr.source_script and rctx.os.environ.get("WEFT_DEPS") == "source":
        _source(rctx)
    else:
        _system(rctx)

def _system(rctx):
    for name, path in rctx.attr.trees.items():
        p = rctx.path(path) if path.startswith("/") else _find(rctx, _lib_dirs(rctx), path)
        if not p or not p.exists:
            _fail_missing(rctx, path)
        rctx.symlink(p, name)
    for name, package in rctx.attr.headers.items():
        p = _find(rctx, _INCLUDE_DIRS, name)
        if not p:
            _fail_missing(rctx, "header folder %s/ (package %s)" % (name, package))
        rctx.symlink(p, "include/" + name)

    substitutions = {
        "%{linkopts_" + lib + "}": repr([_link_flag(rctx, lib)])
        for lib in rctx.attr.libs
    }
    if rctx.attr.pkgconfig_prefix:
        substitutions["%{pkgconfig_targets}"] = _pkgconfig_targets(rctx)
    rctx.template("BUILD.bazel", rctx.attr.root_build, substitutions, executable = False)

    # Upstream labels: {"absl/strings:str_format": "absl_str_format"}.
    packages = {}
    for label, target in rctx.attr.labels.items():
        package, name = label.split(":")
        packages.setdefault(package, []).append(
            "alias(name = \"%s\", actual = \"//:%s\")\n" % (name, target),
        )
    for package, aliases in packages.items():
        rctx.file(
            package + "/BUILD.bazel",
            "package(default_visibility = [\"//visibility:public\"])\n\n" + "".join(aliases),
            executable = False,
        )
    rctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % rctx.name, executable = False)

system_repository = repository_rule(
    implementation = _system_repository_impl,
    environ = ["WEFT_DEPS"],
    attrs = {
        "packages": attr.string(mandatory = True, doc = "For the message: what apt-get should install."),
        "headers": attr.string_dict(doc = "Header folder -> the package that has it."),
        "libs": attr.string_list(doc = "Libraries; %{linkopts_<lib>} in root_build."),
        "trees": attr.string_dict(doc = "Name in the repository -> a folder: its absolute path, or where it is below the folder of libraries."),
        "pkgconfig_prefix": attr.string(doc = "Makes %{pkgconfig_targets} from <prefix>*.pc; root_build says by a config_setting :static when they link static libraries."),
        "root_build": attr.label(allow_single_file = True, mandatory = True),
        "labels": attr.string_dict(doc = "Upstream label -> target of the root package."),
        "source_script": attr.label(doc = "With --path prints the folder of the source tree."),
        "source_folders": attr.string_list(doc = "What is taken of the source tree."),
        "source_edits": attr.string_list(doc = "Shell commands run in the copied tree."),
    },
)
