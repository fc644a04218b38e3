/* What a write is judged by: the prims that exist and the schemas of their keys (L3). At submission
 * where that is known already, so that the enqueue tells it (R22, R106); else when the op runs. */
#include "runtime/dictionary/dictionary.h"
#include "runtime/write/write_op.h"

#include <stdio.h>

const char *fr_write_name(const fr_stage *stage, const fr_attribute *attribute)
{
    ovx_string_t text = fr_dictionary_token_text(stage->dictionary, attribute->token);
    return text.ptr ? text.ptr : "?";
}

const char *fr_write_path(const fr_stage *stage, ovx_primpath_t prim)
{
    ovx_string_t text = fr_dictionary_path_text(stage->dictionary, prim);
    return text.ptr ? text.ptr : "?";
}

fr_key_told fr_write_tell_key(const fr_stage *stage, const fr_attribute *attribute,
                              ovx_primpath_t prim)
{
    fr_key_told place;
    const char *name = fr_write_name(stage, attribute);
    if (prim == OVX_INVALID_PRIMPATH)
        (void)snprintf(place.text, sizeof(place.text), "attribute '%s'", name);
    else
        (void)snprintf(place.text, sizeof(place.text), "attribute '%s' of prim '%s'", name,
                       fr_write_path(stage, prim));
    return place;
}

fr_conflict_text fr_write_tell_conflict(const fr_stage *stage, const fr_write *write,
                                        ovx_primpath_t prim, const fr_schema *existing)
{
    fr_conflict_text told;
    (void)snprintf(told.text, sizeof(told.text), "%s has another schema, %s, than is written: %s",
                   fr_write_tell_key(stage, write->attribute, prim).text,
                   fr_schema_tell(existing).text, fr_schema_tell(&write->schema).text);
    return told;
}

bool fr_write_joins(const fr_write_entry *entry)
{
    const fr_schema *entered = &entry->attribute->schema, *schema = &entry->schema;
#ifdef FR_MUTATE_WRITE_JOINS_ANY_ROLE
    const bool any_role = true;
#else
    const bool any_role = entry->any_role;
#endif
    return entered->code == schema->code && entered->bits == schema->bits &&
           entered->lanes == schema->lanes && entered->is_array == schema->is_array &&
           (any_role || entered->semantic == schema->semantic);
}

/* --- what must be so -------------------------------------------------------------------------- */

uint64_t fr_write_demand_filter(const fr_write_op *write)
{
    if (write->demand != FR_DEMAND_KEYS)
        return write->demand == FR_DEMAND_NONE ? 0 : UINT64_MAX;
    uint64_t bits = 0;
    for (uint32_t e = 0; e < write->entry_count; e++)
        bits |= (uint64_t)1 << write->entries[e].attribute->index % 64;
    return bits;
}

void fr_write_judging(fr_write_op *write, uint64_t ordinal, uint64_t op_id)
{
    /* Which prims exist is known without a look at keys, while none was ever deleted. */
    bool looks_at_keys = write->demand == FR_DEMAND_KEYS || write->stage->deletes_accepted;
    uint64_t filter = looks_at_keys ? fr_write_demand_filter(write) : 0;
    write->judged = write->demand != FR_DEMAND_NONE;
    for (uint32_t e = 0; e < write->entry_count; e++) {
        const fr_write_entry *entry = &write->entries[e];
        write->judged |= entry->judge;
        filter |= entry->judge ? (uint64_t)1 << entry->attribute->index % 64 : 0;
    }
    if (write->judged)
        fr_store_judgement_begin(write->stage->store, ordinal, filter, op_id);
}

bool fr_write_decides_insert(fr_stage *stage, uint64_t ordinal)
{
#ifdef FR_MUTATE_INSERT_FORGETS_PENDING_DELETES
    return true;
#endif
    /* [delete.pending] pairs [delete.done], [discard.done] : see there */
    if (fr_load_acquire(&stage->deletes_pending) == 0)
        return true;
    uint64_t next_id;
    fr_graph_lock(stage->graph);
    bool settled = fr_graph_is_settled(stage->graph, ordinal, UINT64_MAX, &next_id);
    fr_graph_unlock(stage->graph);
    return settled;
}

typedef struct fr_demand_text {
    char text[256];
} fr_demand_text;

static ovstage_api_status_t fr_demand_say(const fr_write_op *write, const fr_write_entry *entry,
                                          uint64_t ordinal, ovx_primpath_t prim,
                                          fr_demand_text *out)
{
    const char *path = fr_write_path(write->stage, prim);
    unsigned long long at = ordinal;
    switch (write->demand) {
    case FR_DEMAND_NEW_PRIMS:
        (void)snprintf(out->text, sizeof(out->text),
                       "INSERT at ordinal %llu: prim '%s' exists already", at, path);
        return OVSTAGE_ERROR_PRIM_NOT_FOUND;
    case FR_DEMAND_PRIMS:
        (void)snprintf(out->text, sizeof(out->text), "prim '%s' does not exist at ordinal %llu",
                       path, at);
        return OVSTAGE_ERROR_PRIM_NOT_FOUND;
    default:
        (void)snprintf(out->text, sizeof(out->text),
                       "prim '%s' has no attribute '%s' at ordinal %llu", path,
                       fr_write_name(write->stage, entry->attribute), at);
        return OVSTAGE_ERROR_NOT_FOUND;
    }
}

