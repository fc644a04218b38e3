/* Reads whose payload is to be on a device. Rows that lie there as they are wanted are handed out
 * as they lie; others are gathered there, or brought from the host, into memory of the read's own.
 * The client's event is recorded behind all of it. And reads of the host of what lies on devices.
 *
 * Where rows have to be moved that may take several steps: to_device is called again until it does
 * not wait any more, and does not do again what it has done. */
#include "runtime/api/placement.h"
#include "runtime/device/available.h"
#include "runtime/device/begin.h"
#include "runtime/read/derived.h"
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

/* Of a part on a device, whose slices are there if it is an array. */
static ovstage_api_status_t fr_read_check_lost(fr_read *read, const fr_read_part *part)
{
    int32_t lost = part->device ? fr_store_read_lost(part) : 0;
    return lost ? fr_read_refuse(read, OVSTAGE_ERROR_OP_FAILED,
                                 "values on CUDA device %d were lost by its error %d: %s",
                                 (int)part->device->place, (int)lost, fr_opened_death(part->device))
                : OVSTAGE_OK;
}

/* Rows of the host that are to be on a device are made there first; of an array they are slices,
 * which are the host's wherever their elements lie. */
static ovstage_api_status_t fr_read_materialize(fr_read *read, fr_read_part *part)
{
    ovstage_api_status_t status = OVSTAGE_OK;
    if ((!read->device && !part->device) || !part->attribute) /* what is computed is there */
        return OVSTAGE_OK;
    if (part->schema.is_array) {
        part->shown = read->device;
        status = fr_store_read_slices(part);
    } else if (!part->device) {
        status = fr_store_read_materialize(read->stage->store, read->query, part);
    }
    return status == OVSTAGE_OK
               ? status
               : fr_read_refuse(read, status, "no memory to gather %u rows of %u bytes",
                                part->count, part->schema.row_bytes);
}

static ovstage_api_status_t fr_read_prepare(fr_read *read, fr_read_part *part)
{
    if (part->is_delete)
        return OVSTAGE_OK;
    ovstage_api_status_t status = fr_read_materialize(read, part);
    return status == OVSTAGE_OK ? fr_read_check_lost(read, part) : status;
}

/* Deleted keys, and arrays without elements, have nothing that could lie anywhere. */
static bool fr_read_has_rows(const fr_read_part *part)
{
    return !part->is_delete && part->data_bytes > 0;
}

/* As it is wanted. */
static bool fr_read_lies_on(const fr_read_part *part, const fr_opened *device)
{
    return part->device == device && (part->placed || part->schema.is_array);
}

static bool fr_read_upload(const fr_read_part *part, fr_device_run *run, fr_device_fault *fault)
{
    void *staged = fr_device_run_stage(run, part->data_bytes, fault);
    if (!staged)
        return false;
    if (part->attribute)
        fr_store_read_pack(part, staged);
    else
        memcpy(staged, part->data, part->data_bytes);
    return fr_device_run_upload(run, part->own->address, staged, part->data_bytes, fault);
}

/* The rows of a part of a device to the host, in order. */
static bool fr_read_fetch_home(const fr_read *read, fr_read_part *part, fr_device_run *run,
                               fr_device_fault *fault)
{
    fr_placed *from = part->placed;
    part->kept = fr_store_buffer_get(read->stage->store, part->data_bytes);
    if (!part->kept) {
        fr_device_fault_memory(fault, part->data_bytes);
        return false;
    }
    if (from && !fr_device_run_reads(run, from, FR_USE_AS_IT_LIES, fault))
        return false;
    if (!from) {
        from = fr_device_run_temporary(run, part->data_bytes, fault);
        if (!from || !fr_store_read_gather_placed(part, run, from, fault))
            return false;
    }
    part->staged = fr_device_run_take_staging(run, part->data_bytes, fault);
    if (!part->staged)
        return false;
    return fr_device_run_download(run, part->staged->memory, from->address, part->data_bytes,
                                  fault);
}

/* Into memory of the host's own: pinned memory goes back at once, since clients fetch when they
 * like, and there is little of it. */
