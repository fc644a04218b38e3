/* The pool behind buffers.h: per size class, slabs of buffers of one size.
 *
 * Sizes: multiples of 64 bytes up to 256, then four per power of two. A slab is records plus pages
 * for their payloads; a small class starts with a slab of 64 KiB, further slabs double up to 2 MiB;
 * a buffer beyond that is a slab of its own. Class 0 has no payload: records of adopted tensors.
 *
 * Threads: all. Invariants: a slab without free buffers is in no list, one with some in `partial`
 * (the last used first), one that is free as a whole in `idle` (the same), but that the only
 * partial slab of a class, when it is small and of several buffers, stays where it is. Of a small
 * class one free buffer may lie in `hot`, where one exchange takes and puts it; its slab counts it
 * as handed out; those of the smallest classes lie in a stock in place of that, counted by
 * their slabs in the same manner. Progress: one exchange, or one short lock per class or shelf;
 * slabs are made and given back outside of it. Memory bound: idle slabs above a quarter of the
 * slabs in use (at least 64 MiB) go when they were idle for a second, looked at when one more
 * becomes idle, and all of them when there is no memory for a new slab. */
#ifndef FR_RUNTIME_STORE_BUFFERS_POOL_H
#define FR_RUNTIME_STORE_BUFFERS_POOL_H

#include "runtime/store/buffers.h"

#define FR_BUFFER_CLASSES 160u
#define FR_BUFFER_CLASS_ADOPTED 0u
#define FR_BUFFER_CLASS_NONE UINT32_MAX
/* Classes 1 to this: payloads of a few rows, of which very many come and go. */
#define FR_BUFFER_CLASSES_STOCKED 4u

typedef struct fr_buffer_slab fr_buffer_slab;

typedef struct fr_buffer_class {
    /* A free buffer or NULL; set by put, from NULL, and cleared by get and destroy. */
    FR_ALIGNED_LINE _Atomic(fr_buffer *) hot;
    fr_mutex lock;
    uint32_t slab_count;
    fr_buffer_slab *partial;
    fr_buffer_slab *idle, *idle_last;
    /* Written under the lock, read by anybody for figures. */
    _Atomic uint64_t used_bytes, held_bytes;
} fr_buffer_class;

typedef struct fr_buffer_pool {
    const fr_allocator *allocator;
    fr_buffer_class classes[FR_BUFFER_CLASSES];
    fr_stock stocks[FR_BUFFER_CLASSES_STOCKED];  /* of the classes from 1 on */
    FR_ALIGNED_LINE _Atomic uint64_t held_bytes; /* of all slabs */
    _Atomic uint64_t idle_bytes;                 /* of those in idle lists */
    _Atomic uint64_t next_trim_ns;
} fr_buffer_pool;

/* FR_BUFFER_CLASS_NONE: larger than any. */
uint32_t fr_buffer_class_of(size_t size_bytes);
size_t fr_buffer_class_bytes(uint32_t size_class);

void fr_buffer_pool_init(fr_buffer_pool *pool, const fr_allocator *allocator);
void fr_buffer_pool_destroy(fr_buffer_pool *pool);
/* data, capacity_bytes, size_class and slab are set. NULL without memory. */
fr_buffer *fr_buffer_pool_get(fr_buffer_pool *pool, uint32_t size_class);
void fr_buffer_pool_put(fr_buffer_pool *pool, fr_buffer *buffer);
/* In buffers that are handed out, and in all of slabs. */
void fr_buffer_pool_figures(const fr_buffer_pool *pool, uint64_t *used_bytes, uint64_t *held_bytes);

#endif
