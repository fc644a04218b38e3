#include "tests/systematic/deque_cases.h"

#include "scheduler/deque.h"
#include "scheduler/intake.h"
#include "tests/systematic/systematic.h"

#include <stdlib.h>
#include <string.h>

#define TOKENS 16
#define THREADS 6

static fr_runnable tokens[TOKENS];
static _Atomic uint32_t taken[TOKENS];
static fr_runnable unpublished; /* put, and put over */
static fr_deque deque;
static fr_intake intake;

/* Fresh memory holds nothing that looks like a token. */
static void *allocate_poisoned(size_t size_bytes, size_t alignment_bytes, void *user)
{
    (void)user;
    void *memory = NULL;
    if (posix_memalign(&memory, alignment_bytes, size_bytes) != 0)
        return NULL;
    memset(memory, 0xa5, size_bytes);
    return memory;
}

static void release_poisoned(void *memory, size_t size_bytes, void *user)
{
    (void)size_bytes;
    (void)user;
    free(memory);
}

static const fr_allocator poisoned = {allocate_poisoned, release_poisoned, NULL};

static void reset_tokens(void)
{
    for (uint32_t k = 0; k < TOKENS; k++) {
        tokens[k].order = k / 2; /* with equals */
        fr_store_seq_cst(&taken[k], 0);
    }
}

static void take(const fr_runnable *token)
{
    fr_systematic_check(token >= tokens && token < tokens + TOKENS, "what was taken is no token");
    fr_systematic_check(fr_add_seq_cst(&taken[token - tokens], 1) == 0, "a token was taken twice");
}

static void check_all_taken(uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        fr_systematic_check(fr_load_relaxed(&taken[k]) == 1, "a token was lost");
}

/* --- deque ----------------------------------------------------------------------------------- */

static void thief(void *argument)
{
    const deque_shape *shape = argument;
    for (uint32_t k = 0; k < shape->steals; k++) {
        fr_runnable *token = NULL;
        if (fr_deque_steal(&deque, &token) == FR_DEQUE_SUCCESS)
            take(token);
    }
}

void body_deque(void *argument)
{
    const deque_shape *shape = argument;
    fr_os_thread threads[THREADS];
    reset_tokens();
    fr_deque_init(&deque, &poisoned);
    for (uint32_t k = 0; k < shape->thieves; k++)
        (void)fr_os_current->thread_start(&threads[k], thief, argument, "thief");
    fr_runnable *token;
    for (uint32_t k = 0; k < shape->pushes;) {
        uint32_t batch = (uint32_t)fr_systematic_random(2) + 1, left = shape->pushes - k;
        batch = batch < left ? batch : left;
        (void)fr_deque_put(&deque, 0, &unpublished); /* never there */
        for (uint32_t at = 0; at < batch; at++)
            fr_systematic_check(fr_deque_put(&deque, at, &tokens[k + at]), "a push failed");
        fr_deque_publish(&deque, batch);
        k += batch;
        if (fr_systematic_random(3) == 0 && (token = fr_deque_pop(&deque)) != NULL)
            take(token);
    }
    while ((token = fr_deque_pop(&deque)) != NULL)
        take(token);
    for (uint32_t k = 0; k < shape->thieves; k++)
        fr_os_current->thread_join(&threads[k]);
    check_all_taken(shape->pushes);
    fr_deque_destroy(&deque);
}

/* --- intake ---------------------------------------------------------------------------------- */

static const intake_shape *intake_now;
static _Atomic uint32_t next_pusher;

static void pusher(void *unused)
{
    (void)unused;
    uint32_t first = fr_add_seq_cst(&next_pusher, 1) * intake_now->pushes;
    for (uint32_t k = 0; k < intake_now->pushes; k++)
        fr_intake_push(&intake, &tokens[first + k]);
}

static void take_intake(void)
{
    fr_runnable *list = fr_intake_sort(fr_intake_take(&intake));
    uint64_t order = UINT64_MAX;
    while (list) {
        fr_runnable *token = list;
        list = fr_intake_next(token);
        fr_systematic_check(token->order <= order, "the list is not sorted");
        order = token->order;
        take(token);
    }
}

static void taker(void *unused)
{
    (void)unused;
    take_intake();
    take_intake();
}

void body_intake(void *argument)
{
    intake_now = argument;
    fr_os_thread threads[THREADS];
    uint32_t count = 0;
    reset_tokens();
    fr_store_seq_cst(&next_pusher, 0);
    fr_intake_init(&intake);
    for (uint32_t k = 0; k < intake_now->pushers; k++)
        (void)fr_os_current->thread_start(&threads[count++], pusher, NULL, "pusher");
    for (uint32_t k = 0; k < intake_now->takers; k++)
        (void)fr_os_current->thread_start(&threads[count++], taker, NULL, "taker");
    for (uint32_t k = 0; k < count; k++)
        fr_os_current->thread_join(&threads[k]);
    take_intake();
    check_all_taken(intake_now->pushers * intake_now->pushes);
}
