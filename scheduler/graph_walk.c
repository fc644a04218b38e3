/* Walks through the chain of an op: all that it waits for, directly or not.
 *
 * The chain of an op is itself, the ops before it in its lane, their producers, what ops among
 * these wait for from inside, and the chains of all of these. It may lead through several graphs:
 * the frames of waits inside ops join them.
 *
 * A walk takes the admission of one graph at a time, and gives it back every few steps; between
 * them it knows ops by their ids alone. That is enough: the chain of an accepted op never grows but
 * by a wait inside an op, and all of these enter under the lock of the frames, which a walk that
 * looks for a cycle holds from its beginning to its end. What leads to a frame cannot complete
 * meanwhile either. So of several waits that close a cycle together the last one finds it, and none
 * that is there for a moment only is ever found.
 *
 * A stamp in the blocks of edges keeps a walk from looking twice; where another one has been in
 * between it looks again. Of a lane, only ops with edges are looked at one by one.
 *
 * Locks: frames, then the admission of one graph. Memory bound: 24 bytes for each op with several
 * producers on the way down; the first ones need none. */
#include "scheduler/graph_internal.h"

#include <stdio.h>
#include <string.h>

/* A walk that only informs takes so many steps. */
#define FR_WALK_BUDGET 1024u
/* Steps, and producers looked at in one of them, between two looks of others at admission. */
#define FR_WALK_STEPS_PER_LOCK 64u
#define FR_WALK_PRODUCERS_PER_STEP 64u
#ifdef FR_SHRINK
#define FR_WALK_INLINE 2u
#else
#define FR_WALK_INLINE 32u
#endif

static struct {
    fr_mutex lock; /* guards the list and the frames in it */
    fr_wait_frame *first;
    _Atomic uint64_t count;  /* written under the lock; who only informs looks without */
    _Atomic uint64_t stamps; /* given out; 64 bits do not wrap */
} fr_frames;

typedef struct fr_walk_node {
    fr_graph *graph;
    uint64_t id;
    uint32_t
        next_producer; /* 0: the op was not looked at yet; else this many producers were, + 1 */
} fr_walk_node;

typedef struct fr_walk {
    uint64_t stamp;
    const fr_allocator *allocator;
    fr_graph *graph; /* of the ids that it starts from */
    const uint64_t *ids;
    size_t count, next;
    bool sees_frames;
    const fr_wait_frame *frame; /* whose ids are gone through */
    size_t frame_next;
    fr_wait_frame *frames; /* to be gone through */
    uint64_t budget;       /* steps */
    uint64_t lowest;
    const fr_running *running; /* looked for; NULL: nothing */
    const fr_graph
        *room_of; /* so is a wait for a condition that needs ops of this graph; or NULL */
    bool found, no_memory;
    fr_walk_node *nodes;
    size_t depth, capacity;
    fr_walk_node few[FR_WALK_INLINE];
} fr_walk;

static void fr_walk_begin(fr_walk *walk, fr_graph *graph, const uint64_t *ids, size_t count)
{
    walk->stamp = fr_add_relaxed(&fr_frames.stamps, 1) + 1;
    walk->allocator = &graph->allocator;
    walk->graph = graph;
    walk->ids = ids;
    walk->count = count;
    walk->next = 0;
    walk->sees_frames = true;
    walk->frame = NULL;
    walk->frame_next = 0;
    walk->frames = NULL;
    walk->budget = UINT64_MAX;
    walk->lowest = UINT64_MAX;
    walk->running = NULL;
    walk->room_of = NULL;
    walk->found = walk->no_memory = false;
    walk->nodes = walk->few;
    walk->depth = 0;
    walk->capacity = FR_WALK_INLINE;
}

/* The graph of a frame without ids may be on its way out, that of its running op is not. */
static void fr_walk_begin_at_frame(fr_walk *walk, const fr_wait_frame *frame)
{
    if (frame->kind == FR_FRAME_OPS)
        fr_walk_begin(walk, frame->graph, frame->ids, frame->id_count);
    else
        fr_walk_begin(walk, fr_op_graph(frame->running->op), NULL, 0);
}

static void fr_walk_end(const fr_walk *walk)
{
    if (walk->nodes != walk->few)
        fr_memory_release(walk->allocator, walk->nodes, walk->capacity * sizeof(fr_walk_node));
}

/* Without admission. */
static bool fr_walk_make_room(fr_walk *walk)
{
    size_t capacity = walk->capacity * 2;
    fr_walk_node *nodes =
        fr_memory_allocate(walk->allocator, capacity * sizeof(fr_walk_node), _Alignof(max_align_t));
    if (!nodes)
        return false;
    memcpy(nodes, walk->nodes, walk->depth * sizeof(fr_walk_node));
    fr_walk_end(walk);
    walk->nodes = nodes;
    walk->capacity = capacity;
    return true;
}

