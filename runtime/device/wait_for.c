#include "runtime/device/wait_for.h"

static bool fr_wait_is_left_out(fr_wait_reason reason)
{
#ifdef FR_MUTATE_DEVICE_NO_WAIT
    return reason == FR_MUTATE_DEVICE_NO_WAIT;
#else
    (void)reason;
    return false;
#endif
}

bool fr_wait_for(fr_opened *opened, fr_device_stream stream, fr_own_stream *own,
                 const fr_fence *fence, fr_wait_reason reason, fr_device_fault *fault)
{
    if (!fence || fr_fence_look(fence) == FR_FENCE_DONE || fr_wait_is_left_out(reason))
        return true;
    /* What one of our streams has recorded comes before what it gets next. A client's handle says
     * no such thing: it may be another stream by now. */
    if (own && fence->stream == own)
        return true;
    if (fr_fence_look(fence) == FR_FENCE_LOST) { /* it may never have been recorded */
        *fault = fence->opened->death;
        fault->kind = fence->opened == opened ? FR_DEVICE_DEAD : FR_DEVICE_FAILED;
        return false;
    }
    if (!opened->devices->table->wait(stream, fence->event, fault)) {
        fr_opened_note(opened, fault);
        return false;
    }
    if (own)
        fr_streams_turn(opened, own, fence);
    return true;
}

bool fr_wait_to_read(fr_opened *opened, fr_device_stream stream, fr_own_stream *own,
                     fr_placed *placed, fr_device_fault *fault)
{
    fr_fence *written = fr_placed_written(placed);
    fr_wait_reason reason = FR_WAIT_SOURCE;
    if (placed->opened != opened)
        reason = FR_WAIT_PEER;
    else if (placed->is_replica)
        reason = FR_WAIT_REPLICA;
    bool waits = fr_wait_for(opened, stream, own, written, reason, fault);
    fr_fence_release(written);
    return waits;
}

bool fr_wait_to_write(fr_opened *opened, fr_device_stream stream, fr_own_stream *own,
                      fr_placed *placed, fr_device_fault *fault)
{
    fr_fence *written = fr_placed_written(placed), *reader;
    bool waits = fr_wait_for(opened, stream, own, written, FR_WAIT_TARGET, fault);
    fr_fence_release(written);
    uint32_t index = 0;
    while (waits && (reader = fr_placed_next_reader(placed, &index)) != NULL) {
        waits = fr_wait_for(opened, stream, own, reader, FR_WAIT_READER, fault);
        fr_fence_release(reader);
    }
    return waits;
}
