/* The archive of a segment: values of single rows that its list of states no longer holds, and that
 * are still among the newest of their keys (L6).
 *
 * A state that is cut off the list holds the values which the next newer one replaced. Of those
 * that may still be wanted each is entered here by itself: a row has at most as many as history is
 * configured to have, and a further one displaces its oldest. Each tells from which ordinal until
 * which it was the row's value, so that it is right whatever became of those before and after it.
 *
 * Invariants: what is entered ends at or below the oldest state of the list, or is of a state that
 * was to go off it and could not, where nobody looks for it here. A row's values are
 * linked from the newest to the oldest; of a row where a derived value took the place of another
 * there may be more than configured, as long as somebody waits for the oldest. The elements of an
 * array are copied when it is entered: an archived row holds on to no other row's.
 *
 * Threads: seals alone change it, one at a time, under the segment's lock, which readers hold; a
 * larger one is made beside it and put in its place. Progress: nothing is allocated under that
 * lock, and it is given to others after FR_ROWS_A_LOCK steps. Memory: for each value its row and 24
 * bytes, and up to 16 for the index, all up to twice; counted as history, within its limit. It is
 * taken when values are entered that displace none, and given back when all rows were written in
 * full, or to the limit: the oldest first. */
#ifndef FR_RUNTIME_STORE_ARCHIVE_H
#define FR_RUNTIME_STORE_ARCHIVE_H

#include "runtime/store/column.h"

typedef struct fr_archived {
    uint64_t from, until; /* first ordinal of it, and of what came after it */
    uint32_t row;
    uint32_t older; /* the row's next older one, from 1; 0: none */
} fr_archived;

struct fr_archive {
    uint32_t count, capacity;
    uint32_t index_bits; /* it has two to the power of that */
    uint64_t element_bytes;
    fr_buffer *records; /* the two below */
    fr_archived *entries;
    uint32_t *index;   /* by row, open addressing: its newest entry, from 1 */
    fr_buffer *values; /* by entry */
};

/* --- during a seal ---------------------------------------------------------------------------- */
/* A value on its way in. */
typedef struct fr_archiving {
    uint32_t row;
    uint64_t from, until;
    const fr_buffer *source; /* where it lies, and in which row */
    uint32_t place;
} fr_archiving;

/* The most that are entered at a time. */
#ifdef FR_SHRINK
#define FR_ARCHIVE_SOME FR_ROWS_A_LOCK
#else
#define FR_ARCHIVE_SOME 64u
#endif
/* Enters some, of distinct rows, each newer than what the row has or one that is there already.
 * False without memory, or when one that ends above `moment` would have to go: maybe not all are.
 */
bool fr_archive_enter(fr_store *store, fr_segment *segment, const fr_archiving *some,
                      uint32_t count, uint64_t moment);
/* The same, beside all that the rows have, until they are settled. False without memory: none is.
 */
bool fr_archive_save(fr_store *store, fr_segment *segment, const fr_archiving *some,
                     uint32_t count);
/* The older part of what ends at or below `moment` goes, about half of the time that it covers.
 * False: there is none. */
bool fr_archive_shorten(fr_store *store, fr_segment *segment, uint64_t moment);
/* When the oldest ends; UINT64_MAX: there is none. */
uint64_t fr_archive_oldest(const fr_segment *segment);
/* All of it, none of which ends above `until`; but for who waits for it. */
void fr_archive_drop(fr_store *store, fr_segment *segment, uint64_t until);
/* With the segment. */
void fr_archive_destroy(const fr_allocator *allocator, fr_buffers *buffers, fr_archive *archive);

/* --- with the segment's lock held ------------------------------------------------------------- */
/* During a seal: the row gets another value at an ordinal that is on the list. What was entered of
 * states there is not so any more, and will be entered again. */
void fr_archive_withdraw(fr_segment *segment, uint32_t row, uint64_t ordinal);
/* The same: of what the row has, the oldest above the configured number that ends at or below
 * `moment`, and that nobody waits for, is not its any more. */
void fr_archive_settle(const fr_store *store, fr_segment *segment, uint32_t row, uint64_t moment);
/* The row's value at an ordinal; NULL: it is not in. *left goes down by the steps that it took. */
const fr_archived *fr_archive_find(const fr_segment *segment, uint32_t row, uint64_t ordinal,
                                   uint32_t *left);

static inline uint32_t fr_archive_place(const fr_archive *archive, const fr_archived *entry)
{
    return (uint32_t)(entry - archive->entries);
}

#endif
