/* Waiting for conditions; and running ops by request. */
#include "scheduler/graph_internal.h"

#include <inttypes.h>
#include <stdio.h>

/* A wait for a condition runs whatever it finds on top of the ops of its thread, and these may wait
 * in the same way: so deep, and no deeper. */
#ifdef FR_SHRINK
#define FR_RUNNING_DEPTH_MAX 4u
#else
#define FR_RUNNING_DEPTH_MAX 32u
#endif

/* --- running by request ----------------------------------------------------------------------- */

fr_lane *fr_graph_give_way_at_lane(fr_graph *graph, fr_lane *lane, uint32_t *left)
{
    fr_look();
    if (*left > 0) {
        --*left;
        return lane;
    }
    uint64_t ordinal = lane->ordinal;
    *left = FR_LOOKS_PER_LOCK;
    fr_mutex_unlock(&graph->admission);
    fr_mutex_lock(&graph->admission);
    return fr_lane_map_from(&graph->lanes, ordinal);
}

fr_op *fr_graph_give_way_at_op(fr_graph *graph, fr_op *op, uint32_t *left)
{
    fr_look();
    if (*left > 0) {
        --*left;
        return op;
    }
    uint64_t id = op->id;
    *left = FR_LOOKS_PER_LOCK;
    fr_mutex_unlock(&graph->admission);
    fr_mutex_lock(&graph->admission);
    return fr_op_table_pending_op(&graph->table, id);
}

/* The op at which the walk stood has completed. NULL when that is not counted yet: who counts it
 * looks for waiters then, and until it does a walk may come to no other end. */
static fr_op *fr_graph_first_again(const fr_graph *graph, uint64_t *completed)
{
    uint64_t before = *completed;
    *completed = fr_graph_completed(graph);
    return *completed != before ? graph->records.solo_first : NULL;
}

/* Under admission, which others may get in between: claims a solo op. Completed ones leave the
 * list; those whose tokens are out, which destroy looks for there, go behind the others: so each is
 * come past about once. */
static fr_op *fr_graph_claim_solo(fr_graph *graph, const fr_drain_limits *limits)
{
    fr_records *records = &graph->records;
    uint32_t left = FR_LOOKS_PER_LOCK;
    const fr_op *last = records->solo_last; /* NULL: others have been at the list */
    uint64_t completed = records->solo_first ? fr_graph_completed(graph) : 0;
    fr_op *next;
    for (fr_op *op = records->solo_first; op; op = next) {
        next = op == last ? NULL : op->solo_next;
        graph->looks_to_run++;
        uint64_t word = fr_load_relaxed(&op->word);
        if ((word & FR_OP_FINISHED) != 0) {
            bool has_token = (word & FR_OP_TOKEN) != 0;
            if (!has_token || last)
                fr_records_remove_solo(records, op);
            if (has_token && last)
                fr_records_add_solo(records, op);
        } else if (fr_drain_may_run(limits, op) && fr_solo_claim(op)) {
            return op;
        } else if (next) {
            bool gives_way = left == 0;
            op = fr_graph_give_way_at_op(graph, op, &left);
            next = op ? op->solo_next : fr_graph_first_again(graph, &completed);
            last = gives_way ? NULL : last;
        }
    }
    return NULL;
}

/* The same of a lane. */
static fr_lane *fr_graph_claim_lane(fr_graph *graph, const fr_drain_limits *limits)
{
    uint32_t left = FR_LOOKS_PER_LOCK;
    fr_lane *next;
    for (fr_lane *lane = fr_lane_map_first(&graph->lanes); lane; lane = next) {
        lane = fr_graph_give_way_at_lane(graph, lane, &left);
        if (!lane)
            return NULL;
        next = fr_lane_map_after(lane);
        graph->looks_to_run++;
        if (fr_lane_map_drop_idle(&graph->lanes, lane))
            continue;
        /* [run.lane] pairs [lane.settle] : the first op is one that is not counted out before this
         * moment */
        uint64_t word = fr_load_acquire(&lane->word);
        if (fr_lane_is_claimable(word) && fr_drain_may_run(limits, fr_load_relaxed(&lane->first)) &&
            fr_lane_claim(lane))
            return lane;
    }
    return NULL;
}

/* Runs ops of the lowest lane that can be claimed, or a solo op, as far as limits go; adds how many
 * to *ran (a lane whose first op has edges left: none). False when nothing can be claimed. */
static bool fr_graph_run_next(fr_graph *graph, const fr_drain_limits *limits, uint64_t *ran)
{
    fr_worker *worker = fr_graph_worker_here(graph);
    fr_mutex_lock(&graph->admission);
    fr_op *op = fr_graph_claim_solo(graph, limits);
    fr_lane *lane = op ? NULL : fr_graph_claim_lane(graph, limits);
    fr_mutex_unlock(&graph->admission);
    if (lane)
        *ran += fr_lane_drain(graph, lane, worker, limits);
    else if (op) {
        fr_solo_run(graph, op, worker);
        ++*ran;
    }
    return lane || op;
}

