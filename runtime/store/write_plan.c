/* Writes: prepare (bind, judge, take the memory, give places), chunks (move the rows), commit
 * (link).
 *
 * Threads: ops of one ordinal come one at a time; those of other ordinals at the same time, on
 * versions of their own. */
#include <stdio.h>
#include <string.h>

#include "runtime/device/placed.h"
#include "runtime/store/array_write.h"
#include "runtime/store/bind.h"
#include "runtime/store/judge.h"
#include "runtime/store/kept.h"
#include "runtime/store/partial.h"
#include "runtime/store/plan.h"
#include "runtime/store/seal.h"
#include "runtime/store/store_state.h"
#include "runtime/store/target_place.h"

#ifdef FR_SHRINK
#define FR_CHUNK_BYTES 64u
#else
#define FR_CHUNK_BYTES (256u << 10)
#endif

_Static_assert(sizeof(fr_plan) <= sizeof(((fr_write_plan *)0)->state), "the plan fits its place");

ovstage_api_status_t fr_plan_refuse(fr_write_plan *out, ovstage_api_status_t status,
                                    const char *text)
{
    snprintf(out->text, sizeof(out->text), "%s", text);
    return status;
}

static fr_plan *fr_plan_of(fr_write_plan *plan)
{
    return (fr_plan *)(void *)plan->state;
}

static void fr_plan_release(fr_plan *plan)
{
    if (plan->binding)
        fr_bind_release(plan->binding);
    const fr_allocator *allocator = plan->store->allocator;
    fr_array_write_destroy(plan->store, plan->array);
    if (plan->scratch != plan->local_scratch)
        fr_memory_release(allocator, plan->scratch, plan->scratch_bytes);
    for (uint32_t k = 0; k < plan->target_count; k++)
        fr_target_unclaim(&plan->targets[k]);
    fr_plan_targets_release(plan);
}

/* Nothing of it is left. */
static void fr_plan_give_up(fr_plan *plan)
{
    fr_kept_drop(plan->store, &plan->kept, plan->ordinal);
    if (plan->claimed)
        fr_column_give_home_up(plan->claimed);
    fr_plan_release(plan);
}

/* False: rows are moving to another segment. */
static bool fr_plan_look_up(fr_plan *plan)
{
    bool stay = true;
    for (uint32_t k = 0; k < plan->target_count && stay; k++)
        stay = plan->targets[k].claimed || /* it is looked up */
               fr_target_look_up(&plan->targets[k], plan->ordinal);
    return stay;
}

static void fr_plan_end_targets(fr_plan *plan)
{
    for (uint32_t k = 0; k < plan->target_count; k++)
        fr_target_end(&plan->targets[k]);
}

/* As if nothing had been looked up. */
static void fr_plan_forget(fr_plan *plan)
{
    fr_array_write *array = plan->array;
    plan->array = NULL;
    fr_plan_end_targets(plan);
    fr_plan_release(plan);
    plan->array = array;
    plan->binding = NULL;
    plan->targets = &plan->local_target;
    plan->target_count = plan->targets_in_table = 0;
    plan->target_capacity = 1;
    plan->scratch = plan->local_scratch;
}

/* Which rows are written where, and what is there, which stays there. The text is set for all
 * failures but OUT_OF_MEMORY. */
static ovstage_api_status_t fr_plan_find(fr_plan *plan, const fr_write *write, fr_column *column,
                                         fr_write_plan *out)
{
    for (;;) {
        ovstage_api_status_t status = fr_plan_find_targets(plan, write, column, out);
        if (status != OVSTAGE_OK || fr_plan_look_up(plan))
            return status;
        fr_plan_forget(plan);
        fr_seal_wait(plan->store); /* then they have moved */
    }
}

