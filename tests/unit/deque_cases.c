#include "tests/unit/deque_cases.h"

#include "scheduler/deque.h"
#include "scheduler/intake.h"
#include "tests/support/check.h"
#include "tests/support/heap.h"

#define TOKENS 5000

static fr_runnable tokens[TOKENS];

const char *deque_ends(void)
{
    fr_deque deque;
    fr_runnable *token = NULL;
    fr_deque_init(&deque, &fr_allocator_default);
    FR_CHECK(fr_deque_size(&deque) == 0);
    FR_CHECK(fr_deque_pop(&deque) == NULL);
    FR_CHECK(fr_deque_steal(&deque, &token) == FR_DEQUE_EMPTY);
    for (int k = 0; k < 4; k++)
        FR_CHECK(fr_deque_push(&deque, &tokens[k]));
    FR_CHECK(fr_deque_size(&deque) == 4);
    FR_CHECK(fr_deque_pop(&deque) == &tokens[3]);
    FR_CHECK(fr_deque_steal(&deque, &token) == FR_DEQUE_SUCCESS);
    FR_CHECK(token == &tokens[0]);
    FR_CHECK(fr_deque_pop(&deque) == &tokens[2]);
    FR_CHECK(fr_deque_pop(&deque) == &tokens[1]);
    FR_CHECK(fr_deque_pop(&deque) == NULL);
    FR_CHECK(fr_deque_push(&deque, &tokens[4]));
    FR_CHECK(fr_deque_steal(&deque, &token) == FR_DEQUE_SUCCESS);
    FR_CHECK(token == &tokens[4]);
    FR_CHECK(fr_deque_steal(&deque, &token) == FR_DEQUE_EMPTY);
    FR_CHECK(fr_deque_pop(&deque) == NULL);
    fr_deque_destroy(&deque);
    return NULL;
}

const char *deque_growth(void)
{
    fr_deque deque;
    fr_runnable *token = NULL;
    fr_deque_init(&deque, &fr_allocator_default);
    /* The tokens lie across the ring's end when it grows. */
    for (int k = 0; k < 3; k++) {
        FR_CHECK(fr_deque_push(&deque, &tokens[k]));
        FR_CHECK(fr_deque_steal(&deque, &token) == FR_DEQUE_SUCCESS);
    }
    for (int k = 0; k < TOKENS; k++)
        FR_CHECK(fr_deque_push(&deque, &tokens[k]));
    FR_CHECK(fr_deque_size(&deque) == TOKENS);
    for (int k = 0; k < TOKENS / 2; k++) {
        FR_CHECK(fr_deque_steal(&deque, &token) == FR_DEQUE_SUCCESS);
        FR_CHECK(token == &tokens[k]);
        FR_CHECK(fr_deque_pop(&deque) == &tokens[TOKENS - 1 - k]);
    }
    FR_CHECK(fr_deque_size(&deque) == 0);
    fr_deque_destroy(&deque);
    return NULL;
}

/* What was put is seen once it is published, across a growing ring too; without that it was never
 * there. */
const char *deque_batches(void)
{
    fr_deque deque;
    fr_runnable *token = NULL;
    fr_deque_init(&deque, &fr_allocator_default);
    FR_CHECK(fr_deque_push(&deque, &tokens[0]));
    for (int k = 1; k < TOKENS; k++)
        FR_CHECK(fr_deque_put(&deque, k - 1, &tokens[k]));
    FR_CHECK(fr_deque_size(&deque) == 1);
    FR_CHECK(fr_deque_pop(&deque) == &tokens[0]);
    FR_CHECK(fr_deque_pop(&deque) == NULL);
    for (int k = 1; k < TOKENS; k++)
        FR_CHECK(fr_deque_put(&deque, k - 1, &tokens[k]));
    FR_CHECK(fr_deque_steal(&deque, &token) == FR_DEQUE_EMPTY);
    fr_deque_publish(&deque, TOKENS - 1);
    FR_CHECK(fr_deque_size(&deque) == TOKENS - 1);
    FR_CHECK(fr_deque_steal(&deque, &token) == FR_DEQUE_SUCCESS);
    FR_CHECK(token == &tokens[1]);
    for (int k = TOKENS - 1; k > 1; k--)
        FR_CHECK(fr_deque_pop(&deque) == &tokens[k]);
    FR_CHECK(fr_deque_pop(&deque) == NULL);
    fr_deque_destroy(&deque);
    return NULL;
}