static void fr_walk_push(fr_walk *walk, fr_graph *graph, uint64_t id)
{
    walk->nodes[walk->depth++] = (fr_walk_node){graph, id, 0};
}

/* --- who is waiting --------------------------------------------------------------------------- */

static bool fr_op_is_solo(const fr_op *op)
{
    return (fr_load_relaxed(&op->word) & FR_OP_SOLO) != 0;
}

/* True when `op` is `before` or comes behind it in the same lane. */
static bool fr_op_is_at_or_behind(const fr_op *op, const fr_op *before)
{
    if (op == before)
        return true;
    return !fr_op_is_solo(op) && !fr_op_is_solo(before) &&
           op->place.in_lane.lane == before->place.in_lane.lane && op->id > before->id;
}

/* True when `op` is, or comes in its lane behind, one of those that a thread is running. */
static bool fr_op_waits_for_running(const fr_graph *graph, const fr_op *op,
                                    const fr_running *running)
{
    for (; running; running = running->outer)
        if (fr_op_graph(running->op) == graph && fr_op_is_at_or_behind(op, running->op))
            return true;
    return false;
}

static bool fr_running_is_of(const fr_running *running, const fr_graph *graph)
{
    for (; running; running = running->outer)
        if (fr_op_graph(running->op) == graph)
            return true;
    return false;
}

/* Waits, for as long as it takes, until enough ops of the graph have completed. */
static bool fr_frame_needs_ops_of(const fr_wait_frame *frame, const fr_graph *graph)
{
    const fr_condition *condition = frame->condition;
    return frame->kind == FR_FRAME_CONDITION && frame->graph == graph && !frame->ends_by_itself &&
           condition->needs_ops && condition->needs_ops(condition->user) &&
           !condition->ready(condition->user);
}

static void fr_walk_add_frame(fr_walk *walk, fr_wait_frame *frame)
{
    if (frame->walk_stamp == walk->stamp)
        return;
    frame->walk_stamp = walk->stamp;
    if (walk->room_of && fr_frame_needs_ops_of(frame, walk->room_of))
        walk->found = true;
    frame->walk_next = walk->frames;
    walk->frames = frame;
}

/* --- steps, under the admission of the node's graph ------------------------------------------- */

static void fr_walk_look_at(fr_walk *walk, fr_graph *graph, const fr_op *op)
{
    if (fr_op_known_id(op) < walk->lowest)
        walk->lowest = fr_op_known_id(op);
    if (fr_op_waits_for_running(graph, op, walk->running))
        walk->found = true;
    if (!walk->sees_frames)
        return;
    for (fr_wait_frame *frame = fr_frames.first; frame; frame = frame->next)
        if (fr_op_waits_for_running(graph, op, frame->running))
            fr_walk_add_frame(walk, frame);
}

const fr_op *fr_lane_first_pending(const fr_graph *graph, fr_lane *lane)
{
    /* [lane.walk] pairs [lane.settle] : the first op is one that is not counted out before this
     * moment */
    (void)fr_load_acquire(&lane->word);
    const fr_op *first = fr_load_relaxed(&lane->first);
    for (uint32_t k = 0; first && k < FR_DRAIN_BATCH;
         k++) { /* ops of the drainer's batch that are complete */
        if (fr_op_table_pending_op(&graph->table, first->id) == first)
            return first;
        first = fr_load_relaxed(&first->place.in_lane.next);
    }
    return NULL;
}

/* The lowest id of a lane is its first one's that is pending. */
static void fr_walk_look_at_lane(fr_walk *walk, const fr_graph *graph, const fr_op *op)
{
    const fr_op *first = fr_lane_first_pending(graph, op->place.in_lane.lane);
    if (first && fr_op_known_id(first) < walk->lowest)
        walk->lowest = fr_op_known_id(first);
}

/* What is to be looked at after the node's producers: ops of a lane complete in order, so the first
 * one that has completed ends the search. */
static void fr_walk_leave(fr_walk *walk, const fr_op *op)
{
    fr_walk_node *node = &walk->nodes[walk->depth - 1];
    uint64_t before = fr_op_is_solo(op) ? 0 : op->place.in_lane.previous_dependent;
    if (before == 0) {
        walk->depth--;
        return;
    }
    node->id = before;
    node->next_producer = 0;
}

