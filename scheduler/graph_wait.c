/* Waiting for ids. */
#include "scheduler/graph_explore.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Flags of awaited ops that are set between two looks of others at admission. */
#define FR_FLAGS_PER_LOCK 64u

/* A thread that spins looks so often for its deadline, and for what others left it to run. */
#define FR_SPIN_SLICE_NS 50000u

typedef struct fr_wait {
    fr_graph *graph;
    const uint64_t *ids;
    size_t count;
    bool any;
    const fr_id_block *near; /* where an id was found last */
    size_t next;             /* all: the first one that has not completed; any: the one that has */
    uint64_t timeout_ns, deadline_ns;
    uint64_t spin_end_ns; /* 0: has not spun yet */
    bool runs;            /* this thread may run ops of the chain */
    fr_worker *worker;
    fr_drain_limits limits;
    fr_explorer explorer;
    fr_wait_frame frame;
    fr_wait_outcome *outcome;
} fr_wait;

static bool fr_id_is_complete(const fr_graph *graph, uint64_t id, const fr_id_block **near)
{
    uint64_t word = fr_op_table_read_near(&graph->table, id, near);
    return (word & FR_ENTRY_STATE_MASK) != FR_ENTRY_PENDING;
}

static bool fr_wait_is_over(fr_wait *wait)
{
    if (!wait->any) {
        while (wait->next < wait->count &&
               fr_id_is_complete(wait->graph, wait->ids[wait->next], &wait->near))
            wait->next++;
        return wait->next == wait->count;
    }
    for (size_t k = 0; k < wait->count; k++) {
        wait->next = k;
        if (fr_id_is_complete(wait->graph, wait->ids[k], &wait->near))
            return true;
    }
    return false;
}

/* What the thread waits for right now. */
static const uint64_t *fr_wait_ids(const fr_wait *wait, size_t *count)
{
    *count = wait->any ? wait->count : 1;
    return wait->any ? wait->ids : &wait->ids[wait->next];
}

uint64_t fr_wait_deadline(uint64_t timeout_ns)
{
    if (timeout_ns == FR_TIMEOUT_INFINITE || timeout_ns == 0)
        return FR_TIMEOUT_INFINITE;
    uint64_t now_ns = fr_os_current->now_ns();
    return now_ns > FR_TIMEOUT_INFINITE - timeout_ns ? FR_TIMEOUT_INFINITE : now_ns + timeout_ns;
}

uint64_t fr_wait_time_left(uint64_t deadline_ns)
{
    if (deadline_ns == FR_TIMEOUT_INFINITE)
        return FR_TIMEOUT_INFINITE;
    uint64_t now_ns = fr_os_current->now_ns();
    return now_ns >= deadline_ns ? 0 : deadline_ns - now_ns;
}

/* --- waits inside ops ------------------------------------------------------------------------- */

/* Enters the edges from the awaited ops to the running ones; false when one closes a cycle. */
static bool fr_wait_begin_inside(fr_wait *wait)
{
    uint64_t id = 0;
    fr_wait_outcome *out = wait->outcome;
    fr_running_settle();
    wait->frame = (fr_wait_frame){.kind = FR_FRAME_OPS,
                                  .ends_by_itself = wait->timeout_ns != FR_TIMEOUT_INFINITE,
                                  .graph = wait->graph,
                                  .running = fr_running_here(),
                                  .ids = wait->ids,
                                  .id_count = wait->count};
    switch (fr_frame_enter(&wait->frame, &id)) {
    case FR_CHAIN_CLOSED:
        out->status = OVSTAGE_ERROR_INVALID_ARGUMENT;
        snprintf(out->text, sizeof(out->text),
                 "operation 0x%" PRIx64 " cannot be waited for inside operation 0x%" PRIx64
                 ": it waits itself for that op",
                 id, fr_op_known_id(fr_op_running()));
        return false;
    case FR_CHAIN_NO_MEMORY:
        out->status = OVSTAGE_ERROR_OUT_OF_MEMORY;
        snprintf(out->text, sizeof(out->text),
                 "no memory to find out whether operation 0x%" PRIx64
                 " waits for operation 0x%" PRIx64 ", inside which it was to be waited for",
                 id, fr_op_known_id(fr_op_running()));
        return false;
    default:
        return true;
    }
}