/* All memory is taken before any row gets a place. */
static ovstage_api_status_t fr_plan_reserve(fr_plan *plan)
{
    if (plan->device && !plan->array && plan->source->buffer && plan->target_count == 1 &&
        plan->source->buffer->placed->opened == plan->device &&
        fr_target_may_take(plan->targets, plan->source))
        plan->targets->taken = plan->source->buffer;
    for (uint32_t k = 0; k < plan->target_count; k++) {
        if (fr_target_reserve(plan->store, &plan->targets[k], plan->ordinal, plan->op_id))
            continue;
        while (k > 0)
            fr_target_undo(plan->store, &plan->targets[--k]);
        fr_plan_end_targets(plan);
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    }
    return OVSTAGE_OK;
}

/* --- one row -------------------------------------------------------------------- */

static bool fr_plan_is_one(const fr_write *write)
{
    return (write->rows->positions ? write->rows->count : write->query->count) == 1;
}

/* One prim, written again by the ordinal that holds it, or added to what that has of its segment,
 * or the first that it has of a segment: two or three looks. False: the general way. */
static bool fr_plan_one_row(fr_plan *plan, const fr_write *write, fr_column *column)
{
    uint32_t prim = fr_write_prim(write->query, write->rows, 0);
    fr_target *target = &plan->local_target;
    fr_segment *segment = NULL;
    fr_place place;
    uint32_t row = FR_ROW_SET_NONE;
    fr_mutex_lock(&column->lock);
    fr_unplaced *unplaced = fr_column_unplaced(column, plan->ordinal);
    if (unplaced)
        row = fr_row_set_place(&unplaced->prims, prim);
    if (row == FR_ROW_SET_NONE && fr_locator_get(&column->locator, prim, &place))
        segment = column->segments[place.segment];
    *target = (fr_target){.column = column,
                          .segment = segment,
                          .unplaced = segment ? NULL : unplaced,
                          .enters_prims = true,
                          .straight = true,
                          .first_place = row,
                          .count = 1};
    bool writes_there = row != FR_ROW_SET_NONE && fr_buffer_writable(unplaced->buffer);
    if (writes_there)
        fr_target_begin(target, &unplaced->touched);
    fr_mutex_unlock(&column->lock);
    if (segment) {
        if (segment->created_id_last >= plan->op_id ||
            !fr_target_one_row(plan->store, target, plan->ordinal, plan->op_id, place.row))
            return false;
    } else if (!writes_there) {
        return false;
    }
    plan->target_count = 1;
    plan->one_row = true;
    return true;
}

static ovstage_api_status_t fr_plan_insert(fr_store *store, const fr_write *write,
                                           fr_write_plan *out)
{
    ovx_primpath_t prim;
    if (write->prim_mode != OVSTAGE_PRIM_MODE_INSERT ||
        !fr_store_insert_conflict(store, write->query, write->rows, write->ordinal, write->op_id,
                                  &prim))
        return OVSTAGE_OK;
    out->refused_prim = prim;
    return fr_plan_refuse(out, OVSTAGE_ERROR_PRIM_NOT_FOUND,
                          "INSERT addresses a prim that exists already");
}

static uint32_t fr_target_chunks(const fr_plan *plan, const fr_target *target)
{
    uint64_t bytes = (uint64_t)target->count * plan->source->row_bytes;
    uint64_t chunks = (bytes + FR_CHUNK_BYTES - 1) / FR_CHUNK_BYTES;
    return chunks < target->count ? (uint32_t)chunks : target->count; /* a row is in one of them */
}

/* The first chunks copy elements: which and where to is known before they are there. False without
 * memory. */
static bool fr_plan_make_array(fr_plan *plan, const fr_write *write, fr_write_plan *out)
{
    if (!write->schema.is_array)
        return true;
    plan->array = fr_array_write_make(plan->store, write);
    if (!plan->array)
        return false;
    plan->source = &plan->array->rows;
    out->chunk_count = plan->array->chunk_count;
    return true;
}

