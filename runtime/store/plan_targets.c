#include "runtime/store/plan.h"

#include <string.h>

#include "runtime/store/store_state.h"

/* Behind the targets lies a table of their numbers + 1, with open addressing and at most half full:
 * one write may fill as many targets as it has elements. The local one has none. */
static size_t fr_plan_targets_bytes(uint32_t capacity)
{
    return capacity * (sizeof(fr_target) + 2 * sizeof(uint32_t));
}

void fr_plan_targets_release(fr_plan *plan)
{
    if (plan->targets != &plan->local_target)
        fr_memory_release(plan->store->allocator, plan->targets,
                          fr_plan_targets_bytes(plan->target_capacity));
}

static bool fr_plan_is_target(const fr_target *target, const fr_column *column,
                              const fr_segment *segment)
{
    return target->column == column && target->segment == segment;
}

/* The entry of the table that leads to a target, or the empty one where it belongs. */
static uint32_t *fr_plan_slot(const fr_plan *plan, const fr_column *column,
                              const fr_segment *segment)
{
    uint32_t *table = (uint32_t *)(void *)(plan->targets + plan->target_capacity);
    uint32_t mask = 2 * plan->target_capacity - 1;
    uint64_t hash = ((uintptr_t)column ^ (uintptr_t)segment) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t slot = (uint32_t)(hash >> 32) & mask;
    while (table[slot] != 0 && !fr_plan_is_target(&plan->targets[table[slot] - 1], column, segment))
        slot = (slot + 1) & mask;
    return &table[slot];
}

fr_target *fr_plan_target_add(fr_plan *plan, fr_column *column, fr_segment *segment)
{
    if (plan->target_count == plan->target_capacity) {
        uint32_t capacity = 2 * plan->target_capacity;
        fr_target *targets =
            fr_memory_allocate(plan->store->allocator, fr_plan_targets_bytes(capacity), 16);
        if (!targets)
            return NULL;
        memcpy(targets, plan->targets, plan->target_count * sizeof(*targets));
        memset(targets + capacity, 0, 2 * capacity * sizeof(uint32_t));
        if (plan->targets != &plan->local_target)
            fr_memory_release(plan->store->allocator, plan->targets,
                              fr_plan_targets_bytes(plan->target_capacity));
        plan->targets = targets;
        plan->target_capacity = capacity;
        plan->targets_in_table = 0;
    }
    fr_target *target = &plan->targets[plan->target_count++];
    *target =
        (fr_target){.column = column, .segment = segment, .enters_prims = !plan->prims_entered};
    return target;
}

fr_target *fr_plan_target(fr_plan *plan, fr_column *column, fr_segment *segment)
{
    if (plan->targets == &plan->local_target)
        return plan->target_count == 1 && fr_plan_is_target(plan->targets, column, segment)
                   ? plan->targets
                   : fr_plan_target_add(plan, column, segment);
    for (; plan->targets_in_table < plan->target_count; plan->targets_in_table++) {
        const fr_target *target = &plan->targets[plan->targets_in_table];
        *fr_plan_slot(plan, target->column, target->segment) = plan->targets_in_table + 1;
    }
    const uint32_t *slot = fr_plan_slot(plan, column, segment);
    return *slot != 0 ? &plan->targets[*slot - 1] : fr_plan_target_add(plan, column, segment);
}
