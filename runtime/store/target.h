/* A target: one version, or the unplaced rows, that a write fills, and which of its elements go
 * where.
 *
 * Made in two steps: fr_target_reserve takes the memory for all targets of a write, and may fail;
 * then fr_target_enter gives the rows their places, which cannot fail. So a write that is refused
 * has changed nothing. */
#ifndef FR_RUNTIME_STORE_TARGET_H
#define FR_RUNTIME_STORE_TARGET_H

#include "runtime/store/column.h"

typedef struct fr_target {
    fr_column *column;
    fr_segment *segment; /* NULL: unplaced rows */
    fr_version *version;
    fr_unplaced *unplaced;
    fr_touched *writing; /* of what was there, until this has written it; or NULL */
    bool claimed;        /* the segment keeps its rows until the version is linked (rehome.h) */
    bool made;           /* version or unplaced is new: linked at commit */
    bool replaces; /* a full write over what this ordinal had written: `version` takes its place at
                      commit */
    bool straight; /* element k goes to row first_place + k, for all elements */
    uint32_t first_place;
    uint32_t count;             /* elements */
    const uint32_t *bound_rows; /* a new list of rows: element k goes to row bound_rows[k], for all
                                   elements; elements and places are not spelled out */
    const uint32_t *gathered;   /* bound_rows in another order than the elements: element
                                   gathered[k] goes to row bound_rows[k]; or NULL */
    uint32_t *elements;         /* not straight: which, ascending */
    uint32_t *places;      /* rows of the segment or prim indices, then places in the payload */
    const uint32_t *fresh; /* unplaced rows of prims that the column has nothing of: they are this
                              list, in the order of the elements; NULL: not known to be */
    bool beside; /* on a device: a copy takes the place of what there is (target_place.h) */
    const fr_version *copied; /* beside: whose rows that gets */
    fr_buffer *taken; /* on a device: the source's, which is its payload without a copy; or NULL */
    bool cleared;     /* on a device: what its new version has no rows for is zero */
    fr_buffer *renewed; /* on a device: the payload of unplaced rows from the commit on, since the
                           one that they have is too small, or somebody reads it; or NULL */
    bool enters_prims;  /* else its op does, once for all columns */
    uint32_t prims_reserved; /* to be settled */
    uint32_t *prims; /* placed keys that a later accepted op made: this one makes them too */
} fr_target;

/* Where the payload of a target lies. */
static inline fr_buffer *fr_target_buffer(const fr_target *target)
{
    if (target->segment)
        return target->version->buffer;
    return target->renewed ? target->renewed : target->unplaced->buffer;
}

/* Of the source. */
static inline uint32_t fr_target_element(const fr_target *target, uint32_t k)
{
    if (target->gathered)
        return target->gathered[k];
    return target->straight || target->bound_rows ? k : target->elements[k];
}

/* Row of the segment, or prim index; until places are given. */
static inline uint32_t fr_target_row(const fr_target *target, uint32_t k)
{
    if (target->bound_rows)
        return target->bound_rows[k];
    return target->straight ? k : target->places[k];
}

static inline fr_touched *fr_target_touched(const fr_target *target)
{
    return target->segment ? &target->version->touched : &target->unplaced->touched;
}

/* Under the lock that its version or record was found under: it will be written where it is. */
void fr_target_begin(fr_target *target, fr_touched *touched);
/* It is written, or will not be. */
void fr_target_end(fr_target *target);
/* What the ordinal has made of it already; begins to write that. If that is nothing, claims the
 * segment; false: its rows are moving to another one. */
bool fr_target_look_up(fr_target *target, uint64_t ordinal);
/* Nothing will be linked by it. */
void fr_target_unclaim(fr_target *target);
/* Looked up before. */
bool fr_target_reserve(fr_store *store, fr_target *target, uint64_t ordinal, uint64_t op_id);
/* After reserve, for the only target of a write: the memory of the source becomes the payload,
 * unless that cannot be (then *adopts stays false). */
void fr_target_adopt(fr_store *store, fr_target *target, const fr_row_source *source, bool *adopts);
/* Both steps for one row of a segment that no later accepted op has made: in the version that the
 * ordinal has, or in a new list of it. False, with nothing changed: it needs more, or memory. */
bool fr_target_one_row(fr_store *store, fr_target *target, uint64_t ordinal, uint64_t op_id,
                       uint32_t row);
void fr_target_enter(fr_target *target, uint64_t op_id);
/* Gives back what reserve made; nothing was entered. */
void fr_target_undo(fr_store *store, fr_target *target);
/* Counts its payload's bytes as unsealed, as they are by now. */
void fr_target_count_bytes(fr_store *store, fr_target *target);
/* Links a version that was made, or puts it in the place of the one that it replaces. */
void fr_target_link(fr_target *target, fr_versions *versions);
/* Links what was made, and counts its bytes. */
void fr_target_commit(fr_store *store, fr_target *target, uint64_t ordinal, uint64_t op_id);
/* Before it is reserved, of a late write (late.h): enters the keys that the ordinal had not written
 * yet. False without memory. */
bool fr_target_enter_late(fr_store *store, fr_target *target, const fr_query *query,
                          const fr_row_source *rows, uint64_t ordinal, uint64_t op_id);

#endif
