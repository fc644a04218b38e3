#!/bin/bash
# install_test.sh CHECK INSTALLER ARGUMENTS...: installs into an empty prefix and makes one check.
set -euo pipefail
check=$1
shift
prefix=$TEST_TMPDIR/prefix
"$@" "$prefix" >"$TEST_TMPDIR/install.log"
consumer=$PWD/tests/install/consumer
library=$prefix/lib/libflyrail.so
cd "$TEST_TMPDIR"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
export CMAKE_PREFIX_PATH=$prefix
warnings="-Wall -Wextra -Wpedantic -Werror"

fail() {
	echo "$*"
	exit 1
}

# works PROGRAM...: it says that flyrail works, in the version of the package.
works() {
	local said expected
	expected="flyrail $(pkg-config --modversion flyrail) works"
	said=$("$@") || fail "$*: exit status $?"
	[ "$said" = "$expected" ] || fail "$*: said '$said', not '$expected'"
}

needed() {
	readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

# Builds both programs with what pkg-config says. $1: "" or --static.
# shellcheck disable=SC2046,SC2086
with_pkg_config() {
	gcc -std=c11 $warnings $(pkg-config --cflags flyrail) "$consumer/consumer.c" -o c $(pkg-config --libs $1 flyrail)
	g++ -std=c++17 $warnings $(pkg-config --cflags flyrail) "$consumer/consumer_cxx.cpp" -o cxx $(pkg-config --libs $1 flyrail)
}

with_cmake() {
	cmake -S "$consumer" -B build -DCMAKE_C_FLAGS="$warnings" -DCMAKE_CXX_FLAGS="$warnings" >cmake.log 2>&1 || { cat cmake.log; exit 1; }
	cmake --build build --target "$1_c" "$1_cxx" >cmake.log 2>&1 || { cat cmake.log; exit 1; }
}

case $check in
pkg_config_shared)
	with_pkg_config ""
	needed c | grep -qx libflyrail.so.0 || fail "the program does not use the shared library"
	export LD_LIBRARY_PATH=$prefix/lib
	works ./c
	works ./cxx
	;;
pkg_config_static)
	# With both kinds in one folder, a linker prefers the shared one.
	rm "$prefix"/lib/libflyrail.so*
	with_pkg_config --static
	works ./c
	works ./cxx
	;;
static_backend)
	# Two members of the archive define it: the one with a backend has to be the one that is taken.
	rm "$prefix"/lib/libflyrail.so*
	echo 'extern const void *const fr_device_provider; int main(void) { return !fr_device_provider; }' >backend.c
	# shellcheck disable=SC2046
	gcc backend.c -o backend $(pkg-config --libs --static flyrail)
	./backend || fail "no backend for devices is linked"
	;;
cmake_shared)
	with_cmake flyrail
	needed build/flyrail_c | grep -qx libflyrail.so.0 || fail "the program does not use the shared library"
	works build/flyrail_c
	works build/flyrail_cxx
	;;
cmake_static)
	with_cmake flyrail_static
	needed build/flyrail_static_c | grep -q flyrail && fail "the program uses the shared library"
	works build/flyrail_static_c
	works build/flyrail_static_cxx
	;;
elf)
	[ "$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" = libflyrail.so.0 ] || fail "SONAME"
	readelf -d "$library" | grep -q 'Flags:.*NODELETE' || fail "it can be unloaded while its threads run"
	# Who opens it at run time has about 1.5 KiB of fast thread-local storage for everybody.
	read -r _ _ _ _ _ tls _ < <(readelf -lW "$library" | grep ' TLS ')
	((tls <= 1024)) || fail "$((tls)) bytes of thread-local storage"
	for name in $(needed "$library"); do
		case $name in
		libc.so.6 | libm.so.6 | ld-linux-x86-64.so.2) ;;
		*) fail "it needs $name" ;;
		esac
	done
	;;
names)
	nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | sort >exported
	grep -vE '^(ovstage|ovalign|flyrail)_[a-z0-9_]+@@FLYRAIL_0$' exported && fail "exported, but not of the interface"
	find "$prefix/include" -name '*.h' -exec cat {} + | tr '\n' ' ' |
		grep -oE 'OVSTAGE_EXPORT [^;(]*\b(ovstage|ovalign|flyrail)_[a-z0-9_]+ *\(' |
		sed 's/ *($//; s/.*[ *]//' | sort -u >declared
	sed 's/@@.*//' exported | sort -u >names
	[ "$(wc -l <declared)" -gt 30 ] || fail "only $(wc -l <declared) declarations found"
	comm -13 names declared >missing
	[ ! -s missing ] || fail "declared, but not exported: $(tr '\n' ' ' <missing)"
	comm -23 names declared >hidden
	[ ! -s hidden ] || fail "exported, but not declared: $(tr '\n' ' ' <hidden)"
	;;
dlopen)
	works python3 "$consumer/consumer.py" "$library"
	;;
dlpack)
	cmp /usr/include/dlpack/dlpack.h "$prefix/include/ovx/dlpack/dlpack.h" || fail "not the DLPack header of the system"
	echo '#include <ovstage/ovstage.h>' | gcc -std=c11 -I"$prefix/include" -M -x c - | tr ' ' '\n' | grep dlpack >used
	grep -qx "$prefix/include/ovx/dlpack/dlpack.h" used || fail "the installed header is not used: $(cat used)"
	grep -q '^/usr/include' used && fail "the header of the system is used too: $(cat used)"
	true
	;;
*)
	fail "no check '$check'"
	;;
esac