void fr_running_tell(void)
{
#ifndef FR_MUTATE_WAIT_NO_LOOK_AT_FRAMES
    for (const fr_running *running = fr_running_here(); running; running = running->outer)
        fr_waiters_look_at_conditions(&fr_op_graph(running->op)->waiters);
#endif
}

void fr_running_leave(fr_wait_frame *frame)
{
    fr_frame_leave(frame);
#ifndef FR_MUTATE_FRAME_LEAVES_UNTOLD
    fr_running_tell();
#endif
}

const fr_running *fr_running_offer(void)
{
    fr_running_settle();
    return fr_running_here();
}

void fr_running_join(fr_running_joined *joined, const fr_running *offered)
{
    const fr_running *own = fr_running_here(), *from = offered;
    uint32_t count = 0;
    for (; from && count < FR_RUNNING_JOINED_MAX; from = from->outer)
        joined->copies[count++].op = from->op;
    for (uint32_t k = 0; k < count; k++) {
        joined->copies[k].outer = k + 1 < count ? &joined->copies[k + 1] : own;
        joined->copies[k].drainer = NULL; /* the other thread's own affair */
    }
    joined->before = fr_running_exchange(count > 0 ? joined->copies : own);
}

void fr_running_end_join(const fr_running_joined *joined)
{
    (void)fr_running_exchange(joined->before);
}

/* --- running and sleeping --------------------------------------------------------------------- */

/* Runs something of the chain. False when there is nothing that this thread can run. */
static bool fr_wait_run(fr_wait *wait)
{
    fr_graph *graph = wait->graph;
    fr_explorer *explorer = &wait->explorer;
    size_t count;
    const uint64_t *ids = fr_wait_ids(wait, &count);
    fr_run_context context = {graph, wait->worker,
                              wait->worker ? fr_worker_index(wait->worker) : UINT32_MAX};
    switch (fr_explorer_find(explorer, ids, count)) {
    case FR_FIND_LANE:
        wait->limits.until_id = explorer->id;
        /* Another drainer may have completed the op before the claim; then what is left in the lane
         * is not of this chain. */
#ifndef FR_MUTATE_WAIT_NO_LOOK_AFTER_CLAIM
        if (fr_id_is_complete(graph, explorer->id, &wait->near))
            fr_lane_give_back(graph, explorer->lane, wait->worker);
        else
#endif
            (void)fr_lane_drain(graph, explorer->lane, wait->worker, &wait->limits);
        return true;
    case FR_FIND_SOLO:
        fr_solo_run(graph, explorer->op, wait->worker);
        return true;
    case FR_FIND_SPLIT:
        explorer->helped_id = explorer->op->id;
        explorer->op->type->help(explorer->op, &context);
        fr_op_end_help(graph, explorer->op, wait->worker);
        return true;
    case FR_FIND_NOTHING:
        return true; /* complete: the caller looks */
    default:
        return false;
    }
}

/* One budget for the whole wait: a thread that waits for many ops would otherwise spin through all
 * of them, on a CPU that a worker needs. False: it is used up. Else the wait is to look again: it
 * may be over, or late, or something was left for this thread to run. */
static bool fr_wait_spin(fr_wait *wait)
{
    uint64_t budget_ns = wait->graph->caller_spin_ns;
    if (budget_ns == 0)
        return false;
    uint64_t now_ns = fr_os_current->now_ns();
    if (wait->spin_end_ns == 0)
        wait->spin_end_ns =
            budget_ns > FR_TIMEOUT_INFINITE - now_ns ? FR_TIMEOUT_INFINITE : now_ns + budget_ns;
    uint64_t end_ns = wait->spin_end_ns;
    if (now_ns < end_ns && end_ns - now_ns > FR_SPIN_SLICE_NS)
        end_ns = now_ns + FR_SPIN_SLICE_NS;
    if (end_ns > wait->deadline_ns)
        end_ns = wait->deadline_ns;
    for (; now_ns < end_ns; now_ns = fr_os_current->now_ns()) {
        (void)fr_pool_look(wait->graph->pool);
        for (uint32_t k = 0; k < 16; k++) {
            if (fr_wait_is_over(wait))
                return true;
            fr_os_current->pause();
        }
        fr_os_current->yield(); /* who is waited for may need this CPU */
    }
    return now_ns < wait->spin_end_ns;
}

