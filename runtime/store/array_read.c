#include "runtime/store/array_read.h"

fr_buffer *fr_array_tensors(fr_buffers *buffers, const fr_schema *schema, const fr_slice *slices,
                            uint32_t count)
{
    size_t each_bytes = sizeof(DLTensor) + sizeof(int64_t);
    fr_buffer *buffer = fr_buffer_get(buffers, count * each_bytes);
    if (!buffer)
        return NULL;
    DLTensor *tensors = (DLTensor *)(void *)buffer->data;
    int64_t *shapes = (int64_t *)(void *)(tensors + count);
    for (uint32_t k = 0; k < count; k++) {
        const fr_slice *slice = &slices[k];
        shapes[k] = (int64_t)slice->count;
        tensors[k] = (DLTensor){
            .data = slice->payload ? slice->payload->data + slice->offset_bytes : NULL,
            .device = {kDLCPU, 0},
            .ndim = 1,
            .dtype = {schema->code, schema->bits, schema->lanes},
            .shape = &shapes[k],
        };
    }
    return buffer;
}

bool fr_array_read_tensors(fr_buffers *buffers, fr_read_part *part)
{
    fr_buffer *buffer = fr_array_tensors(buffers, &part->schema, part->data, part->count);
    if (!buffer)
        return false;
    part->tensors = (const DLTensor *)(const void *)buffer->data;
    part->tensors_buffer = buffer;
    return true;
}
