"""Sizes of files and functions, and who may include whom."""
import posixpath
import re

import source

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 69
MAX_COLUMNS = 100

# Folder -> folders whose headers it may include by quotes, from the root of the repository.
_MAY_INCLUDE = {
    "scheduler": ("scheduler",),
    "runtime": ("runtime", "scheduler"),
    "cuda": ("cuda", "runtime", "scheduler"),
    "examples": ("examples",),
    "bench": ("bench", "cuda", "runtime", "scheduler"),
    "tests": ("tests", "cuda", "runtime", "scheduler", "examples"),
}
_INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
_INTERNAL = re.compile(r"^(scheduler|runtime|cuda|tests|bench|examples)/")


def check_file_length(tree):
    """No file of code is longer than 600 lines."""
    for file in tree.files:
        if file.suffix in source.CODE_SUFFIXES or file.path == "dev":
            if len(file.lines) > MAX_FILE_LINES:
                yield file.path, MAX_FILE_LINES + 1, "%d lines, more than %d" % (len(file.lines), MAX_FILE_LINES)


def wide_lines(file):
    """The numbers of the lines that are too wide."""
    return [number for number, line in enumerate(file.lines, 1) if len(line) > MAX_COLUMNS]


def check_columns(tree):
    """No line of C is longer than 100 columns: clang-format leaves comments as they are."""
    for file in tree.c_files():
        wide = wide_lines(file)
        if wide:
            yield file.path, wide[0], "the first of %d lines of more than %d columns" % (len(wide), MAX_COLUMNS)


def check_function_length(tree):
    """Formatted code has the braces of a function in the first column, and of nothing else in C."""
    for file in tree.c_files():
        start = None
        for number, line in enumerate(file.code_lines, 1):
            if line.startswith("{"):
                start = number
                while start > 1 and not re.search(r"^\s*$|[;}]\s*$|^#", file.code_lines[start - 2]):
                    start -= 1
                if re.match(r"\s*(namespace|class|struct|enum|union|extern)\b[^()]*$", file.code_lines[start - 1]):
                    start = None
            elif line.startswith("}") and start is not None:
                length = number - start + 1
                if length > MAX_FUNCTION_LINES:
                    yield file.path, start, "a function of %d lines, more than %d" % (length, MAX_FUNCTION_LINES)
                start = None


def check_includes(tree):
    """include <- scheduler <- runtime <- cuda, and nobody includes tests."""
    for file in tree.c_files():
        top = file.path.split("/")[0]
        # The text, since code has the insides of strings blanked out.
        for match in _INCLUDE.finditer(file.text):
            number = file.text.count("\n", 0, match.start(1 if match.group(1) else 2)) + 1
            quoted, angled = match.group(1), match.group(2)
            if angled:
                if _INTERNAL.match(angled):
                    yield file.path, number, "<%s>: headers of ours that are not public are included by quotes" % angled
            elif top == "include":
                target = posixpath.normpath(posixpath.join(posixpath.dirname(file.path), quoted))
                if target not in tree.paths:
                    yield file.path, number, '"%s": public headers include public headers only' % quoted
            elif top in _MAY_INCLUDE:
                if quoted.split("/")[0] not in _MAY_INCLUDE[top] or "/" not in quoted:
                    yield file.path, number, '"%s": %s may include %s, by their path from the root' % (
                        quoted, top, ", ".join(_MAY_INCLUDE[top]))
                elif quoted not in tree.paths:
                    yield file.path, number, '"%s" is not a file of this tree' % quoted
