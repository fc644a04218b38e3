/* Acceptance: one short lock gives it its total order. Inside it nothing is allocated and nobody is
 * called but the submission's own functions; what must be there is looked at first, and when it is
 * not, the attempt starts again after it was made outside. */
#include "scheduler/graph_internal.h"

/* Idle lanes that are looked at for each new lane, and for each op that goes through the lanes
 * anyway. */
#define FR_REUSE_FOR_LANE 2u
#define FR_REUSE_FOR_SEAL 64u

static fr_run_result fr_report_run(fr_op *op, const fr_run_context *context)
{
    (void)op;
    (void)context;
    return FR_RUN_DONE; /* what it waited for was all */
}

/* Of an op without work of its own that goes on, behind the reports of others. */
static const fr_op_type fr_report_type = {.name = "report", .run = fr_report_run};

/* What an attempt lacked. */
typedef enum fr_shortage {
    FR_SHORT_OF_NOTHING,
    FR_SHORT_OF_ID,
    FR_SHORT_OF_SECOND_ID,
    FR_SHORT_OF_LANE,
    FR_SHORT_OF_REPORT,
    FR_SHORT_OF_LEDGER,
    FR_SHORT_OF_EDGES,
} fr_shortage;

static bool fr_graph_is_full(fr_graph *graph)
{
    uint64_t accepted = fr_load_relaxed(&graph->accepted) - fr_load_relaxed(&graph->reports_made);
    if (accepted - graph->completed_seen < graph->op_limit)
        return false;
    uint64_t limit = fr_op_running() ? 2 * graph->op_limit : graph->op_limit;
    graph->completed_seen = fr_graph_completed_for_clients(graph);
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

static fr_op *fr_submit_before(const fr_graph *graph, const fr_submission *submission)
{
    uint64_t id = submission->behind_id;
    return id != 0 ? fr_op_table_pending_op(&graph->table, id) : NULL;
}

static uint64_t fr_submit_edges_needed(fr_graph *graph, const fr_submission *submission)
{
    uint64_t needed = submission->producer_count + (fr_submit_holder(graph, submission) != NULL) +
                      (fr_submit_before(graph, submission) != NULL);
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
            (void)fr_edge_link(block, submission->op, seal, 0, &graph->table);
    }
    for (fr_lane *lane = fr_lane_map_from(&graph->lanes, used.from);
         (lane = fr_submit_next_below(graph, submission, lane)) != NULL;
         lane = fr_lane_map_after(lane))
        (void)fr_edge_link(block, submission->op, lane->last, 0, &graph->table);
}

/* The lanes' last ops stay theirs while admission is held: none is counted out unless it has
 * completed. */
