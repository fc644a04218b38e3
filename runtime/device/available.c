#include "runtime/device/available.h"

bool fr_available_record_alone(fr_opened *opened, uintptr_t event, fr_device_fault *fault)
{
    const fr_device_table *table = opened->devices->table;
    fr_device_entry entry;
    bool all_busy;
    if (!fr_opened_enter(opened, &entry, fault))
        return false;
    /* A gate, since there is always one: that all streams are busy may be why the op has failed. No
     * lane is told by this number. */
    fr_own_stream *gate = fr_streams_take(opened, FR_STREAM_GATE, UINT64_MAX, &all_busy, fault);
    bool recorded = gate && table->record_client(gate->stream, event, fault);
    if (gate)
        fr_streams_give(opened, gate);
    if (!recorded)
        fr_opened_note(opened, fault);
    fr_opened_leave(opened, &entry);
    return recorded;
}
