#!/bin/bash
# gpu_check_test.sh: tools/gpu_check.sh passes on the simulated driver, and says of each check how many
# tests passed.
set -euo pipefail
tools/gpu_check.sh --simulated "$TEST_TMPDIR/check" | tee "$TEST_TMPDIR/table"
for check in "what CUDA promises" "the backend's calls" "kernels against the host" \
	"work of many streams"; do
	grep -qE "^$check +[1-9][0-9]* +0 +[0-9]+$" "$TEST_TMPDIR/table" || {
		echo "no line of '$check', or with failures"
		exit 1
	}
done
