#include "runtime/store/buffers_pool.h"

#include "runtime/store/buffers_pages.h"

#include <stddef.h>
#include <string.h>

#define FR_BUFFER_UNIT_BYTES ((size_t)64)
#define FR_SLAB_FIRST_BYTES ((size_t)64 << 10)
#define FR_SLAB_DOUBLINGS 5u /* to 2 MiB */
#define FR_SLAB_MOST_BUFFERS 1024u
#define FR_SLAB_ADOPTED_BUFFERS 32u
/* Of a stock, in common; what is more goes back to the slabs. */
#define FR_POOL_STOCK_BATCHES 2048u
/* An empty slab of several buffers up to this size stays with its class: the next get is spared two
 * list changes. */
#define FR_SLAB_KEPT_BYTES ((size_t)256 << 10)
#define FR_POOL_IDLE_LEAST ((uint64_t)64 << 20)
#define FR_POOL_IDLE_AGE_NS UINT64_C(1000000000)
#define FR_POOL_TRIM_EVERY_NS UINT64_C(100000000)

struct fr_buffer_slab {
    fr_buffer *free_list; /* last in, first out: its payload is in a cache still */
    uint32_t used;        /* handed out */
    uint32_t carved;      /* records ever handed out; later ones were never touched */
    uint32_t count;
    bool from_arena;
    fr_buffer_slab *next, *previous; /* in the class's partial or idle list */
    uint64_t idle_since_ns;
    size_t data_bytes;
    unsigned char *data;
    fr_buffer records[];
};

/* --- sizes ------------------------------------------------------------------------------------ */

uint32_t fr_buffer_class_of(size_t size_bytes)
{
    if (size_bytes <= 4 * FR_BUFFER_UNIT_BYTES)
        return size_bytes == 0 ? 1 : (uint32_t)((size_bytes - 1) / FR_BUFFER_UNIT_BYTES) + 1;
    uint64_t last_unit = (size_bytes - 1) / FR_BUFFER_UNIT_BYTES; /* 4 or more */
    uint32_t power = 63 - (uint32_t)__builtin_clzll(last_unit);
    uint32_t size_class = 5 + (power - 2) * 4 + (uint32_t)(last_unit >> (power - 2) & 3);
    return size_class < FR_BUFFER_CLASSES ? size_class : FR_BUFFER_CLASS_NONE;
}

size_t fr_buffer_class_bytes(uint32_t size_class)
{
    if (size_class <= 4)
        return size_class * FR_BUFFER_UNIT_BYTES;
    uint32_t step = size_class - 5;
    return (size_t)(5 + step % 4) * FR_BUFFER_UNIT_BYTES << step / 4;
}

/* --- slabs ------------------------------------------------------------------------------------ */

static size_t fr_slab_bytes(uint32_t count)
{
    return sizeof(fr_buffer_slab) + count * sizeof(fr_buffer);
}

static uint32_t fr_slab_count(uint32_t size_class, uint32_t slabs_before)
{
    if (size_class == FR_BUFFER_CLASS_ADOPTED)
        return FR_SLAB_ADOPTED_BUFFERS;
    uint32_t doublings = slabs_before < FR_SLAB_DOUBLINGS ? slabs_before : FR_SLAB_DOUBLINGS;
    size_t count = (FR_SLAB_FIRST_BYTES << doublings) / fr_buffer_class_bytes(size_class);
    if (count > FR_SLAB_MOST_BUFFERS)
        return FR_SLAB_MOST_BUFFERS;
    return count == 0 ? 1 : (uint32_t)count;
}

static fr_buffer_slab *fr_slab_make(fr_buffer_pool *pool, uint32_t size_class,
                                    uint32_t slabs_before)
{
    uint32_t count = fr_slab_count(size_class, slabs_before);
    fr_buffer_slab *slab =
        fr_memory_allocate(pool->allocator, fr_slab_bytes(count), FR_CACHE_LINE_BYTES);
    if (!slab)
        return NULL;
    memset(slab, 0, sizeof(*slab)); /* not the records: untouched pages stay untouched */
    slab->count = count;
    slab->data_bytes = count * fr_buffer_class_bytes(size_class);
    if (slab->data_bytes == 0)
        return slab;
    slab->data = fr_pages_get(slab->data_bytes, &slab->from_arena);
    if (slab->data)
        return slab;
    fr_memory_release(pool->allocator, slab, fr_slab_bytes(count));
    return NULL;
}

static void fr_slab_free(fr_buffer_pool *pool, fr_buffer_slab *slab)
{
    if (slab->data)
        fr_pages_give(slab->data, slab->data_bytes, slab->from_arena);
    fr_memory_release(pool->allocator, slab, fr_slab_bytes(slab->count));
}

