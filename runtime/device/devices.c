#include "runtime/device/devices.h"

#include "runtime/device/available.h"
#include "runtime/device/placed.h"
#include "scheduler/sieve.h"

#include <stddef.h>
#include <stdio.h>

#define FR_PLACED_PER_SLAB 32
#define FR_AVAILABLE_PER_SLAB 64
/* A look takes a microsecond or so; what is being waited for takes more. */
#define FR_DEVICES_DRAIN_PAUSE_NS UINT64_C(50000)

void fr_device_fault_memory(fr_device_fault *fault, size_t size_bytes)
{
    fault->kind = FR_DEVICE_MEMORY;
    fault->code = 0;
    (void)snprintf(fault->text, sizeof(fault->text), "no memory for %zu bytes", size_bytes);
}

/* --- life ------------------------------------------------------------------------------------- */

static bool fr_devices_watch(void *user)
{
    return fr_devices_look(user);
}

fr_devices *fr_devices_create(const fr_allocator *allocator, const fr_device_table *table,
                              fr_pool *pool)
{
    fr_devices *devices = fr_memory_allocate_zero(allocator, sizeof(*devices), 16);
    if (!devices)
        return NULL;
    devices->allocator = allocator;
    devices->table = table;
    devices->pool = pool;
    fr_device_fault none;
    devices->count = table->count(&none);
    if (devices->count > FR_DEVICES_MAX)
        devices->count = FR_DEVICES_MAX;
    fr_slabs_open(&devices->placed, allocator, sizeof(fr_placed), FR_PLACED_PER_SLAB);
    fr_slabs_open(&devices->available_records, allocator, sizeof(fr_available),
                  FR_AVAILABLE_PER_SLAB);
    if (pool) /* last: from then on others look */
        fr_watch_open(&devices->watch, pool, fr_devices_watch, devices);
    return devices;
}

static void fr_opened_close(fr_opened *opened)
{
    fr_devices *devices = opened->devices;
    fr_device_fault fault;
    fr_device_entry entry;
    /* Of a device that cannot be entered nothing can be given back but what is the host's: its
     * calls then do nothing. Once more, since only one call may have failed. */
    bool entered = false;
    for (int turn = 0; turn < 2 && !entered; turn++)
        entered = devices->table->enter(opened->device, &entry, &fault);
    fr_blocks_destroy(opened);
    fr_staging_destroy(opened);
    fr_streams_destroy(opened);
    fr_fences_destroy(opened);
    if (entered)
        devices->table->leave(&entry);
    devices->table->close(opened->device);
    fr_memory_release(devices->allocator, opened, sizeof(*opened));
}

void fr_devices_destroy(fr_devices *devices)
{
    if (!devices)
        return;
    if (devices->pool)
        fr_watch_close(&devices->watch);
    (void)fr_placed_bury(devices);
    fr_available_forget_all(devices);
    for (uint32_t k = 0; k < devices->count; k++) {
        fr_opened *opened = fr_load_relaxed(&devices->opened[k]);
        if (opened)
            fr_opened_close(opened);
    }
    fr_slabs_close(&devices->placed, NULL);
    fr_slabs_close(&devices->available_records, NULL); /* nothing refers to them */
    fr_memory_release(devices->allocator, devices, sizeof(*devices));
}

/* --- opening ---------------------------------------------------------------------------------- */

static fr_opened *fr_opened_make(fr_devices *devices, uint32_t index, fr_device_fault *fault)
{
    fr_opened *opened = fr_memory_allocate_zero(devices->allocator, sizeof(*opened), 16);
    if (!opened) {
        fr_device_fault_memory(fault, sizeof(*opened));
        return NULL;
    }
    if (!devices->table->open(index, &opened->device, fault)) {
        fr_memory_release(devices->allocator, opened, sizeof(*opened));
        return NULL;
    }
    opened->devices = devices;
    opened->place = (int32_t)index;
    fr_fences_init(opened, devices->allocator);
    fr_streams_init(opened, devices->allocator);
    fr_blocks_init(opened, devices->allocator);
    fr_staging_init(opened, devices->allocator);
    return opened;
}

fr_opened *fr_devices_open(fr_devices *devices, int32_t place, fr_device_fault *fault)
{
    if (place < 0 || (uint32_t)place >= devices->count) {
        fault->kind = FR_DEVICE_ABSENT;
        fault->code = 0;
        (void)snprintf(fault->text, sizeof(fault->text), "device %d of %u", (int)place,
                       devices->count);
        return NULL;
    }
    /* [devices.opened.read] pairs [devices.opened.publish] : all of it is there */
    fr_opened *opened = fr_load_acquire(&devices->opened[place]);
    if (opened)
        return opened;
    fr_mutex_lock_long(&devices->opening);
    opened = fr_load_relaxed(&devices->opened[place]);
    if (!opened)
        opened = fr_opened_make(devices, (uint32_t)place, fault);
    /* [devices.opened.publish] pairs [devices.opened.read], [devices.opened.look],
     * [devices.opened.kept] : see there */
    fr_store_release(&devices->opened[place], opened);
    if (opened && !fr_load_relaxed(&devices->first))
        /* [devices.first.publish] pairs [devices.first.read] : all of it is there */
        fr_store_release(&devices->first, opened);
    fr_mutex_unlock_long(&devices->opening);
    return opened;
}

