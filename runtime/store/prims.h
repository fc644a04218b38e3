/* Which prims exist, by whose doing: for INSERT, judged by L3.
 *
 * For each prim the pairs (ordinal, op id) that created it, reduced to those that no other pair is
 * at or below in both. A prim exists for a judgement at (ordinal N, op i) when a pair with ordinal
 * <= N and op id < i is there. Usually one pair a prim: a paged array by prim index; of several
 * pairs each lies in a side record.
 *
 * Threads: all. Invariants: the pairs of a prim are ascending by ordinal and descending by op id;
 * side records that are free are never fewer than those promised by reserve. Progress: one short
 * lock inside, allocation outside of it; prims in absent pages are answered without it. Memory
 * bound: 16 bytes a prim in touched pages and 4 in the order of entering, 40 a further pair, and
 * twice that for each prim of a reservation that is not settled. */
#ifndef FR_RUNTIME_STORE_PRIMS_H
#define FR_RUNTIME_STORE_PRIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/memory.h"

typedef struct fr_prims fr_prims;

fr_prims *fr_prims_create(const fr_allocator *allocator);
void fr_prims_destroy(fr_prims *prims);

/* Pages and side records for these prims, so that entering each of them once cannot fail. False
 * without memory. Every successful reserve is followed by one settle with the same count, after
 * what is entered by it, or instead. */
bool fr_prims_reserve(fr_prims *prims, const uint32_t *prim, uint32_t count);
void fr_prims_settle(fr_prims *prims, uint32_t count);

/* Reserved before. op_id is below 2^63. */
void fr_prims_enter_all(fr_prims *prims, const uint32_t *prim, uint32_t count, uint64_t ordinal,
                        uint64_t op_id);

bool fr_prims_exists(const fr_prims *prims, uint32_t prim, uint64_t ordinal, uint64_t op_id);
/* Whether one of them was ever entered. */
bool fr_prims_any(const fr_prims *prims, const uint32_t *prim, uint32_t count);
/* Prims in the order in which they were first entered, from number `from` on, at most FR_PRIMS_SOME
 * of them. All of those counted are there. */
#define FR_PRIMS_SOME 256u
uint32_t fr_prims_entered(const fr_prims *prims, uint32_t from, uint32_t some[FR_PRIMS_SOME]);
uint64_t fr_prims_count(const fr_prims *prims);
size_t fr_prims_bytes(const fr_prims *prims);

#endif