static void fr_slab_link(fr_buffer_slab **list, fr_buffer_slab *slab)
{
    slab->previous = NULL;
    slab->next = *list;
    if (slab->next)
        slab->next->previous = slab;
    *list = slab;
}

static void fr_slab_unlink(fr_buffer_slab **list, fr_buffer_slab *slab)
{
    if (slab->previous)
        slab->previous->next = slab->next;
    else
        *list = slab->next;
    if (slab->next)
        slab->next->previous = slab->previous;
}

/* Of one that is in the partial list and empty. */
static bool fr_slab_is_kept(const fr_buffer_slab *slab)
{
    return !slab->previous && !slab->next && slab->count > 1 &&
           slab->data_bytes <= FR_SLAB_KEPT_BYTES;
}

static fr_buffer *fr_slab_take(fr_buffer_slab *slab, uint32_t size_class)
{
    fr_buffer *buffer = slab->free_list;
    slab->used++;
    if (buffer) {
        slab->free_list = buffer->next_free;
        return buffer;
    }
    uint32_t index = slab->carved++;
    buffer = &slab->records[index];
    memset(buffer, 0, sizeof(*buffer));
    buffer->size_class = size_class;
    buffer->slab = slab;
    buffer->capacity_bytes = fr_buffer_class_bytes(size_class);
    buffer->data = slab->data ? slab->data + index * buffer->capacity_bytes : NULL;
    return buffer;
}

/* --- idle slabs, under the lock of their class ------------------------------------------------ */

static void fr_class_idle_add(fr_buffer_class *class, fr_buffer_slab *slab, uint64_t now_ns)
{
    slab->idle_since_ns = now_ns;
    fr_slab_link(&class->idle, slab);
    if (!class->idle_last)
        class->idle_last = slab;
}

static void fr_class_idle_remove(fr_buffer_pool *pool, fr_buffer_class *class, fr_buffer_slab *slab)
{
    if (class->idle_last == slab)
        class->idle_last = slab->previous;
    fr_slab_unlink(&class->idle, slab);
    (void)fr_sub_relaxed(&pool->idle_bytes, slab->data_bytes);
}

/* --- trimming --------------------------------------------------------------------------------- */

static bool fr_pool_idle_too_much(fr_buffer_pool *pool)
{
    uint64_t idle = fr_load_relaxed(&pool->idle_bytes);
    if (idle <= FR_POOL_IDLE_LEAST)
        return false;
    uint64_t held = fr_load_relaxed(&pool->held_bytes);
    return held < idle || idle > (held - idle) / 4;
}

/* Takes the slab out of the class that is idle the longest, if it is so since before the time. */
static fr_buffer_slab *fr_pool_oldest_idle(fr_buffer_pool *pool, fr_buffer_class *class,
                                           uint64_t before_ns)
{
    fr_mutex_lock(&class->lock);
    fr_buffer_slab *slab = class->idle_last;
    if (slab && slab->idle_since_ns > before_ns)
        slab = NULL;
    if (slab) {
        fr_class_idle_remove(pool, class, slab);
        class->slab_count--;
        fr_count(&class->held_bytes, 0 - (uint64_t)slab->data_bytes);
    }
    fr_mutex_unlock(&class->lock);
    return slab;
}

static bool fr_pool_trim(fr_buffer_pool *pool, uint64_t before_ns, bool all)
{
    bool any = false;
    for (uint32_t k = 0; k < FR_BUFFER_CLASSES; k++) {
        fr_buffer_slab *slab;
        while ((all || fr_pool_idle_too_much(pool)) &&
               (slab = fr_pool_oldest_idle(pool, &pool->classes[k], before_ns)) != NULL) {
            (void)fr_sub_relaxed(&pool->held_bytes, slab->data_bytes);
            fr_slab_free(pool, slab);
            any = true;
        }
    }
    return any;
}

/* A column that is written every frame has idle slabs for less than a second: to give those back
 * would page them in again with each frame. */
static void fr_pool_trim_old(fr_buffer_pool *pool, uint64_t now_ns)
{
    uint64_t next_ns = fr_load_relaxed(&pool->next_trim_ns);
    if (now_ns < next_ns || now_ns < FR_POOL_IDLE_AGE_NS)
        return;
    if (fr_cas_relaxed(&pool->next_trim_ns, &next_ns, now_ns + FR_POOL_TRIM_EVERY_NS))
        (void)fr_pool_trim(pool, now_ns - FR_POOL_IDLE_AGE_NS, false);
}

