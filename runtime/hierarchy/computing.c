#include "runtime/hierarchy/computing.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/dictionary/dictionary.h"
#include "runtime/floor/floors.h"
#include "runtime/hierarchy/compose.h"
#include "runtime/hierarchy/compute.h"
#include "runtime/hierarchy/publish.h"
#include "runtime/store/bind.h"
#include "runtime/store/keys.h"
#include "runtime/write/write_op.h"

typedef struct fr_computing {
    const fr_compute *compute;
    fr_stage *stage;
    fr_store *store;
    fr_forest *forest;
    const fr_floor_record *record;
    uint64_t op_id;
    uint64_t world_floor; /* up to which the world column is looked at */
    fr_read_result read;
    char *text;
} fr_computing;

static ovstage_api_status_t fr_computing_fail(const fr_computing *computing,
                                              ovstage_api_status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static ovstage_api_status_t fr_computing_fail(const fr_computing *computing,
                                              ovstage_api_status_t status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(computing->text, FR_COMPUTING_TEXT_BYTES, format, arguments);
    va_end(arguments);
    return status;
}

static ovstage_api_status_t fr_computing_no_memory(const fr_computing *computing)
{
    return fr_computing_fail(computing, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %u transforms",
                             computing->forest ? computing->forest->count : 0);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* A column that is read: what is done with its rows. */
typedef struct fr_input {
    const fr_attribute *attribute;
    DLDataType dtype;
    /* A node's row; NULL: it has none any more. */
    void (*apply)(fr_forest *forest, uint32_t node, const void *row, uint8_t role);
    const double *matrices; /* by node, that apply looks at; NULL: none */
    uint64_t end;           /* what is read up to */
    uint64_t
        known; /* what the forest has is of then, or was changed since; UINT64_MAX: of nowhen */
    uint64_t least; /* and is so from here on only */
} fr_input;

static bool fr_input_is_typed(const fr_input *input, const fr_schema *schema)
{
    return !schema->is_array && schema->code == input->dtype.code &&
           schema->bits == input->dtype.bits && schema->lanes == input->dtype.lanes;
}

static ovstage_api_status_t fr_computing_refuse_type(const fr_computing *computing,
                                                     const fr_input *input, uint64_t prim,
                                                     const fr_schema *schema)
{
    ovx_string_t name =
        fr_dictionary_token_text(computing->stage->dictionary, input->attribute->token);
    return fr_computing_fail(
        computing, OVSTAGE_ERROR_INVALID_ARGUMENT,
        "'%s' of %.100s needs dtype %s, of fixed size, and has %s", name.ptr,
        fr_dictionary_path_text(computing->stage->dictionary, prim).ptr,
        fr_dtype_tell(input->dtype.code, input->dtype.bits, input->dtype.lanes).text,
        fr_schema_tell(schema).text);
}

/* Writes to a device refuse these attributes; without rows on the host they would pass for deleted
 * here. */
static ovstage_api_status_t fr_computing_refuse_device(const fr_computing *computing,
                                                       const fr_input *input, uint64_t prim)
{
    ovx_string_t name =
        fr_dictionary_token_text(computing->stage->dictionary, input->attribute->token);
    return fr_computing_fail(
        computing, OVSTAGE_ERROR_NOT_SUPPORTED,
        "'%s' of %.100s lies on a device, and values are computed of what is on the host", name.ptr,
        fr_dictionary_path_text(computing->stage->dictionary, prim).ptr);
}

static ovstage_api_status_t fr_computing_apply(fr_computing *computing, const fr_input *input,
                                               fr_read_part *part)
{
    fr_forest *forest = computing->forest;
    uint32_t first = part->positions ? part->positions[0] : 0;
    if (!part->is_delete && !fr_input_is_typed(input, &part->schema))
        return fr_computing_refuse_type(computing, input, forest->nodes.prims[first],
                                        &part->schema);
    if (!part->is_delete && part->device)
        return fr_computing_refuse_device(computing, input, forest->nodes.prims[first]);
    if (fr_store_read_materialize(computing->store, &forest->nodes, part) != OVSTAGE_OK)
        return fr_computing_no_memory(computing);
    const unsigned char *row = part->is_delete ? NULL : part->data;
    for (uint32_t k = 0; k < part->count; k++) {
        if (input->matrices && part->positions)
            fr_matrix_ask_for(input->matrices +
                              (size_t)fr_rows_ahead(part->positions, k, part->count) *
                                  FR_MATRIX_ELEMENTS);
        input->apply(forest, part->positions ? part->positions[k] : k, row,
                     (uint8_t)part->schema.semantic);
        row = row ? row + part->schema.row_bytes : NULL;
    }
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_computing_read(fr_computing *computing, const fr_input *input,
                                              const fr_read_bounds *bounds)
{
    fr_read_result *read = &computing->read;
    fr_forest *forest = computing->forest;
    ovstage_api_status_t status =
        fr_store_read_pin(computing->store, (fr_attribute *)(uintptr_t)input->attribute,
                          input->attribute->token, &forest->nodes, bounds, computing->record, read);
    if (status != OVSTAGE_OK)
        return fr_computing_fail(
            computing, status, "%s: %s",
            fr_write_tell_key(forest->stage, input->attribute, read->refused_prim).text,
            read->text);
    for (uint32_t p = 0; p < read->part_count; p++) {
        if (status == OVSTAGE_OK)
            status = fr_computing_apply(computing, input, &read->parts[p]);
        fr_store_read_release(computing->store, &read->parts[p]);
    }
    read->part_count = 0;
    return status;
}

/* Ends with a range read when what changed since is known exactly: OUT_OF_RANGE, or changes that
 * were merged meanwhile, mean that it is not. *all: it is not, and nothing was applied that
 * matters. */
static ovstage_api_status_t fr_computing_read_changes(fr_computing *computing,
                                                      const fr_input *input, bool *all)
{
    uint64_t known = input->known;
    *all = known == UINT64_MAX || input->least > input->end;
    if (*all || known == input->end)
        return OVSTAGE_OK;
    const fr_read_bounds bounds = {.is_range = true, .start = known + 1, .end = input->end};
    fr_ordinal_node held;
    fr_store_start_hold(computing->store, &held, bounds.start);
    ovstage_api_status_t status = OVSTAGE_OK;
    *all = fr_store_merged(computing->store) > bounds.start;
    if (!*all)
        status = fr_computing_read(computing, input, &bounds);
    fr_store_start_release(computing->store, &held);
    if (status == OVSTAGE_ERROR_OUT_OF_RANGE)
        *all = true;
    return *all ? OVSTAGE_OK : status;
}

/* --- inputs ----------------------------------------------------------------------------------- */

static void fr_input_local(fr_forest *forest, uint32_t node, const void *row, uint8_t role)
{
    (void)role;
    uint8_t *flags = &forest->flags[node];
    double *local = fr_forest_local(forest, node);
    if (!row && !(*flags & FR_NODE_LOCAL))
        return;
    if (row && (*flags & FR_NODE_LOCAL) && fr_matrix_is(local, row))
        return;
    if (row)
        memcpy(local, row, FR_MATRIX_BYTES);
    *flags = (uint8_t)(row ? *flags | FR_NODE_LOCAL : *flags & ~FR_NODE_LOCAL);
    fr_bit_set(forest->dirty, node);
}

static void fr_input_reset(fr_forest *forest, uint32_t node, const void *row, uint8_t role)
{
    (void)role;
    uint8_t *flags = &forest->flags[node];
    bool reset = row && *(const uint8_t *)row != 0;
    if (reset == ((*flags & FR_NODE_RESET) != 0))
        return;
    *flags ^= FR_NODE_RESET;
    fr_bit_set(forest->dirty, node);
}

/* What changed, or all of it. */
static ovstage_api_status_t fr_computing_input(fr_computing *computing, const fr_input *input,
                                               uint8_t flag)
{
    fr_forest *forest = computing->forest;
    bool all;
    ovstage_api_status_t status = fr_computing_read_changes(computing, input, &all);
    if (status != OVSTAGE_OK || !all)
        return status;
    for (uint32_t node = 0; node < forest->count; node++)
        forest->flags[node] &= (uint8_t)~flag;
    fr_bits_set(forest->dirty, 0, forest->count);
    const fr_read_bounds bounds = {.end = input->end};
    return fr_computing_read(computing, input, &bounds);
}

static uint64_t fr_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t fr_computing_floor(const fr_computing *computing, const fr_attribute *attribute)
{
    return fr_floor_effective(computing->record, attribute->index);
}

static ovstage_api_status_t fr_computing_inputs(fr_computing *computing)
{
    const fr_compute *compute = computing->compute;
    fr_forest *forest = computing->forest;
    bool known = forest->inputs_known;
    const fr_input local = {
        compute->local, {kDLFloat, 64, FR_MATRIX_ELEMENTS},    fr_input_local,  forest->local,
        compute->input, known ? forest->local_at : UINT64_MAX, forest->local_at};
    const fr_input reset = {compute->reset,  {kDLBool, 8, 1},
                            fr_input_reset,  NULL,
                            compute->input,  known ? forest->reset_at : UINT64_MAX,
                            forest->reset_at};
    forest->inputs_known = false;
    ovstage_api_status_t status = fr_computing_input(computing, &local, FR_NODE_LOCAL);
    if (status == OVSTAGE_OK)
        status = fr_computing_input(computing, &reset, FR_NODE_RESET);
    if (status != OVSTAGE_OK)
        return status;
    /* Above its floor an input may change still. */
    forest->local_at = fr_least(compute->input, fr_computing_floor(computing, compute->local));
    forest->reset_at = fr_least(compute->input, fr_computing_floor(computing, compute->reset));
    forest->inputs_known = true;
    return OVSTAGE_OK;
}

/* --- what the column has ---------------------------------------------------------------------- */

static void fr_output_world(fr_forest *forest, uint32_t node, const void *row, uint8_t role)
{
    uint8_t *flags = &forest->flags[node];
    *flags = (uint8_t)(row ? *flags | FR_NODE_WORLD : *flags & ~FR_NODE_WORLD);
    forest->role[node] = role;
    if (row && !fr_matrix_is(fr_forest_world(forest, node), row))
        fr_bit_set(forest->changed, node);
    else
        fr_bit_clear(forest->changed, node);
}

static ovstage_api_status_t fr_computing_outputs(fr_computing *computing)
{
    fr_forest *forest = computing->forest;
    uint64_t at = fr_least(computing->compute->output, computing->world_floor);
    const fr_input world = {computing->compute->world,
                            {kDLFloat, 64, FR_MATRIX_ELEMENTS},
                            fr_output_world,
                            forest->world,
                            at,
                            forest->outputs_known ? forest->world_at : UINT64_MAX,
                            forest->world_from};
    forest->outputs_known = false;
    bool all;
    ovstage_api_status_t status = fr_computing_read_changes(computing, &world, &all);
    forest->world_at = at;
    forest->world_from = computing->compute->output;
    if (status != OVSTAGE_OK || !all)
        return status;
    for (uint32_t node = 0; node < forest->count; node++)
        forest->flags[node] &= (uint8_t)~FR_NODE_WORLD;
    memset(forest->changed, 0, ((size_t)forest->count + 63) / 64 * sizeof(*forest->changed));
    const fr_read_bounds bounds = {.end = at};
    return fr_computing_read(computing, &world, &bounds);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* The forest of the last computation if no key has come or gone since. */
static bool fr_computing_get_forest(fr_computing *computing)
{
    const fr_compute *compute = computing->compute;
    fr_hierarchy *hierarchy = computing->stage->hierarchy;
    fr_forest *forest = hierarchy->forest;
    hierarchy->forest = NULL;
    if (!fr_keys_settle(computing->store, compute->world,
                        fr_computing_floor(computing, compute->world))) {
        fr_forest_destroy(forest);
        return false;
    }
    bool is_new = compute->is_open && fr_keys_have_unplaced(compute->world, compute->output);
    if (forest && (is_new || forest->generation != fr_store_layout_generation(compute->world))) {
        fr_forest_destroy(forest);
        forest = NULL;
    }
    computing->forest = forest ? forest : fr_forest_make(computing->stage, compute->world);
    return computing->forest != NULL;
}

static void fr_computing_put_forest(fr_computing *computing)
{
    fr_forest *forest = computing->forest;
    if (forest->kept_bytes == 0 && fr_bind_count(computing->store, forest->block_bytes))
        forest->kept_bytes = forest->block_bytes;
    if (forest->kept_bytes > 0)
        computing->stage->hierarchy->forest = forest;
    else
        fr_forest_destroy(forest);
}

static ovstage_api_status_t fr_computing_go(fr_computing *computing)
{
    const fr_compute *compute = computing->compute;
    fr_forest *forest = computing->forest;
    ovstage_api_status_t status = fr_computing_inputs(computing);
    if (status != OVSTAGE_OK)
        return status;
    fr_compose(forest);
    status = fr_computing_outputs(computing);
    if (status != OVSTAGE_OK)
        return status;
    const fr_publication publication = {
        .forest = forest,
        .world = compute->world,
        .ordinal = compute->output,
        .op_id = computing->op_id,
        .floor = computing->world_floor,
        .is_open = compute->is_open,
        .text = computing->text,
    };
    status = fr_publish(&publication);
    forest->outputs_known = status == OVSTAGE_OK;
    return status;
}

/* Seals that are published meanwhile may drop what an older record selects: what the newest one
 * selects is held. */
static void fr_computing_hold(const fr_compute *compute, fr_ordinal_node *held)
{
    fr_floors *floors = compute->stage->floors;
    const fr_floor_record *record = fr_floors_record_acquire(floors);
    uint64_t moment = fr_floor_effective(record, compute->local->index);
    moment = fr_least(moment, fr_floor_effective(record, compute->reset->index));
    moment = fr_least(moment, fr_floor_effective(record, compute->world->index));
    fr_floors_record_release(floors, record);
    fr_store_moment_hold(compute->stage->store, held, moment);
}

ovstage_api_status_t fr_computing_run(const fr_compute *compute, uint64_t op_id, char *text)
{
    fr_stage *stage = compute->stage;
    fr_computing computing = {
        .compute = compute, .stage = stage, .store = stage->store, .op_id = op_id, .text = text};
    fr_ordinal_node held;
    fr_computing_hold(compute, &held);
    computing.record = fr_floors_record_acquire(stage->floors);
    computing.world_floor = fr_computing_floor(&computing, compute->world);
#ifndef FR_MUTATE_COMPUTE_GOES_BY_WHAT_HAS_RUN
    if (compute->is_open)
        computing.world_floor = compute->floor;
#endif
    ovstage_api_status_t status;
    if (fr_computing_get_forest(&computing)) {
        status = fr_computing_go(&computing);
        fr_computing_put_forest(&computing);
    } else {
        status = fr_computing_no_memory(&computing);
    }
    fr_memory_release(&stage->allocator, computing.read.parts,
                      computing.read.part_capacity * sizeof(*computing.read.parts));
    fr_floors_record_release(stage->floors, computing.record);
    fr_store_moment_release(stage->store, &held);
    return status;
}
