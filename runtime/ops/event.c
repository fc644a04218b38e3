#include "runtime/ops/event.h"

#include "runtime/floor/floors.h"

typedef struct fr_event {
    fr_stage *stage;
    _Atomic uint32_t references;
    int descriptor;
} fr_event;

static void fr_event_ref(void *object)
{
    fr_event *event = object;
    (void)fr_add_relaxed(&event->references, 1);
}

void fr_event_unref(void *object)
{
    fr_event *event = object;
    /* [event.drop] pairs [event.drop] : the last one comes after all that was raised */
    if (fr_sub_acq_rel(&event->references, 1) != 1)
        return;
    fr_os_current->signal_close(event->descriptor);
    fr_memory_release(&event->stage->allocator, event, sizeof(*event));
}

/* With the reference of who tells. */
static void fr_event_raise(void *object)
{
    const fr_event *event = object;
    fr_os_current->signal_raise(event->descriptor);
    fr_event_unref(object);
}

/* --- the op that ops are waited for by -------------------------------------------------------- */

typedef struct fr_event_op {
    fr_event *event; /* one reference */
} fr_event_op;

static fr_run_result fr_event_op_run(fr_op *op, const fr_run_context *context)
{
    (void)context;
    const fr_event_op *payload = fr_op_payload(op);
    fr_os_current->signal_raise(payload->event->descriptor);
    return FR_RUN_DONE;
}

static void fr_event_op_drop(fr_op *op)
{
    const fr_event_op *payload = fr_op_payload(op);
    fr_event_unref(payload->event);
}

static const fr_op_type fr_event_op_type = {
    .name = "event",
    .run = fr_event_op_run,
    .drop = fr_event_op_drop,
};

/* --- entry points ----------------------------------------------------------------------------- */

ovstage_api_status_t flyrail_event_open(ovstage_instance_t *instance, flyrail_event_t *out,
                                        int *out_descriptor)
{
    if (out)
        *out = FLYRAIL_INVALID_EVENT;
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return status;
    if (!out || !out_descriptor)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the %s out pointer is NULL",
                            out ? "descriptor" : "event");
    fr_event *event = fr_memory_allocate(&stage->allocator, sizeof(*event), 16);
    if (!event)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an event");
    event->stage = stage;
    fr_store_relaxed(&event->references, 1);
    event->descriptor = fr_os_current->signal_open();
    if (event->descriptor < 0) {
        fr_memory_release(&stage->allocator, event, sizeof(*event));
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY,
                            "the system has no descriptor for an event");
    }
    int descriptor = event->descriptor;
    *out = fr_handle_create(stage, FR_HANDLE_EVENT, event);
    if (*out == FLYRAIL_INVALID_EVENT) {
        fr_event_unref(event);
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an event's handle");
    }
    *out_descriptor = descriptor;
    return OVSTAGE_OK;
}

/* With a reference; NULL with the status and the text set. */
static fr_event *fr_event_enter(fr_stage *stage, flyrail_event_t handle,
                                ovstage_api_status_t *status)
{
    *status = fr_stage_enter(stage);
    if (*status != OVSTAGE_OK)
        return NULL;
    fr_event *event = fr_handle_acquire(stage, FR_HANDLE_EVENT, handle, fr_event_ref);
    if (!event)
        *status = fr_handle_refuse(stage, FR_HANDLE_EVENT, handle, "event");
    return event;
}

static ovstage_api_status_t fr_event_check_ops(fr_stage *stage, const ovstage_op_id_t *ops,
                                               size_t count)
{
    if (!ops && count > 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "ops is NULL, count is %zu", count);
    for (size_t k = 0; k < count; k++)
        if (fr_graph_op_state(stage->graph, ops[k]) == FR_OP_UNKNOWN)
            return fr_error_set(OVSTAGE_ERROR_INVALID_HANDLE,
                                "ops[%zu] = 0x%llx is no operation of this instance, or released",
                                k, (unsigned long long)ops[k]);
    return OVSTAGE_OK;
}

/* The event's reference goes with the op, or is dropped. */
static ovstage_enqueue_result_t fr_event_submit(fr_stage *stage, fr_event *event,
                                                const ovstage_op_id_t *ops, size_t count)
{
    fr_op *op = fr_graph_op_get(stage->graph, &fr_event_op_type);
    if (!op) {
        fr_event_unref(event);
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    }
    fr_event_op *payload = fr_op_payload(op);
    payload->event = event;
    fr_submission submission = {
        .op = op,
        .producer_ids = (uint64_t *)(uintptr_t)ops, /* only read: there is no room to add */
#ifndef FR_MUTATE_EVENT_WAITS_FOR_NOBODY
        .producer_count = count,
#endif
        .producer_capacity = count,
    };
    ovstage_enqueue_result_t result = fr_stage_submit(stage, &submission, 0);
    if (result.status != OVSTAGE_OK) {
        fr_graph_op_put(stage->graph, op);
        fr_event_unref(event);
    }
    return result;
}

ovstage_enqueue_result_t flyrail_event_on_ops(ovstage_instance_t *instance, flyrail_event_t handle,
                                              const ovstage_op_id_t *ops, size_t count)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_enqueue_result_t refused = {OVSTAGE_OK, OVSTAGE_INVALID_OP_ID};
    fr_event *event = fr_event_enter(stage, handle, &refused.status);
    if (!event)
        return refused;
    refused.status = fr_event_check_ops(stage, ops, count);
    if (refused.status == OVSTAGE_OK)
        return fr_event_submit(stage, event, ops, count);
    fr_event_unref(event);
    return refused;
}

ovstage_api_status_t flyrail_event_on_floor(ovstage_instance_t *instance, flyrail_event_t handle,
                                            ovx_token_t attribute, ovstage_ordinal_t ordinal)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status;
    fr_event *event = fr_event_enter(stage, handle, &status);
    if (!event)
        return status;
    fr_attribute *found = NULL;
    ovx_token_t token;
    if (attribute != OVX_INVALID_TOKEN)
        status = fr_stage_attribute(stage, (ovx_string_or_token_t){attribute, {NULL, 0}}, true,
                                    &found, &token);
    if (status == OVSTAGE_OK) {
        status = fr_floor_watch_add(stage->floors, found, ordinal, fr_event_raise, fr_event_unref,
                                    event);
        if (status == OVSTAGE_OK)
            return status;
        status = status == OVSTAGE_ERROR_OUT_OF_RANGE
                     ? fr_error_set(status, "%u floors are watched, which is the limit",
                                    FR_FLOOR_WATCHES)
                     : fr_error_set(status, "no memory to watch a floor");
    }
    fr_event_unref(event);
    return status;
}

ovstage_api_status_t flyrail_event_close(ovstage_instance_t *instance, flyrail_event_t handle)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return status;
    fr_event *event = fr_handle_remove(stage, FR_HANDLE_EVENT, handle);
    if (!event)
        return fr_handle_refuse(stage, FR_HANDLE_EVENT, handle, "event");
    fr_floor_watches_forget(stage->floors, event);
    fr_event_unref(event);
    return OVSTAGE_OK;
}
