/* What keys are for an op of an open ordinal N: their newest value at or below N, sealed or not.
 * For clones, whose source is that (D24).
 *
 * The caller sees to it that nothing at or below N is written meanwhile (fr_submission's
 * holds_lanes_below). Seals below N may run: what is copied is pinned, so a fold beside it takes
 * another payload.
 *
 * Threads: one op. Progress: a lookup of each of the prims in each column of the stage, under locks
 * that are given away now and then; values are copied without. Memory: a row for each prim in each
 * column that has one of them. */
#ifndef FR_RUNTIME_STORE_CURRENT_H
#define FR_RUNTIME_STORE_CURRENT_H

#include "runtime/store/column.h"

/* What one column has of some prims. */
typedef struct fr_current_column {
    fr_column *column;
    uint32_t count;    /* of the prims that are there */
    uint64_t *present; /* a bit for each prim */
    fr_buffer *rows;   /* NULL until read; a row for each prim, zero where it is not there */
} fr_current_column;

typedef struct fr_current {
    fr_store *store;
    const uint32_t *prims; /* the caller's */
    uint32_t prim_count;
    uint64_t ordinal, op_id;
    fr_current_column *columns;
    uint32_t column_count, column_capacity;
} fr_current;

/* All columns in which some of the prims are for (ordinal, op_id). False without memory. Ended by
 * fr_current_release in any case. */
bool fr_current_find(fr_store *store, const uint32_t *prims, uint32_t count, uint64_t ordinal,
                     uint64_t op_id, fr_current *out);
/* Then, if the ordinal is above the floors of all their attributes: their rows, but for those that
 * lie on a device (current_place.h). False without memory. */
bool fr_current_read(fr_current *current);
void fr_current_release(fr_current *current);

static inline bool fr_current_has(const fr_current_column *column, uint32_t prim)
{
    return (column->present[prim / 64] >> prim % 64 & 1) != 0;
}

#endif
