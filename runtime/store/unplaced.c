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
        fr_memory_release(allocator, unplaced->ids,
                          unplaced->row_capacity * sizeof(*unplaced->ids));
    fr_buffer_release(buffers, unplaced->buffer);
    fr_pending_release(unplaced->touched.elements);
    fr_row_set_destroy(&unplaced->prims);
    fr_memory_release(allocator, unplaced, sizeof(*unplaced));
}

/* A payload of `capacity` rows with what is there copied, and an id array when one is there or
 * wanted. */
static bool fr_unplaced_grow(const fr_allocator *allocator, fr_buffers *buffers,
                             fr_unplaced *unplaced, uint32_t capacity, bool with_ids)
{
    size_t old_ids_bytes = unplaced->ids ? unplaced->row_capacity * sizeof(*unplaced->ids) : 0;
    fr_buffer *buffer = fr_column_buffer(unplaced->column, buffers, capacity);
    uint64_t *ids = NULL;
    if (with_ids)
        ids = fr_memory_allocate(allocator, capacity * sizeof(*ids), 16);
    if (!buffer || (with_ids && !ids)) {
        fr_buffer_release(buffers, buffer);
        fr_memory_release(allocator, ids, capacity * sizeof(*ids));
        return false;
    }
    fr_buffer *none = NULL; /* nothing is overwritten */
    if (buffer->holds_slices && unplaced->committed > 0)
        fr_slices_copy(buffer, NULL, unplaced->buffer, NULL, unplaced->committed, &none);
    else if (unplaced->committed > 0)
        memcpy(buffer->data, unplaced->buffer->data,
               (size_t)unplaced->committed * unplaced->column->row_bytes);
    for (uint32_t row = 0; ids && row < unplaced->prims.count; row++)
        ids[row] = fr_unplaced_id(unplaced, row);
    fr_buffer *old_buffer = unplaced->buffer;
    uint64_t *old_ids = unplaced->ids;
    fr_mutex_lock(&unplaced->lock);
    unplaced->buffer = buffer;
    unplaced->ids = ids;
    unplaced->row_capacity = capacity;
    fr_mutex_unlock(&unplaced->lock);
    fr_buffer_release(buffers, old_buffer); /* may be a client's: out of the lock */
    fr_memory_release(allocator, old_ids, old_ids_bytes);
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
                         uint32_t more, uint64_t id)
{
    uint32_t count = unplaced->prims.count;
    if (!fr_unplaced_reserve_prims(unplaced, more, id))
        return false;
    bool with_ids = unplaced->ids || id != unplaced->first_id;
    bool writable = unplaced->buffer && fr_buffer_writable(unplaced->buffer);
    if (writable && count + more <= unplaced->row_capacity && with_ids == (unplaced->ids != NULL))
        return true;
    uint32_t capacity = unplaced->row_capacity;
    if (count + more > capacity) {
        uint32_t doubled = count > 0 ? 2 * count : FR_UNPLACED_FIRST_ROWS;
        capacity = count + more;
        if (count > 0 || capacity < FR_UNPLACED_FIRST_ROWS)
            capacity = capacity > doubled ? capacity : doubled;
    }
    return fr_unplaced_grow(allocator, buffers, unplaced, capacity, with_ids);
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
