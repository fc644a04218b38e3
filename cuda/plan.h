/* What a kernel is told for a move: the widest parts that all addresses, pitches and sizes are
 * multiples of, and the fewest dimensions. No driver takes part, so that tests can compare it with
 * the plain meaning. */
#ifndef FR_CUDA_PLAN_H
#define FR_CUDA_PLAN_H

#include "cuda/kernels/kernels.h"
#include "runtime/device/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The log2 of the width. row_bytes and count are not 0. */
uint32_t fr_cuda_plan_rows(const fr_row_move *move, fr_kernel_rows *out);

/* The same. out->total is 0 when there is nothing to move. */
uint32_t fr_cuda_plan_strided(const fr_strided_copy *copy, fr_kernel_strided *out);

#ifdef __cplusplus
}
#endif

#endif
