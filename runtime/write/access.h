/* What writes and reads of one instance keep: recycled objects, and the tokens of the names that
 * the contract reserves.
 *
 * Threads: open and close by the thread that makes or destroys the instance; the rest is read-only
 * or has locks of its own. Memory: slabs, see slabs.h. */
#ifndef FR_RUNTIME_WRITE_ACCESS_H
#define FR_RUNTIME_WRITE_ACCESS_H

#include "runtime/api/stage.h"
#include "runtime/write/slabs.h"
#include "scheduler/atomic.h"

/* Names that are not ordinary columns (R115, R116, R139). */
typedef enum fr_reserved {
    FR_RESERVED_NONE,
    FR_RESERVED_PATH,      /* usd-path: computed */
    FR_RESERVED_PARENT,    /* usd-parent: computed */
    FR_RESERVED_CHILDREN,  /* usd-children: computed */
    FR_RESERVED_ACTIVE,    /* usd-active: neither read nor written */
    FR_RESERVED_PRIM_TYPE, /* usd-prim-type: recorded, one token id a prim */
    FR_RESERVED_SCHEMAS,   /* usd-schemas: recorded, a set of token ids a prim */
    FR_RESERVED_COUNT,
} fr_reserved;

#define FR_ACCESS_BLOCK_CLASSES 3 /* 1 KiB, 8 KiB, 64 KiB */

struct fr_access {
    fr_slabs reads, groups, splits, maps, clones;
    fr_slabs blocks[FR_ACCESS_BLOCK_CLASSES];
    _Atomic uint32_t splits_out; /* whose invitation the pool may still hold; a futex: up by who
                                    makes one, down by who lets go last, waited for by close */
    ovx_token_t reserved[FR_RESERVED_COUNT];
    uint64_t reserved_bits; /* bit token % 64 of each: most names are told from them at a glance */
};

/* After the dictionary and the store, and before them again: sets and clears stage->access.
 * OUT_OF_MEMORY. */
ovstage_api_status_t fr_access_open(fr_stage *stage);
void fr_access_close(fr_stage *stage);
/* After an object with a job was put back into its slabs: one less of `splits_out`. */
void fr_access_split_ended(fr_access *access);
/* Objects of handles that were live when the instance was destroyed; for fr_handles_destroy. */
void fr_access_drop_handle(fr_handle_kind kind, void *object);

fr_reserved fr_access_reserved_named(const fr_access *access, ovx_token_t token);
static inline fr_reserved fr_access_reserved(const fr_access *access, ovx_token_t token)
{
    return (access->reserved_bits >> token % 64 & 1) == 0 ? FR_RESERVED_NONE
                                                          : fr_access_reserved_named(access, token);
}
const char *fr_reserved_name(fr_reserved reserved);

/* Memory beside an op record: recycled up to 64 KiB, from the allocator above. Undefined contents;
 * NULL without memory. */
void *fr_access_block_get(fr_stage *stage, size_t size_bytes);
void fr_access_block_put(fr_stage *stage, void *block, size_t size_bytes);

#endif
