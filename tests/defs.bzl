"""fr_test: a GoogleTest program over C code. fr_tests: one for each *_test.cc of a folder."""

load("//tests/variants:defs.bzl", "VARIANTS")
load("//tools:flags.bzl", "C_COPTS", "OPTIMIZED_BODY_COPTS", "TEST_BODY_COPTS")

def fr_test(name, srcs = [], c_srcs = [], bodies_of = None, deps = [], variant = None, optimized = False, local_defines = [], **kwargs):
    """A GoogleTest program.

    Its C++ is compiled once, as <name>_bodies, and linked with other variants of the library too, in
    tests/locks and tests/mutations: it cannot include scheduler/atomic.h, so it sees nothing that
    differs between them.

    Args:
      name: of the test.
      srcs: C++ files (and headers) with the GoogleTest bodies.
      c_srcs: .c and .h files, compiled as C11 with the warnings of the house: what C++ cannot
        include, such as scheduler/atomic.h.
      bodies_of: the label of another fr_test, instead of srcs.
      deps: more libraries; none that hold the library, which comes in a variant.
      variant: of the library; None: as users get it.
      optimized: the C++ itself does much work, so it is compiled with optimization in any case.
      local_defines: of the C++.
      **kwargs: passed to cc_test.
    """
    if variant:
        libraries = ["//tests/variants:" + variant]
        copts = VARIANTS[variant].copts
    else:
        libraries = ["//:flyrail", "//tests/support"]
        copts = []
    c_headers = [f for f in c_srcs if f.endswith(".h")]
    c_library = []
    if c_srcs:
        native.cc_library(
            name = name + "_c",
            testonly = True,
            srcs = [f for f in c_srcs if f.endswith(".c")],
            hdrs = c_headers,
            copts = C_COPTS + copts,
            linkstatic = True,
            deps = libraries + deps,
        )
        c_library = [":" + name + "_c"]
    if not bodies_of:
        header = "precompiled_optimized" if optimized else "precompiled_gtest"
        native.cc_library(
            name = name + "_bodies",
            testonly = True,
            srcs = srcs + c_headers,
            copts = (OPTIMIZED_BODY_COPTS if optimized else TEST_BODY_COPTS) +
                    ["-include", "$(BINDIR)/tests/%s.h" % header],
            linkstatic = True,
            local_defines = local_defines,
            visibility = ["//tests:__subpackages__"],
            deps = ["//tests/support:headers"] + deps + ["//tests:" + header, "//third_party:gtest_main"],
            alwayslink = True,
        )
    native.cc_test(
        name = name,
        linkstatic = True,
        deps = [(bodies_of or ":" + name) + "_bodies"] + c_library + libraries + deps +
               ["//third_party:gtest_main", "//third_party:jemalloc"],
        **kwargs
    )

    # For other folders, which compile them again.
    for suffix, files in {
        "_cc_files": srcs + c_headers,
        "_c_files": c_srcs,
    }.items():
        native.filegroup(
            name = name + suffix,
            testonly = True,
            srcs = files,
            visibility = ["//tests:__subpackages__"],
        )

def fr_tests(size = "small", **kwargs):
    """Makes a test of each foo_test.cc in this folder.

    It takes along foo_cases*.c, foo_cases*.cc and foo_cases*.h, where they exist. What several
    tests share belongs to tests/support.

    Args:
      size: of each.
      **kwargs: passed to fr_test.
    """
    for src in native.glob(["*_test.cc"]):
        name = src[:-len(".cc")]
        stem = name[:-len("_test")]
        fr_test(
            name = name,
            srcs = [src] + native.glob([stem + "_cases*.cc"]),
            c_srcs = native.glob([stem + "_cases*.c", stem + "_cases*.h"]),
            size = size,
            **kwargs
        )
