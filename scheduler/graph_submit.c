/* Acceptance: one short lock gives it its total order. Inside it nothing is allocated and nobody is
 * called but the submission's own functions; what must be there is looked at first, and when it is
 * not, the attempt starts again after it was made outside. */
#include "scheduler/graph_internal.h"

/* Idle lanes that are looked at for each new lane, and for each op that goes through the lanes
 * anyway. */
#define FR_REUSE_FOR_LANE 2u
#define FR_REUSE_FOR_SEAL 64u

/* What an attempt lacked. */
typedef struct fr_shortage {
    bool is_id, is_lane;
    uint64_t edges; /* a block for so many; 0: none needed */
} fr_shortage;

void fr_graph_lock(fr_graph *graph)
{
    fr_mutex_lock(&graph->admission);
}

void fr_graph_unlock(fr_graph *graph)
{
    fr_mutex_unlock(&graph->admission);
}

static bool fr_shortage_any(const fr_shortage *shortage)
{
    return shortage->is_id || shortage->is_lane || shortage->edges > 0;
}

/* Outside of admission. False without memory. */
static bool fr_shortage_end(fr_graph *graph, const fr_shortage *shortage)
{
    if (shortage->is_id)
        return fr_op_table_prepare(&graph->table, fr_load_relaxed(&graph->next_sequence));
    void *memory = shortage->is_lane
                       ? fr_lane_memory_allocate(&graph->allocator, graph, fr_lane_token_run)
                       : fr_edge_memory_allocate(&graph->allocator, shortage->edges);
    if (!memory)
        return false;
    fr_mutex_lock(&graph->admission);
    if (shortage->is_lane)
        fr_lane_map_add(&graph->lanes, memory);
    else
        fr_edge_pool_add(&graph->edges, memory);
    fr_mutex_unlock(&graph->admission);
    return true;
}

static bool fr_graph_is_full(fr_graph *graph)
{
    uint64_t accepted = fr_load_relaxed(&graph->accepted);
    if (accepted - graph->completed_seen < graph->op_limit)
        return false;
    uint64_t limit = fr_op_running() ? 2 * graph->op_limit : graph->op_limit;
    graph->completed_seen = fr_graph_completed(graph);
    return accepted - graph->completed_seen >= limit;
}

/* --- edges ------------------------------------------------------------------------------------ */

/* The lane itself or the first behind it that the submission waits for. */
static fr_lane *fr_submit_next_below(fr_graph *graph, const fr_submission *submission,
                                     fr_lane *lane)
{
    const fr_op *running = fr_op_running();
    fr_lane *next;
    for (; lane && lane->ordinal <= submission->below_ordinal; lane = next) {
        next = fr_lane_map_after(lane);
        graph->lanes_looked_at++;
        bool is_own = submission->has_ordinal && lane->ordinal == submission->ordinal;
        if (!is_own && fr_lane_map_drop_idle(&graph->lanes, lane))
            continue;
        if (!submission->covers_lanes && running && lane->last == running && running->type->is_task)
            continue;
        /* [lane.look] pairs [lane.settle] : the last op's list of users is as its drainer left it
         */
        if (!is_own && (lane->filter & submission->below_filter) != 0 &&
            fr_lane_count(fr_load_acquire(&lane->word)) > 0)
            return lane;
    }
    return NULL;
}

/* The seals that the submission waits for in place of lanes that these wait for, as far as they are
 * pending. Only another seal (`waits`) may wait for one: that runs behind lanes of other attributes
 * too. */
static void fr_submit_use_fronts(fr_graph *graph, const fr_submission *submission, bool waits,
                                 fr_lane_fronts_used *used)
{
    fr_lane_fronts_use(&graph->fronts, submission->below_ordinal, submission->below_filter, used);
    uint32_t pending = 0;
    for (uint32_t k = 0; k < used->id_count; k++)
        if (fr_op_table_pending_op(&graph->table, used->ids[k]))
            used->ids[pending++] = used->ids[k];
    used->id_count = pending;
    if (pending > 0 && !waits)
        used->from = used->id_count = 0;
}

/* The op that the submission waits for since it holds its lane; NULL: none does. */
static fr_op *fr_submit_holder(const fr_graph *graph, const fr_submission *submission)
{
    bool in_lane = submission->has_ordinal;
    bool writes = in_lane ? submission->attribute_filter != 0 : submission->writes_below;
    uint64_t ordinal = in_lane ? submission->ordinal : submission->below_ordinal;
    bool held = writes && ordinal < graph->held_below;
#ifdef FR_MUTATE_HOLD_NO_LANES
    held = false;
#endif
    return held ? fr_op_table_pending_op(&graph->table, graph->holder_id) : NULL;
}

