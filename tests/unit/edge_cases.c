#include "tests/unit/edge_cases.h"

#include <string.h>

#include "scheduler/edge.h"
#include "tests/support/check.h"
#include "tests/support/heap.h"

const char *edge_blocks(void)
{
    fr_edge_pool pool;
    memset(&pool, 0, sizeof(pool));
    fr_test_heap *heap = fr_test_heap_create();
    const fr_allocator *allocator = fr_test_heap_allocator(heap);
    static const uint64_t counts[] = {1, 4, 5, 300, 100000};
    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        while (!fr_edge_pool_take(&pool, counts[k])) {
            void *memory = fr_edge_memory_allocate(allocator, counts[k]);
            FR_CHECK(memory);
            fr_edge_pool_add(&pool, memory);
        }
    }
    uint64_t bytes = pool.memory_bytes;
    fr_edge_block *block = fr_edge_pool_take(&pool, 3);
    FR_CHECK(block && block->count == 0); /* small blocks come many at a time */
    block->count = 3;
    fr_edge_pool_give(&pool, block);
    FR_CHECK(fr_edge_pool_take(&pool, 2) == block && block->count == 0);
    FR_CHECK(pool.memory_bytes == bytes && fr_test_heap_live_bytes(heap) == bytes);
    FR_CHECK(!fr_edge_memory_allocate(allocator, FR_EDGES_MAX + 1));
    FR_CHECK(!fr_edge_pool_take(&pool, FR_EDGES_MAX + 1));
    fr_edge_pool_destroy(&pool, allocator);
    FR_CHECK(fr_test_heap_destroy(heap) == 0);
    return NULL;
}

const char *edge_link_and_take(void)
{
    fr_op_table table;
    fr_edge_pool pool;
    static fr_op producer, consumers[2];
    memset(&table, 0, sizeof(table));
    memset(&pool, 0, sizeof(pool));
    memset(&producer, 0, sizeof(producer));
    FR_CHECK(fr_op_table_init(&table, &fr_allocator_default, 1) && fr_op_table_prepare(&table, 1));
    _Atomic uint64_t *entry = fr_op_table_issue(&table, 1);
    producer.id = fr_op_table_id(&table, 1);
    fr_store_release(entry, (uint64_t)(uintptr_t)&producer | FR_ENTRY_PENDING);
    void *memory = fr_edge_memory_allocate(&fr_allocator_default, 4);
    FR_CHECK(memory);
    fr_edge_pool_add(&pool, memory);
    FR_CHECK(fr_edge_take_users(&producer) == NULL);
    fr_edge_block *blocks[2];
    for (int k = 0; k < 2; k++) {
        blocks[k] = fr_edge_pool_take(&pool, 4);
        FR_CHECK(fr_edge_link(blocks[k], &consumers[k], &producer, k == 1, &table));
        FR_CHECK(blocks[k]->count == 1 && blocks[k]->edges[0].producer_id == producer.id);
    }
    (void)fr_op_table_complete(&table, entry, producer.id, fr_op_table_done(producer.id));
    fr_edge *users = fr_edge_take_users(&producer);
    FR_CHECK(users == blocks[1]->edges && users->next == blocks[0]->edges && !users->next->next);
    FR_CHECK(fr_edge_consumer(users) == &consumers[1] && (users->consumer & FR_EDGE_FAILS) != 0);
    FR_CHECK((users->next->consumer & FR_EDGE_FAILS) == 0);
    FR_CHECK(!fr_edge_link(blocks[0], &consumers[0], &producer, false, &table)); /* too late */
    FR_CHECK(blocks[0]->count == 1 && fr_edge_take_users(&producer) == NULL);
    fr_edge_pool_destroy(&pool, &fr_allocator_default);
    fr_op_table_destroy(&table);
    return NULL;
}
