"""NVIDIA's toolkit, where it is installed: a test compares our interface with its headers, and its
compiler makes the kernels for the devices of its time.

Without it @cuda_toolkit//:headers is there and empty, and NVCC in toolkit.bzl is "".
"""

_FOUND = """
cc_library(
    name = "headers",
    hdrs = ["include/cuda.h", "include/cudaTypedefs.h"],
    defines = ["FR_CUDA_TOOLKIT"],
    includes = ["include"],
    visibility = ["//visibility:public"],
)
"""

_MISSING = """
cc_library(
    name = "headers",
    visibility = ["//visibility:public"],
)
"""

def _cuda_toolkit_impl(rctx):
    found = True
    for header in ["cuda.h", "cudaTypedefs.h"]:
        path = rctx.path(rctx.attr.path + "/include/" + header)
        if path.exists:
            rctx.symlink(path, "include/" + header)
        else:
            found = False
    nvcc = rctx.path(rctx.attr.path + "/bin/nvcc")
    rctx.file("toolkit.bzl", "NVCC = \"%s\"\n" % (nvcc if nvcc.exists else ""))
    rctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % rctx.name)
    rctx.file("BUILD.bazel", _FOUND if found else _MISSING)

cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    attrs = {"path": attr.string(mandatory = True)},
    local = True,
)
