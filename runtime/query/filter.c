#include "runtime/query/filter.h"

#include "runtime/dictionary/dictionary.h"
#include "runtime/hierarchy/compute.h"
#include "runtime/query/predicate.h"
#include "runtime/store/row_set.h"
#include "runtime/store/store_state.h"

#include <stdio.h>
#include <string.h>

/* A finite wait does not start what may look at more prims than this (L8). */
#define FR_FILTER_LARGE_PRIMS 1024u

static ovstage_enqueue_result_t fr_filter_refused(ovstage_api_status_t status)
{
    ovstage_enqueue_result_t result = {status, OVSTAGE_INVALID_OP_ID};
    return result;
}

void fr_filter_free(fr_stage *stage, fr_filter *filter)
{
    if (filter)
        fr_memory_release(&stage->allocator, filter, filter->size_bytes);
}

/* --- what the client has passed --------------------------------------------------------------- */

static ovstage_api_status_t fr_filter_check_values(const ovstage_predicate_t *predicate, size_t p)
{
    if (!predicate->values && predicate->value_count > 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "predicate %zu: values is NULL, but value_count = %zu", p,
                            predicate->value_count);
    if (predicate->value_count > UINT32_MAX)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "predicate %zu: value_count = %zu is above the limit of %u", p,
                            predicate->value_count, UINT32_MAX);
    for (size_t v = 0; v < predicate->value_count; v++)
        if (!predicate->values[v].ptr && predicate->values[v].length > 0)
            return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                                "predicate %zu: the text of value %zu is NULL, its length %zu", p,
                                v, predicate->values[v].length);
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_filter_check(const ovstage_filter_t *filter,
                                            const ovx_token_t *attributes, size_t count,
                                            const ovstage_query_handle_t *out)
{
    if (!out)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the query out pointer is NULL");
    if ((!attributes && count > 0) || count > UINT32_MAX)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "attrs is%s NULL, its count %zu: at most %u names",
                            attributes ? " not" : "", count, UINT32_MAX);
    if (!filter)
        return OVSTAGE_OK;
    if ((!filter->predicates && filter->count > 0) || filter->count > UINT32_MAX)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "predicates is%s NULL, its count %zu: at most %u predicates",
                            filter->predicates ? " not" : "", filter->count, UINT32_MAX);
    for (size_t p = 0; p < filter->count; p++) {
        const ovstage_predicate_t *predicate = &filter->predicates[p];
        if ((unsigned)predicate->op > OVSTAGE_FILTER_OP_GE)
            return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                                "predicate %zu: op = %d is outside "
                                "0..%d",
                                p, (int)predicate->op, (int)OVSTAGE_FILTER_OP_GE);
        if (predicate->op == OVSTAGE_FILTER_OP_HAS)
            continue; /* its values are ignored (R48) */
        ovstage_api_status_t status = fr_filter_check_values(predicate, p);
        if (status != OVSTAGE_OK)
            return status;
    }
    return OVSTAGE_OK;
}

static size_t fr_filter_value_count(const ovstage_predicate_t *predicate)
{
    return predicate->op == OVSTAGE_FILTER_OP_HAS ? 0 : predicate->value_count;
}

/* False: more than there can be. */
static bool fr_filter_bytes(const ovstage_filter_t *filter, size_t attribute_count,
                            size_t *out_bytes)
{
    size_t size_bytes = sizeof(fr_filter) + attribute_count * sizeof(ovx_token_t);
    for (size_t p = 0; filter && p < filter->count; p++) {
        const ovstage_predicate_t *predicate = &filter->predicates[p];
        size_bytes += sizeof(fr_predicate);
        for (size_t v = 0; v < fr_filter_value_count(predicate); v++) {
            size_bytes += sizeof(ovx_string_t);
            if (__builtin_add_overflow(size_bytes, predicate->values[v].length, &size_bytes) ||
                size_bytes > PTRDIFF_MAX)
                return false;
        }
    }
    *out_bytes = size_bytes;
    return true;
}

