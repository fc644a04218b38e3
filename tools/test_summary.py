#!/usr/bin/env python3
"""Adds up what Bazel test runs did: names what failed, then prints 'N passed, N failed'.

usage: test_summary.py EVENTS...   files that bazel test --build_event_json_file wrote

A case that recorded what it ran (the property "ran") says it here too. A test program counts its
GoogleTest cases. One that was not built, did not run, or failed
without saying which case, counts as one failure. Exit status 1 if anything failed.
"""
import json
import sys
import urllib.parse
import xml.etree.ElementTree as ET


def read_cases(uri):
    """(passed, failed names, skipped names, what cases say that they ran) of one test.xml."""
    passed, failed, skipped, ran = 0, [], [], []
    try:
        root = ET.parse(urllib.parse.unquote(urllib.parse.urlparse(uri).path)).getroot()
    except (OSError, ET.ParseError):
        return passed, failed, skipped, ran
    for case in root.iter("testcase"):
        name = ".".join(filter(None, [case.get("classname"), case.get("name")]))
        ran += ["%s: %s" % (name, note.get("value")) for note in case.iter("property")
                if note.get("name") == "ran"]
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            skipped.append(name)
        else:
            passed += 1
    return passed, failed, skipped, ran


def add_up(path):
    """(passed, lines about failures, about skipped cases, about what ran) of one run."""
    passed, failures, skips, ran = 0, [], [], []
    wanted, results, statuses, exit_code = set(), {}, {}, None
    with open(path, encoding="utf-8") as events:
        for line in events:
            event = json.loads(line)
            ident = event["id"]
            if "testSize" in event.get("configured", {}):
                wanted.add(ident["targetConfigured"]["label"])
            elif "testResult" in event:
                result = event["testResult"]
                label = ident["testResult"]["label"]
                xml = [o["uri"] for o in result.get("testActionOutput", []) if o["name"] == "test.xml"]
                results.setdefault(label, []).extend(xml)
                statuses.setdefault(label, set()).add(result.get("status", "NO_STATUS"))
            elif "finished" in event:
                exit_code = event["finished"].get("exitCode", {}).get("code", 0)
    for label in sorted(wanted | set(results)):
        failed_before = len(failures)
        for uri in results.get(label, []):
            count, failed, skipped, notes = read_cases(uri)
            passed += count
            failures += ["%s: %s" % (label, name) for name in failed]
            skips += ["%s: %s" % (label, name) for name in skipped]
            ran += ["%s: %s" % (label, note) for note in notes]
        bad = statuses.get(label, {"not built or not run"}) - {"PASSED"}
        if bad and len(failures) == failed_before:
            failures.append("%s: %s" % (label, ", ".join(sorted(bad))))
    # 0: all well, 3: tests failed, 4: nothing to test.
    if exit_code not in (0, 3, 4) and not failures:
        failures.append("bazel itself failed, exit status %s" % exit_code)
    return passed, failures, skips, ran


def main():
    passed, failures, skips, ran = 0, [], [], []
    for path in sys.argv[1:]:
        more = add_up(path)
        passed += more[0]
        failures += more[1]
        skips += more[2]
        ran += more[3]
    for line in ran:
        print("ran " + line)
    for line in skips:
        print("skipped " + line)
    for line in failures:
        print("failed " + line)
    print("%d passed, %d failed" % (passed, len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
