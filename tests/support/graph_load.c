#include "tests/support/graph_load.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/graph.h"
#include "scheduler/job.h"
#include "tests/support/check.h"
#include "tests/support/heap.h"

#define ORDINALS 2048u
#define PRODUCERS_MAX 8u
#define RECENT 64u /* ids that all producers know */
#define CHUNKS 5u
#define JOBS 64u

/* What an op is, known to its producer before it is accepted. */
typedef struct load_op {
    uint64_t id;
    uint64_t ordinal;
    bool is_seal, fails, waits, splits, needs_producers;
    uint64_t producers[3];
    _Atomic uint32_t ran, dropped;
} load_op;

/* Belongs to the ops of the ordinal, which run one at a time, then to the seal; but accepted, which
 * admission guards. */
typedef struct load_lane {
    uint64_t last_id, run;
    bool is_sealed;
    uint64_t accepted;
} load_lane;

typedef struct load_job {
    fr_job job;
    fr_op *op;
    struct load *load;
    _Atomic uint32_t taken, chunks;
} load_job;

typedef struct load {
    graph_load_options options;
    fr_pool *pool;
    fr_graph *graph;
    load_op *ops;
    load_lane lanes[ORDINALS];
    uint64_t floor, last_seal; /* under admission */
    uint64_t sealed;           /* belongs to the seals, which run one at a time */
    _Atomic uint64_t floor_hint;
    _Atomic uint64_t recent[RECENT];
    load_job jobs[JOBS];
    _Atomic uint64_t accepted, refused;
    _Atomic(const char *) wrong;
} load;

typedef struct load_payload {
    load *load;
    load_op *op;
} load_payload;