static ovstage_api_status_t fr_filter_name(fr_stage *stage, ovx_string_or_token_t name,
                                           fr_predicate *to)
{
    fr_attribute *attribute;
    ovstage_api_status_t status = fr_stage_attribute(stage, name, false, &attribute, &to->token);
    if (status != OVSTAGE_OK)
        return status;
    to->attribute = attribute;
    to->reserved = fr_access_reserved(stage->access, to->token);
    if (to->reserved == FR_RESERVED_ACTIVE)
        return fr_error_set(OVSTAGE_ERROR_NOT_SUPPORTED, "%s cannot be filtered by",
                            fr_reserved_name(to->reserved));
    return OVSTAGE_OK;
}

/* The values' headers of all predicates lie before the texts of all, since these have no alignment.
 */
static ovstage_api_status_t fr_filter_fill(fr_stage *stage, fr_filter *made,
                                           const ovstage_filter_t *filter)
{
    ovx_string_t *header = (ovx_string_t *)(void *)(made->predicates + made->predicate_count);
    size_t headers = 0;
    for (uint32_t p = 0; p < made->predicate_count; p++)
        headers += fr_filter_value_count(&filter->predicates[p]);
    char *text = (char *)(header + headers);
    for (uint32_t p = 0; p < made->predicate_count; p++) {
        const ovstage_predicate_t *from = &filter->predicates[p];
        fr_predicate *to = &made->predicates[p];
        to->op = from->op;
        ovstage_api_status_t status = fr_filter_name(stage, from->attribute, to);
        if (status != OVSTAGE_OK)
            return status;
        to->value_count = (uint32_t)fr_filter_value_count(from);
        to->values = header;
        for (uint32_t v = 0; v < to->value_count; v++, header++) {
            *header = (ovx_string_t){text, from->values[v].length};
            if (header->length > 0)
                memcpy(text, from->values[v].ptr, header->length);
            text += header->length;
        }
    }
    return OVSTAGE_OK;
}

/* R53: each once. */
static ovstage_api_status_t fr_filter_add_attributes(fr_stage *stage, fr_filter *made,
                                                     const ovx_token_t *attributes, size_t count,
                                                     fr_row_set *seen)
{
    for (size_t k = 0; k < count; k++) {
        ovx_string_or_token_t name = {attributes[k], {NULL, 0}};
        fr_attribute *attribute;
        ovx_token_t token;
        bool added;
        if (attributes[k] == OVX_INVALID_TOKEN)
            return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "attrs[%zu] is no token", k);
        ovstage_api_status_t status = fr_stage_attribute(stage, name, false, &attribute, &token);
        if (status != OVSTAGE_OK)
            return status;
        (void)fr_row_set_add(seen, (uint32_t)token, &added);
        if (added)
            made->attributes[made->attribute_count++] = token;
    }
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_filter_fill_attributes(fr_stage *stage, fr_filter *made,
                                                      const ovx_token_t *attributes, size_t count)
{
    fr_row_set seen;
    fr_row_set_init(&seen, &stage->allocator, 0);
    ovstage_api_status_t status;
    if (fr_row_set_reserve(&seen, (uint32_t)count, NULL, NULL, NULL))
        status = fr_filter_add_attributes(stage, made, attributes, count, &seen);
    else
        status = fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %zu names", count);
    fr_row_set_destroy(&seen);
    return status;
}

static ovstage_api_status_t fr_filter_copy(fr_stage *stage, const ovstage_filter_t *filter,
                                           const ovx_token_t *attributes, size_t count,
                                           fr_filter **out)
{
    size_t size_bytes = SIZE_MAX;
    fr_filter *made = NULL;
    if (fr_filter_bytes(filter, count, &size_bytes))
        made = fr_memory_allocate(&stage->allocator, size_bytes, 16);
    if (!made)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a filter of %zu bytes",
                            size_bytes);
    *made = (fr_filter){.size_bytes = size_bytes,
                        .attributes = (ovx_token_t *)(void *)(made + 1),
                        .predicate_count = filter ? (uint32_t)filter->count : 0};
    made->predicates = (fr_predicate *)(void *)(made->attributes + count);
    ovstage_api_status_t status = fr_filter_fill_attributes(stage, made, attributes, count);
    if (status == OVSTAGE_OK)
        status = fr_filter_fill(stage, made, filter);
    if (status != OVSTAGE_OK)
        fr_filter_free(stage, made);
    else
        *out = made;
    return status;
}

/* --- the op ----------------------------------------------------------------------------------- */

typedef struct fr_filter_op {
    fr_query *query; /* one reference */
    fr_found *found; /* of one that is parked; or NULL */
} fr_filter_op;

