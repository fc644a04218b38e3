/* Writes whose rows go to a device. */
#include "runtime/store/array_place.h"
#include "runtime/store/plan.h"
#include "runtime/store/store_state.h"
#include "runtime/store/target_place.h"

ovstage_api_status_t fr_plan_check_device(fr_plan *plan, const fr_column *column,
                                          fr_write_plan *out)
{
    for (uint32_t k = 0; k < plan->target_count; k++) {
        fr_target *target = &plan->targets[k];
        if (target->column != column)
            return fr_plan_refuse(out, OVSTAGE_ERROR_NOT_SUPPORTED,
                                  "its keys on a device have another role, and keep it");
        if (plan->array)
            continue; /* its rows are the host's */
        /* One may be written in place: all of it by the last call, or nothing. */
        bool is_one = plan->target_count == 1;
#ifdef FR_MUTATE_DEVICE_MANY_IN_PLACE
        is_one = true;
#endif
        target->beside = target->segment && target->version && !target->straight &&
                         (!is_one || !fr_target_fits_in_place(target));
    }
    return OVSTAGE_OK;
}

/* --- where the rows come from ----------------------------------------------------------------- */

bool fr_store_rows_collect(const fr_row_source *rows, uint64_t to, fr_device_run *run,
                           fr_device_fault *fault)
{
    fr_strided_copy copy = {.to = to,
                            .from = (uint64_t)(uintptr_t)rows->base,
                            .dims = rows->inner_dims + 1,
                            .element_bytes =
                                rows->inner_dims ? rows->element_bytes : rows->row_bytes};
    copy.shape[0] = rows->row_count;
    copy.to_stride[0] = rows->row_bytes;
    copy.from_stride[0] = rows->row_stride_bytes;
    int64_t stride_bytes = rows->element_bytes;
    for (uint32_t d = rows->inner_dims; d-- > 0;) {
        copy.shape[d + 1] = rows->inner_shape[d];
        copy.from_stride[d + 1] = rows->inner_stride_bytes[d];
        copy.to_stride[d + 1] = stride_bytes;
        stride_bytes *= rows->inner_shape[d];
    }
    return fr_device_run_collect(run, &copy, fault);
}

static size_t fr_source_bytes(const fr_placing_source *source)
{
    return (size_t)source->rows->row_count * source->rows->row_bytes;
}

/* Elements of a row that lie apart go together first. */
static bool fr_source_put_together(fr_placing_source *source, fr_device_run *run,
                                   fr_device_fault *fault)
{
    fr_placed *together = fr_device_run_temporary(run, fr_source_bytes(source), fault);
    if (!together || !fr_store_rows_collect(source->rows, together->address, run, fault))
        return false;
    source->from = together->address;
    source->pitch = source->rows->row_bytes;
    return true;
}

/* The same on another device, where they lie. */
static bool fr_source_put_together_there(fr_write_source *from, fr_placing_source *source,
                                         uint64_t lane, fr_device_run *run, fr_device_fault *fault)
{
    fr_device_run there;
    if (!fr_device_run_begin_any(&there, from->device, lane, from->dep, fault))
        return false;
    fr_placed *together = fr_placed_make(from->device, fr_source_bytes(source), fault);
    if (together)
        fr_device_run_dispose(run, together);
    bool put = together && fr_device_run_writes(&there, together, FR_USE_ROWS_TOGETHER, fault) &&
               fr_store_rows_collect(source->rows, together->address, &there, fault) &&
               fr_device_run_record(&there, fault);
    fr_fence *done = there.done;
    fr_fence_retain(done);
    fr_device_run_end(&there);
    if (there.recorded)
        from->read = done;
    else
        fr_fence_release(done);
    if (!put || !fr_device_run_reads(run, together, FR_USE_ROWS_ELSEWHERE, fault))
        return false;
    source->from = together->address;
    source->pitch = source->rows->row_bytes;
    return true;
}

/* The run's device has them then, unless one copy takes them where they go. */
static bool fr_source_bring(const fr_plan *plan, fr_write_source *from, fr_placing_source *source,
                            fr_device_run *run, fr_device_fault *fault)
{
    bool is_one = plan->target_count == 1 && plan->targets->straight && !source->rows->index_map;
    if (!source->rows->compact &&
        !fr_source_put_together_there(from, source, plan->ordinal, run, fault))
        return false;
    if (is_one)
        return true;
    fr_placed *brought = fr_device_run_temporary(run, fr_source_bytes(source), fault);
    if (!brought ||
        !fr_device_run_copy_from(run, brought->address, (fr_address){source->place, source->from},
                                 fr_source_bytes(source), fault))
        return false;
    source->place = run->opened->place;
    source->from = brought->address;
    source->pitch = source->rows->row_bytes;
    return true;
}

static bool fr_source_open(const fr_plan *plan, fr_write_source *from, fr_placing_source *source,
                           fr_device_run *run, fr_device_fault *fault)
{
    const fr_row_source *rows = plan->source;
    *source = (fr_placing_source){.rows = rows,
                                  .from_host = from->from_host,
                                  .place = from->from_host ? FR_PLACE_HOST : from->device->place,
                                  .from = (uint64_t)(uintptr_t)rows->base,
                                  .pitch = rows->compact ? rows->row_bytes
                                                         : (uint64_t)rows->row_stride_bytes};
    if (from->from_host)
        return true;
    if (from->device != run->opened)
        return fr_source_bring(plan, from, source, run, fault);
    return rows->compact || rows->inner_dims == 0 || fr_source_put_together(source, run, fault);
}

bool fr_store_write_place(fr_write_plan *out, fr_write_source *from, fr_device_run *run,
                          fr_device_fault *fault)
{
    const fr_plan *plan = (const fr_plan *)(const void *)out->state;
    const fr_row_source *rows = plan->source;
    fr_placing_source source;
    if (plan->target_count == 0)
        return true; /* no element is selected, and of an array nothing is known then */
    if (plan->array)
        return fr_array_write_place(plan->array, from, plan->ordinal, run, fault);
    /* A session's own buffer, of which rows go to places of their own. */
    if (rows->buffer && !plan->targets->taken &&
        !fr_device_run_reads(run, rows->buffer->placed, FR_USE_MAPPED, fault))
        return false;
    bool placed = fr_source_open(plan, from, &source, run, fault);
    /* Unplaced rows come last: of several targets they alone may be written in place. */
    for (int last = 0; last < 2; last++)
        for (uint32_t k = 0; k < plan->target_count && placed; k++)
            if ((plan->targets[k].segment == NULL) == (last == 1))
                placed = fr_target_place(plan->store, &plan->targets[k], &source, run, fault);
    return placed;
}
