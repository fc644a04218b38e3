#include "scheduler/os.h"

/* How often the word is looked at before the thread sleeps: a holder's section is shorter than
 * this, unless it was preempted. */
#ifdef FR_SHRINK
#define FR_MUTEX_SPINS 2
#else
#define FR_MUTEX_SPINS 100
#endif

const fr_os *fr_os_current = &fr_os_linux;

#ifdef FR_CHECK_LOCKS
_Thread_local uint32_t fr_mutex_held, fr_mutex_held_long;
_Thread_local uint64_t fr_mutex_looks;
static _Thread_local uint64_t fr_all_looks;
static _Atomic uint64_t fr_most_looks, fr_client_calls, fr_device_calls;

void fr_calls_client(void)
{
    if (fr_mutex_held + fr_mutex_held_long > 0)
        fr_add_relaxed(&fr_client_calls, 1);
}

uint64_t fr_clients_called_under_locks(void)
{
    return fr_load_relaxed(&fr_client_calls);
}

void fr_calls_device(void)
{
    if (fr_mutex_held > 0)
        fr_add_relaxed(&fr_device_calls, 1);
}

uint64_t fr_devices_called_under_locks(void)
{
    return fr_load_relaxed(&fr_device_calls);
}

uint64_t fr_looks(void)
{
    return fr_all_looks;
}

void fr_look(void)
{
    fr_all_looks++;
    if (fr_mutex_held == 0)
        return;
    uint64_t most = fr_load_relaxed(&fr_most_looks);
    fr_mutex_looks++;
    while (most < fr_mutex_looks && !fr_cas_relaxed(&fr_most_looks, &most, fr_mutex_looks)) {
    }
}

uint64_t fr_most_looks_under_locks(void)
{
    return fr_load_relaxed(&fr_most_looks);
}
#endif

void fr_mutex_lock_slow(fr_mutex *mutex)
{
    for (int spin = 0; spin < FR_MUTEX_SPINS; spin++) {
        uint32_t free_word = 0;
        /* [mutex.take_spin] pairs [mutex.give] : as mutex.take */
        if (fr_load_relaxed(&mutex->word) == 0 && fr_cas_acquire(&mutex->word, &free_word, 1))
            return;
        fr_os_current->pause();
    }
    /* Who sleeps leaves 2, and who wakes up takes it with 2: others may still sleep, and only a 2
     * makes the holder wake them. At worst that costs one wake too many. */
    /* [mutex.take_slow] pairs [mutex.give] : as mutex.take */
#ifdef FR_MUTATE_MUTEX_FORGETS_SLEEPERS
    while (fr_exchange_acquire(&mutex->word, 1) != 0)
        (void)fr_os_current->futex_wait(&mutex->word, 1, FR_TIMEOUT_INFINITE);
#else
    while (fr_exchange_acquire(&mutex->word, 2) != 0)
        (void)fr_os_current->futex_wait(&mutex->word, 2, FR_TIMEOUT_INFINITE);
#endif
}

void fr_mutex_unlock_slow(fr_mutex *mutex)
{
    fr_os_current->futex_wake(&mutex->word, 1);
}
