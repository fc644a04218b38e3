#include "scheduler/edge.h"

typedef struct fr_edge_memory {
    FR_ALIGNED_LINE void *next;
    size_t bytes;
    uint32_t capacity_class;
    uint32_t block_count;
} fr_edge_memory;

/* Small blocks come many at a time. */
#define FR_EDGE_MEMORY_BYTES 4096u

static uint32_t fr_edge_class(uint64_t count)
{
    uint32_t class = 0;
    while (((uint64_t)1 << (class + FR_EDGE_CLASS_FIRST_BITS)) < count)
        class ++;
    return class;
}

static size_t fr_edge_block_bytes(uint32_t capacity_class)
{
    return sizeof(fr_edge_block) + (sizeof(fr_edge) << (capacity_class + FR_EDGE_CLASS_FIRST_BITS));
}

fr_edge_block *fr_edge_pool_take(fr_edge_pool *pool, uint64_t count)
{
    if (count > FR_EDGES_MAX)
        return NULL;
    uint32_t class = fr_edge_class(count);
    fr_edge_block *block = pool->free[class];
    if (!block)
        return NULL;
    pool->free[class] = block->next;
    block->count = 0;
    block->done_prefix = 0;
    block->walk_stamp = 0;
    return block;
}

void fr_edge_pool_give(fr_edge_pool *pool, fr_edge_block *block)
{
    block->next = pool->free[block->capacity_class];
    pool->free[block->capacity_class] = block;
}

void *fr_edge_memory_allocate(const fr_allocator *allocator, uint64_t count)
{
    if (count > FR_EDGES_MAX)
        return NULL;
    uint32_t class = fr_edge_class(count);
    size_t block_bytes = fr_edge_block_bytes(class);
    uint32_t block_count =
        block_bytes < FR_EDGE_MEMORY_BYTES ? (uint32_t)(FR_EDGE_MEMORY_BYTES / block_bytes) : 1;
    size_t bytes = sizeof(fr_edge_memory) + block_count * block_bytes;
    fr_edge_memory *memory = fr_memory_allocate(allocator, bytes, FR_CACHE_LINE_BYTES);
    if (!memory)
        return NULL;
    *memory = (fr_edge_memory){NULL, bytes, class, block_count};
    return memory;
}

void fr_edge_pool_add(fr_edge_pool *pool, void *added)
{
    fr_edge_memory *memory = added;
    memory->next = pool->memory;
    pool->memory = memory;
    pool->memory_bytes += memory->bytes;
    char *at = (char *)(memory + 1);
    for (uint32_t k = 0; k < memory->block_count; k++) {
        fr_edge_block *block = (fr_edge_block *)(void *)at;
        block->capacity_class = memory->capacity_class;
        fr_edge_pool_give(pool, block);
        at += fr_edge_block_bytes(memory->capacity_class);
    }
}

void fr_edge_pool_destroy(fr_edge_pool *pool, const fr_allocator *allocator)
{
    fr_edge_memory *memory = pool->memory;
    while (memory) {
        fr_edge_memory *next = memory->next;
        fr_memory_release(allocator, memory, memory->bytes);
        memory = next;
    }
}

bool fr_edge_link(fr_edge_block *block, fr_op *consumer, fr_op *producer, uintptr_t flags,
                  const fr_op_table *table)
{
    uint64_t id = producer->id;
    fr_edge *edge = &block->edges[block->count];
    edge->consumer = (uintptr_t)consumer | flags;
    edge->producer_id = id;
    uintptr_t users = fr_load_relaxed(&producer->users);
    do {
        edge->next = (fr_edge *)users;
        /* [edge.link] pairs [edge.users.take] : see there */
    } while (!fr_cas_release(&producer->users, &users, (uintptr_t)edge));
#ifndef FR_MUTATE_EDGE_NO_CLOSE
#ifndef FR_MUTATE_EDGE_NO_FENCE
    /* [edge.link.fence] pairs [edge.users.look] : see there */
    fr_fence_seq_cst();
#endif
    if (fr_op_table_pending_op(table, id) == NULL) {
        uintptr_t mine = (uintptr_t)edge;
        if (fr_cas_relaxed(&producer->users, &mine, (uintptr_t)edge->next))
            return false;
    }
#endif
    block->count++;
    return true;
}
