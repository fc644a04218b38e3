"""precompiled_header: a C++ header that is parsed once, for all that is compiled with the same flags."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    header = ctx.actions.declare_file(ctx.label.name + ".h")

    # The name that both compilers look for beside a header that they are told to include.
    compiled = ctx.actions.declare_file(header.basename + ".gch", sibling = header)
    is_clang = "clang" in toolchain.compiler_executable
    flags = ["-x", "c++-header"] + (["-fpch-instantiate-templates"] if is_clang else [])
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = header.path,
        output_file = compiled.path,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts + flags,
        use_pic = True,
    )
    action = "c++-compile"
    ctx.actions.run_shell(
        inputs = depset([ctx.file.src] + ctx.files.made_anew_with, transitive = [toolchain.all_files]),
        outputs = [header, compiled],
        command = "cp \"$1\" \"$2\" && shift 2 && exec \"$@\"",
        arguments = [ctx.file.src.path, header.path, cc_common.get_tool_for_action(feature_configuration = features, action_name = action)] +
                    cc_common.get_memory_inefficient_command_line(
                        feature_configuration = features,
                        action_name = action,
                        variables = variables,
                    ),
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = action,
            variables = variables,
        ),
        # clang writes its whole path down, so what another output folder made is of no use here.
        execution_requirements = {"no-cache": "1"} if is_clang else {},
        mnemonic = "CppPrecompile",
    )
    context = cc_common.create_compilation_context(headers = depset([header, compiled]))
    return [CcInfo(compilation_context = context)]

precompiled_header = rule(
    doc = "As a dependency of a cc_library it is there; the copts of that must be these, and name it: -include $(BINDIR)/folder/name.h.",
    implementation = _precompiled_header_impl,
    attrs = {
        "copts": attr.string_list(),
        # Headers of the system are no inputs: files that come and change with them.
        "made_anew_with": attr.label_list(allow_files = True),
        "src": attr.label(allow_single_file = [".h"], mandatory = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
