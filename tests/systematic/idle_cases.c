#include "tests/systematic/idle_cases.h"

#include "scheduler/deque.h"
#include "scheduler/idle.h"
#include "scheduler/pool.h"
#include "tests/systematic/systematic.h"

#define SLEEPERS 3

static fr_idle idle;
static fr_deque deque;
static fr_runnable tokens[SLEEPERS];

static bool take(void)
{
    fr_runnable *token;
    fr_deque_steal_result result;
    while ((result = fr_deque_steal(&deque, &token)) == FR_DEQUE_RETRY) {
    }
    return result == FR_DEQUE_SUCCESS;
}

/* As a worker does it; true when it is a searcher afterwards. */
static bool sleep_until_work(bool searching)
{
    fr_idle_announce(&idle, searching);
    for (;;) {
        uint32_t epoch = fr_idle_epoch(&idle);
        if (fr_deque_size(&deque) > 0)
            return fr_idle_cancel(&idle);
        if (fr_idle_take_permit(&idle))
            return true;
        (void)fr_idle_sleep(&idle, epoch, FR_TIMEOUT_INFINITE);
    }
}

static void sleeper(void *unused)
{
    (void)unused;
    bool searching = fr_idle_search_begin(&idle);
    while (!take())
        searching = sleep_until_work(searching);
    if (searching && fr_idle_search_end(&idle) && fr_deque_size(&deque) > 0)
        (void)fr_idle_notify(&idle);
}

void body_idle(void *argument)
{
    const idle_shape *shape = argument;
    fr_os_thread threads[SLEEPERS];
    fr_idle_init(&idle, shape->sleepers);
    fr_deque_init(&deque, &fr_allocator_default);
    for (uint32_t k = 0; k < shape->sleepers; k++)
        (void)fr_os_current->thread_start(&threads[k], sleeper, NULL, "sleeper");
    for (uint32_t k = 0; k < shape->sleepers; k++) {
        for (uint64_t pauses = fr_systematic_random(shape->pauses + 1); pauses > 0; pauses--)
            fr_os_current->pause();
        (void)fr_deque_push(&deque, &tokens[k]);
        (void)fr_idle_notify(&idle);
    }
    for (uint32_t k = 0; k < shape->sleepers; k++)
        fr_os_current->thread_join(&threads[k]);
    uint64_t state = fr_load_relaxed(&idle.state);
    fr_systematic_check(state == 0, "a count is left over");
    fr_deque_destroy(&deque);
}
