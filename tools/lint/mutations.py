"""The table of known bugs names the files that have them."""
import re

TABLE = "tests/mutations/BUILD.bazel"
_ROW = re.compile(r'\bmutant\(\s*"(\w+)",\s*"//([^":]*):([^"]+)"')


def check_mutations(tree):
    """A row whose file lost its bug would test nothing but the sound program."""
    files = {file.path: file for file in tree.files}
    if TABLE not in files:
        return
    for number, line in enumerate(files[TABLE].lines, 1):
        row = _ROW.search(line)
        if not row:
            continue
        flag, path = "FR_MUTATE_" + row.group(1), "%s/%s" % (row.group(2), row.group(3))
        if path not in files:
            yield TABLE, number, "%s is not a file of this tree" % path
        elif not re.search(r"\b%s\b" % flag, files[path].text):
            yield TABLE, number, "%s does not look at %s" % (path, flag)
