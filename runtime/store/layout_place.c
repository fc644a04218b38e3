#include "runtime/store/layout_place.h"

#include "runtime/device/placed.h"
#include "runtime/store/plan.h"
#include "runtime/store/seal.h"
#include "runtime/store/store_state.h"
#include "runtime/store/target_place.h"

/* --- which row goes where --------------------------------------------------------------------- */

/* The target of a row of the record; *row is its place there. NULL without memory. */
static fr_target *fr_layout_target(fr_plan *plan, fr_column *column, const fr_unplaced *unplaced,
                                   uint32_t from, uint32_t *row)
{
    fr_place place = {0, 0};
    (void)fr_locator_get(&column->locator, unplaced->prims.rows[from], &place);
    *row = place.row;
    return fr_plan_target(plan, column, column->segments[place.segment]);
}

/* All at once for each segment, however its rows alternate with those of others. */
static bool fr_layout_sort(fr_plan *plan, fr_column *column, const fr_unplaced *unplaced)
{
    uint32_t count = unplaced->prims.count, row;
    plan->scratch_bytes = 2 * (size_t)count * sizeof(uint32_t);
    plan->scratch = fr_memory_allocate(plan->store->allocator, plan->scratch_bytes, 16);
    if (!plan->scratch)
        return false;
    for (uint32_t from = 0; from < count; from++) {
        fr_target *target = fr_layout_target(plan, column, unplaced, from, &row);
        if (!target)
            return false;
        target->count++;
    }
    uint32_t *next = plan->scratch;
    for (uint32_t k = 0; k < plan->target_count; k++) {
        fr_target *target = &plan->targets[k];
        target->elements = next;
        target->places = next + target->count;
        next += 2 * (size_t)target->count;
        target->count = 0;
    }
    for (uint32_t from = 0; from < count; from++) {
        fr_target *target = fr_layout_target(plan, column, unplaced, from, &row);
        target->elements[target->count] = from;
        target->places[target->count++] = row;
    }
    return true;
}

/* --- the versions ----------------------------------------------------------------------------- */

static void fr_layout_look_up(fr_plan *plan)
{
    for (uint32_t k = 0; k < plan->target_count; k++) {
        fr_target *target = &plan->targets[k];
        (void)fr_target_look_up(target, plan->ordinal); /* rows on a device never move elsewhere */
        target->beside = target->version != NULL;
    }
}

/* A segment's lowest entry covers all rows, so that there is something to stand on. */
static bool fr_layout_is_base(const fr_target *target, uint64_t ordinal)
{
    fr_mutex_lock(&target->segment->lock);
    bool is_base = !fr_segment_state(target->segment, ordinal);
    fr_mutex_unlock(&target->segment->lock);
    return is_base;
}

static bool fr_layout_reserve(fr_plan *plan)
{
    bool enough = true;
    for (uint32_t k = 0; k < plan->target_count && enough; k++) {
        fr_target *target = &plan->targets[k];
        enough = fr_layout_is_base(target, plan->ordinal)
                     ? fr_target_reserve_base(plan->store, target, plan->ordinal, plan->op_id)
                     : fr_target_reserve(plan->store, target, plan->ordinal, plan->op_id);
    }
    return enough;
}

/* What lies on a dead device is lost, wherever it does: the keys have their places all the same, so
 * that those who look for keys alone find them, and deletes take them away. */
static bool fr_layout_lose(fr_plan *plan, const fr_unplaced *unplaced)
{
    bool enough = true;
    for (uint32_t k = 0; k < plan->target_count && enough; k++) {
        fr_target *target = &plan->targets[k];
        target->beside = false;
        target->straight = true;
        target->taken = unplaced->buffer;
        enough = fr_target_reserve(plan->store, target, plan->ordinal, plan->op_id);
    }
    return enough;
}

static void fr_layout_link(fr_plan *plan)
{
    for (uint32_t k = 0; k < plan->target_count; k++) {
        fr_target *target = &plan->targets[k];
        fr_segment *segment = target->segment;
        fr_target_enter(target, plan->op_id);
        fr_target_link(target, &plan->store->versions);
        fr_mutex_lock(&segment->lock);
        /* Of two ops that began it the first; a late one's rows are known (late.h). */
        if (plan->op_id < target->version->first_id)
            target->version->first_id = plan->op_id;
        fr_mutex_unlock(&segment->lock);
        fr_seal_want_fold(plan->store, segment);
    }
}

