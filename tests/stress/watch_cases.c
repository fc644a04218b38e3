#include "tests/stress/watch_cases.h"

#include <string.h>

#include "tests/support/check.h"
#include "tests/support/fake_device.h"

#define THREADS 4u
#define OPS 16u /* of a thread in a round */
#define LATE_NS 60000u

typedef struct bed {
    const watch_load *load;
    fr_pool *pool;
    fr_graph *graph;
    fake_device device;
    fake_job jobs[THREADS * OPS];
} bed;

typedef struct caller {
    bed *bed;
    uint32_t index;
    uint64_t random;
    const char *wrong;
    fr_os_thread thread;
} caller;

typedef struct load_op {
    bed *bed;
    fake_job *job; /* NULL: none */
    uint64_t late_ns;
    bool parks;
} load_op;

static uint64_t draw(caller *self, uint64_t below)
{
    self->random = self->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (self->random >> 33) % below;
}

static fr_run_result run(fr_op *op, const fr_run_context *context)
{
    (void)context;
    load_op *self = fr_op_payload(op);
    if (!self->job)
        return FR_RUN_DONE;
    fake_device_begin(&self->bed->device, self->job, fr_os_current->now_ns() + self->late_ns);
    return self->parks ? fake_work_park(&self->job->work, op) : FR_RUN_DONE;
}

static const fr_op_type op_type = {.name = "op", .run = run};

static uint64_t submit(caller *self, fake_job *job)
{
    fr_graph *graph = self->bed->graph;
    uint64_t id = 0;
    fr_submission submission;
    fr_submission_begin(&submission, fr_graph_op_get(graph, &op_type));
    submission.has_ordinal = draw(self, 4) > 0;
    submission.ordinal = 1 + draw(self, 3);
    submission.attribute_filter = 1;
    submission.takes_lanes_below = submission.covers_lanes = !submission.has_ordinal;
    submission.below_ordinal = submission.ordinal;
    submission.below_filter = UINT64_MAX;
    load_op payload = {.bed = self->bed,
                       .job = draw(self, 3) > 0 ? job : NULL,
                       .late_ns = draw(self, LATE_NS),
                       .parks = draw(self, 3) == 0};
    memcpy(fr_op_payload(submission.op), &payload, sizeof(payload));
    fr_store_relaxed(&job->stage, 0);
    fr_store_relaxed(&job->work.state, 0);
    if (payload.job && !payload.parks)
        submission.report = fake_work_report(graph, &job->work);
    return fr_graph_submit(graph, &submission, &id) == OVSTAGE_OK ? id : 0;
}

static bool is_complete(fr_graph *graph, uint64_t id)
{
    return fr_graph_op_state(graph, id) == FR_OP_DONE;
}

static const char *round_of(caller *self)
{
    fr_graph *graph = self->bed->graph;
    fr_wait_outcome outcome;
    uint64_t ids[OPS];
    for (uint32_t k = 0; k < OPS; k++) {
        ids[k] = submit(self, &self->bed->jobs[self->index * OPS + k]);
        FR_CHECK(ids[k] != 0);
        if (draw(self, 4) == 0)
            fr_graph_wait(graph, ids[k], draw(self, 2) * draw(self, 100000), &outcome);
    }
    uint64_t last = ids[draw(self, OPS)];
    fr_graph_wait(graph, last, FR_TIMEOUT_INFINITE, &outcome);
    FR_CHECK(outcome.status == OVSTAGE_OK && is_complete(graph, last));
    fr_graph_wait_many(graph, ids, OPS, false, FR_TIMEOUT_INFINITE, NULL, &outcome);
    FR_CHECK(outcome.status == OVSTAGE_OK);
    for (uint32_t k = 0; k < OPS; k++)
        FR_CHECK(is_complete(graph, ids[k]) && fr_graph_release(graph, ids[k]) == OVSTAGE_OK);
    return NULL;
}

static void call(void *argument)
{
    caller *self = argument;
    for (uint32_t round = 0; round < self->bed->load->rounds && !self->wrong; round++)
        self->wrong = round_of(self);
}

static bool has_no_work(void *user)
{
    return fr_graph_pending_count(user) == 0;
}

static const char *run_callers(bed *it)
{
    static caller callers[THREADS];
    const char *wrong = NULL;
    for (uint32_t k = 0; k < it->load->threads; k++) {
        callers[k] = (caller){.bed = it, .index = k, .random = it->load->seed + k};
        FR_CHECK(fr_os_current->thread_start(&callers[k].thread, call, &callers[k], "caller"));
    }
    for (uint32_t k = 0; k < it->load->threads; k++) {
        fr_os_current->thread_join(&callers[k].thread);
        wrong = wrong ? wrong : callers[k].wrong;
    }
    fr_wait_outcome outcome;
    fr_condition condition = {.ready = has_no_work, .user = it->graph};
    fr_graph_wait_condition(it->graph, &condition, FR_TIMEOUT_INFINITE, &outcome);
    return wrong;
}

const char *watch_run(const watch_load *load)
{
    static bed it;
    it.load = load;
    fr_pool_config pool_config = {.worker_count = load->workers,
                                  .spin_ns = 5000,
                                  .begins = fr_graph_token_begins,
                                  .allocator = &fr_allocator_default};
    it.pool = fr_pool_create(&pool_config);
    fr_graph_config config = {.pool = it.pool,
                              .allocator = &fr_allocator_default,
                              .op_limit = 100000,
                              .id_prefix = 3,
                              .caller_runs = load->seed % 3 > 0};
    it.graph = fr_graph_create(&config);
    FR_CHECK(it.pool && it.graph);
    fake_device_open(&it.device, it.pool, it.graph, it.jobs, THREADS * OPS);
    const char *wrong = run_callers(&it);
    FR_CHECK(fr_graph_destroy(it.graph) == 0);
    while (fr_pool_is_watching(it.pool)) /* who has looked may be about to say so */
        (void)fr_pool_look(it.pool);
    fake_device_close(&it.device);
    fr_pool_destroy(it.pool);
    return wrong;
}
