#include "scheduler/idle.h"

void fr_idle_init(fr_idle *idle, uint32_t thread_count)
{
    fr_store_relaxed(&idle->state, 0);
    fr_store_relaxed(&idle->epoch, 0);
    idle->searching_max = thread_count > 3 ? thread_count / 2 : 1;
}

bool fr_idle_wake_one(fr_idle *idle)
{
    uint64_t state = fr_load_relaxed(&idle->state);
    uint64_t woken;
    do {
        if (fr_idle_searching(state) > 0 || fr_idle_sleeping(state) == 0)
            return false;
        woken = state - FR_IDLE_SLEEPING + FR_IDLE_SEARCHING + FR_IDLE_PERMIT;
        /* [idle.permit.give] pairs [idle.permit.take], [idle.cancel] : the woken thread sees the
         * work */
    } while (!fr_cas_release(&idle->state, &state, woken));
    /* [idle.epoch.wake] pairs [idle.epoch.read] : who reads the new epoch finds the permit */
    (void)fr_add_release(&idle->epoch, 1);
    fr_os_current->futex_wake(&idle->epoch, 1);
    return true;
}

void fr_idle_kick(fr_idle *idle)
{
    /* [idle.epoch.kick] pairs [idle.epoch.read] : who reads the new epoch finds its stop flag set
     */
    (void)fr_add_release(&idle->epoch, 1);
    fr_os_current->futex_wake(&idle->epoch, UINT32_MAX);
}

bool fr_idle_search_begin(fr_idle *idle)
{
    uint64_t state = fr_load_relaxed(&idle->state);
    do {
        if (fr_idle_searching(state) >= idle->searching_max)
            return false;
        /* Relaxed: who searches takes work by the acquires of deques and intake, and whoever relied
         * on this search is answered by the look after its end. */
    } while (!fr_cas_relaxed(&idle->state, &state, state + FR_IDLE_SEARCHING));
    return true;
}

bool fr_idle_search_end(fr_idle *idle)
{
    /* [idle.search_end] pairs [watch.attend.fence] : see there; the caller looks at the watches */
    uint64_t before = fr_sub_seq_cst(&idle->state, FR_IDLE_SEARCHING);
    if (fr_idle_searching(before) > 1 || fr_idle_sleeping(before) == 0)
        return false;
#ifndef FR_MUTATE_IDLE_NO_SEARCH_END_FENCE
    /* [idle.search_end.fence] pairs [idle.notify.fence] : either the caller's look finds the work,
     * or its publisher sees that nobody searches any more */
    fr_fence_seq_cst();
#endif
    return true;
}

void fr_idle_announce(fr_idle *idle, bool searching)
{
    uint64_t change = FR_IDLE_SLEEPING - (searching ? FR_IDLE_SEARCHING : 0);
    (void)fr_add_relaxed(&idle->state, change);
#ifndef FR_MUTATE_IDLE_NO_SLEEP_FENCE
    /* [idle.announce.fence] pairs [idle.notify.fence], [watch.attend.fence] : either the caller's
     * look finds the work, or its publisher sees the sleeper */
    fr_fence_seq_cst();
#endif
}

uint32_t fr_idle_epoch(const fr_idle *idle)
{
    /* [idle.epoch.read] pairs [idle.epoch.wake], [idle.epoch.kick] : see there */
    return fr_load_acquire(&idle->epoch);
}

bool fr_idle_take_permit(fr_idle *idle)
{
    uint64_t state = fr_load_relaxed(&idle->state);
    do {
        if (fr_idle_permits(state) == 0)
            return false;
        /* [idle.permit.take] pairs [idle.permit.give] : see there */
    } while (!fr_cas_acquire(&idle->state, &state, state - FR_IDLE_PERMIT));
    return true;
}

bool fr_idle_cancel(fr_idle *idle)
{
    uint64_t state = fr_load_relaxed(&idle->state);
    uint64_t changed;
    do {
        if (fr_idle_permits(state) > 0)
            changed = state - FR_IDLE_PERMIT; /* counted as searching when it was given */
        else if (fr_idle_searching(state) < idle->searching_max)
            changed = state - FR_IDLE_SLEEPING + FR_IDLE_SEARCHING;
        else
            changed = state - FR_IDLE_SLEEPING;
        /* [idle.cancel] pairs [idle.permit.give] : as idle.permit.take */
    } while (!fr_cas_acquire(&idle->state, &state, changed));
    return changed != state - FR_IDLE_SLEEPING;
}

bool fr_idle_sleep(fr_idle *idle, uint32_t seen, uint64_t timeout_ns)
{
    return fr_os_current->futex_wait(&idle->epoch, seen, timeout_ns);
}
