/* A payload for the next head beside one that somebody reads: all rows as that has them.
 *
 * A column is copied only if nothing else is there. What an older state lies in is brought up to
 * date by the row lists since, which costs what has changed: the newest older state in the list
 * that nobody reads (it gives its payload away and keeps, as an UNDO, the rows that differ), or a
 * spare.
 *
 * Threads: seals only, one at a time; what is sealed stays as it is meanwhile. Takes the segment's
 * lock while it saves rows that differ. Memory bound: one payload of the segment, or of one change.
 */
#ifndef FR_RUNTIME_STORE_HEAD_COPY_H
#define FR_RUNTIME_STORE_HEAD_COPY_H

#include "runtime/store/column.h"

/* One reference, writable. NULL without memory: nothing changed. */
fr_buffer *fr_head_copy(fr_store *store, fr_segment *segment, const fr_version *head);

/* The newest whole state below the head, if it is ours, nobody seems to read it, and it is known
 * what has changed since; in at most FR_SPARE_CHANGES changes. Not below a change that is not
 * folded, which stands on it. NULL: none. */
fr_version *fr_head_copy_older(const fr_version *head);
/* With the segment's lock held: begin makes it ours alone; false when somebody reads it after all.
 * end turns it into an UNDO with `saved`, which has the rows that the next newer entry changed; its
 * payload is the caller's. Readers choose and pin under the same lock: they find the one or the
 * other. */
bool fr_head_copy_begin_undo(fr_version *version);
void fr_head_copy_end_undo(fr_segment *segment, fr_version *version, fr_buffer *saved);
/* The spare with the fewest changes to catch up with that nobody reads any more: exclusive then. Or
 * NULL. */
fr_spare *fr_head_copy_spare(fr_segment *segment);
/* Out of its slot: its payload, which is the caller's. */
fr_buffer *fr_head_copy_take_spare(fr_store *store, fr_spare *spare);

#endif
