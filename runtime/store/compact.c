#include "runtime/store/compact.h"

#include <string.h>

#include "runtime/store/fold_rows.h"
#include "runtime/store/seal.h"
#include "runtime/store/slices.h"

/* --- weighing --------------------------------------------------------------------------------- */

static uint64_t fr_compact_elements(const fr_segment *segment, const fr_version *version)
{
    const fr_change *change = version->change;
    if (version->kind == FR_VERSION_FULL)
        change = version->newer->since;
    uint64_t elements = 0;
    if (change)
        elements =
            fr_fold_rows_elements(&change->rows, version->buffer, version->kind == FR_VERSION_FULL);
    for (uint32_t row = 0; !change && row < segment->row_count; row++)
        elements += fr_slices_of(version->buffer)[row].count;
    return elements;
}

void fr_compact_weigh(fr_segment *segment)
{
    const fr_schema *schema = &segment->column->schema;
    fr_version *version = segment->sealed;
    while (version && version->kind == FR_VERSION_PARTIAL) /* not folded: not history yet */
        version = version->older;
    for (version = version ? version->older : NULL; version && !version->weighed;
         version = version->older) {
        version->weighed = true;
        version->element_bytes = fr_compact_elements(segment, version) * schema->row_bytes;
        segment->replaced_bytes += version->element_bytes;
    }
}

/* --- compaction ------------------------------------------------------------------------------- */

/* How much of its payload each slice's payload has in the head; returns all of it. */
static uint64_t fr_compact_live(const fr_segment *segment, const fr_version *head)
{
    const fr_slice *slices = fr_slices_of(head->buffer);
    uint64_t element_bytes = segment->column->schema.row_bytes, live_bytes = 0;
    for (uint32_t row = 0; row < segment->row_count; row++)
        if (slices[row].payload)
            slices[row].payload->live_bytes = 0;
    for (uint32_t row = 0; row < segment->row_count; row++) {
        if (!slices[row].payload)
            continue;
        slices[row].payload->live_bytes += slices[row].count * element_bytes;
        live_bytes += slices[row].count * element_bytes;
    }
    return live_bytes;
}

static bool fr_compact_wants(const fr_slice *slice)
{
    return slice->payload && slice->payload->live_bytes < slice->payload->capacity_bytes / 2;
}

/* The rows that are copied this time, up to the bytes that may be: [0, *out_end) of the segment. */
static uint64_t fr_compact_choose(const fr_segment *segment, const fr_version *head,
                                  uint32_t *out_end)
{
    const fr_slice *slices = fr_slices_of(head->buffer);
    uint64_t element_bytes = segment->column->schema.row_bytes, chosen_bytes = 0;
    uint32_t row = 0;
    for (; row < segment->row_count; row++) {
        if (!fr_compact_wants(&slices[row]))
            continue;
        uint64_t row_bytes = slices[row].count * element_bytes;
        if (chosen_bytes > 0 && chosen_bytes + row_bytes > FR_COMPACT_BYTES)
            break;
        chosen_bytes += row_bytes;
    }
    *out_end = row;
    return chosen_bytes;
}

static void fr_compact_copy(const fr_segment *segment, const fr_version *head, uint32_t end,
                            fr_buffer *payload)
{
    const fr_slice *slices = fr_slices_of(head->buffer);
    uint64_t element_bytes = segment->column->schema.row_bytes, offset_bytes = 0;
    for (uint32_t row = 0; row < end; row++) {
        if (!fr_compact_wants(&slices[row]))
            continue;
        memcpy(payload->data + offset_bytes, slices[row].payload->data + slices[row].offset_bytes,
               slices[row].count * element_bytes);
        offset_bytes += slices[row].count * element_bytes;
    }
}

/* Under the lock, like a fold in place. False: somebody reads the head. */
static bool fr_compact_put_in(fr_store *store, fr_segment *segment, fr_version *head, uint32_t end,
                              fr_buffer *payload)
{
    if (!fr_buffer_writable(head->buffer))
        return false;
#ifndef FR_MUTATE_COMPACT_WITHOUT_EXCLUSIVE
    if (!fr_pin_exclusive(&head->pin))
        return false;
#endif
    fr_slice *slices = fr_slices_of(head->buffer);
    uint64_t element_bytes = segment->column->schema.row_bytes;
    fr_slice made = {.payload = payload};
    fr_slice_copier copier;
    fr_slice_copier_begin(&copier, &store->seal_let_go);
    for (uint32_t row = 0; row < end; row++) {
        if (!fr_compact_wants(&slices[row]))
            continue;
        made.count = slices[row].count;
        fr_slice_copy(&copier, &slices[row], &made);
        made.offset_bytes += made.count * element_bytes;
    }
    fr_slice_copier_end(&copier);
    (void)fr_pin_exclusive_end(&head->pin); /* seals alone kill it */
    return true;
}

/* A spare holds on to the old payloads: it is caught up by the rows that were written only. */
static void fr_compact_drop_spares(fr_store *store, fr_segment *segment)
{
    for (uint32_t k = 0; k < FR_SEGMENT_SPARES; k++)
        if (segment->spares[k].version)
            fr_seal_drop(store, fr_segment_spare_take(&segment->spares[k]));
}

void fr_compact_segment(fr_store *store, fr_segment *segment)
{
    fr_version *head = segment->sealed;
    uint64_t table_bytes = (uint64_t)segment->row_count * sizeof(fr_slice);
    if (!head || head->kind != FR_VERSION_FULL ||
        segment->replaced_bytes <= segment->live_bytes + table_bytes)
        return;
    uint32_t end = 0;
    segment->live_bytes = fr_compact_live(segment, head);
    if (segment->replaced_bytes <= segment->live_bytes + table_bytes)
        return;
    uint64_t size_bytes = fr_compact_choose(segment, head, &end);
    fr_buffer *payload = size_bytes > 0 ? fr_buffer_get(store->buffers, size_bytes) : NULL;
    if (payload) {
        fr_compact_copy(segment, head, end, payload);
        fr_mutex_lock(&segment->lock);
        bool done = fr_compact_put_in(store, segment, head, end, payload);
        if (done)
            fr_compact_drop_spares(store, segment);
        fr_mutex_unlock(&segment->lock);
        fr_buffer_drop_many(payload, 1, &store->seal_let_go);
        if (done)
            fr_add_relaxed(&store->counters.compactions, 1);
        if (!done)
            return;
    }
    if (size_bytes == 0 || (payload && end == segment->row_count))
        segment->replaced_bytes = 0;
}
