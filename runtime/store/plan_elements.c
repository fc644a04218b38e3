/* Which elements of a write go into which segment, or stay without a place: by what is known of the
 * query as a whole, or element by element. */
#include "runtime/store/bind_order.h"
#include "runtime/store/judge.h"
#include "runtime/store/plan.h"
#include "runtime/store/store_state.h"
#include "runtime/write/payload.h"

#include <stdio.h>

/* Of a query's prims, that are worth finding out about all of them. */
#define FR_PLAN_MANY_PART 8u

/* --- element by element ----------------------------------------------------------------------- */

/* Of a path listed twice only the last position is written: sets a bit for each selected element
 * whose path comes again in a later one. By path and before any place is looked up, since a seal
 * may place a key between two looks. False without memory. */
static bool fr_plan_find_repeated(const fr_plan *plan, const fr_query *query, uint64_t *repeated)
{
    const fr_row_source *source = plan->source;
    fr_row_set seen;
    bool dense;
    uint32_t *old_rows, old_count;
    fr_row_set_init(&seen, plan->store->allocator, 0);
    bool enough = fr_row_set_reserve(&seen, source->selected_count, &dense, &old_rows, &old_count);
    for (uint32_t element = source->count; enough && element > 0;) {
        element--;
        bool added = true;
        if (fr_row_selected(source, element))
            (void)fr_row_set_add(&seen, fr_write_prim(query, source, element), &added);
        if (!added)
            repeated[element / 64] |= UINT64_C(1) << element % 64;
    }
    fr_row_set_destroy(&seen);
    return enough;
}

static bool fr_plan_is_written(const fr_plan *plan, const uint64_t *repeated, uint32_t element)
{
    return fr_row_selected(plan->source, element) &&
           !(repeated && (repeated[element / 64] >> element % 64 & 1) != 0);
}

/* The column in which an element's key is written: NULL when its schema is another one, which *out
 * says then. */
static fr_column *fr_plan_column(const fr_write *write, fr_column *column, uint32_t element,
                                 fr_write_plan *out)
{
    if (!write->judge)
        return column;
    fr_column *holder =
        fr_judge_key(write->attribute, fr_write_prim(write->query, write->rows, element),
                     write->ordinal, write->op_id);
    if (!holder || holder == column)
        return column;
    bool any_role = write->any_role || write->schema.semantic == OVSTAGE_SEMANTIC_NONE;
    bool keeps_role = any_role && fr_schema_same_layout(&holder->schema, &write->schema);
    if (keeps_role)
        return holder;
    out->refused_prim = fr_write_prim(write->query, write->rows, element);
    (void)snprintf(out->text, sizeof(out->text), "it has another schema, %s, than is written: %s",
                   fr_schema_tell(&holder->schema).text, fr_schema_tell(&write->schema).text);
    return NULL;
}

typedef struct fr_sorted {
    fr_segment *segment;
    uint32_t place;
} fr_sorted;

/* Where one element goes: its place, or unplaced rows that the ordinal has of this key. */
static fr_sorted fr_plan_place(const fr_plan *plan, fr_column *column, uint32_t prim)
{
    fr_sorted sorted = {NULL, prim};
    fr_place place;
    fr_mutex_lock(&column->lock);
    fr_unplaced *own = fr_column_unplaced(column, plan->ordinal);
    if (own && fr_row_set_place(&own->prims, prim) != FR_ROW_SET_NONE) {
        /* the key got its place after this ordinal had begun to write it: it stays where it is
         * until the seal */
    } else if (fr_locator_get(&column->locator, prim, &place)) {
        sorted.segment = column->segments[place.segment];
        sorted.place = place.row;
    }
    fr_mutex_unlock(&column->lock);
    return sorted;
}

