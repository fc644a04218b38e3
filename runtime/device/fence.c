#include "runtime/device/fence.h"

#include "runtime/device/devices.h"

#define FR_FENCES_PER_SLAB 32

void fr_fences_init(fr_opened *opened, const fr_allocator *allocator)
{
    fr_slabs_open(&opened->fences.records, allocator, sizeof(fr_fence), FR_FENCES_PER_SLAB);
}

void fr_fences_destroy(fr_opened *opened)
{
    const fr_device_table *table = opened->devices->table;
    for (fr_fence *fence = opened->fences.free; fence; fence = fence->next)
        table->event_end(fence->event);
    fr_slabs_close(&opened->fences.records, NULL);
}

/* --- records ---------------------------------------------------------------------------------- */

static fr_fence *fr_fence_make(fr_opened *opened, fr_device_fault *fault)
{
    fr_fence *fence = fr_slabs_get(&opened->fences.records);
    if (!fence) {
        fr_device_fault_memory(fault, sizeof(*fence));
        return NULL;
    }
    if (opened->devices->table->event_make(opened->device, &fence->event, fault))
        return fence;
    fr_opened_note(opened, fault);
    fr_slabs_put(&opened->fences.records, fence);
    return NULL;
}

fr_fence *fr_fence_get(fr_opened *opened, fr_device_fault *fault)
{
    fr_mutex_lock(&opened->lock);
    fr_fence *fence = opened->fences.free;
    if (fence)
        opened->fences.free = fence->next;
    fr_mutex_unlock(&opened->lock);
    if (!fence)
        fence = fr_fence_make(opened, fault);
    if (!fence)
        return NULL;
    fence->next = NULL;
    fence->opened = opened;
    fence->stream = NULL;
    fence->calls = NULL;
    fence->code = 0;
    fr_store_relaxed(&fence->state, FR_FENCE_PENDING);
    fr_store_relaxed(&fence->references, 1);
    return fence;
}

void fr_fence_retain(fr_fence *fence)
{
    (void)fr_add_relaxed(&fence->references, 1);
}

void fr_fence_release(fr_fence *fence)
{
    /* [fence.drop] pairs [fence.drop] : what others did with the record comes before its next use
     */
    if (!fence || fr_sub_acq_rel(&fence->references, 1) != 1)
        return;
    fr_opened *opened = fence->opened;
    fr_mutex_lock(&opened->lock);
    fence->next = opened->fences.free;
    opened->fences.free = fence;
    fr_mutex_unlock(&opened->lock);
}

/* --- record ----------------------------------------------------------------------------------- */

bool fr_fence_record(fr_fence *fence, fr_device_stream stream, fr_own_stream *own,
                     fr_device_fault *fault)
{
    fr_opened *opened = fence->opened;
    fr_devices_begin(opened->devices);
    if (!opened->devices->table->record(stream, fence->event, fault)) {
        fr_opened_note(opened, fault);
        fr_devices_end(opened->devices, 1);
        return false;
    }
    fence->stream = own;
    fr_fence_retain(fence); /* the queue's */
    fr_fence_queue *queue = own ? &own->pending : &opened->fences.clients;
    fr_mutex_lock(&opened->lock);
    if (queue->last)
        queue->last->next = fence;
    else
        queue->first = fence;
    queue->last = fence;
    fr_mutex_unlock(&opened->lock);
    return true;
}

void fr_fence_lose(fr_fence *fence, const fr_device_fault *fault)
{
    fr_opened *opened = fence->opened;
    fr_mutex_lock(&opened->lock);
    fence->code = fault->code;
    /* [fence.state.lose] pairs [fence.state.look] : the code is there */
    fr_store_release(&fence->state, FR_FENCE_LOST);
    fr_mutex_unlock(&opened->lock);
}

bool fr_fence_when_over(fr_fence *fence, fr_fence_call *call)
{
    fr_opened *opened = fence->opened;
    fr_mutex_lock(&opened->lock);
    bool pending = fr_load_relaxed(&fence->state) == FR_FENCE_PENDING; /* changes under the lock */
    if (pending) {
        call->next = fence->calls;
        fence->calls = call;
    }
    fr_mutex_unlock(&opened->lock);
    return pending;
}

bool fr_fence_forget(fr_fence *fence, const fr_fence_call *call)
{
    fr_opened *opened = fence->opened;
    fr_mutex_lock(&opened->lock);
    fr_fence_call **link = &fence->calls;
    while (*link && *link != call)
        link = &(*link)->next;
    bool found = *link != NULL;
    if (found)
        *link = call->next;
    fr_mutex_unlock(&opened->lock);
    return found;
}

/* --- looking ---------------------------------------------------------------------------------- */

/* Takes the fence out of its queue, whose entry before it is `before`, or NULL. */
static void fr_fence_over(fr_fence_queue *queue, fr_fence *before, fr_fence *fence,
                          fr_fence_state state, int32_t code, fr_fence_call **due)
{
    fr_opened *opened = fence->opened;
    fr_mutex_lock(&opened->lock);
    if (before)
        before->next = fence->next;
    else
        queue->first = fence->next;
    if (queue->last == fence)
        queue->last = before;
    fence->next = NULL;
    fence->code = code;
    /* [fence.state.over] pairs [fence.state.look] : what the device did comes before */
    fr_store_release(&fence->state, (uint32_t)state);
    fr_fence_call *calls = fence->calls;
    fence->calls = NULL;
    fr_mutex_unlock(&opened->lock);
    while (calls) {
        fr_fence_call *next = calls->next;
        calls->next = *due;
        *due = calls;
        calls = next;
    }
    fr_fence_release(fence);
}

static fr_fence *fr_fence_queue_next(fr_opened *opened, const fr_fence_queue *queue,
                                     const fr_fence *before)
{
    fr_mutex_lock(&opened->lock);
    fr_fence *fence = before ? before->next : queue->first;
    fr_mutex_unlock(&opened->lock);
    return fence;
}

uint64_t fr_fence_queue_look(fr_opened *opened, fr_fence_queue *queue, bool each,
                             fr_fence_call **due)
{
    fr_fence *before = NULL, *fence;
    uint64_t over = 0;
    /* Nobody else takes fences out: those in the queue stay. */
    while ((fence = fr_fence_queue_next(opened, queue, before)) != NULL) {
        fr_device_fault fault = {.code = 0};
        fr_device_event_state state = opened->devices->table->look(fence->event, &fault);
        if (state == FR_EVENT_PENDING) {
            if (!each)
                break;
            before = fence;
            continue;
        }
        if (state == FR_EVENT_LOST)
            fr_opened_note(opened, &fault);
        fr_fence_over(queue, before, fence, state == FR_EVENT_DONE ? FR_FENCE_DONE : FR_FENCE_LOST,
                      fault.code, due);
        over++;
    }
    return over;
}
