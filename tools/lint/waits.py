"""The tables of what waits for a device: complete, and what tests/mutations has."""
import re

import mutations

TABLE = "docs/device-waits.md"
_REASONS = {"runtime/device/wait_for.h": "FR_WAIT_", "runtime/device/run.h": "FR_USE_"}
_ROW = re.compile(r"^\| .* \| `(\w+)`(?: `(\w+)`)? \| `([^`]+)`(?: `([^`]+)`)? \|$")
_CALL = re.compile(
    r"\b(?:fr_fence_when_over|fr_devices_wait_for|fr_devices_drain|fr_device_report_tell|"
    r"fr_device_wait_get|fr_fence_park|fr_staging_give_after|fr_placed_is_idle)\(|->(?:wait|wait_client|stream_is_idle)\(")
_FUNCTION = re.compile(r"^(?![\s#}/])[\w *]*?\b(\w+)\(")
# Makes the waits of the first table; parks an op for who calls it.
_FOR_OTHERS = ("fr_wait_for", "fr_fence_park")


def _mutants(files):
    """(flag, value): (test, filter)."""
    found = {}
    for line in files[mutations.TABLE].lines:
        row = re.search(r'\bmutant\(\s*"(\w+)",\s*"[^"]*",\s*"//tests/([^"]+)"', line)
        if row:
            only, value = re.search(r'\bonly = "([^"]*)"', line), re.search(r'\bvalue = "([^"]*)"', line)
            key = row.group(1), value.group(1) if value else None
            found[key] = row.group(2).replace(":", "/"), only.group(1) if only else None
    return found


def _calls(tree):
    """(file, line number, function) of each place that waits."""
    for file in tree.files:
        if not file.path.startswith("runtime/") or file.suffix != ".c":
            continue
        function = None
        for number, line in enumerate(file.code_lines, 1):
            begins = _FUNCTION.match(line)
            function = begins.group(1) if begins else function
            if not begins and _CALL.search(line) and function not in _FOR_OTHERS:
                yield file.path, number, function


def check_waits(tree):
    """A wait that no mutation leaves out, or a row of what is not there."""
    files = {file.path: file for file in tree.files}
    if TABLE not in files:
        return
    known, values, functions = _mutants(files), set(), {}
    for number, line in enumerate(files[TABLE].lines, 1):
        row = _ROW.match(line)
        if not row:
            continue
        key, test = row.group(1, 2), row.group(3, 4)
        values.add(key[1])
        if key not in known:
            yield TABLE, number, "no mutation %s" % " ".join(filter(None, key))
        elif known[key] != test:
            yield TABLE, number, "there it is caught by %s" % " ".join(filter(None, known[key]))
        for name in re.findall(r"\bfr_\w+", line):
            functions[name] = number
    for path, prefix in _REASONS.items():
        for number, match in files[path].find(r"\b%s\w+(?=,)" % prefix):
            if match.group() not in values:
                yield path, number, "%s is not in %s" % (match.group(), TABLE)
    waiting = set()
    for path, number, function in _calls(tree):
        waiting.add(function)
        if function not in functions:
            yield path, number, "%s waits for a device, and is not in %s" % (function, TABLE)
    for name in sorted(functions.keys() - waiting):
        yield TABLE, functions[name], "%s waits for nothing" % name
