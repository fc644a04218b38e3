/* What is known of each id: pending, done, failed, released.
 *
 * An id is prefix << 48 | sequence, sequences from 1. Sequences are cut into blocks of
 * FR_IDS_PER_BLOCK; a block is found by a hash of its number. A full block has one word an id. A
 * block whose ids are all complete, none of them failed and still held, is packed to one bit an id
 * once it is no longer among the newest; a block whose ids are all released is used again for later
 * ids.
 *
 * Word map of an entry:
 *
 *    63                                     6  5  4  3  2      0
 *   +----------------------------------------+--+--+--+---------+
 *   |                 value                  |Z |W |R |  state  |
 *   +----------------------------------------+--+--+--+---------+
 *   state, field  value                     set by                     cleared by
 *   0 none        0                         -                          -
 *   1 pending     the fr_op's address       submit, under admission    who completes the op
 *   2 done        number of the block       who completes the op       release, compare-and-swap
 *   3 text        a failure's address       the same                   release, under the lock
 *   4 status      status of a failure       the same                   the same
 *   5 cause       sequence of the producer  the same                   the same
 *   R released    -                         release or submit,         who completes the op
 *                                           under admission
 *   W waiters     -                         a waiter, under admission  who completes the op, in the
 *                                                                      same step; it wakes them
 *   Z packing     -                         packing, under the lock    thaw, or the next use
 *
 * Threads: prepare, read and release from any thread; issue, flag and pending_op under admission;
 * complete by who ran the op.
 *
 * Invariants:
 *   Blocks are type-stable: memory is given back at destroy only. `key` is the number of the block
 *   + 1 while it stands for those ids, and is cleared before anything in it changes its meaning. A
 *   reader looks at it before and after it reads an entry, so what it got belongs to the id.
 *   `version` grows before a key is cleared: who finds no block, and the same version before and
 *   after, has not missed one that moved.
 *   A done entry holds its block's number, so the swap of a release cannot hit the entry of another
 *   id in the same place.
 *   A block has `live` ids that are not released. Whoever counts it to zero unlinks it. A block is
 *   packed only when its entries show that no release is between its swap and its count.
 *
 * Progress: read is lock-free and writes nothing. Releasing a done id of a full block takes two
 * atomic steps; what is rare takes the table's lock.
 *
 * Memory bound: 8 bytes an id while its block is new, or has pending or failed ids; else 1 bit; and
 * below 64 bytes a block. Blocks are hashed into at most twice as many buckets. */
#ifndef FR_SCHEDULER_OP_TABLE_H
#define FR_SCHEDULER_OP_TABLE_H

#include "scheduler/op.h"

#define FR_ID_SEQUENCE_BITS 48
#define FR_ID_SEQUENCE_MASK ((UINT64_C(1) << FR_ID_SEQUENCE_BITS) - 1)

/* Under sanitizers blocks are so small that packing and re-use are common. */
#ifdef FR_SHRINK
#define FR_IDS_PER_BLOCK_BITS 6
#define FR_ID_BLOCKS_RECENT 2u
#else
#define FR_IDS_PER_BLOCK_BITS 10
#define FR_ID_BLOCKS_RECENT 32u /* full blocks that are not looked at for packing */
#endif
#define FR_IDS_PER_BLOCK (1u << FR_IDS_PER_BLOCK_BITS)
/* Blocks are made this many ids before they are needed. */
#define FR_IDS_AHEAD (FR_IDS_PER_BLOCK / 2)

#define FR_ENTRY_STATE_MASK UINT64_C(7)
#define FR_ENTRY_NONE UINT64_C(0)
#define FR_ENTRY_PENDING UINT64_C(1)
#define FR_ENTRY_DONE UINT64_C(2)
#define FR_ENTRY_TEXT UINT64_C(3)
#define FR_ENTRY_STATUS UINT64_C(4)
#define FR_ENTRY_CAUSE UINT64_C(5)
#define FR_ENTRY_RELEASED (UINT64_C(1) << 3)
#define FR_ENTRY_WAITERS (UINT64_C(1) << 4)
#define FR_ENTRY_PACKING (UINT64_C(1) << 5)
#define FR_ENTRY_VALUE_SHIFT 6
#define FR_ENTRY_VALUE_MASK (~UINT64_C(0) << FR_ENTRY_VALUE_SHIFT)

_Static_assert(_Alignof(fr_op) >= 1 << FR_ENTRY_VALUE_SHIFT,
               "an op's address fits beside the flags");
_Static_assert(FR_ID_SEQUENCE_BITS + FR_ENTRY_VALUE_SHIFT <= 64, "a sequence fits as a value");

typedef struct fr_id_block fr_id_block;
typedef struct fr_id_buckets fr_id_buckets;