static void fr_walk_producers(fr_walk *walk, const fr_op *op)
{
    fr_walk_node *node = &walk->nodes[walk->depth - 1];
    fr_graph *graph = node->graph;
    const fr_edge_block *block = op->producers;
    uint32_t k = node->next_producer - 1;
    if (k < block->done_prefix)
        k = block->done_prefix;
    uint32_t end = block->count;
    if (end - k > FR_WALK_PRODUCERS_PER_STEP)
        end = k + FR_WALK_PRODUCERS_PER_STEP;
    while (k < end && !fr_op_table_pending_op(&graph->table, block->edges[k].producer_id))
        k++;
    node->next_producer = k + 1;
    if (k == block->count)
        fr_walk_leave(walk, op);
    if (k == end)
        return;
    uint64_t producer_id = block->edges[k].producer_id;
    node->next_producer = k + 2;
    if (k + 1 == block->count) /* so a chain of any length needs no room */
        fr_walk_leave(walk, op);
    fr_walk_push(walk, graph, producer_id);
}

static void fr_walk_step(fr_walk *walk)
{
    fr_walk_node *node = &walk->nodes[walk->depth - 1];
    fr_op *op = fr_op_table_pending_op(&node->graph->table, node->id);
    if (!op) {
        walk->depth--;
        return;
    }
    bool has_edges = (fr_load_relaxed(&op->word) & FR_OP_HAS_EDGES) != 0;
    if (node->next_producer == 0) {
        node->next_producer = 1;
        fr_walk_look_at(walk, node->graph, op);
        if (!fr_op_is_solo(op))
            fr_walk_look_at_lane(walk, node->graph, op);
        if (has_edges && op->producers->walk_stamp == walk->stamp) {
            walk->depth--;
            return;
        }
        if (has_edges)
            op->producers->walk_stamp = walk->stamp;
    }
    if (has_edges)
        fr_walk_producers(walk, op);
    else
        fr_walk_leave(walk, op);
}

/* --- the walk --------------------------------------------------------------------------------- */

/* Destroying a graph waits for all ops of it: those that wait themselves lead on. */
static void fr_walk_add_graph(fr_walk *walk, const fr_graph *graph)
{
    if (fr_running_is_of(walk->running, graph))
        walk->found = true;
    for (fr_wait_frame *frame = fr_frames.first; frame; frame = frame->next)
        if (fr_running_is_of(frame->running, graph))
            fr_walk_add_frame(walk, frame);
}

/* The next op to walk from; false when there is none. */
static bool fr_walk_next_start(fr_walk *walk)
{
    for (;;) {
        const fr_wait_frame *frame = walk->frame;
        if (frame && frame->kind == FR_FRAME_OPS && walk->frame_next < frame->id_count) {
            fr_walk_push(walk, frame->graph, frame->ids[walk->frame_next++]);
            return true;
        }
        if (walk->frames) {
            walk->frame = walk->frames;
            walk->frame_next = 0;
            walk->frames = walk->frames->walk_next;
            if (walk->frame->kind == FR_FRAME_DROP)
                fr_walk_add_graph(walk, walk->frame->graph);
            continue;
        }
        walk->frame = NULL;
        if (walk->next == walk->count)
            return false;
        fr_walk_push(walk, walk->graph, walk->ids[walk->next++]);
        return true;
    }
}

static void fr_walk_to_end(fr_walk *walk)
{
    while (!walk->found && walk->budget > 0) {
        if (walk->depth == 0 && !fr_walk_next_start(walk))
            return;
        if (walk->depth == walk->capacity && !fr_walk_make_room(walk)) {
            walk->no_memory = true;
            return;
        }
        fr_graph *graph = walk->nodes[walk->depth - 1].graph;
        fr_mutex_lock(&graph->admission);
        for (uint32_t k = 0; k < FR_WALK_STEPS_PER_LOCK && !walk->found && walk->budget > 0 &&
                             walk->depth > 0 && walk->depth < walk->capacity;
             k++) {
            walk->budget--;
            fr_walk_step(walk);
        }
        fr_mutex_unlock(&graph->admission);
    }
}

uint64_t fr_graph_lowest_pending(fr_graph *graph, const uint64_t *ids, size_t count)
{
    fr_walk walk;
    fr_walk_begin(&walk, graph, ids, count);
    walk.budget = FR_WALK_BUDGET;
    walk.sees_frames = fr_load_relaxed(&fr_frames.count) > 0;
    if (walk.sees_frames)
        fr_mutex_lock_long(&fr_frames.lock);
    fr_walk_to_end(&walk);
    if (walk.sees_frames)
        fr_mutex_unlock_long(&fr_frames.lock);
    fr_walk_end(&walk);
    return walk.lowest;
}

