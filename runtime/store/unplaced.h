/* Rows of one column and one open ordinal whose keys have no place in a segment yet, in the order
 * first written.
 *
 * Threads: written by its ordinal's lane alone, under `lock`; others (judgements, reads that look
 * for unsealed changes) read it under `lock`; a seal reads it after that lane's ops are done. The
 * column's list of them is guarded by the column's lock, which comes before this one. */
#ifndef FR_RUNTIME_STORE_UNPLACED_H
#define FR_RUNTIME_STORE_UNPLACED_H

#include "runtime/store/buffers.h"
#include "runtime/store/row_set.h"
#include "runtime/store/touch.h"

typedef struct fr_unplaced fr_unplaced;

struct fr_unplaced {
    uint64_t ordinal;
    fr_ordinal_node in_column;
    fr_mutex lock;
    fr_touched touched;
    const struct fr_column *column;
    fr_row_set prims;  /* row = prim index, place = row of the payload */
    fr_buffer *buffer; /* room for row_capacity rows; NULL once it is a version's (layout.c) */
    uint32_t row_capacity;
    uint32_t committed; /* rows that ops have committed; those above are being written */
    uint32_t id_capacity;
    uint64_t first_id;            /* the op that first wrote a row; of all rows while ids is NULL */
    uint64_t *ids;                /* else of each row; room for id_capacity */
    fr_unplaced *next, *previous; /* the column's list, ascending by ordinal */
};

fr_unplaced *fr_unplaced_create(const fr_allocator *allocator, uint64_t ordinal,
                                const struct fr_column *column);
void fr_unplaced_destroy(const fr_allocator *allocator, fr_buffers *buffers, fr_unplaced *unplaced);
/* Room for `more` rows made by op `id`, in a payload that may be written; takes the lock. Of rows
 * on a device what is there stays as it is: where that payload will not do, *renewed is another
 * one, which is the caller's. False without memory, nothing changed that matters. */
bool fr_unplaced_reserve(const fr_allocator *allocator, fr_buffers *buffers, fr_unplaced *unplaced,
                         uint32_t more, uint64_t id, fr_buffer **renewed);
/* With the lock held: the rows lie there from now on. Returns where they lay. */
fr_buffer *fr_unplaced_renew(fr_unplaced *unplaced, fr_buffer *renewed);
/* The same of the first rows, which `taken` holds already: with a reference of its own. */
bool fr_unplaced_take(fr_unplaced *unplaced, fr_buffer *taken, uint32_t rows, uint64_t id);
/* A record without rows takes the memory of a source for its payload of exactly `rows` rows, in
 * place of what was reserved. */
void fr_unplaced_adopt(fr_buffers *buffers, fr_unplaced *unplaced, fr_buffer *adopted,
                       uint32_t rows);
/* Reserved before: the row of a prim; new ones get the op's id. */
uint32_t fr_unplaced_add(fr_unplaced *unplaced, uint32_t prim, uint64_t id, bool *added);
/* Reserved before: the same of several that are not in it, each once. */
void fr_unplaced_append(fr_unplaced *unplaced, const uint32_t *prims, uint32_t count, uint64_t id);
static inline uint64_t fr_unplaced_id(const fr_unplaced *unplaced, uint32_t row)
{
    return unplaced->ids ? unplaced->ids[row] : unplaced->first_id;
}

#endif