static void fr_filter_publish(fr_query *query, uint32_t state)
{
    /* [query.state.known] pairs [query.state.look], [query.state.failed], [query.state.wait] : what
     * was found, or why not, is there before anybody goes by it */
    fr_store_release(&query->state, state);
}

static ovstage_api_status_t fr_filter_make_list(fr_query *query, const fr_matches *matches)
{
    fr_stage *stage = query->stage;
    const fr_path_list *list = NULL;
    size_t size_bytes = matches->count * sizeof(ovx_primpath_t);
    ovx_primpath_t *paths = fr_memory_allocate(&stage->allocator, size_bytes, 16);
    if (!paths && matches->count > 0)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    for (size_t k = 0; k < matches->count; k++)
        paths[k] = matches->prims[k];
    ovstage_api_status_t status =
        fr_dictionary_list_create_from_paths(stage->dictionary, paths, matches->count, &list);
    fr_memory_release(&stage->allocator, paths, size_bytes);
    if (status != OVSTAGE_OK)
        return status;
    query->count = (uint32_t)list->count;
    query->prims = list->paths;
    query->list = list->handle;
    query->list_object = list;
    return OVSTAGE_OK;
}

/* All is there that what was found hangs on. */
static ovstage_api_status_t fr_filter_end(fr_query *query, fr_found *found)
{
    fr_filter *filter = query->filter;
    ovstage_api_status_t status =
        fr_filter_settle(query->stage, found, filter->text, sizeof(filter->text));
    if (status != OVSTAGE_OK)
        return status;
    status = fr_filter_make_list(query, &found->matches);
    if (status != OVSTAGE_OK)
        (void)snprintf(filter->text, sizeof(filter->text), "no memory for a query of %zu prims",
                       found->matches.count);
    return status;
}

static fr_run_result fr_filter_publish_end(fr_op *op, fr_query *query, ovstage_api_status_t status)
{
    query->filter->status = status;
    if (status != OVSTAGE_OK)
        fr_op_fail(op, status, "%s", query->filter->text);
    fr_filter_publish(query, status == OVSTAGE_OK ? FR_QUERY_READY : FR_QUERY_FAILED);
    return FR_RUN_DONE;
}

static void fr_filter_let_go(fr_filter_op *payload)
{
    fr_stage *stage = payload->query->stage;
    if (!payload->found)
        return;
    fr_found_release(stage, payload->found);
    fr_memory_release(&stage->allocator, payload->found, sizeof(*payload->found));
    payload->found = NULL;
}

/* Values on devices are brought first, while the op is parked. */
static fr_run_result fr_filter_go_on(fr_op *op, fr_graph *graph)
{
    fr_filter_op *payload = fr_op_payload(op);
    fr_query *query = payload->query;
    fr_filter *filter = query->filter;
    bool parked = false;
    ovstage_api_status_t status = fr_away_bring(&payload->found->away, op, graph, &parked,
                                                filter->text, sizeof(filter->text));
    if (parked)
        return FR_RUN_PARKED;
    if (status == OVSTAGE_OK)
        status = fr_filter_end(query, payload->found);
    fr_filter_let_go(payload);
    return fr_filter_publish_end(op, query, status);
}

static fr_run_result fr_filter_begin(fr_op *op, fr_graph *graph)
{
    fr_filter_op *payload = fr_op_payload(op);
    fr_query *query = payload->query;
    fr_filter *filter = query->filter;
    fr_found found;
    for (uint32_t p = 0; p < filter->predicate_count; p++)
        fr_predicate_order(&filter->predicates[p]);
    ovstage_api_status_t status =
        fr_filter_find(query->stage, filter, &found, filter->text, sizeof(filter->text));
    if (status == OVSTAGE_OK && found.away.count > 0) {
        payload->found = fr_memory_allocate(&query->stage->allocator, sizeof(found), 16);
        if (payload->found) {
            *payload->found = found;
            return fr_filter_go_on(op, graph);
        }
        status = OVSTAGE_ERROR_OUT_OF_MEMORY;
        (void)snprintf(filter->text, sizeof(filter->text), "no memory for %zu bytes of a filter",
                       sizeof(found));
    }
    if (status == OVSTAGE_OK)
        status = fr_filter_end(query, &found);
    fr_found_release(query->stage, &found);
    return fr_filter_publish_end(op, query, status);
}