/* --- frames ----------------------------------------------------------------------------------- */

static fr_chain_answer fr_walk_answer(const fr_walk *walk)
{
    if (walk->found)
        return FR_CHAIN_CLOSED;
    return walk->no_memory ? FR_CHAIN_NO_MEMORY : FR_CHAIN_OPEN;
}

fr_chain_answer fr_frame_enter(fr_wait_frame *frame, uint64_t *cycle_id)
{
    fr_walk walk;
    fr_walk_begin_at_frame(&walk, frame);
    walk.running = frame->running;
    fr_mutex_lock_long(&fr_frames.lock);
    if (frame->kind == FR_FRAME_DROP)
        fr_walk_add_graph(&walk, frame->graph);
    fr_walk_to_end(&walk);
    fr_chain_answer answer = fr_walk_answer(&walk);
    if (answer == FR_CHAIN_OPEN) {
        frame->walk_stamp = 0;
        frame->previous = NULL;
        frame->next = fr_frames.first; /* the innermost frame of a thread comes first */
        if (frame->next)
            frame->next->previous = frame;
        fr_frames.first = frame;
        fr_store_relaxed(&fr_frames.count, fr_load_relaxed(&fr_frames.count) + 1);
    }
    fr_mutex_unlock_long(&fr_frames.lock);
    *cycle_id = walk.next > 0 ? frame->ids[walk.next - 1] : 0;
    fr_walk_end(&walk);
    return answer;
}

void fr_frame_leave(fr_wait_frame *frame)
{
    fr_mutex_lock_long(&fr_frames.lock);
    *(frame->previous ? &frame->previous->next : &fr_frames.first) = frame->next;
    if (frame->next)
        frame->next->previous = frame->previous;
    fr_store_relaxed(&fr_frames.count, fr_load_relaxed(&fr_frames.count) - 1);
    fr_mutex_unlock_long(&fr_frames.lock);
}

static bool fr_frame_is_inside(const fr_wait_frame *frame, const fr_graph *graph, uint64_t id)
{
    for (const fr_running *running = frame->running; running; running = running->outer)
        if (fr_op_graph(running->op) == graph && running->op->id == id)
            return true;
    return false;
}

bool fr_frame_describe(const fr_graph *graph, uint64_t id, fr_frame_description *out)
{
    bool found = false;
    out->awaited_id = 0;
    out->what[0] = 0;
    fr_mutex_lock_long(&fr_frames.lock);
    for (const fr_wait_frame *frame = fr_frames.first; frame && !found; frame = frame->next) {
        found = fr_frame_is_inside(frame, graph, id);
        if (!found)
            continue;
        for (size_t k = 0; frame->kind == FR_FRAME_OPS && k < frame->id_count; k++)
            if (out->awaited_id == 0 &&
                fr_graph_op_state(frame->graph, frame->ids[k]) == FR_OP_PENDING)
                out->awaited_id = frame->ids[k];
        out->same_graph = frame->graph == graph;
        (void)snprintf(out->what, sizeof(out->what), "%s",
                       frame->kind == FR_FRAME_CONDITION ? frame->condition->what
                       : frame->kind == FR_FRAME_DROP    ? "the end of an instance"
                                                         : "");
    }
    fr_mutex_unlock_long(&fr_frames.lock);
    return found;
}

/* --- room ------------------------------------------------------------------------------------- */

/* The innermost frame of the thread that runs this op, or drains this lane. */
static fr_wait_frame *fr_frame_of(const fr_graph *graph, const fr_op *solo, const fr_lane *lane)
{
    for (fr_wait_frame *frame = fr_frames.first; frame; frame = frame->next)
        for (const fr_running *running = frame->running; running; running = running->outer) {
            const fr_op *op = running->op;
            if (op == solo || (lane && fr_op_graph(op) == graph && !fr_op_is_solo(op) &&
                               op->place.in_lane.lane == lane))
                return frame;
        }
    return NULL;
}

/* Stamps the frame of who runs the solo op or drains the lane. False: it waits for nothing. */
static bool fr_frame_stamp(const fr_graph *graph, const fr_op *solo, const fr_lane *lane,
                           uint64_t stamp)
{
    fr_wait_frame *frame = fr_frame_of(graph, solo, lane);
    if (frame)
        frame->walk_stamp = stamp;
    return frame != NULL;
}

/* Under admission: whether ops of the lane can be run, or are being run by who does not wait; adds
 * how many it has. */
