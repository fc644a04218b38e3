"""Words and calls that have no place in the tree, or not in that part of it."""
import re

import source

# Spelled apart, since this file is checked too.
_BANNED = [
    (re.compile(r"\b(?:%s)\b" % "|".join(a + b for a, b in [("TO", "DO"), ("FIX", "ME"), ("XX", "X"), ("HA", "CK")])),
     "left-over work"),
    (re.compile(r"\bfor no" + r"w\b|(?<![\w/])stu" + r"bs?\b", re.IGNORECASE), "left-over work"),
    (re.compile(r"(?<![\w.~$}/-])/(?:home|root)/\w"), "a path of one machine"),
]
_TMP = re.compile(r"(?<![\w.~$}/-])/tm" + r"p/\w")
_NOT_CHECKED = {"LICENSE"}

_ENDS_OR_PRINTS = re.compile(
    r"(?<![\w.>])(abort|exit|_exit|_Exit|quick_exit|printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror|assert|__builtin_trap)\s*\("
)
_HEAP = re.compile(r"(?<![\w.>])(malloc|calloc|realloc|reallocarray|free|aligned_alloc|posix_memalign|strdup|strndup|asprintf)\s*\(")
_SYSTEM = re.compile(r"(?<![\w.>])(pthread_(?:create|join|mutex\w*|cond\w*)|syscall|clock_gettime|nanosleep|usleep|sleep|sched_yield)\s*\(")
_HEAP_FILES = re.compile(r"^scheduler/(memory|os_linux)\.c$")
_SYSTEM_FILES = re.compile(r"^scheduler/(os_linux|cpu_count)\.c$")

_SLEEP = re.compile(r"(?<![\w.>])(sleep|usleep|nanosleep|clock_nanosleep|(?:std::this_thread::)?sleep_(?:for|until))\s*\(")
_SKIPPED = re.compile(r"\bGTEST_SKIP\b|\bDISABLED_\w*|\bSUCCEED\s*\(|\b(?:EXPECT|ASSERT)_TRUE\s*\(\s*true\s*\)")


def check_words(tree):
    """Left-over work and paths of one machine."""
    for file in tree.files:
        if not file.is_text or file.path in _NOT_CHECKED:
            continue
        patterns = list(_BANNED)
        if not file.path.endswith(".md"):
            patterns.append((_TMP, "a path of one machine"))
        for number, line in enumerate(file.lines, 1):
            for pattern, why in patterns:
                match = pattern.search(line)
                if match:
                    yield file.path, number, "'%s': %s" % (match.group(), why)


def check_calls(tree):
    """The library neither ends the process nor prints; memory and the system are reached in one place."""
    for file in tree.c_files(*source.LIBRARY):
        rules = [(_ENDS_OR_PRINTS, "the library never ends the process and never prints")]
        if not _HEAP_FILES.match(file.path):
            rules.append((_HEAP, "memory comes through scheduler/memory.h"))
        if not _SYSTEM_FILES.match(file.path):
            rules.append((_SYSTEM, "the system is reached through scheduler/os.h"))
        for pattern, why in rules:
            for number, match in file.find(pattern):
                yield file.path, number, "%s: %s" % (match.group(1), why)


def check_tests(tree):
    """No sleeps, no test that is skipped, none that cannot fail."""
    for file in tree.c_files("tests/"):
        for number, match in file.find(_SLEEP):
            yield file.path, number, "%s: a test waits for a state, not for a time" % match.group(1)
        for number, match in file.find(_SKIPPED):
            yield file.path, number, "%s: a test that does not test" % match.group()
