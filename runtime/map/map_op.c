/* The op of map_attribute: judges, and makes the buffer. */
#include "runtime/map/map.h"

#include "runtime/device/placed.h"
#include "runtime/device/report.h"
#include "runtime/query/filter.h"
#include "runtime/write/write_op.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A finite wait starts nothing that clears more than this (L8). */
#define FR_MAP_LARGE_BYTES (64u << 10)

typedef struct fr_map_text {
    char text[256];
} fr_map_text;

__attribute__((format(printf, 3, 4))) static ovstage_api_status_t fr_map_say(
    fr_map_text *out, ovstage_api_status_t status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(out->text, sizeof(out->text), format, arguments);
    va_end(arguments);
    return status;
}

/* --- judging ---------------------------------------------------------------------------------- */

static uint64_t fr_map_bytes(const fr_map *map, const fr_schema *schema)
{
    uint32_t count = map->query->count;
    if (map->schema.is_array && count > 0)
        return fr_store_slices_bytes(map->buffer, count, schema->row_bytes);
    return (uint64_t)count * schema->row_bytes;
}

static fr_row_source fr_map_rows(const fr_map *map)
{
    fr_row_source rows = {.count = map->query->count, .selected_count = map->query->count};
    return rows;
}

static fr_write fr_map_write(const fr_map *map, uint64_t op_id, const fr_row_source *rows)
{
    fr_write write = {.attribute = map->attribute,
                      .schema = map->schema,
                      .query = map->query,
                      .ordinal = map->ordinal,
                      .op_id = op_id,
                      .any_role = map->any_role,
                      .rows = rows};
    return write;
}

static ovstage_api_status_t fr_map_judge_insert(const fr_map *map, uint64_t op_id, fr_map_text *out)
{
    fr_row_source rows = fr_map_rows(map);
    ovx_primpath_t prim = OVX_INVALID_PRIMPATH;
    if (!map->inserts ||
        !fr_store_insert_conflict(map->stage->store, map->query, &rows, map->ordinal, op_id, &prim))
        return OVSTAGE_OK;
    return fr_map_say(out, OVSTAGE_ERROR_PRIM_NOT_FOUND,
                      "INSERT at ordinal %llu: prim '%s' exists already",
                      (unsigned long long)map->ordinal, fr_write_path(map->stage, prim));
}

