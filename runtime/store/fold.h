/* Folding: joins the sealed changes of a segment into its head, in ordinal order, so that reads
 * stay short.
 *
 * May be late or do nothing for want of memory: readers follow the list. Called by seals only, one
 * at a time. */
#ifndef FR_RUNTIME_STORE_FOLD_H
#define FR_RUNTIME_STORE_FOLD_H

#include "runtime/store/column.h"

/* Everything at or below `floor`; then trims history and publishes the head. Takes the segment's
 * lock, but not while it copies a payload. False when something had to be left for want of memory.
 */
bool fr_fold_segment(fr_store *store, fr_segment *segment, uint64_t floor);

#endif
