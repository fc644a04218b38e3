#include "runtime/device/park.h"

#include "runtime/device/devices.h"

/* --- the list, with the lock held ------------------------------------------------------------- */

static void fr_stream_wait_link(fr_stream_wait *wait)
{
    fr_stream_wait_list *list = wait->list;
    wait->next = NULL;
    wait->previous = list->last;
    *(wait->previous ? &wait->previous->next : &list->first) = wait;
    list->last = wait;
    wait->waits = true;
}

static void fr_stream_wait_unlink(fr_stream_wait *wait)
{
    fr_stream_wait_list *list = wait->list;
    *(wait->previous ? &wait->previous->next : &list->first) = wait->next;
    *(wait->next ? &wait->next->previous : &list->last) = wait->previous;
    wait->waits = false;
}

static fr_stream_given fr_stream_wait_end(fr_stream_wait *wait)
{
    fr_stream_wait_unlink(wait);
    if (wait->dep)
        fr_fence_retain(wait->dep);
    return (fr_stream_given){wait, wait->dep};
}

bool fr_stream_waits_any(const fr_opened *opened, fr_stream_kind kind)
{
    return opened->waits.streams[kind].first != NULL;
}

fr_stream_given fr_stream_waits_give(fr_opened *opened, fr_own_stream *stream)
{
    static const fr_stream_kind order[] = {FR_STREAM_WORK, FR_STREAM_STALLED};
    fr_stream_given nobody = {NULL, NULL};
    if (stream->kind == FR_STREAM_GATE || stream->taken || stream->pending.first)
        return nobody;
    for (uint32_t k = 0; k < sizeof(order) / sizeof(*order); k++) {
        fr_stream_wait *wait = opened->waits.streams[order[k]].first;
        if (!wait || !fr_streams_may_be(opened, stream, wait->kind))
            continue;
        fr_stream_become(stream, wait->kind, wait->lane);
        wait->stream = stream;
        return fr_stream_wait_end(wait);
    }
    return nobody;
}

/* --- resuming --------------------------------------------------------------------------------- */

bool fr_stream_given_resumes(fr_stream_given given)
{
    if (!given.wait || !given.dep)
        return given.wait != NULL;
    /* Only its address, since it may be gone: then the call has resumed it. */
    bool forgotten = fr_fence_forget(given.dep, &given.wait->ready);
#ifdef FR_MUTATE_DEVICE_PARKED_IS_RESUMED_TWICE
    forgotten = true;
#endif
    fr_fence_release(given.dep);
    return forgotten;
}

void fr_stream_wait_resume(fr_stream_wait *wait)
{
#ifdef FR_MUTATE_DEVICE_PARKED_IS_LEFT
    (void)wait;
#else
    fr_graph_op_resume(wait->graph, wait->op);
#endif
}

static void fr_stream_wait_was_given(fr_fence_call *call)
{
    fr_stream_wait_resume((fr_stream_wait *)(void *)call);
}

static void fr_stream_wait_is_ready(fr_fence_call *call)
{
    fr_stream_wait *wait =
        (fr_stream_wait *)(void *)((unsigned char *)call - offsetof(fr_stream_wait, ready));
    fr_opened *opened = wait->opened;
    fr_mutex_lock(&opened->lock);
    wait->is_ready = true;
    if (wait->waits)
        fr_stream_wait_unlink(wait);
    fr_mutex_unlock(&opened->lock);
    fr_stream_wait_resume(wait);
}

/* The first of the list, if any; whether there was one. */
static bool fr_stream_waits_wake_first(fr_opened *opened, fr_stream_wait_list *list,
                                       bool (*may)(const fr_opened *opened, fr_stream_kind kind))
{
    fr_stream_given ended = {NULL, NULL};
    fr_mutex_lock(&opened->lock);
    if (list->first && (!may || may(opened, list->first->kind)))
        ended = fr_stream_wait_end(list->first);
    fr_mutex_unlock(&opened->lock);
    if (fr_stream_given_resumes(ended))
        fr_stream_wait_resume(ended.wait);
    return ended.wait != NULL;
}

void fr_stream_waits_wake_all(fr_opened *opened)
{
    for (uint32_t kind = 0; kind < FR_STREAM_GATE; kind++)
        while (fr_stream_waits_wake_first(opened, &opened->waits.streams[kind], NULL))
            ;
}

