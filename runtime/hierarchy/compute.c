#include "runtime/hierarchy/compute.h"

#include "runtime/dictionary/dictionary.h"
#include "runtime/floor/floors.h"
#include "runtime/hierarchy/computing.h"

#define FR_COMPUTE_PRODUCERS 4 /* a seal for each column, and the computation before */

/* --- what an instance keeps ------------------------------------------------------------------- */

static bool fr_hierarchy_names(fr_stage *stage, fr_hierarchy *hierarchy)
{
    const struct {
        ovx_string_t text;
        ovx_token_t *token;
    } names[] = {
        {literal_to_ovx_string("omni:xform"), &hierarchy->local},
        {literal_to_ovx_string("omni:resetXformStack"), &hierarchy->reset},
        {literal_to_ovx_string("omni:fabric:worldMatrix"), &hierarchy->world},
    };
    bool enough = true;
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]) && enough; n++)
        enough = fr_dictionary_token_intern(stage->dictionary, names[n].text, names[n].token) ==
                 OVSTAGE_OK;
    return enough;
}

ovstage_api_status_t fr_hierarchy_open(fr_stage *stage)
{
    fr_hierarchy *hierarchy = fr_memory_allocate_zero(&stage->allocator, sizeof(*hierarchy), 16);
    stage->hierarchy = hierarchy;
    bool enough = hierarchy && fr_hierarchy_names(stage, hierarchy);
    return enough ? OVSTAGE_OK : OVSTAGE_ERROR_OUT_OF_MEMORY;
}

void fr_hierarchy_close(fr_stage *stage)
{
    if (stage->hierarchy)
        fr_forest_destroy(stage->hierarchy->forest);
    fr_memory_release(&stage->allocator, stage->hierarchy, sizeof(*stage->hierarchy));
    stage->hierarchy = NULL;
}

/* --- the op ----------------------------------------------------------------------------------- */

typedef struct fr_compute_op {
    fr_compute compute;
    fr_ordinal_node held_input, held_output;
    ovstage_hierarchy_computation_model_id_t model;
} fr_compute_op;

_Static_assert(sizeof(fr_compute_op) <= FR_OP_PAYLOAD_BYTES, "fits the record");

/* Nothing that the computation selects is dropped until it has run (L4). */
static void fr_compute_hold(fr_compute_op *op)
{
    const fr_compute *compute = &op->compute;
    fr_store *store = compute->stage->store;
    fr_store_moment_hold(store, &op->held_input, compute->input);
    fr_store_moment_hold(store, &op->held_output,
                         compute->is_open ? compute->floor : compute->output);
}

static void fr_compute_let_go(fr_compute_op *op)
{
    fr_store *store = op->compute.stage->store;
    fr_store_moment_release(store, &op->held_input);
    fr_store_moment_release(store, &op->held_output);
}

static fr_run_result fr_compute_run(fr_op *op, const fr_run_context *context)
{
    const fr_compute_op *payload = fr_op_payload(op);
    char text[FR_COMPUTING_TEXT_BYTES];
    (void)context;
    if (payload->model != OVSTAGE_HIERARCHY_COMPUTATION_MODEL_CPU_INCREMENTAL) {
        fr_op_fail(op, OVSTAGE_ERROR_NOT_SUPPORTED,
                   "hierarchy computation model %d needs a GPU: not supported by this library",
                   (int)payload->model);
        return FR_RUN_DONE;
    }
    ovstage_api_status_t status = fr_computing_run(&payload->compute, fr_op_id(op), text);
    if (status != OVSTAGE_OK)
        fr_op_fail(op, status, "hierarchy computation: %s", text);
    return FR_RUN_DONE;
}

static void fr_compute_drop(fr_op *op)
{
    fr_compute_op *payload = fr_op_payload(op);
    fr_compute_let_go(payload);
    if (payload->compute.is_open)
        fr_store_judgement_end(payload->compute.stage->store, fr_op_id(op));
}

/* How much there is to do is not known before. */
static bool fr_compute_is_large(const fr_op *op)
{
    (void)op;
    return true;
}

static const fr_op_type fr_compute_op_type = {
    .name = "hierarchy computation",
    .run = fr_compute_run,
    .drop = fr_compute_drop,
    .is_large = fr_compute_is_large,
};

/* --- submission ------------------------------------------------------------------------------- */

typedef struct fr_compute_call {
    fr_compute *compute; /* the op's */
    bool again;          /* a seal was accepted in between */
} fr_compute_call;

static void fr_compute_need_seal(const fr_compute *compute, fr_submission *submission,
                                 const fr_attribute *attribute, uint64_t ordinal)
{
    size_t count = submission->producer_count;
    submission->producer_count += fr_floors_pending_seals(compute->stage->floors, attribute,
                                                          ordinal, submission->producer_ids + count,
                                                          submission->producer_capacity - count);
}

