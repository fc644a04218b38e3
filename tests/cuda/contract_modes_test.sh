#!/bin/bash
# contract_modes_test.sh PROGRAM: what CUDA promises holds in every order of work that the simulated
# driver makes.
set -u
export FR_SIM_MODE=eager
failed=0
for seed in eager 1 2; do
	if [ "$seed" != eager ]; then
		export FR_SIM_MODE=random FR_SIM_SEED=$seed
	fi
	if ! "$1" >"$TEST_TMPDIR/log" 2>&1; then
		echo "FR_SIM_MODE=$FR_SIM_MODE FR_SIM_SEED=${FR_SIM_SEED:-} $1 failed:"
		cat "$TEST_TMPDIR/log"
		failed=1
	fi
done
exit $failed
