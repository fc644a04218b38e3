#include "scheduler/deque.h"

struct fr_deque_ring {
    fr_deque_ring *replaced; /* the ring before this one; a thief may still read it */
    int64_t slots;           /* a power of two */
    _Atomic(fr_runnable *) slot[];
};

#define FR_DEQUE_PREFETCH 4 /* tokens ahead of the one that is popped */

static size_t fr_deque_ring_bytes(int64_t slots)
{
    return sizeof(fr_deque_ring) + (size_t)slots * sizeof(_Atomic(fr_runnable *));
}

static _Atomic(fr_runnable *) *fr_deque_slot(fr_deque_ring *ring, int64_t index)
{
    return &ring->slot[index & (ring->slots - 1)];
}

void fr_deque_init(fr_deque *deque, const fr_allocator *allocator)
{
    fr_store_relaxed(&deque->top, 0);
    fr_store_relaxed(&deque->bottom, 0);
    fr_store_relaxed(&deque->ring, NULL);
    deque->top_seen = 0;
    deque->allocator = allocator;
}

void fr_deque_destroy(fr_deque *deque)
{
    fr_deque_ring *ring = fr_load_relaxed(&deque->ring);
    while (ring) {
        fr_deque_ring *replaced = ring->replaced;
        fr_memory_release(deque->allocator, ring, fr_deque_ring_bytes(ring->slots));
        ring = replaced;
    }
    fr_store_relaxed(&deque->ring, NULL);
}

/* Owner: a ring twice as large with the tokens [top, bottom), published; NULL without memory. */
static fr_deque_ring *fr_deque_grow(fr_deque *deque, fr_deque_ring *ring, int64_t top,
                                    int64_t bottom)
{
    int64_t slots = ring ? ring->slots * 2 : FR_DEQUE_FIRST_SLOTS;
    fr_deque_ring *larger =
        fr_memory_allocate(deque->allocator, fr_deque_ring_bytes(slots), FR_CACHE_LINE_BYTES);
    if (!larger)
        return NULL;
    larger->replaced = ring;
    larger->slots = slots;
    for (int64_t index = top; index < bottom; index++) {
        fr_runnable *token = fr_load_relaxed(fr_deque_slot(ring, index));
        fr_store_relaxed(fr_deque_slot(larger, index), token);
    }
#ifdef FR_MUTATE_DEQUE_RELAXED_PUBLISH
    fr_store_relaxed(&deque->ring, larger);
#else
    /* [deque.ring.publish] pairs [deque.ring.read] : a thief must see the copied slots */
    fr_store_release(&deque->ring, larger);
#endif
    return larger;
}

bool fr_deque_put(fr_deque *deque, int64_t ahead, fr_runnable *token)
{
    int64_t at = fr_load_relaxed(&deque->bottom) + ahead; /* only this thread writes it */
    fr_deque_ring *ring = fr_load_relaxed(&deque->ring);
    int64_t slots = ring ? ring->slots : 0;
    if (at - deque->top_seen >= slots) {
        /* [deque.top.push] pairs [deque.top.steal] : the thief has read the slot that is written
         * again below */
        deque->top_seen = fr_load_acquire(&deque->top);
        if (at - deque->top_seen >= slots) {
            ring = fr_deque_grow(deque, ring, deque->top_seen, at);
            if (!ring)
                return false;
        }
    }
    fr_store_relaxed(fr_deque_slot(ring, at), token);
    return true;
}

void fr_deque_publish(fr_deque *deque, int64_t count)
{
    int64_t bottom = fr_load_relaxed(&deque->bottom); /* only this thread writes it */
#ifdef FR_MUTATE_DEQUE_RELAXED_PUSH
    fr_store_relaxed(&deque->bottom, bottom + count);
#else
    /* [deque.bottom.push] pairs [deque.bottom.steal] : a thief must see the slots and what the
     * tokens point to */
    fr_store_release(&deque->bottom, bottom + count);
#endif
}

