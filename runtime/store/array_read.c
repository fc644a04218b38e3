#include "runtime/store/array_read.h"

#include "runtime/device/placed.h"
#include "runtime/device/staging.h"

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
        bool is_here = slice->payload && !slice->payload->is_placed; /* else it is shown later */
        shapes[k] = (int64_t)slice->count;
        tensors[k] = (DLTensor){
            .data = is_here ? slice->payload->data + slice->offset_bytes : NULL,
            .device = {kDLCPU, 0},
            .ndim = 1,
            .dtype = {schema->code, schema->bits, schema->lanes},
            .shape = &shapes[k],
        };
    }
    return buffer;
}

/* Where the elements of all rows lie together; 0: each where its slice says. */
static uint64_t fr_array_read_base(const fr_read_part *part)
{
    if (part->own)
        return part->own->address;
    if (part->kept)
        return (uintptr_t)part->kept->data;
    return part->staged ? (uintptr_t)part->staged->memory : 0;
}

/* Of a part that has to do with a device. */
static void fr_array_read_show(const fr_read_part *part, DLTensor *tensors)
{
    const fr_slice *slices = part->data;
    uint64_t next = fr_array_read_base(part);
    bool together = next != 0;
    for (uint32_t row = 0; row < part->count; row++) {
        const fr_slice *slice = &slices[row];
        uint64_t at = slice->payload && !together
                          ? slice->payload->placed->address + slice->offset_bytes
                          : next;
        tensors[row].data = slice->count > 0 ? (void *)(uintptr_t)at : NULL;
        if (part->shown)
            tensors[row].device = (DLDevice){kDLCUDA, part->shown->place};
        next += together ? slice->count * part->schema.row_bytes : 0;
    }
}

bool fr_array_read_tensors(fr_buffers *buffers, fr_read_part *part)
{
    fr_buffer *buffer = fr_array_tensors(buffers, &part->schema, part->data, part->count);
    if (!buffer)
        return false;
    if (part->device || part->shown)
        fr_array_read_show(part, (DLTensor *)(void *)buffer->data);
    part->tensors = (const DLTensor *)(const void *)buffer->data;
    part->tensors_buffer = buffer;
    return true;
}
