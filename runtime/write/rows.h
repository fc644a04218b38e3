/* Where the rows of a write come from, and moving rows.
 *
 * A row source describes the transported rows of one fixed-size write in the terms of the query:
 * logical element i (target prim positions[i] of the query, or i) takes row index_map[i], or i.
 * Everything in it is checked before it is made: fr_rows_copy cannot fail. The store never sees a
 * DLTensor. */
#ifndef FR_RUNTIME_WRITE_ROWS_H
#define FR_RUNTIME_WRITE_ROWS_H

#include <ovstage/ovstage_api/ovstage_api_types.h>

#include "scheduler/memory.h"

#define FR_ROWS_MAX_DIMS 8

typedef struct fr_row_source {
    const unsigned char *base; /* first byte of row 0, byte_offset applied */
    uint32_t row_bytes;        /* bytes of one row in the store */
    uint32_t row_count;        /* transported rows */
    uint32_t count;            /* logical elements: the leading `count` prims of the query, or as
                                  many positions */
    const uint32_t *positions; /* count entries, each below the query's count; or NULL */
    bool compact;              /* row r is row_bytes at base + r * row_bytes */
    const uint32_t *index_map; /* count entries, each < row_count; or NULL */
    const uint64_t *mask;    /* ceil(count/64) words, bit i selects element i; or NULL. Bits at and
                                above count are cleared */
    uint32_t selected_count; /* elements that are written: count, or the mask's set bits */
    /* Non-compact: strides in bytes; the row's inner elements of element_bytes each, in row-major
     * order over inner_shape. */
    int64_t row_stride_bytes;
    uint32_t inner_dims, element_bytes;
    int64_t inner_shape[FR_ROWS_MAX_DIMS], inner_stride_bytes[FR_ROWS_MAX_DIMS];
    /* A managed tensor whose memory may become the store's payload as it is (D10): full coverage,
     * compact, aligned. NULL: copy. Ownership moves when fr_store_write_commit says so
     * (plan->adopted). */
    struct DLManagedTensorVersioned *adoptable;
    /* A buffer of the store's own that holds just these rows, in the same way. NULL: none. */
    struct fr_buffer *buffer;
} fr_row_source;

static inline bool fr_row_selected(const fr_row_source *source, uint32_t element)
{
    return !source->mask || (source->mask[element / 64] >> (element % 64) & 1) != 0;
}

/* Copies the rows of logical elements [first, first + n) into destination, compact, in element
 * order, element `first` at its beginning; masked-out ones are left out of the copy but keep their
 * place. */
void fr_rows_copy(const fr_row_source *source, uint32_t first, uint32_t n, void *destination);
/* destination[targets[k]] = row of element elements[k] (elements NULL: k). Masked-out elements are
 * left out here as well. */
void fr_rows_scatter(const fr_row_source *source, const uint32_t *elements, const uint32_t *targets,
                     uint32_t n, void *destination);

/* Plain movers over compact row buffers; widths of 1..4096 bytes, specialised for the common ones.
 */
void fr_rows_gather_indexed(void *destination, const void *source, const uint32_t *indices,
                            uint32_t n, uint32_t row_bytes);
void fr_rows_scatter_indexed(void *destination, const uint32_t *indices, const void *source,
                             uint32_t n, uint32_t row_bytes);
/* memcpy; with non-temporal stores when the whole is more than the caches near a core hold, which
 * the parts that it is cut into are not. */
#define FR_ROWS_STREAM_BYTES ((size_t)2 << 20)
/* A part below this is not worth the fence at its end. */
#define FR_ROWS_STREAM_PART_BYTES ((size_t)32 << 10)
void fr_rows_copy_part(void *destination, const void *source, size_t size_bytes,
                       size_t whole_bytes);
void fr_rows_copy_compact(void *destination, const void *source, size_t size_bytes);

#endif