/* A push that finds no memory for a larger ring changes nothing, and works again later. */
const char *deque_without_memory(void)
{
    fr_test_heap *heap = fr_test_heap_create();
    fr_deque deque;
    int pushed = 0;
    fr_deque_init(&deque, fr_test_heap_allocator(heap));
    fr_test_heap_fail(heap, 1, 1);
    FR_CHECK(!fr_deque_push(&deque, &tokens[0]));
    FR_CHECK(fr_deque_pop(&deque) == NULL);
    fr_test_heap_fail(heap, 2, 1); /* the first ring, no more */
    while (fr_deque_push(&deque, &tokens[pushed]))
        pushed++;
    FR_CHECK(pushed == FR_DEQUE_FIRST_SLOTS);
    FR_CHECK(fr_deque_size(&deque) == pushed);
    fr_test_heap_fail(heap, 0, 0);
    FR_CHECK(fr_deque_push(&deque, &tokens[pushed]));
    for (; pushed >= 0; pushed--)
        FR_CHECK(fr_deque_pop(&deque) == &tokens[pushed]);
    fr_deque_destroy(&deque);
    FR_CHECK(fr_test_heap_mistakes(heap) == 0);
    FR_CHECK(fr_test_heap_destroy(heap) == 0);
    return NULL;
}

/* What the header promises: four slots a token held at once, and never more for more turns. */
const char *deque_memory_bound(void)
{
    fr_test_heap *heap = fr_test_heap_create();
    fr_deque deque;
    fr_deque_init(&deque, fr_test_heap_allocator(heap));
    uint64_t live_bytes = 0;
    for (int turn = 0; turn < 20; turn++) {
        for (int k = 0; k < TOKENS; k++)
            FR_CHECK(fr_deque_push(&deque, &tokens[k]));
        if (turn == 0)
            live_bytes = fr_test_heap_live_bytes(heap);
        for (int k = 0; k < TOKENS; k++)
            FR_CHECK(fr_deque_pop(&deque) != NULL);
    }
    FR_CHECK(fr_test_heap_live_bytes(heap) == live_bytes);
    FR_CHECK(live_bytes <= 4 * TOKENS * sizeof(void *) + 1024);
    fr_deque_destroy(&deque);
    FR_CHECK(fr_test_heap_destroy(heap) == 0);
    return NULL;
}

/* --- intake ---------------------------------------------------------------------------------- */

/* Pushed onto a deque in the sequence of the list: lowest order popped first, equals as they came.
 */
const char *intake_order(void)
{
    static const uint64_t orders[] = {5, 1, 3, 1, 5, 2};
    static const int expected[] = {1, 3, 5, 2, 0, 4};
    fr_intake intake;
    fr_deque deque;
    fr_intake_init(&intake);
    fr_deque_init(&deque, &fr_allocator_default);
    FR_CHECK(fr_intake_looks_empty(&intake));
    FR_CHECK(fr_intake_take(&intake) == NULL);
    for (int k = 0; k < 6; k++) {
        tokens[k].order = orders[k];
        fr_intake_push(&intake, &tokens[k]);
    }
    FR_CHECK(!fr_intake_looks_empty(&intake));
    fr_runnable *list = fr_intake_sort(fr_intake_take(&intake));
    FR_CHECK(fr_intake_looks_empty(&intake));
    while (list) {
        fr_runnable *token = list;
        list = fr_intake_next(token);
        FR_CHECK(fr_deque_push(&deque, token));
    }
    for (int k = 0; k < 6; k++)
        FR_CHECK(fr_deque_pop(&deque) == &tokens[expected[k]]);
    fr_deque_destroy(&deque);
    return NULL;
}

/* Lists of every length up to 300, with few and with many equals, sorted and stable. */
const char *intake_sort(void)
{
    fr_intake intake;
    fr_intake_init(&intake);
    uint64_t random = 1;
    for (int count = 1; count <= 300; count++) {
        for (int k = 0; k < count; k++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            tokens[k].order = (random >> 33) % (count % 2 ? 1000 : 3);
            fr_intake_push(&intake, &tokens[k]);
        }
        const fr_runnable *before = fr_intake_sort(fr_intake_take(&intake));
        int seen = 1;
        for (const fr_runnable *next; (next = fr_intake_next(before)) != NULL; before = next) {
            FR_CHECK(before->order >= next->order);
            FR_CHECK(before->order != next->order || before > next);
            seen++;
        }
        FR_CHECK(seen == count);
    }
    return NULL;
}