/* The schema that all keys of the prims have (R118). */
static ovstage_api_status_t fr_map_find_schema(const fr_map *map, uint64_t op_id, bool all,
                                               fr_schema *schema, fr_map_text *out)
{
    fr_row_source rows = fr_map_rows(map);
    fr_write write = fr_map_write(map, op_id, &rows);
    ovx_primpath_t prim = OVX_INVALID_PRIMPATH;
    const char *name = fr_write_name(map->stage, map->attribute);
    switch (fr_store_keys_schema(&write, all, schema, &prim)) {
    case FR_KEYS_NONE:
        return fr_map_say(out, OVSTAGE_ERROR_INVALID_ARGUMENT,
                          "attribute '%s' is new to the %u prims: a dtype is needed", name,
                          map->query->count);
    case FR_KEYS_DIFFER:
        return fr_map_say(out, OVSTAGE_ERROR_INVALID_ARGUMENT,
                          "%s has another schema, %s, than on prims before it, or another role "
                          "than %s: a zero dtype is ambiguous",
                          fr_write_tell_key(map->stage, map->attribute, prim).text,
                          fr_schema_tell(schema).text, fr_semantic_name(map->schema.semantic));
    default:
        break;
    }
    if (schema->is_array != map->schema.is_array)
        return fr_map_say(out, OVSTAGE_ERROR_INVALID_ARGUMENT,
                          "attribute '%s' is %s on prim '%s', but element_sizes %s", name,
                          schema->is_array ? "an array" : "no array",
                          fr_write_path(map->stage, map->query->prims[0]),
                          map->schema.is_array ? "are given" : "is NULL");
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_map_judge_schema(const fr_map *map, uint64_t op_id, bool all,
                                                fr_schema *schema, fr_map_text *out)
{
    fr_row_source rows = fr_map_rows(map);
    fr_write write = fr_map_write(map, op_id, &rows);
    ovx_primpath_t prim = OVX_INVALID_PRIMPATH;
    fr_schema existing;
    *schema = map->schema;
    if (map->finds_schema)
        return fr_map_find_schema(map, op_id, all, schema, out);
    if (!all || !fr_store_schema_conflict(&write, &prim, &existing))
        return OVSTAGE_OK;
    return fr_map_say(out, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s",
                      fr_write_tell_conflict(map->stage, &write, prim, &existing).text);
}

bool fr_map_is_open(const fr_map *map)
{
    const fr_attribute *attribute = map->attribute;
    fr_write_entry entry = {
        .attribute = map->attribute, .schema = map->schema, .any_role = map->any_role};
    if ((!map->meets_query && map->query->count == 0) || !attribute->schema_entered)
        return false;
    return !attribute->schema_single || (!map->finds_schema && !fr_write_joins(&entry));
}

ovstage_api_status_t fr_map_judge_submitted(fr_map *map)
{
    fr_graph *graph = map->stage->graph;
    fr_map_text out;
    fr_schema schema;
    uint64_t next_id = 0, bit = (uint64_t)1 << map->attribute->index % 64;
    fr_graph_lock(graph);
    bool all = fr_map_is_open(map);
    /* The first schema is a guess, which the op puts right. */
    map->expected_bytes =
        fr_map_bytes(map, map->finds_schema ? &map->attribute->schema : &map->schema);
    bool judges =
        (all || map->finds_schema) && fr_graph_is_settled(graph, map->ordinal, bit, &next_id);
    fr_graph_unlock(graph);
    ovstage_api_status_t status = OVSTAGE_OK;
    if (map->inserts && fr_write_decides_insert(map->stage, map->ordinal))
        status = fr_map_judge_insert(map, UINT64_MAX, &out);
    if (status == OVSTAGE_OK && judges)
        status = fr_map_judge_schema(map, next_id, all, &schema, &out);
    return status == OVSTAGE_OK ? status : fr_error_set(status, "%s", out.text);
}

/* --- the op ----------------------------------------------------------------------------------- */

static void fr_map_publish(fr_map *map, ovstage_api_status_t status, const fr_map_text *text)
{
    map->status = status;
    if (status != OVSTAGE_OK)
        memcpy(map->text, text->text, sizeof(map->text));
    /* [map.state.known] pairs [map.state.look] : status, text, schema, buffer and tensor are there
     * before a fetch goes by them */
    fr_store_release(&map->state, FR_MAP_KNOWN);
}

static void fr_map_describe_rows(fr_map *map, DLDevice device, void *data)
{
    map->rows = map->query->count;
    map->tensor = (DLTensor){
        .data = data,
        .device = device,
        .ndim = 1,
        .dtype = {map->schema.code, map->schema.bits, map->schema.lanes},
        .shape = &map->rows,
    };
    map->tensors = &map->tensor;
}

static struct fr_buffer *fr_map_make_rows(fr_map *map, uint64_t size_bytes)
{
    struct fr_buffer *buffer = fr_store_buffer_get(map->stage->store, size_bytes);
    if (!buffer)
        return NULL;
    fr_map_describe_rows(map, (DLDevice){kDLCPU, 0}, fr_store_buffer_data(buffer));
#ifndef FR_MUTATE_MAP_NOT_CLEARED
    memset(map->tensor.data, 0, size_bytes);
#endif
    return buffer;
}

static ovstage_api_status_t fr_map_make_there(fr_map *map, uint64_t size_bytes,
                                              struct fr_buffer **buffer, fr_map_text *out)
{
    fr_device_fault fault;
    *buffer = fr_map_make_placed(map, size_bytes, &fault);
    if (!*buffer)
        return fr_map_say(out, fr_placement_status(&fault), "a map on a device: %s", fault.text);
    fr_map_describe_rows(map, (DLDevice){kDLCUDA, map->device->place},
                         (void *)(uintptr_t)map->placed->address);
    return OVSTAGE_OK;
}

/* The same of an array, whose slices are there. */
static ovstage_api_status_t fr_map_make_slices_there(fr_map *map, struct fr_buffer **buffer,
                                                     fr_map_text *out)
{
    fr_device_fault fault;
    fr_store *store = map->stage->store;
    uint32_t count = map->query->count;
    uint64_t size_bytes = fr_store_slices_elements_bytes(map->buffer, count, map->schema.row_bytes);
    struct fr_buffer *payload = size_bytes > 0 ? fr_map_make_placed(map, size_bytes, &fault) : NULL;
    if (size_bytes > 0 && !payload)
        return fr_map_say(out, fr_placement_status(&fault), "a map on a device: %s", fault.text);
    if (!fr_store_slices_place_on(store, map->buffer, count, &map->schema, map->device->place,
                                  payload, &map->tensors_buffer))
        return fr_map_say(out, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory to map %u rows", count);
    map->tensors = fr_store_buffer_data(map->tensors_buffer);
    *buffer = map->buffer;
    return OVSTAGE_OK;
}

static struct fr_buffer *fr_map_make_slices(fr_map *map)
{
    if (!fr_store_slices_place(map->stage->store, map->buffer, map->query->count, &map->schema,
                               &map->tensors_buffer))
        return NULL;
    map->tensors = fr_store_buffer_data(map->tensors_buffer);
    return map->buffer;
}

static ovstage_api_status_t fr_map_make_buffer(fr_map *map, fr_map_text *out)
{
    fr_stage *stage = map->stage;
    if (map->query->count == 0)
        return OVSTAGE_OK;
    uint64_t size_bytes = fr_map_bytes(map, &map->schema);
    struct fr_buffer *buffer = NULL;
    ovstage_api_status_t status = OVSTAGE_OK;
    if (map->device && map->schema.is_array)
        status = fr_map_make_slices_there(map, &buffer, out);
    else if (map->device)
        status = fr_map_make_there(map, size_bytes, &buffer, out);
    else
        buffer = map->schema.is_array ? fr_map_make_slices(map) : fr_map_make_rows(map, size_bytes);
    if (status != OVSTAGE_OK)
        return status;
    if (!buffer)
        return fr_map_say(out, OVSTAGE_ERROR_OUT_OF_MEMORY,
                          "no memory to map %u rows of %llu bytes", map->query->count,
                          (unsigned long long)size_bytes);
    map->payload_bytes = size_bytes;
    fr_graph_lock(stage->graph);
    map->buffer = buffer;
    fr_count(&stage->accepted_payload_bytes, size_bytes - map->counted_bytes);
    map->counted_bytes = size_bytes;
    fr_graph_unlock(stage->graph);
    return OVSTAGE_OK;
}

/* What could not be said as long as nobody knew the query's prims. */
static ovstage_api_status_t fr_map_meet_query(const fr_map *map, fr_map_text *out)
{
    if (!map->meets_query)
        return OVSTAGE_OK;
    if (!fr_query_is_ready(map->query)) {
        const char *text;
        ovstage_api_status_t status = fr_query_failure(map->query, &text);
        return fr_map_say(out, status, "%s", text);
    }
    if (map->schema.is_array && map->element_count != map->query->count)
        return fr_map_say(out, OVSTAGE_ERROR_INVALID_ARGUMENT,
                          "element_count = %u, but the query has %u prims", map->element_count,
                          map->query->count);
    if (map->doom != OVSTAGE_OK && map->query->count > 0)
        return fr_map_say(out, map->doom, "%s", map->text);
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_map_judge(const fr_map *map, uint64_t op_id, fr_schema *schema,
                                         fr_map_text *text)
{
    ovstage_api_status_t status = fr_map_judge_insert(map, op_id, text);
    if (status == OVSTAGE_OK)
        status = fr_map_judge_schema(map, op_id, map->judge, schema, text);
    /* Asked last: it may be lost while it is looked at. */
    if (fr_map_is_judged(map) && fr_store_judgement_lost(map->stage->store, op_id))
        status = fr_map_say(text, OVSTAGE_ERROR_OUT_OF_MEMORY,
                            "what the map is judged by was lost for want of memory");
    return status;
}

/* The map is complete when its buffer is cleared. */
static void fr_map_tell(const fr_map *map, fr_op *report)
{
#ifdef FR_MUTATE_DEVICE_MAP_REPORTS_EARLY
    report = NULL;
#endif
    if (report && map->ready)
        fr_device_report_tell(report, map->ready,
                              &(fr_device_told){.what = "a map", .place = map->device->place});
}

static fr_run_result fr_map_op_run(fr_op *op, const fr_run_context *context)
{
    fr_map_op *payload = fr_op_payload(op);
    fr_map *map = payload->map;
    fr_map_text text = {""};
    fr_schema schema = map->schema;
    ovstage_api_status_t status = fr_map_meet_query(map, &text);
    (void)context;
    if (status == OVSTAGE_OK && map->query->count > 0)
        status = fr_map_judge(map, fr_op_id(op), &schema, &text);
    map->schema = schema;
    if (status == OVSTAGE_OK)
        status = fr_map_make_buffer(map, &text);
    fr_map_tell(map, payload->report);
    fr_map_publish(map, status, &text);
    if (status != OVSTAGE_OK)
        fr_op_fail(op, status, "%s", map->text);
    return FR_RUN_DONE;
}

static void fr_map_op_drop(fr_op *op)
{
    fr_map_op *payload = fr_op_payload(op);
    if (fr_map_is_judged(payload->map))
        fr_store_judgement_end(payload->map->stage->store, fr_op_id(op));
    if (!fr_map_is_known(payload->map)) {
        fr_map_text text;
        const char *why = "the map was dropped before it ran";
        ovstage_api_status_t status = OVSTAGE_ERROR_OP_FAILED;
        if (!fr_query_is_ready(payload->map->query)) /* R64: what its producer answered */
            status = fr_query_failure(payload->map->query, &why);
        (void)fr_map_say(&text, status, "%s", why);
        fr_map_publish(payload->map, status, &text);
    }
    fr_map_unref(payload->map);
}

static bool fr_map_op_is_large(const fr_op *op)
{
    /* The payload is only read: the record is handed out as one that may be written. */
    union {
        const fr_op *given;
        fr_op *same;
    } record = {op};
    const fr_map_op *payload = fr_op_payload(record.same);
    return payload->map->expected_bytes > FR_MAP_LARGE_BYTES;
}

const fr_op_type fr_map_op_type = {
    .name = "map",
    .run = fr_map_op_run,
    .drop = fr_map_op_drop,
    .is_large = fr_map_op_is_large,
};
