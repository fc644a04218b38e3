/* unmap_group and unmap_attribute: the acceptance of a commit as a write, and the end of a session.
 */
#include "runtime/map/map.h"

#include "runtime/floor/floors.h"
#include "runtime/write/access.h"
#include "runtime/write/nothing.h"
#include "runtime/write/write_sync.h"

#include <string.h>

/* What an admit answers when the group was fetched or committed meanwhile; no call returns it. */
#define FR_MAP_OVERTAKEN OVSTAGE_ERROR_INTERNAL

typedef struct fr_unmapping {
    fr_map *map;
    ovstage_map_handle_t handle;
    bool ends; /* unmap_attribute */
    ovstage_cuda_sync_t sync;
    fr_write_entry *entry;               /* of the commit */
    const fr_device_write *device_write; /* of one on a device; else NULL */
    uint64_t wait_id;                    /* of what must be over before the host reads the buffer */
    bool was_live;                       /* that admit found */
    fr_map_phase phase;                  /* the same */
    bool took_handle;                    /* whose reference is the caller's now */
    bool is_lost;                        /* what was fetched: its device is dead */
    uint64_t refused_floor;
} fr_unmapping;

static ovstage_enqueue_result_t fr_unmap_refused(ovstage_api_status_t status)
{
    ovstage_enqueue_result_t result = {status, OVSTAGE_INVALID_OP_ID};
    return result;
}

/* Admission. */
static void fr_unmap_end(fr_unmapping *unmapping)
{
    unmapping->map->live = false;
    unmapping->took_handle =
        fr_handle_remove(unmapping->map->stage, FR_HANDLE_MAP, unmapping->handle) != NULL;
}

static fr_map_phase fr_unmap_phase(const fr_map *map)
{
    fr_graph_lock(map->stage->graph);
    fr_map_phase phase = map->phase;
    fr_graph_unlock(map->stage->graph);
    return phase;
}

/* --- a commit --------------------------------------------------------------------------------- */

static ovstage_api_status_t fr_unmap_admit_commit(fr_submission *submission, void *user)
{
    fr_unmapping *unmapping = user;
    fr_map *map = unmapping->map;
    fr_write_entry *entry = unmapping->entry;
    unmapping->phase = map->phase;
    unmapping->was_live = map->live;
    if (!map->live)
        return OVSTAGE_ERROR_INVALID_HANDLE;
#ifndef FR_MUTATE_MAP_COMMITS_TWICE
    if (map->phase != FR_MAP_FETCHED)
        return unmapping->ends ? FR_MAP_OVERTAKEN : OVSTAGE_ERROR_INVALID_HANDLE;
#endif
#ifndef FR_MUTATE_MAP_COMMITS_SEALED
    unmapping->refused_floor = fr_floors_accepted(map->stage->floors, map->attribute);
#endif
    if (map->ordinal <= unmapping->refused_floor) { /* it stays so: nothing is left to do (D16) */
        fr_unmap_end(unmapping);
        return OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION;
    }
    entry->buffer = map->buffer;
    if (unmapping->device_write)
        submission->behind_id = fr_available_last(unmapping->device_write->turn);
    fr_write_admit_schema(map->stage, entry);
#ifndef FR_MUTATE_DEVICE_COMMIT_FORGETS_HOST_ROWS
    submission->producer_count = unmapping->wait_id != 0;
#endif
    uint64_t bit = (uint64_t)1 << map->attribute->index % 64;
    submission->attribute_filter = bit;
    submission->below_filter = map->inserts ? UINT64_MAX : 0;
    submission->below_filter |= entry->judge ? bit : 0;
    submission->takes_lanes_below = submission->below_filter != 0;
    return OVSTAGE_OK;
}

static void fr_unmap_undo_commit(fr_submission *submission, void *user)
{
    fr_unmapping *unmapping = user;
    (void)submission;
    fr_write_undo_schema(unmapping->entry);
}

/* What the client's streams do to the buffer is over when the fence is: until then it is nobody
 * else's memory, whatever becomes of the commit, and who reads the rows waits for it. */
static void fr_unmap_enter_writing(const fr_unmapping *unmapping)
{
#ifndef FR_MUTATE_DEVICE_MAP_FORGETS_CLIENT
    fr_fence *dep = unmapping->device_write ? unmapping->device_write->captured.dep : NULL;
    if (dep && unmapping->map->placed)
        fr_placed_enter_write(unmapping->map->placed, dep);
#else
    (void)unmapping;
#endif
}

