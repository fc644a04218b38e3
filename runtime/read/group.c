#include "runtime/device/placed.h"
#include "runtime/read/read.h"
#include "runtime/write/access.h"

#include <string.h>

static bool fr_group_take_part(fr_read *read, fr_read_part *out)
{
    fr_mutex_lock(&read->lock);
    bool taken = read->taken < read->result.part_count;
    if (taken)
        *out = read->result.parts[read->taken++];
    fr_mutex_unlock(&read->lock);
    return taken;
}

/* The places below `taken` are free, whoever took what lay there: groups come in no order. */
static void fr_group_return_part(fr_read *read, const fr_read_part *part)
{
    fr_mutex_lock(&read->lock);
    read->result.parts[--read->taken] = *part;
    fr_mutex_unlock(&read->lock);
}

static void fr_group_describe(fr_group *group, ovstage_read_group_t *out)
{
    const fr_read_part *part = &group->part;
    /* The interface has no pointer to const; nobody may write through it. */
    union {
        const void *kept;
        void *shown;
    } data = {part->data};
    DLDevice device = {kDLCPU, 0};
    if (part->placed && !part->staged) {
        data.shown = (void *)(uintptr_t)part->placed->address;
        device = (DLDevice){kDLCUDA, part->device->place};
    }
    group->rows = part->count;
    group->tensor = (DLTensor){
        .data = data.shown,
        .device = device,
        .ndim = 1,
        .dtype = {part->schema.code, part->schema.bits, part->schema.lanes},
        .shape = &group->rows,
    };
    memset(out, 0, sizeof(*out));
    out->attribute = part->name;
    out->ordinal = part->ordinal;
    out->is_array = part->schema.is_array;
    out->semantic = part->schema.semantic;
    out->prims.list = group->query->list;
    out->prims.count = part->count;
    out->prims.index_map = part->all_prims ? NULL : part->positions;
    out->data.tensors = out->is_array ? part->tensors : &group->tensor;
    out->data.tensor_count = out->is_array ? part->count : 1;
    out->data.count = part->count;
    out->is_delete = part->is_delete;
    if (part->is_delete)
        out->data = (ovstage_data_t){0}; /* R70 */
    out->meta.attribute_write_floor_ordinal = part->floor;
    out->meta.layout_generation = part->layout_generation;
}

/* A group of the part and a handle for it; on failure the part is as it was but for what
 * materialize made. */
static ovstage_api_status_t fr_group_make(fr_read *read, fr_read_part *part,
                                          ovstage_read_group_t *out)
{
    fr_stage *stage = read->stage;
    ovstage_api_status_t status = fr_store_read_materialize(stage->store, read->query, part);
    if (status != OVSTAGE_OK)
        return fr_error_set(status, "no memory to gather a group of %u rows of %u bytes",
                            part->count, part->schema.row_bytes);
    fr_group *group = fr_slabs_get(&stage->access->groups);
    if (!group)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a read group");
    group->stage = stage;
    group->query = read->query;
    group->part = *part;
    ovstage_read_group_t shown;
    fr_group_describe(group, &shown);
    fr_query_acquire(read->query);
    shown.read_group_id = fr_handle_create(stage, FR_HANDLE_GROUP, group);
    if (shown.read_group_id == OVSTAGE_INVALID_READ_GROUP_ID) {
        fr_query_release(read->query);
        fr_slabs_put(&stage->access->groups, group);
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a read group's handle");
    }
    *out = shown;
    return OVSTAGE_OK;
}

ovstage_api_status_t fr_group_next(fr_read *read, ovstage_read_group_t *out)
{
    fr_read_part part;
    if (!fr_group_take_part(read, &part))
        return OVSTAGE_ERROR_END_OF_ITERATION;
    ovstage_api_status_t status = fr_group_make(read, &part, out);
    if (status != OVSTAGE_OK)
        fr_group_return_part(read, &part);
    return status;
}

void fr_group_release(void *object)
{
    fr_group *group = object;
    fr_stage *stage = group->stage;
    fr_query *query = group->query;
    fr_read_release_part(stage, &group->part);
    fr_slabs_put(&stage->access->groups, group);
    fr_query_release(query);
}

ovstage_api_status_t fr_read_release_group(fr_stage *stage, const ovstage_read_group_t *group)
{
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return status;
    if (!group)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "group is NULL");
    void *object = fr_handle_remove(stage, FR_HANDLE_GROUP, group->read_group_id);
    if (!object)
        return fr_handle_refuse(stage, FR_HANDLE_GROUP, group->read_group_id, "read group");
    fr_group_release(object);
    return OVSTAGE_OK;
}
