#include "tests/support/store_world.h"

#include <stddef.h>
#include <string.h>

#include <dlpack/dlpack.h>

#include "runtime/store/derive.h"
#include "runtime/store/store.h"

#define STORE_ATTRIBUTES 4u
#define STORE_CHECK UINT32_C(0x5bd1e995)

typedef struct store_record {
    struct store_record *next;
    size_t size_bytes;
    fr_floor_record *record; /* behind it */
} store_record;

struct store_query {
    fr_query query;
    ovx_primpath_t prims[];
};

struct store_group {
    fr_read_result result;
    const fr_allocator *allocator;
};

typedef struct store_moment {
    fr_ordinal_node node;
    struct store_moment *next;
} store_moment;

struct store_world {
    const fr_allocator *allocator;
    fr_store *store;
    fr_attribute *attributes[STORE_ATTRIBUTES];
    _Atomic(store_record *) record; /* the newest; older ones behind it */
    _Atomic uint64_t next_id;
    store_moment *moments;
};

/* --- life ------------------------------------------------------------------------------------- */

static store_record *store_record_make(const store_world *world, uint32_t count)
{
    size_t size_bytes =
        sizeof(store_record) + sizeof(fr_floor_record) + count * sizeof(struct fr_floor_own);
    store_record *made = fr_memory_allocate_zero(world->allocator, size_bytes, 16);
    if (!made)
        return NULL;
    made->size_bytes = size_bytes;
    made->record = (fr_floor_record *)(made + 1);
    made->record->count = count;
    made->record->least_own = UINT64_MAX;
    return made;
}

store_world *store_world_create(fr_test_heap *heap, const store_world_options *options)
{
    const fr_allocator *allocator = fr_test_heap_allocator(heap);
    store_world *world = fr_memory_allocate_zero(allocator, sizeof(*world), 64);
    if (!world)
        return NULL;
    world->allocator = allocator;
    fr_store_config config = {
        .allocator = allocator,
        .history_versions = options->history_versions,
        .history_limit_bytes =
            options->history_limit_bytes ? options->history_limit_bytes : UINT64_MAX / 2,
        .cache_limit_bytes =
            options->cache_limit_bytes ? options->cache_limit_bytes : UINT64_MAX / 2,
        .pending_limit_bytes = UINT64_MAX / 2,
    };
    fr_store_relaxed(&world->next_id, 1);
    world->store = fr_store_create(&config);
    store_record *first = store_record_make(world, 0);
    bool enough = world->store && first;
    for (uint32_t k = 0; enough && k < STORE_ATTRIBUTES; k++) {
        world->attributes[k] = fr_store_attribute_enter(world->store, 10 + k);
        enough = world->attributes[k] != NULL;
    }
    fr_store_seq_cst(&world->record, first);
    if (enough)
        return world;
    store_world_destroy(world);
    return NULL;
}

void store_world_destroy(store_world *world)
{
    if (world->store)
        fr_store_destroy(world->store);
    for (store_record *record = fr_load_seq_cst(&world->record); record;) {
        store_record *next = record->next;
        fr_memory_release(world->allocator, record, record->size_bytes);
        record = next;
    }
    fr_memory_release(world->allocator, world, sizeof(*world));
}

store_query *store_query_create(store_world *world, const uint32_t *prims, uint32_t count)
{
    store_query *query = fr_memory_allocate_zero(
        world->allocator, sizeof(*query) + count * sizeof(ovx_primpath_t), _Alignof(store_query));
    if (!query)
        return NULL;
    for (uint32_t k = 0; k < count; k++)
        query->prims[k] = prims[k];
    query->query.count = count;
    query->query.prims = query->prims;
    return query;
}

void store_query_destroy(store_world *world, store_query *query)
{
    fr_store_query_forget(world->store, &query->query);
    fr_memory_release(world->allocator, query,
                      sizeof(*query) + query->query.count * sizeof(ovx_primpath_t));
}

/* --- rows ------------------------------------------------------------------------------------- */

static uint32_t store_row_check(uint32_t ordinal, uint32_t prim, uint32_t value)
{
    return (ordinal * 31 + prim) * 31 + value + STORE_CHECK;
}

store_row store_row_make(uint32_t ordinal, uint32_t prim, uint32_t value)
{
    return (store_row){ordinal, prim, value, store_row_check(ordinal, prim, value)};
}

bool store_row_is_whole(const store_row *row)
{
    return row->check == store_row_check(row->ordinal, row->prim, row->value);
}

/* --- writing ---------------------------------------------------------------------------------- */

static fr_schema store_schema(int schema)
{
    return (fr_schema){.code = schema ? kDLInt : kDLUInt,
                       .bits = 32,
                       .lanes = 4,
                       .row_bytes = sizeof(store_row),
                       .semantic = OVSTAGE_SEMANTIC_NONE};
}

