#include "runtime/device/run.h"

#include <stdio.h>

static bool fr_device_run_take_stream(fr_device_run *run, uintptr_t client_stream, uint64_t lane,
                                      fr_device_fault *fault)
{
    fr_opened *opened = run->opened;
    bool all_busy;
    run->own = NULL;
    if (client_stream != 0)
        return opened->devices->table->stream_of_client(opened->device, client_stream, &run->stream,
                                                        fault);
    run->own = fr_streams_take(opened, FR_STREAM_WORK, lane, &all_busy, fault);
    if (run->own) {
        run->stream = run->own->stream;
        return true;
    }
    if (all_busy) {
        fault->kind = FR_DEVICE_MEMORY;
        fault->code = 0;
        (void)snprintf(fault->text, sizeof(fault->text),
                       "all %u streams have work of other ordinals that is not done",
                       FR_STREAMS_MAX);
    }
    return false;
}

bool fr_device_run_begin(fr_device_run *run, fr_opened *opened, uintptr_t client_stream,
                         uint64_t lane, const fr_fence *dep, fr_device_fault *fault)
{
    *run = (fr_device_run){.opened = opened};
    if (!fr_opened_enter(opened, &run->entry, fault))
        return false;
    run->done = fr_fence_get(opened, fault);
    bool begun = run->done && fr_device_run_take_stream(run, client_stream, lane, fault) &&
                 fr_wait_for(opened, run->stream, run->own, dep, FR_WAIT_PRODUCER, fault);
    if (!begun) {
        fr_opened_note(opened, fault);
        fr_device_run_end(run);
    }
    return begun;
}

bool fr_device_run_write(fr_device_run *run, fr_placed *to, uint64_t from, size_t size_bytes,
                         fr_device_fault *fault)
{
    fr_opened *opened = run->opened;
    fr_address target = {opened->place, to->address}, source = {opened->place, from};
    if (!fr_wait_to_write(opened, run->stream, run->own, to, fault))
        return false;
    if (opened->devices->table->copy(run->stream, target, source, size_bytes, fault))
        return true;
    fr_opened_note(opened, fault);
    return false;
}

bool fr_device_run_record(fr_device_run *run, fr_placed *to, fr_device_fault *fault)
{
    /* Once more, since without a fence nobody knows when the memory may be used again. */
    if (!fr_fence_record(run->done, run->stream, run->own, fault) &&
        !fr_fence_record(run->done, run->stream, run->own, fault))
        return false;
    fr_placed_enter_write(to, run->done);
    return true;
}

bool fr_device_run_available(const fr_device_run *run, uintptr_t event, fr_device_fault *fault)
{
    fr_opened *opened = run->opened;
    if (opened->devices->table->record_client(run->stream, event, fault))
        return true;
    fr_opened_note(opened, fault);
    return false;
}

void fr_device_run_end(fr_device_run *run)
{
    if (run->own)
        fr_streams_give(run->opened, run->own);
    fr_fence_release(run->done);
    fr_opened_leave(run->opened, &run->entry);
}
