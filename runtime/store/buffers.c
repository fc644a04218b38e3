#include "runtime/store/buffers.h"

#include "runtime/device/placed.h"
#include "runtime/store/buffers_pool.h"
#include "runtime/store/pending.h"
#include "runtime/store/slices.h"
#include "runtime/write/managed.h"

struct fr_buffers {
    const fr_allocator *allocator;
    bool pooled;
    /* In buffers that are not the pool's. */
    FR_ALIGNED_LINE _Atomic uint64_t outside_bytes;
    fr_buffer_pool pool;
};

/* --- life ------------------------------------------------------------------------------------- */

static fr_buffers *fr_buffers_make(const fr_allocator *allocator, bool pooled)
{
    fr_buffers *buffers = fr_memory_allocate_zero(allocator, sizeof(*buffers), FR_CACHE_LINE_BYTES);
    if (!buffers)
        return NULL;
    buffers->allocator = allocator;
    buffers->pooled = pooled;
    fr_buffer_pool_init(&buffers->pool, allocator);
    return buffers;
}

fr_buffers *fr_buffers_create(const fr_allocator *allocator, bool builtin_pool)
{
#ifdef FR_SHRINK
    builtin_pool = false;
#endif
    return fr_buffers_make(allocator, builtin_pool);
}

fr_buffers *fr_buffers_create_pooled(const fr_allocator *allocator)
{
    return fr_buffers_make(allocator, true);
}

void fr_buffers_destroy(fr_buffers *buffers)
{
    if (!buffers)
        return;
    fr_buffer_pool_destroy(&buffers->pool);
    fr_memory_release(buffers->allocator, buffers, sizeof(*buffers));
}

/* --- buffers on their own --------------------------------------------------------------------- */

/* Record and payload apart, each of its exact size: an overrun of either meets a red zone. */
static fr_buffer *fr_buffer_make(const fr_allocator *allocator, size_t size_bytes)
{
    fr_buffer *buffer = fr_memory_allocate_zero(allocator, sizeof(*buffer), FR_CACHE_LINE_BYTES);
    if (!buffer || size_bytes == 0)
        return buffer;
    buffer->data = fr_memory_allocate(allocator, size_bytes, FR_CACHE_LINE_BYTES);
    buffer->capacity_bytes = size_bytes;
    if (buffer->data)
        return buffer;
    fr_memory_release(allocator, buffer, sizeof(*buffer));
    return NULL;
}

static void fr_buffer_free(fr_buffers *buffers, fr_buffer *buffer)
{
    if (!buffer->adopted) /* nor placed */
        fr_memory_release(buffers->allocator, buffer->data, buffer->capacity_bytes);
    fr_memory_release(buffers->allocator, buffer, sizeof(*buffer));
}

/* --- get and release -------------------------------------------------------------------------- */

fr_buffer *fr_buffer_get(fr_buffers *buffers, size_t size_bytes)
{
    fr_buffer *buffer;
    if (size_bytes > PTRDIFF_MAX)
        return NULL; /* no allocator has to take a size that it cannot round up */
    if (buffers->pooled) {
        uint32_t size_class = fr_buffer_class_of(size_bytes);
        if (size_class == FR_BUFFER_CLASS_NONE)
            return NULL;
        buffer = fr_buffer_pool_get(&buffers->pool, size_class);
    } else {
        buffer = fr_buffer_make(buffers->allocator, size_bytes ? size_bytes : 1);
        if (buffer)
            (void)fr_add_relaxed(&buffers->outside_bytes, buffer->capacity_bytes);
    }
    if (!buffer)
        return NULL;
    buffer->pending = NULL;
    fr_store_relaxed(&buffer->references, 1);
    return buffer;
}

/* A record without a payload of its own. */
static fr_buffer *fr_buffer_of_outside(fr_buffers *buffers, size_t size_bytes)
{
    fr_buffer *buffer = buffers->pooled
                            ? fr_buffer_pool_get(&buffers->pool, FR_BUFFER_CLASS_ADOPTED)
                            : fr_buffer_make(buffers->allocator, 0);
    if (!buffer)
        return NULL;
    buffer->capacity_bytes = size_bytes;
    buffer->pending = NULL;
    fr_store_relaxed(&buffer->references, 1);
    (void)fr_add_relaxed(&buffers->outside_bytes, size_bytes);
    return buffer;
}