static void fr_submit_hold(fr_graph *graph, const fr_submission *submission, uint64_t id)
{
    bool others = graph->held_below > 0 && fr_op_table_pending_op(&graph->table, graph->holder_id);
    if (!others || graph->held_below < submission->ordinal)
        graph->held_below = submission->ordinal;
    graph->holder_id = id;
}

static uint64_t fr_submit_edges_needed(fr_graph *graph, const fr_submission *submission)
{
    uint64_t needed = submission->producer_count + (fr_submit_holder(graph, submission) != NULL);
    if (!submission->takes_lanes_below)
        return needed;
    fr_lane_fronts_used used;
    fr_submit_use_fronts(graph, submission, submission->covers_lanes, &used);
    needed += used.id_count;
    for (fr_lane *lane = fr_lane_map_from(&graph->lanes, used.from);
         (lane = fr_submit_next_below(graph, submission, lane)) != NULL;
         lane = fr_lane_map_after(lane))
        needed++;
    return needed;
}

/* What is not linked has completed. */
static void fr_submit_link_below(fr_graph *graph, const fr_submission *submission,
                                 fr_edge_block *block)
{
    fr_lane_fronts_used used;
    fr_submit_use_fronts(graph, submission, submission->covers_lanes, &used);
    for (uint32_t k = 0; k < used.id_count; k++) {
        fr_op *seal = fr_op_table_pending_op(&graph->table, used.ids[k]);
        if (seal)
            (void)fr_edge_link(block, submission->op, seal, false, &graph->table);
    }
    for (fr_lane *lane = fr_lane_map_from(&graph->lanes, used.from);
         (lane = fr_submit_next_below(graph, submission, lane)) != NULL;
         lane = fr_lane_map_after(lane))
        (void)fr_edge_link(block, submission->op, lane->last, false, &graph->table);
}

/* The lanes' last ops stay theirs while admission is held: none is counted out unless it has
 * completed. */
static void fr_submit_link(fr_graph *graph, const fr_submission *submission, fr_edge_block *block)
{
    fr_op *op = submission->op;
    bool fails = submission->fails_with_producers;
    for (size_t k = 0; k < submission->producer_count; k++) {
        uint64_t id = submission->producer_ids[k];
        fr_op *producer = fr_op_table_pending_op(&graph->table, id);
        if (producer && fr_edge_link(block, op, producer, fails, &graph->table))
            continue;
        if (fails && (fr_op_table_read(&graph->table, id) & FR_ENTRY_STATE_MASK) >= FR_ENTRY_TEXT)
            (void)fr_op_set_failure(op, fr_failure_of_producer(id));
    }
    fr_op *holder = fr_submit_holder(graph, submission);
    if (holder)
        (void)fr_edge_link(block, op, holder, false, &graph->table);
    if (submission->takes_lanes_below)
        fr_submit_link_below(graph, submission, block);
}

bool fr_graph_is_settled(fr_graph *graph, uint64_t ordinal, uint64_t filter, uint64_t *out_next_id)
{
    const fr_submission like = {.below_ordinal = ordinal, .below_filter = filter};
    *out_next_id = fr_op_table_id(&graph->table, fr_load_relaxed(&graph->next_sequence));
    fr_lane_fronts_used used;
    fr_submit_use_fronts(graph, &like, false, &used);
    for (fr_lane *lane = fr_lane_map_from(&graph->lanes, used.from);
         (lane = fr_submit_next_below(graph, &like, lane)) != NULL;
         lane = fr_lane_map_after(lane)) {
        /* A lane's last op is complete before it is counted out, and the others were before it:
         * who has waited for them all finds nothing pending. Its record stays until admission is
         * let go. */
#ifndef FR_MUTATE_SETTLED_BY_COUNT
        if (fr_op_table_pending_op(&graph->table, lane->last->id))
#endif
            return false;
    }
    return true;
}

/* --- one attempt, under admission ------------------------------------------------------------- */

typedef struct fr_attempt {
    fr_graph *graph;
    fr_submission *submission;
    fr_shortage shortage;
    _Atomic uint64_t *entry;
    fr_lane *lane;
    fr_edge_block *block;
    uint64_t edges_needed;
    uint64_t id;
    fr_runnable *token; /* to be pushed, or NULL */
    bool tells;         /* something became runnable whose token is out already */
} fr_attempt;

