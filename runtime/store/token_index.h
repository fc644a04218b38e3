/* Which prims have, or once had, a token in `usd-prim-type` or `usd-schemas`: so that a filter by
 * type looks at nobody else. Whether a prim still has it is a question to the column; which of the
 * two it was in, too.
 *
 * Entries are only added, by a write's preparation, before anybody can see its rows. A write whose
 * prims had the tokens already finds that out and adds nothing.
 *
 * Threads: any. One short lock for adding; walks take it once, since entries do not change.
 * Progress: adding a token to a prim looks at those that the prim ever had. Memory: 16 bytes for
 * each pair of a prim and a token, 4 for each prim and 8 for each token in touched pages. */
#ifndef FR_RUNTIME_STORE_TOKEN_INDEX_H
#define FR_RUNTIME_STORE_TOKEN_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/memory.h"

struct fr_store;
struct fr_write;
typedef struct fr_token_index fr_token_index;

fr_token_index *fr_token_index_create(const fr_allocator *allocator); /* NULL without memory */
void fr_token_index_destroy(fr_token_index *index);                   /* NULL is fine */
uint64_t fr_token_index_bytes(const fr_token_index *index);           /* the same */
/* What a write puts where, if its column is found by its tokens. False without memory: some of it
 * may be entered, which does no harm. */
bool fr_token_index_write(struct fr_store *store, const struct fr_write *write);

/* A walk: the first entry of a token, how many it has, and of an entry the prim and the next. 0: no
 * entry. */
uint32_t fr_token_index_first(fr_token_index *index, uint64_t token, uint32_t *out_count);
uint32_t fr_token_index_next(const fr_token_index *index, uint32_t entry, uint32_t *out_prim);

#endif
