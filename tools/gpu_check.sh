#!/bin/bash
# gpu_check.sh [--simulated] [FOLDER]: whether this machine's CUDA driver keeps what the library counts
# on, and whether the kernels do on its devices what they say. Prints a table; exit status 1 if anything
# failed. With --simulated the driver is the simulated one, and no GPU is needed.
#
# Needs a C and a C++ compiler and GoogleTest, no Bazel: FR_GTEST names a copy of GoogleTest's sources
# (Debian: /usr/src/googletest) where it is not installed. With nvcc, in NVCC or /usr/local/cuda/bin, the
# kernels are built for several devices; else only their text is there, and is compiled by the driver.
# What is built goes into FOLDER, by default one that is removed again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

simulated=''
if [ "${1:-}" = --simulated ]; then
	simulated=1
	shift
fi
work=${1:-}
if [ -z "$work" ]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work/objects"
cc=${CC:-cc} cxx=${CXX:-c++}
nvcc=${NVCC:-/usr/local/cuda/bin/nvcc}
start=$SECONDS

# --- Building. ---

include=(-I. -Iinclude -I"$work/include")
c_flags=(-std=c11 -D_GNU_SOURCE -O2 -g1 -fPIC -fvisibility=hidden "${include[@]}")
cxx_flags=(-std=c++17 -O0 -g1 "${include[@]}")

# compile SOURCE...: to objects of that path, as many at a time as there are processors. The headers may
# be newer than objects of an earlier run, so all are made.
compile() {
	local source
	for source in "$@"; do
		local object=$work/objects/${source//\//_}.o
		case $source in
		*.c) printf '%s\0' "$cc ${c_flags[*]} -c $source -o $object" ;;
		*) printf '%s\0' "$cxx ${cxx_flags[*]} -c $source -o $object" ;;
		esac
	done | xargs -0 -n 1 -P "$(nproc)" bash -c
}

# objects SOURCE...: their names.
objects() {
	local source
	for source in "$@"; do
		echo "$work/objects/${source//\//_}.o"
	done
}

gtest_objects=() gtest_libraries=(-lgtest -lgtest_main)
if [ -n "${FR_GTEST:-}" ]; then
	ln -sfn "$(cd "$FR_GTEST/googletest/include" && pwd)" "$work/include"
	for part in gtest-all gtest_main; do
		$cxx -std=c++17 -O1 -I"$FR_GTEST/googletest" "${include[@]}" -c "$FR_GTEST/googletest/src/$part.cc" \
			-o "$work/objects/$part.o"
		gtest_objects+=("$work/objects/$part.o")
	done
	gtest_libraries=()
fi

image_parts=(cuda/kernels/kernels.ptx)
if [ -x "$nvcc" ]; then
	cuda/kernels/make.sh fatbin "$nvcc" "$work/kernels.fatbin"
	image_parts+=("$work/kernels.fatbin")
fi
cuda/kernels/make.sh image "$work/image.c" "${image_parts[@]}"

library=(cuda/*.c runtime/device/provider.c scheduler/os.c scheduler/os_linux.c scheduler/cpu_count.c
	scheduler/memory.c "$work/image.c")
simulator=(tests/sim/sim_*.c)
declare -A sources=(
	[contract]="tests/cuda/contract_test.cc tests/cuda/contract_memory.cc"
	[backend]=tests/cuda/backend_test.cc
	[rows]=tests/cuda/rows_test.cc
	[streams]=tests/cuda/streams_test.cc
)
# shellcheck disable=SC2086
compile "${library[@]}" "${simulator[@]}" ${sources[*]}
# shellcheck disable=SC2046,SC2086
for program in "${!sources[@]}"; do
	$cxx $(objects ${sources[$program]}) "${gtest_objects[@]}" $(objects "${library[@]}" "${simulator[@]}") \
		-o "$work/$program" "${gtest_libraries[@]}" -pthread -ldl
done
export FR_CUDA_LIBRARY=${FR_CUDA_LIBRARY:-libcuda.so.1}
if [ -z "$simulated" ]; then
	export FR_TEST_LONG=1
else
	FR_CUDA_LIBRARY=$work/libcuda.so.1
	# shellcheck disable=SC2046
	$cc -shared $(objects "${simulator[@]}" cuda/error.c scheduler/os.c scheduler/os_linux.c scheduler/cpu_count.c) \
		-o "$FR_CUDA_LIBRARY" -Wl,-soname,libcuda.so.1 -Wl,-z,nodelete -pthread
fi
built=$((SECONDS - start))

# --- Running. ---

rows=() failed=0
# run NAME PROGRAM: one line of the table. Fails, too, when no test ran.
run() {
	local name=$1 program=$2 from=$SECONDS status=0 passed broken
	timeout 120 "$work/$program" >"$work/$program.log" 2>&1 || status=$?
	passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$work/$program.log" | tail -1)
	broken=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$work/$program.log" | tail -1)
	if [ "$status" -ne 0 ] || [ "${passed:-0}" -eq 0 ]; then
		failed=1
		[ -n "$broken" ] || broken="status $status"
		grep -vE '^\[ RUN|^\[       OK' "$work/$program.log" || true
	fi
	rows+=("$name|${passed:-0}|${broken:-0}|$((SECONDS - from))")
}

run "what CUDA promises" contract
run "the backend's calls" backend
run "kernels against the host" rows
if [ ${#image_parts[@]} -gt 1 ]; then
	export FR_CUDA_TEXT_ONLY=1
	run "the same, from their text" rows
	unset FR_CUDA_TEXT_ONLY
fi

run "work of many streams" streams

{
	echo "driver: $FR_CUDA_LIBRARY; built in $built s"
	grep -h -m 1 '^driver [0-9]' "$work/contract.log" || true
	echo "check|passed|failed|seconds"
	printf '%s\n' "${rows[@]}"
} | awk -F'|' 'NF == 1 { print; next } { printf "%-28s %8s %10s %8s\n", $1, $2, $3, $4 }'
exit "$failed"
