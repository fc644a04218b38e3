#include "tests/unit/graph_cases.h"

#include <string.h>

#include "tests/support/check.h"
#include "tests/support/heap.h"
#include "tests/unit/graph_cases_bench.h"

#define FOREVER FR_TIMEOUT_INFINITE

/* What a waiting thread may have run ahead of a worker that has no CPU, in records and lanes. */
#define AHEAD_BYTES (UINT64_C(256) << 10)

static uint64_t live_bytes_after(test_bench *bench, fr_test_heap *heap, uint64_t *ordinal,
                                 uint32_t frames)
{
    for (uint32_t frame = 0; frame < frames; frame++, ++*ordinal) {
        uint64_t ids[4];
        for (uint64_t k = 0; k < 3; k++)
            ids[k] = test_submit_at(bench, *ordinal, k);
        ids[3] = test_submit_seal(bench, *ordinal, UINT64_MAX, 3);
        (void)test_wait(bench, ids[3], FOREVER);
        for (uint64_t k = 0; k < 4; k++)
            (void)fr_graph_release(bench->graph, ids[k]);
    }
    return fr_test_heap_live_bytes(heap);
}

/* Ordinal after ordinal needs no more memory than the first ones, with and without workers. */
const char *graph_lanes_and_records_are_used_again(void)
{
    for (uint32_t workers = 0; workers <= 1; workers++) {
        test_bench bench;
        fr_test_heap *heap = fr_test_heap_create();
        uint64_t ordinal = 1;
        FR_CHECK(test_bench_open(&bench, workers, 1000, fr_test_heap_allocator(heap)));
        uint64_t warm = live_bytes_after(&bench, heap, &ordinal, 3000);
        uint64_t later = live_bytes_after(&bench, heap, &ordinal, 20000);
        FR_CHECK(later <= warm + (workers > 0 ? AHEAD_BYTES : 0));
        fr_graph_statistics statistics;
        fr_graph_statistics_read(bench.graph, &statistics);
        FR_CHECK(statistics.lanes_made < 2000 && statistics.lanes_recycled > 20000);
        FR_CHECK(test_bench_close(&bench) == 0);
        FR_CHECK(fr_test_heap_mistakes(heap) == 0);
        FR_CHECK(fr_test_heap_destroy(heap) == 0);
    }
    return NULL;
}

