/* Reads whose payload is to be on a device. Rows that lie there as they are wanted are handed out
 * as they lie; others are gathered there, or brought from the host, into memory of the read's own.
 * The client's event is recorded behind all of it. */
#include "runtime/api/placement.h"
#include "runtime/device/available.h"
#include "runtime/read/read.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

ovstage_api_status_t fr_read_place(fr_read *read, const ovstage_placement_t *placement)
{
    read->device = NULL;
    read->stream = read->available = 0;
    read->told = false;
    read->turn = NULL;
    if (!placement)
        return OVSTAGE_OK;
    ovstage_api_status_t status = fr_placement_check(read->stage, placement, &read->device);
    if (status != OVSTAGE_OK || !read->device)
        return status;
    read->stream = placement->stream;
    read->available = placement->availability_event;
    if (read->available) {
        read->turn = fr_available_get(read->device->devices, read->available);
        if (!read->turn)
            return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY,
                                "no memory for what is kept of an availability_event");
    }
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
    if (device && read->device && device != read->device)
        return fr_read_refuse(read, OVSTAGE_ERROR_NOT_SUPPORTED,
                              "values lie on CUDA device %d, and reading them elsewhere is not "
                              "supported by this library",
                              (int)device->place);
    int32_t lost = part->placed ? fr_placed_lost(part->placed) : 0;
    return lost ? fr_read_refuse(read, OVSTAGE_ERROR_OP_FAILED,
                                 "values on CUDA device %d were lost by its error %d: %s",
                                 (int)device->place, (int)lost, fr_opened_death(device))
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

/* The rows of a part of a device to the host, in order. */
static bool fr_read_fetch_home(fr_read_part *part, fr_device_run *run, fr_device_fault *fault)
{
    fr_placed *from = part->placed;
    if (from && !fr_device_run_reads(run, from, fault))
        return false;
    if (!from) {
        from = fr_device_run_temporary(run, part->data_bytes, fault);
        if (!from || !fr_store_read_gather_placed(part, run, from, fault))
            return false;
    }
    part->staged = fr_staging_take(run->opened, part->data_bytes, fault);
    if (!part->staged)
        return false;
    part->data = part->staged->memory;
    part->brought = run->done;
    fr_fence_retain(part->brought);
    return fr_device_run_download(run, part->staged->memory, from->address, part->data_bytes,
                                  fault);
}

void fr_read_unstage(fr_stage *stage, fr_read_part *part)
{
#ifdef FR_MUTATE_DEVICE_GROUPS_KEEP_STAGING
    return;
#endif
    if (!part->staged)
        return;
    part->kept = fr_store_buffer_get(stage->store, part->data_bytes);
    if (!part->kept)
        return;
    memcpy(fr_store_buffer_data(part->kept), part->data, part->data_bytes);
    part->data = fr_store_buffer_data(part->kept);
    part->placed = NULL; /* it is a part of the host from here on */
    fr_staging_give_after(part->staged, part->brought);
    part->staged = NULL;
}

/* The rows together, on the device of the run. */
static bool fr_read_bring(fr_read_part *part, fr_device_run *run, fr_device_fault *fault)
{
    part->own = fr_placed_make(run->opened, part->data_bytes, fault);
    if (!part->own || !fr_device_run_writes(run, part->own, fault))
        return false;
    part->placed = part->own;
    bool brought = part->device ? fr_store_read_gather_placed(part, run, part->own, fault)
                                : fr_read_upload(part, run, fault);
    part->device = run->opened;
    return brought;
}

static bool fr_read_put_part(const fr_read *read, fr_read_part *part, fr_device_run *run,
                             fr_device_fault *fault)
{
    if (part->is_delete || (!read->device && !part->device))
        return true;
    if (!read->device)
        return fr_read_fetch_home(part, run, fault);
    return part->placed ? fr_wait_to_read(run->opened, run->stream, run->own, part->placed, fault)
                        : fr_read_bring(part, run, fault);
}

/* All work and waits, a fence behind it, and then the client's event, into the stream that it
 * named. */
static bool fr_read_put(fr_read *read, fr_device_run *run, fr_device_fault *fault)
{
    for (uint32_t p = 0; p < read->result.part_count; p++)
        if (!fr_read_put_part(read, &read->result.parts[p], run, fault))
            return false;
    if (!fr_device_run_record(run, fault))
        return false;
    read->told = true;
    if (read->turn)
        return fr_available_record(read->turn, run->opened, run, fault);
    read->ready = run->done;
    fr_fence_retain(read->ready);
    return true;
}

/* The device that there is work on; NULL: none. Not OK: there are several. */
static ovstage_api_status_t fr_read_find_device(fr_read *read, fr_opened **out)
{
    *out = read->device;
    for (uint32_t p = 0; p < read->result.part_count && !read->device; p++) {
        fr_opened *device = read->result.parts[p].device;
        if (device && *out && device != *out)
            return fr_read_refuse(read, OVSTAGE_ERROR_NOT_SUPPORTED,
                                  "values lie on CUDA devices %d and %d, and reading them together "
                                  "is not supported by this library",
                                  (int)(*out)->place, (int)device->place);
        *out = device ? device : *out;
    }
    return OVSTAGE_OK;
}

/* Where no row has to be moved there are waits alone, of which any number may be under way. */
static fr_stream_kind fr_read_stream_kind(const fr_read *read)
{
    bool moves = !read->device, written = true;
    for (uint32_t p = 0; p < read->result.part_count; p++) {
        const fr_read_part *part = &read->result.parts[p];
        moves = moves || (!part->is_delete && !part->placed);
        written = written && (!part->device || part->is_delete || fr_store_read_is_written(part));
    }
#ifdef FR_MUTATE_DEVICE_READS_STALL
    written = false;
#endif
    return !moves ? FR_STREAM_GATE : written ? FR_STREAM_WORK : FR_STREAM_STALLED;
}

ovstage_api_status_t fr_read_to_device(fr_read *read)
{
    fr_opened *device = NULL;
    ovstage_api_status_t status = fr_read_find_device(read, &device);
    for (uint32_t p = 0; p < read->result.part_count && status == OVSTAGE_OK && device; p++) {
        status = fr_read_check_part(read, &read->result.parts[p]);
        if (status == OVSTAGE_OK)
            status = fr_read_materialize(read, &read->result.parts[p]);
    }
    if (status != OVSTAGE_OK || !device)
        return status;
    fr_device_run run;
    fr_device_fault fault;
    fr_devices_settle(device->devices);
#ifdef FR_MUTATE_DEVICE_READS_IN_THE_LANE
    uint64_t lane = read->bounds.end;
#else
    uint64_t lane = fr_streams_lane_of_reads(read->bounds.end);
#endif
    fr_stream_kind kind = fr_read_stream_kind(read);
    bool begun = fr_device_run_begin_in(&run, device, kind, read->stream, lane, NULL, &fault);
    bool put = begun && fr_read_put(read, &run, &fault);
    if (begun)
        fr_device_run_end(&run);
    return put ? OVSTAGE_OK
               : fr_read_refuse(read, fr_placement_status(&fault), "a read on a device: %s",
                                fault.text);
}