fr_buffer *fr_buffer_adopt(fr_buffers *buffers, const struct DLManagedTensorVersioned *managed,
                           const void *data, size_t size_bytes)
{
    fr_buffer *buffer = fr_buffer_of_outside(buffers, size_bytes);
    if (!buffer)
        return NULL;
    /* Payloads are written through fr_buffer_writable alone, which refuses this one. */
    buffer->data = (unsigned char *)(uintptr_t)data;
    buffer->adopted = managed;
    return buffer;
}

fr_buffer *fr_buffer_of_placed(fr_buffers *buffers, fr_placed *placed, size_t size_bytes)
{
    fr_buffer *buffer = fr_buffer_of_outside(buffers, size_bytes);
    if (!buffer)
        return NULL;
    buffer->is_placed = true;
    buffer->placed = placed;
    return buffer;
}

void fr_buffer_retain(fr_buffer *buffer)
{
    (void)fr_add_relaxed(&buffer->references, 1);
}

void fr_buffer_retain_many(fr_buffer *buffer, uint64_t count)
{
    (void)fr_add_relaxed(&buffer->references, count);
}

/* True when they were the last ones. */
static bool fr_buffer_drop_references(fr_buffer *buffer, uint64_t count)
{
    /* [buffer.last] pairs [buffer.drop] : when there are no others nobody else can come or go; what
     * the others did with the payload is done */
    if (fr_load_acquire(&buffer->references) == count)
        return true;
    /* [buffer.drop] pairs [buffer.drop], [buffer.last], [buffer.alone] : uses of the payload come
     * before it is used anew */
    return fr_sub_acq_rel(&buffer->references, count) == count;
}

static void fr_buffer_uncount(fr_buffer *buffer)
{
    if (buffer->pending)
        fr_pending_drop(buffer->pending, buffer);
    buffer->pending = NULL;
}

/* Nobody refers to it. */
static void fr_buffer_dispose(fr_buffers *buffers, fr_buffer *buffer)
{
    const struct DLManagedTensorVersioned *managed = buffer->is_placed ? NULL : buffer->adopted;
    bool outside = buffer->adopted != NULL; /* or placed */
    if (outside || !buffers->pooled)
        (void)fr_sub_relaxed(&buffers->outside_bytes, buffer->capacity_bytes);
    if (buffer->is_placed)
        fr_placed_dispose(buffer->placed);
    if (!buffers->pooled) {
        fr_buffer_free(buffers, buffer);
    } else {
        if (outside) {
            buffer->adopted = NULL;
            buffer->is_placed = false;
            buffer->data = NULL;
            buffer->capacity_bytes = 0;
        }
        fr_buffer_pool_put(&buffers->pool, buffer);
    }
    /* Last: client code, which may call the library again. */
    fr_managed_delete(managed, buffers->allocator);
}

void fr_buffers_let_go(fr_buffers *buffers, fr_buffer *list)
{
    while (list) {
        fr_buffer *next = list->next_free;
        fr_buffer_dispose(buffers, list);
        list = next;
    }
}

void fr_buffer_release(fr_buffers *buffers, fr_buffer *buffer)
{
    fr_buffer *payloads = NULL;
    if (!buffer || !fr_buffer_drop_references(buffer, 1))
        return;
    if (buffer->holds_slices)
        fr_slices_clear(buffer, &payloads);
    buffer->holds_slices = false;
    fr_buffer_uncount(buffer);
    fr_buffer_dispose(buffers, buffer);
    fr_buffers_let_go(buffers, payloads);
}

void fr_buffer_drop_many(fr_buffer *buffer, uint64_t count, fr_buffer **let_go)
{
    if (!fr_buffer_drop_references(buffer, count))
        return;
    fr_buffer_uncount(buffer);
    buffer->next_free = *let_go;
    *let_go = buffer;
}

bool fr_buffer_writable(const fr_buffer *buffer)
{
    /* [buffer.alone] pairs [buffer.drop] : writes come after the uses of those who let go */
    return (!buffer->adopted || buffer->is_placed) && fr_load_acquire(&buffer->references) == 1;
}

void fr_buffers_statistics_read(const fr_buffers *buffers, fr_buffers_statistics *out)
{
    uint64_t used;
    uint64_t held;
    fr_buffer_pool_figures(&buffers->pool, &used, &held);
    out->payload_bytes = used + fr_load_relaxed(&buffers->outside_bytes);
    out->pooled_bytes = held > used ? held - used : 0; /* read while others get and release */
}