/* What others must know before they see the rows. False without memory. */
static bool fr_plan_tell(fr_plan *plan)
{
    fr_store *store = plan->store;
    bool enough = true;
    for (uint32_t k = 0; enough && plan->late && k < plan->target_count; k++)
        enough = fr_target_enter_late(store, &plan->targets[k], plan->query, plan->source,
                                      plan->ordinal, plan->op_id);
    enough = enough && fr_kept_find(store, &plan->kept, plan->targets, plan->target_count,
                                    plan->query, plan->source, plan->ordinal);
    if (!enough)
        fr_plan_end_targets(plan); /* or who looks at the rows waits for ever */
    return enough;
}

static bool fr_plan_begin(fr_store *store, const fr_write *write, fr_write_plan *out)
{
    fr_plan *plan = fr_plan_of(out);
    out->chunk_count = 0;
    out->adopts = out->elsewhere = false;
    out->as = NULL;
    out->text[0] = 0;
    out->refused_prim = OVX_INVALID_PRIMPATH;
    *plan = (fr_plan){.store = store,
                      .source = write->rows,
                      .query = write->query,
                      .ordinal = write->ordinal,
                      .op_id = write->op_id,
                      .prims_entered = write->prims_entered,
                      .device = write->device,
                      .target_capacity = 1};
    plan->targets = &plan->local_target;
    plan->scratch = plan->local_scratch;
    return write->rows->selected_count > 0;
}

/* Columns whose keys lie on the host and on a device at one time are still to come. */
static const char *fr_plan_elsewhere(const struct fr_opened *device)
{
    return device ? "its values lie on the host, and rows for a device cannot be written to it"
                  : "its values lie on a device, and rows of the host cannot be written to it";
}

/* False: they cannot be there together. */
static bool fr_plan_claim_home(fr_plan *plan, fr_column *column)
{
    fr_column_claim claim = fr_column_claim_home(column, plan->device);
    if (claim == FR_COLUMN_CLAIMED)
        plan->claimed = column;
    return claim != FR_COLUMN_REFUSED;
}

static const fr_column *fr_write_find_column(const fr_attribute *attribute, const fr_schema *schema)
{
    const fr_column *column = fr_column_first(attribute);
    while (column && !fr_schema_equal(&column->schema, schema))
        column = column->next;
    return column;
}

struct fr_opened *fr_store_write_home(const fr_attribute *attribute, const fr_schema *schema)
{
    const fr_column *column = fr_write_find_column(attribute, schema);
    return column ? fr_column_device(column) : NULL;
}

bool fr_store_write_is_on_host(const fr_attribute *attribute, const fr_schema *schema)
{
    const fr_column *column = fr_write_find_column(attribute, schema);
    return column && fr_column_is_on_host(column);
}

/* Of a judged write, whose keys may be another column's for their role. */
static ovstage_api_status_t fr_plan_check_host(const fr_plan *plan, fr_write_plan *out)
{
    for (uint32_t k = 0; k < plan->target_count; k++)
        if (fr_column_device(plan->targets[k].column))
            return fr_plan_refuse(out, OVSTAGE_ERROR_NOT_SUPPORTED, fr_plan_elsewhere(NULL));
    return OVSTAGE_OK;
}

/* That all keys of a write have, if it is not the one that the write names; NULL: there is none. */
static const fr_schema *fr_plan_kept_schema(const fr_plan *plan, const fr_column *column)
{
    const fr_column *kept = plan->target_count > 0 ? plan->targets->column : column;
    for (uint32_t k = 0; k < plan->target_count; k++)
        if (plan->targets[k].column != kept)
            return NULL;
    return kept == column ? NULL : &kept->schema;
}

/* Targets that were found, of rows on a device or of a judged write. */
static ovstage_api_status_t fr_plan_check_home(fr_plan *plan, const fr_column *column,
                                               fr_write_plan *out)
{
    ovstage_api_status_t status =
        plan->device ? fr_plan_check_device(plan, column, out) : fr_plan_check_host(plan, out);
    if (status == OVSTAGE_OK)
        return status;
    out->as = fr_plan_kept_schema(plan, column);
    fr_plan_end_targets(plan);
    return status;
}

