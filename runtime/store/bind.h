/* Binding: what the positions of a query are in a column, segment by segment. Resolved once, kept
 * with the query. A binding with all its keys placed stays good until some of the column's are
 * re-homed (rehome.h); another one is refused by the column's topology counter, too, when keys have
 * got places since.
 *
 * Threads: any. A binding does not change once made; a reference count keeps it while it is used.
 * Memory bound: at most FR_BIND_KEPT a query, and all together half of the store's
 * cache_limit_bytes, above which a new one goes with its last use. */
#ifndef FR_RUNTIME_STORE_BIND_H
#define FR_RUNTIME_STORE_BIND_H

#include "runtime/store/column.h"

#define FR_BIND_KEPT 16u
#define FR_BIND_LOCAL 4u

typedef struct fr_bind_group {
    fr_segment *segment;
    uint32_t first, count; /* of order and rows */
} fr_bind_group;

/* The rows as they were last gathered (gathered.h); states: of each group's segment, as they were
 * when rows had been derived so often (derive.h). */
typedef struct fr_gathered {
    fr_mutex lock;
    fr_buffer *buffer;
    uint64_t *states;
    uint64_t derived;
    bool is_filled;    /* somebody writes the states, for a buffer that is still to come */
    _Atomic bool used; /* found since the cache last looked at it */
    bool listed;       /* guarded by the cache's lock, as are the links */
    struct fr_gathered *older, *newer;
} fr_gathered;

struct fr_binding {
    fr_binding *next;
    _Atomic uint32_t references; /* 0: the caller's own, for very short queries */
    bool whole;                  /* the positions are the rows of one segment in order */
    bool has_duplicates;         /* a path stands twice in the query */
    fr_column *column;
    uint64_t topology, rehomed;
    uint32_t count, placed_count, group_count;
    fr_bind_group *groups;
    uint32_t *order; /* positions, ascending in each group, then those without a place; NULL: one
                        group has all, in order */
    uint32_t *rows;  /* of the groups; NULL: whole */
    fr_store *store;
    size_t size_bytes;
    size_t cached_bytes;                       /* counted in the store's cache_bytes */
    fr_gathered *gathered;                     /* in the same block; NULL: the caller's own */
    _Atomic(struct fr_bind_inverse *) inverse; /* bind_inverse.h */
    _Atomic(struct fr_bind_order *) ascending; /* bind_order.h */
    _Atomic uint32_t taken;                    /* so often were its rows taken for a version's */
    fr_bind_group local_groups[FR_BIND_LOCAL];
    uint32_t local_order[FR_BIND_LOCAL], local_rows[FR_BIND_LOCAL];
};

/* The binding of a query to a column as it is now; `local` serves queries of up to FR_BIND_LOCAL
 * positions. NULL without memory. Ends with fr_bind_release. */
const fr_binding *fr_bind(fr_store *store, fr_query *query, fr_column *column, fr_binding *local);
/* The one that is kept with the query and still good, or NULL: nothing is made. */
const fr_binding *fr_bind_find(fr_query *query, fr_column *column);
void fr_bind_release(const fr_binding *binding);
/* Whether keys without a place in it may have one by now, or some have another one. */
bool fr_bind_outdated(const fr_binding *binding);
void fr_bind_forget(fr_query *query);
/* Bytes that are kept with bindings. False: there is no room for them. */
bool fr_bind_count(fr_store *store, size_t size_bytes);
void fr_bind_uncount(fr_store *store, size_t size_bytes);
/* Of those that are kept with the query. */
void fr_bind_retain(const fr_binding *binding);
static inline bool fr_bind_is_kept(const fr_binding *binding)
{
    return binding->gathered != NULL;
}
static inline uint32_t fr_bind_position(const fr_binding *binding, uint32_t k)
{
    return binding->order ? binding->order[k] : k;
}

static inline uint32_t fr_bind_row(const fr_binding *binding, uint32_t k)
{
    return binding->rows ? binding->rows[k] : k;
}

#endif