static void fr_submit_link(fr_graph *graph, const fr_submission *submission, fr_edge_block *block)
{
    fr_op *op = submission->op;
    bool fails = submission->fails_with_producers;
    uintptr_t flags = fails ? FR_EDGE_FAILS : 0;
    for (size_t k = 0; k < submission->producer_count; k++) {
        uint64_t id = submission->producer_ids[k];
        fr_op *producer = fr_op_table_pending_op(&graph->table, id);
        if (producer && fr_edge_link(block, op, producer, flags, &graph->table))
            continue;
        if (fails && (fr_op_table_read(&graph->table, id) & FR_ENTRY_STATE_MASK) >= FR_ENTRY_TEXT)
            (void)fr_op_set_failure(op, fr_failure_of_producer(id));
    }
    fr_op *holder = fr_submit_holder(graph, submission);
    if (holder)
        (void)fr_edge_link(block, op, holder, 0, &graph->table);
    fr_op *before = fr_submit_before(graph, submission);
    if (before)
        (void)fr_edge_link(block, op, before, 0, &graph->table);
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

/* A record that is accepted, and what it takes. */
typedef struct fr_attempt_part {
    fr_op *op; /* NULL: there is none */
    _Atomic uint64_t *entry;
    fr_edge_block *block; /* NULL: no edges are needed */
    uint64_t edges_needed;
} fr_attempt_part;

typedef struct fr_attempt {
    fr_graph *graph;
    fr_submission *submission;
    fr_shortage shortage;
    bool tells; /* something became runnable whose token is out already */
    fr_attempt_part own, report;
    uint64_t edges_short; /* for so many a block was lacking */
    fr_lane *lane;
    uint64_t id;        /* of the op; its report has the next one */
    fr_op *spare;       /* a record for a report that the submission does not bring; or NULL */
    fr_runnable *token; /* to be pushed, or NULL */
} fr_attempt;

/* Field by field, as fr_submission_begin; the others are set on the way. */
static void fr_attempt_open(fr_attempt *attempt, fr_graph *graph, fr_submission *submission)
{
    attempt->graph = graph;
    attempt->submission = submission;
    attempt->tells = false;
    attempt->own.op = submission->op;
    attempt->report.op = NULL;
    attempt->edges_short = 0;
    attempt->id = 0;
    attempt->spare = NULL;
    attempt->token = NULL;
}

/* Outside of admission. False without memory. */
static bool fr_attempt_end_shortage(fr_attempt *attempt)
{
    fr_graph *graph = attempt->graph;
    uint64_t next = fr_load_relaxed(&graph->next_sequence);
    void *memory;
    switch (attempt->shortage) {
    case FR_SHORT_OF_ID:
        return fr_op_table_prepare(&graph->table, next);
    case FR_SHORT_OF_SECOND_ID:
        return fr_op_table_prepare(&graph->table, next + 1);
    case FR_SHORT_OF_REPORT:
        attempt->spare = fr_graph_op_get(graph, &fr_report_type);
        return attempt->spare != NULL;
    case FR_SHORT_OF_LANE:
        memory = fr_lane_memory_allocate(&graph->allocator, graph, fr_lane_token_run);
        break;
    case FR_SHORT_OF_LEDGER:
        memory = fr_ledger_memory_allocate(&graph->allocator);
        break;
    default:
        memory = fr_edge_memory_allocate(&graph->allocator, attempt->edges_short);
    }
    if (!memory)
        return false;
    fr_mutex_lock(&graph->admission);
    if (attempt->shortage == FR_SHORT_OF_LANE)
        fr_lane_map_add(&graph->lanes, memory);
    else if (attempt->shortage == FR_SHORT_OF_LEDGER)
        fr_ledger_add(&graph->ledger, memory);
    else
        fr_edge_pool_add(&graph->edges, memory);
    fr_mutex_unlock(&graph->admission);
    return true;
}

/* Under admission: it starts again when that is made. */
static bool fr_attempt_lacks(fr_attempt *attempt, fr_shortage shortage)
{
    attempt->shortage = shortage;
    return false;
}

/* Whatever is needed and can be had without the submission's own answer. */
static bool fr_attempt_reserve(fr_attempt *attempt, uint64_t sequence)
{
    fr_graph *graph = attempt->graph;
    const fr_submission *submission = attempt->submission;
    attempt->own.entry = fr_op_table_issue(&graph->table, sequence);
    if (!attempt->own.entry)
        return fr_attempt_lacks(attempt, FR_SHORT_OF_ID);
    if (submission->takes_lanes_below)
        fr_lane_map_reuse(&graph->lanes, FR_REUSE_FOR_SEAL);
    attempt->lane =
        submission->has_ordinal ? fr_lane_map_find(&graph->lanes, submission->ordinal) : NULL;
    if (submission->has_ordinal && !attempt->lane) {
        /* The stack of idle lanes is taken when no other is free: whoever leaves a lane idle has
         * the stack in its cache, and each of those taken is asked for a submission ahead. */
        if (graph->lanes.retiring || !fr_lane_map_has_free(&graph->lanes))
            fr_lane_map_reuse(&graph->lanes, FR_REUSE_FOR_LANE);
        if (!fr_lane_map_has_free(&graph->lanes))
            return fr_attempt_lacks(attempt, FR_SHORT_OF_LANE);
    }
    return true;
}

static bool fr_attempt_reserve_edges(fr_attempt *attempt, fr_attempt_part *part, uint64_t needed)
{
    part->edges_needed = needed;
    part->block = NULL;
    if (needed == 0)
        return true;
    part->block = fr_edge_pool_take(&attempt->graph->edges, needed);
    attempt->edges_short = needed;
    return part->block || fr_attempt_lacks(attempt, FR_SHORT_OF_EDGES);
}

static fr_ledger_place fr_attempt_place_in_ledger(const fr_attempt *attempt)
{
    const fr_submission *submission = attempt->submission;
    fr_ledger_place place = {.has_ordinal = submission->has_ordinal,
                             .is_seal = submission->covers_lanes};
#ifndef FR_MUTATE_SEAL_REPORTS_WHAT_IT_RAISES
    place.is_seal = place.is_seal || submission->reports_below;
#endif
    place.ordinal = place.is_seal ? submission->below_ordinal : submission->ordinal;
    place.filter = place.is_seal ? submission->below_filter : submission->attribute_filter;
    return place;
}

/* Whether the op has a report is decided here: by who submits it, or by what the ledger says of
 * reports that must come before. */
static bool fr_attempt_reserve_report(fr_attempt *attempt, uint64_t sequence)
{
    fr_graph *graph = attempt->graph;
    const fr_submission *submission = attempt->submission;
    fr_attempt_part *report = &attempt->report;
    fr_ledger_place place = fr_attempt_place_in_ledger(attempt);
    uint64_t before = fr_ledger_count(&graph->ledger, &graph->table, &place);
    if (!report->op && before == 0)
        return true;
    if (!report->op && !attempt->spare)
        attempt->spare = fr_records_get(graph, &fr_report_type);
    if (!report->op)
        report->op = attempt->spare;
    if (!report->op)
        return fr_attempt_lacks(attempt, FR_SHORT_OF_REPORT);
    if (place.has_ordinal && !fr_ledger_has_room(&graph->ledger, &graph->table, place.ordinal))
        return fr_attempt_lacks(attempt, FR_SHORT_OF_LEDGER);
    if (!fr_attempt_reserve_edges(attempt, report, 1 + before + submission->report_count))
        return false;
    /* The last thing to be reserved: an id is not asked for again once the next one was. */
    report->entry = fr_op_table_issue(&graph->table, sequence + 1);
    if (report->entry)
        return true;
    fr_edge_pool_give(&graph->edges, report->block);
    return fr_attempt_lacks(attempt, FR_SHORT_OF_SECOND_ID);
}

/* What the submission's answer has decided. */
static bool fr_attempt_reserve_rest(fr_attempt *attempt, uint64_t sequence)
{
    fr_graph *graph = attempt->graph;
    if (!fr_attempt_reserve_edges(attempt, &attempt->own,
                                  fr_submit_edges_needed(graph, attempt->submission)))
        return false;
    attempt->report.op = attempt->submission->report;
    if (!attempt->report.op && fr_ledger_is_empty(&graph->ledger))
        return true;
    if (fr_attempt_reserve_report(attempt, sequence))
        return true;
    if (attempt->own.block)
        fr_edge_pool_give(&graph->edges, attempt->own.block);
    return false;
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

/* The record becomes a pending op. */
static inline void fr_attempt_begin(const fr_attempt_part *part, uint64_t id, uint64_t word,
                                    uint64_t entry_flags)
{
    fr_op *op = part->op;
    if (part->block)
        word |= FR_OP_HAS_EDGES | (part->edges_needed + 1);
    else if ((word & FR_OP_SOLO) != 0)
        word |= FR_OP_TOKEN;
    if (op->type->is_large && op->type->is_large(op))
        word |= FR_OP_LARGE; /* asked now: later the payload may be on its way out */
    op->id = id;
    op->table.entry = part->entry;
    if (part->block)
        op->producers = part->block;
    /* Relaxed: the op is known to others through admission, or the lane, or an edge, or its token.
     */
    fr_store_relaxed(&op->users, 0);
    fr_store_relaxed(&op->word, word);
    /* [table.entry.issue] pairs [table.entry.read], [table.entry.look] : the block's key is that of
     * these ids */
    fr_store_release(part->entry, (uint64_t)(uintptr_t)op | FR_ENTRY_PENDING | entry_flags);
}

static void fr_attempt_begin_solo(fr_graph *graph, fr_op *op, uint64_t order)
{
    op->place.token.run = fr_solo_token_run;
    op->place.token.order = order;
    fr_records_add_solo(&graph->records, op);
}

/* Before the op can run: its report must see it fail, and cannot become runnable before it. */
static void fr_attempt_place_report(fr_attempt *attempt)
{
    fr_graph *graph = attempt->graph;
    const fr_submission *submission = attempt->submission;
    const fr_attempt_part *part = &attempt->report;
    fr_op *report = part->op;
    fr_ledger_place place = fr_attempt_place_in_ledger(attempt);
    fr_op_table_born_released(&graph->table); /* the op's own id */
    fr_attempt_begin(part, attempt->id + 1, FR_OP_SOLO | FR_OP_REPORT, 0);
    fr_attempt_begin_solo(graph, report, 0);
    (void)fr_edge_link(part->block, report, submission->op, FR_EDGE_REPORTS, &graph->table);
    fr_ledger_link(&graph->ledger, &graph->table, &place, part->block, report);
    for (size_t k = 0; k < submission->report_count; k++) {
        fr_op *before = fr_op_table_pending_op(&graph->table, submission->report_ids[k]);
        if (before)
            (void)fr_edge_link(part->block, report, before, 0, &graph->table);
    }
    fr_ledger_enter(&graph->ledger, &graph->table, &place, attempt->id + 1);
    graph->edges_made += part->block->count;
    (void)fr_op_count_down(graph, report, part->edges_needed - part->block->count + 1);
    if (report == attempt->spare)
        attempt->spare = NULL;
}

/* Nothing fails from here on. */
static void fr_attempt_place(fr_attempt *attempt)
{
    fr_graph *graph = attempt->graph;
    const fr_submission *submission = attempt->submission;
    const fr_attempt_part *part = &attempt->own;
    fr_op *op = submission->op;
    bool is_solo = !submission->has_ordinal;
    bool reported = attempt->report.op != NULL;
    fr_attempt_begin(part, attempt->id,
                     (is_solo ? FR_OP_SOLO : 0) | (reported ? FR_OP_REPORTED : 0) |
                         (submission->hidden ? FR_OP_HIDDEN : 0),
                     reported ? FR_ENTRY_RELEASED : 0);
    if (reported)
        fr_attempt_place_report(attempt);
    if (reported || submission->hidden)
        /* [reports_made.add] pairs [reports_made.read] : both are counted as accepted */
        fr_store_release(&graph->reports_made, fr_load_relaxed(&graph->reports_made) + 1);
    if (is_solo) {
        fr_attempt_begin_solo(graph, op, submission->covers_lanes ? submission->below_ordinal : 0);
        attempt->token = part->block ? NULL : &op->place.token;
    } else {
        if (!attempt->lane)
            attempt->lane = fr_lane_map_insert(&graph->lanes, submission->ordinal);
        fr_store_relaxed(&op->place.in_lane.next, NULL);
        op->place.in_lane.lane = attempt->lane;
        op->place.in_lane.previous_dependent = attempt->lane->last_dependent;
        if (part->block)
            attempt->lane->last_dependent = attempt->id;
    }
    if (part->block) {
        fr_submit_link(graph, submission, part->block);
        graph->edges_made += part->block->count;
        uint64_t unused = part->edges_needed - part->block->count;
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
    if (!fr_attempt_reserve_rest(attempt, sequence)) {
        if (submission->undo)
            submission->undo(submission, submission->user);
        return OVSTAGE_OK;
    }
    attempt->id = fr_op_table_id(&graph->table, sequence);
    uint64_t count = attempt->report.op ? 2 : 1;
    fr_store_relaxed(&graph->next_sequence, sequence + count);
    fr_store_relaxed(&graph->accepted, fr_load_relaxed(&graph->accepted) + count);
    if (submission->accepted) /* before it is placed: once it is, it may run at any moment */
        submission->accepted(submission, attempt->id, submission->user);
    fr_attempt_place(attempt);
    fr_records_refill(graph);
    return OVSTAGE_OK;
}

/* Until nothing is lacking that can be had. */
static ovstage_api_status_t fr_attempt_repeat(fr_attempt *attempt)
{
    fr_graph *graph = attempt->graph;
    for (;;) {
        if (!fr_op_table_is_prepared(&graph->table, fr_load_relaxed(&graph->next_sequence)))
            (void)fr_op_table_prepare(&graph->table, fr_load_relaxed(&graph->next_sequence));
        attempt->shortage = FR_SHORT_OF_NOTHING;
        fr_mutex_lock(&graph->admission);
        ovstage_api_status_t status = fr_attempt_run(attempt);
        fr_mutex_unlock(&graph->admission);
        if (status != OVSTAGE_OK || attempt->shortage == FR_SHORT_OF_NOTHING)
            return status;
        if (!fr_attempt_end_shortage(attempt))
            return OVSTAGE_ERROR_OUT_OF_MEMORY;
    }
}

ovstage_api_status_t fr_graph_submit(fr_graph *graph, fr_submission *submission, uint64_t *out_id)
{
    fr_attempt attempt;
    fr_attempt_open(&attempt, graph, submission);
    *out_id = 0;
#ifdef FR_MUTATE_ADMIT_CHECK_OUTSIDE_LOCK
    fr_mutex_lock(&graph->admission);
    ovstage_api_status_t answer =
        submission->admit ? submission->admit(submission, submission->user) : OVSTAGE_OK;
    fr_mutex_unlock(&graph->admission);
    if (answer != OVSTAGE_OK)
        return answer;
#endif
    ovstage_api_status_t status = fr_attempt_repeat(&attempt);
    if (attempt.spare)
        fr_graph_op_put(graph, attempt.spare);
    if (status != OVSTAGE_OK)
        return status;
    *out_id = attempt.report.op ? attempt.id + 1 : attempt.id;
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
