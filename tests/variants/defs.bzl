"""The library compiled in other ways than for users, for tests and mutations."""

load("//tools:flags.bzl", "C_COPTS")

def _variant(copts, link = [], sources = []):
    return struct(copts = copts, link = link, sources = sources)

_SMALL = "-DFR_SMALL_CONSTANTS"
_CHECKED = "-DFR_CHECK_LOCKS"

VARIANTS = {
    # Small rings and early spills, so that rare paths run; allocations under locks are counted.
    "small": _variant([_SMALL, _CHECKED, "-O2"]),
    # Keys move to another segment whenever they can.
    "eager": _variant([_SMALL, _CHECKED, "-DFR_REHOME_EAGERLY", "-O2"]),
    # As small, where a fault shows as the report of a sanitizer.
    "thread": _variant([_SMALL, "-O1", "-fsanitize=thread"], ["-fsanitize=thread"]),
    "address": _variant([_SMALL, "-O1", "-fsanitize=address"], ["-fsanitize=address"]),
    # Each atomic access is a place where a seeded scheduler switches threads.
    "systematic": _variant(["-DFR_SYSTEMATIC", "-O1"], [], ["//tests/systematic:shared_files"]),
}

def fr_library_variant(name, variant, copts = [], **kwargs):
    """The whole library, with what tests share, as one cc_library.

    Args:
      name: of the cc_library.
      variant: one of VARIANTS.
      copts: more of them.
      **kwargs: passed to cc_library.
    """

    # Bazel refuses an empty group of sources; the public headers are always there.
    native.filegroup(
        name = name + "_files",
        testonly = True,
        srcs = [
            # Before runtime, whose provider it replaces: an archive gives the first one.
            "//cuda:headers",
            "//cuda:sources",
            "//include:headers",
            "//scheduler:headers",
            "//scheduler:sources",
            "//runtime:headers",
            "//runtime:sources",
            "//tests/support:c_files",
        ] + VARIANTS[variant].sources,
    )
    native.cc_library(
        name = name,
        testonly = True,
        srcs = [":" + name + "_files"],
        copts = C_COPTS + VARIANTS[variant].copts + copts,
        linkopts = ["-pthread", "-ldl"] + VARIANTS[variant].link,
        linkstatic = True,
        deps = ["//include"],
        **kwargs
    )

def fr_test_c_files(name, test, library, copts):
    """The C files of a test, compiled for one of these libraries.

    Args:
      name: of the cc_library.
      test: the label of an fr_test.
      library: the label of the library.
      copts: what that was compiled with.
    """

    # Bazel refuses an empty group of sources; the public headers are always there.
    native.filegroup(
        name = name + "_files",
        testonly = True,
        srcs = [test + "_c_files", "//include:headers"],
    )
    native.cc_library(
        name = name,
        testonly = True,
        srcs = [":" + name + "_files"],
        copts = C_COPTS + copts,
        linkstatic = True,
        deps = [library],
    )
