/* What a write keeps of the keys that its own ordinal has deleted before (D12): found and made room
 * for before anything is written, entered with the marks when the rows are.
 *
 * Threads: the ordinal's lane. Progress: one look a row at whether a delete ever named its prim; a
 * write of a whole segment looks at the marks instead, if those are fewer. Memory: 16 bytes a key
 * that is kept, until the write is done. */
#ifndef FR_RUNTIME_STORE_KEPT_H
#define FR_RUNTIME_STORE_KEPT_H

#include "runtime/store/target.h"

typedef struct fr_kept_key {
    const fr_column *column;
    uint32_t prim;
} fr_kept_key;

typedef struct fr_kept {
    fr_kept_key *keys; /* NULL: none, and no room was made */
    uint32_t count, capacity;
} fr_kept;

/* The targets tell their elements, and whose rows they are. False without memory: nothing changed.
 */
bool fr_kept_find(fr_store *store, fr_kept *kept, const fr_target *targets, uint32_t target_count,
                  const fr_query *query, const fr_row_source *rows, uint64_t ordinal);
/* Either of these ends what was found. */
void fr_kept_enter(fr_store *store, fr_kept *kept, uint64_t ordinal, uint64_t op_id);
void fr_kept_drop(fr_store *store, fr_kept *kept, uint64_t ordinal);

#endif
