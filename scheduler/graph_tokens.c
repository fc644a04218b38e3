/* Tokens: what a worker finds, and does with it. */
#include "scheduler/graph_internal.h"
#include "scheduler/sieve.h"

static const fr_drain_limits fr_token_limits = {
    .deadline_ns = FR_TIMEOUT_INFINITE, .gives_back = true, .runs_tasks = true, .runs_large = true};

bool fr_graph_token_begins(const fr_runnable *token)
{
    return token->run == fr_lane_token_run || token->run == fr_solo_token_run;
}

void fr_lane_token_run(fr_runnable *token, fr_worker *worker)
{
    fr_lane *lane = fr_lane_of_token(token);
    fr_graph *graph = lane->graph;
    fr_graph_slot *slot = fr_graph_enter(graph, worker);
    switch (fr_lane_take_token(lane, fr_sieve_is_on())) {
    case FR_LANE_TOKEN_DRAIN:
        fr_worker_begin(worker);
        (void)fr_lane_drain(graph, lane, worker, &fr_token_limits);
        break;
    case FR_LANE_TOKEN_RETIRE:
        fr_lane_map_retire(&graph->lanes, lane);
        fr_waiters_look_at_conditions(&graph->waiters); /* destroy waits for tokens */
        break;
    case FR_LANE_TOKEN_KEEP:
        fr_sieve_keep(token);
        break;
    case FR_LANE_TOKEN_NOTHING:
        fr_waiters_look_at_conditions(&graph->waiters);
        break;
    }
    fr_graph_leave(graph, slot);
}

void fr_solo_token_run(fr_runnable *token, fr_worker *worker)
{
    fr_op *op = (fr_op *)(void *)((char *)token - offsetof(fr_op, place));
    fr_graph *graph = fr_op_graph(op);
    fr_graph_slot *slot = fr_graph_enter(graph, worker);
    uint64_t word = fr_load_relaxed(&op->word), after;
    bool keeps, runs;
    do {
        /* A parked one, whose token is that of an earlier run, may have to wait. */
        runs = (word & FR_OP_CLAIMED) == 0 && (word & FR_OP_DEPS_MASK) == 0;
#ifdef FR_MUTATE_PARK_TOKEN_RUNS
        runs = (word & FR_OP_CLAIMED) == 0;
#endif
        keeps = fr_sieve_is_on() && runs;
        after = (word & ~FR_OP_TOKEN) | (runs ? FR_OP_CLAIMED : 0);
        /* [op.token] pairs [op.count_down], [op.finish], [destroy.op], [op.leave_parked] : the op
         * runs after its producers; its record goes after it ran */
    } while (!keeps && !fr_cas_acq_rel(&op->word, &word, after));
    if (keeps)
        fr_sieve_keep(token);
    else if (runs) {
        fr_worker_begin(worker);
        fr_solo_run(graph, op, worker);
    } else {
        if ((word & FR_OP_FINISHED) != 0) {
            (void)fr_sub_relaxed(&graph->stale_tokens, 1);
            fr_solo_retire(graph, op, slot);
        }
        fr_waiters_look_at_conditions(&graph->waiters); /* destroy waits for tokens */
    }
    fr_graph_leave(graph, slot);
}
