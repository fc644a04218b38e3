#include "runtime/api/handles.h"

/* Chunk k holds FR_FIRST_CHUNK << k slots. */
#define FR_FIRST_CHUNK_SHIFT 8
#define FR_FIRST_CHUNK (1u << FR_FIRST_CHUNK_SHIFT)
#define FR_CHUNKS (FR_HANDLE_SLOT_BITS - FR_FIRST_CHUNK_SHIFT)
#define FR_NO_SLOT UINT32_MAX

#ifdef FR_SHRINK
#define FR_USES_PER_SLOT 8u /* so that slots are retired in tests */
#else
#define FR_USES_PER_SLOT ((1u << FR_HANDLE_USE_BITS) - 1)
#endif

/* Word map of `state`, which is bits 47..22 of the handle that is live:
 *
 *    31        26 25    22 21             0
 *   +------------+--------+----------------+
 *   |     0      |  kind  |      use       |
 *   +------------+--------+----------------+
 *   field   set by                               cleared by
 *   use     publish, one more than the last one  -
 *   kind    publish                              take, under the slot's lock; 0: not live */
typedef struct fr_slot {
    fr_mutex lock;
    _Atomic uint32_t state;
    _Atomic(void *) object;
    uint32_t next_free;
} fr_slot;

#define FR_SLOT_USE_MASK ((UINT32_C(1) << FR_HANDLE_USE_BITS) - 1)
#define FR_SLOT_STATE_MASK ((UINT32_C(1) << (FR_HANDLE_USE_BITS + FR_HANDLE_KIND_BITS)) - 1)

_Static_assert(FR_HANDLE_USE_BITS + FR_HANDLE_KIND_BITS <= 32, "state holds both");

struct fr_handles {
    const fr_allocator *allocator;
    uint32_t instance_number;
    _Atomic(fr_slot *) chunks[FR_CHUNKS];
    fr_mutex lock; /* guards the free list and `made` */
    uint32_t first_free;
    uint32_t made; /* slots handed out so far, all below are in chunks */
};

static uint32_t fr_chunk_of(uint32_t index, uint32_t *out_offset)
{
    uint32_t shifted = index + FR_FIRST_CHUNK;
    uint32_t chunk = 31 - (uint32_t)__builtin_clz(shifted) - FR_FIRST_CHUNK_SHIFT;
    *out_offset = shifted - (FR_FIRST_CHUNK << chunk);
    return chunk;
}

static fr_slot *fr_slot_at(const fr_handles *handles, uint32_t index)
{
    uint32_t offset;
    uint32_t chunk = fr_chunk_of(index, &offset);
    if (chunk >= FR_CHUNKS)
        return NULL;
    /* [handles.chunk.read] pairs [handles.chunk.publish] : sees the zeroed slots */
    fr_slot *slots = fr_load_acquire(&handles->chunks[chunk]);
    return slots ? slots + offset : NULL;
}

fr_handles *fr_handles_create(const fr_allocator *allocator, uint32_t instance_number)
{
    fr_handles *handles = fr_memory_allocate_zero(allocator, sizeof(*handles), 16);
    if (!handles)
        return NULL;
    handles->allocator = allocator;
    handles->instance_number = instance_number;
    handles->first_free = FR_NO_SLOT;
    return handles;
}

void fr_handles_destroy(fr_handles *handles,
                        void (*drop)(fr_handle_kind kind, void *object, void *user), void *user)
{
    if (!handles)
        return;
    for (uint32_t i = 0; i < handles->made; i++) {
        fr_slot *slot = fr_slot_at(handles, i);
        uint32_t kind =
            fr_load_relaxed(&slot->state) >> FR_HANDLE_USE_BITS; /* nobody else is here */
        if (kind != 0 && drop)
            drop((fr_handle_kind)kind, fr_load_relaxed(&slot->object), user);
    }
    for (uint32_t k = 0; k < FR_CHUNKS; k++)
        fr_memory_release(handles->allocator, fr_load_relaxed(&handles->chunks[k]),
                          sizeof(fr_slot) * ((size_t)FR_FIRST_CHUNK << k));
    fr_memory_release(handles->allocator, handles, sizeof(*handles));
}

