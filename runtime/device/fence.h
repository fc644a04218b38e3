/* A fence: one recorded event of ours, and what is to happen when it is over.
 *
 * One fence stands for all that an op has put into one stream: it is the last write of what the op
 * wrote, a reader of what it read, and the end of what it holds. A fence only goes from pending to
 * done or lost. Lost: the device failed, and what the fence stands for may not have happened.
 *
 * Threads: all. Invariants: a pending fence is in the queue of the stream that it was recorded in,
 * which holds a reference; queues of our own streams are in the order of their records, so a look
 * at the first tells of all; those of clients' streams are asked one by one, since a handle may be
 * another stream by then. Progress: lists under the device's short lock. Memory: records, each
 * with its event, are used again; as many as were in use at once.
 *
 * Word `state`: set to DONE or LOST once, by who looks, or to LOST by who cannot record it. */
#ifndef FR_RUNTIME_DEVICE_FENCE_H
#define FR_RUNTIME_DEVICE_FENCE_H

#include "runtime/device/table.h"
#include "runtime/write/slabs.h"
#include "scheduler/pool.h"

typedef struct fr_opened fr_opened;
typedef struct fr_own_stream fr_own_stream;

typedef enum fr_fence_state {
    FR_FENCE_PENDING = 0,
    FR_FENCE_DONE = 1,
    FR_FENCE_LOST = 2,
} fr_fence_state;

/* What happens when a fence is over: once, without locks, the device not entered, by who looks;
 * what may call client code, by who does not hold up others with it (fr_devices_settle). The
 * caller's memory. */
typedef struct fr_fence_call fr_fence_call;
struct fr_fence_call {
    fr_fence_call *next;
    void (*run)(fr_fence_call *call);
    bool calls_client;
};

typedef struct fr_fence {
    struct fr_fence *next; /* in its queue, or in the list of free ones */
    fr_opened *opened;
    fr_device_event event;
    const fr_own_stream *stream; /* that it was recorded in; NULL: a client's */
    _Atomic uint64_t references;
    _Atomic uint32_t state;
    int32_t code; /* of a lost one */
    fr_fence_call *calls;
} fr_fence;

/* Pending fences of one stream, or of clients' streams. */
typedef struct fr_fence_queue {
    fr_fence *first, *last;
} fr_fence_queue;

typedef struct fr_fences {
    fr_slabs records;
    fr_fence *free;         /* with their events */
    fr_fence_queue clients; /* of clients' streams */
} fr_fences;

void fr_fences_init(fr_opened *opened, const fr_allocator *allocator);
void fr_fences_destroy(fr_opened *opened); /* entered */

/* One reference, with an event and not recorded. Entered. NULL: the fault says why. */
fr_fence *fr_fence_get(fr_opened *opened, fr_device_fault *fault);
/* Of one that was got and not recorded. Entered. own: the stream of ours that `stream` is, or NULL.
 * False: the fault says why, and it is not recorded. */
bool fr_fence_record(fr_fence *fence, fr_device_stream stream, fr_own_stream *own,
                     fr_device_fault *fault);
/* Of one that cannot be recorded, and that nothing waits for yet: lost, with the fault's code. */
void fr_fence_lose(fr_fence *fence, const fr_device_fault *fault);
void fr_fence_retain(fr_fence *fence);
void fr_fence_release(fr_fence *fence); /* NULL is fine */
/* False: it is over already, and the call was not entered. */
bool fr_fence_when_over(fr_fence *fence, fr_fence_call *call);
/* The call is not to be made; its memory need not be there any more. False: who looks has it in
 * hand, and makes it, or has made it. */
bool fr_fence_forget(fr_fence *fence, const fr_fence_call *call);

static inline fr_fence_state fr_fence_look(const fr_fence *fence)
{
    /* [fence.state.look] pairs [fence.state.over], [fence.state.lose] : what the device did is
     * seen */
    return (fr_fence_state)fr_load_acquire(&fence->state);
}
static inline bool fr_fence_is_over(const fr_fence *fence)
{
    return fr_fence_look(fence) != FR_FENCE_PENDING;
}

/* Asks the device about the fences of a queue, the first ones or each, and puts the calls of those
 * that are over in front of *due. Entered, and nobody else looks. How many were over; they count as
 * pending until their calls have run. */
uint64_t fr_fence_queue_look(fr_opened *opened, fr_fence_queue *queue, bool each,
                             fr_fence_call **due);

#endif