/* Whatever is needed and can be had without the submission's own answer. */
static bool fr_attempt_reserve(fr_attempt *attempt, uint64_t sequence)
{
    fr_graph *graph = attempt->graph;
    const fr_submission *submission = attempt->submission;
    attempt->entry = fr_op_table_issue(&graph->table, sequence);
    attempt->shortage.is_id = attempt->entry == NULL;
    if (!attempt->entry)
        return false;
    if (submission->takes_lanes_below)
        fr_lane_map_reuse(&graph->lanes, FR_REUSE_FOR_SEAL);
    attempt->lane =
        submission->has_ordinal ? fr_lane_map_find(&graph->lanes, submission->ordinal) : NULL;
    if (submission->has_ordinal && !attempt->lane) {
        /* The stack of idle lanes is taken when no other is free: whoever leaves a lane idle has
         * the stack in its cache, and each of those taken is asked for a submission ahead. */
        if (graph->lanes.retiring || !fr_lane_map_has_free(&graph->lanes))
            fr_lane_map_reuse(&graph->lanes, FR_REUSE_FOR_LANE);
        attempt->shortage.is_lane = !fr_lane_map_has_free(&graph->lanes);
    }
    return !attempt->shortage.is_lane;
}

static bool fr_attempt_reserve_edges(fr_attempt *attempt)
{
    attempt->edges_needed = fr_submit_edges_needed(attempt->graph, attempt->submission);
    attempt->block = NULL;
    if (attempt->edges_needed == 0)
        return true;
    attempt->block = fr_edge_pool_take(&attempt->graph->edges, attempt->edges_needed);
    attempt->shortage.edges = attempt->block ? 0 : attempt->edges_needed;
    return attempt->block != NULL;
}

static void fr_attempt_tell_fronts(const fr_attempt *attempt)
{
    const fr_submission *submission = attempt->submission;
    fr_lane_fronts *fronts = &attempt->graph->fronts;
    if (submission->has_ordinal)
        fr_lane_fronts_join(fronts, submission->ordinal, submission->attribute_filter);
    else if (submission->covers_lanes)
        fr_lane_fronts_advance(fronts, submission->below_ordinal, submission->below_filter,
                               attempt->id);
}

static void fr_attempt_join(fr_attempt *attempt)
{
    const fr_submission *submission = attempt->submission;
    fr_lane *lane = attempt->lane;
    if (fr_lane_join(lane, submission->op, submission->attribute_filter)) {
        attempt->token = &lane->token;
        return;
    }
    /* The token may lie with a worker that sleeps for a condition. What stands behind other ops
     * needs no word: they were told of. */
    uint64_t word = fr_load_relaxed(&lane->word);
    attempt->tells = fr_lane_count(word) == 1 && fr_lane_is_claimable(word);
}

/* Nothing fails from here on. */
static void fr_attempt_place(fr_attempt *attempt)
{
    fr_graph *graph = attempt->graph;
    const fr_submission *submission = attempt->submission;
    fr_op *op = submission->op;
    bool is_solo = !submission->has_ordinal;
    uint64_t word = is_solo ? FR_OP_SOLO : 0;
    if (attempt->block)
        word |= FR_OP_HAS_EDGES | (attempt->edges_needed + 1);
    else if (is_solo)
        word |= FR_OP_TOKEN;
    if (op->type->is_large && op->type->is_large(op))
        word |= FR_OP_LARGE; /* asked now: later the payload may be on its way out */
    op->id = attempt->id;
    op->table.entry = attempt->entry;
    if (attempt->block)
        op->producers = attempt->block;
    /* Relaxed: the op is known to others through admission, or the lane, or an edge, or its token.
     */
    fr_store_relaxed(&op->users, 0);
    fr_store_relaxed(&op->word, word);
    /* [table.entry.issue] pairs [table.entry.read], [table.entry.look] : the block's key is that of
     * these ids */
    fr_store_release(attempt->entry, (uint64_t)(uintptr_t)op | FR_ENTRY_PENDING);
    if (is_solo) {
        op->place.token.run = fr_solo_token_run;
        op->place.token.order = submission->covers_lanes ? submission->below_ordinal : 0;
        fr_records_add_solo(&graph->records, op);
        attempt->token = attempt->block ? NULL : &op->place.token;
    } else {
        if (!attempt->lane)
            attempt->lane = fr_lane_map_insert(&graph->lanes, submission->ordinal);
        fr_store_relaxed(&op->place.in_lane.next, NULL);
        op->place.in_lane.lane = attempt->lane;
        op->place.in_lane.previous_dependent = attempt->lane->last_dependent;
        if (attempt->block)
            attempt->lane->last_dependent = attempt->id;
    }
    if (attempt->block) {
        fr_submit_link(graph, submission, attempt->block);
        graph->edges_made += attempt->block->count;
        uint64_t unused = attempt->edges_needed - attempt->block->count;
        /* A solo op's own share ends with acceptance; in a lane it is the drainer's. */
        if (unused + is_solo > 0 && fr_op_count_down(graph, op, unused + is_solo))
            attempt->token = &op->place.token;
    }
    fr_attempt_tell_fronts(attempt);
    if (submission->holds_lanes_below)
        fr_submit_hold(graph, submission, attempt->id);
    if (!is_solo)
        fr_attempt_join(attempt);
}

