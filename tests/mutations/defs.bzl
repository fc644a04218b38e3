"""Known bugs, switched on one at a time: each must be caught by the test that is named with it.

Of the library only the file that holds the bug is compiled again, with FR_MUTATE_<NAME>, and linked
before the rest: the archive members that define the same symbols then stay out. Of a bug in a header
the files that use it are, and the C files of the test.
"""

load("//tests/variants:defs.bzl", "VARIANTS", "fr_test_c_files")
load("//tools:flags.bzl", "C_COPTS", "TEST_BODY_COPTS")

def mutant(name, file, test, only = "", variant = "", bound_s = 90, users = [], deps = [], value = ""):
    """One row of the table.

    Args:
      name: the flag is FR_MUTATE_<name>.
      file: the source file that looks at the flag, as //scheduler:x.c or //runtime:store/x.c.
      test: the label of the fr_test that must fail.
      only: a GoogleTest filter, where a part of the test is enough.
      variant: of the library, see tests/variants. By default "systematic" for tests in that
        folder, else "small".
      bound_s: what does not end within it is caught. Less where the bug shows in no other way, and
        the test takes no time without it.
      users: of a header, the source files of the library that show its bug in the test.
      deps: of the test, beyond the library and //tests/support.
      value: of the flag, where one flag stands for several bugs.
    """
    if not variant:
        variant = "systematic" if test.startswith("//tests/systematic:") else "small"
    return struct(name = name, file = file, test = test, only = only, variant = variant, bound_s = bound_s, users = users, deps = deps, value = value)

def _is_systematic(m):
    return m.variant == "systematic" and m.test.startswith("//tests/systematic:")

# The C files of a test, and its C++: compiled again only where a sanitizer is to look at it.
def _test_files(name, test, variant, copts = []):
    library = "//tests/variants:" + variant
    copts = VARIANTS[variant].copts + copts
    fr_test_c_files(name + "_c", test, library, copts)
    if not VARIANTS[variant].link:
        return [test + "_bodies", ":" + name + "_c"]
    native.cc_library(
        name = name,
        testonly = True,
        srcs = [test + "_cc_files"],
        copts = copts + TEST_BODY_COPTS,
        linkstatic = True,
        alwayslink = True,
        deps = [":" + name + "_c", library],
    )
    return [":" + name, ":" + name + "_c"]

def _program(name, deps, variant):
    # A sanitizer is its own malloc.
    malloc = [] if VARIANTS[variant].link else ["//third_party:jemalloc"]
    native.cc_binary(
        name = name,
        testonly = True,
        linkopts = VARIANTS[variant].link,
        deps = deps + malloc + ["//third_party:gtest_main"],
    )

def _run(name, script, arguments):
    native.sh_test(
        name = name,
        size = "medium",
        srcs = [script],
        args = arguments,
        data = [":" + name + "_program"],
        tags = ["mutation"],
    )

def mutation_tests(mutants):
    """Makes a test of each row, and one of what rows name of each test: it must pass without a flag.

    Those in tests/systematic are such programs themselves.

    Args:
      mutants: list of mutant().
    """
    filters = {}
    files = {}
    for m in mutants:
        library = "//tests/variants:" + m.variant
        body = m.test.replace("//tests/", "").replace("/", "_").replace(":", "_") + "_" + m.variant
        if body not in filters:
            filters[body] = []
            files[body] = _test_files(body, m.test, m.variant)
            if not _is_systematic(m):
                _program("unmutated_" + body + "_program", files[body] + [library] + m.deps, m.variant)
        filters[body].append(m.only or "*")

        name = "_".join([m.name.lower()] + ([m.value.lower()] if m.value else []))
        name += ("" if m.variant == "small" else "_" + m.variant)

        # A mutation may leave something unused.
        copts = ["-DFR_MUTATE_" + m.name + ("=" + m.value if m.value else ""), "-Wno-unused"]
        is_header = m.file.endswith(".h")
        deps = _test_files(name + "_test", m.test, m.variant, copts) if is_header else files[body]
        sources = m.users if is_header else [m.file]
        if sources:
            native.cc_library(
                name = name + "_object",
                testonly = True,
                srcs = sources,
                copts = C_COPTS + VARIANTS[m.variant].copts + copts,
                linkstatic = True,
                alwayslink = True,
                deps = [library],
            )
            deps = deps + [":" + name + "_object"]
        deps = deps + [library] + m.deps
        _program(name + "_program", deps, m.variant)
        _run(name, "must_fail.sh", [
            str(m.bound_s),
            "$(location :%s_program)" % name,
            "--gtest_filter=" + (m.only or "*"),
        ])

    for body, filters_of_body in filters.items():
        if native.existing_rule("unmutated_" + body + "_program"):
            _run("unmutated_" + body, "must_pass.sh", [
                "$(location :unmutated_%s_program)" % body,
                "--gtest_filter=" + ":".join(filters_of_body),
            ])
