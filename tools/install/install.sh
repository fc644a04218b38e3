#!/bin/bash
# install.sh VERSION SOVERSION DLPACK_HEADER PREFIX, run by Bazel with the built files around it:
# headers, libraries, the pkg-config file and the CMake package go under PREFIX.
set -euo pipefail
version=$1 soversion=$2 dlpack=$3 prefix=${4:-}
if [ $# -ne 4 ] || [ -z "$prefix" ]; then
	echo "usage: ./dev install PREFIX" >&2
	exit 2
fi
case $prefix in
/*) ;;
*) prefix=${BUILD_WORKING_DIRECTORY:-$PWD}/$prefix ;;
esac
here=tools/install

while read -r header; do
	# Ours finds the system's DLPack; an installed tree brings its own copy.
	[ "$header" = ovx/dlpack/dlpack.h ] || install -D -m 644 "include/$header" "$prefix/include/$header"
done < <(cd include && find . -name '*.h' | sed 's|^\./||' | sort)
install -D -m 644 "$dlpack" "$prefix/include/ovx/dlpack/dlpack.h"

install -D -m 755 "$here/libflyrail.so.$version" "$prefix/lib/libflyrail.so.$version"
ln -sfn "libflyrail.so.$version" "$prefix/lib/libflyrail.so.$soversion"
ln -sfn "libflyrail.so.$soversion" "$prefix/lib/libflyrail.so"
install -D -m 644 "$here/libflyrail.a" "$prefix/lib/libflyrail.a"

fill() {
	install -d "$(dirname "$2")"
	sed -e "s|@prefix@|$prefix|" -e "s|@version@|$version|" -e "s|@soversion@|$soversion|" \
		-e "s|@major_minor@|${version%.*}|" "$here/$1" >"$2"
	chmod 644 "$2"
}
fill flyrail.pc.in "$prefix/lib/pkgconfig/flyrail.pc"
fill flyrailConfig.cmake.in "$prefix/lib/cmake/flyrail/flyrailConfig.cmake"
fill flyrailConfigVersion.cmake.in "$prefix/lib/cmake/flyrail/flyrailConfigVersion.cmake"
echo "installed flyrail $version under $prefix"
