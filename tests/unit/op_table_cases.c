#include "tests/unit/op_table_cases.h"

#include <string.h>

#include "scheduler/op_failure.h"
#include "tests/support/check.h"
#include "tests/support/heap.h"

#ifdef FR_SHRINK
#define MILLION UINT64_C(20000)
#define FEW_BYTES_MAX 160u /* blocks of 64 ids: each held id has one of its own */
#else
#define MILLION UINT64_C(1000000)
#define FEW_BYTES_MAX 64u
#endif

static fr_op op; /* what pending entries point to */

static bool open_table(fr_op_table *table, const fr_allocator *allocator)
{
    memset(table, 0, sizeof(*table));
    return fr_op_table_init(table, allocator, 3);
}

/* Gives the sequence out, pending; NULL without memory. */
static _Atomic uint64_t *give_out(fr_op_table *table, uint64_t sequence)
{
    if (!fr_op_table_is_prepared(table, sequence) && !fr_op_table_prepare(table, sequence))
        return NULL;
    _Atomic uint64_t *entry = fr_op_table_issue(table, sequence);
    if (entry)
        fr_store_release(entry, (uint64_t)(uintptr_t)&op | FR_ENTRY_PENDING);
    return entry;
}

static bool complete(fr_op_table *table, uint64_t sequence)
{
    uint64_t id = fr_op_table_id(table, sequence);
    _Atomic uint64_t *entry = give_out(table, sequence);
    if (entry)
        (void)fr_op_table_complete(table, entry, id, fr_op_table_done(id));
    return entry != NULL;
}

static uint64_t state(const fr_op_table *table, uint64_t sequence)
{
    return fr_op_table_read(table, fr_op_table_id(table, sequence)) & FR_ENTRY_STATE_MASK;
}

const char *op_table_life_of_an_id(void)
{
    fr_op_table table;
    FR_CHECK(open_table(&table, &fr_allocator_default));
    FR_CHECK(state(&table, 1) == FR_ENTRY_NONE);
    _Atomic uint64_t *entry = give_out(&table, 1);
    uint64_t id = fr_op_table_id(&table, 1);
    FR_CHECK(id == (UINT64_C(3) << 48 | 1));
    FR_CHECK(fr_op_table_pending_op(&table, id) == &op);
    FR_CHECK(fr_op_table_release(&table, id) == FR_RELEASE_PENDING);
    FR_CHECK(fr_op_table_flag(&table, id, FR_ENTRY_WAITERS));
    FR_CHECK(fr_op_table_flag(&table, id, FR_ENTRY_WAITERS)); /* of another waiter */
    FR_CHECK(fr_op_table_flag(&table, id, FR_ENTRY_RELEASED));
    FR_CHECK(!fr_op_table_flag(&table, id, FR_ENTRY_RELEASED));
    FR_CHECK(state(&table, 1) == FR_ENTRY_PENDING);
    uint64_t was = fr_op_table_complete(&table, entry, id, fr_op_table_done(id));
    FR_CHECK((was & FR_ENTRY_WAITERS) != 0 && (was & FR_ENTRY_RELEASED) != 0);
    FR_CHECK(state(&table, 1) == FR_ENTRY_NONE);
    FR_CHECK(!fr_op_table_flag(&table, id, FR_ENTRY_WAITERS));
    FR_CHECK(complete(&table, 2));
    FR_CHECK(state(&table, 2) == FR_ENTRY_DONE);
    FR_CHECK(fr_op_table_pending_op(&table, fr_op_table_id(&table, 2)) == NULL);
    FR_CHECK(fr_op_table_held(&table, 3) == 1);
    FR_CHECK(fr_op_table_release(&table, fr_op_table_id(&table, 2)) == FR_RELEASE_DONE);
    FR_CHECK(fr_op_table_release(&table, fr_op_table_id(&table, 2)) == FR_RELEASE_UNKNOWN);
    FR_CHECK(fr_op_table_release(&table, 2) == FR_RELEASE_UNKNOWN); /* another prefix */
    FR_CHECK(fr_op_table_held(&table, 3) == 0);
    fr_op_table_destroy(&table);
    return NULL;
}

/* Every third id is held; blocks are packed, then their ids released one by one. */
const char *op_table_packed_blocks(void)
{
    fr_op_table table;
    uint64_t count = FR_IDS_PER_BLOCK * (FR_ID_BLOCKS_RECENT + 8);
    FR_CHECK(open_table(&table, &fr_allocator_default));
    for (uint64_t k = 1; k <= count; k++) {
        FR_CHECK(complete(&table, k));
        if (k % 3 != 0)
            FR_CHECK(fr_op_table_release(&table, fr_op_table_id(&table, k)) == FR_RELEASE_DONE);
    }
    FR_CHECK(table.full_count <= FR_ID_BLOCKS_RECENT + 2);
    FR_CHECK(table.block_count > table.full_count);
    for (uint64_t k = 1; k <= count; k++)
        FR_CHECK(state(&table, k) == (k % 3 == 0 ? FR_ENTRY_DONE : FR_ENTRY_NONE));
    FR_CHECK(fr_op_table_held(&table, count + 1) == count / 3);
    for (uint64_t k = 1; k <= count; k++) {
        fr_release_result expected = k % 3 == 0 ? FR_RELEASE_DONE : FR_RELEASE_UNKNOWN;
        FR_CHECK(fr_op_table_release(&table, fr_op_table_id(&table, k)) == expected);
        FR_CHECK(state(&table, k) == FR_ENTRY_NONE);
    }
    FR_CHECK(table.block_count <= 2); /* the one that ids are taken from, and the next one */
    fr_op_table_destroy(&table);
    return NULL;
}