static uint32_t store_selected(const uint64_t *mask, uint32_t count)
{
    uint32_t selected = 0;
    for (uint32_t k = 0; k < count; k++)
        selected += !mask || (mask[k / 64] >> (k % 64) & 1) != 0;
    return selected;
}

static void store_fill(const store_query *query, store_row *rows, uint64_t ordinal, uint32_t value)
{
    for (uint32_t k = 0; k < query->query.count; k++)
        rows[k] = store_row_make((uint32_t)ordinal, (uint32_t)query->prims[k], value);
}

static int store_write_rows(store_world *world, const fr_write *write, bool *adopted)
{
    fr_write_plan plan;
    int status = (int)fr_store_write_prepare(world->store, write, &plan);
    if (status != OVSTAGE_OK)
        return status;
    for (uint32_t chunk = plan.chunk_count; chunk > 0; chunk--)
        fr_store_write_chunk(&plan, chunk - 1);
    *adopted = plan.adopts;
    fr_store_write_commit(world->store, &plan);
    return status;
}

int store_write(store_world *world, uint32_t attribute, store_query *query, uint64_t ordinal,
                uint32_t value, const uint64_t *mask, int schema, bool judged)
{
    uint32_t count = query->query.count;
    size_t size_bytes = count * sizeof(store_row);
    store_row *rows = fr_memory_allocate(world->allocator, size_bytes, 64);
    if (!rows)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    store_fill(query, rows, ordinal, value);
    fr_row_source source = {.base = (const unsigned char *)rows,
                            .row_bytes = sizeof(store_row),
                            .row_count = count,
                            .count = count,
                            .compact = true,
                            .mask = mask,
                            .selected_count = store_selected(mask, count),
                            .row_stride_bytes = sizeof(store_row)};
    fr_write write = {.attribute = world->attributes[attribute],
                      .schema = store_schema(schema),
                      .query = &query->query,
                      .ordinal = ordinal,
                      .op_id = fr_add_relaxed(&world->next_id, 1),
                      .prim_mode = OVSTAGE_PRIM_MODE_UPSERT,
                      .judge = judged,
                      .rows = &source};
    bool adopted;
    int status = store_write_rows(world, &write, &adopted);
    fr_memory_release(world->allocator, rows, size_bytes);
    return status;
}

int store_derive(store_world *world, uint32_t attribute, store_query *query, uint64_t ordinal,
                 uint32_t value)
{
    uint32_t count = query->query.count;
    store_row *rows = fr_memory_allocate(world->allocator, count * sizeof(*rows), 64);
    uint32_t *index = fr_memory_allocate(world->allocator, count * sizeof(*index), 16);
    int status = OVSTAGE_ERROR_OUT_OF_MEMORY;
    if (rows && index) {
        store_fill(query, rows, ordinal, value);
        for (uint32_t k = 0; k < count; k++)
            index[k] = k;
        fr_derived derived = {.schema = store_schema(0),
                              .query = &query->query,
                              .base = (const unsigned char *)rows,
                              .index = index};
        status =
            (int)fr_store_derive(world->store, world->attributes[attribute], &derived, 1, ordinal,
                                 fr_add_relaxed(&world->next_id, 1), store_world_floor(world));
    }
    fr_memory_release(world->allocator, rows, count * sizeof(*rows));
    fr_memory_release(world->allocator, index, count * sizeof(*index));
    return status;
}

void store_accept(store_world *world, store_op *op)
{
    op->id = fr_add_relaxed(&world->next_id, 1);
    uint64_t filter = op->inserts ? UINT64_MAX : 0;
    if (!op->deletes)
        filter |= UINT64_C(1) << world->attributes[op->attribute]->index;
    if (op->judged || op->inserts)
        fr_store_judgement_begin(world->store, op->ordinal, filter, op->id);
}

bool store_exists(store_world *world, uint32_t prim, uint64_t ordinal)
{
    ovx_primpath_t prims[1] = {prim}, found;
    fr_query query = {.count = 1, .prims = prims};
    fr_row_source rows = {.count = 1, .selected_count = 1};
    return fr_store_insert_conflict(world->store, &query, &rows, ordinal, UINT64_MAX, &found);
}

static int store_run_delete(store_world *world, const store_op *op)
{
    bool whole = op->attribute == STORE_WHOLE_PRIMS;
    fr_delete what = {.attributes = whole ? NULL : &world->attributes[op->attribute],
                      .attribute_count = whole ? 0 : 1,
                      .query = &op->query->query,
                      .ordinal = op->ordinal,
                      .op_id = op->id};
    const fr_floor_record *record = fr_load_seq_cst(&world->record)->record;
    if (whole && fr_store_delete_sealed(world->store, &what, record))
        return OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION;
    return (int)fr_store_delete(world->store, &what);
}

