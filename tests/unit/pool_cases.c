#include "tests/unit/pool_cases.h"

#include "scheduler/pool.h"
#include "scheduler/worker.h"
#include "tests/support/check.h"
#include "tests/support/countdown.h"
#include "tests/support/heap.h"

#define TOKENS 64
/* In builds that shrink constants they come between the few tokens of a test. */
#define RARE_LOOKS_ARE_RARE (FR_WORKER_INTAKE_PERIOD >= 32)

/* A token that writes down when and where it ran. */
typedef struct logged {
    fr_runnable runnable;
    int name;
    int again;      /* it pushes itself so many times more */
    bool give_back; /* by fr_pool_give_back */
    bool lends;     /* it runs what else there is */
} logged;

static logged tokens[TOKENS];
static int journal[4096];
static uint32_t journal_count, last_index;
static fr_countdown countdown;

static void run_logged(fr_runnable *runnable, fr_worker *worker)
{
    logged *token = (logged *)(void *)runnable;
    fr_pool *pool = fr_worker_pool(worker);
    if (journal_count < sizeof(journal) / sizeof(journal[0]))
        journal[journal_count++] = token->name;
    last_index = fr_worker_index(worker);
    if (token->lends)
        (void)fr_pool_lend(pool, NULL, 0);
    if (token->again-- <= 0)
        return;
    if (token->give_back)
        fr_pool_give_back(pool, runnable);
    else
        fr_pool_push(pool, runnable);
}

static void run_counted(fr_runnable *runnable, fr_worker *worker)
{
    (void)runnable;
    (void)worker;
    fr_countdown_arrive(&countdown);
}

static logged *make(int name, uint64_t order)
{
    tokens[name] = (logged){.runnable = {.run = run_logged, .order = order}, .name = name};
    return &tokens[name];
}

static fr_pool *make_pool(uint32_t workers, const fr_allocator *allocator)
{
    fr_pool_config config = {.worker_count = workers, .spin_ns = 1000, .allocator = allocator};
    journal_count = 0;
    return fr_pool_create(&config);
}

static void push(fr_pool *pool, int name, uint64_t order)
{
    fr_pool_push(pool, &make(name, order)->runnable);
}

const char *pool_without_workers(void)
{
    static const int expected[] = {3, 1, 4, 2, 0};
    fr_pool *pool = make_pool(0, &fr_allocator_default);
    FR_CHECK(pool != NULL);
    FR_CHECK(fr_pool_lend(pool, NULL, 0) == 0);
    FR_CHECK(fr_pool_start(pool) && fr_pool_worker_count(pool) == 0);
    push(pool, 0, 9);
    push(pool, 1, 2);
    push(pool, 2, 5);
    push(pool, 3, 1);
    push(pool, 4, 2); /* as 1, which came earlier */
    FR_CHECK(fr_worker_current() == NULL);
    FR_CHECK(fr_pool_lend(pool, NULL, 0) == 5);
    FR_CHECK(fr_worker_current() == NULL);
    FR_CHECK(journal_count == 5 && last_index == 0);
    FR_CHECK(journal[0] == expected[0]);
    for (int k = 1; k < 5 && RARE_LOOKS_ARE_RARE; k++)
        FR_CHECK(journal[k] == expected[k]);
    fr_pool_destroy(pool);
    return NULL;
}

const char *pool_destroy_runs_tokens(void)
{
    for (uint32_t workers = 0; workers <= 2; workers++) {
        fr_pool *pool = make_pool(workers, &fr_allocator_default);
        FR_CHECK(pool && fr_pool_start(pool));
        fr_countdown_set(&countdown, TOKENS);
        for (int k = 0; k < TOKENS; k++) {
            make(k, 1)->runnable.run = run_counted;
            fr_pool_push(pool, &tokens[k].runnable);
        }
        fr_pool_destroy(pool);
        FR_CHECK(fr_load_relaxed(&countdown.left) == 0);
    }
    return NULL;
}

const char *pool_lend_some(void)
{
    fr_pool *pool = make_pool(0, &fr_allocator_default);
    for (int k = 0; k < 10; k++)
        push(pool, k, 1);
    FR_CHECK(fr_pool_lend(pool, NULL, 4) == 4);
    FR_CHECK(journal_count == 4);
    FR_CHECK(fr_pool_lend(pool, NULL, 1) == 1);
    FR_CHECK(fr_pool_lend(pool, NULL, 100) == 5);
    bool seen[10] = {false};
    for (int k = 0; k < 10; k++)
        seen[journal[k]] = true;
    for (int k = 0; k < 10; k++)
        FR_CHECK(seen[k]);
    fr_pool_destroy(pool);
    return NULL;
}

/* One token comes again and again; one that waits in the intake and ones below it in the deque run
 * all the same. */