void fr_stream_waits_wake_room(fr_opened *opened, fr_stream_kind kind)
{
    while (fr_stream_waits_wake_first(opened, &opened->waits.room[kind], fr_staging_has_room))
#ifdef FR_MUTATE_DEVICE_ROOM_TELLS_ONE
        break;
#else
        ;
#endif
}

/* --- the op ----------------------------------------------------------------------------------- */

/* With the lock held: what it wants is there. */
static bool fr_stream_wait_is_vain(const fr_stream_wait *wait)
{
    const fr_opened *opened = wait->opened;
#ifdef FR_MUTATE_DEVICE_PARKS_IN_VAIN
    return false;
#endif
    if (wait->list == &opened->waits.room[wait->kind])
        return fr_staging_has_room(opened, wait->kind);
    return fr_streams_any_for(opened, wait->kind, wait->lane);
}

static void fr_stream_wait_park(fr_stream_wait *wait, fr_fence *dep)
{
    wait->given.run = fr_stream_wait_was_given;
    wait->ready.run = fr_stream_wait_is_ready;
#ifndef FR_MUTATE_DEVICE_PARKED_IGNORES_PRODUCERS
    if (wait->kind == FR_STREAM_STALLED && dep) {
        fr_fence_retain(dep);
        wait->dep = dep;
    }
#endif
    fr_op_park(wait->op); /* before anybody knows of it; it runs no sooner than its run returned */
    if (wait->dep && !fr_fence_when_over(wait->dep, &wait->ready)) {
        fr_graph_op_resume(wait->graph, wait->op);
        return;
    }
    fr_opened *opened = wait->opened;
    fr_mutex_lock(&opened->lock);
    bool waits = !wait->is_ready && !fr_stream_wait_is_vain(wait);
    if (waits)
        fr_stream_wait_link(wait);
    fr_mutex_unlock(&opened->lock);
    if (!waits && (!wait->dep || fr_fence_forget(wait->dep, &wait->ready)))
        fr_graph_op_resume(wait->graph, wait->op);
}

void fr_stream_park(fr_stream_wait *wait, fr_opened *opened, fr_stream_kind kind, uint64_t lane,
                    fr_fence *dep, fr_graph *graph, fr_op *op)
{
    *wait = (fr_stream_wait){.list = &opened->waits.streams[kind],
                             .opened = opened,
                             .graph = graph,
                             .op = op,
                             .lane = lane,
                             .kind = kind};
    fr_stream_wait_park(wait, dep);
}

void fr_stream_park_for_room(fr_stream_wait *wait, fr_opened *opened, fr_stream_kind kind,
                             fr_fence *dep, fr_graph *graph, fr_op *op)
{
    *wait = (fr_stream_wait){.list = &opened->waits.room[kind],
                             .opened = opened,
                             .graph = graph,
                             .op = op,
                             .kind = kind};
    fr_stream_wait_park(wait, dep);
}

/* The op goes on, or ends. */
static void fr_stream_wait_is_over(fr_stream_wait *wait)
{
    fr_fence_release(wait->dep);
    wait->dep = NULL;
}

fr_own_stream *fr_stream_wait_take(fr_stream_wait *wait, const fr_opened *opened)
{
    if (wait->stream && wait->opened != opened) /* the column has come to lie elsewhere */
        fr_stream_wait_let_go(wait);
    fr_own_stream *stream = wait->stream;
    wait->stream = NULL;
    fr_stream_wait_is_over(wait);
    return stream;
}

void fr_stream_wait_let_go(fr_stream_wait *wait)
{
    fr_own_stream *stream = wait->stream;
    wait->stream = NULL;
    fr_stream_wait_is_over(wait);
#ifdef FR_MUTATE_DEVICE_DROPPED_KEEPS_STREAM
    stream = NULL;
#endif
    if (stream)
        fr_streams_give(wait->opened, stream);
}

/* --- for work --------------------------------------------------------------------------------- */

static void fr_fence_wait_is_over(fr_fence_call *call)
{
    const fr_fence_wait *wait = (const fr_fence_wait *)(const void *)call;
#ifdef FR_MUTATE_DEVICE_AWAITED_IS_LEFT
    (void)wait;
#else
    fr_graph_op_resume(wait->graph, wait->op);
#endif
}

void fr_fence_park(fr_fence_wait *wait, fr_fence *fence, fr_graph *graph, fr_op *op)
{
    *wait = (fr_fence_wait){.call.run = fr_fence_wait_is_over, .graph = graph, .op = op};
    fr_op_park(op); /* before anybody can resume it */
    if (!fr_fence_when_over(fence, &wait->call))
        fr_graph_op_resume(graph, op);
}
