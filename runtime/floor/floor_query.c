/* Floor queries: answered by what has run when they are accepted (D1), fetched by handle. */
#include "runtime/floor/floors.h"

/* In stage->ordinal_answers; the first word is the slab's when it is not in use. */
typedef struct fr_ordinal_answer {
    uint64_t slab_word;
    uint64_t ordinal;
    _Atomic uint32_t references;
} fr_ordinal_answer;

_Static_assert(sizeof(fr_ordinal_answer) <= FR_ORDINAL_ANSWER_BYTES, "fits the slab's objects");

static ovstage_enqueue_result_t fr_ordinal_answer_give(fr_stage *stage, uint64_t ordinal,
                                                       ovstage_ordinal_query_handle_t *out)
{
    fr_ordinal_answer *answer = fr_slabs_get(&stage->ordinal_answers);
    uint64_t handle = 0;
    if (answer) {
        answer->ordinal = ordinal;
        fr_store_relaxed(&answer->references, 1);
        handle = fr_handle_reserve(stage, FR_HANDLE_ORDINAL_QUERY);
    }
    if (handle == 0) {
        if (answer)
            fr_slabs_put(&stage->ordinal_answers, answer);
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an ordinal query");
    }
    ovstage_enqueue_result_t result = fr_stage_submit_done(stage, NULL, NULL);
    if (fr_handle_settle(stage, handle, result.status, answer))
        *out = handle;
    else
        fr_slabs_put(&stage->ordinal_answers, answer);
    return result;
}

ovstage_enqueue_result_t fr_floor_query_oldest(fr_stage *stage, ovstage_ordinal_query_handle_t *out)
{
    if (!out)
        return fr_error_refuse(OVSTAGE_ERROR_INVALID_ARGUMENT, "the handle out pointer is NULL");
    *out = OVSTAGE_INVALID_ORDINAL_QUERY_HANDLE;
    return fr_ordinal_answer_give(stage, fr_store_merged(stage->store), out);
}

ovstage_enqueue_result_t fr_floor_query(fr_stage *stage, ovx_string_or_token_t attribute,
                                        ovstage_ordinal_query_handle_t *out)
{
    if (!out)
        return fr_error_refuse(OVSTAGE_ERROR_INVALID_ARGUMENT, "the handle out pointer is NULL");
    *out = OVSTAGE_INVALID_ORDINAL_QUERY_HANDLE;
    uint64_t floor;
    if (attribute.token == OVX_INVALID_TOKEN && attribute.string.length == 0) {
        floor = fr_floors_executed(stage->floors, NULL);
    } else {
        fr_attribute *known = NULL;
        ovx_token_t token;
        ovstage_api_status_t status = fr_stage_attribute(stage, attribute, false, &known, &token);
        if (status != OVSTAGE_OK) {
            ovstage_enqueue_result_t refused = {status, OVSTAGE_INVALID_OP_ID};
            return refused;
        }
        floor = known ? fr_floors_executed(stage->floors, known)
                      : fr_floors_executed_base(stage->floors);
    }
    return fr_ordinal_answer_give(stage, floor, out);
}

static void fr_ordinal_answer_retain(void *object)
{
    fr_ordinal_answer *answer = object;
    fr_add_relaxed(&answer->references, 1);
}

static void fr_ordinal_answer_release(fr_stage *stage, fr_ordinal_answer *answer)
{
    /* [ordinal_answer.release] pairs [ordinal_answer.release] : the last one sees that the others
     * have read it */
    if (fr_sub_acq_rel(&answer->references, 1) == 1)
        fr_slabs_put(&stage->ordinal_answers, answer);
}

ovstage_api_status_t fr_floor_query_fetch(fr_stage *stage, ovstage_ordinal_query_handle_t handle,
                                          ovstage_timeout_ns_t timeout, ovstage_ordinal_t *out)
{
    (void)timeout; /* it is there */
    if (!out)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the ordinal out pointer is NULL");
    fr_ordinal_answer *answer =
        fr_handle_acquire(stage, FR_HANDLE_ORDINAL_QUERY, handle, fr_ordinal_answer_retain);
    if (!answer)
        return fr_handle_refuse(stage, FR_HANDLE_ORDINAL_QUERY, handle, "ordinal query");
    *out = answer->ordinal;
    fr_ordinal_answer_release(stage, answer);
    return OVSTAGE_OK;
}

ovstage_enqueue_result_t fr_floor_query_release(fr_stage *stage,
                                                ovstage_ordinal_query_handle_t handle)
{
    void *object = NULL;
    ovstage_enqueue_result_t result =
        fr_handle_release_op(stage, FR_HANDLE_ORDINAL_QUERY, handle, "ordinal query", &object);
    if (result.status == OVSTAGE_OK)
        fr_ordinal_answer_release(stage, object);
    return result;
}
