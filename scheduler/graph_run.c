/* Running ops: drainers, tokens, completion. */
#include "scheduler/graph_internal.h"
#include "scheduler/sieve.h"

typedef struct fr_drainer fr_drainer;

static _Thread_local const fr_running *fr_running_top __attribute__((tls_model("initial-exec")));

const fr_running *fr_running_here(void)
{
    return fr_running_top;
}

fr_op *fr_op_running(void)
{
    return fr_running_top ? fr_running_top->op : NULL;
}

const fr_running *fr_running_exchange(const fr_running *top)
{
    const fr_running *before = fr_running_top;
    fr_running_top = top;
    return before;
}

void fr_graph_look_at_conditions(fr_graph *graph)
{
    fr_waiters_look_at_conditions(&graph->waiters);
}

void fr_graph_push(fr_graph *graph, fr_runnable *token)
{
    if (!fr_graph_has_workers(graph))
        (void)fr_pool_start(graph->pool); /* without threads, waits run the ops */
    fr_pool_push(graph->pool, token);
    fr_waiters_look_after_fence(&graph->waiters); /* the push fences before it looks for sleepers */
}

/* --- one op ----------------------------------------------------------------------------------- */

static uint32_t fr_context_index(const fr_worker *worker)
{
    return worker ? fr_worker_index(worker) : UINT32_MAX;
}

static fr_run_result fr_op_call(fr_graph *graph, fr_op *op, fr_worker *worker)
{
    fr_run_context context = {graph, worker, fr_context_index(worker)};
    /* [trace.read] pairs [trace.set] : the function's user */
    const fr_graph_trace *trace = fr_load_acquire(&graph->trace);
    if (!trace)
        return op->type->run(op, &context);
    uint64_t start_ns = fr_os_current->now_ns();
    fr_run_result result = op->type->run(op, &context);
    /* A split op is not complete before this thread has set it aside. */
    if (result != FR_RUN_PARKED)
        trace->function(trace->user, op, op->type->name, context.worker_index, start_ns,
                        fr_os_current->now_ns());
    return result;
}

/* Runs the op, unless a producer that it needs has failed or the graph is going away. */
static fr_run_result fr_op_run(fr_graph *graph, fr_op *op, fr_worker *worker, fr_drainer *drainer)
{
    uint64_t word = fr_load_relaxed(&op->word);
    if (fr_load_relaxed(&graph->dropping) != 0) {
        fr_op_drop_failed(op, "dropped: the instance was destroyed before the operation ran");
        if ((word & (FR_OP_REPORTED | FR_OP_HIDDEN)) == 0) /* else its report counts */
            (void)fr_add_relaxed(&graph->dropped, 1);
        return FR_RUN_DONE;
    }
    if ((word & (FR_OP_HAS_FAILED | FR_OP_REPORT)) == FR_OP_HAS_FAILED) {
        fr_op_tell_cause(op);
        return FR_RUN_DONE;
    }
    const fr_running running = {op, fr_running_top, drainer};
    fr_running_top = &running;
    fr_run_result result = fr_op_call(graph, op, worker);
    fr_running_top = running.outer;
    return result;
}

bool fr_op_count_down(fr_graph *graph, fr_op *op, uint64_t n)
{
    uint64_t word = fr_load_relaxed(&op->word);
    uint64_t after;
    do {
        after = word - n;
        if ((after & FR_OP_DEPS_MASK) == 0) {
            after &= ~FR_OP_WAITERS;
            if ((word & FR_OP_SOLO) != 0)
                after |= FR_OP_TOKEN;
        }
        /* [op.count_down] pairs [op.deps.read], [op.claim], [op.token], [op.announce],
         * [explore.op], [op.leave_parked] : who runs the op comes after its producers */
    } while (!fr_cas_acq_rel(&op->word, &word, after));
    if ((after & FR_OP_DEPS_MASK) != 0)
        return false;
    if ((word & FR_OP_WAITERS) != 0)
        fr_waiters_wake_place(&graph->waiters, op);
#ifdef FR_MUTATE_PARK_PUSHES_TWICE
    word &= ~FR_OP_TOKEN;
#endif
    if ((word & FR_OP_SOLO) != 0 && (word & FR_OP_TOKEN) == 0)
        return true;
    if ((word & FR_OP_SOLO) != 0) { /* of a parked one it may be out still: who takes it runs it */
        fr_waiters_look_at_conditions(&graph->waiters);
        return false;
    }
    /* Only a drainer that blocked for this op has taken its own share away. */
    fr_lane *lane = op->place.in_lane.lane;
    uint64_t before = fr_lane_unblock(lane);
    if ((before & FR_LANE_WAITERS) != 0)
        fr_waiters_wake_place(&graph->waiters, lane);
    if ((before & FR_LANE_TOKEN) == 0)
        fr_graph_push(graph, &lane->token);
#ifndef FR_MUTATE_UNBLOCK_TELLS_NOBODY
    else
        fr_waiters_look_at_conditions(&graph->waiters); /* it may lie with one of them */
#endif
    return false;
}