/* A slot of nobody, or FR_NO_SLOT when chunk *out_chunk has to be made first. */
static uint32_t fr_slot_take(fr_handles *handles, uint32_t *out_chunk)
{
    uint32_t index = FR_NO_SLOT;
    fr_mutex_lock(&handles->lock);
    if (handles->first_free != FR_NO_SLOT) {
        index = handles->first_free;
        handles->first_free = fr_slot_at(handles, index)->next_free;
    } else {
        uint32_t offset;
        *out_chunk = fr_chunk_of(handles->made, &offset);
        if (*out_chunk < FR_CHUNKS && fr_load_relaxed(&handles->chunks[*out_chunk]))
            index = handles->made++;
    }
    fr_mutex_unlock(&handles->lock);
    return index;
}

static bool fr_chunk_make(fr_handles *handles, uint32_t chunk)
{
    if (chunk >= FR_CHUNKS)
        return false;
    size_t size_bytes = sizeof(fr_slot) * ((size_t)FR_FIRST_CHUNK << chunk);
    fr_slot *slots = fr_memory_allocate_zero(handles->allocator, size_bytes, 64);
    if (!slots)
        return false;
    fr_slot *none = NULL;
    /* [handles.chunk.publish] pairs [handles.chunk.read] : slots are zero before anybody finds them
     */
    if (!fr_cas_release(&handles->chunks[chunk], &none, slots))
        fr_memory_release(handles->allocator, slots, size_bytes);
    return true;
}

static uint32_t fr_handle_state(uint64_t handle)
{
    return (uint32_t)(handle >> FR_HANDLE_USE_SHIFT) & FR_SLOT_STATE_MASK;
}

static uint32_t fr_handle_index(uint64_t handle)
{
    return (uint32_t)handle & ((1u << FR_HANDLE_SLOT_BITS) - 1);
}

uint64_t fr_handles_reserve(fr_handles *handles, fr_handle_kind kind)
{
    uint32_t chunk = 0;
    uint32_t index = fr_slot_take(handles, &chunk);
    while (index == FR_NO_SLOT) {
        if (!fr_chunk_make(handles, chunk))
            return 0;
        index = fr_slot_take(handles, &chunk);
    }
    fr_slot *slot = fr_slot_at(handles, index);
    /* The slot is this thread's; who tries a stale handle of it finds another use, old or new. */
    uint32_t use = (fr_load_relaxed(&slot->state) & FR_SLOT_USE_MASK) + 1;
    uint32_t state = (uint32_t)kind << FR_HANDLE_USE_BITS | use;
    return (uint64_t)handles->instance_number << FR_INSTANCE_NUMBER_SHIFT |
           (uint64_t)state << FR_HANDLE_USE_SHIFT | index;
}

void fr_handles_publish(fr_handles *handles, uint64_t handle, void *object)
{
    fr_slot *slot = fr_slot_at(handles, fr_handle_index(handle));
    fr_store_relaxed(&slot->object, object);
    /* [handles.state.publish] pairs [handles.state.peek], [handles.state.get] : the object is
     * there, and is what it was when it was published */
    fr_store_release(&slot->state, fr_handle_state(handle));
}

static void fr_slot_put(fr_handles *handles, uint32_t index)
{
    fr_mutex_lock(&handles->lock);
    fr_slot_at(handles, index)->next_free = handles->first_free;
    handles->first_free = index;
    fr_mutex_unlock(&handles->lock);
}

void fr_handles_cancel(fr_handles *handles, uint64_t handle)
{
    fr_slot_put(handles, fr_handle_index(handle)); /* the same number is given out later */
}

uint64_t fr_handles_add(fr_handles *handles, fr_handle_kind kind, void *object)
{
    uint64_t handle = fr_handles_reserve(handles, kind);
    if (handle != 0)
        fr_handles_publish(handles, handle, object);
    return handle;
}

/* The slot that a handle of this instance and kind names; NULL when it cannot be one. */
static fr_slot *fr_slot_named(const fr_handles *handles, fr_handle_kind kind, uint64_t handle)
{
    uint64_t head = (uint64_t)handles->instance_number << FR_HANDLE_KIND_BITS | (uint64_t)kind;
    return handle >> FR_HANDLE_KIND_SHIFT == head ? fr_slot_at(handles, fr_handle_index(handle))
                                                  : NULL;
}

/* The slot of a handle that looks right, locked; NULL when it is not live. */
static fr_slot *fr_slot_lock(const fr_handles *handles, fr_handle_kind kind, uint64_t handle)
{
    fr_slot *slot = fr_slot_named(handles, kind, handle);
    if (!slot)
        return NULL;
    fr_mutex_lock(&slot->lock);
    /* [handles.state.get] pairs [handles.state.publish] : the object of this handle */
    if (fr_load_acquire(&slot->state) == fr_handle_state(handle))
        return slot;
    fr_mutex_unlock(&slot->lock);
    return NULL;
}

