#include "runtime/store/slices.h"

#include <string.h>

fr_buffer *fr_slices_get(fr_buffers *buffers, size_t size_bytes)
{
    fr_buffer *slices = fr_buffer_get(buffers, size_bytes);
    if (!slices)
        return NULL;
    memset(slices->data, 0, slices->capacity_bytes);
    slices->holds_slices = true;
    return slices;
}

void fr_slice_copier_begin(fr_slice_copier *copier, fr_buffer **let_go)
{
    *copier = (fr_slice_copier){.let_go = let_go};
}

static void fr_slice_copier_take(fr_slice_copier *copier)
{
    if (copier->taken)
#ifdef FR_MUTATE_SLICES_TAKE_A_RUN_ONCE
        fr_buffer_retain(copier->taken);
#else
        fr_buffer_retain_many(copier->taken, copier->taken_count);
#endif
    copier->taken_count = 0;
}

static void fr_slice_copier_drop(fr_slice_copier *copier)
{
    if (copier->dropped)
        fr_buffer_drop_many(copier->dropped, copier->dropped_count, copier->let_go);
    copier->dropped_count = 0;
}

static void fr_slice_copier_add_dropped(fr_slice_copier *copier, fr_buffer *payload)
{
    if (!payload)
        return;
    if (payload != copier->dropped) {
        fr_slice_copier_drop(copier);
        copier->dropped = payload;
    }
    copier->dropped_count++;
}

/* References that are not counted yet are safe: those taken are of a payload that `from` holds,
 * those dropped were the slot's own. */
void fr_slice_copy(fr_slice_copier *copier, fr_slice *to, const fr_slice *from)
{
    fr_buffer *before = to->payload, *payload = from->payload;
    *to = *from;
    if (before == payload)
        return;
    if (payload) {
        if (payload != copier->taken) {
            fr_slice_copier_take(copier);
            copier->taken = payload;
        }
        copier->taken_count++;
    }
    fr_slice_copier_add_dropped(copier, before);
}

void fr_slice_copier_end(fr_slice_copier *copier)
{
    fr_slice_copier_take(copier);
    fr_slice_copier_drop(copier);
    copier->taken = copier->dropped = NULL;
}

void fr_slices_copy(fr_buffer *to, const uint32_t *to_rows, const fr_buffer *from,
                    const uint32_t *from_rows, size_t count, fr_buffer **let_go)
{
    fr_slice_copier copier;
    fr_slice_copier_begin(&copier, let_go);
    for (size_t k = 0; k < count; k++)
        fr_slice_copy(&copier, &fr_slices_of(to)[to_rows ? to_rows[k] : k],
                      &fr_slices_of(from)[from_rows ? from_rows[k] : k]);
    fr_slice_copier_end(&copier);
}

void fr_slices_clear(fr_buffer *slices, fr_buffer **let_go)
{
    fr_slice_copier copier;
    fr_slice_copier_begin(&copier, let_go);
    size_t count = fr_slices_capacity(slices);
    for (size_t k = 0; k < count; k++) {
        fr_slice_copier_add_dropped(&copier, fr_slices_of(slices)[k].payload);
        fr_slices_of(slices)[k].payload = NULL;
    }
    fr_slice_copier_end(&copier);
}

fr_buffer *fr_slices_payload(const fr_slice *slices, uint32_t count)
{
    fr_buffer *payload = NULL;
    for (uint32_t row = 0; row < count && !payload; row++)
        payload = slices[row].payload;
    return payload;
}

void fr_slices_place(fr_slice *slices, uint32_t count, uint32_t element_bytes, fr_buffer *payload)
{
    uint64_t offset_bytes = 0, holders = 0;
    for (uint32_t row = 0; row < count; row++) {
        fr_slice *slice = &slices[row];
        if (slice->count == 0)
            continue;
        slice->payload = payload;
        slice->offset_bytes = offset_bytes;
        offset_bytes += slice->count * element_bytes;
        holders++;
    }
    if (holders > 1) /* the first one is the caller's */
        fr_buffer_retain_many(payload, holders - 1);
}
