#!/bin/bash
# gpu_check.sh [--simulated] [FOLDER]: whether the library does on this machine's CUDA devices what it
# says. Prints a table, and what was measured; exit status 1 if anything failed, or nothing could be run.
# With --simulated the driver is the simulated one, no GPU is needed, and all is short.
#
# Needs a C compiler and DLPack's header, 1.0 or newer (Debian: libdlpack-dev); where the compiler does not
# find it, CPATH names the folder that has dlpack/dlpack.h. No Bazel. With a C++ compiler and GoogleTest it
# also asks the driver whether it keeps what the library counts on, and compares the kernels: FR_GTEST names
# a copy of GoogleTest's sources (Debian: /usr/src/googletest) where it is not installed. With nvcc, in NVCC
# or /usr/local/cuda/bin, the kernels are built for several devices; else only their text is there, and is
# compiled by the driver. A part that cannot run here counts as not run, and the reason is under the table.
# Each part has a time, and all of them together at most FR_GPU_CHECK_SECONDS (450).
# What is built goes into FOLDER, by default one that is removed again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
	sed -n '2,/^set /s/^# \{0,1\}//p' tools/gpu_check.sh
}

simulated=''
case ${1:-} in
--help | -h)
	usage
	exit
	;;
--simulated)
	simulated=1
	shift
	;;
esac
case ${1:-} in
-*)
	usage >&2
	exit 2
	;;
esac
work=${1:-}
if [ -z "$work" ]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work/objects"
cc=${CC:-cc} cxx=${CXX:-c++}
nvcc=${NVCC:-/usr/local/cuda/bin/nvcc}
start=$SECONDS
end=$((start + ${FR_GPU_CHECK_SECONDS:-450}))

# --- What is there. ---

include=(-I. -Iinclude -I"$work/include")
if ! command -v "${cc%% *}" >/dev/null; then
	echo "no C compiler: there is no '$cc' (CC names another one)"
	exit 1
fi
if ! $cc -std=c11 "${include[@]}" -fsyntax-only -x c - 2>"$work/dlpack.log" <<-'END'; then
	#include <ovx/dlpack/dlpack.h>
	#if DLPACK_MAJOR_VERSION < 1
	#error "DLPack is older than 1.0"
	#endif
END
	echo "no DLPack 1.0 or newer: the compiler has to find <dlpack/dlpack.h> (Debian: libdlpack-dev; CPATH names the folder that has dlpack/):"
	cat "$work/dlpack.log"
	exit 1
fi
gtest_sources=() gtest_libraries=(-lgtest_main -lgtest) no_gtest=''
if [ -n "${FR_GTEST:-}" ]; then
	ln -sfn "$(cd "$FR_GTEST/googletest/include" && pwd)" "$work/include"
	gtest_sources=("$FR_GTEST"/googletest/src/{gtest-all,gtest_main}.cc)
	gtest_libraries=()
	include+=(-I"$FR_GTEST/googletest")
elif ! command -v "$cxx" >/dev/null; then
	no_gtest="no C++ compiler"
elif ! echo '#include <gtest/gtest.h>' | $cxx -std=c++17 -x c++ - -o "$work/gtest" "${gtest_libraries[@]}" 2>"$work/gtest.log"; then
	no_gtest="no GoogleTest (FR_GTEST names its sources)"
fi

image_parts=(cuda/kernels/kernels.ptx)
if [ -x "$nvcc" ]; then
	cuda/kernels/make.sh fatbin "$nvcc" "$work/kernels.fatbin"
	image_parts+=("$work/kernels.fatbin")
fi
cuda/kernels/make.sh image "$work/image.c" "${image_parts[@]}"

# --- Building. ---

