#!/bin/bash
# gpu_check_test.sh: tools/gpu_check.sh passes on the simulated driver, and says of each part how many
# tests passed. Of the tests of tests/placement those that need the simulator's own switches are not run.
# With --help it tells how it is used, and without DLPack's header what is missing.
set -euo pipefail

tools/gpu_check.sh --help >"$TEST_TMPDIR/help"
grep -q '^gpu_check.sh \[--simulated\] \[FOLDER\]: ' "$TEST_TMPDIR/help"

mkdir -p "$TEST_TMPDIR/old/dlpack"
printf '#define DLPACK_DLPACK_H_\n#define DLPACK_VERSION 60\n' >"$TEST_TMPDIR/old/dlpack/dlpack.h"
if CPATH=$TEST_TMPDIR/old tools/gpu_check.sh --simulated "$TEST_TMPDIR/without" >"$TEST_TMPDIR/reason"; then
	echo "passed with an old DLPack"
	exit 1
fi
grep -q '^no DLPack 1.0 or newer: .*CPATH' "$TEST_TMPDIR/reason"

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
