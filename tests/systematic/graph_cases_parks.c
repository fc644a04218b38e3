/* Ops that park, in lanes and by themselves, and are resumed by any thread, before their run has
 * returned or after. */
#include "scheduler/atomic.h"
#include "tests/systematic/graph_cases_bed.h"
#include "tests/systematic/systematic.h"

#define HAS_PARKED 1u
#define IS_DUE 2u

/* Of one park; word map of `state`: HAS_PARKED set by the op's run, when it has called fr_op_park;
 * IS_DUE by who ends what it waits for. Who sets the second of them resumes it. */
typedef struct parks {
    _Atomic uint32_t state;
    fr_op *op;
    bool has_waited; /* of its op, whose runs come one behind the other */
} parks;

static parks all[ALL];

static void come_to(parks *it, uint32_t flag)
{
    /* [parks.meet] pairs [parks.meet] : the second one knows the op, which has parked */
    uint32_t before = fr_or_acq_rel(&it->state, flag);
    if ((before | flag) == (HAS_PARKED | IS_DUE) && (before & flag) == 0)
        fr_graph_op_resume(graph, it->op);
}

static fr_run_result run_parks(fr_op *op, const fr_run_context *context)
{
    const case_op *self = fr_op_payload(op);
    parks *it = &all[self->job];
    if (it->has_waited || fr_systematic_random(4) == 0)
        return run(op, context);
    it->has_waited = true;
    it->op = op;
    fr_op_park(op);
    come_to(it, HAS_PARKED);
    return FR_RUN_PARKED;
}

static const fr_op_type parks_type = {.name = "parks", .run = run_parks};

static uint64_t submit_parks(uint32_t job, uint64_t ordinal)
{
    fr_submission submission = {
        .has_ordinal = ordinal > 0, .ordinal = ordinal, .attribute_filter = 1};
    all[job].has_waited = false;
    return submit_as(&parks_type, &submission, (case_op){.job = job});
}

static void submit_and_resume(uint32_t thread)
{
    fr_wait_outcome outcome;
    uint32_t first = thread * OPS_MAX;
    for (uint32_t k = 0; k < shape.ops; k++) {
        fr_store_relaxed(&all[first + k].state, 0);
        fr_store_seq_cst(&ids[thread][k], submit_parks(first + k, fr_systematic_random(3)));
    }
    for (uint32_t k = shape.ops; k-- > 0;) {
        uint64_t id = fr_load_seq_cst(&ids[thread][k]);
        uint64_t outer = set_awaited(id);
        if (fr_systematic_random(2) == 0)
            fr_graph_wait(graph, id, fr_systematic_random(2) * 200, &outcome);
        (void)set_awaited(outer);
        come_to(&all[first + k], IS_DUE);
    }
    if (fr_systematic_random(3) == 0) {
        fr_condition condition = {.ready = has_no_work};
        fr_graph_wait_condition(graph, &condition, FR_TIMEOUT_INFINITE, &outcome);
        check_ok(&outcome);
    }
    for (uint32_t k = 0; k < shape.ops; k++)
        wait_for(fr_load_seq_cst(&ids[thread][k]));
}

void body_parks(void *argument)
{
    const graph_shape *wanted = argument;
    run_case(wanted, submit_and_resume, wanted->threads * wanted->ops);
}

/* --- room ------------------------------------------------------------------------------------- */

static bool is_alone(void *user)
{
    (void)user;
    return fr_graph_pending_count(graph) <= 1;
}

static bool needs_ops(void *user)
{
    (void)user;
    return true;
}

/* It comes, since what is parked is resumed. */
static void wait_until_alone(fr_op *op, case_op *self)
{
    (void)op;
    (void)self;
    fr_wait_outcome outcome;
    fr_condition room = {.ready = is_alone, .needs_ops = needs_ops, .what = "room"};
    uint64_t outer = set_awaited(0);
    fr_graph_wait_condition(graph, &room, FR_TIMEOUT_INFINITE, &outcome);
    (void)set_awaited(outer);
    check_ok(&outcome);
}

static void wait_for_parked(uint32_t thread)
{
    if (thread == 0) {
        for (uint32_t k = 0; k < shape.ops; k++)
            (void)submit_parks(k, fr_systematic_random(3));
        fr_store_seq_cst(&ids[0][0], submit_at(9, (case_op){.run = wait_until_alone}));
        if (shape.threads > 1)
            wait_for(fr_load_seq_cst(&ids[0][0]));
    }
    for (uint32_t k = 0; k < shape.ops; k++)
        if (shape.threads == 1 || 1 + k % (shape.threads - 1) == thread)
            come_to(&all[k], IS_DUE);
    if (shape.threads == 1)
        wait_for(fr_load_seq_cst(&ids[0][0]));
}

void body_parks_and_room(void *argument)
{
    const graph_shape *wanted = argument;
    for (uint32_t k = 0; k < OPS_MAX; k++)
        fr_store_relaxed(&all[k].state, 0);
    run_case(wanted, wait_for_parked, wanted->ops + 1);
}