/* Counts the users of a completed op down. */
static void fr_op_tell_users(fr_graph *graph, fr_op *op, bool failed)
{
    fr_edge *edge = fr_edge_take_users(op);
    while (edge) {
        fr_edge *next = edge->next; /* the consumer may lend its edges on once it is counted down */
        fr_op *consumer = fr_edge_consumer(edge);
        if (failed && (edge->consumer & FR_EDGE_FLAGS) != 0)
            fr_op_pass_failure(op, edge);
        if (fr_op_count_down(graph, consumer, 1))
            fr_graph_push(graph, &consumer->place.token);
        edge = next;
    }
}

/* Reports the op complete. Its record stays as it is until it is retired. */
static void fr_op_complete(fr_graph *graph, fr_op *op, fr_graph_slot *slot, fr_drainer *drainer)
{
    if (op->type->drop) {
        const fr_running running = {op, fr_running_top, drainer};
        fr_running_top = &running;
        op->type->drop(op);
        fr_running_top = running.outer;
    }
    uint64_t id = op->id;
    bool failed = fr_op_has_failed(op);
    uint64_t value = failed ? fr_load_relaxed(&op->failure) : fr_op_table_done(id);
    uint64_t entry = fr_op_table_complete(&graph->table, op->table.entry, id, value);
    if ((entry & FR_ENTRY_WAITERS) != 0)
        fr_waiters_wake_id(&graph->waiters, id);
    uint64_t word = fr_load_relaxed(&op->word);
    bool reported = (word & FR_OP_REPORTED) != 0, hidden = (word & FR_OP_HIDDEN) != 0;
    if (reported || hidden)
        (void)fr_add_relaxed(&slot->reported, 1);
    if (failed && !reported) { /* else as its report */
        (void)fr_add_relaxed(&slot->failed, !hidden);
        if ((entry & FR_ENTRY_RELEASED) != 0)
            fr_failure_release(&graph->allocator, value);
    }
    fr_op_tell_users(graph, op, failed);
}

static void fr_graph_count_completed(fr_graph *graph, fr_graph_slot *slot, bool by_worker,
                                     uint64_t n)
{
    _Atomic uint64_t *counter =
        by_worker ? &slot->completed_by_workers : &slot->completed_by_waiters;
    if (slot == &graph->slots[FR_GRAPH_SLOT_SHARED])
        /* [completed.add_shared] pairs [completed.workers], [completed.waiters] : as completed.add
         */
        (void)fr_add_release(counter, n);
    else
        /* [completed.add] pairs [completed.workers], [completed.waiters] : destroy comes after them
         */
        fr_store_release(counter, fr_load_relaxed(counter) + n);
}

/* Completed ops, linked by table.next_free. */
typedef struct fr_done {
    fr_op *first, *last;
    uint32_t count;
} fr_done;

/* Their records are nobody's any more. Those of a worker go back some at a time; what it keeps of
 * them waits for its next ones. */
