#include "runtime/device/run.h"

#include <stdio.h>
#include <string.h>

/* --- begin ------------------------------------------------------------------------------------ */

static bool fr_device_run_take_stream(fr_device_run *run, fr_stream_kind kind,
                                      uintptr_t client_stream, uint64_t lane,
                                      fr_device_fault *fault)
{
    fr_opened *opened = run->opened;
#ifdef FR_MUTATE_DEVICE_LEGACY_IS_OUR_OWN
    client_stream = client_stream == 1 ? 0 : client_stream;
#endif
    if (client_stream != 0)
        return opened->devices->table->stream_of_client(opened->device, client_stream, &run->stream,
                                                        fault);
    run->own = fr_streams_take(opened, kind, lane, &run->all_busy, fault);
    if (run->own) {
        run->stream = run->own->stream;
        return true;
    }
    if (run->all_busy) {
        fault->kind = FR_DEVICE_MEMORY;
        fault->code = 0;
        (void)snprintf(fault->text, sizeof(fault->text),
                       "all %u streams have work of other ordinals that is not done",
                       fr_streams_limit(kind));
    }
    return false;
}

bool fr_device_run_begin(fr_device_run *run, fr_opened *opened, uintptr_t client_stream,
                         uint64_t lane, const fr_fence *dep, fr_device_fault *fault)
{
    return fr_device_run_begin_in(run, opened, fr_device_run_kind(dep), client_stream, lane, dep,
                                  fault);
}

/* Entered, with a fence to record. */
static bool fr_device_run_enter(fr_device_run *run, fr_opened *opened, fr_device_fault *fault)
{
    memset(run, 0, sizeof(*run));
    run->opened = opened;
    run->uses = run->few;
    run->use_capacity = FR_DEVICE_RUN_FEW;
    if (!fr_opened_enter(opened, &run->entry, fault))
        return false;
    run->done = fr_fence_get(opened, fault);
    if (run->done)
        return true;
    fr_opened_note(opened, fault);
    fr_device_run_end(run);
    return false;
}

/* False: it has ended. */
static bool fr_device_run_wait(fr_device_run *run, const fr_fence *dep, fr_device_fault *fault)
{
    if (fr_wait_for(run->opened, run->stream, run->own, dep, FR_WAIT_PRODUCER, fault))
        return true;
    fr_opened_note(run->opened, fault);
    fr_device_run_end(run);
    return false;
}

bool fr_device_run_begin_given(fr_device_run *run, fr_opened *opened, fr_own_stream *given,
                               const fr_fence *dep, fr_device_fault *fault)
{
    if (!fr_device_run_enter(run, opened, fault)) {
        fr_streams_give(opened, given);
        return false;
    }
    run->own = given;
    run->stream = given->stream;
    return fr_device_run_wait(run, dep, fault);
}

bool fr_device_run_begin_in(fr_device_run *run, fr_opened *opened, fr_stream_kind kind,
                            uintptr_t client_stream, uint64_t lane, const fr_fence *dep,
                            fr_device_fault *fault)
{
    if (!fr_device_run_enter(run, opened, fault))
        return false;
    if (fr_device_run_take_stream(run, kind, client_stream, lane, fault))
        return fr_device_run_wait(run, dep, fault);
    fr_opened_note(opened, fault);
    fr_device_run_end(run);
    return false;
}

bool fr_device_run_begin_any(fr_device_run *run, fr_opened *opened, uint64_t lane,
                             const fr_fence *dep, fr_device_fault *fault)
{
    return fr_device_run_begin_any_in(run, opened, fr_device_run_kind(dep), 0, lane, dep, fault);
}

bool fr_device_run_begin_any_in(fr_device_run *run, fr_opened *opened, fr_stream_kind kind,
                                uintptr_t client_stream, uint64_t lane, const fr_fence *dep,
                                fr_device_fault *fault)
{
    if (fr_device_run_begin_in(run, opened, kind, client_stream, lane, dep, fault))
        return true;
#ifdef FR_MUTATE_DEVICE_FINDS_NO_STREAM_MORE
    return false;
#endif
    return run->all_busy && fr_device_run_begin_more(run, opened, lane, dep, fault);
}

bool fr_device_run_begin_more(fr_device_run *run, fr_opened *opened, uint64_t lane,
                              const fr_fence *dep, fr_device_fault *fault)
{
    /* No lane of those that gates have: their waits would come behind this. */
    return fr_device_run_begin_in(run, opened, FR_STREAM_GATE, 0, lane ^ UINT64_C(1) << 61, dep,
                                  fault);
}

/* --- payloads --------------------------------------------------------------------------------- */

static size_t fr_device_run_uses_bytes(uint32_t capacity)
{
    return capacity * sizeof(fr_device_use);
}

