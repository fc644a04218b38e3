#include "runtime/hierarchy/publish.h"

#include <stdio.h>
#include <string.h>

#include "runtime/dictionary/dictionary.h"
#include "runtime/floor/floors.h"
#include "runtime/hierarchy/computing.h"
#include "runtime/store/derive.h"
#include "runtime/store/judge.h"
#include "runtime/store/keys.h"
#include "runtime/write/payload.h"

#define FR_PUBLISH_ROLES 16u

_Static_assert(OVSTAGE_SEMANTIC_FRAME < FR_PUBLISH_ROLES, "every role has a place");

static fr_schema fr_world_schema(uint32_t role)
{
    return (fr_schema){.code = kDLFloat,
                       .bits = 64,
                       .lanes = FR_MATRIX_ELEMENTS,
                       .row_bytes = FR_MATRIX_BYTES,
                       .semantic = (ovstage_attribute_semantic_t)role};
}

/* --- which rows ------------------------------------------------------------------------------- */

/* Of what is sealed. */
static uint32_t fr_publish_list(fr_forest *forest)
{
    uint32_t listed = fr_bits_list(forest->changed, 0, forest->count, forest->list);
    uint32_t count = 0;
    for (uint32_t k = 0; k < listed; k++)
        if (forest->flags[forest->list[k]] & FR_NODE_WORLD)
            forest->list[count++] = forest->list[k];
    return count;
}

/* Whether others may have written or deleted above what the forest has seen, at or below the open
 * ordinal. In this order: what stops to be open is sealed by then. */
static bool fr_publish_must_judge(const fr_publication *publication)
{
    fr_stage *stage = publication->forest->stage;
    return fr_keys_are_open(stage->store, publication->world, publication->ordinal) ||
           fr_floors_executed(stage->floors, publication->world) > publication->floor;
}

/* Those keys as they are for an op of that lane. Rows of them are written in any case. */
static ovstage_api_status_t fr_publish_judge(const fr_publication *publication, uint32_t *out_count)
{
    fr_forest *forest = publication->forest;
    uint32_t count = 0;
    for (uint32_t node = 0; node < forest->count; node++) {
        uint32_t prim = (uint32_t)forest->nodes.prims[node];
        fr_column *column =
            fr_judge_key(publication->world, prim, publication->ordinal, publication->op_id);
        if (!column)
            continue;
        fr_schema schema = fr_world_schema(column->schema.semantic);
        if (!fr_schema_equal(&column->schema, &schema)) {
            (void)snprintf(publication->text, FR_COMPUTING_TEXT_BYTES,
                           "the world transform of %.100s is not of 16 doubles: %s",
                           fr_dictionary_path_text(forest->stage->dictionary, prim).ptr,
                           fr_schema_tell(&column->schema).text);
            return OVSTAGE_ERROR_INVALID_ARGUMENT;
        }
        bool seen = fr_judge_written(column, prim, publication->ordinal, publication->op_id) <=
                    publication->floor;
        bool differs = forest->changed[node / 64] >> node % 64 & 1;
        forest->role[node] = (uint8_t)column->schema.semantic;
        if (!seen || differs || !(forest->flags[node] & FR_NODE_WORLD))
            forest->list[count++] = node;
    }
    *out_count = count;
    return OVSTAGE_OK;
}

/* --- writing them ----------------------------------------------------------------------------- */

/* A column's rows: the prims, and the nodes that have them. */
typedef struct fr_publish_set {
    fr_query query;
    uint32_t role;
    uint32_t *nodes;
    ovx_primpath_t *prims;
} fr_publish_set;

typedef struct fr_publishing {
    const fr_publication *publication;
    uint32_t count;
    unsigned char *block; /* of the sets, their prims and their nodes */
    size_t block_bytes;
    fr_publish_set *sets;
    uint32_t set_count;
} fr_publishing;

/* Sorted by role, in the order of nodes. False without memory. */
static bool fr_publish_sets(fr_publishing *publishing)
{
    const fr_forest *forest = publishing->publication->forest;
    uint32_t counts[FR_PUBLISH_ROLES] = {0}, set_count = 0;
    for (uint32_t k = 0; k < publishing->count; k++)
        set_count += counts[forest->role[forest->list[k]]]++ == 0;
    size_t sets_bytes = set_count * sizeof(fr_publish_set);
    size_t prims_bytes = publishing->count * sizeof(ovx_primpath_t);
    publishing->block_bytes = sets_bytes + prims_bytes + publishing->count * sizeof(uint32_t);
    publishing->block = fr_memory_allocate_zero(&forest->stage->allocator, publishing->block_bytes,
                                                FR_CACHE_LINE_BYTES);
    if (!publishing->block)
        return false;
    publishing->sets = (fr_publish_set *)(void *)publishing->block;
    ovx_primpath_t *prims = (ovx_primpath_t *)(void *)(publishing->block + sets_bytes);
    uint32_t *nodes = (uint32_t *)(void *)(publishing->block + sets_bytes + prims_bytes);
    for (uint32_t role = 0; role < FR_PUBLISH_ROLES; role++) {
        if (counts[role] == 0)
            continue;
        fr_publish_set *set = &publishing->sets[publishing->set_count++];
        set->role = role;
        set->prims = prims;
        set->nodes = nodes;
        set->query.prims = prims;
        prims += counts[role];
        nodes += counts[role];
        for (uint32_t k = 0; k < publishing->count; k++) {
            uint32_t node = forest->list[k];
            if (forest->role[node] != role)
                continue;
            set->prims[set->query.count] = forest->nodes.prims[node];
            set->nodes[set->query.count++] = node;
        }
    }
    return true;
}

