#!/bin/bash
# run_each.sh SECONDS PROGRAM...: each test of GoogleTest programs in a process of its own, four at a time:
# what a device does to one leaves the others alone. One that ends with status 77 was not run, nor is what
# has not begun after so many seconds. The last line counts them; exit status 1 if any failed.
set -uo pipefail
export FR_RUN_EACH_END=$(($(date +%s) + $1))
shift
results=$(mktemp) unlisted=$(mktemp)
trap 'rm -f "$results" "$unlisted"' EXIT

# one PROGRAM TEST: its line, and what it said if it failed.
one() {
	local said status=0
	if [ "$(date +%s)" -ge "$FR_RUN_EACH_END" ]; then
		echo "not run: $2: the time is over"
		return
	fi
	said=$(timeout -k 5 30 "$1" --gtest_filter="$2" 2>&1) || status=$?
	case $status in
	0) echo "passed: $2" ;;
	77) echo "not run: $2: $(echo "$said" | sed -n 's/^not run here: //p')" ;;
	*) printf '%s\n' "FAILED: $2, status $status" "$(echo "$said" | grep -vE '^(\[|Note|Running)' | tail -30)" ;;
	esac
}
export -f one

for program in "$@"; do
	listed=$("$program" --gtest_list_tests) && [ -n "$listed" ] || echo "FAILED: $program, which lists no tests" >>"$unlisted"
	echo "$listed" | awk -v program="$program" '
		/^[^ ].*\.$/ { suite = $1; next }
		/^  / { printf "%s%c%s%c", program, 0, suite $1, 0 }'
done | xargs -0 -r -n 2 -P 4 bash -c 'one "$@"' one | tee "$results"
tee -a "$results" <"$unlisted"
count() {
	grep -c "^$1: " "$results" || true
}
echo "$(count passed) passed, $(count FAILED) failed, $(count 'not run') not run"
[ "$(count FAILED)" -eq 0 ]