static void fr_done_retire(fr_graph *graph, fr_graph_slot *slot, fr_done done, bool is_plain)
{
    if (!is_plain || done.count >= FR_DONE_BATCH || slot == &graph->slots[FR_GRAPH_SLOT_SHARED]) {
        fr_records_retire(&graph->records, done.first, is_plain);
        return;
    }
    done.last->table.next_free = slot->done;
    slot->done = done.first;
    slot->done_count += done.count;
    if (slot->done_count < FR_DONE_BATCH)
        return;
    fr_records_retire(&graph->records, slot->done, true);
    slot->done = NULL;
    slot->done_count = 0;
}

/* --- drainers --------------------------------------------------------------------------------- */

typedef enum fr_drain_stop {
    FR_DRAIN_BATCH_END, /* as many as the count showed, or a batch */
    FR_DRAIN_ENOUGH,    /* a limit, or an op that this thread does not run */
    FR_DRAIN_EDGES,     /* the next op has edges left */
    FR_DRAIN_SPLIT,     /* the op goes on by itself */
} fr_drain_stop;

struct fr_drainer {
    fr_graph *graph;
    fr_lane *lane;
    fr_worker *worker;
    fr_graph_slot *slot;
    const fr_drain_limits *limits;
    fr_op *op;           /* the next one */
    fr_done done;        /* completed, not yet counted out */
    uint64_t words;      /* of those, joined */
    uint32_t until_look; /* ops before the clock is looked at again */
    uint64_t total;
    uint64_t start_ns; /* 0: not yet asked */
};

bool fr_drain_may_run(const fr_drain_limits *limits, const fr_op *op)
{
    if (op->type->is_task && !limits->runs_tasks)
        return false;
    return limits->runs_large || (fr_load_relaxed(&op->word) & FR_OP_LARGE) == 0;
}

/* True when the drainer must not go on to another op. */
static bool fr_drain_has_enough(fr_drainer *drainer, uint64_t id)
{
    const fr_drain_limits *limits = drainer->limits;
    uint64_t total = drainer->total + drainer->done.count;
    if (id == limits->until_id || (limits->max_ops != 0 && total >= limits->max_ops))
        return true;
    if (limits->deadline_ns != FR_TIMEOUT_INFINITE &&
        fr_os_current->now_ns() >= limits->deadline_ns)
        return true;
    if (!limits->gives_back || --drainer->until_look > 0 ||
        !fr_worker_has_other_work(drainer->worker))
        return false;
    if (total >= FR_DRAIN_OPS_MAX)
        return true;
    uint64_t now_ns = fr_os_current->now_ns();
    if (drainer->start_ns == 0)
        drainer->start_ns = now_ns;
    /* Long ops: look after each. */
    uint64_t elapsed_ns = now_ns - drainer->start_ns;
    drainer->until_look = elapsed_ns > FR_DRAIN_NS_MAX / 8 ? 1 : 8;
    return elapsed_ns >= FR_DRAIN_NS_MAX;
}

static fr_drain_stop fr_drain_batch(fr_drainer *drainer, uint32_t count)
{
    fr_op *next;
    for (fr_op *op = drainer->op; op; op = next, count--) {
        /* [op.deps.read] pairs [op.count_down] : the op runs after its producers */
        uint64_t word = fr_load_acquire(&op->word);
        if ((word & FR_OP_DEPS_MASK) > 1) {
            drainer->op = op;
            return FR_DRAIN_EDGES;
        }
        if (!fr_drain_may_run(drainer->limits, op))
            return FR_DRAIN_ENOUGH;
        next =
            count > 1 ? fr_load_relaxed(&op->place.in_lane.next) : NULL; /* came with the count */
        if (next)
            fr_op_prefetch(next);
        if (count > FR_DRAIN_FEW)
            fr_op_prefetch_behind(next);
        uint64_t id = op->id;
        bool is_long = op->type->is_task || (word & FR_OP_LARGE) != 0;
        fr_run_result result = fr_op_run(drainer->graph, op, drainer->worker, drainer);
        if (result == FR_RUN_SPLIT) {
            drainer->op = op;
            return FR_DRAIN_SPLIT;
        }
        if (result == FR_RUN_PARKED) { /* it has an edge, or had one that is over by now */
            next = op;
            count++;
            continue;
        }
        fr_op_complete(drainer->graph, op, drainer->slot, drainer);
        op->table.next_free = NULL;
        fr_done *done = &drainer->done;
        *(done->count > 0 ? &done->last->table.next_free : &done->first) = op;
        done->last = op;
        done->count++;
        drainer->words |= word;
        if (fr_drain_has_enough(drainer, id))
            return FR_DRAIN_ENOUGH;
        /* What may have taken long is counted out at once: who waits for a condition looks then. */
        if (is_long)
            break;
    }
    return FR_DRAIN_BATCH_END;
}

