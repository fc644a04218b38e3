"""Tests of other folders, run again where allocations and steps of walks under locks are counted."""

load("//tests/variants:defs.bzl", "VARIANTS", "fr_test_c_files")
load("//tools:flags.bzl", "C_COPTS", "TEST_BODY_COPTS")

def lock_tests(tests, on_devices = [], variant = "small", **kwargs):
    """A test of each, which fails if anything is allocated while a mutex is held (scheduler/os.h).

    It fails, too, if a driver is called so, and if a mutex is held for a walk of many steps.

    Args:
      tests: labels of fr_tests.
      on_devices: of more of them, which need //tests/placement.
      variant: of the library.
      **kwargs: passed to cc_test.
    """
    copts = VARIANTS[variant].copts
    library = "//tests/variants:" + variant
    native.cc_library(
        name = variant + "_lock_rule_c",
        testonly = True,
        srcs = ["lock_rule.c"],
        hdrs = ["lock_rule.h"],
        copts = C_COPTS + copts,
        linkstatic = True,
        deps = [library],
    )
    native.cc_library(
        name = variant + "_lock_rule",
        testonly = True,
        srcs = ["lock_rule.cc"],
        copts = TEST_BODY_COPTS,
        linkstatic = True,
        alwayslink = True,
        deps = [":" + variant + "_lock_rule_c", "//third_party:gtest_main"],
    )
    for test in tests + on_devices:
        name = ("locks_" if variant == "small" else variant + "_locks_") + test.split(":")[0].split("/")[-1] + "_" + test.split(":")[1]
        fr_test_c_files(name + "_c", test, library, copts)
        native.cc_test(
            name = name,
            linkstatic = True,
            deps = [test + "_bodies", ":" + name + "_c", ":" + variant + "_lock_rule", library, "//third_party:gtest_main", "//third_party:jemalloc"] +
                   (["//tests/placement"] if test in on_devices else []),
            **kwargs
        )
