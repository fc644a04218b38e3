/* What follows a published floor: layout, folding, trimming. One seal at a time; visits only what
 * sealed ordinals have made, and what an earlier seal had to leave for want of memory.
 *
 * Order matters: the rows of a column are laid out before its segments are folded, since a change
 * must not come in below a head. */
#ifndef FR_RUNTIME_STORE_SEAL_H
#define FR_RUNTIME_STORE_SEAL_H

#include "runtime/store/column.h"

/* The seals' lock, also for who derives rows (derive.h). */
void fr_seal_begin(fr_store *store);
/* Until it is free. */
void fr_seal_wait(fr_store *store);
/* Lets go of it, then of what is not wanted any more. */
void fr_seal_end(fr_store *store);
/* During a seal: takes an unlinked version out of use, at its end or with its last pin. */
void fr_seal_drop(fr_store *store, fr_version *version);
/* During a seal: the segment is folded before it ends. */
/* Seals only. */
void fr_seal_want_layout(fr_store *store, fr_column *column);
void fr_seal_want_fold(fr_store *store, fr_segment *segment);
/* Not during a seal: rows of the column at or below a published floor, that its seal found no
 * memory for, get their place. The next seal folds them. False: there is none still. */
bool fr_seal_layout_late(fr_store *store, fr_column *column, uint64_t floor);
/* A reader finds that marks of deletes that its moment needs have not become tombstones. False
 * without memory. */
bool fr_seal_expand_late(fr_store *store, fr_attribute *attribute, uint64_t floor);

#endif
