#!/bin/bash
# gpu_check_test.sh: tools/gpu_check.sh passes on the simulated driver, and says of each part how many
# tests passed; and where there is no driver, or no GoogleTest, what was not run does not count as passed.
set -euo pipefail
tools/gpu_check.sh --simulated "$TEST_TMPDIR/check" | tee "$TEST_TMPDIR/table"
for part in "what CUDA promises" "the backend's calls" "kernels against the host" "work of many streams" \
	"columns on devices" "clients at the same time" measurements; do
	grep -qE "^$part +([1-9][0-9]*) +\1 +0 +0 +[0-9]+$" "$TEST_TMPDIR/table" || {
		echo "no line of '$part', or with failures, or with what was not run"
		exit 1
	}
done
