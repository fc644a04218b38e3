/* A deque of tokens: its owner pushes and pops at the bottom, thieves steal from the top.
 *
 * The Chase-Lev deque with a growable ring, in its C11 form, with the ring published by release and
 * read by acquire: a thief that sees the new ring must also see the tokens copied into it.
 *
 * Threads: push and pop by the owner alone; steal, looks_empty and size by anyone. init and destroy
 * by nobody beside.
 *
 * Invariants:
 *   top only grows, by one for every token stolen or popped as the last one: who moves it owns that
 * token. bottom is written by the owner alone. Tokens are at [top, bottom), the one at index i in
 * slot i & mask. A pop that may meet a thief at the last token decides by the same compare-and-swap
 * of top as the thief. A ring, once published, is never written at an index that a thief may still
 * read: push writes at bottom, which is below top + size, and after growing only the new ring is
 * written.
 *
 * Progress: push and pop are wait-free but for the allocation of a larger ring; a steal that loses
 * says so (retry), and then another thread has taken a token.
 *
 * Memory bound: nothing until the first push; then rings of doubling size, the largest below twice
 * the most tokens ever held at once (or the smallest ring). A thief may still read a ring that was
 * replaced, so those stay chained until destroy. Their sizes add up to less than the newest one's,
 * so the whole is below four slots a token held. */
#ifndef FR_SCHEDULER_DEQUE_H
#define FR_SCHEDULER_DEQUE_H

#include "scheduler/atomic.h"
#include "scheduler/memory.h"

typedef struct fr_runnable fr_runnable;
typedef struct fr_deque_ring fr_deque_ring;

/* Slots of the first ring. Under sanitizers so few that growing is the common case. */
#ifdef FR_SHRINK
#define FR_DEQUE_FIRST_SLOTS 4
#else
#define FR_DEQUE_FIRST_SLOTS 256
#endif

typedef struct fr_deque {
    /* Word map: all 64 bits are an index that only grows. Set by the winner of a steal or of the
     * last pop. */
    FR_ALIGNED_LINE _Atomic int64_t top;
    /* Word map: all 64 bits are an index. Set by the owner; a pop that finds nothing sets it back.
     */
    FR_ALIGNED_LINE _Atomic int64_t bottom;
    _Atomic(fr_deque_ring *)
        ring; /* set by the owner in a push that grows; NULL before the first push */
    int64_t
        top_seen; /* owner's: top was here at least, so a push need not read the thieves' line */
    const fr_allocator *allocator;
} fr_deque;

_Static_assert(offsetof(fr_deque, bottom) - offsetof(fr_deque, top) >= FR_CACHE_LINE_BYTES,
               "thieves write top, the owner writes bottom: not the same cache line");

typedef enum fr_deque_steal_result {
    FR_DEQUE_EMPTY,
    FR_DEQUE_SUCCESS,
    FR_DEQUE_RETRY /* another thread took the token that was aimed at; there may be more */
} fr_deque_steal_result;

/* Allocates nothing. */
void fr_deque_init(fr_deque *deque, const fr_allocator *allocator);
/* Gives the rings back. No token may be inside, no thread beside. */
void fr_deque_destroy(fr_deque *deque);

/* False when the ring is full and cannot grow: nothing has changed, and the caller gives the token
 * to the intake. */
bool fr_deque_push(fr_deque *deque, fr_runnable *token);
/* A push in two steps, for many tokens and one publication: puts a token behind those that were put
 * since the last publish (`ahead` of them), where nobody sees it; publish pushes the first `count`
 * of them. Without publish they were never there. False as push. */
bool fr_deque_put(fr_deque *deque, int64_t ahead, fr_runnable *token);
void fr_deque_publish(fr_deque *deque, int64_t count);
/* The token pushed last, or NULL. */
fr_runnable *fr_deque_pop(fr_deque *deque);
/* The token pushed first. Sets *token only on success. */
fr_deque_steal_result fr_deque_steal(fr_deque *deque, fr_runnable **token);

/* How many tokens there were at some moment during the call; exact for the owner if nobody steals.
 */
int64_t fr_deque_size(const fr_deque *deque);

#endif
