#include "scheduler/graph_internal.h"
#include "scheduler/sieve.h"

#include <string.h>

fr_graph_slot *fr_graph_enter(fr_graph *graph, const fr_worker *worker)
{
    fr_graph_slot *slot = fr_graph_slot_of(graph, worker);
    /* Relaxed: seen by destroy with the token's or the op's end. */
    if (slot == &graph->slots[FR_GRAPH_SLOT_SHARED])
        (void)fr_add_relaxed(&slot->inside, 1);
    else
        fr_store_relaxed(&slot->inside, fr_load_relaxed(&slot->inside) + 1);
    return slot;
}

void fr_graph_leave(fr_graph *graph, fr_graph_slot *slot)
{
    if (slot == &graph->slots[FR_GRAPH_SLOT_SHARED])
        /* [inside.leave_shared] pairs [inside.read] : as inside.leave */
        (void)fr_sub_release(&slot->inside, 1);
    else
        /* [inside.leave] pairs [inside.read] : destroy comes after all that the thread did here */
        fr_store_release(&slot->inside, fr_load_relaxed(&slot->inside) - 1);
}

fr_graph *fr_graph_create(const fr_graph_config *config)
{
    fr_graph *graph =
        fr_memory_allocate_zero(config->allocator, sizeof(*graph), FR_CACHE_LINE_BYTES);
    if (!graph)
        return NULL;
    graph->pool = config->pool;
    graph->allocator = *config->allocator;
    graph->op_limit = config->op_limit;
    graph->caller_spin_ns = config->caller_spin_ns;
    graph->caller_runs = config->caller_runs;
    fr_store_relaxed(&graph->next_sequence, 1);
    fr_lane_map_init(&graph->lanes);
    fr_graph_set_trace(graph, config->trace, config->trace_user);
    graph->failed = config->failed;
    graph->failed_user = config->failed_user;
    graph->settle = config->settle;
    graph->settle_user = config->settle_user;
    if (!fr_op_table_init(&graph->table, &graph->allocator, config->id_prefix) ||
        !fr_op_table_prepare(&graph->table, 1)) {
        fr_op_table_destroy(&graph->table);
        fr_memory_release(config->allocator, graph, sizeof(*graph));
        return NULL;
    }
    return graph;
}

/* --- destroy ---------------------------------------------------------------------------------- */

static bool fr_lane_has_token(const fr_lane *lane)
{
    /* [destroy.lane] pairs [lane.token] : the thread that took the token is counted as inside */
    return (fr_load_acquire(&lane->word) & FR_LANE_TOKEN) != 0;
}

static bool fr_graph_has_no_tokens_out(const fr_graph *graph)
{
    if (fr_lane_map_any(&graph->lanes, fr_lane_has_token))
        return false;
    for (const fr_op *op = graph->records.solo_first; op; op = op->solo_next)
        /* [destroy.op] pairs [op.token] : as destroy.lane */
        if ((fr_load_acquire(&op->word) & FR_OP_TOKEN) != 0)
            return false;
    return true;
}

static bool fr_graph_has_threads_inside(const fr_graph *graph)
{
    for (uint32_t k = 0; k < FR_GRAPH_SLOTS; k++)
        /* [inside.read] pairs [inside.leave], [inside.leave_shared] : see there */
        if (fr_load_acquire(&graph->slots[k].inside) != 0)
            return true;
    return false;
}

/* Also of what clients do not count. */
static bool fr_graph_is_done(const fr_graph *graph)
{
    uint64_t completed = fr_graph_completed(graph); /* read first, as below */
    return fr_load_relaxed(&graph->accepted) == completed;
}

/* Ops that wait for conditions inside see that these will not be; all others end as they do. What
 * becomes runnable meanwhile is dropped here: all workers may be busy, this one among them. */
static void fr_graph_finish_ops(fr_graph *graph)
{
    fr_waiters *waiters = &graph->waiters;
    fr_mutex_lock(&graph->admission);
    fr_store_relaxed(&graph->dropping, 1);
    fr_mutex_unlock(&graph->admission);
    fr_waiters_look_at_conditions(waiters);
    fr_running_settle();
    fr_running_tell();
    while (!fr_graph_is_done(graph)) {
        if (fr_graph_run_some(graph, UINT64_MAX) > 0)
            continue;
        (void)fr_add_relaxed(&waiters->condition_waiters, 1);
        uint32_t epoch = fr_load_relaxed(&waiters->condition_epoch);
        /* [destroy.announce] pairs [condition.publish] : as condition.announce */
        fr_fence_seq_cst();
        if (!fr_graph_is_done(graph) && fr_graph_run_some(graph, UINT64_MAX) == 0)
            fr_graph_sleep(graph, epoch, FR_TIMEOUT_INFINITE);
        (void)fr_sub_relaxed(&waiters->condition_waiters, 1);
    }
}

/* Tokens without work lie in deques, also in those of workers that are busy for long with ops of
 * other graphs: they are taken from there. What a thread has in its hands it looks at soon. */