# The library as users get it; quickly where its speed means nothing.
library_level=-O2
[ -z "$simulated" ] || library_level=-O0
library=(scheduler/*.c runtime/*/*.c cuda/*.c "$work/image.c")
simulator=(tests/sim/sim_*.c)
client=(tests/devices/client.c tests/devices/client_stage.c)
declare -A c_programs=(
	[probe]=tests/cuda/loader_probe.c
	[checks]="${client[*]} $(echo tests/devices/checks*.c)"
	[stress]="${client[*]} tests/devices/stress.c"
	[bench]="bench/device.c bench/device_main.c bench/rows_device.c bench/runner.c bench/report_text.c
		bench/bench_clock.c bench/stage.c bench/machine.c"
)
declare -A gtest_programs=(
	[contract]="tests/cuda/contract_test.cc tests/cuda/contract_memory.cc"
	[backend]=tests/cuda/backend_test.cc
	[rows]=tests/cuda/rows_test.cc
	[streams]=tests/cuda/streams_test.cc
)
# On the machine's driver a few files take the simulator's place; a part of them shows that they do.
on_driver=(tests/devices/sim_on_driver.cc tests/support/heap.c)
if [ -n "$simulated" ]; then
	placement=(tests/placement/{complete,seed_sequence}_test.cc)
else
	placement=(tests/placement/*_test.cc)
fi
declare -A placement_programs=()
for source in "${placement[@]}"; do
	name=$(basename "$source" _test.cc)
	cases=tests/placement/${name}_cases.cc
	[ -f "$cases" ] || cases=''
	placement_programs[placement_$name]="$source $cases ${on_driver[*]}"
done
[ -z "$no_gtest" ] || gtest_programs=() placement_programs=()

# commands LEVEL SOURCE...: those that compile them, to objects of that path.
commands() {
	local level=$1 source options
	shift
	for source in "$@"; do
		options="$level -g1 ${include[*]} -c $source -o $(objects "$source")"
		case $source in
		*.c) printf '%s\0' "$cc -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden $options" ;;
		*) printf '%s\0' "$cxx -std=c++17 $options" ;;
		esac
	done
}

# objects SOURCE...: their names.
objects() {
	local source
	for source in "$@"; do
		echo "$work/objects/${source//\//_}.o"
	done
}

# The headers may be newer than objects of an earlier run, so all are made, the longest first. A source
# of two programs is compiled once.
# shellcheck disable=SC2046,SC2048,SC2086
{
	commands -O0 $(printf '%s\n' ${gtest_programs[*]:-} ${placement_programs[*]:-} "${gtest_sources[@]}" | sort -u)
	commands $library_level "${library[@]}"
	commands -O2 "${simulator[@]}" $(printf '%s\n' ${c_programs[*]} | sort -u)
} | xargs -0 -n 1 -P "$(nproc)" bash -c
# shellcheck disable=SC2046,SC2086
for program in "${!c_programs[@]}"; do
	$cc $(objects ${c_programs[$program]} "${library[@]}") -o "$work/$program" -pthread -ldl -lm
done
# shellcheck disable=SC2046,SC2086
for program in "${!gtest_programs[@]}"; do
	$cxx $(objects ${gtest_programs[$program]} "${gtest_sources[@]}" "${library[@]}" "${simulator[@]}") \
		-o "$work/$program" "${gtest_libraries[@]}" -pthread -ldl -lm
done
placement_paths=()
# shellcheck disable=SC2046,SC2086
for program in "${!placement_programs[@]}"; do
	placement_paths+=("$work/$program")
	$cxx $(objects ${placement_programs[$program]} "${gtest_sources[@]}" "${library[@]}") \
		-o "$work/$program" "${gtest_libraries[@]}" -pthread -ldl -lm
done
export FR_CUDA_LIBRARY=${FR_CUDA_LIBRARY:-libcuda.so.1}
if [ -n "$simulated" ]; then
	FR_CUDA_LIBRARY=$work/libcuda.so.1
	# shellcheck disable=SC2046
	$cc -shared $(objects "${simulator[@]}" cuda/error.c scheduler/os.c scheduler/os_linux.c scheduler/cpu_count.c) \
		-o "$FR_CUDA_LIBRARY" -Wl,-soname,libcuda.so.1 -Wl,-z,nodelete -pthread
fi
# Programs in which the library itself finds the driver find that one.
case $FR_CUDA_LIBRARY in
*/*) export LD_LIBRARY_PATH=${FR_CUDA_LIBRARY%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ;;
esac
built=$((SECONDS - start))

# --- Running. ---

rows=() reasons=() failed=0 any_passed=0
found=$("$work/probe")
no_device=''
case $found in
"no CUDA"*) no_device=$found ;;
esac

# not_run NAME REASON
not_run() {
	rows+=("$1|0|0|0|1|0")
	reasons+=("$1, not run: $2")
}

