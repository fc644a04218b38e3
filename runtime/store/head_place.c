#include "runtime/store/head_place.h"

#include "runtime/store/head_copy.h"
#include "runtime/store/placed_rows.h"
#include "runtime/store/store_state.h"

static void fr_head_place_note(fr_head_place *place, fr_change *change)
{
    fr_change_retain(change);
    place->changes[place->change_count++] = change;
}

/* --- an older state --------------------------------------------------------------------------- */

static bool fr_head_place_is_idle(const fr_version *version)
{
#ifdef FR_MUTATE_DEVICE_HEAD_IN_USE
    (void)version;
    return true;
#else
    return fr_placed_is_idle(version->buffer->placed);
#endif
}

/* Its rows that the next newer one changed, into a payload of their own. False: the device or the
 * host has no memory. */
static bool fr_head_place_save(const fr_store *store, fr_device_run *run, const fr_version *older,
                               const fr_buffer *saved, fr_device_fault *fault)
{
    fr_set_list list;
    if (!fr_set_list_open(store->allocator, &older->newer->since->rows, &list))
        return false;
    /* A fold that is forced writes it in another stream. */
    bool put = fr_device_run_reads(run, older->buffer->placed, FR_USE_OLDER_STATE, fault) &&
               fr_device_run_writes(run, saved->placed, FR_USE_SAVED, fault) &&
               fr_placed_rows_move(run, saved, list.places, older->buffer, list.rows, list.count,
                                   older->segment->column->row_bytes, fault) &&
               fr_device_run_record(run, fault);
    fr_set_list_close(store->allocator, &list);
    return put;
}

/* With the segment's lock held, where nobody can take a reference: a filter may have since. */
static bool fr_head_place_is_unused(const fr_version *older)
{
#ifdef FR_MUTATE_DEVICE_OLDER_IN_USE
    (void)older;
    return true;
#else
    return fr_buffer_writable(older->buffer);
#endif
}

/* NULL: it stays as it is. */
static fr_buffer *fr_head_place_saved(fr_store *store, const fr_version *older)
{
    const fr_column *column = older->segment->column;
    const fr_row_set *rows = &older->newer->since->rows;
    size_t places = fr_row_set_is_bitmap(rows) ? rows->universe : rows->count;
    fr_device_run run;
    fr_device_fault fault;
    fr_buffer *saved = NULL;
    if (!fr_device_run_begin(&run, fr_column_device(column), 0,
                             fr_streams_lane_of_seals(older->ordinal), NULL, &fault))
        return NULL;
    saved = fr_column_buffer(column, store->buffers, places);
    bool put = saved && fr_head_place_save(store, &run, older, saved, &fault);
    fr_device_run_end(&run);
    if (put)
        return saved;
    fr_buffer_release(store->buffers, saved);
    return NULL;
}

/* Who reads it once it is an UNDO waits for what was saved, as for any payload: its fence is there
 * before. */
static fr_buffer *fr_head_place_of_older(fr_store *store, fr_segment *segment,
                                         const fr_version *head, fr_head_place *out)
{
    fr_version *older = fr_head_copy_older(head);
    if (!older || !fr_head_place_is_idle(older))
        return NULL;
    fr_buffer *saved = fr_head_place_saved(store, older), *whole = NULL;
    if (!saved)
        return NULL;
    fr_mutex_lock(&segment->lock);
    if (fr_head_place_is_unused(older) && fr_head_copy_begin_undo(older)) {
        whole = older->buffer;
        fr_head_copy_end_undo(segment, older, saved);
    }
    fr_mutex_unlock(&segment->lock);
    if (!whole)
        fr_buffer_release(store->buffers, saved);
    for (const fr_version *version = older; whole && version != head;) {
        version = version->newer;
        fr_head_place_note(out, version->since);
    }
    return whole;
}

/* --- a spare ---------------------------------------------------------------------------------- */

static fr_buffer *fr_head_place_of_spare(fr_store *store, fr_segment *segment, fr_head_place *out)
{
    fr_spare *spare = fr_head_copy_spare(segment);
    if (!spare)
        return NULL;
    if (!fr_head_place_is_idle(spare->version)) {
        (void)fr_pin_exclusive_end(&spare->version->pin);
        return NULL;
    }
    for (uint32_t c = 0; c < spare->change_count; c++)
        fr_head_place_note(out, spare->changes[c]);
    return fr_head_copy_take_spare(store, spare);
}

void fr_head_place_take(fr_store *store, fr_segment *segment, const fr_version *head,
                        fr_head_place *out)
{
    *out = (fr_head_place){0};
    out->buffer = fr_head_place_of_older(store, segment, head, out);
    if (!out->buffer)
        out->buffer = fr_head_place_of_spare(store, segment, out);
}

/* --- what it lacks ---------------------------------------------------------------------------- */

static bool fr_head_place_catch_up(const fr_store *store, fr_device_run *run,
                                   const fr_version *head, const fr_change *change,
                                   const fr_buffer *to, fr_device_fault *fault)
{
    fr_set_list list;
    if (!fr_set_list_open(store->allocator, &change->rows, &list)) {
        fr_device_fault_memory(fault, change->rows.count * sizeof(uint32_t));
        return false;
    }
    bool put = fr_placed_rows_move(run, to, list.rows, head->buffer, list.rows, list.count,
                                   head->segment->column->row_bytes, fault);
    fr_set_list_close(store->allocator, &list);
    return put;
}

bool fr_head_place_fill(const fr_store *store, fr_device_run *run, const fr_segment *segment,
                        const fr_version *head, const fr_head_place *place, const fr_buffer *to,
                        fr_device_fault *fault)
{
    if (!place->buffer)
        return fr_placed_rows_move(run, to, NULL, head->buffer, NULL, segment->row_count,
                                   segment->column->row_bytes, fault);
    bool put = true;
    for (uint32_t c = 0; c < place->change_count && put; c++)
        put = fr_head_place_catch_up(store, run, head, place->changes[c], to, fault);
    return put;
}

void fr_head_place_release(fr_head_place *place)
{
    for (uint32_t c = 0; c < place->change_count; c++)
        fr_change_release(place->changes[c]);
}
