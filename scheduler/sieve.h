/* Takes back tokens that came too late: of lanes without ops, of ops and jobs that are over. Who
 * gives their memory back has to have them, and the workers in whose deques they lie may be busy
 * for long. Tokens that there is still something to do for are put back, and nothing is run.
 *
 * Threads: any; one at a time in the process, so that no token is out of sight while another thread
 * looks. Tokens in the hands of a worker are on the way to being looked at by it.
 *
 * Progress: a look at every deque and the intake; no client code runs.
 * Memory bound: none of its own. */
#ifndef FR_SCHEDULER_SIEVE_H
#define FR_SCHEDULER_SIEVE_H

#include "scheduler/pool.h"

/* False when it could not be done now: too many threads are lent. */
bool fr_sieve_pool(fr_pool *pool);

/* For the run functions of tokens: true when the calling thread only sieves. */
bool fr_sieve_is_on(void);
/* The token stays out. */
void fr_sieve_keep(fr_runnable *token);

#endif
