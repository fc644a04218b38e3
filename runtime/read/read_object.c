#include "runtime/device/available.h"
#include "runtime/read/derived.h"
#include "runtime/write/access.h"
#include "runtime/write/write_op.h"

#include <stdio.h>
#include <string.h>

static size_t fr_read_names_bytes(const fr_read *read)
{
    return read->name_count * sizeof(fr_read_name);
}

fr_read *fr_read_make(fr_stage *stage, fr_query *query, const fr_read_bounds *bounds,
                      uint32_t name_count)
{
    fr_read *read = fr_slabs_get(&stage->access->reads);
    if (!read)
        return NULL;
    read->stage = stage;
    read->query = query;
    read->bounds = *bounds;
    read->op_id = OVSTAGE_INVALID_OP_ID;
    fr_store_relaxed(&read->references, 1);
    fr_store_relaxed(&read->state, FR_READ_PENDING);
    read->status = OVSTAGE_OK;
    read->device = NULL;
    read->turn = NULL;
    read->ready = read->pending = NULL;
    read->is_pinned = read->waits = false;
    read->wait = (fr_stream_wait){.stream = NULL};
    read->name_count = name_count;
    read->names = read->few;
    read->taken = 0;
    read->result.part_count = 0;
    read->result.text[0] = '\0';
    if (name_count > FR_READ_INLINE_NAMES)
        read->names = fr_access_block_get(stage, fr_read_names_bytes(read));
    if (!read->names) {
        fr_slabs_put(&stage->access->reads, read);
        return NULL;
    }
    return read;
}

void fr_read_ref(void *object)
{
    fr_read *read = object;
    fr_add_relaxed(&read->references, 1);
}

void fr_read_release_part(fr_stage *stage, fr_read_part *part)
{
    if (part->own)
        fr_placed_dispose(part->own);
    if (part->together)
        fr_placed_dispose(part->together);
    if (part->staged)
        fr_staging_give(part->staged);
    fr_store_buffer_release(stage->store, part->kept);
    part->own = part->together = NULL;
    part->kept = NULL;
    part->staged = NULL;
    if (part->attribute)
        fr_store_read_release(stage->store, part);
    else
        fr_derived_release(stage, part);
}

static void fr_read_release_parts(fr_read *read)
{
    for (uint32_t p = read->taken; p < read->result.part_count; p++)
        fr_read_release_part(read->stage, &read->result.parts[p]);
    read->taken = read->result.part_count = 0;
    fr_fence_release(read->ready);
    fr_fence_release(read->pending);
    read->ready = read->pending = NULL;
    read->is_pinned = read->waits = false;
}

void fr_read_unref(void *object)
{
    fr_read *read = object;
    /* [read.references.drop] pairs [read.references.drop] : the last one sees what the others did
     * with it */
    if (fr_sub_acq_rel(&read->references, 1) != 1)
        return;
    fr_stage *stage = read->stage;
    fr_query *query = read->query;
    fr_read_release_parts(read);
    fr_available_put(read->turn);
    if (read->names != read->few)
        fr_access_block_put(stage, read->names, fr_read_names_bytes(read));
    fr_slabs_put(&stage->access->reads, read);
    fr_query_release(query);
}

void fr_read_dispose(void *object, const fr_allocator *allocator)
{
    fr_read *read = object;
    fr_memory_release(allocator, read->result.parts,
                      read->result.part_capacity * sizeof(fr_read_part));
}

static void fr_read_publish(fr_read *read, ovstage_api_status_t status)
{
    read->status = status;
    /* [read.state.judged] pairs [read.state.look] : status, text and parts are there before a fetch
     * goes by them */
    fr_store_release(&read->state, FR_READ_JUDGED);
}

static ovstage_api_status_t fr_read_derive(fr_read *read, const fr_read_name *name,
                                           const fr_floor_record *record)
{
    ovstage_api_status_t status = fr_derived_read(read, name, record);
    if (status != OVSTAGE_OK)
        (void)snprintf(read->result.text, sizeof(read->result.text), "no memory for %s of %u prims",
                       fr_reserved_name(name->derived), read->query->count);
    return status;
}

/* What the store says of an attribute that it knows by number only. */
static void fr_read_say_where(fr_read *read, const fr_attribute *attribute)
{
    char said[sizeof(read->result.text) - sizeof(fr_key_told) - 2]; /* ": " comes before it */
    (void)snprintf(said, sizeof(said), "%.*s", (int)sizeof(said) - 1, read->result.text);
    (void)snprintf(read->result.text, sizeof(read->result.text), "%s: %s",
                   fr_write_tell_key(read->stage, attribute, read->result.refused_prim).text, said);
}

