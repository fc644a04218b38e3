/* A range cut into pieces, taken by the caller and by workers that are free: flyrail_parallel_for,
 * and the same for the library's own work.
 *
 * Threads: the caller and helpers of the pool. Invariants: an object is put back when the caller
 * and the job have let go of it; its memory is type-stable, since a token of it may still lie in a
 * deque when the range is done. Progress: the caller takes pieces until none is left, then waits
 * for pieces that helpers have begun. A helper is inside the caller's ops while it runs a client's
 * piece: what the piece submits does not wait for them, and a wait that could never end because
 * they wait for the piece is refused, on whatever thread. Memory: one recycled object a call. */
#include "runtime/api/callout.h"
#include "runtime/ops/ops.h"
#include "scheduler/job.h"
#include "scheduler/sieve.h"
#include "scheduler/wait.h"

#define FR_PIECES_PER_THREAD 4 /* so that threads that come late find some */

typedef struct fr_range {
    fr_stage *stage;
    void (*body)(uint64_t begin, uint64_t end, void *user);
    void *user;
    uint64_t count, piece;     /* elements, and those of a call of the body */
    bool calls_out;            /* the body is the client's */
    const fr_running *running; /* then: the ops that the caller is in */
} fr_range;

/* Bits of `done`: 0 while pieces are left; 1 set by the job when the last has run; 2 set by a
 * caller that sleeps (from 0), replaced by 1. */
typedef struct fr_parallel {
    void *slab_word;
    fr_job job;
    fr_range range;
    uint64_t chunk; /* elements of a chunk of the job: some pieces */
    _Atomic uint32_t done;
    _Atomic uint32_t holders; /* the caller, the job */
} fr_parallel;

static fr_parallel *fr_parallel_of(fr_job *job)
{
    return (fr_parallel *)(void *)((char *)job - offsetof(fr_parallel, job));
}

/* Piece by piece: a body may have room for so many elements and no more. */
static void fr_range_call(const fr_range *range, uint64_t begin, uint64_t end)
{
    fr_callout callout;
    if (range->calls_out)
        fr_callout_begin(&callout, range->stage);
    while (begin < end) {
        uint64_t more = end - begin < range->piece ? end - begin : range->piece;
        range->body(begin, begin + more, range->user);
        begin += more;
    }
    if (range->calls_out)
        fr_callout_end(&callout);
}

static void fr_parallel_body(fr_job *job, uint32_t chunk, fr_worker *worker)
{
    (void)worker;
    const fr_parallel *parallel = fr_parallel_of(job);
    uint64_t begin = (uint64_t)chunk * parallel->chunk;
    uint64_t left = parallel->range.count - begin;
    const fr_running *running = parallel->range.running;
    fr_running_joined joined;
    bool joins = running && fr_running_here() != running; /* a helper */
    if (joins)
        fr_running_join(&joined, running);
    fr_range_call(&parallel->range, begin,
                  begin + (left < parallel->chunk ? left : parallel->chunk));
    if (joins)
        fr_running_end_join(&joined);
}

static void fr_parallel_finished(fr_job *job, fr_worker *worker)
{
    (void)worker;
    fr_parallel *parallel = fr_parallel_of(job);
    /* [parallel.done] pairs [parallel.look], [parallel.sleep] : the caller sees what the pieces
     * wrote */
    if (fr_exchange_acq_rel(&parallel->done, 1) == 2)
        fr_os_current->futex_wake(&parallel->done, UINT32_MAX);
}

static void fr_parallel_let_go(fr_parallel *parallel)
{
    /* [parallel.holders] pairs [parallel.holders] : re-used only after both are through with it */
    if (fr_sub_acq_rel(&parallel->holders, 1) == 1)
        fr_slabs_put(&parallel->range.stage->parallel_jobs, parallel);
}

static void fr_parallel_released(fr_job *job)
{
    fr_parallel *parallel = fr_parallel_of(job);
    fr_stage *stage = parallel->range.stage;
    fr_parallel_let_go(parallel);
    /* [parallel.out.less] pairs [parallel.out.read] : a destroying thread sees the object put back
     */
    (void)fr_sub_release(&stage->parallel_jobs_out, 1);
}

