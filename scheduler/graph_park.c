/* Parking: an op waits for something that no op stands for, and no thread waits with it.
 *
 * What it waits for is one more of its deps. So the states of a parked op are those of one with
 * edges, and so is all that leads from one to the next:
 *
 *   runs      its drainer, or who has claimed it, is in run. deps: 0, or the own share
 *   parks     run has added the share that resume ends, and sees to the own share; it returns. From
 *             here on anybody may resume it
 *   waits     who has run it has given its own share back, in a lane after it has left it blocked.
 *             deps: the share that resume ends
 *   runnable  whoever ended the last share pushes the token, wakes who sleeps for this, and lets
 *             conditions look
 *
 * Invariants:
 *   The share of a park is ended once, by resume; the own one by who has run the op. Whoever ends
 *   the last of the two makes it runnable, so none is lost, whichever comes first. Where the first
 *   was resume, who has run it finds its own share alone, and runs it again at once.
 *   Nobody runs a parked op: its lane is blocked; a solo op is not claimed while deps is above 0.
 *   Its token, if that is out still from when a waiting thread ran ahead of it, finds nothing, and
 *   is not pushed a second time.
 *   Resume runs nothing and takes no lock but those of sleepers: a look may resume, and so may who
 *   holds nothing but his own op. Who comes to run what is runnable does the rest: workers, waits
 *   and polls of this graph, tasks that wait, destroy, which drops it.
 *
 * Threads: park by who runs the op; resume by any. Progress: one atomic step, and what
 * fr_graph_push does. Memory bound: none. */
#include "scheduler/graph_internal.h"

void fr_op_park(fr_op *op)
{
    /* Relaxed: nobody else changes deps or the flag, and who resumes it knows of it from this
     * thread, by a step that orders. */
    uint64_t word = fr_load_relaxed(&op->word);
    uint64_t shares = (word & FR_OP_DEPS_MASK) == 0 ? 2 : 1;
    (void)fr_add_relaxed(&fr_op_graph(op)->parked, 1);
    (void)fr_add_relaxed(&op->word, shares + ((word & FR_OP_PARKED) == 0 ? FR_OP_PARKED : 0));
}

void fr_graph_op_resume(fr_graph *graph, fr_op *op)
{
    fr_graph_slot *slot = fr_graph_enter(graph, NULL);
    (void)fr_sub_relaxed(&graph->parked, 1);
    if (fr_op_count_down(graph, op, 1))
        fr_graph_push(graph, &op->place.token);
    fr_graph_leave(graph, slot);
}

bool fr_solo_is_resumed(fr_op *op)
{
    uint64_t word = fr_load_relaxed(&op->word), after;
    bool resumed;
    do {
        resumed = (word & FR_OP_DEPS_MASK) == 1;
#ifdef FR_MUTATE_PARK_IS_LEFT
        resumed = false;
#endif
        after = resumed ? word - 1 : (word - 1) & ~FR_OP_CLAIMED;
        /* [op.leave_parked] pairs [op.count_down], [op.claim], [op.token], [explain.split] : who
         * runs it next comes after this thread, and this one, if it goes on, after who resumed it
         */
    } while (!fr_cas_acq_rel(&op->word, &word, after));
    return resumed;
}