/* What the submission itself says. */
static ovstage_api_status_t fr_attempt_ask(fr_submission *submission)
{
#ifdef FR_MUTATE_ADMIT_CHECK_OUTSIDE_LOCK
    return OVSTAGE_OK; /* it was asked before */
#else
    return submission->admit ? submission->admit(submission, submission->user) : OVSTAGE_OK;
#endif
}

static ovstage_api_status_t fr_attempt_run(fr_attempt *attempt)
{
    fr_graph *graph = attempt->graph;
    fr_submission *submission = attempt->submission;
    if (fr_load_relaxed(&graph->dropping) != 0)
        return OVSTAGE_ERROR_INVALID_ARGUMENT;
    if (!submission->never_full && fr_graph_is_full(graph))
        return OVSTAGE_ERROR_QUEUE_FULL;
    uint64_t sequence = fr_load_relaxed(&graph->next_sequence);
    if (!fr_attempt_reserve(attempt, sequence))
        return OVSTAGE_OK;
    ovstage_api_status_t status = fr_attempt_ask(submission);
    if (status != OVSTAGE_OK)
        return status;
    if (!fr_attempt_reserve_edges(attempt)) {
        if (submission->undo)
            submission->undo(submission, submission->user);
        return OVSTAGE_OK;
    }
    attempt->id = fr_op_table_id(&graph->table, sequence);
    fr_store_relaxed(&graph->next_sequence, sequence + 1);
    fr_store_relaxed(&graph->accepted, fr_load_relaxed(&graph->accepted) + 1);
    if (submission->accepted) /* before it is placed: once it is, it may run at any moment */
        submission->accepted(submission, attempt->id, submission->user);
    fr_attempt_place(attempt);
    fr_records_refill(graph);
    return OVSTAGE_OK;
}

ovstage_api_status_t fr_graph_submit(fr_graph *graph, fr_submission *submission, uint64_t *out_id)
{
    fr_attempt attempt = {.graph = graph, .submission = submission};
    *out_id = 0;
#ifdef FR_MUTATE_ADMIT_CHECK_OUTSIDE_LOCK
    fr_mutex_lock(&graph->admission);
    ovstage_api_status_t answer =
        submission->admit ? submission->admit(submission, submission->user) : OVSTAGE_OK;
    fr_mutex_unlock(&graph->admission);
    if (answer != OVSTAGE_OK)
        return answer;
#endif
    for (;;) {
        if (!fr_op_table_is_prepared(&graph->table, fr_load_relaxed(&graph->next_sequence)))
            (void)fr_op_table_prepare(&graph->table, fr_load_relaxed(&graph->next_sequence));
        attempt.shortage = (fr_shortage){0};
        fr_mutex_lock(&graph->admission);
        ovstage_api_status_t status = fr_attempt_run(&attempt);
        fr_mutex_unlock(&graph->admission);
        if (status != OVSTAGE_OK)
            return status;
        if (!fr_shortage_any(&attempt.shortage))
            break;
        if (!fr_shortage_end(graph, &attempt.shortage))
            return OVSTAGE_ERROR_OUT_OF_MEMORY;
    }
    *out_id = attempt.id;
    if (attempt.token)
        fr_graph_push(graph, attempt.token);
#ifndef FR_MUTATE_JOIN_TELLS_NOBODY
    else if (attempt.tells)
        fr_waiters_look_at_conditions(&graph->waiters);
#endif
    fr_graph_take_stale_tokens(graph);
    return OVSTAGE_OK;
}

uint64_t fr_graph_submit_done(fr_graph *graph,
                              ovstage_api_status_t (*admit)(fr_submission *, void *), void *user,
                              ovstage_api_status_t *out_status)
{
    for (;;) {
        if (!fr_op_table_prepare(&graph->table, fr_load_relaxed(&graph->next_sequence))) {
            *out_status = OVSTAGE_ERROR_OUT_OF_MEMORY;
            return 0;
        }
        fr_mutex_lock(&graph->admission);
        uint64_t sequence = fr_load_relaxed(&graph->next_sequence);
        _Atomic uint64_t *entry = fr_op_table_issue(&graph->table, sequence);
        uint64_t id = entry ? fr_op_table_id(&graph->table, sequence) : 0;
        *out_status = entry && admit ? admit(NULL, user) : OVSTAGE_OK;
        if (entry && *out_status == OVSTAGE_OK) {
            fr_store_relaxed(&graph->next_sequence, sequence + 1);
            /* [table.entry.born_done] pairs [table.entry.read], [table.entry.look] : as
             * table.entry.issue */
            fr_store_release(entry, fr_op_table_done(id));
        }
        fr_mutex_unlock(&graph->admission);
        if (entry)
            return *out_status == OVSTAGE_OK ? id : 0;
    }
}