int store_run(store_world *world, const store_op *op)
{
    if (op->deletes)
        return store_run_delete(world, op);
    uint32_t count = op->query->query.count;
    size_t size_bytes = count * sizeof(store_row);
    store_row *rows = fr_memory_allocate(world->allocator, size_bytes, 64);
    int status = OVSTAGE_ERROR_OUT_OF_MEMORY;
    if (rows) {
        store_fill(op->query, rows, op->ordinal, op->value);
        fr_row_source source = {.base = (const unsigned char *)rows,
                                .row_bytes = sizeof(store_row),
                                .row_count = count,
                                .count = count,
                                .compact = true,
                                .selected_count = count,
                                .row_stride_bytes = sizeof(store_row)};
        fr_write write = {.attribute = world->attributes[op->attribute],
                          .schema = store_schema(op->schema),
                          .query = &op->query->query,
                          .ordinal = op->ordinal,
                          .op_id = op->id,
                          .prim_mode =
                              op->inserts ? OVSTAGE_PRIM_MODE_INSERT : OVSTAGE_PRIM_MODE_UPSERT,
                          .judge = op->judged,
                          .rows = &source};
        bool adopted;
        status = store_write_rows(world, &write, &adopted);
        fr_memory_release(world->allocator, rows, size_bytes);
    }
    if (op->judged || op->inserts)
        fr_store_judgement_end(world->store, op->id);
    return status;
}

/* A tensor that looks, when it is deleted, whether it is as it was made. */
typedef struct store_tensor {
    struct DLManagedTensorVersioned managed;
    const fr_allocator *allocator;
    size_t size_bytes;
    int *deleted, *changed;
    uint32_t count, value;
    store_row rows[];
} store_tensor;

static void store_tensor_delete(struct DLManagedTensorVersioned *managed)
{
    store_tensor *tensor = managed->manager_ctx;
    *tensor->deleted += 1;
    for (uint32_t k = 0; k < tensor->count; k++)
        if (!store_row_is_whole(&tensor->rows[k]) || tensor->rows[k].value != tensor->value)
            *tensor->changed += 1;
    fr_memory_release(tensor->allocator, tensor, tensor->size_bytes);
}

int store_write_adopted(store_world *world, uint32_t attribute, store_query *query,
                        uint64_t ordinal, uint32_t value, int *deleted, int *changed)
{
    uint32_t count = query->query.count;
    size_t size_bytes = sizeof(store_tensor) + count * sizeof(store_row);
    store_tensor *tensor = fr_memory_allocate_zero(world->allocator, size_bytes, 64);
    if (!tensor)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    tensor->managed.manager_ctx = tensor;
    tensor->managed.deleter = store_tensor_delete;
    tensor->allocator = world->allocator;
    tensor->size_bytes = size_bytes;
    tensor->deleted = deleted;
    tensor->changed = changed;
    tensor->count = count;
    tensor->value = value;
    store_fill(query, tensor->rows, ordinal, value);
    fr_row_source source = {.base = (const unsigned char *)tensor->rows,
                            .row_bytes = sizeof(store_row),
                            .row_count = count,
                            .count = count,
                            .compact = true,
                            .selected_count = count,
                            .row_stride_bytes = sizeof(store_row),
                            .adoptable = &tensor->managed};
    fr_write write = {.attribute = world->attributes[attribute],
                      .schema = store_schema(0),
                      .query = &query->query,
                      .ordinal = ordinal,
                      .op_id = fr_add_relaxed(&world->next_id, 1),
                      .prim_mode = OVSTAGE_PRIM_MODE_UPSERT,
                      .rows = &source};
    bool adopted = false;
    int status = store_write_rows(world, &write, &adopted);
    if (!adopted)
        store_tensor_delete(&tensor->managed);
    return status;
}

/* --- sealing ---------------------------------------------------------------------------------- */

static void store_world_publish(store_world *world, store_record *next)
{
    store_record *before = fr_load_seq_cst(&world->record);
    next->record->serial = before->record->serial + 1;
    next->next = before;
    fr_store_seal_layout(world->store, next->record);
    fr_store_seq_cst(&world->record, next);
    fr_store_seal(world->store, next->record, before->record);
}

bool store_world_seal(store_world *world, uint64_t ordinal)
{
    store_record *next = store_record_make(world, 0);
    if (!next)
        return false;
    next->record->base = ordinal;
    store_world_publish(world, next);
    return true;
}

