// The kernels, see kernels.h. Built by nvcc into an image with code for several devices, and into
// kernels.ptx, which is kept with the sources for builds without nvcc.
#include "cuda/kernels/kernels.h"

// How a part is read and written: as a whole.
template <int width> struct part;
template <> struct part<1> {
    typedef unsigned char type;
};
template <> struct part<2> {
    typedef unsigned short type;
};
template <> struct part<4> {
    typedef unsigned int type;
};
template <> struct part<8> {
    typedef unsigned long long type;
};
template <> struct part<16> {
    typedef uint4 type;
};

// Below it, numbers of 32 bits do, also one step behind the end. Divisions of 64 bits take several
// times as long.
#define SMALL_TOTAL 0x7fffffffull

template <class number> __device__ __forceinline__ number first()
{
    return (number)blockIdx.x * blockDim.x + threadIdx.x;
}

template <class number> __device__ __forceinline__ number step()
{
    return (number)gridDim.x * blockDim.x;
}

__device__ __forceinline__ bool is_selected(uint64_t mask, uint32_t row)
{
    return !mask || (__ldg((const unsigned long long *)mask + row / 64) >> row % 64 & 1);
}

__device__ __forceinline__ uint64_t listed(uint64_t rows, uint32_t row)
{
    return rows ? __ldg((const unsigned int *)rows + row) : row;
}

template <class value, class number> __device__ __forceinline__ void move_rows(fr_kernel_rows rows)
{
    const number total = (number)rows.count * rows.parts;
    for (number i = first<number>(); i < total; i += step<number>()) {
        const uint32_t row = rows.parts == 1 ? (uint32_t)i : (uint32_t)(i / rows.parts);
        const uint32_t at = (uint32_t)(i - (number)row * rows.parts);
        if (!is_selected(rows.mask, row))
            continue;
        value *to = (value *)(rows.to + listed(rows.to_rows, row) * rows.to_pitch);
        const value *from =
            (const value *)(rows.from + listed(rows.from_rows, row) * rows.from_pitch);
        to[at] = __ldg(from + at);
    }
}

template <class value, class number>
__device__ __forceinline__ void copy_strided(const fr_kernel_strided &copy)
{
    for (number i = first<number>(); i < (number)copy.total; i += step<number>()) {
        number rest = i;
        int64_t to = 0, from = 0;
#pragma unroll 1
        for (int k = (int)copy.dims - 1; k >= 0; k--) {
            const number outer = rest / (number)copy.sizes[k];
            const int64_t at = (int64_t)(rest - outer * (number)copy.sizes[k]);
            to += at * copy.to_strides[k];
            from += at * copy.from_strides[k];
            rest = outer;
        }
        *(value *)(copy.to + to) = __ldg((const value *)(copy.from + from));
    }
}

#define KERNELS(width) \
    extern "C" __global__ void __launch_bounds__(256) \
        fr_rows_b##width(const __grid_constant__ fr_kernel_rows rows) \
    { \
        if ((uint64_t)rows.count * rows.parts <= SMALL_TOTAL) \
            move_rows<part<width>::type, uint32_t>(rows); \
        else \
            move_rows<part<width>::type, uint64_t>(rows); \
    } \
    extern "C" __global__ void __launch_bounds__(256) \
        fr_strided_b##width(const __grid_constant__ fr_kernel_strided copy) \
    { \
        if (copy.total <= SMALL_TOTAL) \
            copy_strided<part<width>::type, uint32_t>(copy); \
        else \
            copy_strided<part<width>::type, uint64_t>(copy); \
    }
FR_KERNEL_WIDTHS(KERNELS)