static void fr_graph_take_tokens_back(fr_graph *graph)
{
    while (!fr_graph_has_no_tokens_out(graph)) {
        (void)fr_sieve_pool(graph->pool);
        fr_os_current->yield();
    }
    while (fr_graph_has_threads_inside(graph))
        fr_os_current->yield();
}

void fr_graph_take_stale_tokens(fr_graph *graph)
{
    /* Below 0: an op's token was taken before it was counted. */
    if ((int64_t)fr_load_relaxed(&graph->stale_tokens) <= FR_STALE_TOKENS_MAX)
        return;
    /* A worker, or a thread that is lent, takes tokens anyway. */
    if (fr_worker_current() || fr_exchange_relaxed(&graph->is_sieved, 1) != 0)
        return;
    (void)fr_sieve_pool(graph->pool);
    fr_store_relaxed(&graph->is_sieved, 0);
}

bool fr_graph_destroy_begin(fr_graph *graph)
{
    uint64_t none;
    graph->drop_frame =
        (fr_wait_frame){.kind = FR_FRAME_DROP, .graph = graph, .running = fr_running_here()};
    graph->has_drop_frame =
        fr_op_running() && fr_frame_enter(&graph->drop_frame, &none) == FR_CHAIN_OPEN;
    return graph->has_drop_frame || !fr_op_running();
}

uint64_t fr_graph_destroy(fr_graph *graph)
{
    fr_graph_finish_ops(graph);
    fr_graph_take_tokens_back(graph);
    if (graph->has_drop_frame)
        fr_running_leave(&graph->drop_frame);
    uint64_t dropped = fr_load_relaxed(&graph->dropped);
    fr_allocator allocator = graph->allocator;
    fr_op_table_destroy(&graph->table);
    fr_records_destroy(&graph->records, &allocator);
    fr_lane_map_destroy(&graph->lanes, &allocator);
    fr_edge_pool_destroy(&graph->edges, &allocator);
    fr_ledger_destroy(&graph->ledger, &allocator);
    fr_memory_release(&allocator, graph, sizeof(*graph));
    return dropped;
}

/* --- counters --------------------------------------------------------------------------------- */

uint64_t fr_graph_completed(const fr_graph *graph)
{
    uint64_t completed = 0;
    for (uint32_t k = 0; k < FR_GRAPH_SLOTS; k++) {
        /* [completed.workers] pairs [completed.add], [completed.add_shared] : see there */
        completed += fr_load_acquire(&graph->slots[k].completed_by_workers);
        /* [completed.waiters] pairs [completed.add], [completed.add_shared] : see there */
        completed += fr_load_acquire(&graph->slots[k].completed_by_waiters);
    }
    return completed;
}

uint64_t fr_graph_completed_for_clients(const fr_graph *graph)
{
    /* Read first: an op is counted as reported before it is as completed. */
    uint64_t completed = fr_graph_completed(graph), reported = 0;
    for (uint32_t k = 0; k < FR_GRAPH_SLOTS; k++)
        reported += fr_load_relaxed(&graph->slots[k].reported);
    return completed > reported ? completed - reported : 0;
}

bool fr_graph_is_ending(const fr_graph *graph)
{
    return fr_load_relaxed(&graph->dropping) != 0;
}

uint64_t fr_graph_pending_count(const fr_graph *graph)
{
    /* Read first: what is accepted meanwhile counts as pending. */
    uint64_t completed = fr_graph_completed_for_clients(graph);
    /* [reports_made.read] pairs [reports_made.add] : what has them is accepted */
    uint64_t reports = fr_load_acquire(&graph->reports_made);
    return fr_load_relaxed(&graph->accepted) - reports - completed;
}

/* Under admission. An op that runs may still hold a pointer to a hook that was set long ago: one
 * that is set again stays where it is, unwritten. Else two in turn. */
static const fr_graph_trace *fr_graph_trace_place(fr_graph *graph,
                                                  void (*trace)(void *, const fr_op *, const char *,
                                                                uint32_t, uint64_t, uint64_t),
                                                  void *user)
{
    for (uint32_t k = 0; k < 2; k++)
        if (graph->traces[k].function == trace && graph->traces[k].user == user)
            return &graph->traces[k];
    fr_graph_trace *place = &graph->traces[graph->trace_next];
    graph->trace_next = 1 - graph->trace_next;
    *place = (fr_graph_trace){trace, user};
    return place;
}

void fr_graph_set_trace(fr_graph *graph,
                        void (*trace)(void *, const fr_op *, const char *, uint32_t, uint64_t,
                                      uint64_t),
                        void *user)
{
    fr_mutex_lock(&graph->admission);
    const fr_graph_trace *next = trace ? fr_graph_trace_place(graph, trace, user) : NULL;
    /* [trace.set] pairs [trace.read] : see there */
    fr_store_release(&graph->trace, next);
    fr_mutex_unlock(&graph->admission);
}

