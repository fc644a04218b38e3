#!/usr/bin/env python3
"""Which rules of the contract no test in tests/contract is named after, and why.

usage: rules.py   prints them as a table; exit status 1 if one has neither a test nor a reason
"""
import re
import sys
from pathlib import Path

import source

FOLDER = "tests/contract/"
REASONS = FOLDER + "rules.txt"
RULES = ["R%d" % n for n in range(1, 186)] + ["L%d" % n for n in range(1, 12)] + ["D%d" % n for n in range(1, 27)]

_TEST = re.compile(r"\bTEST(?:_F|_P)?\s*\(\s*\w+\s*,\s*(\w+)\s*\)")
_RULE = re.compile(r"(?:^|(?<=_))([RLD]\d+)(?=_|$)")


def tests_of(tree):
    """By rule: (path, line) of the first test that is named after it."""
    tests = {}
    for file in tree.c_files(FOLDER):
        for number, match in file.find(_TEST):
            for rule in _RULE.findall(match.group(1)):
                tests.setdefault(rule, (file.path, number))
    return tests


def reasons_of(tree):
    """By rule: (line, reason), and the lines that are none."""
    reasons, odd = {}, []
    for file in tree.files:
        if file.path != REASONS:
            continue
        for number, line in enumerate(file.lines, 1):
            rule, _, reason = line.partition(" ")
            if not line or line.startswith("#"):
                continue
            if rule in RULES and rule not in reasons and reason.strip():
                reasons[rule] = (number, reason.strip())
            else:
                odd.append((number, line))
    return reasons, odd


def check_rules(tree):
    """Each rule has a contract test named after it, or a reason why it has none; not both."""
    if not any(file.path == REASONS for file in tree.files):
        return
    tests, (reasons, odd) = tests_of(tree), reasons_of(tree)
    for number, line in odd:
        yield REASONS, number, "'%s' is no rule with a reason, or comes twice" % line
    for rule, (path, number) in tests.items():
        if rule not in RULES:
            yield path, number, "there is no rule %s" % rule
    for rule in RULES:
        if rule in reasons and rule in tests:
            yield REASONS, reasons[rule][0], "%s has a reason to have no test, and a test: %s:%d" % ((rule,) + tests[rule])
        if rule not in reasons and rule not in tests:
            yield REASONS, 1, "%s has no test in %s named after it, and no reason here" % (rule, FOLDER)


def main():
    tree = source.folder_files(Path(__file__).resolve().parents[2], FOLDER)
    tests, (reasons, _) = tests_of(tree), reasons_of(tree)
    missing = [rule for rule in RULES if rule not in tests]
    print("rules of the contract: %d, %d with tests named after them; the others:" % (len(RULES), len(RULES) - len(missing)))
    for rule in missing:
        print("  %-5s %s" % (rule, reasons[rule][1] if rule in reasons else "no test, and no reason"))
    return 0 if all(rule in reasons for rule in missing) else 1


if __name__ == "__main__":
    sys.exit(main())