bool fr_deque_push(fr_deque *deque, fr_runnable *token)
{
    if (!fr_deque_put(deque, 0, token))
        return false;
    fr_deque_publish(deque, 1);
    return true;
}

/* The owner will soon pop what lies there; with many tokens queued it is far away. */
static void fr_deque_prefetch(fr_deque_ring *ring, int64_t index)
{
    fr_prefetch_write(fr_load_relaxed(fr_deque_slot(ring, index)));
}

fr_runnable *fr_deque_pop(fr_deque *deque)
{
    int64_t bottom = fr_load_relaxed(&deque->bottom); /* only this thread writes it */
    int64_t top = fr_load_relaxed(&deque->top);
    if (bottom <= top) /* top only grows: surely empty, and nothing to undo */
        return NULL;
    bottom--;
    fr_deque_ring *ring = fr_load_relaxed(&deque->ring);
    /* [deque.bottom.pop] pairs [deque.bottom.steal] : the value it lowers bottom to was pushed
     * before */
    fr_store_release(&deque->bottom, bottom);
#ifndef FR_MUTATE_DEQUE_NO_POP_FENCE
    /* [deque.pop.fence] pairs [deque.steal.fence] : either this pop sees the thief's top, or the
     * thief sees the lowered bottom. Without it both take the same token. */
    fr_fence_seq_cst();
#endif
    top = fr_load_relaxed(&deque->top);
    fr_runnable *token = NULL;
    if (top <= bottom) {
        token = fr_load_relaxed(fr_deque_slot(ring, bottom));
        if (top < bottom) { /* not the last one: no thief can reach it */
            if (bottom - top >= FR_DEQUE_PREFETCH)
                fr_deque_prefetch(ring, bottom - FR_DEQUE_PREFETCH);
            return token;
        }
        /* [deque.top.pop] pairs [deque.top.steal], [deque.top.read] : the last token has one taker
         */
        if (!fr_cas_seq_cst(&deque->top, &top, top + 1))
            token = NULL;
    }
    /* [deque.bottom.undo] pairs [deque.bottom.steal] : as deque.bottom.pop */
    fr_store_release(&deque->bottom, bottom + 1);
    return token;
}

fr_deque_steal_result fr_deque_steal(fr_deque *deque, fr_runnable **token)
{
    /* [deque.top.read] pairs [deque.top.steal], [deque.top.pop] : as new as what the last winner
     * saw */
    int64_t top = fr_load_acquire(&deque->top);
#ifndef FR_MUTATE_DEQUE_NO_STEAL_FENCE
    fr_fence_seq_cst(); /* [deque.steal.fence] pairs [deque.pop.fence] : see there */
#endif
    /* [deque.bottom.steal] pairs [deque.bottom.push], [deque.bottom.pop], [deque.bottom.undo] : the
     * slot below is written, and its token's contents */
    int64_t bottom = fr_load_acquire(&deque->bottom);
    if (top >= bottom)
        return FR_DEQUE_EMPTY;
    /* [deque.ring.read] pairs [deque.ring.publish] : see there */
    fr_deque_ring *ring = fr_load_acquire(&deque->ring);
    fr_runnable *aim = fr_load_relaxed(fr_deque_slot(ring, top));
    /* [deque.top.steal] pairs [deque.top.push], [deque.top.pop], [deque.top.read] : the slot was
     * read before, so the owner may use it again; and one winner */
    if (!fr_cas_seq_cst(&deque->top, &top, top + 1))
        return FR_DEQUE_RETRY;
    *token = aim;
    return FR_DEQUE_SUCCESS;
}

int64_t fr_deque_size(const fr_deque *deque)
{
    int64_t top = fr_load_relaxed(&deque->top);
    int64_t bottom = fr_load_relaxed(&deque->bottom);
    return bottom > top ? bottom - top : 0;
}