uint64_t fr_devices_kept_bytes(const fr_devices *devices)
{
    uint64_t sum_bytes = 0;
    for (uint32_t k = 0; k < devices->count; k++) {
        /* [devices.opened.kept] pairs [devices.opened.publish] : see there */
        const fr_opened *opened = fr_load_acquire(&devices->opened[k]);
        if (opened)
            sum_bytes += devices->table->kept_bytes(opened->device);
    }
    return sum_bytes;
}

/* --- calls of the table ----------------------------------------------------------------------- */

bool fr_opened_enter(fr_opened *opened, fr_device_entry *entry, fr_device_fault *fault)
{
    if (fr_opened_is_dead(opened)) {
        *fault = opened->death;
        return false;
    }
    if (opened->devices->table->enter(opened->device, entry, fault))
        return true;
    fr_opened_note(opened, fault);
    return false;
}

void fr_opened_leave(fr_opened *opened, fr_device_entry *entry)
{
    opened->devices->table->leave(entry);
}

void fr_opened_note(fr_opened *opened, const fr_device_fault *fault)
{
    if (fault->kind != FR_DEVICE_DEAD || fr_opened_is_dead(opened))
        return;
    fr_mutex_lock(&opened->lock);
    if (!fr_load_relaxed(&opened->dead))
        opened->death = *fault;
    /* [opened.dead.set] pairs [opened.dead.look] : see there */
    fr_store_release(&opened->dead, true);
    fr_mutex_unlock(&opened->lock);
}

void fr_opened_give_up(fr_opened *opened, const fr_device_fault *fault)
{
    fr_device_fault given_up = {.kind = FR_DEVICE_DEAD, .code = fault->code};
    (void)snprintf(given_up.text, sizeof(given_up.text),
                   "given up, since its work cannot be followed: %.110s", fault->text);
    fr_store_relaxed(&opened->given_up, true);
    fr_opened_note(opened, &given_up);
}

/* --- looking ---------------------------------------------------------------------------------- */

static uint64_t fr_opened_look_at_all(fr_opened *opened, fr_fence_call **due)
{
    fr_streams *streams = &opened->streams;
    fr_mutex_lock(&opened->lock);
    fr_own_stream *lists[3] = {streams->work, streams->gates,
                               fr_load_relaxed(&opened->blocks.has_stream) ? &opened->blocks.stream
                                                                           : NULL};
    fr_mutex_unlock(&opened->lock);
    uint64_t over = 0;
    /* Streams come to the front of their lists, and never go. */
    for (uint32_t k = 0; k < 3; k++)
        for (fr_own_stream *stream = lists[k]; stream; stream = stream->next) {
            uint64_t ended = fr_fence_queue_look(opened, &stream->pending, false, due);
            if (ended > 0 && k == 0)
                fr_streams_look(opened, stream, due);
            over += ended;
        }
    return over + fr_fence_queue_look(opened, &opened->fences.clients, true, due);
}

/* --- what follows ----------------------------------------------------------------------------- */

/* What is due is not under way any more: nobody has to look for it, but destroy waits for it. */
static void fr_devices_begin_due(fr_devices *devices)
{
#ifdef FR_MUTATE_DEVICE_DUE_IS_WATCHED
    fr_devices_begin(devices);
#else
    (void)fr_add_relaxed(&devices->pending, 1);
#endif
}

static void fr_devices_end_due(fr_devices *devices)
{
#ifdef FR_MUTATE_DEVICE_DUE_IS_WATCHED
    fr_devices_end(devices, 1);
#else
    /* [devices.pending.ran] pairs [devices.pending.drained] : it has run */
    (void)fr_sub_release(&devices->pending, 1);
#endif
}

bool fr_devices_run_due(fr_devices *devices)
{
    /* [devices.due.take] pairs [devices.due.push] : what the call is about */
    fr_fence_call *due =
        fr_load_relaxed(&devices->due) ? fr_exchange_acquire(&devices->due, NULL) : NULL;
    bool any = due != NULL;
    while (due) {
        fr_fence_call *next = due->next;
        due->run(due);
        due = next;
        fr_devices_end_due(devices);
    }
    return any;
}

