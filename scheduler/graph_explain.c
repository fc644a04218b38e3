/* Why an op is not complete, one step at a time: for texts, not for decisions. What is said was so
 * at some moment during the call. */
#include "scheduler/graph_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Under admission: a report speaks for its op as long as that is pending. */
static fr_op *fr_explain_own(fr_graph *graph, fr_op *op)
{
    if ((fr_load_relaxed(&op->word) & FR_OP_REPORT) == 0)
        return op;
    fr_op *own = fr_op_table_pending_op(&graph->table, op->id - 1);
    return own ? own : op;
}

/* Under admission: by what clients know the first producer that is pending, 0: none is. *op is NULL
 * afterwards when it has completed itself. */
static uint64_t fr_explain_producer(fr_graph *graph, fr_op **op, uint32_t *left)
{
    if ((fr_load_relaxed(&(*op)->word) & FR_OP_HAS_EDGES) == 0)
        return 0;
    const fr_edge_block *block = (*op)->producers;
    for (uint32_t k = block->done_prefix; k < block->count; k++) {
        const fr_op *producer = fr_op_table_pending_op(&graph->table, block->edges[k].producer_id);
        if (producer)
            return fr_op_known_id(producer);
        *op = fr_graph_give_way_at_op(graph, *op, left);
        if (!*op)
            return 0;
    }
    return 0;
}

/* Under admission: what an op says itself that has split, or is parked, and that nobody runs.
 * False: it has not, or says nothing. */
static bool fr_explain_elsewhere(const fr_op *op, bool claimed, fr_explanation *out)
{
    /* [explain.split] pairs [op.settle], [op.settle_solo], [op.leave_parked] : its payload is as
     * run has left it */
    uint64_t word = fr_load_acquire(&op->word);
    bool split = claimed && (word & FR_OP_SETTLED) != 0 && (word & FR_OP_ENDED) == 0;
    bool parked = !claimed && fr_op_is_parked(word);
    if (!op->type->tell || !(parked || (split && !op->type->help)))
        return false;
    op->type->tell(op, out->what, sizeof(out->what));
    return true;
}

static void fr_explain_op(fr_graph *graph, fr_op *op, fr_explanation *out)
{
    uint64_t word = fr_load_relaxed(&op->word);
    bool solo = (word & FR_OP_SOLO) != 0, claimed = (word & FR_OP_CLAIMED) != 0;
    out->ordinal = fr_op_told_ordinal(op);
    out->has_ordinal = !solo || out->ordinal != 0;
    out->is_large = (word & FR_OP_LARGE) != 0;
    if (!solo) {
        fr_lane *lane = op->place.in_lane.lane;
        const fr_op *first = fr_lane_first_pending(graph, lane);
        if (first && first != op && first->id < out->id) {
            out->why = FR_WHY_BEHIND;
            out->next_id = fr_op_known_id(first);
            return;
        }
        claimed = (fr_load_relaxed(&lane->word) & FR_LANE_DRAINER) != 0;
    }
    uint32_t left = FR_LOOKS_PER_LOCK;
    out->next_id = fr_explain_producer(graph, &op, &left);
    if (!op)
        out->why = FR_WHY_COMPLETE;
    else if (out->next_id != 0)
        out->why = FR_WHY_PRODUCER;
    else if (fr_explain_elsewhere(op, claimed, out))
        out->why = FR_WHY_ELSEWHERE;
    else
        out->why = claimed ? FR_WHY_RUNNING : FR_WHY_NOBODY;
}

void fr_graph_explain(fr_graph *graph, uint64_t id,
                      const char *(*name_of)(const fr_op *, const char *), fr_explanation *out)
{
    memset(out, 0, sizeof(*out));
    out->id = id;
    fr_mutex_lock(&graph->admission);
    fr_op *op = fr_op_table_pending_op(&graph->table, id);
    if (op) {
        op = fr_explain_own(graph, op);
        id = op->id;
        out->type_name = op->type->name;
        out->name = name_of(op, op->type->name);
        fr_explain_op(graph, op, out);
    }
    fr_mutex_unlock(&graph->admission);
    if (out->why != FR_WHY_RUNNING)
        return;
    fr_frame_description frame;
    if (!fr_frame_describe(graph, id, &frame))
        return;
    out->why = FR_WHY_WAITS_INSIDE;
    out->next_id = frame.same_graph ? frame.awaited_id : 0;
    memcpy(out->what, frame.what, sizeof(frame.what));
    if (out->what[0] == 0 && out->next_id == 0)
        (void)snprintf(out->what, sizeof(out->what), "operation 0x%" PRIx64 " of another instance",
                       frame.awaited_id);
}
