/* Who searches and who sleeps: the protocol by which work finds a worker, and a worker without work
 * sleeps.
 *
 * The state word:
 *
 *    63           48 47           32 31           16 15            0
 *   +---------------+---------------+---------------+---------------+
 *   |       0       |    permits    |   sleeping    |   searching   |
 *   +---------------+---------------+---------------+---------------+
 *
 *   field      +1 by                                  -1 by
 *   searching  a worker that begins to search;        the searcher that found work or announces
 *              a waker, for the sleeper that it wakes sleep
 *   sleeping   a worker that announces sleep          a waker, for the sleeper that it wakes; the
 *                                                     sleeper without a permit that finds work or
 *                                                     must stop
 *   permits    a waker                                the sleeper that takes it: it is a searcher
 *                                                     from then on
 *
 * The epoch word is what sleepers sleep on; wakers and kicks add one to it. It wraps after 2^32
 * wakes; a sleeper would have to be preempted between reading it and sleeping for exactly that
 * many.
 *
 * Threads: notify and kick from any thread; the rest by workers, lent threads included.
 *
 * Invariants (P is who publishes work, W a worker):
 *   P publishes, fences, then looks at the state. W announces (sleeping + 1), fences, then looks
 * for work. So either P sees the sleeper or W sees the work. The same holds between P, which wakes
 * nobody while somebody searches, and the searcher that stops (searching - 1): it fences and looks
 * for work after it has stopped, and wakes another one if there is some. A permit stands for one
 * announced sleeper, who is counted as searching from the moment the permit is given. So a burst of
 * work pays for one wake. Any sleeper may take it; whoever is woken and finds none sleeps again. A
 * permit is given before the epoch changes, and a sleeper reads the epoch before it looks for a
 * permit: it sees the permit or does not sleep. At most searching_max workers search by their own
 * decision, so most of those without work sleep at once.
 *
 * Progress: notify is lock-free, and makes at most one system call, only when nobody searches and
 * somebody sleeps. Memory bound: two words. */
#ifndef FR_SCHEDULER_IDLE_H
#define FR_SCHEDULER_IDLE_H

#include "scheduler/atomic.h"
#include "scheduler/os.h"

#define FR_IDLE_FIELD_BITS 16
#define FR_IDLE_FIELD_MASK UINT64_C(0xffff)
#define FR_IDLE_SEARCHING UINT64_C(1)
#define FR_IDLE_SLEEPING (FR_IDLE_SEARCHING << FR_IDLE_FIELD_BITS)
#define FR_IDLE_PERMIT (FR_IDLE_SLEEPING << FR_IDLE_FIELD_BITS)
#define FR_IDLE_THREADS_MAX 0xffffu /* a count per thread must fit its field */

_Static_assert(3 * FR_IDLE_FIELD_BITS <= 64, "three counts in one word");
_Static_assert(FR_IDLE_FIELD_MASK == (UINT64_C(1) << FR_IDLE_FIELD_BITS) - 1,
               "mask and width agree");
_Static_assert(FR_IDLE_THREADS_MAX <= FR_IDLE_FIELD_MASK, "no count may run into the next field");

typedef struct fr_idle {
    FR_ALIGNED_LINE _Atomic uint64_t state;
    _Atomic uint32_t epoch;
    uint32_t searching_max;
} fr_idle;

static inline uint32_t fr_idle_searching(uint64_t state)
{
    return (uint32_t)(state & FR_IDLE_FIELD_MASK);
}

static inline uint32_t fr_idle_sleeping(uint64_t state)
{
    return (uint32_t)(state / FR_IDLE_SLEEPING & FR_IDLE_FIELD_MASK);
}

static inline uint32_t fr_idle_permits(uint64_t state)
{
    return (uint32_t)(state / FR_IDLE_PERMIT & FR_IDLE_FIELD_MASK);
}

/* At most max(1, thread_count / 2) threads will search at once. */
void fr_idle_init(fr_idle *idle, uint32_t thread_count);

/* --- who publishes work -------------------------------------------------------------------- */
bool fr_idle_wake_one(fr_idle *idle);

/* Call after work was published. Wakes one sleeper unless somebody searches; true when it did. */
static inline bool fr_idle_notify(fr_idle *idle)
{
#ifndef FR_MUTATE_IDLE_NO_SUBMIT_FENCE
    fr_fence_seq_cst(); /* [idle.notify.fence] pairs [idle.announce.fence], [idle.search_end.fence]
                           : the work is visible to who sleeps or stops searching after the look
                           below */
#endif
    uint64_t state = fr_load_relaxed(&idle->state);
    if (fr_idle_searching(state) > 0 || fr_idle_sleeping(state) == 0)
        return false;
    return fr_idle_wake_one(idle);
}

/* Wakes all, so that they look at their stop flags; set those before. */
void fr_idle_kick(fr_idle *idle);

/* --- workers ------------------------------------------------------------------------------- */
/* True when this thread may search now; it then owes a call of search_end or announce. */
bool fr_idle_search_begin(fr_idle *idle);
/* A searcher has found work. True when it was the last one and others sleep: the caller must look
 * for more work and call notify if there is some. */
bool fr_idle_search_end(fr_idle *idle);

/* Says that this thread will sleep, and stops its search if it was searching. The caller must then
 * look for work, at its stop flag and for a permit, each time between fr_idle_epoch and
 * fr_idle_sleep, until one of them lets it go on. */
void fr_idle_announce(fr_idle *idle, bool searching);
uint32_t fr_idle_epoch(const fr_idle *idle);
/* True when somebody has woken this thread: it is a searcher now. */
bool fr_idle_take_permit(fr_idle *idle);
/* Takes the announcement back; true when the thread is a searcher now, because a waker had counted
 * it as one or because there is room for one more. */
bool fr_idle_cancel(fr_idle *idle);
/* Sleeps until the epoch is another than seen, or less. False when the time ran out. */
bool fr_idle_sleep(fr_idle *idle, uint32_t seen, uint64_t timeout_ns);

#endif
