/* Reads whose payload is to be on a device: it must be there already, and the client's event is
 * recorded behind what it waits for. */
#include "runtime/api/placement.h"
#include "runtime/device/run.h"
#include "runtime/read/read.h"

#include <stdarg.h>
#include <stdio.h>

ovstage_api_status_t fr_read_place(fr_read *read, const ovstage_placement_t *placement)
{
    read->device = NULL;
    if (!placement)
        return OVSTAGE_OK;
    ovstage_api_status_t status = fr_placement_check(read->stage, placement, &read->device);
    if (status != OVSTAGE_OK || !read->device)
        return status;
    if (!placement->availability_event)
        return fr_error_set(OVSTAGE_ERROR_NOT_SUPPORTED,
                            "a read on a device without availability_event: not supported by this "
                            "library yet");
    read->stream = placement->stream;
    read->available = placement->availability_event;
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_read_refuse(fr_read *read, ovstage_api_status_t status,
                                           const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static ovstage_api_status_t fr_read_refuse(fr_read *read, ovstage_api_status_t status,
                                           const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(read->result.text, sizeof(read->result.text), format, arguments);
    va_end(arguments);
    return status;
}

static ovstage_api_status_t fr_read_check_part(fr_read *read, const fr_read_part *part)
{
    fr_opened *device = part->device;
    if (part->is_delete)
        return OVSTAGE_OK;
    if (!device && read->device)
        return fr_read_refuse(read, OVSTAGE_ERROR_NOT_SUPPORTED,
                              "values lie on the host, and reading them on CUDA device %d is not "
                              "supported by this library",
                              (int)read->device->place);
    if (!device)
        return OVSTAGE_OK;
    if (device != read->device)
        return fr_read_refuse(read, OVSTAGE_ERROR_NOT_SUPPORTED,
                              "values lie on CUDA device %d, and reading them elsewhere is not "
                              "supported by this library",
                              (int)device->place);
    if (!part->placed)
        return fr_read_refuse(read, OVSTAGE_ERROR_NOT_SUPPORTED,
                              "values lie on CUDA device %d, and reading others than all that were "
                              "made together, in their order, is not supported by this library",
                              (int)device->place);
    int32_t lost = fr_placed_lost(part->placed);
    return lost ? fr_read_refuse(read, OVSTAGE_ERROR_OP_FAILED,
                                 "values on CUDA device %d were lost by its error %d",
                                 (int)device->place, (int)lost)
                : OVSTAGE_OK;
}

/* All waits and the client's event, into the stream that it named. */
static bool fr_read_put(const fr_read *read, fr_device_run *run, fr_device_fault *fault)
{
    for (uint32_t p = 0; p < read->result.part_count; p++) {
        fr_placed *placed = read->result.parts[p].placed;
        if (placed && !fr_wait_to_read(run->opened, run->stream, run->own, placed, fault))
            return false;
    }
    return fr_device_run_available(run, read->available, fault);
}

ovstage_api_status_t fr_read_to_device(fr_read *read)
{
    ovstage_api_status_t status = OVSTAGE_OK;
    for (uint32_t p = 0; p < read->result.part_count && status == OVSTAGE_OK; p++)
        status = fr_read_check_part(read, &read->result.parts[p]);
    if (status != OVSTAGE_OK || !read->device)
        return status;
    fr_device_run run;
    fr_device_fault fault;
    (void)fr_devices_look(read->device->devices, fr_worker_current());
    bool begun =
        fr_device_run_begin(&run, read->device, read->stream, read->bounds.end, NULL, &fault);
    bool put = begun && fr_read_put(read, &run, &fault);
    if (begun)
        fr_device_run_end(&run);
    return put ? OVSTAGE_OK
               : fr_read_refuse(read, fr_placement_status(&fault), "a read on a device: %s",
                                fault.text);
}