/* Ordinals in a scattered order: each is found again, and a seal goes through those below it. */
const char *graph_open_ordinals(void)
{
    enum { ORDINALS = 4096 };
    test_bench bench;
    FR_CHECK(test_bench_open(&bench, 0, 1000000, &fr_allocator_default));
    for (uint64_t round = 0; round < 2; round++)
        for (uint64_t k = 0; k < ORDINALS; k++)
            FR_CHECK(test_submit_at(&bench, 1 + k * 1103 % ORDINALS, round) != 0);
    fr_graph_statistics statistics;
    fr_graph_statistics_read(bench.graph, &statistics);
    FR_CHECK(statistics.lanes_open == ORDINALS);
    uint64_t seal = test_submit_seal(&bench, ORDINALS / 4, UINT64_MAX, 7);
    fr_graph_statistics_read(bench.graph, &statistics);
    FR_CHECK(statistics.edges == ORDINALS / 4);
    FR_CHECK(test_wait(&bench, seal, FOREVER) == OVSTAGE_OK);
    FR_CHECK(test_log_count == ORDINALS / 2 + 1);
    seal = test_submit_seal(&bench, ORDINALS, UINT64_MAX, 7);
    fr_graph_statistics_read(bench.graph, &statistics);
    FR_CHECK(statistics.edges == ORDINALS); /* the lanes that were drained take no part */
    FR_CHECK(test_wait(&bench, seal, FOREVER) == OVSTAGE_OK);
    FR_CHECK(test_log_count == 2 * ORDINALS + 2);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

/* A lane is one edge, however many ops it has. */
const char *graph_wide_seal(void)
{
    test_bench bench;
    FR_CHECK(test_bench_open(&bench, 0, 1000000, &fr_allocator_default));
    for (uint64_t k = 0; k < 30000; k++)
        (void)test_submit_at(&bench, 1 + k % 3, k);
    uint64_t seal = test_submit_seal(&bench, 3, UINT64_MAX, 1);
    fr_graph_statistics statistics;
    fr_graph_statistics_read(bench.graph, &statistics);
    FR_CHECK(statistics.edges == 3);
    FR_CHECK(test_wait(&bench, seal, FOREVER) == OVSTAGE_OK);
    FR_CHECK(test_log_count == 30001);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

/* --- without memory --------------------------------------------------------------------------- */

static void fail_with_text(fr_op *op, test_op *self, const fr_run_context *context)
{
    (void)self;
    (void)context;
    fr_op_fail(op, OVSTAGE_ERROR_NOT_FOUND, "there is no such thing");
}

typedef struct program {
    test_bench bench;
    uint64_t accepted;
} program;

/* The id; 0 when memory was out; UINT64_MAX when it was refused otherwise. */
static uint64_t submit_noted(program *p, fr_submission *submission, test_op payload)
{
    ovstage_api_status_t status;
    uint64_t id = test_submit(&p->bench, &test_type, submission, payload, &status);
    p->accepted += id != 0;
    return id != 0 || status == OVSTAGE_ERROR_OUT_OF_MEMORY ? id : UINT64_MAX;
}

static const char *check_failed(program *p, uint64_t id)
{
    char text[64];
    fr_op_failure failure;
    if (id == 0)
        return NULL;
    FR_CHECK(test_wait(&p->bench, id, FOREVER) == OVSTAGE_OK);
    FR_CHECK(fr_graph_op_failure(p->bench.graph, id, &failure, text, sizeof(text)));
    FR_CHECK(failure.status == OVSTAGE_ERROR_NOT_FOUND && failure.text.length > 0);
    return NULL;
}

/* Uses each kind of memory: records, ids, lanes, edges, texts, the path of a wait. */
static const char *run_program(program *p)
{
    ovstage_api_status_t status;
    uint64_t last = 0, failing = 0;
    for (uint64_t k = 0; k < 150; k++) {
        fr_submission submission = {.has_ordinal = k % 3 != 0,
                                    .ordinal = 1 + k,
                                    .attribute_filter = 1,
                                    .producer_ids = &last,
                                    .producer_count = last != 0,
                                    .producer_capacity = 1};
        test_op payload = {.number = k, .run = k % 50 == 49 ? fail_with_text : NULL};
        uint64_t id = submit_noted(p, &submission, payload);
        FR_CHECK(id != UINT64_MAX);
        failing = k == 49 ? id : failing;
        last = id != 0 ? id : last;
    }
    fr_submission seal = {
        .takes_lanes_below = true, .covers_lanes = true, .below_ordinal = 200, .below_filter = 1};
    uint64_t id = submit_noted(p, &seal, (test_op){0});
    FR_CHECK(id != UINT64_MAX);
    if (id != 0)
        FR_CHECK(test_wait(&p->bench, id, FOREVER) == OVSTAGE_OK);
    id = fr_graph_submit_done(p->bench.graph, NULL, NULL, &status);
    FR_CHECK(id != 0 || status == OVSTAGE_ERROR_OUT_OF_MEMORY);
    if (last != 0)
        FR_CHECK(test_wait(&p->bench, last, FOREVER) == OVSTAGE_OK);
    FR_CHECK(fr_graph_pending_count(p->bench.graph) == 0);
    FR_CHECK(test_log_count == p->accepted && test_drops == p->accepted);
    return check_failed(p, failing);
}

static const char *run_with_failure(fr_test_heap *heap, uint64_t k, int ever_after, bool *failed)
{
    program p = {0};
    fr_test_heap_fail(heap, k, ever_after);
    bool opened = test_bench_open(&p.bench, 0, 1000, fr_test_heap_allocator(heap));
    const char *wrong = opened ? run_program(&p) : NULL;
    if (opened)
        FR_CHECK(test_bench_close(&p.bench) == 0);
    *failed = fr_test_heap_calls(heap) >= k;
    FR_CHECK(opened || *failed);
    FR_CHECK(fr_test_heap_live_bytes(heap) == 0);
    FR_CHECK(fr_test_heap_mistakes(heap) == 0);
    return wrong;
}

const char *graph_failing_allocations(void)
{
    for (int ever_after = 0; ever_after <= 1; ever_after++) {
        fr_test_heap *heap = fr_test_heap_create();
        bool failed = true;
        uint64_t k = 1;
        for (; failed; k++) {
            const char *wrong = run_with_failure(heap, k, ever_after, &failed);
            if (wrong)
                return wrong;
        }
        FR_CHECK(k > 10);
        (void)fr_test_heap_destroy(heap);
    }
    return NULL;
}