typedef struct fr_op_table {
    _Atomic(fr_id_buckets *) buckets;
    _Atomic uint64_t version; /* grows before a block's key is cleared or the buckets change */
    uint64_t prefix;          /* in place: prefix << 48 */
    const fr_allocator *allocator;
    _Atomic uint64_t ready_end; /* sequences below have a block: grows under the lock */

    FR_ALIGNED_LINE fr_id_block *issuing; /* under admission: the block of the next sequence */

    FR_ALIGNED_LINE fr_mutex lock; /* guards all below, and everything rare */
    uint32_t block_count;          /* linked in the buckets, packed ones included */
    uint32_t full_count;
    fr_id_block *oldest, *newest; /* full blocks in the order in which packing looks at them */
    fr_id_block *free_full, *free_packed;
    void *memory;             /* everything allocated, chained by its first words */
    _Atomic uint64_t flagged; /* ids that were released while they were pending, */
    _Atomic uint64_t let_go;  /* and those of them that have completed */
    _Atomic uint64_t memory_bytes;
} fr_op_table;

bool fr_op_table_init(fr_op_table *table, const fr_allocator *allocator, uint64_t prefix);
/* Texts of failed ids are given back too. */
void fr_op_table_destroy(fr_op_table *table);

/* Outside of admission: makes sure that sequences up to next + FR_IDS_AHEAD have a block. False
 * without memory, when not even next has one. */
bool fr_op_table_prepare(fr_op_table *table, uint64_t next);
static inline bool fr_op_table_is_prepared(const fr_op_table *table, uint64_t next)
{
    return next + FR_IDS_AHEAD < fr_load_relaxed(&table->ready_end);
}

/* Under admission: the entry of the next sequence (each is asked for once, in order), or NULL when
 * there is no block for it. */
_Atomic uint64_t *fr_op_table_issue(fr_op_table *table, uint64_t sequence);
static inline uint64_t fr_op_table_id(const fr_op_table *table, uint64_t sequence)
{
    return table->prefix | sequence;
}
/* What the entry of a done id is. */
static inline uint64_t fr_op_table_done(uint64_t id)
{
#ifdef FR_MUTATE_OP_TABLE_NO_GENERATION
    (void)id;
    return FR_ENTRY_DONE;
#else
    return (id & FR_ID_SEQUENCE_MASK) >> FR_IDS_PER_BLOCK_BITS << FR_ENTRY_VALUE_SHIFT |
           FR_ENTRY_DONE;
#endif
}

/* The entry's word as it was at some moment during the call; 0 for what is no id or is released. A
 * pending id that was released is still pending here. */
uint64_t fr_op_table_read(const fr_op_table *table, uint64_t id);
/* The same for one of many ids, most of which follow each other: *near, NULL at first, is where the
 * one before was found. */
uint64_t fr_op_table_read_near(const fr_op_table *table, uint64_t id, const fr_id_block **near);

/* Under admission: the op when it is pending, else NULL. It stays an op of that id while admission
 * is held. */
fr_op *fr_op_table_pending_op(const fr_op_table *table, uint64_t id);
/* Under admission: sets FR_ENTRY_WAITERS or FR_ENTRY_RELEASED on a pending id; false when it is not
 * pending or has the flag RELEASED. */
bool fr_op_table_flag(fr_op_table *table, uint64_t id, uint64_t flag);
/* Under admission: an entry was issued that is released from the start. */
static inline void fr_op_table_born_released(fr_op_table *table)
{
    fr_count(&table->flagged, 1);
}

/* The id of a pending entry was released, and its op has completed. */
void fr_op_table_count_released(fr_op_table *table, _Atomic uint64_t *entry, uint64_t id);
/* By who ran the op: pending becomes `value`, or nothing when it was released. Returns what the
 * entry was. */
static inline uint64_t fr_op_table_complete(fr_op_table *table, _Atomic uint64_t *entry,
                                            uint64_t id, uint64_t value)
{
    uint64_t word = fr_load_relaxed(entry);
    /* [table.entry.complete] pairs [table.entry.read], [table.entry.flag], [table.entry.look],
     * [table.pack], [table.entry.release], [table.failure.read] : what the op wrote is seen by who
     * sees it complete; what a waiter entered before its flag is seen here. Sequentially
     * consistent for edge.h. */
    while (!fr_cas_seq_cst(entry, &word, (word & FR_ENTRY_RELEASED) != 0 ? 0 : value)) {
    }
    if ((word & FR_ENTRY_RELEASED) != 0)
        fr_op_table_count_released(table, entry, id);
    return word;
}

typedef enum fr_release_result {
    FR_RELEASE_UNKNOWN,
    FR_RELEASE_DONE,
    FR_RELEASE_PENDING, /* nothing happened: the caller flags it under admission */
} fr_release_result;
fr_release_result fr_op_table_release(fr_op_table *table, uint64_t id);

/* For statistics: ids below `next` that are not released. */
uint64_t fr_op_table_held(fr_op_table *table, uint64_t next);

/* Copies what is known of a failed id; false when it has not failed. */
bool fr_op_table_failure(fr_op_table *table, uint64_t id, fr_op_failure *out, char *buffer,
                         size_t buffer_bytes);

#endif