static void fr_read_unstage(fr_read_part *part)
{
    unsigned char *data = fr_store_buffer_data(part->kept);
    memcpy(data, part->staged->memory, part->data_bytes);
    if (!part->schema.is_array)
        part->data = data;
    part->placed = NULL; /* it is a part of the host from here on */
#ifndef FR_MUTATE_DEVICE_READS_KEEP_STAGING
    fr_staging_give(part->staged);
    part->staged = NULL;
#endif
}

/* The rows together, on the device of the run. */
static bool fr_read_bring(fr_read_part *part, fr_device_run *run, fr_device_fault *fault)
{
    part->own = fr_placed_make(run->opened, part->data_bytes, fault);
    if (!part->own || !fr_device_run_writes(run, part->own, FR_USE_GATHERED, fault))
        return false;
    bool brought;
    if (!part->device)
        brought = fr_read_upload(part, run, fault);
    else if (part->device == run->opened)
        brought = fr_store_read_gather_placed(part, run, part->own, fault);
    else {
        part->copied = part->placed;
        brought = fr_device_run_bring(run, part->own->address,
                                      part->together ? part->together : part->placed,
                                      FR_USE_BROUGHT, part->data_bytes, fault);
    }
    part->placed = part->own;
    part->device = run->opened;
    if (!part->attribute)
        fr_derived_show(part);
    return brought;
}

static bool fr_read_put_part(fr_read_part *part, fr_device_run *run, fr_device_fault *fault)
{
    if (!fr_read_has_rows(part))
        return true;
    return fr_read_lies_on(part, run->opened) ? fr_store_read_wait(part, run, fault)
                                              : fr_read_bring(part, run, fault);
}

/* Where no row has to be moved there are waits alone, of which any number may be under way.
 * device: of a run for what lies there; NULL: of one for all. pending: what one of the rows waits
 * for, and may be stalled, if anything; a reference. */
static fr_stream_kind fr_read_stream_kind(const fr_read *read, const fr_opened *device,
                                          fr_fence **pending)
{
    bool moves = device != read->device;
    *pending = NULL;
    for (uint32_t p = 0; p < read->result.part_count; p++) {
        const fr_read_part *part = &read->result.parts[p];
        if (!fr_read_has_rows(part) || (device != read->device && part->device != device))
            continue;
        moves = moves || !fr_read_lies_on(part, read->device);
        if (part->device && !*pending)
            *pending = fr_store_read_stalled_by(part);
    }
#ifdef FR_MUTATE_DEVICE_READS_STALL
    return moves ? FR_STREAM_STALLED : FR_STREAM_GATE;
#endif
    return moves ? fr_device_run_kind(*pending) : FR_STREAM_GATE;
}

/* Whether a run on the device takes rows through pinned memory: home, or there from the host. */
static bool fr_read_brings(const fr_read *read, const fr_opened *device)
{
    bool brings = false;
    for (uint32_t p = 0; p < read->result.part_count && !brings; p++) {
        const fr_read_part *part = &read->result.parts[p];
        bool comes_home = !read->device && part->device == device;
        bool goes_there = read->device == device && !part->device;
        brings = fr_read_has_rows(part) && (comes_home || goes_there);
    }
    return brings;
}

static bool fr_read_has_staging(const fr_read *read)
{
    bool has = false;
    for (uint32_t p = 0; p < read->result.part_count && !has; p++)
        has = read->result.parts[p].staged != NULL;
    return has;
}

/* False: the fault says why, or the read waits. */
static bool fr_read_begin(fr_read *read, fr_opened *device, uintptr_t client_stream,
                          fr_device_run *run, fr_device_fault *fault)
{
    fr_fence_release(read->pending);
    fr_stream_kind kind = fr_read_stream_kind(read, device, &read->pending);
#ifdef FR_MUTATE_DEVICE_READS_IN_THE_LANE
    uint64_t lane = read->bounds.end;
#else
    uint64_t lane = fr_streams_lane_of_reads(read->bounds.end);
    bool is_stalled = read->pending != NULL; /* also where there is nothing but that wait */
#ifdef FR_MUTATE_DEVICE_GATES_OF_READS_ARE_ONE
    is_stalled = kind == FR_STREAM_STALLED;
#endif
    if (is_stalled)
        lane = fr_streams_lane_of_stalled_reads(read->bounds.end);
#endif
    const fr_run_wish wish = {.opened = device,
                              .kind = kind,
                              .stream = client_stream,
                              .lane = lane,
                              .dep = read->pending,
                              .brings = fr_read_brings(read, device),
                              .has_begun = fr_read_has_staging(read),
                              .graph = read->graph,
                              .op = read->op};
    fr_run_outcome outcome = fr_run_wish_begin(&wish, read->op ? &read->wait : NULL, run, fault);
    read->waits = outcome == FR_RUN_WAITS;
    return outcome == FR_RUN_HAS_BEGUN;
}