/* What the thread sleeps for. When workers run the rest, all ids are waited for in one sleep, until
 * the last of them has completed; else this thread may have to run what comes behind the first. */
static const uint64_t *fr_wait_sleep_ids(fr_wait *wait, size_t *count)
{
    const uint64_t *ids = fr_wait_ids(wait, count);
    if (wait->any || fr_op_running() || !fr_graph_has_workers(wait->graph))
        return ids;
    const uint64_t *last = &wait->ids[wait->count - 1];
    while (last > ids && fr_id_is_complete(wait->graph, *last, &wait->near))
        last--;
    return last;
}

/* Enters the waiter first, so that who finds a flag finds the waiter; then sets the flags, some at
 * a time under admission. False when something has changed meanwhile. */
static bool fr_wait_announce(fr_wait *wait, fr_waiter *waiter, bool watches)
{
    fr_graph *graph = wait->graph;
    fr_mutex_lock(&graph->admission);
    const fr_op *held =
        watches ? fr_op_table_pending_op(&graph->table, wait->explorer.held_id) : NULL;
    if (held)
        waiter->place = fr_op_place(held);
    fr_waiters_enter(&graph->waiters, waiter);
    bool sleeps = !watches || fr_explorer_watch(&wait->explorer);
    for (size_t k = 0; k < waiter->id_count && sleeps; k++) {
        sleeps = fr_op_table_flag(&graph->table, waiter->ids[k], FR_ENTRY_WAITERS);
        if (k % FR_FLAGS_PER_LOCK == FR_FLAGS_PER_LOCK - 1) {
            fr_mutex_unlock(&graph->admission);
            fr_mutex_lock(&graph->admission);
        }
    }
    fr_mutex_unlock(&graph->admission);
    return sleeps;
}

/* Or until the deadline. */
static void fr_wait_until_woken(fr_wait *wait, fr_waiter *waiter)
{
    fr_pool *pool = wait->graph->pool;
    fr_standby standby;
    fr_standby_enter(&standby, pool, &waiter->signal);
    for (;;) {
        /* [waiter.signal.read] pairs [waiter.signal], [watch.call] : see there */
        uint32_t seen = fr_load_acquire(&waiter->signal);
        uint64_t left_ns = fr_wait_time_left(wait->deadline_ns);
        if ((seen & FR_WAITER_WOKEN) != 0 || left_ns == 0)
            break;
        uint64_t nap_ns = fr_standby_nap(&standby, pool, left_ns);
        if (!fr_os_current->futex_wait(&waiter->signal, seen, nap_ns) && standby.is_looker &&
            fr_pool_look(pool) && wait->graph->settle)
            break; /* something may be left to this thread */
    }
    fr_standby_leave(&standby, pool);
    /* What was ended by a look may take helpers again. */
    if (fr_pool_is_watching(pool))
        wait->explorer.helped_id = 0;
}

static void fr_wait_sleep(fr_wait *wait, bool watches)
{
    fr_graph *graph = wait->graph;
    fr_waiter waiter = {.place = NULL};
    waiter.ids = fr_wait_sleep_ids(wait, &waiter.id_count);
    if (fr_wait_announce(wait, &waiter, watches)) {
        (void)fr_add_relaxed(&fr_graph_slot_of(graph, wait->worker)->wait_sleeps, 1);
        fr_wait_until_woken(wait, &waiter);
    }
    fr_waiters_leave(&graph->waiters, &waiter);
}

static void fr_wait_time_out(fr_wait *wait)
{
    size_t count;
    const uint64_t *ids = fr_wait_ids(wait, &count);
    uint64_t lowest = fr_graph_lowest_pending(wait->graph, ids, count);
    if (lowest == UINT64_MAX)
        return; /* it has completed just now */
    wait->outcome->status = OVSTAGE_ERROR_TIMEOUT;
    wait->outcome->lowest_pending_id = lowest;
}

