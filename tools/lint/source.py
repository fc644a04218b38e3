"""What the checks look at: the files of the tree, and C text split into code and comments."""
import re
import subprocess
from pathlib import Path

C_SUFFIXES = {".c", ".h", ".cc", ".cu"}
CODE_SUFFIXES = C_SUFFIXES | {".py", ".sh", ".bzl", ".bazel", ".BUILD", ".pml"}
LIBRARY = ("scheduler/", "runtime/", "cuda/")

_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""",
    re.DOTALL,
)
_MUTATION = re.compile(r"#\s*(ifdef|ifndef|if)\b(.*FR_MUTATE_.*)")
_CONDITIONAL = re.compile(r"#\s*(if|ifdef|ifndef|elif|else|endif)\b")


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


class Comment:
    """A comment, or several line comments below each other."""

    def __init__(self, first, last, text, alone):
        self.first = first  # line numbers, from 1
        self.last = last
        self.text = text
        self.alone = alone  # no code before it on its first line


class Source:
    """One file. `code` is its text with comments and the insides of strings blanked out."""

    def __init__(self, root, path):
        self.path = path
        self.suffix = Path(path).suffix
        raw = (root / path).read_bytes()
        self.is_text = b"\0" not in raw
        self.text = raw.decode("utf-8", "replace") if self.is_text else ""
        self.lines = self.text.split("\n")
        if self.lines and not self.lines[-1]:
            self.lines.pop()
        self.is_c = self.suffix in C_SUFFIXES
        self.code, self.comments = self.text, []
        if self.is_c:
            self._split()
        self.code_lines = self.code.split("\n")

    def _split(self):
        parts, at = [], 0
        for match in _TOKEN.finditer(self.text):
            parts.append(self.text[at:match.start()])
            token = match.group()
            if match.lastgroup == "string":
                parts.append(token[0] + _blank(token[1:-1]) + token[-1])
            else:
                parts.append(_blank(token))
                first = self.text.count("\n", 0, match.start()) + 1
                before = self.text[self.text.rfind("\n", 0, match.start()) + 1:match.start()]
                self._add_comment(first, token, not before.strip())
            at = match.end()
        parts.append(self.text[at:])
        self.code = "".join(parts)

    def _add_comment(self, first, token, alone):
        last = first + token.count("\n")
        if token.startswith("//"):
            text = token[2:]
        else:
            text = re.sub(r"\n[ \t]*\*?", " ", token[2:-2])
        previous = self.comments[-1] if self.comments else None
        if previous and alone and previous.alone and token.startswith("//") and previous.last == first - 1:
            previous.last, previous.text = last, previous.text + " " + text
        else:
            self.comments.append(Comment(first, last, text, alone))

    def number_at(self, offset):
        """The line number of a place in code."""
        return self.code.count("\n", 0, offset) + 1

    def find(self, pattern):
        """(line number, match) of a pattern in the code."""
        for match in re.finditer(pattern, self.code):
            yield self.number_at(match.start()), match

    def without_mutations(self):
        """Code lines with the text of known bugs, and the lines that switch them, as None."""
        out, stack = [], []
        for line in self.code_lines:
            stripped = line.strip()
            conditional = _CONDITIONAL.match(stripped)
            mutation = _MUTATION.match(stripped)
            if mutation:
                negated = mutation.group(1) == "ifndef" or "!" in mutation.group(2)
                stack.append("keep" if negated else "drop")
                out.append(None)
            elif conditional and conditional.group(1) in ("if", "ifdef", "ifndef"):
                stack.append("other")
                out.append(None if "drop" in stack else line)
            elif conditional and stack and stack[-1] in ("keep", "drop"):
                if conditional.group(1) == "endif":
                    stack.pop()
                elif conditional.group(1) == "else":
                    stack[-1] = "drop" if stack[-1] == "keep" else "keep"
                out.append(None)
            else:
                if conditional and conditional.group(1) == "endif" and stack:
                    stack.pop()
                out.append(None if "drop" in stack else line)
        return out


class Files:
    """Some files of the project."""

    def __init__(self, root, paths):
        self.root = Path(root)
        self.files = [Source(self.root, p) for p in paths]

    def c_files(self, *prefixes):
        """C and C++ files, of all folders or of some."""
        return [f for f in self.files if f.is_c and (not prefixes or f.path.startswith(prefixes))]


def folder_files(root, folder):
    """All of a folder, where there may be no git."""
    found = (p for p in (Path(root) / folder).rglob("*") if p.is_file())
    return Files(root, sorted(str(p.relative_to(root)) for p in found))


class Tree(Files):
    """All files that git tracks or would add."""

    def __init__(self, root, only=()):
        self.only = tuple(only)  # folders and files that messages and changes are about
        listed = subprocess.run(
            ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root, check=True, capture_output=True,
        ).stdout.decode()
        paths = sorted(p for p in set(listed.split("\0")) if p and (Path(root) / p).is_file())
        super().__init__(root, paths)
        self.paths = set(paths)

    def is_meant(self, path):
        """Whether a message about this file is wanted."""
        return not self.only or any(path == o or path.startswith(o.rstrip("/") + "/") for o in self.only)
