"""Offline stand-ins for what Bazel 4.2's built-in WORKSPACE suffix downloads.

Bazel 4.2 always loads @rules_cc//cc:defs.bzl and @rules_java//java:defs.bzl
(from @bazel_tools//tools/cpp and //tools/jdk), and every test rule depends on
@remote_coverage_tools. The real rules_cc and rules_java at the versions that
Bazel 4.2 names only forward to the native rules, which is all these do.
"""

_CC = ["cc_binary", "cc_import", "cc_library", "cc_proto_library", "cc_test", "cc_toolchain", "cc_toolchain_suite", "objc_import", "objc_library"]

_JAVA = ["java_binary", "java_import", "java_library", "java_lite_proto_library", "java_package_configuration", "java_plugin", "java_proto_library", "java_runtime", "java_test", "java_toolchain"]

def _forward(names):
    return "".join(["{0} = native.{0}\n".format(n) for n in names])

def _stand_in_impl(rctx):
    rctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % rctx.name)
    for path, content in rctx.attr.contents.items():
        rctx.file(path, content, executable = False)
    for label, path in rctx.attr.links.items():
        rctx.symlink(label, path)

_stand_in = repository_rule(
    implementation = _stand_in_impl,
    attrs = {
        "contents": attr.string_dict(),
        "links": attr.label_keyed_string_dict(allow_files = True),
    },
)

def offline_repositories():
    _stand_in(
        name = "rules_cc",
        contents = {"cc/BUILD.bazel": "", "cc/defs.bzl": _forward(_CC)},
    )
    _stand_in(
        name = "rules_java",
        contents = {"java/BUILD.bazel": "", "java/defs.bzl": _forward(_JAVA)},
    )
    _stand_in(
        name = "remote_coverage_tools",
        contents = {"BUILD.bazel": "".join(["""
filegroup(
    name = "%s",
    srcs = ["lcov_merger.py"],
    visibility = ["//visibility:public"],
)
""" % n for n in ["coverage_report_generator", "lcov_merger"]])},
        links = {"//tools:lcov_merger.py": "lcov_merger.py"},
    )