const char *pool_nothing_starves(void)
{
    fr_pool *pool = make_pool(0, &fr_allocator_default);
    push(pool, 0, 0); /* popped first, again and again */
    push(pool, 1, 1);
    push(pool, 2, 2);
    tokens[0].again = 1000000;
    FR_CHECK(fr_pool_lend(pool, NULL, 1) == 1);
    push(pool, 3, 5); /* into the intake */
    FR_CHECK(fr_pool_lend(pool, NULL, 4 * FR_WORKER_INTAKE_PERIOD) == 4 * FR_WORKER_INTAKE_PERIOD);
    bool seen[4] = {false};
    for (uint32_t k = 0; k < journal_count; k++)
        seen[journal[k]] = true;
    FR_CHECK(seen[1] && seen[2] && seen[3]);
    tokens[0].again = 0;
    FR_CHECK(fr_pool_lend(pool, NULL, 0) == 1);
    fr_pool_destroy(pool);
    return NULL;
}

const char *pool_give_back(void)
{
    fr_pool *pool = make_pool(0, &fr_allocator_default);
    push(pool, 0, 0);
    push(pool, 1, 1);
    push(pool, 2, 2);
    tokens[0].again = 1;
    tokens[0].give_back = true;
    FR_CHECK(fr_pool_lend(pool, NULL, 0) == 4);
    FR_CHECK(journal[0] == 0 && journal[1] != 0);
    if (RARE_LOOKS_ARE_RARE)
        FR_CHECK(journal[1] == 1 && journal[2] == 2 && journal[3] == 0);
    fr_pool_destroy(pool);
    return NULL;
}

static fr_pool *other_pool;
static bool current_was_right;

static void run_in_other_pool(fr_runnable *runnable, fr_worker *worker)
{
    (void)runnable;
    uint64_t ran = fr_pool_lend(other_pool, NULL, 0);
    current_was_right = ran == 2 && fr_worker_current() == worker;
}

const char *pool_lend_inside(void)
{
    fr_pool *pool = make_pool(0, &fr_allocator_default);
    push(pool, 0, 0);
    push(pool, 1, 1);
    push(pool, 2, 2);
    tokens[0].lends = true;
    FR_CHECK(fr_pool_lend(pool, NULL, 0) == 1); /* the others ran inside it */
    FR_CHECK(journal_count == 3);
    other_pool = make_pool(0, &fr_allocator_default);
    push(other_pool, 3, 0);
    push(other_pool, 4, 0);
    fr_runnable crossing = {.run = run_in_other_pool};
    fr_pool_push(pool, &crossing);
    FR_CHECK(fr_pool_lend(pool, NULL, 0) == 1);
    FR_CHECK(current_was_right && journal_count == 2);
    fr_pool_destroy(other_pool);
    fr_pool_destroy(pool);
    return NULL;
}

static fr_pool *lent_pool;
static _Atomic uint32_t lent_stop;

static void lend_until_stopped(void *argument)
{
    *(uint64_t *)argument = fr_pool_lend(lent_pool, &lent_stop, 0);
}

const char *pool_lend_limit(void)
{
    fr_os_thread threads[FR_POOL_LENT_MAX];
    uint64_t results[FR_POOL_LENT_MAX];
    lent_pool = make_pool(0, &fr_allocator_default);
    fr_store_relaxed(&lent_stop, 0);
    for (uint32_t k = 0; k < FR_POOL_LENT_MAX; k++)
        FR_CHECK(fr_os_linux.thread_start(&threads[k], lend_until_stopped, &results[k], "lent"));
    fr_pool_statistics statistics;
    do {
        fr_os_linux.yield();
        fr_pool_statistics_read(lent_pool, &statistics);
    } while (statistics.sleeping_count < FR_POOL_LENT_MAX);
    FR_CHECK(fr_pool_lend(lent_pool, NULL, 0) == UINT64_MAX);
    fr_store_release(&lent_stop, 1);
    fr_pool_kick(lent_pool);
    for (uint32_t k = 0; k < FR_POOL_LENT_MAX; k++) {
        fr_os_linux.thread_join(&threads[k]);
        FR_CHECK(results[k] == 0);
    }
    FR_CHECK(fr_pool_lend(lent_pool, NULL, 0) == 0);
    fr_pool_statistics_read(lent_pool, &statistics);
    FR_CHECK(statistics.sleeping_count == 0 && statistics.searching_count == 0);
    fr_pool_destroy(lent_pool);
    return NULL;
}

/* --- failures -------------------------------------------------------------------------------- */

static uint32_t starts_left;

static bool start_few(fr_os_thread *thread, void (*body)(void *), void *argument, const char *name)
{
    return starts_left > 0 && starts_left-- > 0 &&
           fr_os_linux.thread_start(thread, body, argument, name);
}

static const char *run_some(fr_pool *pool, int count)
{
    fr_countdown_set(&countdown, (uint32_t)count);
    for (int k = 0; k < count; k++) {
        make(k, (uint64_t)k)->runnable.run = run_counted;
        fr_pool_push(pool, &tokens[k].runnable);
    }
    if (fr_pool_worker_count(pool) == 0)
        FR_CHECK(fr_pool_lend(pool, NULL, 0) == (uint64_t)count);
    fr_countdown_wait(&countdown);
    return NULL;
}