bool store_world_seal_one(store_world *world, uint32_t attribute, uint64_t ordinal)
{
    const fr_floor_record *before = fr_load_seq_cst(&world->record)->record;
    store_record *next = store_record_make(world, STORE_ATTRIBUTES);
    if (!next)
        return false;
    next->record->base = before->base;
    next->record->count = 0;
    for (uint32_t k = 0; k < STORE_ATTRIBUTES; k++) {
        uint32_t index = world->attributes[k]->index;
        uint64_t floor = fr_floor_effective(before, index);
        if (k == attribute)
            floor = ordinal;
        if (floor <= before->base)
            continue;
        next->record->own[next->record->count].attribute_index = index;
        next->record->own[next->record->count++].floor = floor;
        if (floor < next->record->least_own)
            next->record->least_own = floor;
    }
    store_world_publish(world, next);
    return true;
}

uint64_t store_world_floor(const store_world *world)
{
    return fr_load_seq_cst(&world->record)->record->base;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void store_result_free(store_world *world, fr_read_result *result)
{
    for (uint32_t k = 0; k < result->part_count; k++)
        fr_store_read_release(world->store, &result->parts[k]);
    fr_memory_release(world->allocator, result->parts,
                      result->part_capacity * sizeof(*result->parts));
}

int store_read(store_world *world, uint32_t attribute, store_query *query, uint64_t ordinal,
               store_group **group)
{
    *group = NULL;
    store_group *made = fr_memory_allocate_zero(world->allocator, sizeof(*made), 16);
    if (!made)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    const fr_floor_record *record = fr_load_seq_cst(&world->record)->record;
    fr_read_bounds bounds = {.end = ordinal};
    int status = (int)fr_store_read_pin(world->store, world->attributes[attribute], 10 + attribute,
                                        &query->query, &bounds, record, &made->result);
    for (uint32_t k = 0; status == OVSTAGE_OK && k < made->result.part_count; k++)
        status =
            (int)fr_store_read_materialize(world->store, &query->query, &made->result.parts[k]);
    if (status == OVSTAGE_OK) {
        *group = made;
        return status;
    }
    store_result_free(world, &made->result);
    fr_memory_release(world->allocator, made, sizeof(*made));
    return status;
}

const store_row *store_group_row(const store_group *group, uint32_t position)
{
    for (uint32_t p = 0; p < group->result.part_count; p++) {
        const fr_read_part *part = &group->result.parts[p];
        const store_row *rows = part->data;
        if (part->all_prims)
            return &rows[position];
        for (uint32_t k = 0; k < part->count; k++)
            if (part->positions[k] == position)
                return &rows[k];
    }
    return NULL;
}

uint32_t store_group_parts(const store_group *group)
{
    return group->result.part_count;
}

uint64_t store_group_ordinal(const store_group *group)
{
    uint64_t newest = 0;
    for (uint32_t p = 0; p < group->result.part_count; p++)
        if (group->result.parts[p].ordinal > newest)
            newest = group->result.parts[p].ordinal;
    return newest;
}

void store_group_release(store_world *world, store_group *group)
{
    store_result_free(world, &group->result);
    fr_memory_release(world->allocator, group, sizeof(*group));
}

/* --- figures ---------------------------------------------------------------------------------- */

void store_world_figures(const store_world *world, store_figures *out)
{
    fr_store_statistics from;
    fr_store_statistics_read(world->store, &from);
    *out = (store_figures){.in_place = from.folds_in_place,
                           .with_spare = from.folds_with_spare,
                           .with_copy = from.folds_with_copy,
                           .replaced = from.heads_replaced,
                           .gathers = from.gathers,
                           .gather_hits = from.gather_cache_hits,
                           .history_drops = from.history_drops,
                           .versions_open = from.versions_open,
                           .versions_sealed = from.versions_sealed,
                           .pins = from.pins,
                           .pending_bytes = from.pending_bytes,
                           .history_bytes = from.history_bytes,
                           .membership_bytes = from.membership_bytes,
                           .cache_bytes = from.cache_bytes,
                           .keys = from.keys,
                           .segments = from.segments,
                           .table_bytes = from.table_bytes,
                           .payload_bytes = from.payload_bytes,
                           .seal_steps = from.seal_steps};
}

void store_world_hold_moment(store_world *world, uint64_t ordinal)
{
    store_moment *moment = fr_memory_allocate(world->allocator, sizeof(*moment), 16);
    moment->next = world->moments;
    world->moments = moment;
    fr_store_moment_hold(world->store, &moment->node, ordinal);
}

void store_world_release_moment(store_world *world, uint64_t ordinal)
{
    store_moment **link = &world->moments;
    while ((*link)->node.ordinal != ordinal)
        link = &(*link)->next;
    store_moment *moment = *link;
    *link = moment->next;
    fr_store_moment_release(world->store, &moment->node);
    fr_memory_release(world->allocator, moment, sizeof(*moment));
}