static fr_run_result fr_filter_run(fr_op *op, const fr_run_context *context)
{
    const fr_filter_op *payload = fr_op_payload(op);
    return payload->found ? fr_filter_go_on(op, context->graph)
                          : fr_filter_begin(op, context->graph);
}

static void fr_filter_drop(fr_op *op)
{
    fr_filter_op *payload = fr_op_payload(op);
    fr_query *query = payload->query;
    fr_filter_let_go(payload);
    if (fr_load_relaxed(&query->state) == FR_QUERY_PENDING) {
        query->filter->status = OVSTAGE_ERROR_OP_FAILED;
        (void)snprintf(query->filter->text, sizeof(query->filter->text),
                       "the query was dropped before it ran");
        fr_filter_publish(query, FR_QUERY_FAILED);
    }
    fr_query_release(query);
}

/* Named prims are few, whatever the stage. */
static bool fr_filter_names_prims(const fr_filter *filter)
{
    for (uint32_t p = 0; p < filter->predicate_count; p++)
        if (filter->predicates[p].reserved == FR_RESERVED_PATH &&
            filter->predicates[p].op == OVSTAGE_FILTER_OP_IN &&
            filter->predicates[p].value_count <= FR_FILTER_LARGE_PRIMS)
            return true;
    return false;
}

static bool fr_filter_is_large(const fr_op *op)
{
    /* The payload is only read: the record is handed out as one that may be written. */
    union {
        const fr_op *given;
        fr_op *same;
    } record = {op};
    const fr_filter_op *payload = fr_op_payload(record.same);
    return fr_prims_count(payload->query->stage->store->prims) > FR_FILTER_LARGE_PRIMS &&
           !fr_filter_names_prims(payload->query->filter);
}

static void fr_filter_tell(const fr_op *op, char *text, size_t text_bytes)
{
    (void)op;
    (void)snprintf(
        text, text_bytes,
        "values on a device, which are brought to the host, or a stream or pinned memory for "
        "them, while others have all");
}

static const fr_op_type fr_filter_op_type = {
    .name = "query",
    .run = fr_filter_run,
    .drop = fr_filter_drop,
    .tell = fr_filter_tell,
    .is_large = fr_filter_is_large,
};

/* --- the query that it makes ------------------------------------------------------------------ */

ovstage_api_status_t fr_query_failure(const fr_query *query, const char **out_text)
{
    *out_text = "the query was not found out";
    /* [query.state.failed] pairs [query.state.known] : status and text are there */
    if (fr_load_acquire(&query->state) != FR_QUERY_FAILED)
        return OVSTAGE_ERROR_OP_FAILED;
    *out_text = query->filter->text;
    return query->filter->status;
}

ovstage_api_status_t fr_query_wait(const fr_query *query, uint64_t timeout_ns,
                                   fr_wait_outcome *outcome)
{
    outcome->status = OVSTAGE_OK;
    if (fr_query_is_ready(query))
        return OVSTAGE_OK;
    /* [query.state.wait] pairs [query.state.known] : as query.state.failed */
    if (fr_load_acquire(&query->state) == FR_QUERY_PENDING)
        fr_graph_wait_even_released(query->stage->graph, query->op_id, timeout_ns, outcome);
    if (fr_query_is_ready(query))
        return OVSTAGE_OK;
    return outcome->status == OVSTAGE_OK ? OVSTAGE_ERROR_OP_FAILED : outcome->status;
}

/* --- submission ------------------------------------------------------------------------------- */

/* The attributes whose pending ops can change what is found or reported. A delete of whole prims
 * and a task have all bits. */
static uint64_t fr_filter_bits(const fr_filter *filter, const fr_store *store)
{
    uint64_t bits = 0;
    for (uint32_t p = 0; p < filter->predicate_count; p++) {
        const fr_predicate *predicate = &filter->predicates[p];
        if (predicate->reserved >= FR_RESERVED_PATH && predicate->reserved <= FR_RESERVED_ACTIVE)
            return UINT64_MAX; /* which prims there are */
        if (predicate->attribute)
            bits |= UINT64_C(1) << predicate->attribute->index % 64;
    }
    if (filter->predicate_count == 0 || filter->attribute_count == 0)
        return UINT64_MAX;
    for (uint32_t k = 0; k < filter->attribute_count; k++) {
        const fr_attribute *attribute = fr_store_attribute_find(store, filter->attributes[k]);
        if (attribute)
            bits |= UINT64_C(1) << attribute->index % 64;
    }
    return bits;
}