/* Counts out what was done. Returns the lane's word. */
static uint64_t fr_drain_settle(fr_drainer *drainer, fr_lane_settle_mode mode)
{
    fr_graph *graph = drainer->graph;
    fr_lane *lane = drainer->lane;
    uint32_t done = drainer->done.count;
    fr_lane_settlement settlement = fr_lane_settle(lane, done, drainer->done.last, mode);
    uint64_t word = settlement.word;
    bool left = (word & FR_LANE_DRAINER) == 0;
    bool has_ops = fr_lane_count(word) > 0;
    uint64_t set = word & ~settlement.before;
    if (done > 0) {
        fr_done_retire(graph, drainer->slot, drainer->done,
                       (drainer->words & FR_OP_HAS_EDGES) == 0);
        drainer->words = 0;
        fr_graph_count_completed(graph, drainer->slot, drainer->worker != NULL, done);
        drainer->total += done;
        drainer->done.count = 0;
        fr_waiters_look_at_conditions(&graph->waiters);
    }
    if (!left)
        return word;
#ifndef FR_MUTATE_WAIT_NO_LOOK_AT_BLOCKED
    if (done == 0 && mode == FR_LANE_BLOCK)
        fr_waiters_look_at_conditions(&graph->waiters); /* it looked as if it would run */
#endif
#ifndef FR_MUTATE_LANE_NO_HAND_OVER_WAKE
    if ((settlement.before & FR_LANE_WAITERS) != 0)
        fr_waiters_wake_place(&graph->waiters, lane);
#endif
    if ((set & FR_LANE_RETIRED) != 0)
        fr_lane_map_retire(&graph->lanes, lane);
    if (has_ops && mode != FR_LANE_BLOCK) {
        (void)fr_add_relaxed(&drainer->slot->hand_overs, 1);
        if ((set & FR_LANE_TOKEN) == 0)
            fr_waiters_look_at_conditions(&graph->waiters);
        else if (drainer->limits->gives_back && drainer->worker)
            fr_pool_give_back(graph->pool, &lane->token);
        else
            fr_graph_push(graph, &lane->token);
    }
    return word;
}

void fr_running_settle(void)
{
    for (const fr_running *running = fr_running_top; running; running = running->outer)
        if (running->drainer && running->drainer->done.count > 0)
            (void)fr_drain_settle(running->drainer, FR_LANE_STAY);
}

/* The lane's first op has split: whoever finishes it goes on with the lane. True when it has
 * finished already, and this thread does. */
static bool fr_drain_set_aside(fr_drainer *drainer)
{
    fr_op *op = drainer->op;
    (void)fr_drain_settle(drainer, FR_LANE_STAY);
    /* [op.settle] pairs [op.end], [op.help], [explain.split] : who finishes it finds the lane as it
     * must be */
    return (fr_or_acq_rel(&op->word, FR_OP_SETTLED) & FR_OP_ENDED) != 0;
}

static void fr_drain_complete_split(fr_drainer *drainer, fr_op *op)
{
    fr_op_complete(drainer->graph, op, drainer->slot, drainer);
    op->table.next_free = NULL;
    drainer->done = (fr_done){op, op, 1};
    drainer->words = fr_load_relaxed(&op->word);
}

/* Few ops are left, or none, and who submits them is about as fast: taking each op as it comes
 * would cost both sides more in lines that go to and fro than the op itself. So some may gather.
 * Not in a lane that has had one op: most of those get no other. */
static void fr_drain_linger(const fr_drainer *drainer)
{
    uint32_t looks = 0;
    do {
        for (uint32_t k = 0; k < FR_DRAIN_LINGER_PAUSES; k++)
            fr_os_current->pause();
    } while (++looks < FR_DRAIN_LINGER_LOOKS &&
             fr_lane_count(fr_load_relaxed(&drainer->lane->word)) == 0 &&
             !fr_worker_has_other_work(drainer->worker));
}

