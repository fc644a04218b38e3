/* A job: work cut into chunks that any number of threads may take, and that one thread alone can
 * finish.
 *
 * The owner embeds an fr_job. Chunks are handed out by a counter. The pool is only told by a token
 * that helpers are welcome; it may come too late. A helper that takes the token pushes it again
 * before it works, so one token in the job invites as many helpers as there is use for, each by the
 * ordinary wake of the one before.
 *
 * Threads: init by the owner alone; start by one thread, once; help by any.
 *
 * Invariants:
 *   Each chunk's body is called exactly once. finished is called exactly once, by the thread that
 * finished the last chunk, after all bodies, and sees all that they wrote. released is called
 * exactly once, by the last thread that lets go of the job, after finished. From then on, and not
 *   before, the memory may be used again; until then nothing in it changes under a helper.
 *   refs > 0 while the token is out, while start runs, and while anybody is inside help.
 *
 * Progress: taking a chunk is wait-free; nobody waits for anybody. The thread that calls start
 * takes chunks until none is left. Memory bound: nothing is allocated, whatever the number of
 * helpers. */
#ifndef FR_SCHEDULER_JOB_H
#define FR_SCHEDULER_JOB_H

#include "scheduler/pool.h"

typedef struct fr_job fr_job;

/* Helpers that one job invites at most, and never more than the pool has workers. */
#define FR_JOB_HELPERS_MAX 16u

typedef struct fr_job_type {
    /* One chunk. worker is the thread's, or NULL on a thread that is none. */
    void (*body)(fr_job *job, uint32_t chunk, fr_worker *worker);
    void (*finished)(fr_job *job, fr_worker *worker);
    void (*released)(fr_job *job);
} fr_job_type;

/* Word map of `next`: chunks handed out; goes beyond chunk_count by at most one a thread. Set by
 * who takes a chunk. Word map of `left`: chunks whose body has not returned. Counted down by who
 * ran one. Word map of `refs`: holders of the job: start, the token, each helper. Up by one for the
 * token when it is pushed and for a helper that comes by itself; down by who lets go. */
struct fr_job {
    fr_runnable token; /* first, so that a pointer to it is one to the job */
    const fr_job_type *type;
    fr_pool *pool;
    uint32_t chunk_count;
    uint32_t invitations_left; /* belongs to who holds the token */
    _Atomic uint32_t next;
    _Atomic uint32_t left;
    _Atomic uint32_t refs;
};

_Static_assert(offsetof(fr_job, token) == 0, "the token's run finds the job by its own address");

/* Most chunks of one job: the counters must not wrap while threads overshoot. */
#define FR_JOB_CHUNKS_MAX (UINT32_MAX / 2)

/* order: of the token, see fr_runnable. In memory that helpers may have kept a pointer to, no job
 * may be under way. */
void fr_job_init(fr_job *job, const fr_job_type *type, uint32_t chunk_count, uint64_t order);

/* Invites helpers from the pool (NULL: nobody), and takes chunks until none is left. When it
 * returns, the job may be finished and its memory used for something else; or helpers still work on
 * their last chunks. */
void fr_job_start(fr_job *job, fr_pool *pool, fr_worker *worker);

/* For a thread that waits for the job: takes chunks until none is left; true when it ran at least
 * one. The memory must be that of an fr_job for ever (type-stable): when the job was released in
 * the meantime nothing happens, and when another one has begun there, that one is helped. */
bool fr_job_help(fr_job *job, fr_worker *worker);

/* True while there are chunks that nobody has taken. A hint. */
static inline bool fr_job_has_chunks(const fr_job *job)
{
    return fr_load_relaxed(&job->next) < job->chunk_count;
}

#endif