static void fr_unmap_accepted_commit(fr_submission *submission, uint64_t id, void *user)
{
    fr_unmapping *unmapping = user;
    fr_map *map = unmapping->map;
    fr_write_judging(fr_op_payload(submission->op), map->ordinal, id);
    fr_unmap_enter_writing(unmapping);
    if (unmapping->device_write)
        fr_available_accept(unmapping->device_write->turn, id);
    map->phase = FR_MAP_COMMITTED;
    map->buffer = NULL; /* the write's, and its bytes with it */
    map->counted_bytes = 0;
    if (unmapping->ends)
        fr_unmap_end(unmapping);
}

/* All but what admit fills in. The session's op has run. */
static void fr_unmap_fill(fr_write_op *write, const fr_map *map)
{
    uint32_t count = map->query->count;
    memset(write, 0, sizeof(*write));
    write->stage = map->stage;
    write->query = map->query;
    write->entries = &write->single;
    write->entry_count = 1;
    write->demand = map->inserts ? FR_DEMAND_NEW_PRIMS : FR_DEMAND_NONE;
    write->payload_bytes = map->payload_bytes;
    write->single.attribute = map->attribute;
    if (!map->schema.is_array) { /* else the rows are slices, in the buffer */
        write->single.base = map->tensor.data;
        write->single.row_stride_bytes = map->schema.row_bytes;
    }
    write->single.row_count = write->single.count = write->single.selected_count = count;
    write->single.schema = map->schema;
    write->single.compact = write->single.mapped = true;
    write->single.any_role = map->any_role;
}

/* Of a commit on a device: what it depends on, and its record beside the op. */
static ovstage_api_status_t fr_unmap_capture(fr_unmapping *unmapping, fr_write_op *write)
{
    const fr_map *map = unmapping->map;
    write->block_bytes = sizeof(fr_device_write);
    write->block = fr_access_block_get(map->stage, write->block_bytes);
    if (!write->block)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %u bytes of a commit",
                            write->block_bytes);
    write->on_device = true;
    fr_device_write *device = fr_write_device(write);
    *device = (fr_device_write){
        .opened = map->device,
        .stream = map->stream,
        .available = map->available,
        .is_placed = true,
        .dep_is_written = map->placed != NULL, /* of an array without elements it is of nothing */
        .work = {.what = "the commit of a map",
                 .place = map->device->place,
                 .stream = map->stream,
                 .sync = unmapping->sync},
    };
    unmapping->device_write = device;
    return fr_write_device_capture_sync(device, map->stage->graph, map->ordinal, &unmapping->sync);
}

/* The same of a buffer of the host, which a device may still write: what keeps the session does so
 * until that is over, also when the commit is refused and ends it. */
static ovstage_api_status_t fr_unmap_capture_host(fr_unmapping *unmapping, fr_write_op *write)
{
    fr_map *map = unmapping->map;
    write->block_bytes = sizeof(fr_write_sync);
    write->block = fr_access_block_get(map->stage, write->block_bytes);
    if (!write->block)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %u bytes of a commit",
                            write->block_bytes);
    write->syncs = true;
    fr_write_sync *sync = fr_write_sync_of(write);
    *sync = (fr_write_sync){.wait_id = 0};
    ovstage_api_status_t status =
        fr_write_sync_capture(sync, map->stage, NULL, map->ordinal, &unmapping->sync);
    if (status != OVSTAGE_OK)
        return status;
#ifdef FR_MUTATE_DEVICE_MAP_LETS_GO_EARLY
    status = fr_write_sync_submit(sync, map->stage, &unmapping->sync, NULL, NULL);
#else
    fr_map_ref(map);
    status = fr_write_sync_submit(sync, map->stage, &unmapping->sync, fr_map_unref, map);
#endif
    unmapping->wait_id = sync->wait_id;
    return status;
}

/* Of one that was not accepted. */
static void fr_unmap_put_commit(const fr_unmapping *unmapping, fr_op *op)
{
    const fr_map *map = unmapping->map;
    fr_write_op *write = fr_op_payload(op);
    fr_device_write *device = fr_write_device(write);
    if (device && device->report)
        fr_device_report_put(map->stage->graph, device->report);
    fr_write_device_let_go(write);
    fr_write_sync_let_go(write);
    if (write->block)
        fr_access_block_put(map->stage, write->block, write->block_bytes);
    fr_graph_op_put(map->stage->graph, op);
    fr_query_release(map->query);
}

