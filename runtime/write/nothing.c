#include "runtime/write/nothing.h"

#include "runtime/api/placement.h"

ovstage_api_status_t fr_nothing_open(fr_nothing *nothing, fr_opened *opened, uintptr_t stream,
                                     uintptr_t event,
                                     bool (*capture)(fr_nothing *nothing, const void *user,
                                                     fr_device_fault *fault),
                                     const void *user)
{
    fr_device_fault fault;
    fr_device_entry entry;
    *nothing = (fr_nothing){.opened = opened, .stream = stream};
    fr_devices_settle(opened->devices);
    nothing->turn = event != 0 ? fr_available_get(opened->devices, event) : NULL;
    if (event != 0 && !nothing->turn)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY,
                            "no memory for what is kept of an availability_event");
    bool captured = fr_opened_enter(opened, &entry, &fault);
    if (captured) {
        captured =
            fr_capture_check_stream(opened, stream, &fault) && capture(nothing, user, &fault);
        fr_opened_leave(opened, &entry);
    }
    return captured ? OVSTAGE_OK : fr_placement_refuse(&fault, "a write on a device");
}

bool fr_nothing_report(const fr_nothing *nothing, fr_graph *graph, const fr_device_told *told,
                       fr_op **out)
{
    *out = NULL;
    if (nothing->turn || !nothing->captured.dep)
        return true;
    *out = fr_device_report_get(graph);
    if (*out)
        fr_device_report_tell(*out, nothing->captured.dep, told);
    return *out != NULL;
}

/* In the client's stream, if it has named one. */
static bool fr_nothing_record(const fr_nothing *nothing, fr_device_fault *fault)
{
    fr_device_run run;
    const fr_fence *dep = nothing->captured.dep;
    bool begun = fr_device_run_begin_in(&run, nothing->opened, FR_STREAM_GATE, nothing->stream,
                                        nothing->turn->event, dep, fault);
    bool recorded =
        (!begun || fr_device_run_record(&run, fault)) &&
        fr_available_record(nothing->turn, nothing->opened, begun ? &run : NULL, dep, fault);
    if (begun)
        fr_device_run_end(&run);
    return recorded;
}

void fr_nothing_make_available(fr_op *op, fr_nothing *nothing)
{
    fr_device_fault fault;
    if (!nothing->turn || nothing->told)
        return;
    nothing->told = true;
    if (!fr_nothing_record(nothing, &fault))
        fr_op_fail_also(op, fr_placement_status(&fault),
                        "availability_event %#llx was not recorded: %s",
                        (unsigned long long)nothing->turn->event, fault.text);
}

void fr_nothing_let_go(fr_nothing *nothing)
{
    fr_captured_release(&nothing->captured);
    fr_available_put(nothing->turn);
    nothing->turn = NULL;
}
