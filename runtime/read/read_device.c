/* Reads whose payload is to be on a device. Rows that lie there as they are wanted are handed out
 * as they lie; others are gathered there, or brought from the host, into memory of the read's own.
 * The client's event is recorded behind all of it. */
#include "runtime/api/placement.h"
#include "runtime/device/run.h"
#include "runtime/read/read.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    if (!device && read->device && (!part->attribute || part->schema.is_array))
        return fr_read_refuse(read, OVSTAGE_ERROR_NOT_SUPPORTED,
                              "%s on CUDA device %d: not supported by this library",
                              part->attribute ? "arrays" : "computed values",
                              (int)read->device->place);
    if (device && device != read->device)
        return fr_read_refuse(read, OVSTAGE_ERROR_NOT_SUPPORTED,
                              "values lie on CUDA device %d, and reading them elsewhere is not "
                              "supported by this library",
                              (int)device->place);
    int32_t lost = part->placed ? fr_placed_lost(part->placed) : 0;
    return lost ? fr_read_refuse(read, OVSTAGE_ERROR_OP_FAILED,
                                 "values on CUDA device %d were lost by its error %d",
                                 (int)device->place, (int)lost)
                : OVSTAGE_OK;
}

/* Rows of the host that are to be on a device are made there first. */
static ovstage_api_status_t fr_read_materialize(fr_read *read, fr_read_part *part)
{
    if (!read->device || part->device || part->is_delete)
        return OVSTAGE_OK;
    ovstage_api_status_t status = fr_store_read_materialize(read->stage->store, read->query, part);
    return status == OVSTAGE_OK
               ? status
               : fr_read_refuse(read, status, "no memory to gather %u rows of %u bytes",
                                part->count, part->schema.row_bytes);
}

static bool fr_read_upload(const fr_read_part *part, fr_device_run *run, fr_device_fault *fault)
{
    void *staged = fr_device_run_stage(run, part->data_bytes, fault);
    if (!staged)
        return false;
    memcpy(staged, part->data, part->data_bytes);
    return fr_device_run_upload(run, part->own->address, staged, part->data_bytes, fault);
}

/* The rows together, on the device of the run. */
static bool fr_read_bring(fr_read_part *part, fr_device_run *run, fr_device_fault *fault)
{
    part->own = fr_placed_make(run->opened, part->data_bytes, fault);
    if (!part->own || !fr_device_run_writes(run, part->own, fault))
        return false;
    part->placed = part->own;
    bool brought = part->device ? fr_store_read_gather_placed(part, run, fault)
                                : fr_read_upload(part, run, fault);
    part->device = run->opened;
    return brought;
}

/* All work and waits, and then the client's event, into the stream that it named. */
static bool fr_read_put(const fr_read *read, fr_device_run *run, fr_device_fault *fault)
{
    bool brings = false;
    for (uint32_t p = 0; p < read->result.part_count; p++) {
        fr_read_part *part = &read->result.parts[p];
        if (part->is_delete)
            continue;
        brings = brings || !part->placed;
        bool put = part->placed
                       ? fr_wait_to_read(run->opened, run->stream, run->own, part->placed, fault)
                       : fr_read_bring(part, run, fault);
        if (!put)
            return false;
    }
    return (!brings || fr_device_run_record(run, fault)) &&
           fr_device_run_available(run, read->available, fault);
}

ovstage_api_status_t fr_read_to_device(fr_read *read)
{
    ovstage_api_status_t status = OVSTAGE_OK;
    for (uint32_t p = 0; p < read->result.part_count && status == OVSTAGE_OK; p++) {
        status = fr_read_check_part(read, &read->result.parts[p]);
        if (status == OVSTAGE_OK)
            status = fr_read_materialize(read, &read->result.parts[p]);
    }
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
