/* Writes whose rows lie on a device: all rows of what they go to, in order, by one copy. */
#include <string.h>

#include "runtime/store/plan.h"
#include "runtime/store/store_state.h"

/* The same keys in the same order as the elements have. With the column's lock held. */
static bool fr_plan_has_rows(const fr_unplaced *unplaced, const fr_target *target)
{
    return unplaced->prims.count == target->count &&
           memcmp(unplaced->prims.rows, target->places, target->count * sizeof(uint32_t)) == 0;
}

static bool fr_placing_is_same(const fr_placing *other, const fr_query *query)
{
    return other->query->count == query->count &&
           memcmp(other->query->prims, query->prims, query->count * sizeof(*query->prims)) == 0;
}

/* Whether a seal has placed one of the keys since the plan found them without places: then they are
 * no new keys, and where they lie has to be found again. With the column's lock held. */
static bool fr_plan_is_overtaken(const fr_column *column, const fr_target *target)
{
#ifndef FR_MUTATE_PLACING_IS_OVERTAKEN
    fr_place place;
    for (uint32_t k = 0; k < target->count && column->locator.count > 0; k++)
        if (fr_locator_get(&column->locator, target->places[k], &place))
            return true;
#else
    (void)column;
    (void)target;
#endif
    return false;
}

/* New keys: alone in the column, or as other ordinals and this one have written them or are about
 * to, so that no seal has to bring rows together that lie apart. */
static bool fr_plan_unplaced_fits(fr_plan *plan, fr_target *target)
{
    fr_column *column = target->column;
    for (uint32_t k = 0; k < target->count; k++)
        if (target->elements[k] != k)
            return false;
    fr_mutex_lock(&column->lock);
    bool fits = true;
    for (const fr_unplaced *there = column->unplaced; there && fits; there = there->next) {
        fr_look();
        fits = fr_plan_has_rows(there, target);
        target->has_rows = target->has_rows || there->ordinal == plan->ordinal;
    }
    for (const fr_placing *other = column->placing; other && fits; other = other->next) {
        fr_look();
        fits = fr_placing_is_same(other, plan->query);
    }
    /* Rows that the ordinal has of them stay where they are until its seal, places or not. */
    plan->overtaken = fits && !target->has_rows && fr_plan_is_overtaken(column, target);
    fits = fits && !plan->overtaken;
#ifndef FR_MUTATE_PLACING_IS_NOT_SEEN
    if (fits) {
        plan->placing = (fr_placing){column->placing, column, plan->query};
        column->placing = &plan->placing;
    }
#endif
    fr_mutex_unlock(&column->lock);
    return fits;
}

void fr_plan_end_placing(fr_plan *plan)
{
    fr_column *column = plan->placing.column;
    if (!column)
        return;
    fr_mutex_lock(&column->lock);
    fr_placing **link = &column->placing;
    while (*link != &plan->placing)
        link = &(*link)->next;
    *link = plan->placing.next;
    fr_mutex_unlock(&column->lock);
    plan->placing.column = NULL;
}

ovstage_api_status_t fr_plan_check_device(fr_plan *plan, const fr_column *column,
                                          fr_write_plan *out)
{
    fr_target *target = plan->targets;
    if (plan->target_count != 1 || target->column != column || target->count != plan->query->count)
        return fr_plan_refuse(out, OVSTAGE_ERROR_NOT_SUPPORTED,
                              "rows on a device go to keys that were made together, and to all of "
                              "them; here they lie apart");
    bool fits = target->segment ? target->straight : fr_plan_unplaced_fits(plan, target);
    return fits ? OVSTAGE_OK
                : fr_plan_refuse(out, OVSTAGE_ERROR_NOT_SUPPORTED,
                                 "rows on a device go to all the keys that were made together, in "
                                 "their order; here they are others");
}

struct fr_placed *fr_store_write_placed(fr_write_plan *out)
{
    const fr_plan *plan = (const fr_plan *)(const void *)out->state;
    return fr_target_buffer(plan->targets)->placed;
}
