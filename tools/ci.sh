#!/bin/bash
# Everything that must hold: the rules of the house, then the tests with each compiler and each
# sanitizer, from an empty output folder. Prints the sum over all of it last.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/packages.sh
exec </dev/null
fr_ensure_packages ci

# Links into another output folder would be taken for folders of this tree.
find . -maxdepth 1 -type l -name 'bazel-*' -delete
work=$(mktemp -d)
passed=0 failed=0
bazel() {
	command bazel --output_base="$work/output" "$@"
}
leave() {
	bazel shutdown >/dev/null 2>&1 || true
	chmod -R u+w "$work" 2>/dev/null || true
	rm -rf "$work"
}
trap leave EXIT

# check NAME COMMAND...: counts as one test.
check() {
	local name=$1 start=$SECONDS
	shift
	echo "== $name"
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed $name"
	fi
	echo "== $name took $((SECONDS - start)) s"
}

# counted NAME COMMAND...: its last line says how many passed and failed.
counted() {
	local name=$1 start=$SECONDS sum more_passed more_failed
	shift
	echo "== $name"
	"$@" 2>&1 | tee "$work/said" || true
	sum=$(tail -1 "$work/said")
	[[ $sum =~ ^[0-9]+\ passed,\ [0-9]+\ failed$ ]] || sum="0 passed, 1 failed"
	read -r more_passed _ more_failed _ <<<"$sum"
	passed=$((passed + more_passed)) failed=$((failed + more_failed))
	echo "== $name took $((SECONDS - start)) s"
}

bazel_tests() {
	rm -f "$work/events"
	bazel test --config=ci --symlink_prefix=/ --build_event_json_file="$work/events" "$@" || true
	touch "$work/events"
	python3 tools/test_summary.py "$work/events"
}

# tests NAME BAZEL_OPTIONS...: each test case counts.
tests() {
	local name=$1
	shift
	counted "$name" bazel_tests "$@"
}

check lint python3 -B tools/lint/lint.py --tidy
check lint-self-test python3 -B tests/lint/lint_test.py
# What users get, and all that is built beside the tests; this run has the mutations too.
check build bazel build --config=ci --symlink_prefix=/ -c opt //...
# Some mutations show by hanging, and are only waited for: one test more than there are processors. The
# demo needs more than the tests do, so //... leaves its test out.
at_once=$(($(nproc) + 1))
tests gcc --jobs=$at_once --local_test_jobs=$at_once -c opt //... //examples:physics_pipeline_test
# As clang compiles it for users; its tests are those of the sanitizers below.
check clang bazel build --config=ci --config=clang --symlink_prefix=/ -c opt //runtime/... //scheduler/... //examples/...
# Each test once with each sanitizer: with clang those that use the library as its users do, with gcc
# the others. Both compilers for all would take longer than a change may wait.
as_users=(//tests/contract/... //tests/stress/... //tests/oracle/... //examples/...)
others=(-- //... "${as_users[@]/#/-}")
# Long, and of one thread: ThreadSanitizer has nothing to look at.
of_one_thread=(//tests/unit:rows_test //tests/unit:store_model_test //tests/unit:store_memory_test)
tests gcc-asan-ubsan --config=asan --config=ubsan "${others[@]}"
tests clang-asan-ubsan --config=clang-asan --config=clang-ubsan "${as_users[@]}"
# ThreadSanitizer does not start where addresses are spread over more than 28 bits.
plain_addresses=()
if [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)" -gt 28 ] && setarch -R true 2>/dev/null; then
	plain_addresses=(--run_under='setarch -R')
fi
tests gcc-tsan --config=tsan "${plain_addresses[@]}" "${others[@]}" "${of_one_thread[@]/#/-}"
tests clang-tsan --config=clang-tsan "${plain_addresses[@]}" "${as_users[@]}"
counted models tests/models/run.sh

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
