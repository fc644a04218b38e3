"""Known bugs of the simulated driver and of the way to the driver, each caught by a test.

The file with the bug is compiled again with FR_MUTATE_<NAME> and linked before the rest, as in
tests/mutations.
"""

load("//tools:flags.bzl", "C_COPTS")

def sim_mutations(rows):
    """Makes a test of each row, which passes when the named test fails.

    Args:
      rows: (flag without FR_MUTATE_, label of the file, stem of the test's file in this folder or in
        tests/cuda, filter).
    """
    for flag, file, test, only in rows:
        name = "mutant_" + flag.lower()
        bodies = (test if ":" in test else ":" + test) + "_bodies"
        native.cc_library(
            name = name + "_object",
            testonly = True,
            srcs = [
                file,
                "sim_internal.h",
            ],
            # A mutation may leave something unused.
            copts = C_COPTS + ["-DFR_MUTATE_" + flag, "-Wno-unused"],
            linkstatic = True,
            alwayslink = True,
            deps = [":sim"],
        )
        native.cc_binary(
            name = name + "_program",
            testonly = True,
            deps = [
                ":" + name + "_object",
                bodies,
                ":sim",
                "//third_party:gtest_main",
            ],
        )
        native.sh_test(
            name = name,
            size = "medium",
            srcs = ["//tests/mutations:must_fail.sh"],
            args = [
                "60",
                "$(location :%s_program)" % name,
                "--gtest_filter=" + only,
            ],
            data = [
                ":%s_program" % name,
                ":libcuda.so.1",
            ],
            tags = ["mutation"],
        )
