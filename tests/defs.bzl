"""fr_test: a GoogleTest program over C code. fr_tests: one for each *_test.cc of a folder."""

load("//tests/variants:defs.bzl", "VARIANTS")
load("//tools:flags.bzl", "CXX_COPTS", "C_COPTS", "TEST_BODY_COPTS")

def fr_test(name, srcs, c_srcs = [], deps = [], variant = None, optimized = False, **kwargs):
    """A GoogleTest program.

    Args:
      name: of the test.
      srcs: C++ files (and headers) with the GoogleTest bodies.
      c_srcs: .c and .h files, compiled as C11 with the warnings of the house: what C++ cannot
        include, such as scheduler/atomic.h.
      deps: more libraries.
      variant: of the library; None: as users get it.
      optimized: the C++ itself does much work, so it is compiled with optimization in any case.
      **kwargs: passed to cc_test.
    """
    if variant:
        libraries = ["//tests/variants:" + variant]
        copts = VARIANTS[variant].copts
    else:
        libraries = ["//:flyrail", "//tests/support"]
        copts = []
    c_library = []
    if c_srcs:
        native.cc_library(
            name = name + "_c",
            testonly = True,
            srcs = [f for f in c_srcs if f.endswith(".c")],
            hdrs = [f for f in c_srcs if f.endswith(".h")],
            copts = C_COPTS + copts,
            linkstatic = True,
            deps = libraries + deps,
        )
        c_library = [":" + name + "_c"]
    native.cc_test(
        name = name,
        srcs = srcs,
        copts = copts + (CXX_COPTS + ["-O2"] if optimized else TEST_BODY_COPTS),
        linkstatic = True,
        deps = c_library + libraries + deps + ["//third_party:gtest_main", "//third_party:jemalloc"],
        **kwargs
    )

    # For tests/mutations, which compiles them again.
    for suffix, files in {
        "_cc_files": srcs + [f for f in c_srcs if f.endswith(".h")],
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
