#include "runtime/store/latest.h"

#include <string.h>

#include "runtime/store/judge.h"
#include "runtime/store/slices.h"

typedef enum fr_latest_look {
    FR_LATEST_ABSENT,
    FR_LATEST_BUSY, /* it is being written */
    FR_LATEST_FOUND,
} fr_latest_look;

/* Under the lock of the segment or the column. */
static bool fr_latest_busy(const fr_touched *touched)
{
#ifdef FR_MUTATE_LATEST_LOOKS_AT_BUSY_ROWS
    (void)touched;
    return false;
#else
    /* [touched.writing.look] pairs [touched.writing.end] : see there */
    return fr_load_acquire(&touched->writing);
#endif
}

static void fr_latest_take_away(fr_buffer *buffer, uint64_t from_bytes, uint64_t count,
                                fr_latest *out)
{
    out->elements = NULL;
    out->away = buffer;
    out->away_bytes = from_bytes;
    out->count = count;
    fr_buffer_retain(buffer);
}

/* The same. */
static void fr_latest_take(const fr_column *column, fr_buffer *buffer, uint32_t row, fr_latest *out)
{
    out->payload = out->away = NULL;
    if (buffer->is_placed) {
        fr_latest_take_away(buffer, (uint64_t)row * column->row_bytes, 1, out);
        return;
    }
    if (!buffer->holds_slices) {
        memcpy(out->row, buffer->data + (size_t)row * column->row_bytes, column->row_bytes);
        out->elements = out->row;
        out->count = 1;
        return;
    }
    const fr_slice *slice = &fr_slices_of(buffer)[row];
    if (slice->count > 0 && slice->payload && slice->payload->is_placed) {
        fr_latest_take_away(slice->payload, slice->offset_bytes, slice->count, out);
        return;
    }
    out->payload = slice->payload;
    bool is_here = slice->payload && !slice->payload->is_placed;
    out->elements = is_here ? slice->payload->data + slice->offset_bytes : NULL;
    out->count = slice->count;
    if (slice->payload)
        fr_buffer_retain(slice->payload);
}

/* Rows without a place. */
static fr_latest_look fr_latest_unplaced(fr_column *column, uint32_t prim, uint64_t ordinal,
                                         fr_latest *out)
{
    fr_latest_look look = FR_LATEST_ABSENT;
    fr_mutex_lock(&column->lock);
    fr_unplaced *record = fr_column_unplaced(column, ordinal);
    if (record && fr_latest_busy(&record->touched)) {
        look = FR_LATEST_BUSY;
    } else if (record) {
        fr_mutex_lock(&record->lock);
        uint32_t row = fr_row_set_place(&record->prims, prim);
        if (row != FR_ROW_SET_NONE && row < record->committed && record->buffer) {
            fr_latest_take(column, record->buffer, row, out);
            look = FR_LATEST_FOUND;
        }
        fr_mutex_unlock(&record->lock);
    }
    fr_mutex_unlock(&column->lock);
    return look;
}

/* One entry of the segment. */
static fr_latest_look fr_latest_entry(const fr_column *column, const fr_version *version,
                                      uint32_t row, fr_latest *out)
{
    if (fr_latest_busy(&version->touched))
        return FR_LATEST_BUSY;
    uint32_t place = row;
    if (version->kind != FR_VERSION_FULL)
        place = fr_row_set_place(&version->change->rows, row);
    if (place == FR_ROW_SET_NONE)
        return FR_LATEST_ABSENT;
    fr_latest_take(column, version->buffer, place, out);
    return FR_LATEST_FOUND;
}

/* The entry of the ordinal; when that was folded, the newest sealed one that has the row. */
static fr_latest_look fr_latest_placed(fr_column *column, fr_segment *segment, uint32_t row,
                                       uint64_t ordinal, fr_latest *out)
{
    fr_latest_look look = FR_LATEST_ABSENT;
    fr_mutex_lock(&segment->lock);
    const fr_version *version = fr_segment_find(segment, ordinal);
    if (version)
        look = fr_latest_entry(column, version, row, out);
    version = look == FR_LATEST_ABSENT ? segment->sealed : NULL;
    for (; version && look == FR_LATEST_ABSENT; version = version->older)
        look = fr_latest_entry(column, version, row, out); /* ends at the head, which is FULL */
    fr_mutex_unlock(&segment->lock);
    return look;
}

static fr_latest_look fr_latest_at(fr_column *column, uint32_t prim, uint64_t ordinal,
                                   fr_latest *out)
{
    fr_latest_look look = fr_latest_unplaced(column, prim, ordinal, out);
    if (look != FR_LATEST_ABSENT)
        return look;
    uint64_t rehomed;
    do {
        fr_place place;
        rehomed = fr_column_rehomed(column);
        fr_mutex_lock(&column->lock);
        bool placed = fr_locator_get(&column->locator, prim, &place);
        fr_segment *segment = placed ? column->segments[place.segment] : NULL;
        fr_mutex_unlock(&column->lock);
        if (segment)
            look = fr_latest_placed(column, segment, place.row, ordinal, out);
    } while (look == FR_LATEST_ABSENT && fr_column_rehomed(column) != rehomed);
    return look;
}

bool fr_latest_read(fr_column *column, uint32_t prim, uint64_t written, fr_latest *out)
{
    if (column->row_bytes > FR_LATEST_ROW_BYTES)
        return false;
    fr_latest_look look = fr_latest_at(column, prim, written, out);
    while (look == FR_LATEST_BUSY) {
        fr_os_current->yield();
        written = fr_judge_written(column, prim, UINT64_MAX, UINT64_MAX);
        look = written > 0 ? fr_latest_at(column, prim, written, out) : FR_LATEST_ABSENT;
    }
    return look == FR_LATEST_FOUND;
}

void fr_latest_release(fr_buffers *buffers, fr_latest *latest)
{
    fr_buffer_release(buffers, latest->payload);
    fr_buffer_release(buffers, latest->away);
}
