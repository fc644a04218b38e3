#!/usr/bin/env python3
"""The rules of the house: prints 'file:line: message' for each place that breaks one.

usage: lint.py [--root DIR] [--fix] [--tidy] [--except CHECK]... [PATH]...
"""
import argparse
import sys
from pathlib import Path

import barriers
import formatting
import layout
import mutations
import rules
import source
import waits
import words

CHECKS = {
    "atomics": barriers.check_raw,
    "labels": barriers.check_labels,
    "file-length": layout.check_file_length,
    "columns": layout.check_columns,
    "function-length": layout.check_function_length,
    "includes": layout.check_includes,
    "words": words.check_words,
    "calls": words.check_calls,
    "tests": words.check_tests,
    "mutations": mutations.check_mutations,
    "waits": waits.check_waits,
    "rules": rules.check_rules,
    "format": formatting.check_format,
}


def main():
    parser = argparse.ArgumentParser(prog="./dev lint")
    parser.add_argument("--root", default=Path(__file__).resolve().parents[2], help="of the tree to check")
    parser.add_argument("--fix", action="store_true", help="let clang-format change the files first")
    parser.add_argument("--tidy", action="store_true", help="clang-tidy too, over the library")
    parser.add_argument("--except", dest="without", action="append", default=[], choices=sorted(CHECKS))
    parser.add_argument("paths", nargs="*", metavar="PATH", help="tell about these folders and files only")
    options = parser.parse_args()

    tree = source.Tree(options.root, options.paths)
    if options.fix:
        formatting.fix_format(tree)
        tree = source.Tree(options.root, options.paths)
    checks = {name: check for name, check in CHECKS.items() if name not in options.without}
    if options.tidy:
        checks["tidy"] = formatting.check_tidy
    count = 0
    for name, check in checks.items():
        for path, number, message in check(tree):
            if not tree.is_meant(path):
                continue
            print("%s:%d: %s [%s]" % (path, number, message, name))
            count += 1
    print("lint: %d files, %d checks, %d problems" % (len(tree.files), len(checks), count))
    return 1 if count else 0


if __name__ == "__main__":

    sys.exit(main())
