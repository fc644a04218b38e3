/* flyrail_discard: an op of the ordinal's lane that takes back what the ordinal has written.
 *
 * It waits for all ops that were accepted before it and have an ordinal: those above its own may
 * have to be judged by what it takes away (L3). Nobody else waits for it than who waits for its
 * lane. */
#include "runtime/floor/floors.h"

typedef struct fr_discard_op {
    fr_stage *stage;
} fr_discard_op;

typedef struct fr_discarding {
    fr_stage *stage;
    uint64_t ordinal, floor; /* floor: that refused it */
} fr_discarding;

static fr_run_result fr_discard_run(fr_op *op, const fr_run_context *context)
{
    (void)context;
    const fr_discard_op *discard = fr_op_payload(op);
    if (!fr_store_discard(discard->stage->store, fr_op_ordinal(op)))
        fr_op_fail(op, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory to discard ordinal %llu",
                   (unsigned long long)fr_op_ordinal(op));
    return FR_RUN_DONE;
}

static void fr_discard_drop(fr_op *op)
{
    const fr_discard_op *discard = fr_op_payload(op);
    /* [discard.done] pairs [delete.pending] : as delete.done */
    (void)fr_sub_release(&discard->stage->deletes_pending, 1);
}

static const fr_op_type fr_discard_op_type = {
    .name = "discard",
    .run = fr_discard_run,
    .drop = fr_discard_drop,
};

static ovstage_api_status_t fr_discard_admit(fr_submission *submission, void *user)
{
    fr_discarding *discarding = user;
    (void)submission;
    discarding->floor = discarding->stage->floors->accepted_highest;
    return discarding->ordinal > discarding->floor ? OVSTAGE_OK
                                                   : OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION;
}

/* As a delete of whole prims: what a key had may be gone. */
static void fr_discard_accepted(fr_submission *submission, uint64_t id, void *user)
{
    const fr_discarding *discarding = user;
    (void)submission;
    (void)id;
    discarding->stage->prims_deleted = true;
    discarding->stage->deletes_accepted = true;
    (void)fr_add_relaxed(&discarding->stage->deletes_pending, 1);
}

ovstage_enqueue_result_t flyrail_discard(ovstage_instance_t *instance, ovstage_ordinal_t ordinal)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_enqueue_result_t result = {fr_stage_enter(stage), OVSTAGE_INVALID_OP_ID};
    if (result.status != OVSTAGE_OK)
        return result;
    fr_op *op = fr_graph_op_get(stage->graph, &fr_discard_op_type);
    if (!op)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    fr_discard_op *payload = fr_op_payload(op);
    payload->stage = stage;
    fr_discarding discarding = {stage, ordinal, 0};
    fr_submission submission = {
        .op = op,
        .has_ordinal = true,
        .ordinal = ordinal,
        .attribute_filter = UINT64_MAX,
#ifndef FR_MUTATE_DISCARD_WAITS_FOR_NOBODY
        .takes_lanes_below = true,
#endif
        .below_ordinal = UINT64_MAX,
        .below_filter = UINT64_MAX,
        .never_full = true,
        .admit = fr_discard_admit,
        .accepted = fr_discard_accepted,
        .user = &discarding,
    };
    result = fr_stage_submit(stage, &submission, 0);
    if (result.status == OVSTAGE_OK)
        return result;
    if (result.status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION)
        fr_error_set(result.status, "ordinal %llu is not above the highest write floor %llu",
                     (unsigned long long)ordinal, (unsigned long long)discarding.floor);
    fr_graph_op_put(stage->graph, op);
    return result;
}