uint64_t fr_graph_run_some(fr_graph *graph, uint64_t max_ops)
{
    fr_drain_limits limits = {.max_ops = max_ops,
                              .deadline_ns = FR_TIMEOUT_INFINITE,
                              .runs_tasks = true,
                              .runs_large = true};
    uint64_t ran = 0;
    (void)fr_pool_look(graph->pool);
    (void)fr_graph_settle(graph);
    do
        while (ran < max_ops && fr_graph_run_next(graph, &limits, &ran))
            limits.max_ops = max_ops - ran;
    while (fr_pool_look(graph->pool) && ran < max_ops);
    (void)fr_graph_settle(graph);
    return ran;
}

/* --- conditions ------------------------------------------------------------------------------- */

typedef struct fr_condition_wait {
    fr_graph *graph;
    const fr_condition *condition;
    uint64_t timeout_ns, deadline_ns;
    bool inside; /* an op */
    bool runs;   /* whatever is runnable */
    bool is_deep;
    fr_drain_limits limits;
    fr_wait_frame frame;
    fr_wait_outcome *outcome;
} fr_condition_wait;

static bool fr_condition_is_ready(const fr_condition_wait *wait)
{
    return wait->condition->ready(wait->condition->user);
}

static void fr_condition_refuse(const fr_condition_wait *wait, const char *why)
{
    fr_wait_outcome *out = wait->outcome;
    const char *what = wait->condition->what ? wait->condition->what : "a condition";
    out->status = OVSTAGE_ERROR_INVALID_ARGUMENT;
    snprintf(out->text, sizeof(out->text),
             "%s cannot be waited for inside operation 0x%" PRIx64 ": %s", what,
             fr_op_known_id(fr_op_running()), why);
}

/* Whether one of this thread's ops holds it back by its place in its lane. */
static bool fr_condition_is_held_back(const fr_condition_wait *wait)
{
    const fr_condition *condition = wait->condition;
    fr_graph *graph = wait->graph;
    if (!condition->is_held_back)
        return false;
    for (const fr_running *running = fr_running_here(); running; running = running->outer) {
        const fr_op *op = running->op;
        if (fr_op_graph(op) != graph || (fr_load_relaxed(&op->word) & FR_OP_SOLO) != 0)
            continue;
        const fr_lane *lane = op->place.in_lane.lane;
        fr_mutex_lock(&graph->admission);
        uint64_t ordinal = lane->ordinal, filter = lane->filter;
        fr_mutex_unlock(&graph->admission);
        if (condition->is_held_back(condition->user, ordinal, filter))
            return true;
    }
    return false;
}

/* True when it will not be ready, as far as this thread can know; the outcome says so. */
static bool fr_condition_is_vain(const fr_condition_wait *wait)
{
    if (!wait->inside)
        return false;
    bool dropping = fr_load_relaxed(&wait->graph->dropping) != 0;
    if (dropping)
        fr_condition_refuse(wait, "the instance is being destroyed");
    else if (fr_condition_is_held_back(wait))
        fr_condition_refuse(wait,
                            "it cannot come before one of the ops of this thread is complete");
    else
        return false;
    return true;
}

/* One thing that brings the condition nearer: what it awaits, or anything runnable. True when the
 * wait is to look again; the outcome is not OK when it has ended. */
static bool fr_condition_step(const fr_condition_wait *wait)
{
    const fr_condition *condition = wait->condition;
    uint64_t id = condition->awaits ? condition->awaits(condition->user) : 0;
    if (id != 0) {
        uint64_t left_ns = wait->timeout_ns == 0 ? 0 : fr_wait_time_left(wait->deadline_ns);
        fr_graph_wait_even_released(wait->graph, id, left_ns, wait->outcome);
        return true;
    }
    if (fr_condition_is_ready(wait) || fr_condition_is_vain(wait))
        return true;
    if (!wait->runs)
        return false;
    uint64_t ran = 0;
    bool again = false;
    while (!wait->is_deep && ran == 0 && fr_graph_run_next(wait->graph, &wait->limits, &ran))
        again = true;
    if (!wait->is_deep)
        return again;
    if (wait->timeout_ns != FR_TIMEOUT_INFINITE)
        return false;
    fr_condition_refuse(wait, "too many ops lie on top of each other on this thread");
    return true;
}