/* World transforms are computed by ops that are in no lane when their ordinal is sealed: the newest
 * one runs after those before it. */
static bool fr_filter_needs_compute(const fr_filter *filter, const fr_stage *stage)
{
    for (uint32_t p = 0; p < filter->predicate_count; p++)
        if (filter->predicates[p].token == stage->hierarchy->world &&
            filter->predicates[p].op != OVSTAGE_FILTER_OP_HAS)
            return true;
    return false;
}

static ovstage_api_status_t fr_filter_admit(fr_submission *submission, void *user)
{
    const fr_query *query = user;
    fr_filter *filter = query->filter;
    const fr_store *store = query->stage->store;
    for (uint32_t p = 0; p < filter->predicate_count; p++) {
        fr_predicate *predicate = &filter->predicates[p];
        if (!predicate->attribute)
            predicate->attribute = fr_store_attribute_find(store, predicate->token);
    }
    submission->producer_count = fr_filter_needs_compute(filter, query->stage);
    if (submission->producer_count > 0)
        submission->producer_ids[0] = query->stage->hierarchy->last_compute;
    submission->below_filter = fr_filter_bits(filter, store);
#ifdef FR_MUTATE_QUERY_WAITS_FOR_NOBODY
    submission->below_filter = 0;
#endif
    submission->takes_lanes_below = submission->below_filter != 0;
    return OVSTAGE_OK;
}

static void fr_filter_accepted(fr_submission *submission, uint64_t id, void *user)
{
    (void)submission;
    fr_query *query = user;
    query->op_id = id;
}

static ovstage_enqueue_result_t fr_filter_submit(fr_query *query)
{
    fr_stage *stage = query->stage;
    fr_op *op = fr_graph_op_get(stage->graph, &fr_filter_op_type);
    if (!op)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    fr_filter_op *payload = fr_op_payload(op);
    payload->query = query;
    payload->found = NULL;
    fr_query_acquire(query);
    uint64_t compute;
    fr_submission submission = {
        .op = op,
        .below_ordinal = UINT64_MAX,
        .producer_ids = &compute,
        .producer_capacity = 1,
        .admit = fr_filter_admit,
        .accepted = fr_filter_accepted,
        .user = query,
    };
    ovstage_enqueue_result_t result = fr_stage_submit(stage, &submission, 0);
    if (result.status != OVSTAGE_OK) {
        fr_graph_op_put(stage->graph, op);
        fr_query_release(query);
    }
    return result;
}

static ovstage_enqueue_result_t fr_filter_open(fr_stage *stage, fr_filter *filter,
                                               ovstage_query_handle_t *out)
{
    fr_query *query = fr_query_make_pending(stage);
    if (!query) {
        fr_filter_free(stage, filter);
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a query");
    }
    query->filter = filter;
    ovstage_enqueue_result_t result = {OVSTAGE_ERROR_OUT_OF_MEMORY, OVSTAGE_INVALID_OP_ID};
    ovstage_query_handle_t handle = fr_handle_reserve(stage, FR_HANDLE_QUERY);
    if (handle != OVSTAGE_INVALID_QUERY_HANDLE)
        result = fr_filter_submit(query);
    else
        fr_error_set(result.status, "no memory for a query handle");
    if (fr_handle_settle(stage, handle, result.status, query))
        *out = handle;
    else
        fr_query_close(query);
    return result;
}

ovstage_enqueue_result_t fr_query_filter(fr_stage *stage, const ovstage_filter_t *filter,
                                         const ovx_token_t *attributes, size_t count,
                                         ovstage_query_handle_t *out)
{
    if (out)
        *out = OVSTAGE_INVALID_QUERY_HANDLE;
    fr_filter *made = NULL;
    ovstage_api_status_t status = fr_filter_check(filter, attributes, count, out);
    if (status == OVSTAGE_OK)
        status = fr_filter_copy(stage, filter, attributes, count, &made);
    if (status != OVSTAGE_OK)
        return fr_filter_refused(status);
    return fr_filter_open(stage, made, out);
}