static uint64_t draw(uint64_t *random)
{
    uint64_t z = *random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static bool one_in(uint64_t *random, uint64_t n)
{
    return draw(random) % n == 0;
}

static void check(load *l, bool right, const char *text)
{
    const char *none = NULL;
    if (!right)
        (void)fr_cas_relaxed(&l->wrong, &none, text);
}

/* --- what ops do ------------------------------------------------------------------------------ */

static void wait_inside(load *l, uint64_t id)
{
    fr_wait_outcome outcome;
    uint64_t awaited = fr_load_relaxed(&l->recent[id % RECENT]);
    if (awaited == 0)
        return;
    fr_graph_wait(l->graph, awaited, FR_TIMEOUT_INFINITE, &outcome);
    bool is_cycle = outcome.status == OVSTAGE_ERROR_INVALID_ARGUMENT;
    check(l,
          outcome.status == OVSTAGE_OK || outcome.status == OVSTAGE_ERROR_INVALID_HANDLE ||
              (is_cycle && strstr(outcome.text, "cannot be waited for")),
          "a wait inside an op ended with a wrong status");
}

/* Also for an op that does not run since its producer failed. */
static void end_in_lane(load *l, const load_op *op, uint64_t id)
{
    load_lane *lane = &l->lanes[op->ordinal];
    check(l, !lane->is_sealed, "an op ran after its seal");
    check(l, id > lane->last_id, "ops of a lane ran in another order than they were accepted");
    lane->last_id = id;
    lane->run++;
}

static void run_seal(load *l, const load_op *op)
{
    check(l, op->ordinal >= l->sealed, "seals ran in another order than they were accepted");
    for (; l->sealed <= op->ordinal; l->sealed++) {
        load_lane *lane = &l->lanes[l->sealed];
        check(l, lane->run == lane->accepted, "a seal ran before an op that it seals");
        lane->is_sealed = true;
    }
}

static void check_producers(load *l, const load_op *op)
{
    for (uint32_t k = 0; k < 3; k++) {
        if (op->producers[k] == 0)
            continue;
        fr_op_state state = fr_graph_op_state(l->graph, op->producers[k]);
        check(l, state != FR_OP_PENDING, "an op ran before its producer had completed");
        check(l, !op->needs_producers || state != FR_OP_FAILED,
              "an op ran though its producer had failed");
    }
}

static void job_chunk(fr_job *job, uint32_t chunk, fr_worker *worker)
{
    (void)chunk;
    (void)worker;
    (void)fr_add_relaxed(&((load_job *)(void *)job)->chunks, 1);
}

static void job_finished(fr_job *job, fr_worker *worker)
{
    load_job *mine = (load_job *)(void *)job;
    check(mine->load, fr_load_relaxed(&mine->chunks) == CHUNKS,
          "a split op ended before its chunks");
    fr_graph_op_finish(mine->load->graph, mine->op, worker);
}

static void job_released(fr_job *job)
{
    /* [load.job.give] pairs [load.job.take] : the next use comes after this one */
    fr_store_release(&((load_job *)(void *)job)->taken, 0);
}

static const fr_job_type job_type = {job_chunk, job_finished, job_released};

static load_job *take_job(load *l)
{
    for (uint32_t k = 0; k < JOBS; k++) {
        uint32_t is_free = 0;
        /* [load.job.take] pairs [load.job.give] : see there */
        if (fr_load_relaxed(&l->jobs[k].taken) == 0 &&
            fr_cas_acquire(&l->jobs[k].taken, &is_free, 1))
            return &l->jobs[k];
    }
    return NULL;
}

static fr_run_result run(fr_op *op, const fr_run_context *context)
{
    const load_payload *payload = fr_op_payload(op);
    load *l = payload->load;
    load_op *mine = payload->op;
    check(l, context->graph == l->graph && fr_op_running() == op, "the context is wrong");
    check(l, fr_add_relaxed(&mine->ran, 1) == 0, "an op ran twice");
    if (mine->is_seal)
        run_seal(l, mine);
    else
        check_producers(l, mine);
    if (mine->waits)
        wait_inside(l, fr_op_id(op));
    if (mine->fails)
        fr_op_fail(op, OVSTAGE_ERROR_NOT_FOUND, "op %u failed by intention",
                   (unsigned)mine->ordinal);
    load_job *job = mine->splits ? take_job(l) : NULL;
    if (!job)
        return FR_RUN_DONE;
    job->op = op;
    job->load = l;
    fr_store_relaxed(&job->chunks, 0);
    fr_job_init(&job->job, &job_type, CHUNKS, 0);
    fr_job_start(&job->job, l->pool, context->worker);
    return FR_RUN_SPLIT;
}

static void help(fr_op *op, const fr_run_context *context)
{
    const load_payload *payload = fr_op_payload(op);
    for (uint32_t k = 0; k < JOBS; k++)
        (void)fr_job_help(&payload->load->jobs[k].job, context->worker);
}

static void drop(fr_op *op)
{
    const load_payload *payload = fr_op_payload(op);
    load_op *mine = payload->op;
    check(payload->load, fr_add_relaxed(&mine->dropped, 1) == 0, "an op was dropped twice");
    if (mine->ordinal > 0 && !mine->is_seal)
        end_in_lane(payload->load, mine, fr_op_id(op));
}

static bool is_large(const fr_op *op)
{
    const load_payload *payload = fr_op_payload((fr_op *)op);
    return payload->op->splits;
}

static const fr_op_type op_type = {
    .name = "op", .run = run, .help = help, .drop = drop, .is_large = is_large};
static const fr_op_type task_type = {.name = "task", .run = run, .drop = drop, .is_task = true};

/* --- what producers do ------------------------------------------------------------------------ */

typedef struct producer {
    load *load;
    uint32_t index;
    uint64_t random;
    uint32_t done; /* ops accepted */
    uint32_t waited;
    fr_os_thread thread;
} producer;

static load_op *op_of(producer *p, uint32_t k)
{
    return &p->load->ops[p->index * p->load->options.ops + k];
}

static ovstage_api_status_t admit(fr_submission *submission, void *user)
{
    producer *p = user;
    load *l = p->load;
    load_op *op = op_of(p, p->done);
    if (op->is_seal) {
        uint64_t ordinal = l->floor + 1 + draw(&p->random) % 8;
        if (ordinal >= ORDINALS)
            return OVSTAGE_ERROR_OUT_OF_RANGE;
        op->ordinal = submission->below_ordinal = ordinal;
        submission->producer_ids[0] = l->last_seal;
        submission->producer_count = l->last_seal != 0;
        return OVSTAGE_OK;
    }
    return op->ordinal > 0 && op->ordinal <= l->floor ? OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION
                                                      : OVSTAGE_OK;
}

static void accepted(fr_submission *submission, uint64_t id, void *user)
{
    producer *p = user;
    load *l = p->load;
    load_op *op = op_of(p, p->done);
    op->id = id;
    if (op->is_seal) {
        l->floor = submission->below_ordinal;
        l->last_seal = id;
        fr_store_relaxed(&l->floor_hint, l->floor);
    } else if (op->ordinal > 0) {
        l->lanes[op->ordinal].accepted++;
    }
}

static void choose_op(producer *p, load_op *op, fr_submission *submission)
{
    load *l = p->load;
    uint64_t *random = &p->random;
    memset(op, 0, sizeof(*op));
    op->fails = one_in(random, 16);
    op->waits = one_in(random, 32);
    op->splits = one_in(random, 24);
    if (one_in(random, 12)) {
        op->is_seal = true;
        submission->takes_lanes_below = submission->covers_lanes = true;
        submission->below_filter = UINT64_MAX;
        submission->never_full = true;
        return;
    }
    uint64_t ordinal = fr_load_relaxed(&l->floor_hint) + draw(random) % 12;
    if (ordinal > 0 && ordinal < ORDINALS && !one_in(random, 4)) {
        op->ordinal = submission->ordinal = ordinal;
        submission->has_ordinal = true;
        submission->attribute_filter = UINT64_C(1) << draw(random) % 64;
    }
    if (op->ordinal > 0 && !one_in(random, 8))
        return;
    for (uint32_t k = 0; k < 3; k++)
        op->producers[k] =
            one_in(random, 2) ? fr_load_relaxed(&l->recent[draw(random) % RECENT]) : 0;
    for (uint32_t k = 0; k < 3; k++)
        if (op->producers[k] != 0)
            submission->producer_ids[submission->producer_count++] = op->producers[k];
    op->needs_producers = submission->fails_with_producers = one_in(random, 2);
}

static bool has_room(void *user)
{
    const load *l = user;
    return fr_graph_pending_count(l->graph) < l->options.op_limit;
}

static void submit_one(producer *p)
{
    load *l = p->load;
    uint64_t ids[4] = {0};
    fr_submission submission = {.producer_ids = ids,
                                .producer_capacity = 4,
                                .admit = admit,
                                .accepted = accepted,
                                .user = p};
    load_op *mine = op_of(p, p->done);
    fr_op *op = fr_graph_op_get(l->graph, one_in(&p->random, 5) ? &task_type : &op_type);
    if (!op) {
        check(l, false, "no memory for a record");
        return;
    }
    load_payload *payload = fr_op_payload(op);
    *payload = (load_payload){l, mine};
    submission.op = op;
    choose_op(p, mine, &submission);
    uint64_t id;
    ovstage_api_status_t status = fr_graph_submit(l->graph, &submission, &id);
    if (status == OVSTAGE_OK) {
        check(l, id == mine->id, "the id is not the one that was accepted");
        p->done++;
        (void)fr_add_relaxed(&l->accepted, 1);
        fr_store_relaxed(&l->recent[draw(&p->random) % RECENT], id);
        return;
    }
    check(l, id == 0, "a refused op has an id");
    check(l,
          status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION || status == OVSTAGE_ERROR_QUEUE_FULL ||
              status == OVSTAGE_ERROR_OUT_OF_RANGE,
          "an op was refused with a wrong status");
    fr_graph_op_put(l->graph, op);
    fr_wait_outcome outcome;
    if (status == OVSTAGE_ERROR_QUEUE_FULL && fr_graph_run_some(l->graph, 4) == 0)
        fr_graph_wait_condition(l->graph, &(fr_condition){.ready = has_room, .user = l},
                                FR_TIMEOUT_INFINITE, &outcome);
    if (status == OVSTAGE_ERROR_OUT_OF_RANGE)
        fr_store_relaxed(&l->floor_hint, ORDINALS);
}

static void look_at_one(producer *p, load_op *op)
{
    load *l = p->load;
    fr_wait_outcome outcome;
    uint64_t timeout_ns = one_in(&p->random, 2) ? 0 : 20000;
    fr_graph_wait(l->graph, op->id, timeout_ns, &outcome);
    check(l, outcome.status == OVSTAGE_OK || outcome.status == OVSTAGE_ERROR_TIMEOUT,
          "a poll ended with a wrong status");
    if (outcome.status == OVSTAGE_ERROR_TIMEOUT)
        check(l, outcome.lowest_pending_id != 0 && outcome.lowest_pending_id <= op->id,
              "the lowest pending id is not one of the chain");
}

static void finish_one(producer *p, load_op *op)
{
    load *l = p->load;
    if (one_in(&p->random, 4)) {
        check(l, fr_graph_release(l->graph, op->id) == OVSTAGE_OK, "an id could not be released");
        check(l, fr_graph_release(l->graph, op->id) == OVSTAGE_ERROR_INVALID_HANDLE,
              "an id was released twice");
        return;
    }
    fr_wait_outcome outcome;
    fr_graph_wait(l->graph, op->id, FR_TIMEOUT_INFINITE, &outcome);
    check(l, outcome.status == OVSTAGE_OK, "a wait ended with a wrong status");
    fr_op_state state = fr_graph_op_state(l->graph, op->id);
    check(l, state == FR_OP_DONE || state == FR_OP_FAILED, "an op is not complete after the wait");
    check(l, !op->fails || state == FR_OP_FAILED, "an op that failed is not reported so");
    check(l, fr_load_relaxed(&op->ran) == 1 || state == FR_OP_FAILED, "an op did not run");
    if (state == FR_OP_FAILED) {
        char text[128];
        fr_op_failure failure;
        check(l,
              fr_graph_op_failure(l->graph, op->id, &failure, text, sizeof(text)) &&
                  failure.text.length > 0,
              "a failed op has no text");
        check(l, (fr_load_relaxed(&op->ran) == 0) == (failure.cause_id != 0),
              "a failure has the wrong cause");
    }
    check(l, fr_graph_release(l->graph, op->id) == OVSTAGE_OK, "an id could not be released");
}

static void wait_for_some(producer *p)
{
    load *l = p->load;
    uint64_t ids[4];
    size_t count = 0, index = 0;
    for (uint32_t k = p->waited; k < p->done && count < 4; k++)
        ids[count++] = op_of(p, k)->id;
    bool any = one_in(&p->random, 2);
    fr_wait_outcome outcome;
    fr_graph_wait_many(l->graph, ids, count, any, FR_TIMEOUT_INFINITE, &index, &outcome);
    check(l, outcome.status == OVSTAGE_OK, "a wait for several ended with a wrong status");
    if (any && count > 0)
        check(l, index < count && fr_graph_op_state(l->graph, ids[index]) != FR_OP_PENDING,
              "a wait for any ended without one");
}

static void produce(void *argument)
{
    producer *p = argument;
    load *l = p->load;
    while (p->done < l->options.ops && !fr_load_relaxed(&l->wrong)) {
        submit_one(p);
        if (p->done > p->waited && one_in(&p->random, 8))
            look_at_one(p,
                        op_of(p, p->waited + (uint32_t)(draw(&p->random) % (p->done - p->waited))));
        if (p->done > p->waited + 8 && one_in(&p->random, 32))
            wait_for_some(p);
        while (p->done > p->waited + 64 || (p->done > p->waited && one_in(&p->random, 6)))
            finish_one(p, op_of(p, p->waited++));
    }
    while (!l->options.destroys_early && p->waited < p->done)
        finish_one(p, op_of(p, p->waited++));
}

/* --- the whole -------------------------------------------------------------------------------- */

static bool set_up(load *l, const fr_allocator *allocator)
{
    fr_pool_config pool_config = {.worker_count = l->options.workers,
                                  .spin_ns = 5000,
                                  .begins = fr_graph_token_begins,
                                  .allocator = allocator};
    l->pool = fr_pool_create(&pool_config);
    if (!l->pool)
        return false;
    fr_graph_config config = {.pool = l->pool,
                              .allocator = allocator,
                              .op_limit = l->options.op_limit ? l->options.op_limit : 1000000,
                              .caller_spin_ns = l->options.caller_spin_ns,
                              .id_prefix = 7,
                              .caller_runs = l->options.caller_runs};
    l->graph = fr_graph_create(&config);
    return l->graph != NULL;
}

static const char *check_end(load *l, uint64_t dropped)
{
    uint64_t ran = 0, let_go = 0, count = (uint64_t)l->options.producers * l->options.ops;
    for (uint64_t k = 0; k < count; k++) {
        ran += fr_load_relaxed(&l->ops[k].ran);
        let_go += fr_load_relaxed(&l->ops[k].dropped);
    }
    if (fr_load_relaxed(&l->wrong))
        return fr_load_relaxed(&l->wrong);
    FR_CHECK(let_go == fr_load_relaxed(&l->accepted));
    FR_CHECK(l->options.destroys_early || dropped == 0);
    FR_CHECK(ran + dropped <= let_go);
    return NULL;
}

static bool has_no_work(void *user)
{
    const load *l = user;
    return fr_graph_pending_count(l->graph) == 0;
}

static const char *run_load(load *l, producer *producers)
{
    for (uint32_t k = 0; k < l->options.producers; k++) {
        producers[k] = (producer){.load = l, .index = k, .random = l->options.seed * 1000 + k};
        FR_CHECK(
            fr_os_current->thread_start(&producers[k].thread, produce, &producers[k], "producer"));
    }
    for (uint32_t k = 0; k < l->options.producers; k++)
        fr_os_current->thread_join(&producers[k].thread);
    fr_wait_outcome outcome;
    if (!l->options.destroys_early) /* ids that were released before they were complete */
        fr_graph_wait_condition(l->graph, &(fr_condition){.ready = has_no_work, .user = l},
                                FR_TIMEOUT_INFINITE, &outcome);
    uint64_t dropped = fr_graph_destroy(l->graph);
    fr_pool_destroy(l->pool);
    return check_end(l, dropped);
}

const char *graph_load(const graph_load_options *options)
{
    static producer producers[PRODUCERS_MAX];
    fr_test_heap *heap = fr_test_heap_create();
    load *l = calloc(1, sizeof(*l));
    l->ops = calloc((size_t)options->producers * options->ops, sizeof(load_op));
    l->options = *options;
    const char *wrong =
        set_up(l, fr_test_heap_allocator(heap)) ? run_load(l, producers) : "no memory";
    free(l->ops);
    free(l);
    if (!wrong && fr_test_heap_mistakes(heap) != 0)
        wrong = "memory was given back with a wrong size";
    uint64_t left = fr_test_heap_destroy(heap);
    return wrong || left == 0 ? wrong : "memory was not given back";
}
