#include "tests/unit/idle_cases.h"

#include "scheduler/idle.h"
#include "tests/support/check.h"

static uint32_t wakes, last_wake_count;

static void count_wake(_Atomic uint32_t *word, uint32_t count)
{
    (void)word;
    wakes++;
    last_wake_count = count;
}

static const fr_os *use_counting_table(void)
{
    static fr_os table;
    const fr_os *before = fr_os_current;
    table = fr_os_linux;
    table.futex_wake = count_wake;
    fr_os_current = &table;
    wakes = 0;
    return before;
}

static const char *with_table(const char *(*body)(fr_idle *idle), uint32_t thread_count)
{
    const fr_os *before = use_counting_table();
    fr_idle idle;
    fr_idle_init(&idle, thread_count);
    const char *wrong = body(&idle);
    fr_os_current = before;
    return wrong;
}

static uint64_t state_of(const fr_idle *idle)
{
    return fr_load_relaxed(&idle->state);
}

static const char *burst(fr_idle *idle)
{
    FR_CHECK(!fr_idle_notify(idle)); /* nobody sleeps */
    FR_CHECK(wakes == 0);
    for (int k = 0; k < 3; k++)
        fr_idle_announce(idle, false);
    uint32_t epoch = fr_idle_epoch(idle);
    FR_CHECK(fr_idle_notify(idle));
    FR_CHECK(fr_idle_epoch(idle) != epoch);
    for (int k = 0; k < 1000; k++)
        FR_CHECK(
            !fr_idle_notify(idle)); /* the woken one counts as searching, before it has moved */
    FR_CHECK(wakes == 1 && last_wake_count == 1);
    FR_CHECK(fr_idle_searching(state_of(idle)) == 1 && fr_idle_sleeping(state_of(idle)) == 2);
    FR_CHECK(fr_idle_take_permit(idle));
    FR_CHECK(!fr_idle_take_permit(idle));
    FR_CHECK(fr_idle_search_end(idle)); /* the last, and others sleep */
    FR_CHECK(fr_idle_notify(idle));
    FR_CHECK(wakes == 2);
    return NULL;
}

const char *idle_burst(void)
{
    return with_table(burst, 4);
}

static const char *search_limit(fr_idle *idle)
{
    for (uint32_t k = 0; k < idle->searching_max; k++)
        FR_CHECK(fr_idle_search_begin(idle));
    FR_CHECK(!fr_idle_search_begin(idle));
    FR_CHECK(!fr_idle_search_end(idle)); /* nobody sleeps */
    FR_CHECK(fr_idle_search_begin(idle));
    return NULL;
}

const char *idle_search_limit(void)
{
    static const uint32_t limits[][2] = {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 2}, {9, 4}};
    for (int k = 0; k < 6; k++) {
        fr_idle idle;
        fr_idle_init(&idle, limits[k][0]);
        FR_CHECK(idle.searching_max == limits[k][1]);
        const char *wrong = with_table(search_limit, limits[k][0]);
        if (wrong)
            return wrong;
    }
    return NULL;
}

static const char *cancel(fr_idle *idle)
{
    fr_idle_announce(idle, false);
    FR_CHECK(fr_idle_cancel(idle)); /* room for a searcher */
    FR_CHECK(state_of(idle) == FR_IDLE_SEARCHING);
    fr_idle_announce(idle, false);
    FR_CHECK(!fr_idle_cancel(idle)); /* no room */
    FR_CHECK(state_of(idle) == FR_IDLE_SEARCHING);
    fr_idle_announce(idle, true);
    FR_CHECK(state_of(idle) == FR_IDLE_SLEEPING);
    FR_CHECK(fr_idle_notify(idle));
    FR_CHECK(state_of(idle) == FR_IDLE_SEARCHING + FR_IDLE_PERMIT);
    FR_CHECK(fr_idle_cancel(idle)); /* the permit is taken along, or it would stay for ever */
    FR_CHECK(state_of(idle) == FR_IDLE_SEARCHING);
    return NULL;
}

const char *idle_cancel(void)
{
    return with_table(cancel, 2);
}

static const char *last_searcher(fr_idle *idle)
{
    fr_idle_announce(idle, false);
    FR_CHECK(fr_idle_search_begin(idle));
    FR_CHECK(fr_idle_search_begin(idle));
    FR_CHECK(!fr_idle_search_end(idle)); /* another one searches */
    FR_CHECK(fr_idle_search_end(idle));
    return NULL;
}

const char *idle_last_searcher(void)
{
    return with_table(last_searcher, 4);
}

/* Every thread that can exist in every field, none runs over. */
static const char *counts(fr_idle *idle)
{
    for (uint32_t k = 0; k < FR_IDLE_THREADS_MAX; k++)
        fr_idle_announce(idle, false);
    FR_CHECK(state_of(idle) == FR_IDLE_SLEEPING * FR_IDLE_THREADS_MAX);
    for (uint32_t k = 0; k < FR_IDLE_THREADS_MAX; k++) {
        FR_CHECK(fr_idle_notify(idle));
        FR_CHECK(fr_idle_permits(state_of(idle)) == k + 1);
        fr_idle_search_end(idle);
    }
    FR_CHECK(state_of(idle) == FR_IDLE_PERMIT * FR_IDLE_THREADS_MAX);
    FR_CHECK(wakes == FR_IDLE_THREADS_MAX);
    fr_idle_kick(idle);
    FR_CHECK(last_wake_count == UINT32_MAX);
    return NULL;
}

const char *idle_counts(void)
{
    return with_table(counts, 2);
}