static bool fr_lane_has_progress(const fr_graph *graph, const fr_lane *lane, uint64_t stamp,
                                 uint64_t *pending)
{
    /* [room.lane] pairs [lane.settle] : its drainer's frame */
    uint64_t word = fr_load_acquire(&lane->word);
    *pending += fr_lane_count(word);
    if (fr_lane_count(word) == 0)
        return false;
#ifdef FR_MUTATE_PARK_IS_NO_PROGRESS
    if ((word & FR_LANE_BLOCKED) != 0)
        return false;
#endif
    if ((word & FR_LANE_BLOCKED) != 0) /* one that has parked waits for no op */
        return (fr_load_relaxed(&fr_load_relaxed(&lane->first)->word) & FR_OP_PARKED) != 0;
    return (word & FR_LANE_DRAINER) == 0 || !fr_frame_stamp(graph, NULL, lane, stamp);
}

/* The same of a solo op that is not finished. */
static bool fr_solo_has_progress(const fr_graph *graph, const fr_op *op, uint64_t word,
                                 uint64_t stamp)
{
    if ((word & FR_OP_CLAIMED) == 0)
        return (word & FR_OP_DEPS_MASK) == 0 || (word & FR_OP_PARKED) != 0;
    return !fr_frame_stamp(graph, op, NULL, stamp);
}

/* Under admission, which others get in between: stamps the frames of threads that hold ops of the
 * graph. True when an op can be run or is being run, or was completed and not counted yet: who does
 * so looks for waiters. So does who completes an op or submits one meanwhile: what was seen before
 * need not be so any more then, which is told by the counts, or by an op that is gone. */
static bool fr_graph_has_progress(fr_graph *graph, uint64_t stamp)
{
    uint64_t pending = 0, completed = fr_graph_completed(graph);
    uint64_t accepted = fr_load_relaxed(&graph->accepted);
    uint32_t left = FR_LOOKS_PER_LOCK;
    for (fr_lane *lane = fr_lane_map_first(&graph->lanes); lane; lane = fr_lane_map_after(lane)) {
        lane = fr_graph_give_way_at_lane(graph, lane, &left);
        if (!lane)
            break;
        if (fr_lane_has_progress(graph, lane, stamp, &pending))
            return true;
    }
    for (fr_op *op = graph->records.solo_first; op; op = op->solo_next) {
        /* [room.op] pairs [op.finish] : as room.lane */
        uint64_t word = fr_load_acquire(&op->word);
        if ((word & FR_OP_FINISHED) != 0)
            continue;
        pending++;
        if (fr_solo_has_progress(graph, op, word, stamp))
            return true;
        op = fr_graph_give_way_at_op(graph, op, &left);
        if (!op)
            return true;
    }
    return fr_load_relaxed(&graph->accepted) != accepted ||
           fr_graph_completed(graph) != completed || pending != accepted - completed;
}

/* Whether the thread of the frame can go on before a wait for room of the graph has ended. */
static fr_chain_answer fr_frame_waits_for_room(fr_wait_frame *frame, const fr_graph *graph)
{
    if (frame->ends_by_itself)
        return FR_CHAIN_OPEN;
    if (frame->kind == FR_FRAME_CONDITION)
        return fr_frame_needs_ops_of(frame, graph) ? FR_CHAIN_CLOSED : FR_CHAIN_OPEN;
    fr_walk walk;
    fr_walk_begin_at_frame(&walk, frame);
    walk.room_of = graph;
    if (frame->kind == FR_FRAME_DROP)
        fr_walk_add_graph(&walk, frame->graph);
    fr_walk_to_end(&walk);
    fr_chain_answer answer = fr_walk_answer(&walk);
    fr_walk_end(&walk);
    return answer;
}

fr_chain_answer fr_frame_look_for_progress(fr_wait_frame *own)
{
    fr_graph *graph = own->graph;
    uint64_t stamp = fr_add_relaxed(&fr_frames.stamps, 1) + 1;
    fr_mutex_lock_long(&fr_frames.lock);
    fr_mutex_lock(&graph->admission);
    bool open = !fr_frame_needs_ops_of(own, graph) || fr_graph_has_progress(graph, stamp);
    fr_mutex_unlock(&graph->admission);
    fr_chain_answer answer = open ? FR_CHAIN_OPEN : FR_CHAIN_CLOSED;
    fr_wait_frame *holders = NULL; /* walks stamp frames anew */
    for (fr_wait_frame *frame = fr_frames.first; frame && !open; frame = frame->next)
        if (frame->walk_stamp == stamp) {
            frame->holder_next = holders;
            holders = frame;
        }
    for (; holders && answer == FR_CHAIN_CLOSED; holders = holders->holder_next)
        answer = fr_frame_waits_for_room(holders, graph);
    fr_mutex_unlock_long(&fr_frames.lock);
    return answer;
}
