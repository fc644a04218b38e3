#include "runtime/store/unplaced.h"

#include <string.h>

#include "runtime/store/column.h"
#include "runtime/store/pending.h"
#include "runtime/store/slices.h"

#ifdef FR_SHRINK
#define FR_UNPLACED_FIRST_ROWS 2u
#else
#define FR_UNPLACED_FIRST_ROWS 16u
#endif

fr_unplaced *fr_unplaced_create(const fr_allocator *allocator, uint64_t ordinal,
                                const fr_column *column)
{
    fr_unplaced *unplaced = fr_memory_allocate_zero(allocator, sizeof(*unplaced), 16);
    if (!unplaced)
        return NULL;
    unplaced->ordinal = ordinal;
    unplaced->in_column.ordinal = ordinal;
    unplaced->column = column;
    fr_row_set_init(&unplaced->prims, allocator, 0);
    return unplaced;
}

void fr_unplaced_destroy(const fr_allocator *allocator, fr_buffers *buffers, fr_unplaced *unplaced)
{
    if (unplaced->ids)
        fr_memory_release(allocator, unplaced->ids, unplaced->id_capacity * sizeof(*unplaced->ids));
    fr_buffer_release(buffers, unplaced->buffer);
    fr_pending_release(unplaced->touched.elements);
    fr_row_set_destroy(&unplaced->prims);
    fr_memory_release(allocator, unplaced, sizeof(*unplaced));
}

/* Rows that memory is taken for when there is room for `capacity`, and `more` are to come. */
static uint32_t fr_unplaced_room(const fr_unplaced *unplaced, uint32_t capacity, uint32_t more)
{
    uint32_t count = unplaced->prims.count, needed = count + more;
    uint32_t doubled = count > 0 ? 2 * count : FR_UNPLACED_FIRST_ROWS;
    if (needed <= capacity)
        return capacity;
    if (count == 0 && needed >= FR_UNPLACED_FIRST_ROWS)
        return needed;
    return needed > doubled ? needed : doubled;
}

/* Ids of the rows that there are, with room for more. */
static bool fr_unplaced_grow_ids(const fr_allocator *allocator, fr_unplaced *unplaced,
                                 uint32_t more)
{
    uint32_t capacity = fr_unplaced_room(unplaced, unplaced->id_capacity, more);
    if (unplaced->ids && capacity == unplaced->id_capacity)
        return true;
    uint64_t *ids = fr_memory_allocate(allocator, capacity * sizeof(*ids), 16);
    if (!ids)
        return false;
    for (uint32_t row = 0; row < unplaced->prims.count; row++)
        ids[row] = fr_unplaced_id(unplaced, row);
    uint64_t *old = unplaced->ids;
    uint32_t old_capacity = unplaced->id_capacity;
    fr_mutex_lock(&unplaced->lock);
    unplaced->ids = ids;
    unplaced->id_capacity = capacity;
    fr_mutex_unlock(&unplaced->lock);
    fr_memory_release(allocator, old, old ? old_capacity * sizeof(*old) : 0);
    return true;
}

fr_buffer *fr_unplaced_renew(fr_unplaced *unplaced, fr_buffer *renewed)
{
    fr_buffer *old = unplaced->buffer;
    unplaced->buffer = renewed;
    unplaced->row_capacity = (uint32_t)(renewed->capacity_bytes / unplaced->column->row_bytes);
    return old;
}

/* A payload of `capacity` rows, on the host with what is there copied. */
static bool fr_unplaced_grow(fr_buffers *buffers, fr_unplaced *unplaced, uint32_t capacity,
                             fr_buffer **renewed)
{
    fr_buffer *buffer = fr_column_buffer(unplaced->column, buffers, capacity);
    if (!buffer)
        return false;
    if (buffer->is_placed && unplaced->buffer) {
        *renewed = buffer;
        return true;
    }
    fr_buffer *none = NULL; /* nothing is overwritten */
    if (buffer->holds_slices && unplaced->committed > 0)
        fr_slices_copy(buffer, NULL, unplaced->buffer, NULL, unplaced->committed, &none);
    else if (unplaced->committed > 0)
        memcpy(buffer->data, unplaced->buffer->data,
               (size_t)unplaced->committed * unplaced->column->row_bytes);
    fr_mutex_lock(&unplaced->lock);
    fr_buffer *old = fr_unplaced_renew(unplaced, buffer);
    unplaced->row_capacity = capacity;
    fr_mutex_unlock(&unplaced->lock);
    fr_buffer_release(buffers, old); /* may be a client's: out of the lock */
    return true;
}

static bool fr_unplaced_reserve_prims(fr_unplaced *unplaced, uint32_t more, uint64_t id)
{
    uint32_t count = unplaced->prims.count;
    if (more > UINT32_MAX / 2 - count)
        return false;
    fr_row_set_room room; /* nobody but this lane indexes it */
    if (!fr_row_set_prepare(&unplaced->prims, fr_row_set_is_indexed(&unplaced->prims), more, &room))
        return false;
    fr_mutex_lock(&unplaced->lock);
    fr_row_set_install(&unplaced->prims, &room);
    fr_mutex_unlock(&unplaced->lock);
    fr_row_set_room_release(&unplaced->prims, &room);
    if (count == 0)
        unplaced->first_id = id;
    return true;
}

bool fr_unplaced_take(fr_unplaced *unplaced, fr_buffer *taken, uint32_t rows, uint64_t id)
{
    if (!fr_unplaced_reserve_prims(unplaced, rows, id))
        return false;
    fr_buffer_retain(taken);
    unplaced->buffer = taken;
    unplaced->row_capacity = rows;
    return true;
}

bool fr_unplaced_reserve(const fr_allocator *allocator, fr_buffers *buffers, fr_unplaced *unplaced,
                         uint32_t more, uint64_t id, fr_buffer **renewed)
{
    if (more > 0 && !fr_unplaced_reserve_prims(unplaced, more, id))
        return false;
    bool with_ids = more > 0 && (unplaced->ids || id != unplaced->first_id);
    if (with_ids && !fr_unplaced_grow_ids(allocator, unplaced, more))
        return false;
    bool writable = unplaced->buffer && fr_buffer_writable(unplaced->buffer);
#ifdef FR_MUTATE_DEVICE_UNPLACED_IN_USE
    writable = writable || (unplaced->buffer && unplaced->buffer->is_placed);
#endif
    uint32_t capacity = fr_unplaced_room(unplaced, unplaced->row_capacity, more);
    return (writable && capacity == unplaced->row_capacity) ||
           fr_unplaced_grow(buffers, unplaced, capacity, renewed);
}

void fr_unplaced_adopt(fr_buffers *buffers, fr_unplaced *unplaced, fr_buffer *adopted,
                       uint32_t rows)
{
    fr_buffer_release(buffers, unplaced->buffer);
    unplaced->buffer = adopted;
    unplaced->row_capacity = rows;
}

uint32_t fr_unplaced_add(fr_unplaced *unplaced, uint32_t prim, uint64_t id, bool *added)
{
    uint32_t row = fr_row_set_add(&unplaced->prims, prim, added);
    if (*added && unplaced->ids)
        unplaced->ids[row] = id;
    return row;
}

void fr_unplaced_append(fr_unplaced *unplaced, const uint32_t *prims, uint32_t count, uint64_t id)
{
    for (uint32_t k = 0; unplaced->ids && k < count; k++)
        unplaced->ids[unplaced->prims.count + k] = id;
    fr_row_set_append(&unplaced->prims, prims, count);
}
