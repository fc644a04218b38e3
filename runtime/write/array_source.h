/* Where the elements of an array write come from: one tensor a row, or one tensor that is all rows
 * one after the other, of the same length each (packed).
 *
 * Made from what was checked (payload.h); elements are taken in row-major order, whatever the
 * strides.
 *
 * Threads: made by the submitting thread; then read by who runs the op, who also takes adopted
 * tensors out of it. */
#ifndef FR_RUNTIME_WRITE_ARRAY_SOURCE_H
#define FR_RUNTIME_WRITE_ARRAY_SOURCE_H

#include <ovstage/ovstage_api/ovstage_api_types.h>

typedef struct fr_array_tensor {
    const unsigned char *base; /* first byte of the first element, byte_offset applied */
    uint64_t count;            /* elements */
    /* NULL: one after the other. Else, for dims[0] dimensions, their sizes, then their strides in
     * bytes. */
    const int64_t *dims;
    struct DLManagedTensorVersioned *managed; /* the op's; NULL: a client tensor, or adopted */
    bool adoptable;                           /* its memory may become a payload (D10) */
} fr_array_tensor;

typedef struct fr_array_source {
    uint32_t tensor_count, row_count;
    uint32_t element_bytes;
    bool packed;
    uint64_t total_bytes; /* of all elements */
    fr_array_tensor tensors[];
} fr_array_source;

static inline uint64_t fr_array_source_row_elements(const fr_array_source *source, uint32_t row)
{
    return source->packed ? source->tensors[0].count / source->row_count
                          : source->tensors[row].count;
}

/* Elements [first, first + count) of a tensor, compact. whole_bytes: of the copy that this is a
 * part of. */
void fr_array_tensor_copy(const fr_array_tensor *tensor, uint32_t element_bytes, uint64_t first,
                          uint64_t count, void *destination, size_t whole_bytes);

#endif
