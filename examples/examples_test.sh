#!/bin/bash
# Each program prints what the file of its name in expected/ says, and ends well. Arguments: the
# programs.
set -euo pipefail
expected=$(dirname "$0")/expected
failed=0
for program in "$@"; do
	name=$(basename "$program")
	if ! printed=$("$program") || ! diff "$expected/$name.txt" - <<<"$printed"; then
		echo "failed: $name"
		failed=1
	fi
done
exit $failed