/* Announced. Nothing is there to be done on this thread: may it sleep? */
static bool fr_condition_may_sleep(fr_condition_wait *wait)
{
    if (!wait->inside || !wait->condition->needs_ops)
        return true;
    switch (fr_frame_look_for_progress(&wait->frame)) {
    case FR_CHAIN_CLOSED:
        fr_condition_refuse(wait, "no op can complete before it");
        return false;
    case FR_CHAIN_NO_MEMORY:
        wait->outcome->status = OVSTAGE_ERROR_OUT_OF_MEMORY;
        snprintf(wait->outcome->text, sizeof(wait->outcome->text),
                 "no memory to find out whether %s can ever be", wait->condition->what);
        return false;
    default:
        return true;
    }
}

void fr_graph_sleep(fr_graph *graph, uint32_t seen, uint64_t left_ns)
{
    _Atomic uint32_t *epoch = &graph->waiters.condition_epoch;
    fr_standby standby;
    fr_standby_enter(&standby, graph->pool, epoch);
    uint64_t nap_ns = fr_standby_nap(&standby, graph->pool, left_ns);
    while (!fr_os_current->futex_wait(epoch, seen, nap_ns) && standby.is_looker &&
           left_ns > nap_ns && !fr_pool_look(graph->pool)) {
        left_ns -= left_ns == FR_TIMEOUT_INFINITE ? 0 : nap_ns;
        nap_ns = fr_standby_nap(&standby, graph->pool, left_ns);
    }
    fr_standby_leave(&standby, graph->pool);
}

static void fr_condition_sleep(fr_condition_wait *wait)
{
    fr_waiters *waiters = &wait->graph->waiters;
    (void)fr_add_relaxed(&waiters->condition_waiters, 1);
    uint32_t epoch = fr_load_relaxed(&waiters->condition_epoch);
#ifndef FR_MUTATE_WAIT_NO_ANNOUNCE_FENCE
    /* [condition.announce] pairs [condition.publish] : see there */
    fr_fence_seq_cst();
#endif
    if (!fr_condition_is_ready(wait) && !fr_condition_step(wait) && fr_condition_may_sleep(wait))
        fr_graph_sleep(wait->graph, epoch, fr_wait_time_left(wait->deadline_ns));
    (void)fr_sub_relaxed(&waiters->condition_waiters, 1);
}

static void fr_condition_loop(fr_condition_wait *wait)
{
    fr_wait_outcome *out = wait->outcome;
    bool is_poll = wait->timeout_ns == 0;
    while (!fr_condition_is_ready(wait)) {
        bool again = fr_condition_step(wait);
        again = fr_pool_look(wait->graph->pool) || again;
        again = fr_graph_settle(wait->graph) || again;
        if (out->status == OVSTAGE_OK && !again && !is_poll)
            fr_condition_sleep(wait);
        bool is_late = is_poll || fr_wait_time_left(wait->deadline_ns) == 0;
        if (out->status == OVSTAGE_OK && !is_late)
            continue;
        if (out->status == OVSTAGE_OK || out->status == OVSTAGE_ERROR_TIMEOUT)
            out->status = fr_condition_is_ready(wait) ? OVSTAGE_OK : OVSTAGE_ERROR_TIMEOUT;
        return;
    }
}

static uint32_t fr_running_depth(void)
{
    uint32_t depth = 0;
    for (const fr_running *running = fr_running_here(); running; running = running->outer)
        depth++;
    return depth;
}

void fr_graph_wait_condition(fr_graph *graph, const fr_condition *condition, uint64_t timeout_ns,
                             fr_wait_outcome *out)
{
    out->status = OVSTAGE_OK;
    out->lowest_pending_id = 0;
    out->text[0] = '\0';
    if (condition->ready(condition->user))
        return;
    bool ends = timeout_ns != FR_TIMEOUT_INFINITE, inside = fr_op_running() != NULL;
    fr_condition_wait wait = {
        .graph = graph,
        .condition = condition,
        .timeout_ns = timeout_ns,
        .deadline_ns = fr_wait_deadline(timeout_ns),
        .inside = inside,
        .runs = inside || fr_graph_worker_here(graph) || !fr_graph_has_workers(graph),
        .is_deep = fr_running_depth() >= FR_RUNNING_DEPTH_MAX,
        .limits = {.max_ops = 1,
                   .deadline_ns = FR_TIMEOUT_INFINITE,
                   .runs_tasks = true,
                   .runs_large = !ends || timeout_ns == 0},
        .outcome = out,
    };
    if (!inside) {
        fr_condition_loop(&wait);
        return;
    }
    uint64_t none;
    fr_running_settle();
    wait.frame = (fr_wait_frame){.kind = FR_FRAME_CONDITION,
                                 .ends_by_itself = ends,
                                 .graph = graph,
                                 .running = fr_running_here(),
                                 .condition = condition};
    (void)fr_frame_enter(&wait.frame, &none);
    fr_running_tell();
    fr_condition_loop(&wait);
    fr_running_leave(&wait.frame);
}
