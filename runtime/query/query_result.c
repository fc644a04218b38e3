/* Results of queries (R53, R54): how many prims, and which attributes they have. By all that
 * has run when it is fetched. */
#include "runtime/dictionary/dictionary.h"
#include "runtime/query/predicate.h"
#include "runtime/store/keys.h"

typedef struct fr_query_result {
    fr_stage *stage;
    size_t capacity, count;
    ovx_token_t tokens[];
} fr_query_result;

static size_t fr_query_result_bytes(size_t capacity)
{
    return sizeof(fr_query_result) + capacity * sizeof(ovx_token_t);
}

void fr_query_result_drop(void *result)
{
    fr_query_result *dropped = result;
    fr_memory_release(&dropped->stage->allocator, dropped,
                      fr_query_result_bytes(dropped->capacity));
}

/* The prims of a query as bits, so that the keys of an attribute can be looked for in it. NULL: not
 * made. */
typedef struct fr_query_bits {
    uint64_t *words;
    size_t words_bytes;
} fr_query_bits;

/* Below this there are too few prims for it to matter which way attributes are looked for. */
#define FR_QUERY_FEW_PRIMS 64u

static bool fr_query_bits_make(fr_stage *stage, const fr_query *query, fr_query_bits *out)
{
    *out = (fr_query_bits){NULL, 0};
    if (query->count <= FR_QUERY_FEW_PRIMS)
        return true;
    out->words_bytes =
        ((size_t)fr_dictionary_path_count(stage->dictionary) / 64 + 1) * sizeof(uint64_t);
    out->words = fr_memory_allocate_zero(&stage->allocator, out->words_bytes, 16);
    for (uint32_t i = 0; out->words && i < query->count; i++)
        out->words[query->prims[i] / 64] |= UINT64_C(1) << query->prims[i] % 64;
    return out->words != NULL;
}

/* Through the attribute's keys, of which there are fewer than prims. */
static bool fr_query_has_key(const fr_judged *judged, const fr_predicate *carries,
                             const fr_query_bits *bits)
{
    uint32_t some[FR_KEYS_SOME], count;
    fr_key_walk walk = {.column = fr_column_first(carries->attribute)};
    while ((count = fr_keys_some(&walk, some)) > 0)
        for (uint32_t k = 0; k < count; k++)
            if (some[k] / 64 < bits->words_bytes / sizeof(uint64_t) &&
                (bits->words[some[k] / 64] >> some[k] % 64 & 1) != 0 &&
                fr_predicate_holds(judged, carries, some[k]))
                return true;
    return false;
}

static bool fr_reserved_is_computed(fr_reserved reserved)
{
    return reserved >= FR_RESERVED_PATH && reserved <= FR_RESERVED_ACTIVE;
}

static bool fr_query_has(const fr_judged *judged, const fr_query *query, const fr_query_bits *bits,
                         ovx_token_t token, const fr_attribute *attribute)
{
    const fr_predicate carries = {.token = token,
                                  .reserved = fr_access_reserved(judged->stage->access, token),
                                  .attribute = attribute,
                                  .op = OVSTAGE_FILTER_OP_HAS};
    bool computed = fr_reserved_is_computed(carries.reserved);
    if (carries.reserved == FR_RESERVED_ACTIVE || (!computed && !attribute))
        return false;
    if (!computed && bits->words && fr_keys_about(attribute) < query->count)
        return fr_query_has_key(judged, &carries, bits);
    for (uint32_t i = 0; i < query->count; i++)
        if (fr_predicate_holds(judged, &carries, (uint32_t)query->prims[i]))
            return true;
    return false;
}

/* Of those that a filter's client has asked for. */
static void fr_query_result_asked(const fr_judged *judged, const fr_query *query,
                                  const fr_query_bits *bits, fr_query_result *result)
{
    const fr_filter *filter = query->filter;
    for (uint32_t k = 0; k < filter->attribute_count; k++) {
        ovx_token_t token = filter->attributes[k];
        const fr_attribute *attribute = fr_store_attribute_find(judged->stage->store, token);
        if (fr_query_has(judged, query, bits, token, attribute))
            result->tokens[result->count++] = token;
    }
}

