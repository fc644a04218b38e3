/* What the host hands to the kernels: one structure for each launch, read by C, by the device code
 * and by the C versions of the simulated driver.
 *
 * Owns: the names and the one parameter of each kernel. A kernel comes in widths of 1, 2, 4, 8 and
 * 16 bytes, "fr_rows_b4": it moves parts of so many bytes, and all addresses, pitches and strides
 * are multiples of it. Threads of one row of blocks share the parts, however many there are of
 * either. */
#ifndef FR_CUDA_KERNELS_KERNELS_H
#define FR_CUDA_KERNELS_KERNELS_H

#include <stdint.h>

#define FR_KERNEL_WIDTHS(X) X(1) X(2) X(4) X(8) X(16)
#define FR_KERNEL_WIDTH_COUNT 5
/* Those of fr_strided_copy, and one for the parts of an element. */
#define FR_KERNEL_DIMS 9

/* fr_rows_b<width>: fr_row_move (runtime/device/table.h), a row being `parts` parts. */
typedef struct fr_kernel_rows {
    uint64_t to, from;
    uint64_t to_pitch, from_pitch;
    uint64_t to_rows, from_rows; /* 0, or uint32_t[count] */
    uint64_t mask;               /* 0, or a bit for each row in words of 64 */
    uint32_t count, parts;
} fr_kernel_rows;

/* fr_strided_b<width>: `total` parts, the last dimension the fastest. Strides in bytes. */
typedef struct fr_kernel_strided {
    uint64_t to, from;
    uint64_t total; /* the product of `sizes` */
    uint64_t dims;
    int64_t sizes[FR_KERNEL_DIMS];
    int64_t to_strides[FR_KERNEL_DIMS], from_strides[FR_KERNEL_DIMS];
} fr_kernel_strided;

#endif