# run NAME SECONDS COMMAND...: one line of the table. Its last line, or what GoogleTest says,
# tells how many passed and failed. Fails, too, when no test ran.
run() {
	local name=$1 seconds=$2 from=$SECONDS status=0 log passed=0 broken=0 left_out=0
	shift 2
	if [ -n "$no_device" ]; then
		not_run "$name" "$no_device"
		return
	fi
	if [ $((end - SECONDS)) -lt 10 ]; then
		not_run "$name" "the time is over"
		return
	fi
	[ $((end - SECONDS)) -ge "$seconds" ] || seconds=$((end - SECONDS))
	log=$work/$name.log
	timeout -k 5 "$seconds" "$@" >"$log" 2>&1 || status=$?
	if [[ $(grep -E '^[0-9]+ passed, ' "$log" | tail -1) =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ not\ run$ ]]; then
		passed=${BASH_REMATCH[1]} broken=${BASH_REMATCH[2]} left_out=${BASH_REMATCH[3]}
	else
		passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -1)
		broken=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -1)
		passed=${passed:-0} broken=${broken:-0}
	fi
	if [ "$status" -ne 0 ] && [ "$broken" -eq 0 ]; then
		broken=1
		[ "$status" -ne 124 ] || echo "stopped after $seconds s" >>"$log"
		reasons+=("$name: exit status $status")
	fi
	if [ "$broken" -ne 0 ] || [ "$passed" -eq 0 ]; then
		failed=1
		echo "== $name"
		grep -vE '^\[ RUN|^\[       OK|^passed: ' "$log" | tail -100 || true
	fi
	any_passed=$((any_passed + passed))
	while read -r line; do
		reasons+=("$name, not run: $line")
	done < <(grep -hE '^not run: |: not run, |was not run$' "$log" | sed 's/^not run: .*: //; s/^.*: not run, //' |
		sort | uniq -c)
	rows+=("$name|$((passed + broken + left_out))|$passed|$broken|$left_out|$((SECONDS - from))")
}

# run_gtest NAME SECONDS COMMAND...
run_gtest() {
	if [ -n "$no_gtest" ]; then
		not_run "$1" "$no_gtest"
	else
		run "$@"
	fi
}

if [ -n "$simulated" ]; then
	stress_seconds=3 bench_options=(--quick)
else
	stress_seconds=60
	export FR_TEST_LONG=1
fi
run_gtest "what CUDA promises" 60 "$work/contract"
run_gtest "the backend's calls" 60 "$work/backend"
run_gtest "kernels against the host" 60 "$work/rows"
if [ ${#image_parts[@]} -gt 1 ]; then
	export FR_CUDA_TEXT_ONLY=1
	run_gtest "the same, from their text" 60 "$work/rows"
	unset FR_CUDA_TEXT_ONLY
fi
run_gtest "work of many streams" 60 "$work/streams"
# The simulated driver's reports make these fail, too.
export FR_SIM_SUMMARY=1
# A held stream holds up those that share its queue of the device.
export CUDA_DEVICE_MAX_CONNECTIONS=32
run "columns on devices" 120 "$work/checks"
run_gtest "clients of the extension" 120 tests/devices/run_each.sh 100 "${placement_paths[@]}"
run "clients at the same time" $((stress_seconds + 30)) "$work/stress" "$stress_seconds"
# A row takes some seconds; those that are not begun in time are not run.
left=$((end - SECONDS - 30))
[ -n "$simulated" ] || bench_options=(--seconds $((left < 1 ? 1 : left < 60 ? left : 60)))
run "measurements" 100 "$work/bench" "${bench_options[@]}"

[ ! -f "$work/measurements.log" ] || cat "$work/measurements.log"
echo
{
	echo "driver: $FR_CUDA_LIBRARY, $found; built in $built s, all in $((SECONDS - start)) s"
	echo "part|tests|passed|failed|not run|seconds"
	printf '%s\n' "${rows[@]}"
} | awk -F'|' 'NF == 1 { print; next } { printf "%-28s %6s %7s %7s %8s %8s\n", $1, $2, $3, $4, $5, $6 }'
[ ${#reasons[@]} -eq 0 ] || printf '%s\n' "${reasons[@]}"
[ "$any_passed" -gt 0 ] || failed=1
exit "$failed"