/* Counts out what was done, and goes on or leaves. Returns the lane's word. */
static uint64_t fr_drain_go_on(fr_drainer *drainer, fr_lane_settle_mode mode)
{
    if (mode == FR_LANE_GO_ON && drainer->done.count > 0 && drainer->limits->gives_back &&
        !fr_worker_has_other_work(drainer->worker) &&
        fr_lane_count(fr_drain_settle(drainer, FR_LANE_STAY)) < FR_DRAIN_FEW && drainer->total > 1)
        fr_drain_linger(drainer);
    return fr_drain_settle(drainer, mode);
}

/* Drains until it leaves. done ops of the drainer are counted out first. */
static uint64_t fr_drain_loop(fr_drainer *drainer)
{
    fr_lane *lane = drainer->lane;
    fr_drain_stop stop = FR_DRAIN_BATCH_END;
    for (;;) {
        fr_lane_settle_mode mode = stop == FR_DRAIN_ENOUGH ? FR_LANE_LEAVE : FR_LANE_GO_ON;
        if (stop == FR_DRAIN_EDGES) {
            fr_op *op = drainer->op;
            (void)fr_drain_settle(drainer, FR_LANE_BLOCK);
            (void)fr_op_count_down(drainer->graph, op,
                                   1); /* its own share: from here zero unblocks the lane */
            return drainer->total;
        }
        uint64_t word = fr_drain_go_on(drainer, mode);
        if ((word & FR_LANE_DRAINER) == 0)
            return drainer->total;
        uint32_t count = fr_lane_count(word);
        drainer->op = fr_load_relaxed(&lane->first);
        stop = fr_drain_batch(drainer, count < FR_DRAIN_BATCH ? count : FR_DRAIN_BATCH);
        if (stop == FR_DRAIN_SPLIT) {
            if (!fr_drain_set_aside(drainer))
                return drainer->total;
            uint64_t id = drainer->op->id;
            fr_drain_complete_split(drainer, drainer->op);
            stop = fr_drain_has_enough(drainer, id) ? FR_DRAIN_ENOUGH : FR_DRAIN_BATCH_END;
        }
    }
}

uint64_t fr_lane_drain(fr_graph *graph, fr_lane *lane, fr_worker *worker,
                       const fr_drain_limits *limits)
{
    fr_drainer drainer = {.graph = graph,
                          .lane = lane,
                          .worker = worker,
                          .slot = fr_graph_slot_of(graph, worker),
                          .limits = limits,
                          .until_look = 8};
    return fr_drain_loop(&drainer);
}

void fr_lane_give_back(fr_graph *graph, fr_lane *lane, fr_worker *worker)
{
    static const fr_drain_limits limits = {.deadline_ns = FR_TIMEOUT_INFINITE};
    fr_drainer drainer = {.graph = graph,
                          .lane = lane,
                          .worker = worker,
                          .slot = fr_graph_slot_of(graph, worker),
                          .limits = &limits};
    (void)fr_drain_settle(&drainer, FR_LANE_LEAVE);
}

/* --- solo ops --------------------------------------------------------------------------------- */

void fr_solo_retire(fr_graph *graph, fr_op *op, fr_graph_slot *slot)
{
    op->table.next_free = NULL;
    fr_done_retire(graph, slot, (fr_done){op, op, 1},
                   (fr_load_relaxed(&op->word) & FR_OP_HAS_EDGES) == 0);
}

