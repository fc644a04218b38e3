/* ovstage_clone on its way to acceptance: arguments, and what it waits for. */
#include <ovstage/ovstage.h>
#include <stdio.h>

#include "runtime/clone/clone.h"
#include "runtime/dictionary/dictionary.h"
#include "runtime/floor/floors.h"
#include "runtime/hierarchy/compute.h"
#include "runtime/store/row_set.h"
#include "runtime/write/access.h"

/* One call. */
typedef struct fr_clone_call {
    fr_stage *stage;
    fr_clone_op *clone; /* the op's payload */
    uint64_t ordinal;
    size_t producers_needed;
} fr_clone_call;

/* --- admission -------------------------------------------------------------------------------- */

/* It depends on the advances that may have sealed what it finds, and is in scope of every later one
 * (D2). Floors are judged when it runs (R34). */
static ovstage_api_status_t fr_clone_admit(fr_submission *submission, void *user)
{
    fr_clone_call *call = user;
    const fr_floors *floors = call->stage->floors;
    size_t count = fr_floors_pending_from(floors, call->ordinal, submission->producer_ids,
                                          submission->producer_capacity - 1);
    if (count == SIZE_MAX) {
        call->producers_needed = (size_t)fr_floors_pending_count(floors) + 1;
        return OVSTAGE_ERROR_INTERNAL; /* asked again; nobody sees it */
    }
    /* What is derived at sealed ordinals is of no lane. */
    submission->producer_ids[count++] = call->stage->hierarchy->last_compute;
    submission->producer_count = count;
    return OVSTAGE_OK;
}

static ovstage_enqueue_result_t fr_clone_submit(fr_clone_call *call, fr_op *op)
{
    fr_submission submission = {.op = op,
                                .has_ordinal = true,
                                .ordinal = call->ordinal,
                                .attribute_filter = UINT64_MAX,
                                .takes_lanes_below = true,
                                .below_ordinal = call->ordinal,
                                .below_filter = UINT64_MAX,
                                .holds_lanes_below = true,
                                .admit = fr_clone_admit,
                                .user = call};
    return fr_stage_submit_after(call->stage, &submission, 1, &call->producers_needed);
}

/* --- arguments -------------------------------------------------------------------------------- */

static ovstage_api_status_t fr_clone_path(fr_stage *stage, ovx_string_t text, const char *what,
                                          ovx_primpath_t *out)
{
    fr_fault fault;
    char why[128];
    if (fr_dictionary_path_intern(stage->dictionary, text, out, &fault))
        return OVSTAGE_OK;
    fr_fault_describe(&fault, why, sizeof(why));
    return fr_error_set(fr_fault_status(&fault), "%s %s", what, why);
}

static ovstage_api_status_t fr_clone_target(fr_clone_call *call, const ovx_string_t *texts,
                                            uint32_t k, fr_row_set *seen)
{
    char what[32];
    ovx_primpath_t path;
    bool added;
    snprintf(what, sizeof(what), "targets[%u]", k);
    ovstage_api_status_t status = fr_clone_path(call->stage, texts[k], what, &path);
    if (status != OVSTAGE_OK)
        return status;
    if (fr_dictionary_path_parent(call->stage->dictionary, path) == 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "%s is the root", what);
    uint32_t first = fr_row_set_add(seen, (uint32_t)path, &added);
    if (!added)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "%s = '%s' is named by targets[%u] too",
                            what, fr_dictionary_path_text(call->stage->dictionary, path).ptr,
                            first);
    call->clone->targets[k] = (uint32_t)path;
    return OVSTAGE_OK;
}

/* Whether some target lies inside another one. */
static bool fr_clone_is_nested(const fr_clone_call *call, const fr_row_set *seen)
{
    const fr_dictionary *dictionary = call->stage->dictionary;
    for (uint32_t k = 0; k < call->clone->target_count; k++) {
        ovx_primpath_t above = fr_dictionary_path_parent(dictionary, call->clone->targets[k]);
        for (; above != 0; above = fr_dictionary_path_parent(dictionary, above))
            if (fr_row_set_place(seen, (uint32_t)above) != FR_ROW_SET_NONE)
                return true;
    }
    return false;
}

static ovstage_api_status_t fr_clone_targets(fr_clone_call *call, const ovx_string_t *texts,
                                             size_t count)
{
    fr_clone_op *clone = call->clone;
    if (count == 0)
        return OVSTAGE_OK;
    if (!texts)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "targets is NULL, its count %zu",
                            count);
    fr_row_set seen;
    bool dense;
    uint32_t *old_rows, old_count;
    fr_row_set_init(&seen, &call->stage->allocator, 0);
    if (count < UINT32_MAX / 8)
        clone->targets = fr_access_block_get(call->stage, count * sizeof(*clone->targets));
    if (!clone->targets ||
        !fr_row_set_reserve(&seen, (uint32_t)count, &dense, &old_rows, &old_count)) {
        if (clone->targets)
            fr_access_block_put(call->stage, clone->targets, count * sizeof(*clone->targets));
        clone->targets = NULL;
        fr_row_set_destroy(&seen);
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %zu targets", count);
    }
    clone->target_count = (uint32_t)count;
    ovstage_api_status_t status = OVSTAGE_OK;
    for (uint32_t k = 0; k < count && status == OVSTAGE_OK; k++)
        status = fr_clone_target(call, texts, k, &seen);
    clone->nested = status == OVSTAGE_OK && fr_clone_is_nested(call, &seen);
    fr_row_set_destroy(&seen);
    return status;
}

ovstage_enqueue_result_t ovstage_clone(ovstage_instance_t *instance, ovx_string_t source,
                                       const ovx_string_t *targets, size_t n,
                                       ovstage_ordinal_t ordinal)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_enqueue_result_t result = {fr_stage_enter(stage), OVSTAGE_INVALID_OP_ID};
    if (result.status != OVSTAGE_OK)
        return result;
    fr_op *op = fr_graph_op_get(stage->graph, &fr_clone_op_type);
    if (!op)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    fr_clone_call call = {.stage = stage, .clone = fr_op_payload(op), .ordinal = ordinal};
    *call.clone = (fr_clone_op){.stage = stage};
    result.status = fr_clone_path(stage, source, "the source path", &call.clone->source);
    if (result.status == OVSTAGE_OK)
        result.status = fr_clone_targets(&call, targets, n);
    if (result.status == OVSTAGE_OK)
        result = fr_clone_submit(&call, op);
    if (result.status == OVSTAGE_OK)
        return result;
    if (call.clone->targets)
        fr_access_block_put(stage, call.clone->targets,
                            call.clone->target_count * sizeof(*call.clone->targets));
    fr_graph_op_put(stage->graph, op);
    return result;
}