/* Room for one more. */
static bool fr_device_run_reserve(fr_device_run *run, fr_device_fault *fault)
{
    if (run->use_count < run->use_capacity)
        return true;
    const fr_allocator *allocator = run->opened->devices->allocator;
    uint32_t capacity = 2 * run->use_capacity;
    fr_device_use *uses = fr_memory_allocate(allocator, fr_device_run_uses_bytes(capacity), 16);
    if (!uses) {
        fr_device_fault_memory(fault, fr_device_run_uses_bytes(capacity));
        return false;
    }
    memcpy(uses, run->uses, fr_device_run_uses_bytes(run->use_count));
    if (run->uses != run->few)
        fr_memory_release(allocator, run->uses, fr_device_run_uses_bytes(run->use_capacity));
    run->uses = uses;
    run->use_capacity = capacity;
    return true;
}

static bool fr_use_is_left_out(fr_use use)
{
#ifdef FR_MUTATE_DEVICE_FORGETS
    return use == FR_MUTATE_DEVICE_FORGETS;
#else
    (void)use;
    return false;
#endif
}

bool fr_device_run_reads(fr_device_run *run, fr_placed *placed, fr_use use, fr_device_fault *fault)
{
    if (fr_use_is_left_out(use))
        return true;
    if (!fr_device_run_reserve(run, fault) ||
        !fr_wait_to_read(run->opened, run->stream, run->own, placed, fault))
        return false;
    if (!fr_placed_reserve_reader(placed)) {
        fr_device_fault_memory(fault, sizeof(fr_fence *));
        return false;
    }
    run->uses[run->use_count++] = (fr_device_use){placed, false};
    return true;
}

bool fr_device_run_writes(fr_device_run *run, fr_placed *placed, fr_use use, fr_device_fault *fault)
{
    if (fr_use_is_left_out(use))
        return true;
    if (!fr_device_run_reserve(run, fault) ||
        !fr_wait_to_write(run->opened, run->stream, run->own, placed, fault))
        return false;
    run->uses[run->use_count++] = (fr_device_use){placed, true};
    return true;
}

/* --- work ------------------------------------------------------------------------------------- */

static bool fr_device_run_transfer(fr_device_run *run, fr_address to, fr_address from,
                                   size_t size_bytes, fr_device_fault *fault)
{
    fr_opened *opened = run->opened;
    if (!opened->devices->table->copy(run->stream, to, from, size_bytes, fault)) {
        fr_opened_note(opened, fault);
        return false;
    }
    run->put = true;
    return true;
}

bool fr_device_run_copy(fr_device_run *run, uint64_t to, uint64_t from, size_t size_bytes,
                        fr_device_fault *fault)
{
    const fr_address target = {run->opened->place, to}, source = {run->opened->place, from};
    return fr_device_run_transfer(run, target, source, size_bytes, fault);
}

bool fr_device_run_move(fr_device_run *run, const fr_row_move *move, fr_device_fault *fault)
{
    fr_opened *opened = run->opened;
    if (!opened->devices->table->move_rows(run->stream, move, fault)) {
        fr_opened_note(opened, fault);
        return false;
    }
    run->put = true;
    return true;
}

bool fr_device_run_copy_from(fr_device_run *run, uint64_t to, fr_address from, size_t size_bytes,
                             fr_device_fault *fault)
{
    const fr_address target = {run->opened->place, to};
    return fr_device_run_transfer(run, target, from, size_bytes, fault);
}

bool fr_device_run_bring(fr_device_run *run, uint64_t to, fr_placed *from, fr_use use,
                         size_t size_bytes, fr_device_fault *fault)
{
    const fr_address source = {from->opened->place, from->address};
#ifdef FR_MUTATE_DEVICE_PEER_SOURCE_EARLY
    (void)use;
    if (!fr_wait_to_read(run->opened, run->stream, run->own, from, fault))
        return false;
#else
    if (!fr_device_run_reads(run, from, use, fault))
        return false;
#endif
    return fr_device_run_copy_from(run, to, source, size_bytes, fault);
}

bool fr_device_run_fill(fr_device_run *run, uint64_t to, uint8_t value, size_t size_bytes,
                        fr_device_fault *fault)
{
    fr_opened *opened = run->opened;
    if (!opened->devices->table->fill(run->stream, to, value, size_bytes, fault)) {
        fr_opened_note(opened, fault);
        return false;
    }
    run->put = true;
    return true;
}

/* By now it may be stalled that was not when it began; a client's stream may be at any time. */
static fr_stream_kind fr_device_run_counts_as(const fr_device_run *run)
{
    return run->own && run->own->kind == FR_STREAM_WORK ? FR_STREAM_WORK : FR_STREAM_STALLED;
}

static fr_staged *fr_device_run_pinned(const fr_device_run *run, size_t size_bytes,
                                       fr_device_fault *fault)
{
    return fr_staging_take(run->opened, fr_device_run_counts_as(run), size_bytes, fault);
}

fr_staged *fr_device_run_take_staging(fr_device_run *run, size_t size_bytes, fr_device_fault *fault)
{
    fr_staged *staged = fr_device_run_pinned(run, size_bytes, fault);
    if (!staged)
        return NULL;
    staged->next = run->homeward;
    run->homeward = staged;
    return staged;
}

