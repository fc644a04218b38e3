/* Slices: the rows of an array column in the store. A row is a piece of a payload, which is a
 * buffer of elements that one write copied, or adopted.
 *
 * Every slot of a buffer of slices, over its whole capacity, is empty or owns one reference of its
 * payload. Such a buffer is zeroed when it is got, and its last release lets go of what its slots
 * hold. Rows are copied (a reference more, and one less of what was overwritten) or trade places
 * (fold_rows.h), never moved away: so it does no harm to do a copy again.
 *
 * References of a run of slices of one payload are counted in one step.
 *
 * Threads: as the buffer that is written. What was let go of is gathered in a list, since its end
 * may run a client's deleter: the caller lets go of the list when it holds no lock. */
#ifndef FR_RUNTIME_STORE_SLICES_H
#define FR_RUNTIME_STORE_SLICES_H

#include "runtime/store/buffers.h"

typedef struct fr_slice {
    fr_buffer *payload;    /* NULL: the row has no elements */
    uint64_t offset_bytes; /* of its first element in the payload */
    uint64_t count;        /* elements */
} fr_slice;

/* Copies that are under way. */
typedef struct fr_slice_copier {
    fr_buffer *taken, *dropped; /* payloads of the runs whose references are not counted yet */
    uint64_t taken_count, dropped_count;
    fr_buffer **let_go;
} fr_slice_copier;

/* A zeroed buffer of slices. NULL without memory. */
fr_buffer *fr_slices_get(fr_buffers *buffers, size_t size_bytes);

void fr_slice_copier_begin(fr_slice_copier *copier, fr_buffer **let_go);
void fr_slice_copy(fr_slice_copier *copier, fr_slice *to, const fr_slice *from);
/* What was copied from must be there until then. */
void fr_slice_copier_end(fr_slice_copier *copier);

/* to[to_rows[k]] = from[from_rows[k]]; without rows k. */
void fr_slices_copy(fr_buffer *to, const uint32_t *to_rows, const fr_buffer *from,
                    const uint32_t *from_rows, size_t count, fr_buffer **let_go);
/* Empties all slots. */
void fr_slices_clear(fr_buffer *slices, fr_buffer **let_go);

/* Of rows that lie in one payload, or have no elements: that one, which is theirs; or NULL. */
fr_buffer *fr_slices_payload(const fr_slice *slices, uint32_t count);
/* Rows without payloads get pieces of this one, one behind the other. It is theirs then, unless
 * none of them has elements. */
void fr_slices_place(fr_slice *slices, uint32_t count, uint32_t element_bytes, fr_buffer *payload);

static inline size_t fr_slices_capacity(const fr_buffer *slices)
{
    return slices->capacity_bytes / sizeof(fr_slice);
}

static inline fr_slice *fr_slices_of(const fr_buffer *slices)
{
    return (fr_slice *)(void *)slices->data;
}

#endif
