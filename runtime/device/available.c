#include "runtime/device/available.h"

static fr_available **fr_available_bucket(fr_devices *devices, uintptr_t event)
{
    /* Handles are addresses of objects. */
    return &devices->available[(event >> 4 ^ event >> 12) % FR_AVAILABLE_BUCKETS];
}

/* With the lock held: entries that tell nothing any more go. */
static void fr_available_sweep(fr_devices *devices, fr_available **link)
{
    while (*link) {
        fr_available *entry = *link;
        if (entry->recorded && fr_fence_is_over(entry->recorded)) {
            fr_fence_release(entry->recorded);
            entry->recorded = NULL;
        }
        if (entry->references > 0 || entry->recorded) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        fr_slabs_put(&devices->available_records, entry);
    }
}

fr_available *fr_available_get(fr_devices *devices, uintptr_t event)
{
    fr_available *fresh = fr_slabs_get(&devices->available_records);
    fr_available **bucket = fr_available_bucket(devices, event);
    fr_mutex_lock(&devices->available_lock);
    fr_available_sweep(devices, bucket);
    fr_available *found = *bucket;
    while (found && found->event != event)
        found = found->next;
    if (!found && fresh) {
        *fresh = (fr_available){.next = *bucket, .devices = devices, .event = event};
        *bucket = found = fresh;
        fresh = NULL;
    }
    if (found)
        found->references++;
    fr_mutex_unlock(&devices->available_lock);
    if (fresh)
        fr_slabs_put(&devices->available_records, fresh);
    return found;
}

void fr_available_put(fr_available *available)
{
    if (!available)
        return;
    fr_devices *devices = available->devices;
    fr_mutex_lock(&devices->available_lock);
    available->references--;
    fr_available_sweep(devices, fr_available_bucket(devices, available->event));
    fr_mutex_unlock(&devices->available_lock);
}

void fr_available_forget_all(fr_devices *devices)
{
    for (uint32_t k = 0; k < FR_AVAILABLE_BUCKETS; k++)
        fr_available_sweep(devices, &devices->available[k]);
}

/* Behind the last record; a reference, or NULL when there is none to wait for. */
static fr_fence *fr_available_before(fr_available *available)
{
    fr_mutex_lock(&available->devices->available_lock);
    fr_fence *before = available->recorded;
    if (before && fr_fence_is_over(before))
        before = NULL;
    if (before)
        fr_fence_retain(before);
    fr_mutex_unlock(&available->devices->available_lock);
    return before;
}

static void fr_available_set(fr_available *available, fr_fence *behind)
{
    fr_fence_retain(behind);
    fr_mutex_lock(&available->devices->available_lock);
    fr_fence *before = available->recorded;
    available->recorded = behind;
    fr_mutex_unlock(&available->devices->available_lock);
    fr_fence_release(before);
}

/* Into a stream that carries the op's work already, or is a gate that waits for it. The fence comes
 * first, or the next record might not come behind this one. own: as of fr_fence_record. */
static bool fr_available_record_behind(fr_available *available, fr_opened *opened,
                                       fr_device_stream stream, fr_own_stream *own,
                                       const fr_fence *before, fr_device_fault *fault)
{
    if (!fr_wait_for(opened, stream, own, before, FR_WAIT_EARLIER_RECORD, fault))
        return false;
    fr_fence *behind = fr_fence_get(opened, fault);
    if (!behind)
        return false;
#ifdef FR_MUTATE_DEVICE_EVENT_BEFORE_ITS_FENCE
    bool recorded = opened->devices->table->record_client(stream, available->event, fault) &&
                    fr_fence_record(behind, stream, own, fault);
#else
    bool recorded = fr_fence_record(behind, stream, own, fault) &&
                    opened->devices->table->record_client(stream, available->event, fault);
#endif
    if (recorded)
        fr_available_set(available, behind);
    fr_fence_release(behind);
    return recorded;
}

/* A gate, since there is always one: that all streams are busy may be why the op has failed; and
 * the next work of a lane must not wait for what another op has recorded. */
static bool fr_available_record_by_gate(fr_available *available, fr_opened *opened,
                                        const fr_device_run *run, const fr_fence *after,
                                        const fr_fence *before, fr_device_fault *fault)
{
    bool all_busy;
    fr_own_stream *gate =
        fr_streams_take(opened, FR_STREAM_GATE, available->event, &all_busy, fault);
    if (!gate)
        return false;
    const fr_fence *done = run && run->recorded ? run->done : NULL;
    bool recorded =
        fr_wait_for(opened, gate->stream, gate, done, FR_WAIT_OWN_WORK, fault) &&
        fr_wait_for(opened, gate->stream, gate, after, FR_WAIT_WORK_BEFORE, fault) &&
        fr_available_record_behind(available, opened, gate->stream, gate, before, fault);
    fr_streams_give(opened, gate);
    return recorded;
}

/* By a run that nothing has to be waited for: in its stream, which has all of the op. */
static bool fr_available_record_in_run(fr_available *available, fr_opened *opened,
                                       const fr_device_run *run, fr_device_fault *fault)
{
    if (!run->recorded) /* of a run that has failed: something may be in the stream all the same */
        return fr_available_record_behind(available, opened, run->stream, run->own, NULL, fault);
    bool recorded = fr_device_run_available(run, available->event, fault);
    if (recorded)
        fr_available_set(available, run->done);
    return recorded;
}

static bool fr_available_record_now(fr_available *available, fr_opened *opened,
                                    const fr_device_run *run, const fr_fence *after,
                                    fr_device_fault *fault)
{
    fr_fence *before = fr_available_before(available);
    bool recorded;
    if ((run && !run->own) || (after && fr_fence_is_over(after)))
        after = NULL; /* in the same stream, or nothing to wait for */
    if (run && !before && (!after || after->stream == run->own))
        recorded = fr_available_record_in_run(available, opened, run, fault);
    else if (run && !run->own)
        recorded = fr_available_record_behind(available, opened, run->stream, NULL, before, fault);
    else
        recorded = fr_available_record_by_gate(available, opened, run, after, before, fault);
    fr_fence_release(before);
    return recorded;
}

bool fr_available_record(fr_available *available, fr_opened *opened, const fr_device_run *run,
                         const fr_fence *after, fr_device_fault *fault)
{
    fr_device_entry entry;
    if (!run && !fr_opened_enter(opened, &entry, fault))
        return false;
#ifndef FR_MUTATE_DEVICE_EVENT_RECORDED_TOGETHER
    fr_mutex_lock_long(&available->recording);
#endif
    bool recorded = fr_available_record_now(available, opened, run, after, fault);
#ifndef FR_MUTATE_DEVICE_EVENT_RECORDED_TOGETHER
    fr_mutex_unlock_long(&available->recording);
#endif
    if (!recorded)
        fr_opened_note(opened, fault);
    if (!run)
        fr_opened_leave(opened, &entry);
    return recorded;
}
