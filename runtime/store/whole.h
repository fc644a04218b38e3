/* Older states that are off the list of their segment and kept whole, since the next newer one
 * wrote all rows: what they had may be wanted of any row (L6), and takes less room so than row by
 * row.
 *
 * Each is a FULL version in a list of its own, from the newest to the oldest, and tells from which
 * ordinal until which it has the value of a row, so that it is right by itself. There are as many
 * as history is configured to have; a further one is in place of the oldest, which each of the
 * others has made one version older.
 *
 * Threads: seals alone change them, one at a time, under the segment's lock, which readers hold.
 * Memory: of a state that did not write all rows itself 8 bytes a row besides. Counted as history.
 */
#ifndef FR_RUNTIME_STORE_WHOLE_H
#define FR_RUNTIME_STORE_WHOLE_H

#include "runtime/store/column.h"

/* --- during a seal ---------------------------------------------------------------------------- */
/* Whether the oldest entry of the list may be kept so; and at no cost a row, or one of few rows. */
bool fr_whole_may_keep(const fr_segment *segment);
bool fr_whole_is_cheap(const fr_segment *segment);
/* Takes that entry, which is not the newest and accounted for, off the list. False: somebody waits
 * for it, or there is no memory; it stays. */
bool fr_whole_keep(fr_store *store, fr_segment *segment);
/* The oldest goes. False: there is none, or it ends above `moment`, or somebody waits for it. */
bool fr_whole_drop(fr_store *store, fr_segment *segment, uint64_t moment);
/* When the oldest ends; UINT64_MAX: there is none. */
uint64_t fr_whole_oldest(const fr_segment *segment);
uint64_t fr_whole_bytes(const fr_segment *segment);

/* --- with the segment's lock held ------------------------------------------------------------- */
/* The one that has the row's value at an ordinal, and since when that is it; NULL: none has. *left
 * goes down by the steps that it took. */
const fr_version *fr_whole_find(const fr_segment *segment, uint32_t row, uint64_t ordinal,
                                uint64_t *from, uint32_t *left);

#endif
