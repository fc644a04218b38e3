/* Which rows of a segment each of its sealed ordinals changed (L6): exact for the last
 * FR_CHANGE_LOG_SEALS seals of each column, within a limit of bytes, also where the values of then
 * are gone. What is older is merged: of that it is only known when a row last changed (the
 * segment's row_ordinals).
 *
 * An entry is made when a seal accounts for an ordinal (fold.c) and holds a reference of the change
 * that its version had, so that it costs no copy. It is in three lists: of its segment, ascending
 * by ordinal, with a tree over it; of its column and of the store, in the order made, which is the
 * same for those of one segment.
 *
 * Threads: seals alone change it, one at a time (the seals' lock), a segment's list under that
 * segment's lock besides; readers hold that lock, or a reference of the change. Progress: the
 * memory is taken before the segment's lock; what there is none for is merged at once. Memory
 * bound: an eighth of the history's limit and FR_CHANGE_LOG_LEAST bytes, but for what a waiting
 * read needs; up to FR_CHANGE_LOG_KEPT free entries. */
#ifndef FR_RUNTIME_STORE_CHANGE_LOG_H
#define FR_RUNTIME_STORE_CHANGE_LOG_H

#include "runtime/store/history.h"

#define FR_CHANGE_LOG_SEALS 64u
#define FR_CHANGE_LOG_LEAST ((uint64_t)16 << 20)
#define FR_CHANGE_LOG_KEPT 256u

struct fr_logged {
    fr_logged *older, *newer;             /* the segment's */
    fr_logged *next_in_column;            /* made after this one */
    fr_logged *store_older, *store_newer; /* store_newer: the pool's link while free */
    fr_segment *segment;
    fr_ordinal_node place;
    uint64_t began;         /* the op that did, as version.h */
    uint64_t seal;          /* the column's how-manieth */
    fr_change *change;      /* NULL: all rows */
    uint64_t previous_full; /* when before it all rows were last written together */
    uint64_t size_bytes;
};

/* --- by seals --------------------------------------------------------------------------------- */
/* Takes memory for so many entries; false: for fewer. */
bool fr_change_log_reserve(fr_store *store, uint32_t count);
/* With the segment's lock held: enters a version that was just accounted for. */
void fr_change_log_add(fr_store *store, fr_segment *segment, const fr_version *version);
/* With the segment's lock held, of an ordinal that is accounted for: its entry's `since` is what it
 * changed, more than is logged, or where nothing was. Returns what is to be released without the
 * lock. */
fr_change *fr_change_log_amend(fr_store *store, fr_segment *segment, const fr_version *version);
/* Without it: merges what is too old, or too much. */
void fr_change_log_trim(fr_store *store, fr_column *column);
/* Of a segment that keys move into, and nobody else sees: its entries, which are in no other list
 * yet, ascending. Reserved before. */
struct fr_rehome_ordinal;
void fr_change_log_enter(fr_store *store, fr_segment *segment,
                         const struct fr_rehome_ordinal *what);
/* They go again. */
void fr_change_log_leave(fr_store *store, fr_segment *segment);
/* They take the places of those that their owners had there; all that the column's moved segments
 * had goes. */
void fr_change_log_take_places(fr_store *store, fr_segment *segment,
                               const struct fr_rehome_ordinal *ordinals, uint32_t count);
/* When nobody uses the store any more. */
void fr_change_log_destroy(fr_store *store);

/* --- by readers and judgements ---------------------------------------------------------------- */
/* Whether an ordinal at or above `start` may have changed the segment, of those accounted for. */
bool fr_change_log_may_have(const fr_segment *segment, uint64_t start);
/* With the segment's lock held: the lowest entry above `ordinal`; or NULL. */
fr_logged *fr_change_log_above(const fr_segment *segment, uint64_t ordinal);
/* The newest sealed ordinal at or below `at` at which the row, which existed then, was written; 0:
 * that was merged with a newer one. Takes the lock, in pieces. */
uint64_t fr_change_log_row(fr_segment *segment, uint32_t row, uint64_t at);
/* The same as a search (history.h), with the lock held. False: there is no step left. */
bool fr_change_log_look(const fr_segment *segment, fr_row_look *look, uint32_t *left);
/* With the segment's lock held: the op that began the segment's entry of an ordinal which is
 * accounted for; 0: that was merged. */
uint64_t fr_change_log_began(const fr_segment *segment, uint64_t ordinal);

#endif