const char *op_table_failures_stay(void)
{
    fr_op_table table;
    fr_op_failure failure;
    char text[64];
    uint64_t count = FR_IDS_PER_BLOCK * (FR_ID_BLOCKS_RECENT + 8);
    FR_CHECK(open_table(&table, &fr_allocator_default));
    for (uint64_t k = 1; k <= count; k++) {
        _Atomic uint64_t *entry = give_out(&table, k);
        uint64_t id = fr_op_table_id(&table, k);
        bool fails = k % FR_IDS_PER_BLOCK == 5;
        (void)fr_op_table_complete(&table, entry, id,
                                   fails ? fr_failure_of_producer(id - 1) : fr_op_table_done(id));
    }
    for (uint64_t k = 5; k <= count; k += FR_IDS_PER_BLOCK) {
        uint64_t id = fr_op_table_id(&table, k);
        FR_CHECK(fr_op_table_failure(&table, id, &failure, text, sizeof(text)));
        FR_CHECK(failure.cause_id == id - 1 && failure.status == OVSTAGE_ERROR_OP_FAILED);
        FR_CHECK(!fr_op_table_failure(&table, id - 1, &failure, text, sizeof(text)));
        FR_CHECK(fr_op_table_release(&table, id) == FR_RELEASE_DONE);
        FR_CHECK(fr_op_table_release(&table, id) == FR_RELEASE_UNKNOWN);
        FR_CHECK(!fr_op_table_failure(&table, id, &failure, text, sizeof(text)));
    }
    fr_op_table_destroy(&table);
    return NULL;
}

/* An id that stays pending keeps its own block, and no other. */
const char *op_table_pending_ids_stay(void)
{
    fr_op_table table;
    uint64_t count = FR_IDS_PER_BLOCK * (FR_ID_BLOCKS_RECENT + 40);
    FR_CHECK(open_table(&table, &fr_allocator_default));
    for (uint64_t k = 1; k <= count; k++)
        FR_CHECK(k == 7 || k == FR_IDS_PER_BLOCK * 9 ? give_out(&table, k) != NULL
                                                     : complete(&table, k));
    FR_CHECK(state(&table, 7) == FR_ENTRY_PENDING);
    FR_CHECK(state(&table, FR_IDS_PER_BLOCK * 9) == FR_ENTRY_PENDING);
    FR_CHECK(state(&table, 8) == FR_ENTRY_DONE);
    FR_CHECK(table.full_count <= FR_ID_BLOCKS_RECENT + 4);
    fr_op_table_destroy(&table);
    return NULL;
}

const char *op_table_without_memory(void)
{
    enum { IDS_BLOCKS = 2000 }; /* more than forty slabs of packed ones */
    for (uint64_t k = 1; k < 40; k++) {
        fr_op_table table;
        fr_test_heap *heap = fr_test_heap_create();
        fr_test_heap_fail(heap, k, 1);
        bool opened = open_table(&table, fr_test_heap_allocator(heap));
        uint64_t sequence = 1;
        while (opened && sequence < FR_IDS_PER_BLOCK * IDS_BLOCKS && complete(&table, sequence))
            sequence++;
        FR_CHECK(opened || k == 1);
        FR_CHECK(sequence < FR_IDS_PER_BLOCK * IDS_BLOCKS);
        for (uint64_t s = 1; s < sequence; s++)
            FR_CHECK(state(&table, s) == FR_ENTRY_DONE);
        fr_test_heap_fail(heap, 0, 0);
        FR_CHECK(!opened || complete(&table, sequence)); /* it goes on when there is memory again */
        fr_op_table_destroy(&table);
        FR_CHECK(fr_test_heap_destroy(heap) == 0);
    }
    return NULL;
}

/* --- bounds ----------------------------------------------------------------------------------- */

static const char *check_bound(uint64_t ids, uint64_t hold_one_in, uint64_t bytes_max)
{
    fr_op_table table;
    FR_CHECK(open_table(&table, &fr_allocator_default));
    uint64_t held = 0;
    for (uint64_t k = 1; k <= ids; k++) {
        FR_CHECK(complete(&table, k));
        if (hold_one_in > 0 && k % hold_one_in == 0)
            held++;
        else
            FR_CHECK(fr_op_table_release(&table, fr_op_table_id(&table, k)) == FR_RELEASE_DONE);
    }
    /* Beside the held ones, the newest blocks are there. */
    uint64_t newest =
        (FR_ID_BLOCKS_RECENT + 6) * (FR_IDS_PER_BLOCK * sizeof(uint64_t) + 192) + 8192;
    FR_CHECK(fr_load_relaxed(&table.memory_bytes) <= held * bytes_max + newest);
    fr_op_table_destroy(&table);
    return NULL;
}

const char *op_table_never_released(void)
{
    return check_bound(MILLION, 1, 16);
}

const char *op_table_few_unreleased(void)
{
    return check_bound(10 * MILLION, 256, FEW_BYTES_MAX);
}

const char *op_table_all_released(void)
{
    return check_bound(10 * MILLION, 0, 0);
}
