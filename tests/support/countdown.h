/* A thread waits until so many things have happened. Over fr_os, so that it works in the systematic
 * build too. */
#ifndef FR_TESTS_COUNTDOWN_H
#define FR_TESTS_COUNTDOWN_H

#include "scheduler/os.h"

typedef struct fr_countdown {
    _Atomic uint32_t left;
} fr_countdown;

static inline void fr_countdown_set(fr_countdown *countdown, uint32_t count)
{
    fr_store_seq_cst(&countdown->left, count);
}

/* Once for each; nothing of the countdown is touched by the last one after the waiter may have gone
 * on, but for the address that is woken. */
static inline void fr_countdown_arrive(fr_countdown *countdown)
{
    if (fr_sub_seq_cst(&countdown->left, 1) == 1)
        fr_os_current->futex_wake(&countdown->left, UINT32_MAX);
}

static inline void fr_countdown_wait(fr_countdown *countdown)
{
    uint32_t left;
    while ((left = fr_load_seq_cst(&countdown->left)) != 0)
        (void)fr_os_current->futex_wait(&countdown->left, left, FR_TIMEOUT_INFINITE);
}

#endif
