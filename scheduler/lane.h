/* A lane: the pending ops of one ordinal, run one at a time in the order of their acceptance.
 *
 * Word map of `word`:
 *
 *    63           32 31      5  4  3  2  1  0
 *   +---------------+---------+--+--+--+--+--+
 *   |     count     |    0    |R |W |B |T |D |
 *   +---------------+---------+--+--+--+--+--+
 *   field      set by                                  cleared by
 *   count      join, under admission (+1)              the drainer, for ops that it has completed
 *   D drainer  who takes the right to drain            the drainer that leaves or blocks
 *   T token    who makes the lane runnable and will    who took the token
 *              push: join, a leaving drainer, unblock
 *   B blocked  the drainer, when the first op has      the count-down that ends the last of them
 *              edges left, or is parked
 *   W waiters  a waiter about to sleep, under          leave, block and unblock, in the same step;
 *              admission                               whoever cleared it wakes them
 *   R retired  who leaves the lane without ops: it     admission, when it uses the lane for another
 *              goes on the stack of idle lanes         ordinal, or finds it used again on the stack
 *
 * Invariants:
 *   count > 0 implies D, T or B: the lane will be run, or an edge is waited for.
 *   D and B exclude each other. Only the holder of D runs ops, changes `first` while count > 0,
 *   and counts down.
 *   A drainer leaves by a compare-and-swap of what it believes to be left: an op that joined
 *   meanwhile makes the swap fail. So who joins and sees D has nothing to do.
 *   join writes `first` when count is 0, else the `next` of the last op; its compare-and-swap fails
 *   when the drainer has counted that op out meanwhile.
 *   A lane is used for another ordinal only under admission, and only when its word was R, with or
 *   without T: no ops, no drainer, nobody asleep. A token that is out since then is one of the new
 *   ordinal; so what waiting threads run ahead of the workers takes no lane for each token that
 *   nobody has come to.
 *
 * Threads: join and announce under admission; claim, take_token and unblock by anyone; settle by
 * the drainer.
 *
 * Progress: all are compare-and-swap loops on one word, lock-free.
 *
 * Memory bound: see lane_map.h. */
#ifndef FR_SCHEDULER_LANE_H
#define FR_SCHEDULER_LANE_H

#include "scheduler/op.h"

#define FR_LANE_DRAINER UINT64_C(1)
#define FR_LANE_TOKEN UINT64_C(2)
#define FR_LANE_BLOCKED UINT64_C(4)
#define FR_LANE_WAITERS UINT64_C(8)
#define FR_LANE_RETIRED UINT64_C(16)
#define FR_LANE_COUNT_SHIFT 32
#define FR_LANE_ONE (UINT64_C(1) << FR_LANE_COUNT_SHIFT)

_Static_assert(FR_LANE_RETIRED < FR_LANE_ONE, "the flags stay below the count");

#define FR_LANE_LEVELS 8 /* of the skip list: a quarter of the lanes of each is in the next */

struct fr_lane {
    FR_ALIGNED_LINE _Atomic uint64_t word;
    _Atomic(fr_op *) first; /* the next op to run; holds while count > 0 */
    fr_runnable token;
    fr_graph *graph;
    fr_lane *next_retired; /* on the stack of idle lanes, and among free ones */

    /* Under admission. */
    FR_ALIGNED_LINE uint64_t ordinal;
    fr_op *last;             /* holds while count > 0 */
    uint64_t filter;         /* bits of the attributes of pending ops */
    uint64_t last_dependent; /* id of the newest op with edges, or 0 */
    uint32_t level_count;
    struct {
        fr_lane *next, *previous;
    } links[FR_LANE_LEVELS]; /* in the list by ordinal */
};

_Static_assert(sizeof(fr_lane) == (size_t)4 * FR_CACHE_LINE_BYTES, "a lane is four lines");
_Static_assert(offsetof(fr_lane, ordinal) == FR_CACHE_LINE_BYTES,
               "what drainers write stays apart from the list");

static inline uint32_t fr_lane_count(uint64_t word)
{
    return (uint32_t)(word >> FR_LANE_COUNT_SHIFT);
}

static inline fr_lane *fr_lane_of_token(fr_runnable *token)
{
    return (fr_lane *)(void *)((char *)token - offsetof(fr_lane, token));
}

/* True when it may be used for another ordinal, or need not be found any more. */
static inline bool fr_lane_is_idle(uint64_t word)
{
    return (word & ~FR_LANE_TOKEN) == FR_LANE_RETIRED;
}

/* True when the lane has something that anybody may run. */
static inline bool fr_lane_is_claimable(uint64_t word)
{
    return fr_lane_count(word) > 0 && (word & (FR_LANE_DRAINER | FR_LANE_BLOCKED)) == 0;
}

/* Under admission: appends op. True when the caller must push the token. */
bool fr_lane_join(fr_lane *lane, fr_op *op, uint64_t filter);
/* Takes the right to drain; false when somebody has it, or there is nothing to run. */
bool fr_lane_claim(fr_lane *lane);

typedef enum fr_lane_token_result {
    FR_LANE_TOKEN_DRAIN, /* the caller is the drainer now */
    FR_LANE_TOKEN_NOTHING,
    FR_LANE_TOKEN_RETIRE, /* the caller puts the lane on the stack of idle ones */
    FR_LANE_TOKEN_KEEP, /* it stays out: the lane can be drained, and the caller does not want to */
} fr_lane_token_result;
/* The token was taken. */
fr_lane_token_result fr_lane_take_token(fr_lane *lane, bool only_idle);

/* What a drainer does with the lane after it has completed some ops. */
typedef enum fr_lane_settle_mode {
    FR_LANE_GO_ON, /* stay the drainer when ops are left, else leave */
    FR_LANE_STAY,  /* stay the drainer */
    FR_LANE_LEAVE, /* leave, whatever is left */
    FR_LANE_BLOCK, /* the next op has edges left */
} fr_lane_settle_mode;

typedef struct fr_lane_settlement {
    uint64_t word;   /* after the step */
    uint64_t before; /* the flags that the step found */
} fr_lane_settlement;

/* Counts out `done` ops, the last of them `last_done` (NULL with done 0). */
fr_lane_settlement fr_lane_settle(fr_lane *lane, uint32_t done, const fr_op *last_done,
                                  fr_lane_settle_mode mode);

/* The last edge of the first op has ended. Returns the word before: without FR_LANE_TOKEN the
 * caller pushes the token; with FR_LANE_WAITERS it wakes them. */
uint64_t fr_lane_unblock(fr_lane *lane);

/* Under admission: says that a waiter will sleep until the lane changes hands; false when that may
 * have happened. `held`: one of these flags must still be set; 0: in any state. */
bool fr_lane_announce(fr_lane *lane, uint64_t held);

#endif
