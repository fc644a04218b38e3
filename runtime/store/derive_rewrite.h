/* Derived rows below what is sealed already (derive.h): the states of a segment from the ordinal up
 * are made anew as a whole, as far as they show derived rows, and take the places of the old ones.
 * The next older state is made whole, too, if it was told by what the newer ones have; where there
 * is none any more, what the rows had before goes to the archive.
 *
 * Seldom: when something is derived twice at one ordinal, or late. So it is simple, and costs a
 * copy of the segment for each of its few states.
 *
 * Threads: who derives, with the seals' lock; commit takes the segment's. Memory: before commit. */
#ifndef FR_RUNTIME_STORE_DERIVE_REWRITE_H
#define FR_RUNTIME_STORE_DERIVE_REWRITE_H

#include "runtime/store/derive.h"

/* The segment is folded, so far as there was memory, and has newer entries than the ordinal, or one
 * of it. Not OK: nothing changed, piece->rewrite is NULL. */
ovstage_api_status_t fr_rewrite_prepare(fr_store *store, fr_derive_piece *piece, uint64_t ordinal,
                                        uint64_t op_id);
void fr_rewrite_commit(fr_store *store, fr_derive_piece *piece);
/* Instead of commit. */
void fr_rewrite_undo(fr_store *store, fr_derive_piece *piece);

#endif
