#include "tests/stress/deque_cases.h"

#include "scheduler/deque.h"
#include "scheduler/intake.h"
#include "tests/support/check.h"

#include <stdlib.h>

/* Under sanitizers a turn costs more, and rings are tiny anyway. */
#ifdef FR_SHRINK
#define ITEMS 20000
#else
#define ITEMS 300000
#endif
#define THIEVES 3

static fr_runnable tokens[ITEMS];
static _Atomic uint32_t taken[ITEMS];
static _Atomic uint32_t stop, wrong, thieves_ready;
static fr_deque deque;
static fr_os_thread threads[THIEVES + 1];
static uint64_t thief_taken[THIEVES];

static void take(const fr_runnable *token)
{
    if (token < tokens || token >= tokens + ITEMS ||
        fr_add_relaxed(&taken[token - tokens], 1) != 0 ||
        token->order != (uint64_t)(token - tokens))
        (void)fr_add_relaxed(&wrong, 1);
}

/* Steals until it is told to stop and finds nothing; *order: its tokens must come in this sequence.
 */
static void thief_main(void *argument)
{
    uint64_t *count = argument;
    uint64_t least_order = 0;
    (void)fr_add_release(&thieves_ready, 1);
    for (;;) {
        bool last = fr_load_acquire(&stop) != 0;
        fr_runnable *token = NULL;
        switch (fr_deque_steal(&deque, &token)) {
        case FR_DEQUE_SUCCESS:
            take(token);
            if (token->order < least_order)
                (void)fr_add_relaxed(&wrong, 1); /* thieves see the sequence of the pushes */
            least_order = token->order + 1;
            ++*count;
            break;
        case FR_DEQUE_EMPTY:
            if (last)
                return;
            fr_os_current->yield();
            break;
        default:
            break;
        }
    }
}

static const char *begin(int thieves)
{
    fr_deque_init(&deque, &fr_allocator_default);
    fr_store_relaxed(&stop, 0);
    fr_store_relaxed(&wrong, 0);
    fr_store_relaxed(&thieves_ready, 0);
    for (uint64_t k = 0; k < ITEMS; k++) {
        tokens[k].order = UINT64_MAX;
        fr_store_relaxed(&taken[k], 0);
    }
    for (int k = 0; k < thieves; k++) {
        thief_taken[k] = 0;
        FR_CHECK(fr_os_current->thread_start(&threads[k], thief_main, &thief_taken[k], "thief"));
    }
    while (fr_load_acquire(&thieves_ready) < (uint32_t)thieves)
        fr_os_current->yield();
    return NULL;
}

/* Joins the thieves, and looks that the first `pushed` tokens were taken once each. */
static const char *end(int thieves, uint64_t pushed)
{
    fr_store_release(&stop, 1);
    for (int k = 0; k < thieves; k++)
        fr_os_current->thread_join(&threads[k]);
    FR_CHECK(fr_deque_size(&deque) == 0);
    fr_deque_destroy(&deque);
    FR_CHECK(fr_load_relaxed(&wrong) == 0);
    for (uint64_t k = 0; k < pushed; k++)
        FR_CHECK(fr_load_relaxed(&taken[k]) == 1);
    return NULL;
}

static bool push(uint64_t k)
{
    tokens[k].order = k; /* plain: published by the push */
    return fr_deque_push(&deque, &tokens[k]);
}

static bool pop(void)
{
    const fr_runnable *token = fr_deque_pop(&deque);
    if (token)
        take(token);
    return token != NULL;
}

const char *stress_smoke(void)
{
    const char *text = begin(0);
    for (uint64_t k = 0; k < ITEMS && !text; k++)
        text = push(k) ? NULL : "a push failed";
    if (text)
        return text;
    while (pop()) {
    }
    return end(0, ITEMS);
}

/* The owner only pushes. */
const char *stress_steal_while_push(void)
{
    const char *text = begin(THIEVES);
    if (text)
        return text;
    for (uint64_t k = 0; k < ITEMS; k++)
        FR_CHECK(push(k));
    return end(THIEVES, ITEMS);
}

/* From nothing to many tokens, again and again, so that thieves meet every size of ring. */
const char *stress_growth(void)
{
    uint64_t batch = (uint64_t)FR_DEQUE_FIRST_SLOTS * 40;
    for (uint64_t first = 0; first + batch <= ITEMS; first += batch) {
        const char *text = first % 5 == 0 ? begin(THIEVES) : begin(1);
        if (text)
            return text;
        for (uint64_t k = 0; k < batch; k++)
            FR_CHECK(push(k));
        while (pop()) {
        }
        text = end(first % 5 == 0 ? THIEVES : 1, batch);
        if (text)
            return text;
        if (first / batch >= 30)
            break;
    }
    return NULL;
}