/* --- on the device that the client has named -------------------------------------------------- */

static bool fr_read_is_to_gather(const fr_read *read, const fr_read_part *part)
{
    return fr_read_has_rows(part) && part->device && part->device != read->device &&
           !part->placed && !part->together;
}

static bool fr_read_gather_part(fr_read_part *part, fr_device_run *run, fr_device_fault *fault)
{
    part->together = fr_placed_make(run->opened, part->data_bytes, fault);
    return part->together &&
           fr_device_run_writes(run, part->together, FR_USE_GATHERED_ELSEWHERE, fault) &&
           fr_store_read_gather_placed(part, run, part->together, fault);
}

/* Rows that lie apart on another device are brought together there. */
static bool fr_read_gather_on(fr_read *read, fr_opened *device, fr_device_fault *fault)
{
    fr_device_run run;
    if (!fr_read_begin(read, device, 0, &run, fault))
        return false;
    bool put = true;
    for (uint32_t p = 0; p < read->result.part_count && put; p++) {
        fr_read_part *part = &read->result.parts[p];
        if (part->device == device && fr_read_is_to_gather(read, part))
            put = fr_read_gather_part(part, &run, fault);
    }
    put = put && fr_device_run_record(&run, fault);
    fr_device_run_end(&run);
    return put;
}

static bool fr_read_gather_elsewhere(fr_read *read, fr_device_fault *fault)
{
    bool put = true;
    for (uint32_t p = 0; p < read->result.part_count && put; p++)
        if (fr_read_is_to_gather(read, &read->result.parts[p]))
            put = fr_read_gather_on(read, read->result.parts[p].device, fault);
    return put;
}

/* All work and waits, a fence behind it, and then the client's event, into the stream that it
 * named. */
static bool fr_read_put_all(fr_read *read, fr_device_run *run, fr_device_fault *fault)
{
    for (uint32_t p = 0; p < read->result.part_count; p++)
        if (!fr_read_put_part(&read->result.parts[p], run, fault))
            return false;
    if (!fr_device_run_record(run, fault))
        return false;
    read->told = true;
    if (read->turn)
        return fr_available_record(read->turn, run->opened, run, NULL, fault);
    read->ready = run->done;
    fr_fence_retain(read->ready);
    return true;
}

/* A device that has a copy of what is wanted, as it is wanted, needs no other. */
static void fr_read_find_replicas(fr_read *read)
{
    for (uint32_t p = 0; p < read->result.part_count; p++) {
        fr_read_part *part = &read->result.parts[p];
        if (part->is_delete || !part->placed || part->device == read->device)
            continue;
        fr_placed *replica = fr_placed_replica(part->placed, read->device, part->data_bytes);
        if (!replica)
            continue;
        part->own = part->placed = replica;
        part->device = read->device;
    }
}

/* What was brought together is held by the fences of who reads it; what was copied may be of use to
 * others. */
static void fr_read_end_gathers(fr_read *read, bool put)
{
    for (uint32_t p = 0; p < read->result.part_count; p++) {
        fr_read_part *part = &read->result.parts[p];
        if (part->together)
            fr_placed_dispose(part->together);
        if (part->copied && put)
            fr_placed_add_replica(part->copied, part->own);
        part->together = part->copied = NULL;
    }
}

static bool fr_read_put_there(fr_read *read, fr_device_fault *fault)
{
    fr_device_run run;
    fr_read_find_replicas(read);
    bool put = fr_read_gather_elsewhere(read, fault);
    if (put && (put = fr_read_begin(read, read->device, read->stream, &run, fault))) {
        put = fr_read_put_all(read, &run, fault);
        fr_device_run_end(&run);
    }
    if (!read->waits)
        fr_read_end_gathers(read, put);
    return put;
}