/* Recorded ones: refused writes and floors may have entered names of others (D14). */
static void fr_query_result_known(const fr_judged *judged, const fr_query *query,
                                  const fr_query_bits *bits, fr_query_result *result)
{
    for (uint32_t i = 0; i < result->capacity; i++) {
        const fr_attribute *attribute = fr_store_attribute_at(judged->stage->store, i);
#ifndef FR_MUTATE_RESULT_TELLS_COMPUTED
        if (fr_reserved_is_computed(fr_access_reserved(judged->stage->access, attribute->token)))
            continue;
#endif
        if (fr_query_has(judged, query, bits, attribute->token, attribute))
            result->tokens[result->count++] = attribute->token;
    }
}

/* Attributes that somebody enters meanwhile may be missing. NULL without memory. */
static fr_query_result *fr_query_result_make(fr_stage *stage, const fr_query *query)
{
    bool asked = query->filter && query->filter->attribute_count > 0;
    size_t capacity =
        asked ? query->filter->attribute_count : fr_store_attribute_count(stage->store);
    fr_judged judged = {.stage = stage};
    fr_query_bits bits;
    if (!fr_query_bits_make(stage, query, &bits))
        return NULL;
    fr_query_result *result =
        fr_memory_allocate(&stage->allocator, fr_query_result_bytes(capacity), 16);
    if (result) {
        result->stage = stage;
        result->capacity = capacity;
        result->count = 0;
        if (asked)
            fr_query_result_asked(&judged, query, &bits, result);
        else
            fr_query_result_known(&judged, query, &bits, result);
    }
    fr_memory_release(&stage->allocator, bits.words, bits.words_bytes);
    return result;
}

/* Of a query that is ready. */
static ovstage_api_status_t fr_query_result_open(fr_stage *stage, const fr_query *query,
                                                 ovstage_query_handle_t handle,
                                                 ovstage_query_result_t *out)
{
    fr_query_result *result = fr_query_result_make(stage, query);
    if (!result)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a query result");
    ovstage_query_result_t shown = {
        .attributes = result->count > 0 ? result->tokens : NULL,
        .attribute_count = result->count,
        .all_handle = handle,
        .total_prim_count = query->count,
    };
    shown.query_result_id = fr_handle_create(stage, FR_HANDLE_QUERY_RESULT, result);
    if (shown.query_result_id == OVSTAGE_INVALID_QUERY_RESULT_ID) {
        fr_query_result_drop(result);
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a query result's handle");
    }
    *out = shown;
    return OVSTAGE_OK;
}

ovstage_api_status_t fr_query_result_fetch(fr_stage *stage, ovstage_query_handle_t query,
                                           ovstage_timeout_ns_t timeout,
                                           ovstage_query_result_t *out)
{
    if (!out)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the result out pointer is NULL");
    fr_query *found = fr_stage_query_acquire(stage, query);
    if (!found)
        return OVSTAGE_ERROR_INVALID_HANDLE;
    fr_wait_outcome outcome;
    const char *text;
    ovstage_api_status_t status = fr_query_wait(found, timeout, &outcome);
    if (status == OVSTAGE_OK) {
        status = fr_query_result_open(stage, found, query, out);
    } else if (outcome.status == OVSTAGE_OK) { /* it has run, or never will */
        (void)fr_query_failure(found, &text);
        status = fr_error_set(status, "%s", text);
    } else if (status != OVSTAGE_ERROR_TIMEOUT) {
        status = fr_error_set(status, "%s", outcome.text);
    }
    fr_query_release(found);
    return status;
}

ovstage_api_status_t fr_query_result_release(fr_stage *stage, const ovstage_query_result_t *result)
{
    if (!result)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the result is NULL");
    void *object = fr_handle_remove(stage, FR_HANDLE_QUERY_RESULT, result->query_result_id);
    if (!object)
        return fr_handle_refuse(stage, FR_HANDLE_QUERY_RESULT, result->query_result_id,
                                "query result");
    fr_query_result_drop(object);
    return OVSTAGE_OK;
}