static ovstage_api_status_t fr_plan_scratch(fr_plan *plan, uint32_t elements, uint32_t words_each)
{
    size_t words = (size_t)elements * words_each;
    plan->scratch = plan->local_scratch;
    if (words > sizeof(plan->local_scratch) / sizeof(plan->local_scratch[0])) {
        plan->scratch_bytes = words * sizeof(uint32_t);
        plan->scratch = fr_memory_allocate(plan->store->allocator, plan->scratch_bytes, 16);
    }
    plan->scratch_next = plan->scratch;
    plan->scratch_half = elements;
    return plan->scratch ? OVSTAGE_OK : OVSTAGE_ERROR_OUT_OF_MEMORY;
}

/* The elements of each target, together in the scratch memory; `found` is what the sort has found
 * for each selected element: the number of its target, and its place there. */
static void fr_plan_deal_out(fr_plan *plan, const uint64_t *repeated, const uint32_t *found)
{
    const fr_row_source *source = plan->source;
    uint32_t *next = plan->scratch;
    for (uint32_t k = 0; k < plan->target_count; k++) {
        fr_target *target = &plan->targets[k];
        target->elements = next;
        target->places = next + target->count;
        next += 2 * (size_t)target->count;
        target->count = 0;
    }
    for (uint32_t element = 0; element < source->count; element++) {
        if (!fr_plan_is_written(plan, repeated, element))
            continue;
        fr_target *target = &plan->targets[*found++];
        target->elements[target->count] = element;
        target->places[target->count++] = *found++;
    }
}

/* Element by element. Each key is looked up once: a seal may place it meanwhile, and a second look
 * could find another target. */
