/* Snapshots that clients open: a moment whose history is kept. All that there is of one is its
 * ordinal, which its handle stands for, and which the store keeps in a list. */
#include "runtime/api/handles.h"
#include "runtime/floor/floors.h"

/* A handle's object may be any word. */
static void *fr_snapshot_object(uint64_t ordinal)
{
    return (void *)(uintptr_t)ordinal;
}

static uint64_t fr_snapshot_ordinal(const void *object)
{
    return (uintptr_t)object;
}

_Static_assert(sizeof(uintptr_t) == sizeof(uint64_t), "an ordinal fits");

/* --- which moment ----------------------------------------------------------------------------- */

static ovstage_api_status_t fr_snapshot_check(const flyrail_snapshot_desc_t *desc,
                                              const flyrail_snapshot_t *out)
{
    if (!desc || !out)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the %s is NULL",
                            desc ? "snapshot out pointer" : "snapshot descriptor");
    if (desc->struct_size != sizeof(flyrail_snapshot_desc_t))
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "struct_size %u is not that of a flyrail_snapshot_desc_t (%zu)",
                            desc->struct_size, sizeof(flyrail_snapshot_desc_t));
    if (!desc->attributes && desc->attribute_count > 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "attributes is NULL, attribute_count is %zu", desc->attribute_count);
    return OVSTAGE_OK;
}

/* All of them by one record, so that they belong to one moment. */
static ovstage_api_status_t fr_snapshot_floor(fr_stage *stage, const flyrail_snapshot_desc_t *desc,
                                              uint64_t *out)
{
    *out = desc->attribute_count == 0 ? fr_floors_executed(stage->floors, NULL) : UINT64_MAX;
    const fr_floor_record *record = fr_floors_record_acquire(stage->floors);
    ovstage_api_status_t status = OVSTAGE_OK;
    for (size_t k = 0; k < desc->attribute_count && status == OVSTAGE_OK; k++) {
        ovx_string_or_token_t name = {desc->attributes[k], {NULL, 0}};
        fr_attribute *attribute = NULL;
        ovx_token_t token;
        status = fr_stage_attribute(stage, name, false, &attribute, &token);
        uint64_t floor = attribute ? fr_floor_effective(record, attribute->index) : record->base;
        *out = floor < *out ? floor : *out;
    }
    fr_floors_record_release(stage->floors, record);
    return status;
}

static ovstage_api_status_t fr_snapshot_choose(fr_stage *stage, const flyrail_snapshot_desc_t *desc,
                                               uint64_t *out)
{
    uint64_t floor = 0;
    ovstage_api_status_t status = fr_snapshot_floor(stage, desc, &floor);
    if (status == OVSTAGE_OK && !desc->newest && desc->ordinal > floor)
        return fr_error_set(OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION,
                            "ordinal %llu is not sealed: the write floor is %llu (%s)",
                            (unsigned long long)desc->ordinal, (unsigned long long)floor,
                            desc->attribute_count > 0 ? "the least of the attributes'"
                                                      : "of all attributes");
    *out = desc->newest ? floor : desc->ordinal;
    return status;
}

/* --- entry points ----------------------------------------------------------------------------- */

static ovstage_api_status_t fr_snapshot_held(fr_stage *stage)
{
    ovstage_api_status_t status = fr_store_snapshot_hold(stage->store);
    if (status == OVSTAGE_ERROR_OUT_OF_RANGE)
        return fr_error_set(status, "%u snapshots are open, which is the limit",
                            FR_STORE_SNAPSHOTS);
    if (status != OVSTAGE_OK)
        return fr_error_set(status, "no memory for a snapshot");
    return OVSTAGE_OK;
}

ovstage_api_status_t flyrail_snapshot_open(ovstage_instance_t *instance,
                                           const flyrail_snapshot_desc_t *desc,
                                           flyrail_snapshot_t *out, ovstage_ordinal_t *out_ordinal)
{
    if (out)
        *out = FLYRAIL_INVALID_SNAPSHOT;
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status == OVSTAGE_OK)
        status = fr_snapshot_check(desc, out);
    /* Everything is kept from now on. A seal that trims by an older look was published before, so
     * it is in the floor that is read below, and leaves the newest states at that. */
    if (status == OVSTAGE_OK)
        status = fr_snapshot_held(stage);
    if (status != OVSTAGE_OK)
        return status;
    uint64_t ordinal = 0;
    status = fr_snapshot_choose(stage, desc, &ordinal);
    if (status != OVSTAGE_OK) {
        fr_store_snapshot_release(stage->store, 0);
        return status;
    }
    fr_store_snapshot_settle(stage->store, ordinal);
    *out = fr_handle_create(stage, FR_HANDLE_SNAPSHOT, fr_snapshot_object(ordinal));
    if (*out == FLYRAIL_INVALID_SNAPSHOT) {
        fr_store_snapshot_release(stage->store, ordinal);
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a snapshot's handle");
    }
    if (out_ordinal)
        *out_ordinal = ordinal;
    return OVSTAGE_OK;
}

ovstage_enqueue_result_t flyrail_snapshot_read(ovstage_instance_t *instance,
                                               flyrail_snapshot_t snapshot,
                                               ovstage_query_handle_t query,
                                               const ovx_token_t *attributes,
                                               size_t attribute_count, ovstage_read_handle_t *out)
{
    if (out)
        *out = OVSTAGE_INVALID_READ_HANDLE;
    fr_stage *stage = fr_stage_of(instance);
    ovstage_enqueue_result_t refused = {fr_stage_enter(stage), OVSTAGE_INVALID_OP_ID};
    if (refused.status != OVSTAGE_OK)
        return refused;
    void *object = NULL;
    if (!fr_handles_get(stage->handles, FR_HANDLE_SNAPSHOT, snapshot, NULL, &object)) {
        refused.status = fr_handle_refuse(stage, FR_HANDLE_SNAPSHOT, snapshot, "snapshot");
        return refused;
    }
    ovstage_ordinal_range_t range = {.end_ordinal = fr_snapshot_ordinal(object)};
    return fr_read_attributes(stage, query, attributes, attribute_count, range, out);
}

ovstage_api_status_t flyrail_snapshot_close(ovstage_instance_t *instance,
                                            flyrail_snapshot_t snapshot)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return status;
    void *object = NULL;
    if (!fr_handles_take(stage->handles, FR_HANDLE_SNAPSHOT, snapshot, &object))
        return fr_handle_refuse(stage, FR_HANDLE_SNAPSHOT, snapshot, "snapshot");
    fr_store_snapshot_release(stage->store, fr_snapshot_ordinal(object));
    return OVSTAGE_OK;
}
