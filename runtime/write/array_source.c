#include "runtime/write/array_source.h"

#include <string.h>

#include "runtime/write/payload.h"
#include "runtime/write/rows.h"

/* An odometer over the dimensions, from the element that is `first` in row-major order. */
static void fr_array_tensor_collect(const fr_array_tensor *tensor, uint32_t element_bytes,
                                    uint64_t first, uint64_t count, unsigned char *to)
{
    uint32_t dims = (uint32_t)tensor->dims[0];
    const int64_t *sizes = tensor->dims + 1, *strides = sizes + dims;
    int64_t at[FR_PAYLOAD_MAX_DIMS];
    const unsigned char *from = tensor->base;
    uint64_t rest = first;
    for (uint32_t d = dims; d-- > 0;) {
        at[d] = (int64_t)(rest % (uint64_t)sizes[d]);
        rest /= (uint64_t)sizes[d];
        from += at[d] * strides[d];
    }
    for (uint64_t moved = 0; moved < count; moved++) {
        memcpy(to, from, element_bytes);
        to += element_bytes;
        for (uint32_t d = dims; d-- > 0;) {
            from += strides[d];
            if (++at[d] < sizes[d])
                break;
            from -= strides[d] * sizes[d];
            at[d] = 0;
        }
    }
}

void fr_array_tensor_copy(const fr_array_tensor *tensor, uint32_t element_bytes, uint64_t first,
                          uint64_t count, void *destination, size_t whole_bytes)
{
    if (count == 0)
        return;
    if (tensor->dims)
        fr_array_tensor_collect(tensor, element_bytes, first, count, destination);
    else
        fr_rows_copy_part(destination, tensor->base + first * element_bytes, count * element_bytes,
                          whole_bytes);
}