/* A report is counted as such before it is as completed: between the two there is one too many. */
static uint64_t fr_graph_less_reports(const _Atomic uint64_t *completed,
                                      const _Atomic uint64_t *reports)
{
    uint64_t all = fr_load_relaxed(completed), others = fr_load_relaxed(reports);
#ifndef FR_MUTATE_GRAPH_COUNTS_BELOW_NONE
    others = others < all ? others : all;
#endif
    return all - others;
}

void fr_graph_statistics_read(const fr_graph *graph, fr_graph_statistics *out)
{
    fr_graph *guarded = (fr_graph *)graph; /* the lock alone is written */
    memset(out, 0, sizeof(*out));
    for (uint32_t k = 0; k < FR_GRAPH_SLOTS; k++) {
        const fr_graph_slot *slot = &graph->slots[k];
        out->run_by_workers +=
            fr_graph_less_reports(&slot->completed_by_workers, &slot->reports_by_workers);
        out->run_by_waiters +=
            fr_graph_less_reports(&slot->completed_by_waiters, &slot->reports_by_waiters);
        out->failed += fr_load_relaxed(&slot->failed);
        out->hand_overs += fr_load_relaxed(&slot->hand_overs);
        out->wait_sleeps += fr_load_relaxed(&slot->wait_sleeps);
    }
    fr_mutex_lock(&guarded->admission);
    out->completed = fr_graph_completed_for_clients(graph);
    out->reports = fr_load_relaxed(&graph->reports_made);
    out->parked = fr_load_relaxed(&graph->parked);
    out->accepted = fr_load_relaxed(&graph->accepted) - out->reports;
    out->ids = fr_load_relaxed(&graph->next_sequence) - 1;
    out->lanes_open = graph->lanes.lanes_open;
    out->lanes_made = graph->lanes.lanes_made;
    out->lanes_recycled = graph->lanes.lanes_recycled;
    out->lanes_looked_at = graph->lanes_looked_at;
    out->looks_to_run = graph->looks_to_run;
    out->op_records = graph->records.slab_count * FR_RECORDS_PER_SLAB;
    out->op_record_bytes = graph->records.slab_count * sizeof(fr_record_slab);
    out->edges = graph->edges_made;
    out->ordinals_reported = graph->ledger.entry_count;
    fr_mutex_unlock(&guarded->admission);
    out->id_table_bytes = fr_load_relaxed(&graph->table.memory_bytes);
    uint64_t held = fr_op_table_held(&guarded->table, out->ids + 1);
    out->released = held < out->ids ? out->ids - held : 0; /* ids may be given out meanwhile */
}

/* --- ids -------------------------------------------------------------------------------------- */

fr_op_state fr_op_state_of_entry(uint64_t word)
{
    switch (word & FR_ENTRY_STATE_MASK) {
    case FR_ENTRY_NONE:
        return FR_OP_UNKNOWN;
    case FR_ENTRY_PENDING:
        return (word & FR_ENTRY_RELEASED) != 0 ? FR_OP_UNKNOWN : FR_OP_PENDING;
    case FR_ENTRY_DONE:
        return FR_OP_DONE;
    default:
        return FR_OP_FAILED;
    }
}

fr_op_state fr_graph_op_state(const fr_graph *graph, uint64_t id)
{
    return fr_op_state_of_entry(fr_op_table_read(&graph->table, id));
}

void fr_graph_lock(fr_graph *graph)
{
    fr_mutex_lock(&graph->admission);
}

void fr_graph_unlock(fr_graph *graph)
{
    fr_mutex_unlock(&graph->admission);
}

bool fr_graph_is_pending(const fr_graph *graph, uint64_t id)
{
    return fr_op_table_pending_op(&graph->table, id) != NULL;
}

bool fr_graph_op_failure(fr_graph *graph, uint64_t id, fr_op_failure *out, char *buffer,
                         size_t buffer_bytes)
{
    return fr_op_table_failure(&graph->table, id, out, buffer, buffer_bytes);
}

ovstage_api_status_t fr_graph_release(fr_graph *graph, uint64_t id)
{
    for (;;) {
        fr_release_result result = fr_op_table_release(&graph->table, id);
        if (result != FR_RELEASE_PENDING)
            return result == FR_RELEASE_DONE ? OVSTAGE_OK : OVSTAGE_ERROR_INVALID_HANDLE;
        /* Under admission the entry cannot become another id's. */
        fr_mutex_lock(&graph->admission);
        bool is_pending = fr_op_table_pending_op(&graph->table, id) != NULL;
        bool flagged = is_pending && fr_op_table_flag(&graph->table, id, FR_ENTRY_RELEASED);
        fr_mutex_unlock(&graph->admission);
        if (flagged)
            return OVSTAGE_OK;
        if (is_pending && fr_graph_op_state(graph, id) == FR_OP_UNKNOWN)
            return OVSTAGE_ERROR_INVALID_HANDLE; /* released while it was pending */
    }
}