/* Which rows are written where, and that they may be written there. */
static ovstage_api_status_t fr_plan_find_home(fr_plan *plan, const fr_write *write,
                                              fr_column *column, fr_write_plan *out)
{
    ovstage_api_status_t status = fr_plan_find(plan, write, column, out);
    if (status == OVSTAGE_OK && (plan->device || write->judge))
        status = fr_plan_check_home(plan, column, out);
    return status;
}

/* alone: nothing else has to be certain before rows get places. */
static ovstage_api_status_t fr_plan_fill(fr_store *store, const fr_write *write, bool alone,
                                         fr_write_plan *out)
{
    fr_plan *plan = fr_plan_of(out);
    ovstage_api_status_t status = fr_plan_insert(store, write, out);
    if (status != OVSTAGE_OK)
        return status;
    plan->late = fr_late_is(store->late, plan->ordinal, UINT64_C(1) << write->attribute->index % 64,
                            plan->op_id);
    bool plain = !write->judge && !plan->late && !fr_marks_has(store->marks, plan->ordinal);
    fr_column *column = fr_column_enter(store, write->attribute, &write->schema);
    out->elsewhere = column && !fr_plan_claim_home(plan, column);
    if (out->elsewhere)
        status = fr_plan_refuse(out, OVSTAGE_ERROR_NOT_SUPPORTED, fr_plan_elsewhere(write->device));
    else if (!column || !fr_token_index_write(store, write) ||
             !fr_plan_make_array(plan, write, out))
        status = OVSTAGE_ERROR_OUT_OF_MEMORY;
    else if (alone && plain && !plan->device && fr_plan_is_one(write) &&
             fr_plan_one_row(plan, write, column))
        return OVSTAGE_OK;
    if (status == OVSTAGE_OK)
        status = fr_plan_find_home(plan, write, column, out);
    if (status == OVSTAGE_OK && !plain && !fr_plan_tell(plan))
        status = OVSTAGE_ERROR_OUT_OF_MEMORY;
    if (status == OVSTAGE_OK)
        status = fr_plan_reserve(plan);
    if (status == OVSTAGE_OK)
        return status;
    fr_plan_give_up(plan);
    if (out->text[0] == '\0')
        (void)snprintf(out->text, sizeof(out->text), "no memory for %u rows at ordinal %llu",
                       write->rows->selected_count, (unsigned long long)write->ordinal);
    return status;
}

/* What it is judged by may be lost while it is looked at: that is asked last, and stands above what
 * was found. */
static ovstage_api_status_t fr_plan_make(fr_store *store, const fr_write *write, bool alone,
                                         fr_write_plan *out)
{
#ifdef FR_MUTATE_JUDGEMENT_ASKS_FIRST
    bool lost = write->judge && fr_store_judgement_lost(store, write->op_id);
#endif
    ovstage_api_status_t status = fr_plan_fill(store, write, alone, out);
#ifndef FR_MUTATE_JUDGEMENT_ASKS_FIRST
    bool lost = write->judge && fr_store_judgement_lost(store, write->op_id);
#endif
    if (!lost)
        return status;
    if (status == OVSTAGE_OK)
        fr_store_write_cancel(store, out);
    return fr_plan_refuse(out, OVSTAGE_ERROR_OUT_OF_MEMORY,
                          "what it is judged by was lost for want of memory");
}

ovstage_api_status_t fr_store_write_prepare(fr_store *store, const fr_write *write,
                                            fr_write_plan *out)
{
    if (!fr_plan_begin(store, write, out))
        return OVSTAGE_OK;
    ovstage_api_status_t status = fr_plan_make(store, write, true, out);
    if (status == OVSTAGE_OK)
        fr_store_write_enter(store, out);
    return status;
}

ovstage_api_status_t fr_store_write_reserve(fr_store *store, const fr_write *write,
                                            fr_write_plan *out)
{
    return fr_plan_begin(store, write, out) ? fr_plan_make(store, write, false, out) : OVSTAGE_OK;
}

