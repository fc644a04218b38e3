#include "runtime/store/pending.h"

#define FR_PENDING_SEALED ((uint64_t)1 << 63)

struct fr_pending {
    const fr_allocator *allocator;
    _Atomic uint64_t *total;
    _Atomic uint64_t references;
    _Atomic uint64_t word;
};

fr_pending *fr_pending_create(const fr_allocator *allocator, _Atomic uint64_t *total)
{
    fr_pending *pending = fr_memory_allocate_zero(allocator, sizeof(*pending), 16);
    if (!pending)
        return NULL;
    pending->allocator = allocator;
    pending->total = total;
    fr_store_relaxed(&pending->references, 1);
    return pending;
}

void fr_pending_retain(fr_pending *pending)
{
    (void)fr_add_relaxed(&pending->references, 1);
}

void fr_pending_release(fr_pending *pending)
{
    /* [pending.drop] pairs [pending.drop] : uses of the others come before it goes */
    if (pending && fr_sub_acq_rel(&pending->references, 1) == 1)
        fr_memory_release(pending->allocator, pending, sizeof(*pending));
}

void fr_pending_add(fr_pending *pending, fr_buffer *payload)
{
    fr_pending_retain(pending);
    payload->pending = pending;
    (void)fr_add_relaxed(&pending->word, payload->capacity_bytes);
    (void)fr_add_relaxed(pending->total, payload->capacity_bytes);
}

void fr_pending_drop(fr_pending *pending, const fr_buffer *payload)
{
    uint64_t before = fr_sub_relaxed(&pending->word, payload->capacity_bytes);
#ifdef FR_MUTATE_PENDING_TAKEN_TWICE
    before = 0;
#endif
    if ((before & FR_PENDING_SEALED) == 0)
        (void)fr_sub_relaxed(pending->total, payload->capacity_bytes);
    fr_pending_release(pending);
}

void fr_pending_seal(fr_pending *pending)
{
    if (pending)
        (void)fr_sub_relaxed(pending->total, fr_add_relaxed(&pending->word, FR_PENDING_SEALED));
}