static ovstage_api_status_t fr_plan_sort(fr_plan *plan, const fr_write *write, fr_column *column,
                                         const uint64_t *repeated, fr_write_plan *out)
{
    const fr_row_source *source = write->rows;
    uint32_t *found = plan->scratch + 2 * (size_t)source->selected_count, *next = found;
    for (uint32_t element = 0; element < source->count; element++) {
        if (!fr_plan_is_written(plan, repeated, element))
            continue;
        fr_column *holder = fr_plan_column(write, column, element, out);
        if (!holder)
            return OVSTAGE_ERROR_INVALID_ARGUMENT;
        fr_sorted sorted =
            fr_plan_place(plan, holder, fr_write_prim(write->query, source, element));
        fr_target *target = fr_plan_target(plan, holder, sorted.segment);
        if (!target)
            return OVSTAGE_ERROR_OUT_OF_MEMORY;
        target->count++;
        *next++ = (uint32_t)(target - plan->targets);
        *next++ = sorted.place;
    }
    fr_plan_deal_out(plan, repeated, found);
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_plan_one_by_one(fr_plan *plan, const fr_write *write,
                                               fr_column *column, bool has_duplicates,
                                               fr_write_plan *out)
{
    if (fr_plan_scratch(plan, plan->source->selected_count, 4) != OVSTAGE_OK)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    if (!has_duplicates)
        return fr_plan_sort(plan, write, column, NULL, out);
    const fr_allocator *allocator = plan->store->allocator;
    size_t size_bytes = (plan->source->count + 63) / 64 * sizeof(uint64_t);
    uint64_t *repeated = fr_memory_allocate_zero(allocator, size_bytes, 16);
    if (!repeated)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    ovstage_api_status_t status = fr_plan_find_repeated(plan, write->query, repeated)
                                      ? fr_plan_sort(plan, write, column, repeated, out)
                                      : OVSTAGE_ERROR_OUT_OF_MEMORY;
    fr_memory_release(allocator, repeated, size_bytes);
    return status;
}

/* --- bound queries ---------------------------------------------------------------------------- */

/* Where nothing has to be looked up element by element: the query is bound and this ordinal holds
 * none of its keys as unplaced rows. */
static bool fr_plan_is_bound(const fr_plan *plan, const fr_write *write, fr_column *column,
                             const fr_binding *binding)
{
    if (write->judge || binding->has_duplicates)
        return false;
    if (binding->placed_count == 0)
        return true;
    fr_mutex_lock(&column->lock);
    bool none = !fr_column_unplaced(column, plan->ordinal);
    fr_mutex_unlock(&column->lock);
    return none;
}

/* The selected elements of entries [first, end) of the binding, and their rows or prims. */
static void fr_plan_spell_out(fr_plan *plan, const fr_write *write, const fr_binding *binding,
                              fr_target *target, uint32_t first, uint32_t end)
{
    const fr_row_source *source = plan->source;
    uint32_t *elements = plan->scratch_next;
    uint32_t *places = plan->scratch_next + plan->scratch_half;
    uint32_t count = 0;
    if (!binding->order && end > source->count)
        end = source->count; /* entry k is element k: a write of the first few ends there */
    for (uint32_t k = first; k < end; k++) {
        uint32_t element = fr_bind_position(binding, k);
        if (element >= source->count || !fr_row_selected(source, element))
            continue;
        elements[count] = element;
        places[count++] =
            target->segment ? fr_bind_row(binding, k) : (uint32_t)write->query->prims[element];
    }
    target->elements = elements;
    target->places = places;
    target->count = count;
    plan->scratch_next += count;
}

/* All elements into a new list of rows: the rows are taken over as they are. */
static bool fr_plan_take_rows(const fr_plan *plan, const fr_binding *binding, fr_target *target)
{
    if (binding->order || binding->whole || plan->source->count <= FR_BIND_LOCAL ||
        plan->source->count > target->segment->row_count / 8)
        return false;
    (void)fr_target_look_up(target, plan->ordinal);
    fr_target_end(target); /* it may not be this target that writes it */
    return !target->version;
}

/* In ascending order, where the rows of the source can be picked as they lie. */
static void fr_plan_order_rows(const fr_plan *plan, const fr_binding *binding, fr_target *target)
{
    if (plan->array || !plan->source->compact || plan->source->index_map || binding->has_duplicates)
        return;
    const fr_bind_order *order = fr_bind_order_take(binding);
    if (!order)
        return;
    target->bound_rows = order->rows;
    target->gathered = order->elements;
}

static ovstage_api_status_t fr_plan_bound(fr_plan *plan, const fr_write *write, fr_column *column,
                                          const fr_binding *binding)
{
    const fr_row_source *source = plan->source;
    bool all = source->selected_count == binding->count;
    if (all && binding->group_count == 1 && !binding->order) {
        fr_target *target = fr_plan_target(plan, column, binding->groups[0].segment);
        target->count = source->count;
        target->straight = binding->whole;
        if (target->straight)
            return OVSTAGE_OK;
        if (fr_plan_take_rows(plan, binding, target)) {
            target->bound_rows = binding->rows;
            fr_plan_order_rows(plan, binding, target);
            return OVSTAGE_OK;
        }
        plan->target_count = 0;
    }
    if (fr_plan_scratch(plan, source->selected_count, 2) != OVSTAGE_OK)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    for (uint32_t g = 0; g <= binding->group_count; g++) {
        bool placed = g < binding->group_count;
        uint32_t first = placed ? binding->groups[g].first : binding->placed_count;
        uint32_t end = placed ? first + binding->groups[g].count : binding->count;
        if (first == end)
            continue;
        fr_target *target =
            fr_plan_target_add(plan, column, placed ? binding->groups[g].segment : NULL);
        if (!target)
            return OVSTAGE_ERROR_OUT_OF_MEMORY;
        fr_plan_spell_out(plan, write, binding, target, first, end);
        if (target->count == 0)
            plan->target_count--;
    }
    return OVSTAGE_OK;
}

/* --- positions of a query --------------------------------------------------------------------- */

/* So each is there once. */
static bool fr_plan_ascends(const fr_row_source *source)
{
    uint32_t k = 1;
    while (k < source->count && source->positions[k - 1] < source->positions[k])
        k++;
    return k >= source->count;
}

/* Of a query whose rows are one segment's: the rows of the selected elements, without a look at any
 * other row. */
static ovstage_api_status_t fr_plan_some_rows(fr_plan *plan, const fr_binding *binding,
                                              fr_column *column)
{
    const fr_row_source *source = plan->source;
    fr_target *target = fr_plan_target(plan, column, binding->groups[0].segment);
    if (fr_plan_scratch(plan, source->selected_count, 2) != OVSTAGE_OK)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    target->elements = plan->scratch;
    target->places = plan->scratch + plan->scratch_half;
    for (uint32_t element = 0; element < source->count; element++) {
        if (!fr_row_selected(source, element))
            continue;
        target->elements[target->count] = element;
        target->places[target->count++] = fr_bind_row(binding, source->positions[element]);
    }
    (void)fr_target_look_up(target, plan->ordinal);
    fr_target_end(target); /* it is looked up again */
    if (!target->version && target->count == source->count && target->count > FR_BIND_LOCAL &&
        target->count <= target->segment->row_count / 8)
        target->bound_rows = target->places; /* the list of its rows as it is */
    return OVSTAGE_OK;
}

/* What is known of the query is made use of. To find out about all of it is worth it for many of
 * its prims only. */
static ovstage_api_status_t fr_plan_positions(fr_plan *plan, const fr_write *write,
                                              fr_column *column, fr_write_plan *out)
{
    bool many = write->query->count > FR_BIND_LOCAL &&
                write->rows->count >= write->query->count / FR_PLAN_MANY_PART;
    const fr_binding *binding = many ? fr_bind(plan->store, write->query, column, NULL)
                                     : fr_bind_find(write->query, column);
    if (many && !binding)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    ovstage_api_status_t status;
    if (binding && !binding->order && fr_plan_is_bound(plan, write, column, binding) &&
        fr_plan_ascends(write->rows))
        status = fr_plan_some_rows(plan, binding, column);
    else
        status = fr_plan_one_by_one(plan, write, column, true, out);
    if (binding)
        fr_bind_release(binding);
    return status;
}

/* --- prims that nothing knows ----------------------------------------------------------------- */

/* Nothing has to be looked up. What another ordinal makes of these prims meanwhile is no matter: a
 * key may be an unplaced row here when it has got its place. */
static ovstage_api_status_t fr_plan_fresh(fr_plan *plan, const fr_write *write, fr_column *column)
{
    const fr_row_source *source = plan->source;
    fr_target *target = fr_plan_target(plan, column, NULL);
    target->count = source->selected_count;
    target->fresh = write->fresh;
    target->straight = !source->mask;
    if (target->straight)
        return OVSTAGE_OK;
    if (fr_plan_scratch(plan, source->selected_count, 3) != OVSTAGE_OK)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    uint32_t *prims = plan->scratch, count = 0;
    target->elements = prims + source->selected_count;
    target->places = target->elements + source->selected_count;
    for (uint32_t element = 0; element < source->count; element++) {
        if (!fr_row_selected(source, element))
            continue;
        target->elements[count] = element;
        prims[count++] = write->fresh[element];
    }
    target->fresh = prims;
    return OVSTAGE_OK;
}

ovstage_api_status_t fr_plan_find_targets(fr_plan *plan, const fr_write *write, fr_column *column,
                                          fr_write_plan *out)
{
    fr_binding local;
    if (write->fresh)
        return fr_plan_fresh(plan, write, column);
    if (write->rows->positions)
        return fr_plan_positions(plan, write, column, out);
    const fr_binding *binding = fr_bind(plan->store, write->query, column, &local);
    if (!binding)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    ovstage_api_status_t status;
    if (fr_plan_is_bound(plan, write, column, binding))
        status = fr_plan_bound(plan, write, column, binding);
    else
        status = fr_plan_one_by_one(plan, write, column, binding->has_duplicates, out);
    if (status == OVSTAGE_OK && plan->targets->bound_rows)
        plan->binding = binding;
    else
        fr_bind_release(binding);
    return status;
}