void *fr_device_run_stage(fr_device_run *run, size_t size_bytes, fr_device_fault *fault)
{
    fr_staged *staged = fr_device_run_pinned(run, size_bytes, fault);
    if (!staged)
        return NULL;
    staged->next = run->staged;
    run->staged = staged;
    return staged->memory;
}

bool fr_device_run_upload(fr_device_run *run, uint64_t to, const void *staged, size_t size_bytes,
                          fr_device_fault *fault)
{
    const fr_address target = {run->opened->place, to},
                     source = {FR_PLACE_HOST, (uint64_t)(uintptr_t)staged};
    return fr_device_run_transfer(run, target, source, size_bytes, fault);
}

bool fr_device_run_download(fr_device_run *run, void *staged, uint64_t from, size_t size_bytes,
                            fr_device_fault *fault)
{
    const fr_address target = {FR_PLACE_HOST, (uint64_t)(uintptr_t)staged},
                     source = {run->opened->place, from};
    return fr_device_run_transfer(run, target, source, size_bytes, fault);
}

fr_placed *fr_device_run_temporary(fr_device_run *run, size_t size_bytes, fr_device_fault *fault)
{
    fr_placed *made = fr_placed_make(run->opened, size_bytes, fault);
    if (!made)
        return NULL;
    fr_device_run_dispose(run, made);
    return fr_device_run_writes(run, made, FR_USE_TEMPORARY, fault) ? made : NULL;
}

void fr_device_run_dispose(fr_device_run *run, fr_placed *placed)
{
    placed->next = run->temporaries;
    run->temporaries = placed;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* The fence is with all payloads that were named. */
static void fr_device_run_enter_fence(fr_device_run *run)
{
    for (uint32_t k = 0; k < run->use_count; k++) {
        if (run->uses[k].writes)
            fr_placed_enter_write(run->uses[k].placed, run->done);
        else
            fr_placed_enter_reader(run->uses[k].placed, run->done);
    }
}

bool fr_device_run_record(fr_device_run *run, fr_device_fault *fault)
{
    /* Once more, since without a fence nobody knows when the memory may be used again. */
    run->recorded = fr_fence_record(run->done, run->stream, run->own, fault);
    if (!run->recorded)
        run->recorded = fr_fence_record(run->done, run->stream, run->own, fault);
    if (run->recorded)
        fr_device_run_enter_fence(run);
    return run->recorded;
}

bool fr_device_run_available(const fr_device_run *run, uintptr_t event, fr_device_fault *fault)
{
    fr_opened *opened = run->opened;
    if (opened->devices->table->record_client(run->stream, event, fault))
        return true;
    fr_opened_note(opened, fault);
    return false;
}

static void fr_device_run_recount(const fr_device_run *run)
{
#ifndef FR_MUTATE_DEVICE_PIECES_NEVER_TURN
    for (fr_staged *staged = run->staged; staged; staged = staged->next)
        fr_staging_recount(staged, fr_device_run_counts_as(run));
    for (fr_staged *staged = run->homeward; staged; staged = staged->next)
        fr_staging_recount(staged, fr_device_run_counts_as(run));
#endif
}

/* Work or waits may have been put into the stream before something failed: without a fence behind
 * them another lane would get the stream, and wait for what this one waits for; or others would get
 * the memory. */
static void fr_device_run_end_unrecorded(fr_device_run *run)
{
    fr_device_fault fault;
#ifdef FR_MUTATE_DEVICE_END_FORGETS_WAITS
    bool any = run->put;
#else
    bool any = run->own || run->put;
#endif
    if (any && fr_device_run_record(run, &fault))
        return;
    if (any)
        fr_opened_give_up(run->opened, &fault);
    else
        fault.code = 0;
    if (run->done)
        fr_fence_lose(run->done, &fault);
    if (any) {
        fr_device_run_enter_fence(run);
        return;
    }
    for (uint32_t k = 0; k < run->use_count; k++)
        if (!run->uses[k].writes)
            fr_placed_enter_reader(run->uses[k].placed, NULL);
}

void fr_device_run_end(fr_device_run *run)
{
    if (!run->recorded)
        fr_device_run_end_unrecorded(run);
    fr_device_run_recount(run); /* with all its waits it may have come to be stalled */
    while (run->staged) {
        fr_staged *staged = run->staged;
        run->staged = staged->next;
        fr_staging_give_after(staged, run->done);
    }
    while (run->homeward) {
        fr_staged *staged = run->homeward;
        run->homeward = staged->next;
        fr_staging_come_home(staged, run->done);
    }
    while (run->temporaries) {
        fr_placed *temporary = run->temporaries;
        run->temporaries = temporary->next;
        fr_placed_dispose(temporary);
    }
    if (run->uses != run->few)
        fr_memory_release(run->opened->devices->allocator, run->uses,
                          fr_device_run_uses_bytes(run->use_capacity));
    if (run->own)
        fr_streams_give(run->opened, run->own);
    fr_fence_release(run->done);
    fr_opened_leave(run->opened, &run->entry);
}
