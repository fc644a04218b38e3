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

#endif
