/* Sessions whose buffer lies on a device. */
#include "runtime/device/capture.h"
#include "runtime/device/run.h"
#include "runtime/map/map.h"

/* What the placement asks for can be done. */
static bool fr_map_check_stream(const fr_map *map, fr_device_fault *fault)
{
    fr_opened *opened = map->device;
    fr_device_entry entry;
    if (map->stream == 0)
        return true;
    if (!fr_opened_enter(opened, &entry, fault))
        return false;
    bool fits = fr_capture_check_stream(opened, map->stream, fault);
    fr_opened_leave(opened, &entry);
    return fits;
}

ovstage_api_status_t fr_map_place(fr_map *map, const ovstage_placement_t *placement)
{
    fr_device_fault fault;
    if (!placement)
        return OVSTAGE_OK;
    ovstage_api_status_t status = fr_placement_check(map->stage, placement, &map->device);
    if (status != OVSTAGE_OK || !map->device)
        return status;
    map->stream = placement->stream;
    map->available = placement->availability_event;
    return fr_map_check_stream(map, &fault) ? OVSTAGE_OK
                                            : fr_placement_refuse(&fault, "a map on a device");
}

static bool fr_map_clear(fr_map *map, fr_device_run *run, uint64_t size_bytes,
                         fr_device_fault *fault)
{
    map->placed = fr_placed_make(run->opened, size_bytes, fault);
    return map->placed && fr_device_run_writes(run, map->placed, FR_USE_MAP_CLEARED, fault) &&
           fr_device_run_fill(run, map->placed->address, 0, size_bytes, fault) &&
           fr_device_run_record(run, fault);
}

struct fr_buffer *fr_map_make_placed(fr_map *map, uint64_t size_bytes, fr_device_fault *fault)
{
    fr_opened *opened = map->device;
    fr_device_run run;
    fr_devices_settle(opened->devices);
    /* It waits for nobody, and so neither must what the stream has before it. */
    if (!fr_device_run_begin_any(&run, opened, fr_streams_lane_of_seals(map->ordinal), NULL, fault))
        return NULL;
    bool cleared = fr_map_clear(map, &run, size_bytes, fault);
    if (cleared) {
        map->ready = run.done;
        fr_fence_retain(map->ready);
    }
    fr_device_run_end(&run);
    struct fr_buffer *buffer = NULL;
    if (cleared) {
        buffer = fr_store_buffer_of_placed(map->stage->store, map->placed, size_bytes);
        if (!buffer)
            fr_device_fault_memory(fault, size_bytes);
    }
    if (buffer)
        return buffer;
    if (map->placed)
        fr_placed_dispose(map->placed);
    map->placed = NULL;
    return NULL;
}
