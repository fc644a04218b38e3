"""static_library: one archive of everything that a cc_library needs from this tree.

Bazel does not merge the archives of deps by itself.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _static_library_impl(ctx):
    cc = find_cpp_toolchain(ctx)
    archives = []
    for linker_input in ctx.attr.dep[CcInfo].linking_context.linker_inputs.to_list():
        if linker_input.owner.workspace_name:
            continue  # an external repository: a system library
        for library in linker_input.libraries:
            archive = library.pic_static_library or library.static_library
            if archive and archive not in archives:
                archives.append(archive)

    # ar puts each before those that are there. What refers comes before what it refers to, so that
    # of two definitions a linker takes the one nearer to the program.
    archives = reversed(archives)
    script = ctx.actions.declare_file(ctx.label.name + ".mri")
    ctx.actions.write(script, "create %s\n%ssave\nend\n" % (
        ctx.outputs.out.path,
        "".join(["addlib %s\n" % a.path for a in archives]),
    ))
    ctx.actions.run_shell(
        command = "\"$1\" -M <\"$2\"",
        arguments = [cc.ar_executable, script.path],
        inputs = depset(archives + [script], transitive = [cc.all_files]),
        outputs = [ctx.outputs.out],
        mnemonic = "MergeArchives",
    )
    files = depset([ctx.outputs.out])
    return [DefaultInfo(files = files, runfiles = ctx.runfiles([ctx.outputs.out]))]

static_library = rule(
    implementation = _static_library_impl,
    attrs = {
        "dep": attr.label(mandatory = True, providers = [CcInfo]),
        "out": attr.output(mandatory = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    incompatible_use_toolchain_transition = True,
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
