#include "runtime/query/query.h"

#include "runtime/api/stage.h"
#include "runtime/query/filter.h"
#include "runtime/dictionary/dictionary.h"

void fr_query_acquire(fr_query *query)
{
    fr_add_relaxed(&query->references, 1); /* who adds one holds one */
}

static void fr_query_free(fr_query *query)
{
    fr_stage *stage = query->stage;
    fr_store_query_forget(stage->store, query);
    fr_dictionary_list_release(query->list_object);
    fr_filter_free(stage, query->filter);
    fr_slabs_put(&stage->queries, query);
}

static void fr_query_end(fr_query *query)
{
    fr_query *gone = query; /* no list of a client's leads to a filter's */
    if (!query->filter)
        gone = fr_parked_put(&query->stage->parked_queries, query);
    if (gone)
        fr_query_free(gone);
}

void fr_query_release(fr_query *query)
{
    /* [query.release] pairs [query.release], [query.close] : the last one sees what the others did
     * with it */
    if (fr_sub_acq_rel(&query->references, 1) == 1)
        fr_query_end(query);
}

void fr_query_close(fr_query *query)
{
    /* Nobody admits any more: that needs a live handle, and the handle went under the same lock. */
    uint64_t left = query->admitted - FR_QUERY_OPEN;
    /* [query.close] pairs [query.release] : as query.release */
    if (fr_add_acq_rel(&query->references, left) + left == 0)
        fr_query_end(query);
}

void fr_query_forget_parked(fr_stage *stage)
{
    fr_query *query;
    while ((query = fr_parked_take_any(&stage->parked_queries)) != NULL)
        fr_query_free(query);
}

static void fr_query_retain(void *query)
{
    fr_query_acquire(query);
}

fr_query *fr_stage_query_acquire(fr_stage *stage, ovstage_query_handle_t handle)
{
    fr_query *query = fr_handle_acquire(stage, FR_HANDLE_QUERY, handle, fr_query_retain);
    if (!query)
        fr_handle_refuse(stage, FR_HANDLE_QUERY, handle, "query");
    return query;
}

/* The slab keeps the lock of the bindings as it is. */
static void fr_query_begin(fr_query *query, fr_stage *stage, uint32_t state)
{
    query->admitted = 0;
    query->stage = stage;
    query->count = 0;
    fr_store_relaxed(&query->state, state);
    query->prims = NULL;
    query->list = OVX_INVALID_PRIMPATH_LIST;
    query->list_object = NULL;
    query->filter = NULL;
    query->op_id = OVSTAGE_INVALID_OP_ID;
    query->bindings = NULL;
}

/* A list of the query's own over the paths of the client's: groups name it, and the client may
 * release his as often as he likes (R45). */
static fr_query *fr_query_make(fr_stage *stage, const fr_path_list *theirs)
{
    const fr_path_list *own;
    if (fr_dictionary_list_share(stage->dictionary, theirs, &own) != OVSTAGE_OK)
        return NULL;
    fr_query *query = fr_slabs_get(&stage->queries);
    if (!query) {
        fr_dictionary_list_release(own);
        return NULL;
    }
    fr_query_begin(query, stage, FR_QUERY_READY);
    query->count = (uint32_t)own->count;
    query->prims = own->paths;
    query->list = own->handle;
    query->list_object = own;
    return query;
}

fr_query *fr_query_make_pending(fr_stage *stage)
{
    fr_query *query = fr_slabs_get(&stage->queries);
    if (!query)
        return NULL;
    fr_query_begin(query, stage, FR_QUERY_PENDING);
    fr_store_relaxed(&query->references, FR_QUERY_OPEN);
    return query;
}

/* A query over the list, parked or new; NULL without memory. */
static fr_query *fr_query_of(fr_stage *stage, const fr_path_list *theirs)
{
    fr_query *query = fr_parked_take(&stage->parked_queries, theirs->paths, theirs->count);
    if (!query)
        query = fr_query_make(stage, theirs);
    if (!query)
        return NULL;
    fr_store_relaxed(&query->references, FR_QUERY_OPEN);
    query->admitted = 0;
    return query;
}

static ovstage_api_status_t fr_query_open(fr_stage *stage, const fr_path_list *theirs,
                                          ovstage_query_handle_t *out)
{
    if (theirs->count > UINT32_MAX)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_RANGE, "a list of %zu paths: at most %u",
                            theirs->count, UINT32_MAX);
    fr_query *query = fr_query_of(stage, theirs);
    if (query) {
        *out = fr_handle_create(stage, FR_HANDLE_QUERY, query);
        if (*out != OVSTAGE_INVALID_QUERY_HANDLE)
            return OVSTAGE_OK;
        fr_query_close(query);
    }
    return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a query of %zu paths",
                        theirs->count);
}

ovstage_api_status_t fr_query_from_path_list(fr_stage *stage, ovx_primpath_list_t list,
                                             ovstage_query_handle_t *out)
{
    if (!out)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the query out pointer is NULL");
    *out = OVSTAGE_INVALID_QUERY_HANDLE;
    const fr_path_list *theirs = fr_dictionary_list_acquire(stage->dictionary, list);
    if (!theirs)
        return fr_error_set(OVSTAGE_ERROR_INVALID_HANDLE,
                            "path list 0x%llx is not known to the dictionary",
                            (unsigned long long)list);
    ovstage_api_status_t status = fr_query_open(stage, theirs, out);
    fr_dictionary_list_release(theirs);
    return status;
}

ovstage_enqueue_result_t fr_query_release_handle(fr_stage *stage, ovstage_query_handle_t query)
{
    void *object = NULL;
    ovstage_enqueue_result_t result =
        fr_handle_release_op(stage, FR_HANDLE_QUERY, query, "query", &object);
    if (result.status == OVSTAGE_OK)
        fr_query_close(object); /* ops that use it hold references of their own (R55) */
    return result;
}