/* --- get and put ------------------------------------------------------------------------------ */

/* Under the lock. NULL: there is no free one. */
static fr_buffer *fr_class_take(fr_buffer_pool *pool, fr_buffer_class *class, uint32_t size_class)
{
    fr_buffer_slab *slab = class->partial;
    if (!slab) {
        slab = class->idle;
        if (!slab)
            return NULL;
        fr_class_idle_remove(pool, class, slab);
        fr_slab_link(&class->partial, slab);
    }
    fr_buffer *buffer = fr_slab_take(slab, size_class);
    if (slab->used == slab->count)
        fr_slab_unlink(&class->partial, slab);
    fr_count(&class->used_bytes, buffer->capacity_bytes);
    return buffer;
}

static fr_buffer *fr_pool_get_from_new(fr_buffer_pool *pool, uint32_t size_class,
                                       uint32_t slabs_before)
{
    fr_buffer_class *class = &pool->classes[size_class];
    fr_buffer_slab *slab = fr_slab_make(pool, size_class, slabs_before);
    if (!slab && fr_pool_trim(pool, UINT64_MAX, true))
        slab = fr_slab_make(pool, size_class, slabs_before);
    if (!slab)
        return NULL;
    (void)fr_add_relaxed(&pool->held_bytes, slab->data_bytes);
    fr_mutex_lock(&class->lock);
    class->slab_count++;
    fr_count(&class->held_bytes, (uint64_t)slab->data_bytes);
    fr_slab_link(&class->partial, slab);
    fr_buffer *buffer = fr_class_take(pool, class, size_class);
    fr_mutex_unlock(&class->lock);
    return buffer;
}

/* Without the lock, while a small class has one buffer that comes and goes. */
static fr_buffer *fr_class_take_hot(fr_buffer_class *class)
{
    if (!fr_load_relaxed(&class->hot))
        return NULL;
    /* [buffers.hot.take] pairs [buffers.hot.put] : what the last owner did with it is done */
    return fr_exchange_acquire(&class->hot, NULL);
}

static bool fr_class_put_hot(fr_buffer_class *class, fr_buffer *buffer)
{
    fr_buffer *none = NULL;
    if (buffer->capacity_bytes > FR_SLAB_KEPT_BYTES || fr_load_relaxed(&class->hot))
        return false;
    /* [buffers.hot.put] pairs [buffers.hot.take] : hands the buffer on */
    return fr_cas_release(&class->hot, &none, buffer);
}

static fr_buffer *fr_pool_get_from_slab(fr_buffer_pool *pool, uint32_t size_class)
{
    fr_buffer_class *class = &pool->classes[size_class];
    fr_mutex_lock(&class->lock);
    fr_buffer *buffer = fr_class_take(pool, class, size_class);
    uint32_t slabs_before = class->slab_count;
    fr_mutex_unlock(&class->lock);
    return buffer ? buffer : fr_pool_get_from_new(pool, size_class, slabs_before);
}

/* NULL: the class has none. */
static fr_stock *fr_pool_stock(fr_buffer_pool *pool, uint32_t size_class)
{
    return size_class - 1 < FR_BUFFER_CLASSES_STOCKED ? &pool->stocks[size_class - 1] : NULL;
}

static fr_buffer *fr_buffer_of_stocked(fr_stocked *record)
{
    return (fr_buffer *)(void *)((unsigned char *)record - offsetof(fr_buffer, free));
}

/* With a batch of the class's free ones, one at least. False without memory. */
static bool fr_pool_fill_stock(fr_buffer_pool *pool, fr_stock *stock, uint32_t size_class)
{
    fr_buffer_class *class = &pool->classes[size_class];
    fr_buffer *buffer = fr_pool_get_from_slab(pool, size_class);
    if (!buffer)
        return false;
    fr_stocked *batch = &buffer->free;
    batch->next = NULL;
    fr_mutex_lock(&class->lock);
    for (uint32_t k = 1; k < FR_STOCK_BATCH && class->partial; k++) {
        fr_stocked *record = &fr_class_take(pool, class, size_class)->free;
        record->next = batch;
        batch = record;
    }
    fr_mutex_unlock(&class->lock);
    (void)fr_stock_add(stock, batch, UINT32_MAX);
    return true;
}

static fr_buffer *fr_pool_get_stocked(fr_buffer_pool *pool, fr_stock *stock, uint32_t size_class)
{
    fr_stocked *record;
    do
        record = fr_stock_take(stock);
    while (!record && fr_pool_fill_stock(pool, stock, size_class));
    return record ? fr_buffer_of_stocked(record) : NULL;
}

