/* The old end of a segment's list: what is kept for late readers, what becomes a spare, what goes.
 *
 * Of each key the configured number of values before its newest is kept (L6). A state holds the
 * values that the next newer one replaced; it stays as long as one of them is among those, or until
 * it is archived row by row (superseded.h, retire.h, archive.h).
 *
 * Cutting the old end is always safe: an entry depends on newer ones only. What goes through states
 * of which there may be any number does so without the segment's lock, or lets go of it now and
 * then. Who reads holds its moment before it takes the segment's lock; what is taken away is taken
 * under that lock, after a look at the moments. */
#ifndef FR_RUNTIME_STORE_HISTORY_H
#define FR_RUNTIME_STORE_HISTORY_H

#include "runtime/store/column.h"

/* During a seal: cuts what neither the configuration nor a waiting read wants, or archives what it
 * wants some rows of. Dropped versions that a reader pins go with their last pin. */
void fr_history_trim(fr_store *store, fr_segment *segment);
/* During a seal: while history takes more than it may, the oldest goes that nobody reads or waits
 * for. */
void fr_history_limit(fr_store *store);
/* During a seal: the segment has no states any more. */
void fr_history_forget(fr_store *store, fr_segment *segment);
/* During a seal: an entry that may be history has got another payload. */
void fr_history_recount(fr_segment *segment, fr_version *version);
/* The lowest ordinal that somebody waits for or, but above the limit, has a snapshot of. */
uint64_t fr_history_moment(fr_store *store);
/* --- by readers ------------------------------------------------------------------------------- */

/* A search for when a row was last written at or below an ordinal, which gives the segment's lock
 * to others now and then: entries may be sealed, folded and cut meanwhile. What is cut is not
 * known. */
typedef struct fr_row_look {
    uint32_t row;
    uint64_t ordinal;
    uint64_t written;      /* what is found; 0: nothing */
    uint64_t below, above; /* entries from there to the ordinal were looked at */
    bool is_above;         /* some entry above the ordinal was, before which ... */
    uint64_t full;         /* ... all rows were last written */
} fr_row_look;

void fr_row_look_begin(fr_row_look *look, uint32_t row, uint64_t ordinal);
/* One of the steps that are left; false: none is. */
bool fr_row_look_step(uint32_t *left);
/* With the segment's lock held. Entries above `accounted` are sealed but not entered in the row
 * ordinals: the newest of them at or below the ordinal that has the row becomes `written`. False:
 * there is no step left. */
bool fr_row_look_unaccounted(const fr_segment *segment, fr_row_look *look, uint32_t *left);
/* The same: goes by the change that was the first to replace the row's value of then; NULL: none
 * has. */
void fr_row_look_end(const fr_segment *segment, fr_row_look *look, const fr_change *change);
/* The newest sealed ordinal at or below `ordinal` at which a row was written; 0: none, or it is
 * below the oldest state and that value is not kept. Takes the lock, in pieces. */
uint64_t fr_history_row_ordinal(fr_segment *segment, uint32_t row, uint64_t ordinal);
/* The same of several rows (NULL: all of the segment): the newest of theirs. With the segment's
 * lock held, and false when it would have to be held too long. */
bool fr_history_rows_at_once(const fr_segment *segment, const uint32_t *rows, uint32_t count,
                             uint64_t ordinal, uint64_t *newest);
/* In any case: takes the lock, in pieces. The moment is held meanwhile (fr_store_moment_hold), so
 * that what leads back to it stays. */
uint64_t fr_history_rows_ordinal(fr_segment *segment, const uint32_t *rows, uint32_t count,
                                 uint64_t ordinal);

#endif
