/* Ops that wait without a thread: for a stream of ours, those whose producers are not done when as
 * many lanes as may be stalled are, and any when all streams have work of other lanes; or for room
 * in staging (staging.h), which those that are stalled and the others have each for themselves.
 *
 * States of an fr_stream_wait. All but `ready` change under the list lock of the device whose
 * streams are waited for:
 *
 *   none      nobody but its op knows it. It may have a stream
 *   waits     in the list of its kind, and in the calls of its producers' fence, if these are not
 *             done; that may be of another device
 *   given     a stream got free and is its now, taken; or there is room; out of the list
 *   ready     its producers are done: their call was made, or is. From now on other streams may do,
 *             and it waits no longer than for work that waits for nobody
 *
 * It ends to wait by one of these:
 *
 *   a stream gets free    by who gives it back, or by the look that finds the last of its work over
 *   one more is made      in place of one that has come to be stalled, by who has stalled it
 *   producers are done    by the look that finds their fence over
 *   a stream that was counted could not be made, or is of no use any more: all end to wait, by who
 *                         has tried, or given it up
 *   there is a stream after all, or room, when it is about to enter the list
 *   pinned memory is given back, and there is room: all of that list, by who gives it back
 *
 * Who resumes its op: the call of the fence, always when it is made; else who has ended its wait,
 * and has seen to it that the call is not made any more (fr_fence_forget). So it is one of the two,
 * once. It may be gone by the time that the other looks: so who ends the wait takes what it needs
 * to know under the lock, and a reference of the fence.
 *
 * Invariants:
 *   A stream that is neither taken nor has work is given to who waits for one that it may be, in
 * the same step in which it gets free: so whoever finds no stream, and none that may be made, under
 *   the lock, and enters the list then, has missed none. Which is why the limit counts streams as
 *   busy whose work is over and that nobody has looked at: the look that comes gives them away.
 *   What lets one more be made for work that waits for nobody is another stream that comes to be
 *   stalled: when it is taken for that, or turns. As long as any such work is parked, that one is
 *   made, and given to it, in the next steps of who has stalled the other.
 *   What is waited for is under way: fences are pending, which is watched (scheduler/watch.h), or a
 *   thread has the stream, and will give it back. No parked op holds a stream or a lock; nor pinned
 *   memory, but for what comes home, which it gives back when that is there, whatever others do.
 *   One that is given a stream uses it, or gives it back when it is dropped: then the next one has
 *   it. So destroy ends them all: it drops each that is resumed.
 *   The oldest of a kind comes first; those that are not stalled before those that are, for they
 *   are soon over.
 *   Room is nobody's: all that wait for it go on when there is some, for those that go on may find
 *   that they need none, and may be run late: a wait without workers runs no others. So it is not
 *   kept for the oldest, and each time that some is given back all that wait look again.
 *
 * Threads: all. Progress: a few steps under the lock; resume is one atomic step, and a token.
 * Memory: the record lies with its op. */
#ifndef FR_RUNTIME_DEVICE_PARK_H
#define FR_RUNTIME_DEVICE_PARK_H

#include "runtime/device/streams.h"
#include "scheduler/graph.h"

typedef struct fr_stream_wait fr_stream_wait;
typedef struct fr_stream_wait_list {
    fr_stream_wait *first, *last; /* oldest first */
} fr_stream_wait_list;

struct fr_stream_wait {
    fr_fence_call given; /* resumes it, after a look; first */
    fr_fence_call ready; /* the same, of the producers' fence */
    fr_stream_wait *next, *previous;
    fr_stream_wait_list *list; /* that it is in, or is about to enter */
    fr_opened *opened;
    fr_graph *graph;
    fr_op *op;
    fr_fence *dep; /* in whose calls it is; a reference, until its op goes on; or NULL */
    uint64_t lane;
    fr_stream_kind kind;
    bool waits, is_ready;
    fr_own_stream *stream; /* that was given to it, until it is used */
};

/* An op that waits for work of a device, and for nothing else. */
typedef struct fr_fence_wait {
    fr_fence_call call; /* first */
    fr_graph *graph;
    fr_op *op;
} fr_fence_wait;

/* Inside the op's run, which answers FR_RUN_PARKED; it may be resumed at once. */
void fr_fence_park(fr_fence_wait *wait, fr_fence *fence, fr_graph *graph, fr_op *op);

/* Those that wait, by kind. */
typedef struct fr_stream_waits {
    fr_stream_wait_list streams[FR_STREAM_GATE], room[FR_STREAM_GATE];
} fr_stream_waits;

/* Inside the op's run, which found no stream of that kind (fr_streams_take), and answers
 * FR_RUN_PARKED. dep: what its source depends on, or NULL. */
void fr_stream_park(fr_stream_wait *wait, fr_opened *opened, fr_stream_kind kind, uint64_t lane,
                    fr_fence *dep, fr_graph *graph, fr_op *op);
/* The same where there is no room for what is of that kind (fr_staging_has_room). */
void fr_stream_park_for_room(fr_stream_wait *wait, fr_opened *opened, fr_stream_kind kind,
                             fr_fence *dep, fr_graph *graph, fr_op *op);
/* The stream that it was given, if it is the device's; from now on the caller's. NULL: none. */
fr_own_stream *fr_stream_wait_take(fr_stream_wait *wait, const fr_opened *opened);
/* By the op's drop: what it was given and has not used. */
void fr_stream_wait_let_go(fr_stream_wait *wait);

/* Who waits no longer, NULL: nobody; and a reference of what it depends on, or NULL. */
typedef struct fr_stream_given {
    fr_stream_wait *wait;
    fr_fence *dep;
} fr_stream_given;
/* With the lock held: whether any of that kind waits. */
bool fr_stream_waits_any(const fr_opened *opened, fr_stream_kind kind);
/* With the lock held: the stream may have got free. Whose it is now. */
fr_stream_given fr_stream_waits_give(fr_opened *opened, fr_own_stream *stream);
/* Then, without the lock, once: whether the caller resumes it. */
bool fr_stream_given_resumes(fr_stream_given given);
void fr_stream_wait_resume(fr_stream_wait *wait);
/* All that wait for a stream look again. */
void fr_stream_waits_wake_all(fr_opened *opened);
/* All that wait for room look again, as long as there is some. */
void fr_stream_waits_wake_room(fr_opened *opened, fr_stream_kind kind);

#endif
