#!/bin/bash
# run.sh [FILTER]: checks every line of models.txt (or those that contain FILTER): the model as it is must hold in
# every reachable state, and with a known bug it must fail. Needs spin and a C compiler.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
jobs=${FR_MODEL_JOBS:-$(nproc)}

# check EXPECTED MODEL FOLDER FLAGS...: prints the states, or what went wrong.
check() {
	local expected=$1 model=$2 place=$3
	shift 3
	local defines=() compile=(-O0 -w -DMEMLIM=3000) run=(-m1000000)
	if grep -q '^ltl ' "$here/$model"; then
		run+=(-a)
	else
		compile+=(-DSAFETY)
	fi
	defines=("$@")
	mkdir "$place" && cd "$place" || return 1
	if ! spin -a "${defines[@]}" "$here/$model" >spin.log 2>&1; then
		head -3 spin.log
		return 1
	fi
	if ! "${CC:-cc}" "${compile[@]}" -o pan pan.c >cc.log 2>&1; then
		head -20 cc.log
		return 1
	fi
	timeout 300 ./pan "${run[@]}" >pan.log 2>&1
	local errors states
	errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.log)
	states=$(sed -n 's/ *\([0-9.e+]*\) states, stored.*/\1/p' pan.log)
	if [ -z "$errors" ]; then
		echo "did not end: $(tail -1 pan.log)"
		return 1
	fi
	if [ "$expected" = holds ]; then
		# Truncated searches and unreached ends prove nothing.
		if grep -qE 'max search depth too small|out of memory|Search not completed' pan.log; then
			[ "$errors" -gt 0 ] || echo "the search was cut short"
			[ "$errors" -eq 0 ] || grep -m1 'pan:' pan.log
			return 1
		fi
		echo "$states states"
		[ "$errors" -eq 0 ]
	else
		[ "$errors" -gt 0 ] && grep -m1 -o 'pan:.*' pan.log | sed 's/^pan:[0-9]*: //; s/ (at depth.*//'
	fi
}

# one NUMBER EXPECTED MODEL FLAGS...: the result of a line, in files of its number.
one() {
	local number=$1 result=ok
	shift
	check "$1" "$2" "$work/$number" "${@:3}" >"$work/$number.detail" 2>&1 || result=FAILED
	printf '%-7s %s: %s\n' "$result" "$*" "$(cat "$work/$number.detail")" >"$work/$number.line"
}

count=0
while read -r expected model flags; do
	case $expected in '' | '#'*) continue ;; esac
	case "$expected $model $flags" in *"${1:-}"*) ;; *) continue ;; esac
	[ "$(jobs -rp | wc -l)" -lt "$jobs" ] || wait -n
	# shellcheck disable=SC2086
	one "$count" "$expected" "$model" $flags &
	count=$((count + 1))
done <"$here/models.txt"
wait
passed=0
failed=0
for ((number = 0; number < count; number++)); do
	cat "$work/$number.line"
	if grep -q '^ok ' "$work/$number.line"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
