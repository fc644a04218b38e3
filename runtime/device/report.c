#include "runtime/device/report.h"

#include <stdio.h>

#include "runtime/device/devices.h"

typedef struct fr_device_report {
    fr_fence_call call; /* first */
    fr_graph *graph;
    fr_op *op;
    fr_fence *fence;
    fr_device_hold *holds; /* of a report */
    fr_device_told told;
    void (*let_go)(void *held); /* of a wait; may be NULL */
    void *held;
} fr_device_report;

_Static_assert(sizeof(fr_device_report) <= FR_OP_PAYLOAD_BYTES, "fits the record");

void fr_device_tell(const fr_device_told *told, char *text, size_t text_bytes)
{
    char stream[48] = "of the stage's own", sync[96] = "";
    if (told->stream != 0)
        (void)snprintf(stream, sizeof(stream), "%#llx", (unsigned long long)told->stream);
    if (told->sync.wait_event != 0 || told->sync.stream != 0)
        (void)snprintf(sync, sizeof(sync), ", behind cuda_sync.wait_event %#llx and stream %#llx",
                       (unsigned long long)told->sync.wait_event,
                       (unsigned long long)told->sync.stream);
    (void)snprintf(text, text_bytes, "what CUDA device %d has to do for %s in stream %s%s",
                   (int)told->place, told->what, stream, sync);
}

static void fr_device_report_judge(fr_op *op, const fr_fence *fence)
{
    if (fr_fence_look(fence) == FR_FENCE_LOST)
        fr_op_fail(op, OVSTAGE_ERROR_OP_FAILED,
                   "CUDA device %d failed before its work was done: %s", (int)fence->opened->place,
                   fr_opened_death(fence->opened));
}

static void fr_device_report_over(fr_fence_call *call)
{
    fr_device_report *report = (fr_device_report *)(void *)call;
    fr_device_report_judge(report->op, report->fence);
    fr_graph_op_finish(report->graph, report->op, NULL);
}

static void fr_device_report_resume(fr_fence_call *call)
{
    const fr_device_report *report = (const fr_device_report *)(const void *)call;
    fr_graph_op_resume(report->graph, report->op);
}

static fr_run_result fr_device_report_park(fr_device_report *report, fr_fence *fence)
{
    fr_op *op = report->op;
    report->call = (fr_fence_call){.run = fr_device_report_resume};
    fr_op_park(op); /* before anybody can resume it */
    if (!fr_fence_when_over(fence, &report->call))
        fr_graph_op_resume(report->graph, op);
    return FR_RUN_PARKED;
}

/* One that is not over. What is held is mostly over before what is reported, but not where a
 * stream could not be made to wait for it. */
static fr_fence *fr_device_report_pending(const fr_device_report *report)
{
    if (!fr_fence_is_over(report->fence))
        return report->fence;
    for (const fr_device_hold *hold = report->holds; hold; hold = hold->next)
        if (!fr_fence_is_over(hold->fence))
            return hold->fence;
    return NULL;
}

static fr_run_result fr_device_report_run(fr_op *op, const fr_run_context *context)
{
    fr_device_report *report = fr_op_payload(op);
    if (!report->fence)
        return FR_RUN_DONE; /* its op put nothing into a stream */
    report->graph = context->graph;
    report->op = op;
    fr_fence *pending = fr_device_report_pending(report);
#ifdef FR_MUTATE_DEVICE_REPORT_EARLY
    pending = NULL;
#endif
    if (pending && report->holds)
        return fr_device_report_park(report, pending);
    report->call = (fr_fence_call){.run = fr_device_report_over};
    if (pending && fr_fence_when_over(pending, &report->call))
        return FR_RUN_SPLIT; /* it may be finished by now */
    fr_device_report_judge(op, report->fence);
    return FR_RUN_DONE;
}

/* At the end of an instance devices may still read what is held. */
static void fr_device_report_let_go(fr_device_report *report)
{
    while (report->holds) {
        fr_device_hold *hold = report->holds;
        fr_fence *fence = hold->fence;
        report->holds = hold->next;
        if (!fr_fence_when_over(fence, &hold->call))
            hold->call.run(&hold->call);
        fr_fence_release(fence);
    }
}

