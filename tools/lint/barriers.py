"""Atomic accesses: only through scheduler/atomic.h, and each ordered one says what it pairs with."""
import re

import source

ATOMIC_H = "scheduler/atomic.h"

# A user's program has no scheduler/atomic.h; a model is read by other tools.
_OUTSIDE = ("examples/", "tests/models/")
_RAW = re.compile(
    r"\bstdatomic\b|(?<!std::)\bmemory_order\w*|\b__atomic_\w+|\b__sync_\w+|\batomic_(?:thread_fence|signal_fence|flag\w*|"
    r"init|(?:load|store|exchange|compare_exchange|fetch)\w*)"
)
_CXX = re.compile(r"\bstd::(?:atomic|memory_order)\w*|#\s*include\s*<atomic>")
_ORDERED = re.compile(r"#\s*define\s+(fr_\w+_(?:acquire|release|acq_rel|seq_cst)(?:_seen)?)\s*\(")
_LABEL = re.compile(r"\[([a-z][a-z0-9_.]*)\]\s+pairs\s+((?:\[[a-z][a-z0-9_.]*\](?:\s*,\s*|\s+and\s+)?)+)")
_NAME = re.compile(r"\[([a-z][a-z0-9_.]*)\]")


def check_raw(tree):
    """Atomics by other names than those of scheduler/atomic.h."""
    for file in tree.c_files():
        if file.path == ATOMIC_H or file.path.startswith(_OUTSIDE):
            continue
        for number, match in file.find(_RAW):
            yield file.path, number, "'%s': atomics go through %s" % (match.group().strip(), ATOMIC_H)
        # The C++ of the tests is a client, and cannot include that header.
        if not file.path.startswith("tests/"):
            for number, match in file.find(_CXX):
                yield file.path, number, "'%s': atomics go through %s" % (match.group().strip(), ATOMIC_H)


class _Access:
    """A statement with ordered accesses, and the labels of the comments that belong to it."""

    def __init__(self, names, number):
        self.names = names
        self.number = number
        self.labels = []


def _statements(lines):
    """(first line, last line, text) of each statement, near enough: cut at ; { } outside parentheses."""
    depth, first, text = 0, None, ""
    for number, line in enumerate(lines, 1):
        if line is None:
            continue
        directive = line.lstrip().startswith("#")
        if directive and not line.rstrip().endswith("\\"):
            if text.strip():
                yield first, number - 1, text
            if line.strip():
                yield number, number, line
            depth, first, text = 0, None, ""
            continue
        for char in line:
            if first is None and not char.isspace():
                first = number
            text += char
            depth = max(0, depth + (char == "(") - (char == ")"))
            if char in "{}" or (char == ";" and depth == 0):
                yield first, number, text
                depth, first, text = 0, None, ""
        text += "\n"
    if text.strip():
        yield first, len(lines), text


def _belongs(comment, first, last, lines):
    """Beside the statement, inside it, or directly above it."""
    if first <= comment.last and comment.first <= last:
        return True
    if not comment.alone or comment.last >= first:
        return False
    between = lines[comment.last:first - 1]
    return all(line is None for line in between)


def _accesses(file, ordered):
    lines = file.without_mutations()
    for first, last, text in _statements(lines):
        names = ordered.findall(text)
        if not names:
            continue
        access = _Access(names, first)
        top = first
        for comment in reversed(file.comments):
            if _belongs(comment, top, last, lines):
                access.labels += [(comment.first, m) for m in _LABEL.finditer(comment.text)]
                if comment.alone:
                    top = min(top, comment.first)
        yield access


def check_labels(tree):
    """Each ordered access has a label; partners exist and name each other; labels are unique."""
    header = next((f for f in tree.files if f.path == ATOMIC_H), None)
    if header is None:
        return
    names = sorted(set(_ORDERED.findall(header.code)) | {"fr_fence_seq_cst"}, key=len, reverse=True)
    ordered = re.compile(r"\b(%s)\s*\(" % "|".join(names))
    defined = {}
    for file in tree.c_files(*source.LIBRARY, "bench/"):
        if file.path == ATOMIC_H:
            continue
        attached = set()
        for access in _accesses(file, ordered):
            attached |= {m.group(1) for _, m in access.labels}
            if len(access.labels) < len(access.names):
                yield (file.path, access.number, "%s: %d of %d ordered accesses have a '[label] pairs [partner]' comment"
                       % (", ".join(access.names), len(access.labels), len(access.names)))
        for comment in file.comments:
            for match in _LABEL.finditer(comment.text):
                label = match.group(1)
                if label in defined:
                    yield file.path, comment.first, "[%s] is defined at %s:%d already" % (
                        label, defined[label][0], defined[label][1])
                    continue
                defined[label] = (file.path, comment.first, set(_NAME.findall(match.group(2))))
                if label not in attached:
                    yield file.path, comment.first, "[%s] stands at no ordered access" % label
    for label, (path, number, partners) in defined.items():
        for partner in sorted(partners):
            if partner not in defined:
                yield path, number, "[%s] pairs [%s], which does not exist" % (label, partner)
            elif label not in defined[partner][2]:
                yield path, number, "[%s] pairs [%s], which does not name it back" % (label, partner)