fr_buffer *fr_buffer_pool_get(fr_buffer_pool *pool, uint32_t size_class)
{
    fr_stock *stock = fr_pool_stock(pool, size_class);
    if (stock)
        return fr_pool_get_stocked(pool, stock, size_class);
    fr_buffer *buffer = fr_class_take_hot(&pool->classes[size_class]);
    return buffer ? buffer : fr_pool_get_from_slab(pool, size_class);
}

static void fr_pool_put_into_slab(fr_buffer_pool *pool, fr_buffer *buffer)
{
    fr_buffer_class *class = &pool->classes[buffer->size_class];
    fr_buffer_slab *slab = buffer->slab;
    fr_mutex_lock(&class->lock);
    fr_count(&class->used_bytes, 0 - (uint64_t)buffer->capacity_bytes);
    if (slab->used == slab->count)
        fr_slab_link(&class->partial, slab);
    buffer->next_free = slab->free_list;
    slab->free_list = buffer;
    bool idle = --slab->used == 0 && !fr_slab_is_kept(slab);
    uint64_t now_ns = idle ? fr_os_current->now_ns() : 0;
    if (idle) {
        fr_slab_unlink(&class->partial, slab);
        fr_class_idle_add(class, slab, now_ns);
        (void)fr_add_relaxed(&pool->idle_bytes, slab->data_bytes);
    }
    fr_mutex_unlock(&class->lock);
    if (idle && fr_pool_idle_too_much(pool))
        fr_pool_trim_old(pool, now_ns);
}

static void fr_pool_put_list_into_slabs(fr_buffer_pool *pool, fr_stocked *list)
{
    while (list) {
        fr_stocked *next = list->next;
        fr_pool_put_into_slab(pool, fr_buffer_of_stocked(list));
        list = next;
    }
}

void fr_buffer_pool_put(fr_buffer_pool *pool, fr_buffer *buffer)
{
    fr_stock *stock = fr_pool_stock(pool, buffer->size_class);
    if (stock) {
        fr_stocked *batch = fr_stock_give(stock, &buffer->free);
        if (batch && !fr_stock_add(stock, batch, FR_POOL_STOCK_BATCHES))
            fr_pool_put_list_into_slabs(pool, batch);
        return;
    }
    if (!fr_class_put_hot(&pool->classes[buffer->size_class], buffer))
        fr_pool_put_into_slab(pool, buffer);
}

void fr_buffer_pool_figures(const fr_buffer_pool *pool, uint64_t *used_bytes, uint64_t *held_bytes)
{
    *used_bytes = 0;
    *held_bytes = 0;
    for (uint32_t k = 0; k < FR_BUFFER_CLASSES; k++) {
        const fr_buffer_class *class = &pool->classes[k];
        uint64_t hot_bytes = fr_load_relaxed(&class->hot) ? fr_buffer_class_bytes(k) : 0;
        uint64_t bytes = fr_load_relaxed(&class->used_bytes);
        if (k - 1 < FR_BUFFER_CLASSES_STOCKED)
            bytes = fr_stock_taken(&pool->stocks[k - 1]) * fr_buffer_class_bytes(k);
        /* Less only when the hot one left meanwhile. */
        *used_bytes += bytes > hot_bytes ? bytes - hot_bytes : 0;
        *held_bytes += fr_load_relaxed(&class->held_bytes);
    }
}

/* --- life ------------------------------------------------------------------------------------- */

void fr_buffer_pool_init(fr_buffer_pool *pool, const fr_allocator *allocator)
{
    memset(pool, 0, sizeof(*pool));
    pool->allocator = allocator;
}

void fr_buffer_pool_destroy(fr_buffer_pool *pool)
{
    for (uint32_t k = 0; k < FR_BUFFER_CLASSES_STOCKED; k++)
        fr_pool_put_list_into_slabs(pool, fr_stock_clear(&pool->stocks[k]));
    /* Before any slab goes: what is put back may trim the lists of every class. */
    for (uint32_t k = 0; k < FR_BUFFER_CLASSES; k++) {
        fr_buffer *hot = fr_class_take_hot(&pool->classes[k]);
        if (hot)
            fr_pool_put_into_slab(pool, hot);
    }
    for (uint32_t k = 0; k < FR_BUFFER_CLASSES; k++) {
        fr_buffer_class *class = &pool->classes[k];
        fr_buffer_slab *lists[2] = {class->partial, class->idle};
        for (uint32_t l = 0; l < 2; l++) {
            for (fr_buffer_slab *slab = lists[l], *next; slab; slab = next) {
                next = slab->next;
                fr_slab_free(pool, slab);
            }
        }
    }
}