static void fr_device_report_drop(fr_op *op)
{
    fr_device_report *report = fr_op_payload(op);
    fr_device_report_let_go(report);
    fr_fence_release(report->fence);
}

static void fr_device_report_tell_wait(const fr_op *op, char *text, size_t text_bytes)
{
    /* As fr_write_payload: it is only read. */
    union {
        const fr_op *given;
        fr_op *same;
    } record = {op};
    const fr_device_report *report = fr_op_payload(record.same);
    fr_device_tell(&report->told, text, text_bytes);
}

static const fr_op_type fr_device_report_type = {
    .name = "report",
    .run = fr_device_report_run,
    .drop = fr_device_report_drop,
    .tell = fr_device_report_tell_wait,
};

/* --- waits ------------------------------------------------------------------------------------ */

static void fr_device_wait_over(fr_fence_call *call)
{
    fr_device_report *wait = (fr_device_report *)(void *)call;
    fr_graph_op_finish(wait->graph, wait->op, NULL);
}

static fr_run_result fr_device_wait_run(fr_op *op, const fr_run_context *context)
{
    fr_device_report *wait = fr_op_payload(op);
    wait->call = (fr_fence_call){.run = fr_device_wait_over};
    wait->graph = context->graph;
    wait->op = op;
#ifndef FR_MUTATE_DEVICE_HOST_SOURCE_EARLY
    if (fr_fence_when_over(wait->fence, &wait->call))
        return FR_RUN_SPLIT; /* it may be finished by now */
#endif
    return FR_RUN_DONE;
}

/* Without having run only when the instance is destroyed: then who waits is dropped next, and with
 * it memory that the device may still write. */
static void fr_device_wait_drop(fr_op *op)
{
    fr_device_report *wait = fr_op_payload(op);
#if !defined(FR_MUTATE_DEVICE_DROPPED_LETS_GO) && !defined(FR_MUTATE_DEVICE_HOST_SOURCE_EARLY)
    fr_devices_wait_for(wait->fence->opened->devices, wait->fence);
#endif
    fr_fence_release(wait->fence);
    if (wait->let_go)
        wait->let_go(wait->held);
}

static const fr_op_type fr_device_wait_type = {
    .name = "wait for a device",
    .run = fr_device_wait_run,
    .drop = fr_device_wait_drop,
    .tell = fr_device_report_tell_wait,
};

fr_op *fr_device_wait_get(fr_graph *graph, fr_fence *fence, const fr_device_told *told,
                          void (*let_go)(void *held), void *held)
{
    fr_op *op = fr_graph_op_get(graph, &fr_device_wait_type);
    if (!op)
        return NULL;
    fr_device_report *wait = fr_op_payload(op);
    *wait = (fr_device_report){.fence = fence, .told = *told, .let_go = let_go, .held = held};
    fr_fence_retain(fence);
    return op;
}

void fr_device_wait_put(fr_graph *graph, fr_op *wait)
{
    fr_device_report *payload = fr_op_payload(wait);
    fr_fence_release(payload->fence);
    if (payload->let_go)
        payload->let_go(payload->held);
    fr_graph_op_put(graph, wait);
}

/* --- reports ---------------------------------------------------------------------------------- */

fr_op *fr_device_report_get(fr_graph *graph)
{
    fr_op *op = fr_graph_op_get(graph, &fr_device_report_type);
    if (op)
        *(fr_device_report *)fr_op_payload(op) = (fr_device_report){.fence = NULL};
    return op;
}

void fr_device_report_put(fr_graph *graph, fr_op *report)
{
    fr_device_report_drop(report);
    fr_graph_op_put(graph, report);
}

void fr_device_report_tell(fr_op *report, fr_fence *fence, const fr_device_told *told)
{
    fr_device_report *payload = fr_op_payload(report);
    fr_fence_retain(fence);
    fr_fence_release(payload->fence);
    payload->fence = fence;
    payload->told = *told;
}

void fr_device_report_hold(fr_op *report, fr_device_hold *hold, fr_fence *fence)
{
    fr_device_report *payload = fr_op_payload(report);
    fr_fence_retain(fence);
    hold->fence = fence;
    hold->next = payload->holds;
    payload->holds = hold;
}