static ovstage_api_status_t fr_compute_admit(fr_submission *submission, void *user)
{
    fr_compute_call *call = user;
    const fr_compute *compute = call->compute;
    bool is_open = compute->is_open;
    call->again = compute->floor != fr_floors_accepted(compute->stage->floors, compute->world);
    if (call->again)
        return OVSTAGE_ERROR_INTERNAL; /* nobody sees it */
    submission->producer_count = 0;
    fr_compute_need_seal(compute, submission, compute->local, compute->input);
    fr_compute_need_seal(compute, submission, compute->reset, compute->input);
    fr_compute_need_seal(compute, submission, compute->world,
                         is_open ? compute->floor : compute->output);
    submission->producer_ids[submission->producer_count++] =
        compute->stage->hierarchy->last_compute; /* 0, or done: no edge */
    uint64_t bit = UINT64_C(1) << compute->world->index % 64;
    submission->attribute_filter = is_open ? bit : 0;
    submission->takes_lanes_below = is_open;
    submission->writes_below = !is_open;
    submission->below_ordinal = compute->output;
    submission->below_filter = bit;
    return OVSTAGE_OK;
}

static void fr_compute_accepted(fr_submission *submission, uint64_t id, void *user)
{
    const fr_compute *compute = ((fr_compute_call *)user)->compute;
    compute->stage->hierarchy->last_compute = id;
    if (compute->is_open)
        fr_store_judgement_begin(compute->stage->store, compute->output,
                                 submission->attribute_filter, id);
}

static ovstage_enqueue_result_t fr_compute_submit(fr_op *op)
{
    fr_compute_op *payload = fr_op_payload(op);
    fr_compute *compute = &payload->compute;
    fr_stage *stage = compute->stage;
    uint64_t producers[FR_COMPUTE_PRODUCERS];
    fr_compute_call call = {compute, false};
    ovstage_enqueue_result_t result;
    do {
        fr_graph_lock(stage->graph);
        compute->floor = fr_floors_accepted(stage->floors, compute->world);
        fr_graph_unlock(stage->graph);
        compute->is_open = compute->output > compute->floor;
        fr_compute_hold(payload);
        call.again = false;
        fr_submission submission = {
            .op = op,
            .has_ordinal = compute->is_open,
            .ordinal = compute->is_open ? compute->output : 0,
            .producer_ids = producers,
            .producer_capacity = FR_COMPUTE_PRODUCERS,
            .admit = fr_compute_admit,
            .accepted = fr_compute_accepted,
            .user = &call,
        };
        result = fr_stage_submit(stage, &submission, 0);
        if (result.status != OVSTAGE_OK)
            fr_compute_let_go(payload);
    } while (result.status != OVSTAGE_OK && call.again);
    return result;
}

static ovstage_api_status_t fr_compute_attribute(fr_stage *stage, ovx_token_t token,
                                                 fr_attribute **out)
{
    ovx_string_or_token_t name = {token, {NULL, 0}};
    return fr_stage_attribute(stage, name, true, out, &token);
}

static ovstage_api_status_t fr_compute_fill(fr_stage *stage, fr_compute *compute)
{
    const fr_hierarchy *hierarchy = stage->hierarchy;
    compute->stage = stage;
    ovstage_api_status_t status = fr_compute_attribute(stage, hierarchy->local, &compute->local);
    if (status == OVSTAGE_OK)
        status = fr_compute_attribute(stage, hierarchy->reset, &compute->reset);
    if (status == OVSTAGE_OK)
        status = fr_compute_attribute(stage, hierarchy->world, &compute->world);
    return status;
}

ovstage_enqueue_result_t ovstage_compute_hierarchy(ovstage_instance_t *instance,
                                                   ovstage_hierarchy_computation_model_id_t model,
                                                   ovstage_ordinal_t input_ordinal,
                                                   ovstage_ordinal_t output_ordinal)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_enqueue_result_t result = {fr_stage_enter(stage), OVSTAGE_INVALID_OP_ID};
    if (result.status != OVSTAGE_OK)
        return result;
    const unsigned first = OVSTAGE_HIERARCHY_COMPUTATION_MODEL_CPU_INCREMENTAL;
    const unsigned last = OVSTAGE_HIERARCHY_COMPUTATION_MODEL_RUNTIME_DEFAULT;
    if ((unsigned)model < first || (unsigned)model > last)
        return fr_error_refuse(OVSTAGE_ERROR_INVALID_ARGUMENT, "model %u is not one of %u to %u",
                               (unsigned)model, first, last);
    if (model == OVSTAGE_HIERARCHY_COMPUTATION_MODEL_RUNTIME_DEFAULT)
        model = (ovstage_hierarchy_computation_model_id_t)stage->hierarchy_model;
    fr_compute compute = {.input = input_ordinal, .output = output_ordinal};
    result.status = fr_compute_fill(stage, &compute);
    if (result.status != OVSTAGE_OK)
        return result;
    fr_op *op = fr_graph_op_get(stage->graph, &fr_compute_op_type);
    if (!op)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    fr_compute_op *payload = fr_op_payload(op);
    *payload = (fr_compute_op){.compute = compute, .model = model};
    result = fr_compute_submit(op);
    if (result.status != OVSTAGE_OK)
        fr_graph_op_put(stage->graph, op);
    return result;
}
