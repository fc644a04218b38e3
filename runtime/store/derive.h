/* Rows that the library derives from others, at an ordinal that is sealed already: a new version of
 * that ordinal, below whatever is newer. Keys that were written since keep what was written; the
 * others show the derived rows at every moment from the ordinal on. Groups that were handed out
 * keep theirs. The rows are a change at the ordinal, for range reads and for history.
 *
 * Where the ordinal is the newest of a segment, what is derived comes in like a write that is
 * sealed a little late, and is folded like one. Else the states from the ordinal up to the last one
 * that still shows derived rows are made anew as a whole (derive_rewrite.h).
 *
 * Threads: one caller at a time, beside writers, readers and seals; holds the seals' lock. All
 * segments come in at once: a reader that meets them half done looks again, told by
 * fr_attribute.derived. Progress: readers wait at most while versions are linked that are ready.
 * Memory: all is taken before the first segment changes. */
#ifndef FR_RUNTIME_STORE_DERIVE_H
#define FR_RUNTIME_STORE_DERIVE_H

#include "runtime/store/bind.h"

/* Rows of one column. */
typedef struct fr_derived {
    fr_schema schema; /* the column's; it is there, and of fixed size */
    fr_query *query;  /* distinct prims whose keys are this column's at the ordinal */
    const unsigned char *base;
    const uint32_t *index; /* the row of position k lies at base + index[k] * row_bytes */
} fr_derived;

/* floor: the attribute's, executed, at or above the ordinal. Not OK: nothing changed. OUT_OF_RANGE:
 * the state at the ordinal is not kept any more. OUT_OF_MEMORY. */
ovstage_api_status_t fr_store_derive(fr_store *store, fr_attribute *attribute,
                                     const fr_derived *derived, uint32_t derived_count,
                                     uint64_t ordinal, uint64_t op_id, uint64_t floor);

/* What reads go by: even, and another one after each time that rows were derived, or keys moved. */
uint64_t fr_derive_look(fr_store *store, const fr_attribute *attribute);
/* Whether that is what it was, after all that the read uses is pinned. */
bool fr_derive_is(const fr_attribute *attribute, uint64_t seen);

/* --- the two ways of one segment -------------------------------------------------------------- */

/* The rows of one segment. */
typedef struct fr_derive_piece {
    fr_segment *segment;
    const fr_derived *derived;
    const fr_binding *binding;
    uint32_t first, count;      /* entries of the binding */
    fr_version *made;           /* the ordinal's, to be linked; NULL: */
    struct fr_rewrite *rewrite; /* states to be replaced */
} fr_derive_piece;

static inline uint32_t fr_derive_row(const fr_derive_piece *piece, uint32_t k)
{
    return fr_bind_row(piece->binding, piece->first + k);
}

static inline const unsigned char *fr_derive_source(const fr_derive_piece *piece, uint32_t k)
{
    uint32_t position = fr_bind_position(piece->binding, piece->first + k);
    return piece->derived->base +
           (size_t)piece->derived->index[position] * piece->segment->column->row_bytes;
}

/* Whether all rows of the segment are derived. */
static inline bool fr_derive_is_whole(const fr_derive_piece *piece)
{
    return piece->count == piece->segment->row_count;
}

#endif
