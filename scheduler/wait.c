#include "scheduler/wait.h"

/* Woken in one go between two looks at the list. */
#define FR_WAKES_AT_ONCE 16u

void fr_waiters_enter(fr_waiters *waiters, fr_waiter *waiter)
{
    fr_mutex_lock(&waiters->lock);
    waiter->previous = NULL;
    waiter->next = waiters->first;
    if (waiter->next)
        waiter->next->previous = waiter;
    waiters->first = waiter;
    fr_mutex_unlock(&waiters->lock);
}

void fr_waiters_leave(fr_waiters *waiters, fr_waiter *waiter)
{
    fr_mutex_lock(&waiters->lock);
    *(waiter->previous ? &waiter->previous->next : &waiters->first) = waiter->next;
    if (waiter->next)
        waiter->next->previous = waiter->previous;
    fr_mutex_unlock(&waiters->lock);
}

static bool fr_waiter_is_for(const fr_waiter *waiter, uint64_t id, const void *place)
{
    if (place)
        return waiter->place == place;
    for (size_t k = 0; k < waiter->id_count; k++)
        if (waiter->ids[k] == id)
            return true;
    return false;
}

/* The waking calls come after the lock is given back. A waiter may have left by then; its word is
 * at worst another's, who looks at what he waits for again. */
static void fr_waiters_wake(fr_waiters *waiters, uint64_t id, const void *place)
{
    _Atomic uint32_t *woken[FR_WAKES_AT_ONCE];
    uint32_t count;
    do {
        count = 0;
        fr_mutex_lock(&waiters->lock);
        for (fr_waiter *waiter = waiters->first; waiter && count < FR_WAKES_AT_ONCE;
             waiter = waiter->next) {
            if ((fr_load_relaxed(&waiter->signal) & FR_WAITER_WOKEN) != 0 ||
                !fr_waiter_is_for(waiter, id, place))
                continue;
            /* [waiter.signal] pairs [waiter.signal.read] : the waiter sees what it is woken for */
            (void)fr_or_release(&waiter->signal, FR_WAITER_WOKEN);
            woken[count++] = &waiter->signal;
        }
        fr_mutex_unlock(&waiters->lock);
        for (uint32_t k = 0; k < count; k++)
            fr_os_current->futex_wake(woken[k], 1);
    } while (count == FR_WAKES_AT_ONCE);
}

void fr_waiters_wake_id(fr_waiters *waiters, uint64_t id)
{
    fr_waiters_wake(waiters, id, NULL);
}

void fr_waiters_wake_place(fr_waiters *waiters, const void *place)
{
    fr_waiters_wake(waiters, 0, place);
}

void fr_waiters_wake_condition(fr_waiters *waiters)
{
    /* Relaxed: the waiter announces itself again before it looks at its condition. */
    (void)fr_add_relaxed(&waiters->condition_epoch, 1);
    fr_os_current->futex_wake(&waiters->condition_epoch, UINT32_MAX);
}
