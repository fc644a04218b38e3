#include "runtime/store/partial.h"

#include <string.h>

#include "runtime/store/column.h"
#include "runtime/store/slices.h"
#include "runtime/write/rows.h"

/* The payload in the form that `more` further rows need: dense when the set turns into a bitmap,
 * else compact with room. NULL without memory. */
static fr_buffer *fr_partial_payload(fr_versions *versions, const fr_version *version,
                                     uint32_t more, bool dense)
{
    const fr_row_set *rows = &version->change->rows;
    size_t room = dense ? rows->universe : (size_t)rows->count + more;
    if (!dense && rows->count > 0) {
        size_t doubled = 2 * (size_t)rows->count;
        room = room > doubled ? room : doubled;
    }
    return fr_column_buffer(version->segment->column, versions->buffers, room);
}

/* Into a payload that nobody has seen yet. */
static void fr_partial_copy(const fr_version *version, fr_buffer *payload,
                            const uint32_t *dense_rows, uint32_t count)
{
    uint32_t row_bytes = version->segment->column->row_bytes;
    fr_buffer *none = NULL; /* nothing is overwritten */
    if (payload->holds_slices)
        fr_slices_copy(payload, dense_rows, version->buffer, NULL, count, &none);
    else if (count > 0 && dense_rows)
        fr_rows_scatter_indexed(payload->data, dense_rows, version->buffer->data, count, row_bytes);
    else if (count > 0)
        memcpy(payload->data, version->buffer->data, (size_t)count * row_bytes);
}

/* The new payload with what is in the old one. NULL without memory. */
static fr_buffer *fr_partial_grow(fr_versions *versions, const fr_version *version, uint32_t more,
                                  bool dense)
{
    const fr_row_set *rows = &version->change->rows;
    fr_buffer *payload = fr_partial_payload(versions, version, more, dense);
    if (!payload || !version->buffer)
        return payload;
    bool was_dense = fr_row_set_is_bitmap(rows);
    fr_partial_copy(version, payload, dense && !was_dense ? rows->rows : NULL,
                    was_dense ? rows->universe : rows->count);
    return payload;
}

bool fr_partial_reserve(fr_versions *versions, fr_version *version, uint32_t more)
{
    uint32_t row_bytes = version->segment->column->row_bytes;
    if (!version->change) {
        version->change = fr_change_create(&versions->changes, version->segment->row_count, more);
        if (!version->change)
            return false;
    }
    fr_mutex *lock = &version->segment->lock;
    fr_row_set *rows = &version->change->rows;
    bool was_dense = fr_row_set_is_bitmap(rows);
    bool dense = was_dense || fr_row_set_turns_bitmap(rows, more);
    size_t needed = (dense ? rows->universe : (size_t)rows->count + more) * row_bytes;
    bool keeps = version->buffer && was_dense == dense &&
                 version->buffer->capacity_bytes >= needed && fr_buffer_writable(version->buffer);
    if (!fr_change_room(version->change, dense ? rows->universe : rows->count + (size_t)more))
        return false;
    fr_mutex_lock(lock);
    bool indexed = fr_row_set_is_indexed(rows); /* readers may index it */
    fr_mutex_unlock(lock);
    fr_row_set_room room;
    if (!fr_row_set_prepare(rows, indexed, more, &room))
        return false;
    fr_buffer *payload = keeps ? NULL : fr_partial_grow(versions, version, more, dense);
    if (!keeps && !payload) {
        fr_row_set_room_release(rows, &room);
        return false;
    }
    fr_buffer *old = NULL;
    fr_mutex_lock(lock);
    fr_row_set_install(rows, &room);
    fr_change_count(version->change);
    if (payload) {
        old = version->buffer;
        version->buffer = payload;
    }
    fr_mutex_unlock(lock);
    fr_row_set_room_release(rows, &room);
    fr_buffer_release(versions->buffers, old);
    return true;
}

bool fr_partial_assign(fr_versions *versions, fr_version *version, const uint32_t *rows,
                       uint32_t count)
{
    version->change = fr_change_create(&versions->changes, version->segment->row_count, count);
    if (!version->change || !fr_change_room(version->change, count) ||
        !fr_row_set_assign(&version->change->rows, rows, count))
        return false;
    fr_change_count(version->change);
    version->buffer = fr_column_buffer(version->segment->column, versions->buffers, count);
    return version->buffer != NULL;
}

uint32_t fr_partial_place(fr_version *version, uint32_t row)
{
    uint32_t row_bytes = version->segment->column->row_bytes;
    const fr_change *change = version->change;
    const fr_row_set *rows = &change->rows;
    uint32_t place = fr_row_set_place(rows, row);
    if (fr_row_set_is_bitmap(rows))
        return place != FR_ROW_SET_NONE ? place : fr_partial_add(version, row);
    size_t needed = (size_t)rows->count + 1;
    if (place != FR_ROW_SET_NONE || needed > rows->capacity || fr_row_set_turns_bitmap(rows, 1) ||
        !fr_row_set_is_indexed(rows) || needed > change->previous_capacity ||
        needed * row_bytes > version->buffer->capacity_bytes ||
        !fr_buffer_writable(version->buffer))
        return place;
    return fr_partial_add(version, row);
}

uint32_t fr_partial_add(fr_version *version, uint32_t row)
{
    bool added;
    return fr_row_set_add(&version->change->rows, row, &added);
}

bool fr_partial_own_full(fr_versions *versions, fr_version *version)
{
    if (fr_buffer_writable(version->buffer))
        return true;
    fr_buffer *copy = fr_column_copy(version->segment->column, versions->buffers, version->buffer,
                                     version->segment->row_count);
    if (!copy)
        return false;
    fr_buffer *old = version->buffer;
    fr_mutex_lock(&version->segment->lock); /* it may be linked */
    version->buffer = copy;
    fr_mutex_unlock(&version->segment->lock);
    fr_buffer_release(versions->buffers, old);
    return true;
}