static ovstage_enqueue_result_t fr_unmap_commit(fr_unmapping *unmapping)
{
    fr_map *map = unmapping->map;
    fr_stage *stage = map->stage;
    fr_op *op = fr_graph_op_get(stage->graph, &fr_write_op_type);
    if (!op)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    fr_write_op *write = fr_op_payload(op);
    fr_unmap_fill(write, map);
    unmapping->entry = &write->single;
    fr_query_acquire(map->query);
    ovstage_api_status_t status = OVSTAGE_OK;
    if (map->device)
        status = fr_unmap_capture(unmapping, write);
    else if (fr_sync_is_given(&unmapping->sync))
        status = fr_unmap_capture_host(unmapping, write);
    if (status != OVSTAGE_OK) {
        fr_unmap_put_commit(unmapping, op);
        return fr_unmap_refused(status);
    }
    fr_submission submission = {
        .op = op,
        .has_ordinal = true,
        .ordinal = map->ordinal,
        .below_ordinal = map->ordinal,
        .producer_ids = &unmapping->wait_id,
        .producer_capacity = 1,
        .never_full = true,
        .admit = fr_unmap_admit_commit,
        .undo = fr_unmap_undo_commit,
        .accepted = fr_unmap_accepted_commit,
        .user = unmapping,
        .report = map->device ? fr_write_device(write)->report : NULL,
    };
    ovstage_enqueue_result_t result = fr_stage_submit(stage, &submission, 0);
    if (result.status == OVSTAGE_OK)
        return result;
    if (result.status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION) {
        fr_unmap_enter_writing(unmapping); /* the session's, which has ended */
        fr_error_set(result.status,
                     "ordinal %llu is not above the write floor %llu of attribute '%s': the map "
                     "has ended, and nothing of it is committed",
                     (unsigned long long)map->ordinal, (unsigned long long)unmapping->refused_floor,
                     fr_write_name(stage, map->attribute));
    }
    fr_unmap_put_commit(unmapping, op);
    return result;
}

/* --- the end without a commit ----------------------------------------------------------------- */

typedef struct fr_unmap_op {
    fr_map *map;        /* one reference */
    fr_nothing nothing; /* of a session on a device */
    bool is_lost;       /* with what was fetched */
} fr_unmap_op;

_Static_assert(sizeof(fr_unmap_op) <= FR_OP_PAYLOAD_BYTES, "fits the record");

/* Of the ordinal's lane, so that it is complete after the map and its commit are. It touches no
 * attribute: no seal waits for it, and it may come after one. */
static fr_run_result fr_unmap_op_run(fr_op *op, const fr_run_context *context)
{
    fr_unmap_op *payload = fr_op_payload(op);
    (void)context;
    if (payload->map->status != OVSTAGE_OK) /* when the map's id was released: see submission */
        fr_op_fail(op, payload->map->status, "%s", payload->map->text);
    if (payload->is_lost)
        fr_op_fail(op, OVSTAGE_ERROR_OP_FAILED, "what was mapped on CUDA device %d is lost: %s",
                   (int)payload->map->device->place, fr_opened_death(payload->map->device));
    fr_nothing_make_available(op, &payload->nothing);
    return FR_RUN_DONE;
}

static void fr_unmap_op_drop(fr_op *op)
{
    fr_unmap_op *payload = fr_op_payload(op);
    fr_nothing_make_available(op, &payload->nothing);
    fr_nothing_let_go(&payload->nothing);
    fr_map_unref(payload->map);
}

static const fr_op_type fr_unmap_op_type = {
    .name = "unmap",
    .run = fr_unmap_op_run,
    .drop = fr_unmap_op_drop,
};

static ovstage_api_status_t fr_unmap_admit_end(fr_submission *submission, void *user)
{
    fr_unmapping *unmapping = user;
    const fr_unmap_op *payload = fr_op_payload(submission->op);
    unmapping->phase = unmapping->map->phase;
    unmapping->was_live = unmapping->map->live;
    if (!unmapping->was_live)
        return OVSTAGE_ERROR_INVALID_HANDLE;
    submission->behind_id = fr_available_last(payload->nothing.turn);
    bool records = payload->nothing.turn != NULL; /* which a commit has done meanwhile */
    bool commits = unmapping->phase == FR_MAP_FETCHED && !payload->is_lost;
    return commits || (records && unmapping->phase != FR_MAP_OPEN) ? FR_MAP_OVERTAKEN : OVSTAGE_OK;
}