static void fr_devices_due_run(fr_runnable *token, fr_worker *worker)
{
    fr_devices *devices =
        (fr_devices *)(void *)((unsigned char *)token - offsetof(fr_devices, due_token));
    (void)worker;
    bool sieves = fr_sieve_is_on();
    if (sieves && !fr_load_relaxed(&devices->is_draining)) {
        fr_sieve_keep(token); /* no client code runs there */
        return;
    }
    /* [devices.due.out] pairs [devices.due.claim] : cleared before the list is looked at, so that
     * what is pushed from here on has a token of its own, and what was pushed by one that found
     * this one out is seen; the fence that it counts as keeps `devices` */
    (void)fr_exchange_acq_rel(&devices->due_is_out, false);
    if (!sieves) /* else the draining thread runs what is due */
        (void)fr_devices_run_due(devices);
    fr_devices_end_due(devices);
}

static void fr_devices_push_due(fr_devices *devices, fr_fence_call *call)
{
    fr_devices_begin_due(devices);
    fr_fence_call *first = fr_load_relaxed(&devices->due);
    do
        call->next = first;
    /* [devices.due.push] pairs [devices.due.take] : see there */
    while (!fr_cas_release(&devices->due, &first, call));
    if (!devices->pool || fr_pool_worker_count(devices->pool) == 0)
        return; /* whoever settles next */
    if (fr_load_relaxed(&devices->is_draining))
        return; /* the draining thread, which may have the only worker */
    /* [devices.due.claim] pairs [devices.due.out] : the token is not in use; or who clears it sees
     * the call */
    if (fr_exchange_acq_rel(&devices->due_is_out, true))
        return;
    fr_devices_begin_due(devices);
    devices->due_token.run = fr_devices_due_run;
    devices->due_token.order = 0;
    fr_pool_push(devices->pool, &devices->due_token);
}

void fr_devices_begin(fr_devices *devices)
{
    (void)fr_add_relaxed(&devices->pending, 1);
    if (devices->pool)
        fr_watch_begin(&devices->watch);
}

void fr_devices_end(fr_devices *devices, uint64_t count)
{
    for (uint64_t k = 0; devices->pool && k < count; k++)
        fr_watch_end(&devices->watch);
    /* [devices.pending.over] pairs [devices.pending.drained] : what followed from it is done */
    (void)fr_sub_release(&devices->pending, count);
}

/* Whether anything was over. */
static bool fr_opened_look(fr_opened *opened)
{
    bool idle = false;
    fr_fence_call *due = NULL;
    fr_device_entry entry;
    fr_device_fault fault;
    /* [opened.looking.begin] pairs [opened.looking.end] : the queues as the last look left them */
    if (fr_load_relaxed(&opened->looking) || !fr_cas_acquire(&opened->looking, &idle, true))
        return false;
    /* Also one that was given up. One that cannot be entered any more still says so of each event.
     */
    bool entered = opened->devices->table->enter(opened->device, &entry, &fault);
    if (!entered)
        fr_opened_note(opened, &fault);
    uint64_t over = fr_opened_look_at_all(opened, &due);
    if (entered)
        fr_opened_leave(opened, &entry);
    /* [opened.looking.end] pairs [opened.looking.begin] : see there */
    fr_store_release(&opened->looking, false);
    while (due) {
        fr_fence_call *next = due->next;
        if (due->calls_client)
            fr_devices_push_due(opened->devices, due);
        else
            due->run(due);
        due = next;
    }
    if (over > 0)
        fr_devices_end(opened->devices, over);
    return over > 0;
}

bool fr_devices_look(fr_devices *devices)
{
    bool any = false;
    for (uint32_t k = 0; k < devices->count && fr_devices_busy(devices); k++) {
        /* [devices.opened.look] pairs [devices.opened.publish] : see there */
        fr_opened *opened = fr_load_acquire(&devices->opened[k]);
        if (opened)
            any = fr_opened_look(opened) || any;
    }
    (void)fr_placed_bury(devices);
    return any;
}

void fr_devices_settle(fr_devices *devices)
{
    (void)fr_devices_look(devices);
    (void)fr_devices_run_due(devices);
}

void fr_devices_wait_for(fr_devices *devices, const fr_fence *fence)
{
    _Atomic uint32_t nobody = 0;
    while (!fr_fence_is_over(fence))
        if (!fr_devices_look(devices))
            (void)fr_os_current->futex_wait(&nobody, 0, FR_DEVICES_DRAIN_PAUSE_NS);
}

void fr_devices_drain(fr_devices *devices)
{
    _Atomic uint32_t nobody = 0;
    fr_store_relaxed(&devices->is_draining, true);
    /* [devices.pending.drained] pairs [devices.pending.over], [devices.pending.ran] : see there */
    while (fr_load_acquire(&devices->pending) > 0) {
        bool any = fr_devices_look(devices);
        any = fr_devices_run_due(devices) || any;
        /* The token may lie with a worker that is busy for long, or with this one. */
        if (fr_load_relaxed(&devices->due_is_out))
            (void)fr_sieve_pool(devices->pool);
        if (!any)
            (void)fr_os_current->futex_wait(&nobody, 0, FR_DEVICES_DRAIN_PAUSE_NS);
    }
    (void)fr_placed_bury(devices);
}