static void fr_solo_complete(fr_graph *graph, fr_op *op, fr_worker *worker)
{
    fr_graph_slot *slot = fr_graph_slot_of(graph, worker);
    fr_op_complete(graph, op, slot, NULL);
    uint64_t word = fr_load_relaxed(&op->word);
    /* [op.finish] pairs [op.token], [op.announce], [room.op] : who lets the record go comes after
     * this */
    while (!fr_cas_acq_rel(&op->word, &word, (word | FR_OP_FINISHED) & ~FR_OP_WAITERS)) {
    }
    if ((word & FR_OP_WAITERS) != 0)
        fr_waiters_wake_place(&graph->waiters, op);
    if ((word & FR_OP_TOKEN) == 0)
        fr_solo_retire(graph, op, slot);
    else
        (void)fr_add_relaxed(&graph->stale_tokens, 1);
    if ((word & (FR_OP_REPORT | FR_OP_HIDDEN)) != 0)
        (void)fr_add_relaxed(worker ? &slot->reports_by_workers : &slot->reports_by_waiters, 1);
    fr_graph_count_completed(graph, slot, worker != NULL, 1);
    fr_waiters_look_at_conditions(&graph->waiters);
}

bool fr_solo_claim(fr_op *op)
{
    uint64_t word = fr_load_relaxed(&op->word);
    do {
        if ((word & FR_OP_CLAIMED) != 0 || (word & FR_OP_DEPS_MASK) > 0)
            return false;
        /* [op.claim] pairs [op.count_down], [op.leave_parked] : the op runs after its producers,
         * and after who has run it before it parked */
    } while (!fr_cas_acquire(&op->word, &word, word | FR_OP_CLAIMED));
    return true;
}

void fr_solo_run(fr_graph *graph, fr_op *op, fr_worker *worker)
{
    fr_run_result result;
    do
        result = fr_op_run(graph, op, worker, NULL);
    while (result == FR_RUN_PARKED && fr_solo_is_resumed(op));
    if (result == FR_RUN_PARKED)
        return;
    if (result == FR_RUN_SPLIT) {
        /* [op.settle_solo] pairs [op.end], [op.help], [explore.op], [explain.split] : as op.settle
         */
        if ((fr_or_acq_rel(&op->word, FR_OP_SETTLED) & FR_OP_ENDED) == 0)
            return;
    }
    fr_solo_complete(graph, op, worker);
}

/* --- split ops -------------------------------------------------------------------------------- */

/* The op is over, and this thread has the right to complete it. */
static void fr_split_complete(fr_graph *graph, fr_op *op, fr_worker *worker)
{
    if ((fr_load_relaxed(&op->word) & FR_OP_SOLO) != 0) {
        fr_solo_complete(graph, op, worker);
        return;
    }
    /* A thread that waits hands the rest of the lane on: it may not be of its chain. */
    fr_drain_limits limits = {.until_id = worker ? 0 : op->id,
                              .deadline_ns = FR_TIMEOUT_INFINITE,
                              .gives_back = worker != NULL,
                              .runs_tasks = true,
                              .runs_large = true};
    fr_drainer drainer = {.graph = graph,
                          .lane = op->place.in_lane.lane,
                          .worker = worker,
                          .slot = fr_graph_slot_of(graph, worker),
                          .limits = &limits,
                          .until_look = 8};
    fr_drain_complete_split(&drainer, op);
    if (worker)
        (void)fr_drain_loop(&drainer);
    else
        (void)fr_drain_settle(&drainer, FR_LANE_LEAVE);
}

void fr_graph_op_finish(fr_graph *graph, fr_op *op, fr_worker *worker)
{
    if (worker && fr_worker_pool(worker) != graph->pool)
        worker = NULL;
    fr_graph_slot *slot = fr_graph_enter(graph, worker);
    /* [op.end] pairs [op.settle], [op.settle_solo], [op.end_help] : what the op did is seen by who
     * completes it */
    uint64_t word = fr_or_acq_rel(&op->word, FR_OP_ENDED);
    if ((word & FR_OP_SETTLED) != 0 && (word & FR_OP_HELPERS_MASK) == 0)
        fr_split_complete(graph, op, worker);
    fr_graph_leave(graph, slot);
}

void fr_op_end_help(fr_graph *graph, fr_op *op, fr_worker *worker)
{
    /* [op.end_help] pairs [op.end] : as op.end */
    uint64_t word = fr_sub_acq_rel(&op->word, FR_OP_HELPER_ONE);
    if ((word & FR_OP_ENDED) != 0 && (word & FR_OP_HELPERS_MASK) == FR_OP_HELPER_ONE)
        fr_split_complete(graph, op, worker);
}
