/* The record of one accepted op, and its word.
 *
 * Internal to the graph: others see graph.h.
 *
 *    byte   0..23   place in a lane (next, lane, ...), or the token of a solo op
 *    byte  24..63   type, id, users, word, entry in the table
 *    byte  64..223  payload
 *    byte 224..255  producers, failure, links of the solo list
 *
 * A short op without edges touches the first line and as much of the payload as it uses.
 *
 * A solo op is a lane of its own: it has no ordinal, or is a seal.
 *
 * Word map of `word`:
 *
 *    63 62 61 60 59 58 57 56 55 54 53 52 51 50 49 48 47        32 31             0
 *   +-----+--+--+--+--+--+--+--+--+--+--+--+--+--+--+------------+----------------+
 *   |  0  |H |K |P |R |B |X |L |E |G |S |W |F |T |C |  helpers   |      deps      |
 *   +-----+--+--+--+--+--+--+--+--+--+--+--+--+--+--+------------+----------------+
 *   field      set by                                cleared by
 *   deps       submit: edges, and one share of the   each producer that completes (-1); the own
 *              op itself, that keeps it above zero   share: submit for a solo op; in a lane the
 *              until somebody is ready for zero;     drainer that blocks for the op's edges; of an
 *              run, when it parks: one that resume   op that parks, who has run it; resume
 *              ends, and the own share if it has
 *              none any more
 *   helpers    a waiter that helps a split op (+1)   the same (-1)
 *   C claimed  who will run the solo op              who has run it, when it has parked and is not
 *                                                    resumed yet
 *   T token    who brings deps of a solo op to       who took the token
 *              zero, in that same step
 *   F finished who completed the solo op             -
 *   W waiters  a waiter about to sleep on the solo   who brings deps to zero, or finishes, in that
 *              op, under admission                   same step; it wakes them
 *   S settled  the drainer whose op has split        -
 *   G ended    who finishes a split op               -
 *   E edges    submit: `producers` holds ids         -
 *   L solo     submit                                -
 *   X failed   the first thread that makes it fail;  -
 *              it writes `failure` before the op
 *              can end
 *   B large    submit: run may work long             -
 *   R reported submit: the next id is its report's,  -
 *              and the only one that clients have
 *   P report   submit: it runs, though its op failed -
 *   K parked   run, the first time that it parks:    -
 *              its producers are all complete
 *   H hidden   submit: a part of an op that clients  -
 *              know, and counted nowhere
 *
 * Bits that are never cleared end with the record's use: get starts again from 0.
 *
 * Invariants:
 *   The op may run when deps is zero, or is 1 and that is its own share (an op in a lane at which
 *   its drainer looks).
 *   A split op is completed by the step that makes it S and G without helpers: exactly one does.
 *   A record goes back when an op was counted out of its lane, or when a solo op is F without T.
 *   An op that parks goes to sleep and wakes as one with edges does (graph_park.c). */
#ifndef FR_SCHEDULER_OP_H
#define FR_SCHEDULER_OP_H

#include "scheduler/graph.h"

typedef struct fr_lane fr_lane;
typedef struct fr_edge_block fr_edge_block;

#define FR_OP_DEPS_MASK UINT64_C(0xffffffff)
#define FR_OP_HELPER_ONE (UINT64_C(1) << 32)
#define FR_OP_HELPERS_MASK (UINT64_C(0xffff) << 32)
#define FR_OP_CLAIMED (UINT64_C(1) << 48)
#define FR_OP_TOKEN (UINT64_C(1) << 49)
#define FR_OP_FINISHED (UINT64_C(1) << 50)
#define FR_OP_WAITERS (UINT64_C(1) << 51)
#define FR_OP_SETTLED (UINT64_C(1) << 52)
#define FR_OP_ENDED (UINT64_C(1) << 53)
#define FR_OP_HAS_EDGES (UINT64_C(1) << 54)
#define FR_OP_SOLO (UINT64_C(1) << 55)
#define FR_OP_HAS_FAILED (UINT64_C(1) << 56)
#define FR_OP_LARGE (UINT64_C(1) << 57)
#define FR_OP_REPORTED (UINT64_C(1) << 58)
#define FR_OP_REPORT (UINT64_C(1) << 59)
#define FR_OP_PARKED (UINT64_C(1) << 60)
#define FR_OP_HIDDEN (UINT64_C(1) << 61)

_Static_assert(FR_OP_DEPS_MASK < FR_OP_HELPER_ONE, "deps must not run into the helpers");
_Static_assert(FR_OP_HELPERS_MASK < FR_OP_CLAIMED, "helpers must not run into the flags");

struct fr_op {
    FR_ALIGNED_LINE union {
        struct {
            _Atomic(fr_op *) next; /* in the lane; written under admission, read by the drainer */
            fr_lane *lane;
            uint64_t previous_dependent; /* id of the op with edges before it in the lane, or 0 */
        } in_lane;
        fr_runnable token;
    } place;
    const fr_op_type *type;
    uint64_t id;
    _Atomic(uintptr_t) users; /* edge.h */
    _Atomic uint64_t word;
    union {
        _Atomic uint64_t *entry; /* in the op table, until the op has completed */
        fr_op *next_free;        /* in a list of records, afterwards */
    } table;
    unsigned char payload[FR_OP_PAYLOAD_BYTES];
    fr_edge_block *producers;         /* of no meaning without FR_OP_HAS_EDGES */
    _Atomic uint64_t failure;         /* 0, or what its table entry will be (op_table.h) */
    fr_op *solo_next, *solo_previous; /* of pending solo ops, under admission */
};

#define FR_OP_BYTES 256
_Static_assert(sizeof(fr_op) == FR_OP_BYTES, "four cache lines");
_Static_assert(offsetof(fr_op, payload) == FR_CACHE_LINE_BYTES, "the payload starts a line");

static inline bool fr_op_has_failed(const fr_op *op)
{
    return (fr_load_relaxed(&op->word) & FR_OP_HAS_FAILED) != 0;
}

/* Whether it waits for what no op stands for, and nobody runs it meanwhile. */
static inline bool fr_op_is_parked(uint64_t word)
{
    return (word & FR_OP_PARKED) != 0 && (word & FR_OP_DEPS_MASK) > 0;
}

/* By what clients know a pending op, or one that runs. */
static inline uint64_t fr_op_known_id(const fr_op *op)
{
    return op->id + ((fr_load_relaxed(&op->word) & FR_OP_REPORTED) != 0);
}

/* Fetches both lines that a short op touches. NULL is fine. */
static inline void fr_op_prefetch(const fr_op *op)
{
    uintptr_t at = (uintptr_t)op;
    fr_prefetch_write((const void *)at);
    fr_prefetch_write((const void *)(at + FR_CACHE_LINE_BYTES));
}

/* Those of the record behind it in memory: records that were made together mostly run one behind
 * the other, and with a long queue a look at this one comes too late to fetch that one in time.
 * With a short queue it is being written by who submits it. */
static inline void fr_op_prefetch_behind(const fr_op *op)
{
    fr_op_prefetch((const fr_op *)((uintptr_t)op + FR_OP_BYTES));
}

#endif
