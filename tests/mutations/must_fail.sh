#!/bin/bash
# must_fail.sh BOUND_S PROGRAM [ARGUMENTS]: passes when PROGRAM reports a failed test, dies, or does
# not end within the bound. The fault may need luck to show: three runs are allowed, and as many as
# fit into two minutes.
set -u
bound_s=$1
shift
# What shows in generated programs shows in few of them.
export FR_ORACLE_SECONDS=30
# A fault that a sanitizer has told may hang the program afterwards.
export TSAN_OPTIONS=halt_on_error=1
unset XML_OUTPUT_FILE GTEST_OUTPUT TEST_PREMATURE_EXIT_FILE
for ((run = 1; run <= 3 || SECONDS < 120; run++)); do
	timeout -k 1 "$bound_s" "$@" --gtest_fail_fast >"$TEST_TMPDIR/log" 2>&1 </dev/null
	code=$?
	if [ $code -eq 126 ] || [ $code -eq 127 ]; then
		echo "$1 cannot be run"
		exit 1
	fi
	if [ $code -ne 0 ]; then
		case $code in
		124 | 137) echo "caught in run $run: did not end within $bound_s s" ;;
		*) echo "caught in run $run: exit status $code" && grep -E '^\[  FAILED|ERROR|WARNING' "$TEST_TMPDIR/log" | head -5 ;;
		esac
		exit 0
	fi
	if ! grep -q '^\[  PASSED  \] [1-9]' "$TEST_TMPDIR/log"; then
		echo "no test ran: is the filter right?"
		exit 1
	fi
done
tail -5 "$TEST_TMPDIR/log"
echo "the fault was not caught"
exit 1