void fr_store_write_cancel(fr_store *store, fr_write_plan *out)
{
    fr_plan *plan = fr_plan_of(out);
    for (uint32_t k = 0; k < plan->target_count; k++)
        fr_target_undo(store, &plan->targets[k]);
    fr_plan_give_up(plan);
}

void fr_store_write_enter(fr_store *store, fr_write_plan *out)
{
    fr_plan *plan = fr_plan_of(out);
    if (plan->one_row) { /* it has its place */
        out->chunk_count++;
        return;
    }
    if ((plan->source->adoptable || plan->source->buffer) && plan->target_count == 1 &&
        !plan->device)
        fr_target_adopt(store, &plan->targets[0], plan->source, &out->adopts);
    for (uint32_t k = 0; k < plan->target_count; k++)
        fr_target_enter(&plan->targets[k], plan->op_id);
    bool placed = plan->device && !plan->array;
    for (uint32_t k = 0; !out->adopts && !placed && k < plan->target_count; k++)
        out->chunk_count += fr_target_chunks(plan, &plan->targets[k]);
}

/* Elements [first, end) of the target. */
static void fr_plan_copy(const fr_plan *plan, const fr_target *target, uint32_t first, uint32_t end)
{
    fr_buffer *payload = fr_target_buffer(target);
    const uint32_t *elements = target->straight ? NULL : target->elements + first;
    const uint32_t *places = target->straight ? NULL : target->places + first;
    uint32_t first_place = target->first_place + first, count = end - first;
    if (plan->array)
        fr_array_write_rows(plan->store, plan->array, first, elements, first_place, places, count,
                            payload);
    else if (target->gathered)
        fr_rows_gather_indexed(payload->data + (size_t)first_place * plan->source->row_bytes,
                               plan->source->base, target->gathered + first, count,
                               plan->source->row_bytes);
    else if (target->straight)
        fr_rows_copy(plan->source, first, count,
                     payload->data + (size_t)first_place * plan->source->row_bytes);
    else
        fr_rows_scatter(plan->source, elements, places, count, payload->data);
}

void fr_store_write_chunk(fr_write_plan *out, uint32_t chunk)
{
    fr_plan *plan = fr_plan_of(out);
    const fr_target *target = plan->targets;
    if (plan->array && chunk < plan->array->chunk_count) {
        fr_array_write_chunk(plan->array, chunk);
        return;
    }
    chunk -= plan->array ? plan->array->chunk_count : 0;
    if (plan->one_row) {
        fr_plan_copy(plan, target, 0, 1);
        return;
    }
    while (chunk >= fr_target_chunks(plan, target)) {
        chunk -= fr_target_chunks(plan, target);
        target++;
    }
    uint64_t chunks = fr_target_chunks(plan, target);
    uint32_t first = (uint32_t)(target->count * (uint64_t)chunk / chunks);
    uint32_t end = (uint32_t)(target->count * ((uint64_t)chunk + 1) / chunks);
    fr_plan_copy(plan, target, first, end);
}

void fr_store_write_commit(fr_store *store, fr_write_plan *out)
{
    fr_plan *plan = fr_plan_of(out);
    fr_kept_enter(store, &plan->kept, plan->ordinal, plan->op_id);
    if (plan->claimed)
        fr_column_settle_home(plan->claimed);
    plan->claimed = NULL;
    if (plan->one_row && !plan->local_target.made) {
        fr_target_end(&plan->local_target);
        fr_target_count_bytes(store, &plan->local_target);
        if (plan->array)
            fr_array_write_count(plan->array, fr_target_touched(&plan->local_target));
        fr_array_write_destroy(store, plan->array);
        return;
    }
    for (uint32_t k = 0; k < plan->target_count; k++)
        fr_target_commit(store, &plan->targets[k], plan->ordinal, plan->op_id);
    if (plan->array) /* all targets are of one ordinal and attribute, hence sealed together */
        fr_array_write_count(plan->array, fr_target_touched(plan->targets));
    fr_plan_release(plan);
}
