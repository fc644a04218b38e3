/* A query: a fixed list of prims in a fixed order, with what was resolved about it.
 *
 * Made from a path list it is ready at once; made from a filter (filter.h), when its op has run.
 * Until then count, prims and list may not be looked at: what uses it depends on that op. It keeps
 * a list handle of its own (groups name it).
 *
 * Word `state`: FR_QUERY_READY from the beginning, or FR_QUERY_PENDING until the filter's op sets
 * it to FR_QUERY_READY, or to FR_QUERY_FAILED when it failed or was dropped; then never again.
 *
 * References: each op, read and group that uses it holds one, and the client's handle. Those that a
 * write takes in its acceptance cost no atomic step: `admitted` counts them, and is added to
 * `references` when the handle goes. Until then FR_QUERY_OPEN keeps `references` from ending.
 *
 * Threads: any. Invariants: a query's handle is removed under the admission lock only (but for
 * destroy), so that under it a live handle's query stays. Memory: type-stable slabs; a query that
 * nobody uses may be parked (parked.h). */
#ifndef FR_RUNTIME_QUERY_QUERY_H
#define FR_RUNTIME_QUERY_QUERY_H

#include <ovstage/ovstage_api/ovstage_api_types.h>

#include "scheduler/os.h"

typedef struct fr_stage fr_stage;
typedef struct fr_filter fr_filter;   /* filter.h */
typedef struct fr_binding fr_binding; /* the store's: what a query and a column resolve to */

/* More references than can be given back before the handle goes. */
#define FR_QUERY_OPEN (UINT64_C(1) << 62)

enum { FR_QUERY_PENDING = 0, FR_QUERY_READY = 1, FR_QUERY_FAILED = 2 };

/* Three lines: what submissions write, what nobody writes, and what who runs ops writes. */
typedef struct fr_query {
    FR_ALIGNED_LINE uint64_t admitted; /* taken under admission while the handle is live
                                          (admission) */
    FR_ALIGNED_LINE fr_stage *stage;
    uint32_t count; /* prims; positions, so a path listed twice counts twice */
    _Atomic uint32_t state;
    const ovx_primpath_t *prims; /* count dense prim indices (a prim's index is its path handle) */
    ovx_primpath_list_t list;    /* the query's own list handle, one reference */
    const void *list_object;     /* fr_path_list of the dictionary; NULL: none yet */
    fr_filter *filter;           /* NULL: made from a list */
    uint64_t op_id;              /* of the filter's op, set when it is accepted */
    FR_ALIGNED_LINE _Atomic uint64_t
        references; /* FR_QUERY_OPEN while the handle is live, plus those taken by acquire, minus
                       those given back */
    /* The store's cache of bindings, guarded by bindings_lock; freed with the query through
     * fr_store_query_forget. */
    fr_mutex bindings_lock;
    fr_binding *bindings; /* list, newest first */
} fr_query;

/* Entry points. query from a list: INVALID_HANDLE for a list that the dictionary does not know. */
ovstage_api_status_t fr_query_from_path_list(fr_stage *stage, ovx_primpath_list_t list,
                                             ovstage_query_handle_t *out);
ovstage_enqueue_result_t fr_query_release_handle(fr_stage *stage, ovstage_query_handle_t query);
ovstage_api_status_t fr_query_result_fetch(fr_stage *stage, ovstage_query_handle_t query,
                                           ovstage_timeout_ns_t timeout,
                                           ovstage_query_result_t *out);
ovstage_api_status_t fr_query_result_release(fr_stage *stage, const ovstage_query_result_t *result);

/* A result whose handle was never released, at the end of an instance. */
void fr_query_result_drop(void *result);

static inline bool fr_query_is_ready(const fr_query *query)
{
    /* [query.state.look] pairs [query.state.known] : count, prims and list are there */
    return fr_load_acquire(&query->state) == FR_QUERY_READY;
}
/* Admission. What uses the query has to wait for the op that goes into ids, and to fail with it; 0:
 * for none. */
static inline size_t fr_query_producer(const fr_query *query, uint64_t *ids)
{
    if (fr_query_is_ready(query))
        return 0;
    ids[0] = query->op_id;
    return 1;
}
/* Without a list so far, with the reference of a live handle. NULL without memory. */
fr_query *fr_query_make_pending(fr_stage *stage);

void fr_query_acquire(fr_query *query); /* add a reference */
void fr_query_release(fr_query *query);
/* Admission: adds one to a query whose handle is live, or takes it back. */
static inline void fr_query_admit(fr_query *query)
{
    query->admitted++;
}
static inline void fr_query_undo_admit(fr_query *query)
{
    query->admitted--;
}
/* After its handle was removed, by who removed it. */
void fr_query_close(fr_query *query);
/* Gives parked ones back; before the store goes. */
void fr_query_forget_parked(fr_stage *stage);

#endif