static void fr_unmap_accepted_end(fr_submission *submission, uint64_t id, void *user)
{
    const fr_unmap_op *payload = fr_op_payload(submission->op);
    fr_available_accept(payload->nothing.turn, id);
    fr_unmap_end(user);
}

static bool fr_unmap_capture_nothing(fr_nothing *nothing, const void *user, fr_device_fault *fault)
{
    const fr_unmapping *unmapping = user;
#ifdef FR_MUTATE_DEVICE_NOTHING_FORGETS_SYNC
    (void)nothing, (void)unmapping, (void)fault;
    return true;
#endif
    return fr_capture(nothing->opened, unmapping->map->ordinal, &unmapping->sync,
                      sizeof(unmapping->sync), 1, &nothing->captured, fault);
}

/* What the client's streams do is waited for as by a commit. The event is a commit's, if there was
 * one. */
static ovstage_api_status_t fr_unmap_await_nothing(fr_unmapping *unmapping, fr_nothing *nothing,
                                                   fr_op **report)
{
    fr_map *map = unmapping->map;
    if (map->device) {
        const fr_device_told told = {.what = "the end of a map",
                                     .place = map->device->place,
                                     .stream = map->stream,
                                     .sync = unmapping->sync};
        uintptr_t event = fr_unmap_phase(map) == FR_MAP_OPEN ? map->available : 0;
        /* After a commit the stream may be gone. */
        uintptr_t stream = event != 0 ? map->stream : 0;
        ovstage_api_status_t status = fr_nothing_open(nothing, map->device, stream, event,
                                                      fr_unmap_capture_nothing, unmapping);
        /* A session of a dead device ends too: its op says what was not recorded. */
        if (status == OVSTAGE_ERROR_OP_FAILED && fr_opened_is_dead(map->device))
            status = OVSTAGE_OK;
        if (status == OVSTAGE_OK && !fr_nothing_report(nothing, map->stage->graph, &told, report))
            status =
                fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
        return status;
    }
    unmapping->wait_id = 0;
    if (!fr_sync_is_given(&unmapping->sync))
        return OVSTAGE_OK;
    fr_write_sync sync = {.wait_id = 0};
    ovstage_api_status_t status =
        fr_write_sync_capture(&sync, map->stage, NULL, map->ordinal, &unmapping->sync);
    if (status == OVSTAGE_OK)
        status = fr_write_sync_submit(&sync, map->stage, &unmapping->sync, NULL, NULL);
    unmapping->wait_id = sync.wait_id;
    fr_captured_release(&sync.captured);
    return status;
}

static ovstage_enqueue_result_t fr_unmap_submit_nothing(fr_unmapping *unmapping, fr_op *op)
{
    fr_map *map = unmapping->map;
    fr_unmap_op *payload = fr_op_payload(op);
    uint64_t producers[2] = {map->client_id}; /* behind a report its own id says nothing */
    fr_submission submission = {
        .op = op,
        .has_ordinal = true,
        .ordinal = map->ordinal,
        .producer_ids = producers,
        .producer_count = 1,
        .producer_capacity = 2,
        .fails_with_producers = true, /* D17 */
        .never_full = true,
        .admit = fr_unmap_admit_end,
        .accepted = fr_unmap_accepted_end,
        .user = unmapping,
    };
    ovstage_api_status_t status =
        fr_unmap_await_nothing(unmapping, &payload->nothing, &submission.report);
    if (status != OVSTAGE_OK)
        return fr_unmap_refused(status);
    if (unmapping->wait_id != 0)
        producers[submission.producer_count++] = unmapping->wait_id;
    ovstage_enqueue_result_t result = fr_stage_submit(map->stage, &submission, 0);
    if (result.status != OVSTAGE_OK && submission.report)
        fr_device_report_put(map->stage->graph, submission.report);
    return result;
}

static ovstage_enqueue_result_t fr_unmap_nothing(fr_unmapping *unmapping)
{
    fr_map *map = unmapping->map;
    fr_op *op = fr_graph_op_get(map->stage->graph, &fr_unmap_op_type);
    if (!op)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    fr_unmap_op *payload = fr_op_payload(op);
    *payload = (fr_unmap_op){.map = map, .is_lost = unmapping->is_lost};
    fr_map_ref(map);
    ovstage_enqueue_result_t result = fr_unmap_submit_nothing(unmapping, op);
    if (result.status != OVSTAGE_OK) {
        fr_nothing_let_go(&payload->nothing);
        fr_graph_op_put(map->stage->graph, op);
        fr_map_unref(map);
    }
    return result;
}