static const fr_job_type fr_parallel_type = {
    .body = fr_parallel_body,
    .finished = fr_parallel_finished,
    .released = fr_parallel_released,
};

/* Invitations that came too late lie in deques, also in those of workers that are busy for long:
 * they are taken from there. A helper that has one in its hands lets go of it soon. */
void fr_parallel_drain(fr_stage *stage)
{
    /* [parallel.out.read] pairs [parallel.out.less] : nothing refers to the objects any more */
    while (fr_load_acquire(&stage->parallel_jobs_out) > 0) {
        (void)fr_sieve_pool(stage->pool);
        fr_os_current->yield();
    }
}

size_t fr_parallel_object_bytes(void)
{
    return (sizeof(fr_parallel) + 15) / 16 * 16;
}

static void fr_parallel_wait(fr_parallel *parallel)
{
    for (;;) {
        /* [parallel.look] pairs [parallel.done] : what the pieces wrote */
        uint32_t seen = fr_load_acquire(&parallel->done);
        if (seen == 1)
            return;
        /* [parallel.sleep] pairs [parallel.done] : 2 is there before the caller sleeps, or 1 is
         * seen */
        if (seen == 0 && !fr_cas_acq_rel(&parallel->done, &seen, 2))
            continue;
        fr_os_current->futex_wait(&parallel->done, 2, FR_TIMEOUT_INFINITE);
    }
}

static uint64_t fr_range_piece(uint64_t count, uint64_t grain, uint32_t workers)
{
    uint64_t pieces = workers > 0 ? (uint64_t)(workers + 1) * FR_PIECES_PER_THREAD : 1;
    if (grain == 0)
        grain = (count - 1) / pieces + 1; /* rounded up; count is not 0 */
    return grain < count ? grain : count;
}

/* False without memory: nothing was called. */
static bool fr_range_run(fr_range *range, uint64_t grain)
{
    fr_stage *stage = range->stage;
    uint32_t workers = fr_pool_start(stage->pool) ? fr_pool_worker_count(stage->pool) : 0;
    range->piece = fr_range_piece(range->count, grain, workers);
    if (workers == 0 || range->piece == range->count) {
        fr_range_call(range, 0, range->count);
        return true;
    }
    fr_parallel *parallel = fr_slabs_get(&stage->parallel_jobs);
    if (!parallel)
        return false;
    uint64_t last_piece = (range->count - 1) / range->piece;
    parallel->range = *range;
    parallel->range.running = range->calls_out ? fr_running_offer() : NULL;
    parallel->chunk = range->piece * (last_piece / FR_JOB_CHUNKS_MAX + 1);
    fr_store_relaxed(&parallel->done, 0);
    fr_store_relaxed(&parallel->holders, 2);
    fr_add_relaxed(&stage->parallel_jobs_out, 1);
    fr_job_init(&parallel->job, &fr_parallel_type,
                (uint32_t)((range->count - 1) / parallel->chunk + 1), 0);
    fr_worker *worker = fr_worker_current();
    if (worker && fr_worker_pool(worker) != stage->pool)
        worker = NULL;
    fr_job_start(&parallel->job, stage->pool, worker);
    fr_parallel_wait(parallel);
    fr_parallel_let_go(parallel);
    return true;
}

void fr_parallel_own(fr_stage *stage, uint64_t count, uint64_t grain,
                     void (*body)(uint64_t begin, uint64_t end, void *user), void *user)
{
    fr_range range = {.stage = stage, .body = body, .user = user, .count = count};
    if (count > 0 && !fr_range_run(&range, grain))
        body(0, count, user);
}

ovstage_api_status_t flyrail_parallel_for(ovstage_instance_t *instance, uint64_t count,
                                          uint64_t grain,
                                          void (*body)(uint64_t begin, uint64_t end, void *user),
                                          void *user)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return status;
    if (!body)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the body is NULL");
    fr_range range = {
        .stage = stage, .body = body, .user = user, .count = count, .calls_out = true};
    if (count > 0 && !fr_range_run(&range, grain))
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a range of %llu",
                            (unsigned long long)count);
    return OVSTAGE_OK;
}
