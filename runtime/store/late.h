/* Late writes: those that an op which is still to be judged must not see (L3).
 *
 * A judgement at ordinal N by op i counts what ops below i did at or below N, whatever else has run
 * by then. A write or delete is *late* when such an op is pending that was accepted before it, and
 * is judged at its ordinal or above. Versions and records of unplaced rows tell the op that began
 * them; which rows a late op added to what others had begun is entered here. While there are late
 * ones, the log of changes stays exact from the lowest of their ordinals on, and marks of deletes
 * stay, so that a judgement finds what lies below what it must not see.
 *
 * Ops to be judged are counted in two generations: all of the older one were accepted before those
 * of the newer one. What is entered goes with the generation that may need it.
 *
 * Threads: begin under admission, ids ascending; the others from any. Two short locks; while
 * nothing is to be judged nobody takes them. Progress: no step grows with what is pending; rows are
 * entered and taken out in pieces. Memory bound: 24 bytes a row that a late op adds to what others
 * began, until at most two generations have been judged; 8 bytes a prim in touched pages. */
#ifndef FR_RUNTIME_STORE_LATE_H
#define FR_RUNTIME_STORE_LATE_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/memory.h"

#define FR_LATE_ALL UINT64_MAX /* of attributes' bits (bit = index mod 64) */

struct fr_column;
typedef struct fr_late fr_late;

fr_late *fr_late_create(const fr_allocator *allocator); /* NULL without memory */
void fr_late_destroy(fr_late *late);
uint64_t fr_late_bytes(const fr_late *late);

/* --- ops that are to be judged ---------------------------------------------------------------- */
/* filter: the attributes whose keys it looks at. */
void fr_late_begin(fr_late *late, uint64_t ordinal, uint64_t filter, uint64_t op_id);
/* Once for each begin: it is judged, or will not be. True: what was kept for it may go. */
bool fr_late_end(fr_late *late, uint64_t op_id);

/* --- ops that run ----------------------------------------------------------------------------- */
/* Whether a change of these attributes is late; the log is kept for it then. FR_LATE_ALL, of a
 * delete: also for who looks at none so far. */
bool fr_late_is(fr_late *late, uint64_t ordinal, uint64_t filter, uint64_t op_id);
/* Before anybody may see it: the op is the first that writes these keys of the column at this
 * ordinal. False without memory. */
bool fr_late_enter(fr_late *late, const struct fr_column *column, uint64_t ordinal, uint64_t op_id,
                   const uint32_t *prims, uint32_t count);

/* --- judgements ------------------------------------------------------------------------------- */
/* Whether any op is late, so that a judgement must ask who wrote. */
bool fr_late_any(const fr_late *late);
/* The op that first wrote the key at this ordinal, as it was entered last; 0: it was not. */
uint64_t fr_late_writer(fr_late *late, const struct fr_column *column, uint32_t prim,
                        uint64_t ordinal);

/* Whether what the op is judged by was lost for want of memory: it must fail. */
bool fr_late_is_lost(const fr_late *late, uint64_t op_id);

/* --- seals ------------------------------------------------------------------------------------ */
/* From this ordinal on changes are needed exactly; UINT64_MAX: they are not. */
uint64_t fr_late_lowest(const fr_late *late);
/* What becomes visible at this ordinal: for whom it must be kept as it was; 0: for nobody. */
uint64_t fr_late_hold(const fr_late *late, uint64_t ordinal);
bool fr_late_is_held(const fr_late *late, uint64_t hold);
/* For want of memory a change of this ordinal is not known exactly. */
void fr_late_lose(fr_late *late, uint64_t ordinal);

#endif
