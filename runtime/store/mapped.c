/* What map sessions need of the store: buffers that become payloads, and what is known about keys
 * before anything is written to them. */
#include <string.h>

#include "runtime/device/placed.h"
#include "runtime/store/array_read.h"
#include "runtime/store/judge.h"
#include "runtime/store/store_state.h"
#include "runtime/store/tombstones.h"

struct fr_buffer *fr_store_buffer_get(fr_store *store, size_t size_bytes)
{
    return fr_buffer_get(store->buffers, size_bytes);
}

struct fr_buffer *fr_store_buffer_of_placed(fr_store *store, struct fr_placed *placed,
                                            size_t size_bytes)
{
    return fr_buffer_of_placed(store->buffers, placed, size_bytes);
}

void fr_store_buffer_release(fr_store *store, struct fr_buffer *buffer)
{
    fr_buffer_release(store->buffers, buffer);
}

void *fr_store_buffer_data(const struct fr_buffer *buffer)
{
    return buffer->data;
}

/* --- rows of arrays --------------------------------------------------------------------------- */

struct fr_buffer *fr_store_slices_get(fr_store *store, const size_t *element_counts,
                                      uint32_t row_count)
{
    fr_buffer *slices = fr_slices_get(store->buffers, row_count * sizeof(fr_slice));
    for (uint32_t row = 0; slices && row < row_count; row++)
        fr_slices_of(slices)[row].count = element_counts[row];
    return slices;
}

static uint64_t fr_slices_elements(const fr_buffer *slices, uint32_t row_count)
{
    uint64_t elements = 0;
    for (uint32_t row = 0; row < row_count; row++)
        elements += fr_slices_of(slices)[row].count;
    return elements;
}

uint64_t fr_store_slices_elements_bytes(const struct fr_buffer *slices, uint32_t row_count,
                                        uint32_t element_bytes)
{
    return fr_slices_elements(slices, row_count) * element_bytes;
}

uint64_t fr_store_slices_bytes(const struct fr_buffer *slices, uint32_t row_count,
                               uint32_t element_bytes)
{
    return fr_slices_elements(slices, row_count) * element_bytes + row_count * sizeof(fr_slice);
}

bool fr_store_slices_place(fr_store *store, struct fr_buffer *slices, uint32_t row_count,
                           const fr_schema *schema, struct fr_buffer **tensors)
{
    uint64_t size_bytes = fr_slices_elements(slices, row_count) * schema->row_bytes;
    fr_buffer *payload = size_bytes > 0 ? fr_buffer_get(store->buffers, size_bytes) : NULL;
    if (size_bytes > 0 && !payload)
        return false;
    if (payload) {
#ifndef FR_MUTATE_MAP_ARRAY_NOT_CLEARED
        memset(payload->data, 0, size_bytes);
#endif
        fr_slices_place(fr_slices_of(slices), row_count, schema->row_bytes, payload);
    }
    /* Without memory for these the slices keep what they have, and go with it. */
    *tensors = fr_array_tensors(store->buffers, schema, fr_slices_of(slices), row_count);
    return *tensors != NULL;
}

bool fr_store_slices_place_on(fr_store *store, struct fr_buffer *slices, uint32_t row_count,
                              const fr_schema *schema, int32_t place, struct fr_buffer *payload,
                              struct fr_buffer **tensors)
{
    if (payload)
        fr_slices_place(fr_slices_of(slices), row_count, schema->row_bytes, payload);
    *tensors = fr_array_tensors(store->buffers, schema, fr_slices_of(slices), row_count);
    for (uint32_t row = 0; *tensors && row < row_count; row++) {
        const fr_slice *slice = &fr_slices_of(slices)[row];
        DLTensor *tensor = (DLTensor *)(void *)(*tensors)->data + row;
        tensor->device = (DLDevice){kDLCUDA, place};
        if (slice->payload)
            tensor->data =
                (void *)(uintptr_t)(slice->payload->placed->address + slice->offset_bytes);
    }
    return *tensors != NULL;
}

struct fr_placed *fr_store_slices_placed(const struct fr_buffer *slices, uint32_t row_count)
{
    const fr_buffer *payload = fr_slices_payload(fr_slices_of(slices), row_count);
    return payload && payload->is_placed ? payload->placed : NULL;
}

struct fr_buffer *fr_store_slices_on_host(fr_store *store, const struct fr_buffer *slices,
                                          uint32_t row_count, uint32_t element_bytes,
                                          const unsigned char *elements)
{
    size_t size_bytes = fr_slices_elements(slices, row_count) * element_bytes;
    fr_buffer *made = fr_slices_get(store->buffers, row_count * sizeof(fr_slice));
    fr_buffer *payload = made ? fr_buffer_get(store->buffers, size_bytes) : NULL;
    if (!payload) {
        fr_buffer_release(store->buffers, made);
        return NULL;
    }
    memcpy(payload->data, elements, size_bytes);
    for (uint32_t row = 0; row < row_count; row++)
        fr_slices_of(made)[row].count = fr_slices_of(slices)[row].count;
    fr_slices_place(fr_slices_of(made), row_count, element_bytes, payload);
    return made;
}

/* --- keys ------------------------------------------------------------------------------------- */

uint64_t fr_store_layout_generation(const fr_attribute *attribute)
{
    uint64_t generation = 0;
    for (fr_column *column = fr_column_first(attribute); column; column = column->next) {
        fr_column *tombstones = fr_tombstones_of(column);
        generation += fr_load_relaxed(&column->topology) - 1;
        generation += tombstones ? fr_load_relaxed(&tombstones->moves) : 0;
    }
    return generation;
}

fr_keys fr_store_keys_schema(const fr_write *write, bool all, fr_schema *out, ovx_primpath_t *prim)
{
    const fr_column *first = NULL;
    for (uint32_t element = 0; element < write->query->count && (all || !first); element++) {
        *prim = write->query->prims[element];
        const fr_column *holder =
            fr_judge_key(write->attribute, (uint32_t)*prim, write->ordinal, write->op_id);
        if (!holder)
            continue;
        if (!first)
            first = holder;
        if (!fr_schema_same_layout(&first->schema, &holder->schema) ||
            (!write->any_role && holder->schema.semantic != write->schema.semantic)) {
            *out = holder->schema;
            return FR_KEYS_DIFFER;
        }
    }
    if (!first)
        return FR_KEYS_NONE;
    *out = first->schema;
    return FR_KEYS_AGREE;
}
