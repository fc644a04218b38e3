#!/bin/bash
# gpu_check_test.sh: tools/gpu_check.sh passes on the simulated driver, and says of each part how many
# tests passed. Of the tests of tests/placement those that need the simulator's own switches are not run.
set -euo pipefail
tools/gpu_check.sh --simulated "$TEST_TMPDIR/check" | tee "$TEST_TMPDIR/table"
# line NAME NOT_RUN
line() {
	grep -qE "^$1 +[1-9][0-9]* +[1-9][0-9]* +0 +$2 +[0-9]+$" "$TEST_TMPDIR/table" || {
		echo "no line of '$1', or with failures, or not with $2 that were not run"
		exit 1
	}
}
for part in "what CUDA promises" "the backend's calls" "kernels against the host" "work of many streams" \
	"columns on devices" "clients at the same time" measurements; do
	line "$part" 0
done
line "clients of the extension" "[1-9][0-9]*"
