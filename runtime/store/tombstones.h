/* Tombstones: that keys of a column were deleted, and when.
 *
 * A column whose keys are ever deleted has a companion: a column of one byte a row, of the same
 * attribute but in nobody's list, with a row for each key that was. So layout, history and
 * snapshots treat a delete as they treat a write: the key is there at a moment if the newest write
 * at or below it is newer than the newest tombstone. At the same ordinal the tombstone is the later
 * one.
 *
 * Deletes leave marks (marks.h); a seal makes tombstones of them, attribute by attribute, before it
 * lays out what else becomes visible. attribute->tombstoned says up to where that is done.
 *
 * Threads: expand and drop by seals, under their lock; the others from any. */
#ifndef FR_RUNTIME_STORE_TOMBSTONES_H
#define FR_RUNTIME_STORE_TOMBSTONES_H

#include "runtime/store/column.h"

/* The companion, or NULL. */
fr_column *fr_tombstones_of(const fr_column *column);

/* --- judgements ------------------------------------------------------------------------------- */
/* The newest ordinal at or below `ordinal` at which the key was deleted by ops before op_id, marks
 * included; 0: never. */
uint64_t fr_tombstones_judge(fr_column *column, uint32_t prim, uint64_t ordinal, uint64_t op_id);

/* Whether a mark at this ordinal would take the key away: it is there just below, or the ordinal
 * has written it. */
bool fr_tombstones_due(fr_column *column, uint32_t prim, uint64_t ordinal);
/* The same where lower marks may not be tombstones yet. */
bool fr_tombstones_due_open(fr_column *column, uint32_t prim, uint64_t ordinal);

/* --- reads of sealed moments ------------------------------------------------------------------ */
/* The newest ordinal at or below `at` at which the key was deleted; 0: never, or that is no longer
 * known (*known is then false). */
uint64_t fr_tombstones_at(const fr_column *column, uint32_t prim, uint64_t at, bool *known);

/* --- seals ------------------------------------------------------------------------------------ */
/* Makes tombstones of the marks that become visible with the record. What there is no memory for is
 * left to the next seal; until then attribute->tombstoned stays below the mark. */
void fr_tombstones_expand(fr_store *store, const fr_floor_record *next);
/* The same of one attribute, up to its floor, for who finds it missing. False without memory. */
bool fr_tombstones_expand_attribute(fr_store *store, fr_attribute *attribute, uint64_t floor);
/* After layout: enters the keys that were deleted as such. */
void fr_tombstones_bury(fr_store *store);
/* Then, of what becomes visible in this segment up to the floor: whether a deleted key comes back
 * (R82). Costs the rows that changed, if the segment has deleted keys, and nothing else. */
void fr_tombstones_note_returns(fr_store *store, fr_segment *segment, uint64_t floor);
void fr_tombstones_forget_burials(fr_store *store); /* the store goes */
/* After the record is published: marks that nobody needs any more go. */
void fr_tombstones_drop_marks(fr_store *store, const fr_floor_record *published);

#endif