static void fr_publish_end(fr_publishing *publishing)
{
    fr_stage *stage = publishing->publication->forest->stage;
    for (uint32_t s = 0; s < publishing->set_count; s++)
        fr_store_query_forget(stage->store, &publishing->sets[s].query);
    fr_memory_release(&stage->allocator, publishing->block, publishing->block_bytes);
}

static ovstage_api_status_t fr_publish_sealed(const fr_publishing *publishing)
{
    const fr_publication *publication = publishing->publication;
    const fr_forest *forest = publication->forest;
    fr_derived derived[FR_PUBLISH_ROLES];
    for (uint32_t s = 0; s < publishing->set_count; s++) {
        fr_publish_set *set = &publishing->sets[s];
        derived[s] = (fr_derived){.schema = fr_world_schema(set->role),
                                  .query = &set->query,
                                  .base = (const unsigned char *)forest->world,
                                  .index = set->nodes};
    }
    ovstage_api_status_t status =
        fr_store_derive(forest->stage->store, publication->world, derived, publishing->set_count,
                        publication->ordinal, publication->op_id, publication->floor);
    if (status == OVSTAGE_ERROR_OUT_OF_RANGE)
        (void)snprintf(publication->text, FR_COMPUTING_TEXT_BYTES,
                       "the world transforms at output ordinal %llu are no longer kept",
                       (unsigned long long)publication->ordinal);
    else if (status != OVSTAGE_OK)
        (void)snprintf(publication->text, FR_COMPUTING_TEXT_BYTES, "no memory for %u rows",
                       publishing->count);
    return status;
}

static ovstage_api_status_t fr_publish_open(const fr_publishing *publishing,
                                            const fr_publish_set *set)
{
    const fr_publication *publication = publishing->publication;
    const fr_forest *forest = publication->forest;
    fr_store *store = forest->stage->store;
    uint32_t count = set->query.count;
    const fr_row_source rows = {.base = (const unsigned char *)forest->world,
                                .row_bytes = FR_MATRIX_BYTES,
                                .row_count = forest->count,
                                .count = count,
                                .compact = true,
                                .index_map = set->nodes,
                                .selected_count = count,
                                .row_stride_bytes = FR_MATRIX_BYTES};
    const fr_write write = {.attribute = publication->world,
                            .schema = fr_world_schema(set->role),
                            .query = (fr_query *)(uintptr_t)&set->query,
                            .ordinal = publication->ordinal,
                            .op_id = publication->op_id,
                            .prim_mode = OVSTAGE_PRIM_MODE_UPSERT,
                            .rows = &rows};
    fr_write_plan plan;
    ovstage_api_status_t status = fr_store_write_prepare(store, &write, &plan);
    if (status != OVSTAGE_OK) {
        (void)snprintf(publication->text, FR_COMPUTING_TEXT_BYTES, "%s", plan.text);
        return status;
    }
    for (uint32_t chunk = 0; chunk < plan.chunk_count; chunk++)
        fr_store_write_chunk(&plan, chunk);
    fr_store_write_commit(store, &plan);
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_publish_rows(const fr_publication *publication, uint32_t count)
{
    fr_publishing publishing = {.publication = publication, .count = count};
    if (count == 0)
        return OVSTAGE_OK;
    ovstage_api_status_t status = OVSTAGE_OK;
    if (!fr_publish_sets(&publishing)) {
        (void)snprintf(publication->text, FR_COMPUTING_TEXT_BYTES, "no memory for %u rows", count);
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    }
    if (!publication->is_open)
        status = fr_publish_sealed(&publishing);
    for (uint32_t s = 0; publication->is_open && s < publishing.set_count; s++)
        if (status == OVSTAGE_OK)
            status = fr_publish_open(&publishing, &publishing.sets[s]);
    fr_publish_end(&publishing);
    return status;
}

ovstage_api_status_t fr_publish(const fr_publication *publication)
{
    fr_forest *forest = publication->forest;
    uint32_t count = 0;
    ovstage_api_status_t status = OVSTAGE_OK;
    if (publication->is_open && forest->count > 0 && fr_publish_must_judge(publication))
        status = fr_publish_judge(publication, &count);
    else
        count = fr_publish_list(forest);
    if (status == OVSTAGE_OK)
        status = fr_publish_rows(publication, count);
    /* What is open may be taken back: then those rows still differ from what the column has. */
    if (!publication->is_open)
        memset(forest->changed, 0, ((size_t)forest->count + 63) / 64 * sizeof(*forest->changed));
    return status;
}
