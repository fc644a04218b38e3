/* Tasks: the client's own work in the graph. */
#include "runtime/api/callout.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/task_stream.h"

#include <stdio.h>

typedef struct fr_task {
    fr_task_stream stream;
    fr_stage *stage;
    flyrail_task_fn fn;
    void *user;
    const char *name;
} fr_task;

_Static_assert(sizeof(fr_task) <= FR_OP_PAYLOAD_BYTES, "fits the record");

static fr_run_result fr_task_run(fr_op *op, const fr_run_context *context)
{
    fr_task *task = fr_op_payload(op);
    if (!task->fn)
        return FR_RUN_DONE;
    fr_task_stream *stream = &task->stream;
    /* [stage.devices.task] pairs [stage.devices.publish] : all of it is there */
    fr_task_stream_open(stream, fr_load_acquire(&task->stage->devices), fr_op_id(op));
    flyrail_task_context_t given = {
        .struct_size = sizeof(given),
        .worker_index = context->worker_index,
        .instance = &task->stage->instance,
        .op_id = fr_op_client_id(op),
        .device = {kDLCPU, 0},
        .stream = 0,
    };
    if (stream->opened) {
        given.device = (DLDevice){kDLCUDA, stream->opened->place};
        given.stream = stream->handed.handle;
    }
    fr_callout callout;
    fr_callout_begin(&callout, task->stage);
    ovstage_api_status_t status = task->fn(&given, task->user);
    fr_callout_end(&callout);
    if (status != OVSTAGE_OK)
        fr_op_fail(op, status, "task %s%.64s%s answered '%s' (%u)", task->name ? "'" : "",
                   task->name ? task->name : "without a name", task->name ? "'" : "",
                   fr_error_string(status), (unsigned)status);
    return fr_task_stream_close(stream, context->graph, op);
}

static void fr_task_tell_wait(const fr_op *op, char *text, size_t text_bytes)
{
    const fr_task *task = fr_op_payload((fr_op *)(uintptr_t)op);
    (void)snprintf(text, text_bytes, "what it has put into stream %#llx of CUDA device %d",
                   (unsigned long long)task->stream.handed.handle, (int)task->stream.opened->place);
}

const fr_op_type fr_task_op_type = {
    .name = "task",
    .run = fr_task_run,
    .tell = fr_task_tell_wait,
    .is_task = true,
};

const char *fr_task_name(const fr_op *op)
{
    const fr_task *task = fr_op_payload((fr_op *)(uintptr_t)op);
    return task->name;
}

/* --- submission ------------------------------------------------------------------------------- */

typedef struct fr_task_submitting {
    fr_stage *stage;
    uint64_t ordinal;
    uint64_t floor; /* that refused it */
} fr_task_submitting;

static ovstage_api_status_t fr_task_admit(fr_submission *submission, void *user)
{
    (void)submission;
    fr_task_submitting *submitting = user;
    submitting->floor = fr_floors_accepted_base(submitting->stage->floors);
    return submitting->ordinal > submitting->floor ? OVSTAGE_OK
                                                   : OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION;
}

static ovstage_api_status_t fr_task_check(fr_stage *stage, const flyrail_task_desc_t *desc)
{
    if (!desc)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the task descriptor is NULL");
    if (desc->struct_size != sizeof(flyrail_task_desc_t))
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "struct_size %u is not that of a flyrail_task_desc_t (%zu)",
                            desc->struct_size, sizeof(flyrail_task_desc_t));
    if (!desc->deps && desc->dep_count > 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "deps is NULL, dep_count is %zu",
                            desc->dep_count);
    for (size_t i = 0; i < desc->dep_count; i++)
        if (fr_graph_op_state(stage->graph, desc->deps[i]) == FR_OP_UNKNOWN)
            return fr_error_set(OVSTAGE_ERROR_INVALID_HANDLE,
                                "deps[%zu] = 0x%llx is no operation of this instance, or released",
                                i, (unsigned long long)desc->deps[i]);
    return OVSTAGE_OK;
}

ovstage_enqueue_result_t flyrail_submit_task(ovstage_instance_t *instance,
                                             const flyrail_task_desc_t *desc)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_enqueue_result_t result = {fr_stage_enter(stage), OVSTAGE_INVALID_OP_ID};
    if (result.status != OVSTAGE_OK)
        return result;
    result.status = fr_task_check(stage, desc);
    if (result.status != OVSTAGE_OK)
        return result;
    fr_op *op = fr_graph_op_get(stage->graph, &fr_task_op_type);
    if (!op)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation");
    fr_task *task = fr_op_payload(op);
    task->stage = stage;
    task->fn = desc->fn;
    task->user = desc->user;
    task->name = desc->name;
    fr_task_submitting submitting = {stage, desc->ordinal, 0};
    fr_submission submission;
    fr_submission_begin(&submission, op);
    submission.has_ordinal = desc->ordered;
    submission.ordinal = desc->ordered ? desc->ordinal : 0;
    /* Like a delete of whole prims: in scope of every advance. */
    submission.attribute_filter = UINT64_MAX;
    /* Only read: there is no room to add. */
    submission.producer_ids = (uint64_t *)(uintptr_t)desc->deps;
    submission.producer_count = submission.producer_capacity = desc->dep_count;
    submission.fails_with_producers = true;
    submission.admit = desc->ordered ? fr_task_admit : NULL;
    submission.user = &submitting;
    result = fr_stage_submit(stage, &submission, 0);
    if (result.status == OVSTAGE_OK)
        return result;
    fr_graph_op_put(stage->graph, op);
    if (result.status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION)
        fr_error_set(result.status, "ordinal %llu is not above the write floor %llu",
                     (unsigned long long)desc->ordinal, (unsigned long long)submitting.floor);
    return result;
}