/* --- on the host ------------------------------------------------------------------------------ */

/* A fetch waits for one fence, which is behind all of them. */
static bool fr_read_end_home(fr_read *read, fr_device_run *run, fr_device_fault *fault)
{
    if (!fr_wait_for(run->opened, run->stream, run->own, read->ready, FR_WAIT_OTHERS, fault) ||
        !fr_device_run_record(run, fault))
        return false;
    fr_fence_release(read->ready);
    read->ready = run->done;
    fr_fence_retain(read->ready);
    return true;
}

/* What lies on the device. */
static bool fr_read_put_home_from(fr_read *read, fr_opened *device, fr_device_fault *fault)
{
    fr_device_run run;
    if (!fr_read_begin(read, device, 0, &run, fault))
        return false;
    bool put = true;
    for (uint32_t p = 0; p < read->result.part_count && put; p++) {
        fr_read_part *part = &read->result.parts[p];
        if (part->device == device && fr_read_has_rows(part))
            put = fr_read_fetch_home(read, part, &run, fault);
    }
    put = put && fr_read_end_home(read, &run, fault);
    fr_device_run_end(&run);
    return put;
}

static bool fr_read_put_home(fr_read *read, fr_device_fault *fault)
{
    bool put = true;
    for (uint32_t p = 0; p < read->result.part_count && put; p++) {
        const fr_read_part *part = &read->result.parts[p];
        if (part->device && fr_read_has_rows(part) && !part->staged)
            put = fr_read_put_home_from(read, part->device, fault);
    }
    return put;
}

/* They are there. */
static ovstage_api_status_t fr_read_come_home(fr_read *read)
{
    fr_fence *ready = read->ready;
    bool waits = ready && !fr_fence_is_over(ready);
#ifdef FR_MUTATE_DEVICE_READ_HOME_EARLY
    waits = false;
#endif
    read->waits = waits;
    if (waits && read->op)
        fr_fence_park(&read->home, ready, read->graph, read->op);
    if (!ready || waits)
        return OVSTAGE_OK;
    for (uint32_t p = 0; p < read->result.part_count; p++) {
        const fr_read_part *part = &read->result.parts[p];
        bool lost = part->staged && fr_opened_is_dead(part->device);
#ifdef FR_MUTATE_DEVICE_READ_HOME_FORGETS_DEATH
        lost = fr_fence_look(ready) == FR_FENCE_LOST; /* of the last of several devices */
#endif
        if (lost)
            return fr_read_refuse(read, OVSTAGE_ERROR_OP_FAILED,
                                  "CUDA device %d failed before the values were there: %s",
                                  (int)part->device->place, fr_opened_death(part->device));
    }
    for (uint32_t p = 0; p < read->result.part_count; p++)
        if (read->result.parts[p].staged)
            fr_read_unstage(&read->result.parts[p]);
    fr_fence_release(ready);
    read->ready = NULL;
    return OVSTAGE_OK;
}

/* --- all -------------------------------------------------------------------------------------- */

/* A device that there is something to do with; NULL: none. */
static fr_opened *fr_read_any_device(const fr_read *read)
{
    fr_opened *device = read->device;
    for (uint32_t p = 0; p < read->result.part_count && !device; p++)
        device = read->result.parts[p].device;
    return device;
}

ovstage_api_status_t fr_read_to_device(fr_read *read)
{
    ovstage_api_status_t status = OVSTAGE_OK;
    const fr_opened *device = fr_read_any_device(read);
    for (uint32_t p = 0; p < read->result.part_count && status == OVSTAGE_OK && device; p++) {
        status = fr_read_prepare(read, &read->result.parts[p]);
    }
    if (status != OVSTAGE_OK || !device)
        return status;
    fr_device_fault fault;
    read->waits = false;
    fr_devices_settle(device->devices);
    bool put = read->device ? fr_read_put_there(read, &fault) : fr_read_put_home(read, &fault);
    if (read->waits)
        return OVSTAGE_OK;
    if (!put)
        return fr_read_refuse(read, fr_placement_status(&fault), "a read on a device: %s",
                              fault.text);
    return read->device ? OVSTAGE_OK : fr_read_come_home(read);
}