/* All tokens are there before the thieves come, and owner and thieves take at once. */
const char *stress_stampede(void)
{
    const char *text = begin(0);
    if (text)
        return text;
    for (uint64_t k = 0; k < ITEMS; k++)
        FR_CHECK(push(k));
    for (int k = 0; k < THIEVES; k++) {
        thief_taken[k] = 0;
        FR_CHECK(fr_os_current->thread_start(&threads[k], thief_main, &thief_taken[k], "thief"));
    }
    uint64_t before = UINT64_MAX;
    fr_runnable *token;
    while ((token = fr_deque_pop(&deque)) != NULL) {
        take(token);
        FR_CHECK(token->order < before); /* the owner sees them backwards */
        before = token->order;
    }
    return end(THIEVES, ITEMS);
}

/* Random pushes and pops; mostly near empty, where owner and thieves want the same token. */
const char *stress_exactly_once(void)
{
    const char *text = begin(THIEVES);
    if (text)
        return text;
    uint64_t pushed = 0, random = 88172645463325252u;
    while (pushed < ITEMS) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint64_t burst = random % 7 == 0 ? 20 : 1;
        for (uint64_t k = 0; k < burst && pushed < ITEMS; k++)
            FR_CHECK(push(pushed++));
        for (uint64_t k = (random >> 8) % 3; k > 0; k--)
            (void)pop();
    }
    while (pop()) {
    }
    return end(THIEVES, ITEMS);
}

static _Atomic uint64_t hits[THIEVES];

/* One that has had its share leaves the processor to others, so that the machine's own scheduling
 * does not starve one. */
static void counting_thief_main(void *argument)
{
    _Atomic uint64_t *count = argument;
    for (;;) {
        bool last = fr_load_acquire(&stop) != 0;
        fr_runnable *token = NULL;
        fr_deque_steal_result result = fr_deque_steal(&deque, &token);
        if (result == FR_DEQUE_EMPTY && last)
            return;
        if (result == FR_DEQUE_SUCCESS && fr_add_relaxed(count, 1) % 16 == 15)
            fr_os_current->yield();
        else if (result != FR_DEQUE_SUCCESS)
            fr_os_current->pause();
    }
}

/* Tokens go in, a few at a time, until each thief has got one: a thief that never does hangs the
 * test. */
const char *stress_no_starvation(void)
{
    const char *text = begin(0);
    if (text)
        return text;
    for (int k = 0; k < THIEVES; k++) {
        fr_store_relaxed(&hits[k], 0);
        FR_CHECK(fr_os_current->thread_start(&threads[k], counting_thief_main, &hits[k], "thief"));
    }
    uint64_t pushed = 0, lucky;
    do {
        if (fr_deque_size(&deque) < 64)
            FR_CHECK(fr_deque_push(&deque, &tokens[pushed++ % ITEMS]));
        else
            fr_os_current->yield();
        lucky = 0;
        for (int k = 0; k < THIEVES; k++)
            lucky += fr_load_relaxed(&hits[k]) > 0;
    } while (lucky < THIEVES);
    text = end(THIEVES, 0);
    if (text)
        return text;
    for (int k = 0; k < THIEVES; k++)
        pushed -= fr_load_relaxed(&hits[k]);
    FR_CHECK(pushed == 0);
    return NULL;
}

/* --- intake ---------------------------------------------------------------------------------- */

#define PUSHERS 3
static fr_intake intake;
static _Atomic uint32_t next_pusher, pushers_left;

static void pusher_main(void *unused)
{
    (void)unused;
    uint64_t first = (uint64_t)fr_add_relaxed(&next_pusher, 1) * (ITEMS / PUSHERS);
    for (uint64_t k = first; k < first + ITEMS / PUSHERS; k++) {
        tokens[k].order = k;
        fr_intake_push(&intake, &tokens[k]);
    }
    (void)fr_sub_release(&pushers_left, 1);
}

static void take_list(void)
{
    fr_runnable *list = fr_intake_sort(fr_intake_take(&intake));
    uint64_t order = UINT64_MAX;
    while (list) {
        fr_runnable *token = list;
        list = fr_intake_next(token);
        take(token);
        if (token->order > order)
            (void)fr_add_relaxed(&wrong, 1);
        order = token->order;
        fr_store_relaxed(&token->next, NULL); /* as one that frees it: no pusher may come after */
    }
}

static void taker_main(void *unused)
{
    (void)unused;
    while (fr_load_acquire(&pushers_left) > 0)
        take_list();
}

const char *stress_intake(void)
{
    const char *text = begin(0);
    if (text)
        return text;
    fr_os_thread takers[2];
    fr_intake_init(&intake);
    fr_store_relaxed(&next_pusher, 0);
    fr_store_relaxed(&pushers_left, PUSHERS);
    for (int k = 0; k < 2; k++)
        FR_CHECK(fr_os_current->thread_start(&takers[k], taker_main, NULL, "taker"));
    for (int k = 0; k < PUSHERS; k++)
        FR_CHECK(fr_os_current->thread_start(&threads[k], pusher_main, NULL, "pusher"));
    for (int k = 0; k < PUSHERS; k++)
        fr_os_current->thread_join(&threads[k]);
    for (int k = 0; k < 2; k++)
        fr_os_current->thread_join(&takers[k]);
    take_list();
    return end(0, ITEMS / PUSHERS * PUSHERS);
}
