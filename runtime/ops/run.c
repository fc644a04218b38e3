/* The caller's own threads: running ops, lending threads, waiting for floors, room and several ops.
 */
#include "runtime/floor/floors.h"
#include "runtime/ops/ops.h"

#include <stdio.h>

ovstage_api_status_t flyrail_run(ovstage_instance_t *instance, uint64_t max_ops, uint64_t *out_ran)
{
    if (out_ran)
        *out_ran = 0;
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return status;
    uint64_t ran = fr_graph_run_some(stage->graph, max_ops > 0 ? max_ops : UINT64_MAX);
    if (out_ran)
        *out_ran = ran;
    return OVSTAGE_OK;
}

_Static_assert(sizeof(_Atomic uint32_t) == sizeof(uint32_t),
               "a client's word can be read atomically");

static ovstage_api_status_t fr_enter_with_word(fr_stage *stage, const uint32_t *until)
{
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status == OVSTAGE_OK && !until)
        status = fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "until is NULL");
    return status;
}

ovstage_api_status_t flyrail_worker_run(ovstage_instance_t *instance, uint32_t *until)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_enter_with_word(stage, until);
    if (status != OVSTAGE_OK)
        return status;
    if (fr_worker_current())
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "this thread is a worker already");
    if (fr_pool_lend(stage->pool, (_Atomic uint32_t *)until, 0) == UINT64_MAX)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_RANGE,
                            "%d threads are lent to the pool, which is the limit",
                            FR_POOL_LENT_MAX);
    return OVSTAGE_OK;
}

ovstage_api_status_t flyrail_worker_stop(ovstage_instance_t *instance, uint32_t *until)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_enter_with_word(stage, until);
    if (status != OVSTAGE_OK)
        return status;
    /* [worker.stop] pairs [pool.lend.stop] : what was written before it is seen; the kick wakes who
     * would not look */
    fr_store_release((_Atomic uint32_t *)until, 1);
    fr_pool_kick(stage->pool);
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_wait_answer(const fr_wait_outcome *outcome)
{
    if (outcome->status == OVSTAGE_OK || outcome->status == OVSTAGE_ERROR_TIMEOUT)
        return outcome->status;
    return fr_error_set(outcome->status, "%s", outcome->text);
}

/* --- floors ----------------------------------------------------------------------------------- */

typedef struct fr_floor_wait {
    fr_stage *stage;
    const fr_attribute *attribute; /* NULL: the global floor */
    uint64_t ordinal;
    /* What the last look for a seal was for: the attribute that holds the floor back, or base. */
    const fr_attribute *lagging;
} fr_floor_wait;

static bool fr_floor_reached(void *user)
{
    const fr_floor_wait *wait = user;
    return fr_floors_executed(wait->stage->floors, wait->attribute) >= wait->ordinal;
}

/* The accepted advance that brings the floor there, or, of the global floor, one without which it
 * does not get there. */
static uint64_t fr_floor_awaits(void *user)
{
    fr_floor_wait *wait = user;
    fr_floors *floors = wait->stage->floors;
    fr_graph *graph = wait->stage->graph;
    wait->lagging = wait->attribute;
    if (!wait->attribute)
        wait->lagging = fr_floors_lagging(floors, graph, wait->ordinal);
    uint64_t id = 0;
    fr_graph_lock(graph);
    if (wait->lagging)
        (void)fr_floors_pending_seals(floors, wait->lagging, wait->ordinal, &id, 1);
    else
        id = fr_floors_pending_base_seal(floors, wait->ordinal);
    fr_graph_unlock(graph);
    return id;
}

/* An advance that is accepted from now on waits for the lane. */
static bool fr_floor_is_held_back(void *user, uint64_t ordinal, uint64_t filter)
{
    const fr_floor_wait *wait = user;
    uint64_t scope = wait->lagging ? UINT64_C(1) << wait->lagging->index % 64 : UINT64_MAX;
    return ordinal <= wait->ordinal && (filter & scope) != 0;
}

