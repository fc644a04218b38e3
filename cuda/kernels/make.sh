#!/bin/bash
# make.sh ptx NVCC OUT            the text that is kept with the sources, cuda/kernels/kernels.ptx
# make.sh fatbin NVCC OUT         code for the devices below, and for later ones as text
# make.sh image OUT PTX [FATBIN]  the C file that holds one or both
# From the root of the repository.
set -euo pipefail

source=cuda/kernels/kernels.cu
options=(-std=c++17 -I.)

# The oldest version of the language that the code needs: a driver refuses newer text than itself.
make_ptx() {
	"$1" "${options[@]}" -ptx -arch=compute_80 -o "$2.new" "$source"
	sed 's/^\.version .*/.version 7.0/' "$2.new" >"$2"
	rm "$2.new"
}

make_fatbin() {
	local architecture targets=()
	for architecture in 80 90 100; do
		targets+=(-gencode "arch=compute_$architecture,code=sm_$architecture")
	done
	targets+=(-gencode arch=compute_80,code=compute_80)
	"$1" "${options[@]}" --fatbin -compress-mode=size "${targets[@]}" -o "$2" "$source"
}

# Text needs a 0 behind it.
bytes() {
	echo "static _Alignas(16) const unsigned char $1[] = {"
	od -An -v -tu1 "$2" | sed 's/ *\([0-9][0-9]*\)/\1,/g'
	echo "0};"
}

make_image() {
	local out=$1 ptx=$2 fatbin=${3:-}
	{
		echo '#include "cuda/image.h"'
		[ -z "$fatbin" ] || bytes fatbin "$fatbin"
		bytes ptx "$ptx"
		echo 'const fr_cuda_image fr_cuda_images[] = {'
		[ -z "$fatbin" ] || echo '{"fat binary", fatbin, sizeof fatbin - 1},'
		echo '{"text", ptx, sizeof ptx - 1}};'
		echo 'const uint32_t fr_cuda_image_count = sizeof fr_cuda_images / sizeof fr_cuda_images[0];'
	} >"$out"
}

verb=${1:-}
[ $# -eq 0 ] || shift
case $verb in
ptx | fatbin | image) "make_$verb" "$@" ;;
*)
	sed -n '2,5s/^# //p' "$0" >&2
	exit 2
	;;
esac