const char *pool_thread_starts_fail(void)
{
    const fr_os *before = fr_os_current;
    fr_os table = fr_os_linux;
    table.thread_start = start_few;
    fr_os_current = &table;
    for (uint32_t few = 0; few <= 3; few++) {
        fr_pool *pool = make_pool(3, &fr_allocator_default);
        starts_left = few;
        bool started = fr_pool_start(pool);
        FR_CHECK(started == (few > 0));
        FR_CHECK(fr_pool_start(pool) == started);
        FR_CHECK(fr_pool_worker_count(pool) == few);
        const char *wrong = run_some(pool, 20);
        if (wrong)
            return wrong;
        fr_pool_destroy(pool);
    }
    fr_os_current = before;
    return NULL;
}

const char *pool_no_memory(void)
{
    fr_test_heap *heap = fr_test_heap_create();
    fr_test_heap_fail(heap, 1, 1);
    FR_CHECK(make_pool(2, fr_test_heap_allocator(heap)) == NULL);
    for (uint32_t workers = 0; workers <= 2; workers++) {
        fr_test_heap_fail(heap, 2, 1); /* the pool itself, but never a deque */
        fr_pool *pool = make_pool(workers, fr_test_heap_allocator(heap));
        FR_CHECK(pool != NULL && fr_pool_start(pool));
        const char *wrong = run_some(pool, TOKENS);
        if (wrong)
            return wrong;
        fr_pool_destroy(pool);
    }
    FR_CHECK(fr_test_heap_mistakes(heap) == 0);
    FR_CHECK(fr_test_heap_destroy(heap) == 0);
    return NULL;
}

/* --- workers --------------------------------------------------------------------------------- */

static _Atomic uint64_t hook_calls;
static _Atomic uint32_t hook_mask;

static void hook(uint32_t worker_index, void *user)
{
    (void)fr_or_relaxed(&hook_mask, UINT32_C(1) << worker_index);
    (void)fr_add_release((_Atomic uint64_t *)user, 1);
}

const char *pool_hooks(void)
{
    fr_pool_config config = {.worker_count = 3,
                             .spin_ns = 0,
                             .pin_workers = true,
                             .thread_started = hook,
                             .user = (void *)&hook_calls,
                             .allocator = &fr_allocator_default};
    fr_store_relaxed(&hook_calls, 0);
    fr_store_relaxed(&hook_mask, 0);
    fr_pool *pool = fr_pool_create(&config);
    FR_CHECK(pool && fr_pool_start(pool));
    while (fr_load_acquire(&hook_calls) < 3)
        fr_os_linux.yield();
    FR_CHECK(fr_load_relaxed(&hook_mask) == 7);
    const char *wrong = run_some(pool, 20);
    if (wrong)
        return wrong;
    fr_pool_destroy(pool);
    FR_CHECK(fr_load_relaxed(&hook_calls) == 3);
    return NULL;
}

static _Atomic uint64_t calls;

static bool counting_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
    (void)fr_add_relaxed(&calls, timeout_ns == FR_TIMEOUT_INFINITE ? 1 : 1000000);
    return fr_os_linux.futex_wait(word, seen, timeout_ns);
}

static uint64_t counting_now(void)
{
    (void)fr_add_relaxed(&calls, 1);
    return fr_os_linux.now_ns();
}

static void counting_pause(void)
{
    (void)fr_add_relaxed(&calls, 1);
    fr_cpu_pause();
}

/* Once all workers sleep, none of them calls the system again, and no wait of theirs has a
 * deadline. A worker counts as asleep before it makes its last call, and may make one more when it
 * was woken for what another one has taken: each disturbs a few looks at most. */
#define DISTURBED_MAX 16

const char *pool_idle_costs_nothing(void)
{
    static fr_os table;
    const fr_os *before = fr_os_current;
    table = fr_os_linux;
    table.futex_wait = counting_wait;
    table.now_ns = counting_now;
    table.pause = counting_pause;
    fr_store_relaxed(&calls, 0);
    fr_os_current = &table;
    fr_pool *pool = make_pool(2, &fr_allocator_default);
    FR_CHECK(fr_pool_start(pool));
    const char *wrong = run_some(pool, 20);
    if (wrong)
        return wrong;
    fr_pool_statistics statistics;
    do {
        fr_os_linux.yield();
        fr_pool_statistics_read(pool, &statistics);
    } while (statistics.sleeping_count < 2);
    uint64_t sleeps;
    uint32_t disturbed = 0;
    do {
        FR_CHECK(disturbed++ < DISTURBED_MAX);
        sleeps = fr_load_relaxed(&calls);
        for (int k = 0; k < 10000; k++)
            fr_os_linux.yield();
        fr_pool_statistics_read(pool, &statistics);
    } while (statistics.sleeping_count < 2 || fr_load_relaxed(&calls) != sleeps);
    FR_CHECK(sleeps < 1000000); /* the mark of a deadline */
    FR_CHECK(statistics.timed_waits_that_found_work == 0);
    FR_CHECK(statistics.tokens_run == 20 && statistics.worker_count == 2);
    FR_CHECK(statistics.searching_count == 0);
    fr_pool_destroy(pool);
    fr_os_current = before;
    return NULL;
}