ovstage_api_status_t flyrail_wait_floor(ovstage_instance_t *instance, ovx_token_t attribute,
                                        ovstage_ordinal_t ordinal, ovstage_timeout_ns_t timeout)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return status;
    fr_floor_wait wait = {stage, NULL, ordinal, NULL};
    if (attribute != OVX_INVALID_TOKEN) {
        ovx_string_or_token_t name = {attribute, {NULL, 0}};
        fr_attribute *found = NULL;
        ovx_token_t token;
        status = fr_stage_attribute(stage, name, true, &found, &token);
        if (status != OVSTAGE_OK)
            return status;
        wait.attribute = found;
    }
    char what[64];
    snprintf(what, sizeof(what), "the write floor %llu", (unsigned long long)ordinal);
    const fr_condition condition = {
        .ready = fr_floor_reached,
        .awaits = fr_floor_awaits,
        .is_held_back = fr_floor_is_held_back,
        .user = &wait,
        .what = what,
    };
    fr_wait_outcome outcome;
    fr_graph_wait_condition(stage->graph, &condition, timeout, &outcome);
    return fr_wait_answer(&outcome);
}

/* --- room ------------------------------------------------------------------------------------- */

typedef struct fr_room_wait {
    fr_stage *stage;
    uint64_t ops, bytes;
} fr_room_wait;

static bool fr_room_has_ops(const fr_room_wait *wait)
{
    const fr_stage *stage = wait->stage;
    return fr_graph_pending_count(stage->graph) <= stage->config.op_limit - wait->ops;
}

static bool fr_room_is_there(void *user)
{
    const fr_room_wait *wait = user;
    const fr_stage *stage = wait->stage;
    return fr_room_has_ops(wait) &&
           fr_stage_pending_bytes(stage) <= stage->config.pending_limit_bytes - wait->bytes;
}

/* Bytes of unsealed versions are given back by seals, which may still be accepted. */
static bool fr_room_needs_ops(void *user)
{
    const fr_room_wait *wait = user;
    const fr_stage *stage = wait->stage;
    return !fr_room_has_ops(wait) ||
           fr_stage_payload_bytes(stage) > stage->config.pending_limit_bytes - wait->bytes;
}

ovstage_api_status_t flyrail_wait_room(ovstage_instance_t *instance, uint64_t ops, uint64_t bytes,
                                       ovstage_timeout_ns_t timeout)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return status;
    if (ops > stage->config.op_limit)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_RANGE,
                            "%llu operations are above the limit of %llu", (unsigned long long)ops,
                            (unsigned long long)stage->config.op_limit);
    if (bytes > stage->config.pending_limit_bytes)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_RANGE, "%llu bytes are above the limit of %llu",
                            (unsigned long long)bytes,
                            (unsigned long long)stage->config.pending_limit_bytes);
    fr_room_wait wait = {stage, ops, bytes};
    char what[96];
    snprintf(what, sizeof(what), "room for %llu operations and %llu bytes", (unsigned long long)ops,
             (unsigned long long)bytes);
    const fr_condition condition = {
        .ready = fr_room_is_there,
        .needs_ops = fr_room_needs_ops,
        .user = &wait,
        .what = what,
    };
    fr_wait_outcome outcome;
    fr_graph_wait_condition(stage->graph, &condition, timeout, &outcome);
    return fr_wait_answer(&outcome);
}

/* --- several ops ------------------------------------------------------------------------------ */

static ovstage_api_status_t fr_wait_several(ovstage_instance_t *instance,
                                            const ovstage_op_id_t *ops, size_t count, bool any,
                                            ovstage_timeout_ns_t timeout, size_t *out_index)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return status;
    if (!ops && count > 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "ops is NULL, count is %zu", count);
    if (any && count == 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "there is no operation to wait for");
    size_t index = 0;
    fr_wait_outcome outcome;
    fr_graph_wait_many(stage->graph, ops, count, any, timeout, &index, &outcome);
    if (out_index && outcome.status == OVSTAGE_OK)
        *out_index = index;
    return fr_wait_answer(&outcome);
}

ovstage_api_status_t flyrail_wait_all(ovstage_instance_t *instance, const ovstage_op_id_t *ops,
                                      size_t count, ovstage_timeout_ns_t timeout)
{
    return fr_wait_several(instance, ops, count, false, timeout, NULL);
}

ovstage_api_status_t flyrail_wait_any(ovstage_instance_t *instance, const ovstage_op_id_t *ops,
                                      size_t count, ovstage_timeout_ns_t timeout, size_t *out_index)
{
    return fr_wait_several(instance, ops, count, true, timeout, out_index);
}
