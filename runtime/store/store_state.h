/* fr_store itself, for the modules of the store. */
#ifndef FR_RUNTIME_STORE_STORE_STATE_H
#define FR_RUNTIME_STORE_STORE_STATE_H

#include "runtime/store/attributes.h"
#include "runtime/store/column.h"
#include "runtime/store/living.h"
#include "runtime/store/prims.h"
#include "runtime/store/store.h"
#include "runtime/store/token_index.h"
#include "scheduler/tally.h"

/* Ordinals that reads which wait for a seal will select (fr_store_moment_hold), or that snapshots
 * show. */
typedef struct fr_moments {
    fr_mutex lock;
    fr_ordinal_tree tree;
    /* The lowest; UINT64_MAX: none. Changed under the lock. Relaxed: who looks at it has a lock
     * that who holds a moment takes next. */
    _Atomic uint64_t lowest;
} fr_moments;

/* What gathers are kept, the least recently kept or used first (gathered.h). */
typedef struct fr_gather_cache {
    fr_mutex lock; /* comes before that of a gather */
    struct fr_gathered *oldest, *newest;
} fr_gather_cache;

/* change_log.h; guarded by the seals' lock. */
typedef struct fr_change_log {
    fr_logged *oldest, *newest;
    fr_logged *free;
    uint32_t free_count;
    uint64_t serial;         /* of the seal that is under way */
    _Atomic uint64_t merged; /* the highest ordinal that was */
} fr_change_log;

typedef struct fr_store_counters {
    _Atomic uint64_t columns, segments, keys, keys_deleted, history_bytes, cache_bytes;
    _Atomic uint64_t compactions; /* of arrays */
    _Atomic uint64_t folds_in_place, folds_with_spare, folds_with_copy, heads_replaced;
    _Atomic uint64_t binding_bytes; /* part of cache_bytes */
    _Atomic uint64_t membership_bytes;
    _Atomic uint64_t gathers, gather_cache_hits, history_drops, table_bytes;
    _Atomic uint64_t snapshots;  /* open; changed under their lock */
    _Atomic uint64_t seal_steps; /* the one below, for who has no lock */
    fr_tally pending_bytes;
} fr_store_counters;

struct fr_store {
    fr_allocator allocator_copy;
    const fr_allocator *allocator; /* the copy */
    fr_store_config config;
    fr_attributes *attributes;
    fr_buffers *buffers;
    fr_prims *prims;
    _Atomic(fr_token_index *) token_index; /* NULL: nobody has written such a column */
    fr_marks *marks;
    fr_living living;
    fr_late *late;
    fr_versions versions;
    fr_touches touches;
    fr_moments moments;
    fr_moments snapshots;
    fr_moments starts; /* of ranges that wait for a seal: from there on changes stay exact */
    fr_change_log change_log;
    fr_gather_cache gather_cache;
    fr_mutex columns_lock; /* guards the entering of columns */
    uint32_t column_numbers;
    fr_store_counters counters;
    /* Held by a seal as long as it works, folding included; guards the seals' lists. Neither writes
     * nor reads wait for it, but for a read that finds keys without a place (fr_seal_layout_late),
     * and a write that finds its rows moving (rehome.h).
     * Of advances whose scopes overlap one that is accepted later, at no lower ordinal, waits for
     * the earlier one (lane_front.h), so it is mostly between seals of other attributes that a
     * layout waits for a fold: at most for a copy of the head of each of that seal's segments. */
    fr_mutex seal_lock;
    fr_segment *seal_segments;
    struct fr_burial *burials; /* tombstones.c: new tombstones, whose keys may not be placed yet */
    bool marks_missing;        /* some have not become tombstones for want of memory */
    fr_column *seal_columns;
    fr_column *rehome_columns; /* rehome.h */
    uint64_t seal_steps;       /* entries of lists that seals have looked at */
    /* What a seal has no use for any more; given back when it has let go of its locks, since that
     * may run a client's deleter. */
    fr_unplaced *seal_unplaced;
    fr_version *seal_garbage; /* through `older` */
    fr_buffer *seal_let_go;   /* payloads of arrays */
    /* Segments with history, by when some was last added. */
    fr_segment *history_oldest, *history_newest;
};

void fr_moments_init(fr_moments *moments); /* of zeroes */
/* The lowest ordinal whose state is to be kept for them; UINT64_MAX: none. */
uint64_t fr_moments_lowest(fr_moments *moments);
/* The same under the lock of a segment that something is to be taken from: who reads it holds its
 * moment first, and then takes that lock. */
static inline uint64_t fr_moments_seen(const fr_moments *moments)
{
    return fr_load_relaxed(&moments->lowest);
}
void fr_snapshots_destroy(fr_store *store);

#endif
