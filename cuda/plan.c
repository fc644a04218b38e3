#include "cuda/plan.h"

enum { WIDEST_LOG2 = FR_KERNEL_WIDTH_COUNT - 1 };

/* Of the widest part that all numbers whose bits these are can be divided by. */
static uint32_t width_log2_of(uint64_t bits)
{
    uint32_t log2 = 0;
    while (log2 < WIDEST_LOG2 && (bits >> log2 & 1) == 0)
        log2++;
    return log2;
}

uint32_t fr_cuda_plan_rows(const fr_row_move *move, fr_kernel_rows *out)
{
    uint64_t bits = move->to | move->from | move->row_bytes;
#ifndef FR_MUTATE_CUDA_PLAN_FORGETS_PITCHES
    if (move->count > 1 || move->to_rows || move->from_rows)
        bits |= move->to_pitch | move->from_pitch;
#endif
    uint32_t log2 = width_log2_of(bits);
    *out = (fr_kernel_rows){
        .to = move->to,
        .from = move->from,
        .to_pitch = move->to_pitch,
        .from_pitch = move->from_pitch,
        .to_rows = move->to_rows,
        .from_rows = move->from_rows,
        .mask = move->mask,
        .count = move->count,
        .parts = move->row_bytes >> log2,
    };
    return log2;
}

/* Adds a dimension inside those that are there. Where both strides say that the last one goes on
 * over it, the two become one. */
static void add(fr_kernel_strided *out, int64_t size, int64_t to_stride, int64_t from_stride)
{
    if (size == 1)
        return;
    uint64_t last = out->dims - 1;
    if (out->dims > 0 && out->to_strides[last] == size * to_stride &&
        out->from_strides[last] == size * from_stride)
        size *= out->sizes[last];
    else
        last = out->dims++;
    out->sizes[last] = size;
    out->to_strides[last] = to_stride;
    out->from_strides[last] = from_stride;
}

uint32_t fr_cuda_plan_strided(const fr_strided_copy *copy, fr_kernel_strided *out)
{
    uint64_t bits = copy->to | copy->from;
    int64_t element_bytes = copy->element_bytes;
    *out = (fr_kernel_strided){.to = copy->to, .from = copy->from};
    for (uint32_t k = 0; k < copy->dims; k++) {
        if (copy->shape[k] == 0)
            return 0;
        add(out, copy->shape[k], copy->to_stride[k], copy->from_stride[k]);
    }
    if (element_bytes == 0)
        return 0;
    uint64_t last = out->dims - 1;
    if (out->dims > 0 && out->to_strides[last] == element_bytes &&
        out->from_strides[last] == element_bytes) {
        element_bytes *= out->sizes[last];
        out->dims = last;
    }
    for (uint64_t k = 0; k < out->dims; k++)
        bits |= (uint64_t)out->to_strides[k] | (uint64_t)out->from_strides[k];
    uint32_t log2 = width_log2_of(bits | (uint64_t)element_bytes);
    add(out, element_bytes >> log2, 1 << log2, 1 << log2);
    out->total = 1;
    for (uint64_t k = 0; k < out->dims; k++)
        out->total *= (uint64_t)out->sizes[k];
    return log2;
}