static ovstage_api_status_t fr_read_pin(fr_read *read, const fr_floor_record *record)
{
    ovstage_api_status_t status = OVSTAGE_OK;
    /* As long as a name is not judged, no seal can overtake it; what an earlier record said of it
     * is void. */
#ifndef FR_MUTATE_READ_KEEPS_OLDER_LOOKS
    for (uint32_t n = 0; n < read->name_count; n++) {
        read->names[n].sealed = true;
        read->names[n].floor = UINT64_MAX;
    }
#endif
    for (uint32_t n = 0; n < read->name_count && status == OVSTAGE_OK; n++) {
        fr_read_name *name = &read->names[n];
        if (!name->attribute) {
            name->sealed = false;
            if (name->derived != FR_RESERVED_NONE)
                status = fr_read_derive(read, name, record);
            continue;
        }
        name->floor = fr_floor_effective(record, name->attribute->index);
        name->sealed = name->floor >= read->bounds.end;
        status = fr_store_read_pin(read->stage->store, name->attribute, name->token, read->query,
                                   &read->bounds, record, &read->result);
        if (status != OVSTAGE_OK)
            fr_read_say_where(read, name->attribute);
    }
    if (status != OVSTAGE_OK)
        fr_read_release_parts(read);
    return status;
}

/* The lowest ordinal that the read selects at by this record. */
static uint64_t fr_read_moment(const fr_read *read, const fr_floor_record *record)
{
    uint64_t moment = read->bounds.end;
    for (uint32_t n = 0; n < read->name_count; n++) {
        const fr_attribute *attribute = read->names[n].attribute;
        uint64_t floor =
            attribute ? fr_floor_effective(record, attribute->index) : read->bounds.end;
        moment = floor < moment ? floor : moment;
    }
    return moment;
}

void fr_read_keep(const fr_read *read, fr_read_hold *hold, uint64_t moment)
{
    fr_store_moment_hold(read->stage->store, &hold->moment, moment);
    if (read->bounds.is_range)
        fr_store_start_hold(read->stage->store, &hold->start, read->bounds.start);
}

void fr_read_let_go(const fr_read *read, fr_read_hold *hold)
{
    fr_store_moment_release(read->stage->store, &hold->moment);
    if (read->bounds.is_range)
        fr_store_start_release(read->stage->store, &hold->start);
}

/* Seals that are published while a read goes by an older record may drop what that selects. Then it
 * is done again with its moment held: nothing that the record of then selects is dropped any more.
 */
static ovstage_api_status_t fr_read_pin_now(fr_read *read)
{
    fr_stage *stage = read->stage;
    const fr_floor_record *record = fr_floors_record_acquire(stage->floors);
    ovstage_api_status_t status = fr_read_pin(read, record);
    uint64_t serial = record->serial;
    uint64_t moment = fr_read_moment(read, record);
    fr_floors_record_release(stage->floors, record);
    if (status == OVSTAGE_ERROR_OUT_OF_RANGE) {
        fr_read_hold hold;
        fr_read_keep(read, &hold, moment);
        record = fr_floors_record_acquire(stage->floors);
        if (record->serial != serial)
            status = fr_read_pin(read, record);
        fr_floors_record_release(stage->floors, record);
        fr_read_let_go(read, &hold);
    }
    return status;
}

bool fr_read_judge(fr_read *read, fr_graph *graph, fr_op *op)
{
    ovstage_api_status_t status = read->is_pinned ? OVSTAGE_OK : fr_read_pin_now(read);
    if (status == OVSTAGE_OK) {
        read->is_pinned = true;
        read->graph = graph;
        read->op = op;
        status = fr_read_to_device(read);
        if (status == OVSTAGE_OK && read->waits)
            return false;
        if (status != OVSTAGE_OK)
            fr_read_release_parts(read);
    }
    fr_read_publish(read, status);
    return true;
}

void fr_read_unjudge(fr_read *read)
{
    fr_read_release_parts(read);
    read->told = false; /* in its turn */
    fr_store_relaxed(&read->state, FR_READ_PENDING);
}

void fr_read_resolve(fr_read *read)
{
    for (uint32_t n = 0; n < read->name_count; n++) {
        fr_read_name *name = &read->names[n];
        if (!name->attribute && name->derived == FR_RESERVED_NONE)
            name->attribute = fr_store_attribute_find(read->stage->store, name->token);
    }
}

void fr_read_fail(fr_read *read, ovstage_api_status_t status, const char *text)
{
    (void)snprintf(read->result.text, sizeof(read->result.text), "%s", text);
    fr_read_publish(read, status);
}
