/* Marks: what deletes say, until seals have made tombstones of it (D12).
 *
 * A delete at ordinal N moves no row and knows no column: it leaves a mark for each key (attribute,
 * prim), or for a prim with all its attributes, also with ones that appear later at lower ordinals.
 * A later write at N to a marked key keeps it, in the column that is written (an older schema stays
 * deleted): that is entered too. So each key of an ordinal has events in acceptance order, and a
 * judgement made for op i looks at the last one below i.
 *
 * Record of an ordinal: events in the order entered; a hash from whom they name to the last one.
 *
 * Threads: one lock guards all; a record is written by its ordinal's lane alone, so memory is taken
 * outside of the lock. While there are no marks nobody takes it.
 * Invariants: events are only added; those of one key are ascending by op id. A record goes when a
 * seal, or the end of the last judgement that held it, finds it settled, also while a seal of other
 * attributes looks for its own in it; an empty one with its last reservation. Progress: a lookup
 * walks the records of a range of ordinals, and in each the events of one key. Memory bound: 24
 * bytes an event and up to 24 a key (counted as unsealed), until the last seal that they concern.
 */
#ifndef FR_RUNTIME_STORE_MARKS_H
#define FR_RUNTIME_STORE_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/store/late.h"
#include "scheduler/memory.h"

/* In place of an attribute's index: the prim with all its attributes. Indices of attributes and
 * numbers of columns are below FR_MARK_LIMIT. */
#define FR_MARK_ALL UINT32_MAX
#define FR_MARK_LIMIT (UINT32_C(1) << 31)

/* Whose key is looked up: one of a column of an attribute. */
typedef struct fr_mark_owner {
    uint32_t attribute, column;
} fr_mark_owner;

typedef struct fr_marks fr_marks;

/* late: for whom sealed marks stay. NULL without memory. */
fr_marks *fr_marks_create(const fr_allocator *allocator, fr_late *late);
void fr_marks_destroy(fr_marks *marks);
/* Whether no ordinal has any. */
bool fr_marks_none(const fr_marks *marks);
uint64_t fr_marks_bytes(const fr_marks *marks);
/* Which prims were ever named: that stays. */
uint64_t fr_marks_table_bytes(const fr_marks *marks);

/* --- the lane of an ordinal ------------------------------------------------------------------- */

/* Room for so many writes of keys at this ordinal, beside what was reserved before and has not
 * ended. False without memory: nothing changed. Every success is followed by one end with the same
 * number, after what is entered by it, or instead. */
bool fr_marks_reserve(fr_marks *marks, uint64_t ordinal, uint32_t events);
/* The same for deletes of these prims' keys of so many attributes, an event for each; 0: of the
 * prims themselves. */
bool fr_marks_reserve_delete(fr_marks *marks, uint64_t ordinal, uint32_t attributes,
                             const uint32_t *prims, uint32_t count);
void fr_marks_end(fr_marks *marks, uint64_t ordinal, uint64_t events);
/* Of this ordinal: how many marks, of deletes and of what is kept. */
uint32_t fr_marks_count(fr_marks *marks, uint64_t ordinal);
/* The prims that its marks name, from the first-th on, as they were entered: a prim may come more
 * than once. Returns how many, at most `room`; 0: there are no more. */
uint32_t fr_marks_prims(fr_marks *marks, uint64_t ordinal, uint32_t first, uint32_t *out,
                        uint32_t room);
/* Leaves of the prims those whose key the ordinal has deleted, by all that it has; returns how
 * many. */
uint32_t fr_marks_deleted(fr_marks *marks, uint64_t ordinal, fr_mark_owner owner, uint32_t *prims,
                          uint32_t count);
/* Reserved before: a delete of a key, or of a prim (FR_MARK_ALL). */
void fr_marks_delete(fr_marks *marks, uint64_t ordinal, uint32_t attribute, const uint32_t *prims,
                     uint32_t count, uint64_t op_id);
/* Reserved before: a write of keys that are deleted keeps them from now on. */
void fr_marks_keep(fr_marks *marks, uint64_t ordinal, fr_mark_owner owner, const uint32_t *prims,
                   uint32_t count, uint64_t op_id);

/* --- judgements and reads --------------------------------------------------------------------- */

/* The highest ordinal in (low, high] at which the key stays deleted by what ops below op_id say; 0:
 * none. */
uint64_t fr_marks_find(fr_marks *marks, fr_mark_owner owner, uint32_t prim, uint64_t low,
                       uint64_t high, uint64_t op_id);
/* Whether a delete has ever named the prim. */
bool fr_marks_ever(const fr_marks *marks, uint32_t prim);
/* The same of many, without the lock: of the elements of a list (NULL: 0 to count - 1) from *first
 * on, the prims that one has, up to `room` of them; *first is where it stopped. */
uint32_t fr_marks_named(const fr_marks *marks, const uint64_t *prims, const uint32_t *elements,
                        uint32_t *first, uint32_t count, uint32_t *out, uint32_t room);
/* The ordinal's lane takes back all that it has deleted and kept. */
void fr_marks_discard(fr_marks *marks, uint64_t ordinal);
/* From now on it is not enough that a prim was made: its keys must be looked at, as if a delete had
 * named it (fr_marks_ever). False without memory. */
bool fr_marks_doubt(fr_marks *marks, uint32_t prim);
/* Whether an ordinal has marks. */
bool fr_marks_has(fr_marks *marks, uint64_t ordinal);

/* --- seals ------------------------------------------------------------------------------------ */

/* The lowest ordinal with marks above `ordinal`, at or below `last`. False: there is none. */
bool fr_marks_next(fr_marks *marks, uint64_t ordinal, uint64_t last, uint64_t *out);

typedef struct fr_marked {
    uint32_t prim;
    uint64_t op_id;
} fr_marked;

/* The prims whose key in this column stays deleted at the ordinal, each once, in the order deleted.
 * *out: *out_count of *out_capacity entries, given back with fr_marked_release. False without
 * memory. */
bool fr_marks_collect(fr_marks *marks, uint64_t ordinal, fr_mark_owner owner, fr_marked **out,
                      uint32_t *out_count, uint32_t *out_capacity);
void fr_marked_release(fr_marks *marks, fr_marked *marked, uint32_t capacity);

/* The attribute's tombstones of this ordinal are made; marks that concern no other attribute go. */
void fr_marks_settle(fr_marks *marks, uint64_t ordinal, uint32_t attribute);
/* Every attribute's floor is at or above `base`: marks up to there go, and those that were held for
 * judgements which have been made (0: only those). */
void fr_marks_drop(fr_marks *marks, uint64_t base);

#endif
