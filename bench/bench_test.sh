#!/bin/bash
# Every row and every workload runs, small; the results can be read. Figures are not judged.
set -euo pipefail
folder=${TEST_TMPDIR:-$(mktemp -d)}
"$1" --quick --rounds 1 --out "$folder"
python3 - "$folder" <<'PYTHON'
import json, sys, xml.dom.minidom
rows = json.load(open(sys.argv[1] + "/results.json"))["rows"]
xml.dom.minidom.parse(sys.argv[1] + "/results.svg")
missing = [(row["name"], c["name"]) for row in rows for c in row["contenders"] if c["median"] is None]
assert len(rows) > 15, len(rows)
assert not missing, missing
PYTHON
for workload in full subset rows exchange tasks; do
	"$1" --workload "$workload" --prims 300 --attributes 2 --producers 2 --ordinals 3 --seconds 1
done
