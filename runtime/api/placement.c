#include "runtime/api/placement.h"

#include "runtime/device/provider.h"
#include "runtime/map/map.h"
#include "runtime/read/read.h"
#include "runtime/write/managed.h"
#include "runtime/write/write_op.h"

bool fr_placement_find(fr_device_fault *fault)
{
    if (fr_device_provider)
        return fr_device_provider->count(fault) > 0;
    *fault = (fr_device_fault){.kind = FR_DEVICE_ABSENT, .text = "there is no device driver"};
    return false;
}

bool fr_placement_is_there(void)
{
    fr_device_fault none;
    return fr_placement_find(&none);
}

/* NULL with the fault set. */
static fr_devices *fr_stage_devices(fr_stage *stage, fr_device_fault *fault)
{
    /* [stage.devices.read] pairs [stage.devices.publish] : all of it is there */
    fr_devices *devices = fr_load_acquire(&stage->devices), *none = NULL;
    if (devices)
        return devices;
    if (!fr_device_provider && !fr_placement_find(fault))
        return NULL;
    devices = fr_devices_create(&stage->allocator, fr_device_provider, stage->pool);
    if (!devices) {
        fr_device_fault_memory(fault, sizeof(*devices));
        return NULL;
    }
    /* [stage.devices.publish] pairs [stage.devices.read], [stage.devices.settle],
     * [stage.devices.task], [stage.devices.count] : see there */
    if (fr_cas_acq_rel_seen(&stage->devices, &none, devices))
        return devices;
    fr_devices_destroy(devices);
    return none;
}

ovstage_api_status_t fr_placement_status(const fr_device_fault *fault)
{
    switch (fault->kind) {
    case FR_DEVICE_ABSENT:
    case FR_DEVICE_REFUSED:
        return OVSTAGE_ERROR_INVALID_ARGUMENT;
    case FR_DEVICE_MEMORY:
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    default:
        return OVSTAGE_ERROR_OP_FAILED;
    }
}

ovstage_api_status_t fr_placement_refuse(const fr_device_fault *fault, const char *what)
{
    return fr_error_set(fr_placement_status(fault), "%s: %s", what, fault->text);
}

ovstage_api_status_t fr_placement_check(fr_stage *stage, const ovstage_placement_t *placement,
                                        fr_opened **out)
{
    int type = (int)placement->device.device_type;
    *out = NULL;
    if (placement->stream == 2)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "placement.stream 2 is the calling thread's own default stream, and "
                            "others do the work");
    if (type == kDLCPU && !placement->stream && !placement->availability_event)
        return OVSTAGE_OK;
    if (type == kDLCPU)
        return fr_error_set(OVSTAGE_ERROR_NOT_SUPPORTED,
                            "placement on the host with stream %#llx and availability_event %#llx: "
                            "neither is supported there",
                            (unsigned long long)placement->stream,
                            (unsigned long long)placement->availability_event);
    if (type != kDLCUDA)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "placement.device type %d is neither kDLCPU (1) nor kDLCUDA (2)", type);
    fr_device_fault fault;
    fr_devices *devices = fr_stage_devices(stage, &fault);
    if (devices)
        *out = fr_devices_open(devices, placement->device.device_id, &fault);
    return *out ? OVSTAGE_OK : fr_placement_refuse(&fault, "placement.device");
}

/* --- the table -------------------------------------------------------------------------------- */

static fr_stage *fr_stage_of_context(ovstage_context_t *context)
{
    return (fr_stage *)(void *)context;
}

static ovstage_enqueue_result_t fr_placed_write_attributes(ovstage_context_t *context,
                                                           ovstage_query_handle_t query,
                                                           const ovstage_attribute_write_t *writes,
                                                           size_t n, ovstage_ordinal_t ordinal,
                                                           ovstage_prim_mode_t prim_mode,
                                                           const ovstage_placement_t *placement)
{
    fr_stage *stage = fr_stage_of_context(context);
    if (!placement)
        return fr_write_attributes(stage, query, writes, n, ordinal, prim_mode);
    const fr_write_request request = {.query = query,
                                      .writes = writes,
                                      .count = n,
                                      .ordinal = ordinal,
                                      .mode = (int)prim_mode,
                                      .mode_count = FR_WRITE_PRIM_MODES,
                                      .placement = placement};
    return fr_write_enter(stage, &request);
}

static ovstage_enqueue_result_t fr_placed_write_attribute(
    ovstage_context_t *context, ovstage_query_handle_t query, ovx_string_or_token_t attribute,
    ovstage_ordinal_t ordinal, ovstage_write_data_t data, ovstage_prim_mode_t prim_mode,
    const ovstage_placement_t *placement)
{
    if (!placement)
        return fr_write_attribute(fr_stage_of_context(context), query, attribute, ordinal, data,
                                  prim_mode);
    const ovstage_attribute_write_t write = {attribute, data};
    return fr_placed_write_attributes(context, query, &write, 1, ordinal, prim_mode, placement);
}

static ovstage_enqueue_result_t fr_placed_read_attributes(
    ovstage_context_t *context, ovstage_query_handle_t query, const ovx_token_t *attrs, size_t n,
    ovstage_ordinal_range_t range, const ovstage_placement_t *placement, ovstage_read_handle_t *out)
{
    return fr_read_attributes_placed(fr_stage_of_context(context), query, attrs, n, range,
                                     placement, out);
}

static ovstage_enqueue_result_t fr_placed_map_attribute(
    ovstage_context_t *context, ovstage_query_handle_t query, const ovstage_map_desc_t *desc,
    ovstage_ordinal_t ordinal, const size_t *element_sizes, size_t element_count,
    const ovstage_placement_t *placement, ovstage_map_handle_t *out)
{
    return fr_map_attribute_placed(fr_stage_of_context(context), query, desc, ordinal,
                                   element_sizes, element_count, placement, out);
}

const ovstage_placement_extension_v1_t fr_placement_table = {
    .version = OVSTAGE_PLACEMENT_EXTENSION_VERSION,
    .table_size = sizeof(ovstage_placement_extension_v1_t),
    .write_attribute = fr_placed_write_attribute,
    .write_attributes = fr_placed_write_attributes,
    .read_attributes = fr_placed_read_attributes,
    .map_attribute = fr_placed_map_attribute,
};
