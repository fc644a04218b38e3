#!/bin/bash
# placement_test.sh PROGRAM: on the simulated driver the program prints what expected/ says, and the driver
# reports no wait that is missing. Without a device it says so, and ends well.
set -euo pipefail
expected=$(dirname "$0")/expected/placement.txt
log=$TEST_TMPDIR/log
export LD_LIBRARY_PATH=tests/sim FR_SIM_SUMMARY=1
failed=0

# run_in MODE SEED [WORKERS]
run_in() {
	if ! FR_SIM_MODE=$1 FR_SIM_SEED=$2 FLYRAIL_WORKERS=${3:-} "$program" >"$log.out" 2>"$log" || ! diff "$expected" "$log.out"; then
		echo "failed: FR_SIM_MODE=$1 FR_SIM_SEED=$2 FLYRAIL_WORKERS=${3:-}"
		cat "$log"
		failed=1
	fi
}

program=$1
run_in eager 1
run_in random 1
# Without workers each seed is the same run each time. Some of these seeds are late with what the program
# has to wait for, and it sees it where it does not.
for seed in {1..40}; do
	run_in lazy "$seed" 0
done
if ! FR_SIM_DEVICES=0 "$program" >"$log.out" 2>"$log" || ! diff - "$log.out" <<<"no CUDA device that the stage can use"; then
	echo "failed: without a device"
	cat "$log"
	failed=1
fi
exit $failed