/* --- entry points ----------------------------------------------------------------------------- */

/* Drops the caller's reference, and the handle's if that has gone. */
static ovstage_enqueue_result_t fr_unmap_done(const fr_unmapping *unmapping,
                                              ovstage_enqueue_result_t result)
{
    fr_map *map = unmapping->map;
    if (result.status == OVSTAGE_ERROR_INVALID_HANDLE && unmapping->was_live)
        fr_error_set(result.status, "the group of map handle 0x%llx %s",
                     (unsigned long long)unmapping->handle,
                     unmapping->phase == FR_MAP_OPEN ? "was not fetched" : "is committed already");
    else if (result.status == OVSTAGE_ERROR_INVALID_HANDLE)
        fr_handle_refuse(map->stage, FR_HANDLE_MAP, unmapping->handle, "map");
    if (unmapping->took_handle)
        fr_map_unref(map);
    fr_map_unref(map);
    return result;
}

static ovstage_api_status_t fr_unmap_check_sync(const fr_map *map, ovstage_cuda_sync_t sync)
{
    if (!map->device && fr_sync_is_given(&sync) && !fr_placement_is_there())
        return fr_error_set(
            OVSTAGE_ERROR_NOT_SUPPORTED,
            "write_done_sync {stream %#llx, wait_event %#llx}: no CUDA device is in use",
            (unsigned long long)sync.stream, (unsigned long long)sync.wait_event);
    return OVSTAGE_OK;
}

ovstage_enqueue_result_t fr_map_unmap_group(fr_stage *stage, ovstage_map_handle_t handle,
                                            const ovstage_map_group_t *group,
                                            ovstage_cuda_sync_t sync)
{
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status == OVSTAGE_OK && !group)
        status = fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the group is NULL");
    if (status != OVSTAGE_OK)
        return fr_unmap_refused(status);
    fr_map *map = fr_handle_acquire(stage, FR_HANDLE_MAP, handle, fr_map_ref);
    if (!map)
        return fr_unmap_refused(fr_handle_refuse(stage, FR_HANDLE_MAP, handle, "map"));
    bool known = fr_map_is_known(map); /* else nobody has got a group of it */
    if (known && (group->data.tensors != map->tensors || group->prims.list != map->query->list))
        status = fr_error_set(OVSTAGE_ERROR_INVALID_HANDLE,
                              "the group (tensors %p) is not one of map handle 0x%llx",
                              (const void *)group->data.tensors, (unsigned long long)handle);
    if (status == OVSTAGE_OK)
        status = fr_unmap_check_sync(map, sync);
    if (status != OVSTAGE_OK) {
        fr_map_unref(map);
        return fr_unmap_refused(status);
    }
    fr_unmapping unmapping = {.map = map, .handle = handle, .sync = sync, .was_live = true};
    if (!known)
        return fr_unmap_done(&unmapping, fr_unmap_refused(OVSTAGE_ERROR_INVALID_HANDLE));
    return fr_unmap_done(&unmapping, fr_unmap_commit(&unmapping));
}

ovstage_enqueue_result_t fr_map_unmap(fr_stage *stage, ovstage_map_handle_t handle,
                                      ovstage_cuda_sync_t sync)
{
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return fr_unmap_refused(status);
    fr_map *map = fr_handle_acquire(stage, FR_HANDLE_MAP, handle, fr_map_ref);
    if (!map)
        return fr_unmap_refused(fr_handle_refuse(stage, FR_HANDLE_MAP, handle, "map"));
    status = fr_unmap_check_sync(map, sync);
    if (status != OVSTAGE_OK) {
        fr_map_unref(map);
        return fr_unmap_refused(status);
    }
    fr_unmapping unmapping = {.map = map, .handle = handle, .sync = sync, .ends = true};
    ovstage_enqueue_result_t result;
    do {
        bool commits = fr_unmap_phase(map) == FR_MAP_FETCHED;
        unmapping.is_lost = commits && map->device && fr_opened_is_dead(map->device);
        result = commits && !unmapping.is_lost ? fr_unmap_commit(&unmapping)
                                               : fr_unmap_nothing(&unmapping);
    } while (result.status == FR_MAP_OVERTAKEN);
    return fr_unmap_done(&unmapping, result);
}
