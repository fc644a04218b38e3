"""What clang-format and clang-tidy say."""
import concurrent.futures
import os
import re
import subprocess
import tempfile

import layout
import source

_FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-I.", "-Iinclude"]
# States that the analyzer looks at in one function before it gives up: a fifth of its default takes a
# quarter of the time and reaches the same blocks of the library but for one in 2,000.
_ANALYZER = ["-Xclang", "-analyzer-config", "-Xclang", "max-nodes=40000"]


def _said(tree, output):
    for line in output.splitlines():
        match = re.match(r"(\S+?):(\d+):\d+: (?:warning|error): (.*)$", line)
        if match:
            path = match.group(1)
            root = str(tree.root.resolve()) + "/"
            if path.startswith(root):
                path = path[len(root):]
            yield path, int(match.group(2)), match.group(3)


def check_format(tree):
    """clang-format would change nothing."""
    paths = [f.path for f in tree.c_files() if tree.is_meant(f.path)]
    if not paths:
        return
    run = subprocess.run(["clang-format", "--dry-run", "-Werror", "--ferror-limit=1"] + paths,
                         cwd=tree.root, capture_output=True, text=True, check=False)
    seen = set()
    for path, number, _ in _said(tree, run.stderr):
        if path not in seen:
            seen.add(path)
            yield path, number, "not formatted from here on: ./dev lint --fix does it"


def _trim_ruler(match):
    line = match.group()
    over = len(line) - layout.MAX_COLUMNS
    run = max(re.findall("-+", line), key=len)
    return line.replace(run, run[:max(3, len(run) - over)], 1) if over > 0 else line


def fix_format(tree):
    """Lets clang-format change the files; a comment is filled again only where it is too wide."""
    style = (tree.root / ".clang-format").read_text().replace("ReflowComments: false", "ReflowComments: true")
    for file in tree.c_files():
        if not tree.is_meant(file.path) or not layout.wide_lines(file):
            continue
        path = tree.root / file.path
        path.write_text(re.sub(r"(?m)^/\* ---.*\*/$", _trim_ruler, file.text))
        wide = ["--lines=%d:%d" % (number, number) for number in layout.wide_lines(source.Source(tree.root, file.path))]
        if wide:
            with tempfile.NamedTemporaryFile("w", suffix=".clang-format") as reflow:
                reflow.write(style)
                reflow.flush()
                subprocess.run(["clang-format", "-i", "--style=file:" + reflow.name] + wide + [file.path],
                               cwd=tree.root, check=True)
    paths = [f.path for f in tree.c_files() if tree.is_meant(f.path)]
    if paths:
        subprocess.run(["clang-format", "-i"] + paths, cwd=tree.root, check=True)


def check_tidy(tree):
    """clang-tidy, with the checks of .clang-tidy, over the library."""
    paths = [f.path for f in tree.c_files(*source.LIBRARY) if f.suffix == ".c" and tree.is_meant(f.path)]

    def tidy(path):
        return subprocess.run(["clang-tidy", "--quiet", path, "--"] + _FLAGS + _ANALYZER,
                              cwd=tree.root, capture_output=True, text=True, check=False).stdout

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for output in pool.map(tidy, paths):
            yield from _said(tree, output)