/* --- the device's work ------------------------------------------------------------------------ */

/* A write that is read here and may be stalled: a reference, or NULL. */
static fr_fence *fr_layout_pending(const fr_plan *plan, const fr_unplaced *unplaced)
{
    fr_fence *pending = fr_placed_stalled_by(unplaced->buffer->placed);
    for (uint32_t k = 0; k < plan->target_count && !pending; k++)
        if (plan->targets[k].version)
            pending = fr_placed_stalled_by(plan->targets[k].version->buffer->placed);
#ifdef FR_MUTATE_DEVICE_LAYOUT_STALLS_OTHERS
    fr_fence_release(pending);
    pending = NULL;
#endif
    return pending;
}

static bool fr_layout_put(const fr_plan *plan, const fr_unplaced *unplaced, fr_device_run *run,
                          fr_device_fault *fault)
{
    uint32_t row_bytes = unplaced->column->row_bytes;
    fr_placed *from = unplaced->buffer->placed;
    const fr_row_source rows = {.row_bytes = row_bytes};
    const fr_placing_source source = {
        .rows = &rows, .place = run->opened->place, .from = from->address, .pitch = row_bytes};
    bool put = fr_device_run_reads(run, from, FR_USE_LAID_OUT, fault);
    for (uint32_t k = 0; k < plan->target_count && put; k++)
        put = fr_target_place(plan->store, &plan->targets[k], &source, run, fault);
    return put && fr_device_run_record(run, fault);
}

/* In the lane of the ordinal behind what stalls it alone. */
static bool fr_layout_make(fr_plan *plan, fr_opened *device, const fr_unplaced *unplaced)
{
    fr_device_run run;
    fr_device_fault fault;
    fr_fence *pending = fr_layout_pending(plan, unplaced);
    uint64_t lane = pending ? plan->ordinal : fr_streams_lane_of_seals(plan->ordinal);
#ifdef FR_MUTATE_DEVICE_LAYOUT_FINDS_NO_STREAM
    bool made = fr_device_run_begin(&run, device, 0, lane, pending, &fault);
#else
    bool made = fr_device_run_begin_any(&run, device, lane, pending, &fault);
#endif
    if (made) {
        made = fr_layout_reserve(plan) && fr_layout_put(plan, unplaced, &run, &fault);
        fr_device_run_end(&run);
    }
    fr_fence_release(pending);
    return made;
}

/* --- a record --------------------------------------------------------------------------------- */

static void fr_layout_close(fr_plan *plan)
{
    for (uint32_t k = 0; k < plan->target_count; k++)
        fr_target_unclaim(&plan->targets[k]);
    fr_memory_release(plan->store->allocator, plan->scratch, plan->scratch_bytes);
    fr_plan_targets_release(plan);
}

static bool fr_layout_is_lost(const fr_opened *device)
{
#ifdef FR_MUTATE_DEVICE_LAYOUT_NEEDS_ITS_DEVICE
    (void)device;
    return false;
#else
    return fr_opened_is_dead(device);
#endif
}

bool fr_layout_place(fr_store *store, fr_column *column, const fr_unplaced *unplaced)
{
    fr_opened *device = fr_column_device(column);
    fr_plan plan = {.store = store,
                    .ordinal = unplaced->ordinal,
                    .op_id = unplaced->first_id,
                    .prims_entered = true,
                    .target_capacity = 1};
    plan.targets = &plan.local_target;
    bool enough = fr_layout_sort(&plan, column, unplaced);
    if (enough) {
        fr_layout_look_up(&plan);
        enough = fr_layout_is_lost(device) ? fr_layout_lose(&plan, unplaced)
                                           : fr_layout_make(&plan, device, unplaced);
    }
    if (enough)
        fr_layout_link(&plan);
    for (uint32_t k = 0; k < plan.target_count && !enough; k++)
        fr_target_undo(store, &plan.targets[k]);
    fr_layout_close(&plan);
    return enough;
}
