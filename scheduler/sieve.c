#include "scheduler/sieve.h"

/* One at a time: what one thread holds back here another would miss. */
static fr_mutex fr_sieve_lock;

typedef struct fr_sieve {
    fr_runnable *kept;
} fr_sieve;

static _Thread_local fr_sieve *fr_sieve_here __attribute__((tls_model("initial-exec")));

bool fr_sieve_is_on(void)
{
    return fr_sieve_here != NULL;
}

void fr_sieve_keep(fr_runnable *token)
{
    fr_store_relaxed(&token->next, fr_sieve_here->kept);
    fr_sieve_here->kept = token;
}

bool fr_sieve_pool(fr_pool *pool)
{
    fr_sieve sieve = {NULL};
    if (fr_sieve_here)
        return false; /* a token's run asks for it */
    fr_mutex_lock_long(&fr_sieve_lock);
    fr_sieve_here = &sieve;
    bool done = fr_pool_lend(pool, NULL, 0) != UINT64_MAX;
    fr_sieve_here = NULL;
    while (sieve.kept) {
        fr_runnable *token = sieve.kept;
        sieve.kept = fr_load_relaxed(&token->next);
        fr_pool_push(pool, token);
    }
    fr_mutex_unlock_long(&fr_sieve_lock);
    return done;
}