/* By what the store has of the ops before op_id. */
static ovstage_api_status_t fr_demand_judge(const fr_write_op *write, uint64_t ordinal,
                                            uint64_t op_id, fr_demand_text *out)
{
    fr_store *store = write->stage->store;
    for (uint32_t e = 0; e < write->entry_count; e++) {
        const fr_write_entry *entry = &write->entries[e];
        const fr_attribute *attribute = write->demand == FR_DEMAND_KEYS ? entry->attribute : NULL;
        fr_row_source rows;
        ovx_primpath_t prim = OVX_INVALID_PRIMPATH;
        fr_write_entry_unpack(entry, &rows);
        bool refused =
            write->demand == FR_DEMAND_NEW_PRIMS
                ? fr_store_insert_conflict(store, write->query, &rows, ordinal, op_id, &prim)
                : fr_store_missing(store, attribute, write->query, &rows, ordinal, op_id, &prim);
        if (refused)
            return fr_demand_say(write, entry, ordinal, prim, out);
    }
    return OVSTAGE_OK;
}

/* Judged over the whole batch before its first entry is written: a prim that one entry makes is no
 * conflict for the next. What later acceptances did at lower ordinals in the meantime does not
 * count, which is why the store is told the op. */
bool fr_write_judge_demand(fr_op *op, fr_write_op *write)
{
#ifdef FR_MUTATE_INSERT_JUDGES_LATER_OPS
    const uint64_t before = UINT64_MAX;
#else
    const uint64_t before = fr_op_id(op);
#endif
    fr_demand_text text;
    ovstage_api_status_t status = fr_demand_judge(write, fr_op_ordinal(op), before, &text);
    if (fr_store_judgement_lost(write->stage->store, fr_op_id(op))) { /* maybe meanwhile */
        fr_op_fail(op, OVSTAGE_ERROR_OUT_OF_MEMORY,
                   "INSERT at ordinal %llu: what it is judged by was lost for want of memory",
                   (unsigned long long)fr_op_ordinal(op));
        return false;
    }
    if (status != OVSTAGE_OK)
        fr_op_fail(op, status, "%s", text.text);
    write->demand = FR_DEMAND_NONE;
    return status == OVSTAGE_OK;
}

/* What is there by now may go by ops that are pending, and what is not may come. */
static bool fr_write_demand_is_known(const fr_write_op *write, uint64_t ordinal,
                                     uint64_t *out_next_id)
{
    fr_graph *graph = write->stage->graph;
    *out_next_id = UINT64_MAX;
    if (write->demand == FR_DEMAND_NEW_PRIMS)
        return fr_write_decides_insert(write->stage, ordinal);
    fr_graph_lock(graph);
    bool settled = fr_graph_is_settled(graph, ordinal, fr_write_demand_filter(write), out_next_id);
    fr_graph_unlock(graph);
    return settled;
}

static ovstage_api_status_t fr_write_submitted_demand(const fr_write_op *write, uint64_t ordinal)
{
    uint64_t next_id = 0;
    fr_demand_text text;
    if (write->demand == FR_DEMAND_NONE || !fr_write_demand_is_known(write, ordinal, &next_id))
        return OVSTAGE_OK;
    ovstage_api_status_t status = fr_demand_judge(write, ordinal, next_id, &text);
    return status == OVSTAGE_OK ? status : fr_error_set(status, "%s", text.text);
}

/* --- schemas ---------------------------------------------------------------------------------- */

/* The bits of attributes whose keys may have another schema than is written to them; *out_next_id,
 * when all is known about those. */
static uint64_t fr_write_open_schemas(const fr_write_op *write, uint64_t ordinal,
                                      uint64_t *out_next_id)
{
    uint64_t bits = 0;
    fr_graph *graph = write->stage->graph;
    fr_graph_lock(graph);
    for (uint32_t e = 0; e < write->entry_count; e++) {
        const fr_write_entry *entry = &write->entries[e];
        const fr_attribute *attribute = entry->attribute;
        if (attribute->schema_entered && !(attribute->schema_single && fr_write_joins(entry)))
            bits |= (uint64_t)1 << attribute->index % 64;
    }
    if (bits != 0 && !fr_graph_is_settled(graph, ordinal, bits, out_next_id))
        bits = 0;
    fr_graph_unlock(graph);
    return bits;
}

static ovstage_api_status_t fr_write_submitted_schema(const fr_write_op *write, uint64_t ordinal)
{
    uint64_t next_id = 0;
    uint64_t bits = fr_write_open_schemas(write, ordinal, &next_id);
    for (uint32_t e = 0; bits != 0 && e < write->entry_count; e++) {
        const fr_write_entry *entry = &write->entries[e];
        if ((bits >> entry->attribute->index % 64 & 1) == 0)
            continue;
        fr_row_source rows;
        ovx_primpath_t prim = OVX_INVALID_PRIMPATH;
        fr_schema existing;
        fr_write_entry_unpack(entry, &rows);
        fr_write what = {.attribute = entry->attribute,
                         .schema = entry->schema,
                         .query = write->query,
                         .ordinal = ordinal,
                         .op_id = next_id,
                         .any_role = entry->any_role,
                         .rows = &rows};
        if (fr_store_schema_conflict(&what, &prim, &existing))
            return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "%s",
                                fr_write_tell_conflict(write->stage, &what, prim, &existing).text);
    }
    return OVSTAGE_OK;
}

ovstage_api_status_t fr_write_judge_submitted(const fr_write_op *write, uint64_t ordinal)
{
    ovstage_api_status_t status = fr_write_submitted_demand(write, ordinal);
    return status == OVSTAGE_OK ? fr_write_submitted_schema(write, ordinal) : status;
}
