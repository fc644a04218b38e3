#include "scheduler/job.h"

#include "scheduler/sieve.h"

static void fr_job_drop(fr_job *job)
{
    const fr_job_type *type = job->type;
    /* [job.refs.drop] pairs [job.refs.drop] : whoever releases the memory comes after all accesses
     * to it */
    if (fr_sub_acq_rel(&job->refs, 1) == 1)
        type->released(job);
}

/* Takes chunks until none is left. The caller holds a reference. */
static bool fr_job_work(fr_job *job, fr_worker *worker)
{
    bool any = false;
    while (fr_job_has_chunks(job)) {
        /* Relaxed: what a body reads came with the token or with the reference. */
        uint32_t chunk = fr_add_relaxed(&job->next, 1);
        if (chunk >= job->chunk_count)
            break;
        any = true;
#ifdef FR_MUTATE_JOB_COUNT_BEFORE_BODY
        bool last = fr_sub_acq_rel(&job->left, 1) == 1;
        job->type->body(job, chunk, worker);
#else
        job->type->body(job, chunk, worker);
        /* [job.left.down] pairs [job.left.down] : the last one sees what all bodies wrote */
        bool last = fr_sub_acq_rel(&job->left, 1) == 1;
#endif
        if (last)
            job->type->finished(job, worker);
    }
    return any;
}

/* Pushes the token if one more helper would find something to do. The caller holds the token and a
 * reference. */
static void fr_job_invite(fr_job *job)
{
    if (job->invitations_left == 0 || !fr_job_has_chunks(job))
        return;
    job->invitations_left--;
#ifndef FR_MUTATE_JOB_TOKEN_WITHOUT_REFERENCE
    (void)fr_add_relaxed(&job->refs, 1); /* the caller's own reference keeps it above zero */
#endif
    fr_pool_push(job->pool, &job->token);
}

static void fr_job_run_token(fr_runnable *token, fr_worker *worker)
{
    fr_job *job = (fr_job *)(void *)token;
    if (fr_sieve_is_on() && fr_job_has_chunks(job)) {
        fr_sieve_keep(token);
        return;
    }
    fr_job_invite(job);
    (void)fr_job_work(job, worker);
    fr_job_drop(job); /* the token's reference has become this helper's */
}

void fr_job_init(fr_job *job, const fr_job_type *type, uint32_t chunk_count, uint64_t order)
{
    job->token.run = fr_job_run_token;
    job->token.order = order;
    job->type = type;
    job->pool = NULL;
    job->chunk_count = chunk_count;
    job->invitations_left = 0;
    fr_store_relaxed(&job->next, 0);
    fr_store_relaxed(&job->left, chunk_count);
    fr_store_relaxed(&job->refs, 0);
}

void fr_job_start(fr_job *job, fr_pool *pool, fr_worker *worker)
{
    uint32_t workers = pool ? fr_pool_worker_count(pool) : 0;
    job->pool = pool;
    job->invitations_left = workers < FR_JOB_HELPERS_MAX ? workers : FR_JOB_HELPERS_MAX;
    /* [job.refs.start] pairs [job.refs.join] : a helper that comes by itself sees the job */
    fr_store_release(&job->refs, 1);
    if (job->chunk_count == 0)
        job->type->finished(job, worker);
    else if (job->chunk_count > 1) /* the caller takes one chunk itself */
        fr_job_invite(job);
    (void)fr_job_work(job, worker);
    fr_job_drop(job);
}

bool fr_job_help(fr_job *job, fr_worker *worker)
{
    uint32_t refs = fr_load_relaxed(&job->refs);
    do {
        if (refs == 0)
            return false; /* not started, or released */
        /* [job.refs.join] pairs [job.refs.start] : see there */
    } while (!fr_cas_acquire(&job->refs, &refs, refs + 1));
    bool any = fr_job_work(job, worker);
    fr_job_drop(job);
    return any;
}
