#include "runtime/write/rows.h"
#include "runtime/write/rows_width.h"

#include <stdbool.h>

static bool fr_rows_selected(const fr_row_source *source, uint32_t element)
{
    return !source->mask || (source->mask[element / 64] >> (element % 64) & 1) != 0;
}

static const unsigned char *fr_rows_row(const fr_row_source *source, uint32_t element)
{
    uint32_t row = source->index_map ? source->index_map[element] : element;
    int64_t stride_bytes = source->compact ? (int64_t)source->row_bytes : source->row_stride_bytes;
    return source->base + (int64_t)row * stride_bytes;
}

/* A row whose elements lie apart: one after the other in row-major order, by an odometer over the
 * inner dimensions. */
static void fr_rows_collect(const fr_row_source *source, const unsigned char *row,
                            unsigned char *to)
{
    int64_t at[FR_ROWS_MAX_DIMS] = {0};
    const unsigned char *from = row;
    for (uint32_t moved = 0; moved < source->row_bytes; moved += source->element_bytes) {
        memcpy(to + moved, from, source->element_bytes);
        for (uint32_t d = source->inner_dims; d-- > 0;) {
            from += source->inner_stride_bytes[d];
            if (++at[d] < source->inner_shape[d])
                break;
            from -= source->inner_stride_bytes[d] * source->inner_shape[d];
            at[d] = 0;
        }
    }
}

/* Of the write that these rows are a part of. */
static size_t fr_rows_whole_bytes(const fr_row_source *source)
{
    return (size_t)source->selected_count * source->row_bytes;
}

static bool fr_rows_apart(const fr_row_source *source)
{
    return !source->compact && source->inner_dims != 0;
}

/* Rows of elements that follow each other in the payload. */
static void fr_rows_copy_run(const fr_row_source *source, uint32_t first, uint32_t n,
                             unsigned char *to)
{
    const unsigned char *from = fr_rows_row(source, first);
    if (source->compact) {
        fr_rows_copy_part(to, from, (size_t)n * source->row_bytes, fr_rows_whole_bytes(source));
        return;
    }
    int64_t stride_bytes = source->row_stride_bytes;
    if (source->inner_dims != 0) {
        for (uint32_t k = 0; k < n; k++)
            fr_rows_collect(source, from + (int64_t)k * stride_bytes,
                            to + (size_t)k * source->row_bytes);
        return;
    }
#define FR_COPY_STRIDED(w) \
    for (uint32_t k = 0; k < n; k++) \
    fr_row_copy(to + (size_t)k * (w), from + (int64_t)k * stride_bytes, (w))
    FR_ROWS_BY_WIDTH(source->row_bytes, FR_COPY_STRIDED);
#undef FR_COPY_STRIDED
}

/* The runs of set bits in [first, first + n). */
static void fr_rows_copy_masked(const fr_row_source *source, uint32_t first, uint32_t n,
                                unsigned char *to)
{
    uint32_t end = first + n, at = first;
    while (at < end) {
        uint64_t bits = source->mask[at / 64] >> (at % 64);
        if (bits == 0) {
            uint32_t rest = 64 - at % 64;
            if (rest >= end - at)
                return;
            at += rest;
            continue;
        }
        at += (uint32_t)__builtin_ctzll(bits);
        uint32_t run = at;
        while (at < end && fr_rows_selected(source, at)) {
            uint64_t clear = ~(source->mask[at / 64] >> (at % 64));
            uint32_t in_word = 64 - at % 64;
            uint32_t set = clear == 0 ? 64 : (uint32_t)__builtin_ctzll(clear);
            at += set < in_word ? set : in_word;
        }
        if (at > end)
            at = end;
        if (run < end)
            fr_rows_copy_run(source, run, at - run, to + (size_t)(run - first) * source->row_bytes);
    }
}

void fr_rows_copy(const fr_row_source *source, uint32_t first, uint32_t n, void *destination)
{
    unsigned char *to = destination;
    if (n == 0)
        return;
    if (source->compact && !source->mask && !source->index_map) { /* nearly always */
        fr_rows_copy_part(to, source->base + (size_t)first * source->row_bytes,
                          (size_t)n * source->row_bytes, fr_rows_whole_bytes(source));
    } else if (source->mask) {
        fr_rows_copy_masked(source, first, n, to);
    } else if (!source->index_map) {
        fr_rows_copy_run(source, first, n, to);
    } else if (source->compact) {
        fr_rows_gather_indexed(to, source->base, source->index_map + first, n, source->row_bytes);
    } else if (fr_rows_apart(source)) {
        for (uint32_t k = 0; k < n; k++)
            fr_rows_collect(source, fr_rows_row(source, first + k),
                            to + (size_t)k * source->row_bytes);
    } else {
#define FR_COPY_MAPPED(w) \
    for (uint32_t k = 0; k < n; k++) \
    fr_row_copy(to + (size_t)k * (w), fr_rows_row(source, first + k), (w))
        FR_ROWS_BY_WIDTH(source->row_bytes, FR_COPY_MAPPED);
#undef FR_COPY_MAPPED
    }
}

void fr_rows_scatter(const fr_row_source *source, const uint32_t *elements, const uint32_t *targets,
                     uint32_t n, void *destination)
{
    unsigned char *to = destination;
    if (!source->mask && !source->index_map && !elements && source->compact) {
        fr_rows_scatter_indexed(to, targets, source->base, n, source->row_bytes);
        return;
    }
    if (fr_rows_apart(source)) {
        for (uint32_t k = 0; k < n; k++) {
            uint32_t element = elements ? elements[k] : k;
            if (fr_rows_selected(source, element))
                fr_rows_collect(source, fr_rows_row(source, element),
                                to + (size_t)targets[k] * source->row_bytes);
        }
        return;
    }
#define FR_SCATTER(w) \
    for (uint32_t k = 0; k < n; k++) { \
        uint32_t element = elements ? elements[k] : k; \
        if (fr_rows_selected(source, element)) \
            fr_row_copy(to + (size_t)targets[k] * (w), fr_rows_row(source, element), (w)); \
    } \
    (void)0
    FR_ROWS_BY_WIDTH(source->row_bytes, FR_SCATTER);
#undef FR_SCATTER
}