void *fr_handles_peek(const fr_handles *handles, fr_handle_kind kind, uint64_t handle)
{
    fr_slot *slot = fr_slot_named(handles, kind, handle);
    if (!slot)
        return NULL;
    /* [handles.state.peek] pairs [handles.state.publish] : the object of this handle */
    if (fr_load_acquire(&slot->state) != fr_handle_state(handle))
        return NULL;
    return fr_load_relaxed(&slot->object);
}

bool fr_handles_get(fr_handles *handles, fr_handle_kind kind, uint64_t handle,
                    void (*retain)(void *object), void **out_object)
{
    fr_slot *slot = fr_slot_lock(handles, kind, handle);
    if (!slot)
        return false;
    *out_object = fr_load_relaxed(&slot->object);
    if (retain)
        retain(*out_object);
    fr_mutex_unlock(&slot->lock);
    return true;
}

bool fr_handles_take(fr_handles *handles, fr_handle_kind kind, uint64_t handle, void **out_object)
{
    fr_slot *slot = fr_slot_lock(handles, kind, handle);
    if (!slot)
        return false;
    uint32_t use = fr_load_relaxed(&slot->state) & FR_SLOT_USE_MASK;
    *out_object = fr_load_relaxed(&slot->object);
    fr_store_relaxed(&slot->state, use); /* kind 0: others look under the slot's lock, or know */
    fr_mutex_unlock(&slot->lock);
    if (use < FR_USES_PER_SLOT)
        fr_slot_put(handles, fr_handle_index(handle));
    return true;
}

void fr_handles_each(const fr_handles *handles, fr_handle_kind kind,
                     void (*visit)(void *object, void *user), void *user)
{
    for (uint32_t i = 0; i < UINT32_C(1) << FR_HANDLE_SLOT_BITS; i++) {
        fr_slot *slot = fr_slot_at(handles, i);
        if (!slot)
            return;
        fr_mutex_lock(&slot->lock);
        if (fr_load_relaxed(&slot->state) >> FR_HANDLE_USE_BITS == (uint32_t)kind)
            visit(fr_load_relaxed(&slot->object), user);
        fr_mutex_unlock(&slot->lock);
    }
}

const char *fr_handles_why_not(const fr_handles *handles, fr_handle_kind kind, uint64_t handle)
{
    if (handle == 0)
        return "the invalid handle";
    if (handle >> FR_INSTANCE_NUMBER_SHIFT != handles->instance_number)
        return "none that this instance gave out";
    uint64_t kind_bits = handle >> FR_HANDLE_KIND_SHIFT & ((1u << FR_HANDLE_KIND_BITS) - 1);
    if (kind_bits != (uint64_t)kind)
        return "of another kind";
    return "released already, or never given out";
}

uint64_t fr_handle_create(fr_stage *stage, fr_handle_kind kind, void *object)
{
    return fr_handles_add(stage->handles, kind, object);
}

uint64_t fr_handle_reserve(fr_stage *stage, fr_handle_kind kind)
{
    return fr_handles_reserve(stage->handles, kind);
}

bool fr_handle_settle(fr_stage *stage, uint64_t handle, ovstage_api_status_t status, void *object)
{
    if (status == OVSTAGE_OK)
        fr_handles_publish(stage->handles, handle, object);
    else if (handle != 0)
        fr_handles_cancel(stage->handles, handle);
    return status == OVSTAGE_OK;
}

void *fr_handle_acquire(fr_stage *stage, fr_handle_kind kind, uint64_t handle,
                        void (*retain)(void *object))
{
    void *object = NULL;
    return fr_handles_get(stage->handles, kind, handle, retain, &object) ? object : NULL;
}

void *fr_handle_remove(fr_stage *stage, fr_handle_kind kind, uint64_t handle)
{
    void *object = NULL;
    return fr_handles_take(stage->handles, kind, handle, &object) ? object : NULL;
}

ovstage_api_status_t fr_handle_refuse(fr_stage *stage, fr_handle_kind kind, uint64_t handle,
                                      const char *what)
{
    return fr_error_set(OVSTAGE_ERROR_INVALID_HANDLE, "%s handle 0x%llx is %s", what,
                        (unsigned long long)handle,
                        fr_handles_why_not(stage->handles, kind, handle));
}