static void fr_wait_loop(fr_wait *wait)
{
    bool is_poll = wait->timeout_ns == 0;
    while (!fr_wait_is_over(wait)) {
        bool ran = wait->runs && fr_wait_run(wait);
        ran = fr_pool_look(wait->graph->pool) || ran;
        ran = fr_graph_settle(wait->graph) || ran;
        if (is_poll) {
            if (!fr_wait_is_over(wait))
                fr_wait_time_out(wait);
            return;
        }
        if (fr_wait_time_left(wait->deadline_ns) == 0) {
            if (!fr_wait_is_over(wait))
                fr_wait_time_out(wait);
            return;
        }
        if (ran || fr_wait_spin(wait))
            continue;
        fr_wait_sleep(wait, wait->runs);
    }
}

/* Some ids are pending. */
static void fr_wait_pending(fr_wait *wait)
{
    fr_graph *graph = wait->graph;
    bool is_poll = wait->timeout_ns == 0;
    bool has_workers = fr_graph_has_workers(graph);
    wait->worker = fr_graph_worker_here(graph);
    wait->deadline_ns = fr_wait_deadline(wait->timeout_ns);
    /* Inside an op, or on a worker that helps in somebody's range, the thread runs whatever it
     * can: all workers may be waiting in this way. */
    bool may_be_needed = wait->worker || fr_op_running();
    wait->runs = !has_workers || (!is_poll && (graph->caller_runs || may_be_needed));
    wait->limits =
        (fr_drain_limits){.max_ops = is_poll ? 1 : 0,
                          .deadline_ns = wait->deadline_ns,
                          .runs_tasks = !has_workers || may_be_needed,
                          .runs_large = is_poll || wait->timeout_ns == FR_TIMEOUT_INFINITE};
    fr_explorer_init(&wait->explorer, graph, &wait->limits, !is_poll);
    if (!fr_op_running()) {
        fr_wait_loop(wait);
    } else if (fr_wait_begin_inside(wait)) {
        fr_running_tell();
        fr_wait_loop(wait);
        fr_running_leave(&wait->frame);
    }
    fr_explorer_destroy(&wait->explorer);
}

static void fr_wait_known(fr_graph *graph, const uint64_t *ids, size_t count, bool any,
                          uint64_t timeout_ns, size_t *out_index, fr_wait_outcome *out)
{
    out->status = OVSTAGE_OK;
    out->lowest_pending_id = 0;
    out->text[0] = '\0';
    fr_wait wait;
    wait.graph = graph;
    wait.ids = ids;
    wait.count = count;
    wait.any = any && count > 0;
    wait.near = NULL;
    wait.next = 0;
    wait.spin_end_ns = 0;
    wait.timeout_ns = timeout_ns;
    wait.outcome = out;
    if (!fr_wait_is_over(&wait))
        fr_wait_pending(&wait);
    if (out_index)
        *out_index = wait.next;
}

void fr_graph_wait_many(fr_graph *graph, const uint64_t *ids, size_t count, bool any,
                        uint64_t timeout_ns, size_t *out_index, fr_wait_outcome *out)
{
    const fr_id_block *near = NULL;
    for (size_t k = 0; k < count; k++) {
        uint64_t word = fr_op_table_read_near(&graph->table, ids[k], &near);
        if (fr_op_state_of_entry(word) != FR_OP_UNKNOWN)
            continue;
        out->status = OVSTAGE_ERROR_INVALID_HANDLE;
        out->lowest_pending_id = 0;
        snprintf(out->text, sizeof(out->text),
                 "operation 0x%" PRIx64 " is unknown to this instance, or was released", ids[k]);
        return;
    }
    fr_wait_known(graph, ids, count, any, timeout_ns, out_index, out);
}

void fr_graph_wait_even_released(fr_graph *graph, uint64_t id, uint64_t timeout_ns,
                                 fr_wait_outcome *out)
{
    fr_wait_known(graph, &id, 1, false, timeout_ns, NULL, out);
}

void fr_graph_wait(fr_graph *graph, uint64_t id, uint64_t timeout_ns, fr_wait_outcome *out)
{
    if ((fr_op_table_read(&graph->table, id) & FR_ENTRY_STATE_MASK) < FR_ENTRY_DONE) {
        fr_graph_wait_many(graph, &id, 1, false, timeout_ns, NULL, out);
        return;
    }
    out->status = OVSTAGE_OK;
    out->lowest_pending_id = 0;
    out->text[0] = '\0';
}
