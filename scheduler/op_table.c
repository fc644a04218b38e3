#include "scheduler/op_table.h"

#include "scheduler/op_failure.h"

#define FR_IDS_INDEX_MASK ((uint64_t)FR_IDS_PER_BLOCK - 1)
#define FR_PACKED_WORDS (FR_IDS_PER_BLOCK / 64)
/* As many as lie in 8 KiB with what is before them: an allocator that rounds up adds little. */
#define FR_PACKED_PER_SLAB 46u
#define FR_ID_BUCKETS_FIRST 64u

_Static_assert(FR_IDS_PER_BLOCK % 64 == 0, "packed blocks have whole words");
_Static_assert(FR_ID_BLOCKS_RECENT >= 2,
               "the block that ids are taken from, and the next one, stay full");

/* Word map of `key`: number of the block + 1, or 0 when it stands for no ids. Set and cleared under
 * the lock. Word map of `live`: ids that are not released, those not yet given out included. Set
 * under the lock; counted down by who released an id. */
struct fr_id_block {
    _Atomic uint64_t key;
    _Atomic(fr_id_block *) next[2]; /* in a bucket: the buckets say which one they use */
    _Atomic uint32_t live;
    bool is_packed;
    fr_id_block *queue_next, *queue_previous; /* full blocks in use; free ones by next */
    _Atomic uint64_t words[]; /* entries; packed: a bit an id, set while it is not released */
};

/* Old buckets stay readable until destroy: they double, so all of them are smaller than twice the
 * last. The links of two generations alternate, so a chain that is being walked is not changed by
 * the first growth meanwhile, and after a second one the version has changed. */
struct fr_id_buckets {
    uint64_t mask;
    uint32_t link;
    _Atomic(fr_id_block *) heads[];
};

typedef struct fr_table_memory {
    FR_ALIGNED_LINE void *next;
    size_t bytes;
} fr_table_memory;

/* --- memory ----------------------------------------------------------------------------------- */

static void *fr_op_table_allocate(fr_op_table *table, size_t bytes)
{
    fr_table_memory *memory = fr_memory_allocate_zero(
        table->allocator, sizeof(fr_table_memory) + bytes, FR_CACHE_LINE_BYTES);
    if (!memory)
        return NULL;
    memory->bytes = sizeof(fr_table_memory) + bytes;
    fr_mutex_lock(&table->lock);
    memory->next = table->memory;
    table->memory = memory;
    fr_store_relaxed(&table->memory_bytes, fr_load_relaxed(&table->memory_bytes) + memory->bytes);
    fr_mutex_unlock(&table->lock);
    return memory + 1;
}

static bool fr_op_table_add_full(fr_op_table *table)
{
    fr_id_block *block = fr_op_table_allocate(
        table, sizeof(fr_id_block) + FR_IDS_PER_BLOCK * sizeof(_Atomic uint64_t));
    if (!block)
        return false;
    fr_mutex_lock(&table->lock);
    block->queue_next = table->free_full;
    table->free_full = block;
    fr_mutex_unlock(&table->lock);
    return true;
}

static void fr_op_table_add_packed(fr_op_table *table)
{
    size_t bytes = sizeof(fr_id_block) + FR_PACKED_WORDS * sizeof(_Atomic uint64_t);
    char *slab = fr_op_table_allocate(table, FR_PACKED_PER_SLAB * bytes);
    if (!slab)
        return; /* packing waits for memory */
    fr_mutex_lock(&table->lock);
    for (uint32_t k = 0; k < FR_PACKED_PER_SLAB; k++) {
        fr_id_block *block = (fr_id_block *)(void *)(slab + k * bytes);
        block->is_packed = true;
        block->queue_next = table->free_packed;
        table->free_packed = block;
    }
    fr_mutex_unlock(&table->lock);
}

static fr_id_buckets *fr_op_table_new_buckets(fr_op_table *table, uint64_t count, uint32_t link)
{
    fr_id_buckets *buckets =
        fr_op_table_allocate(table, sizeof(fr_id_buckets) + count * sizeof(_Atomic(fr_id_block *)));
    if (!buckets)
        return NULL;
    buckets->mask = count - 1;
    buckets->link = link;
    return buckets;
}

bool fr_op_table_init(fr_op_table *table, const fr_allocator *allocator, uint64_t prefix)
{
    table->allocator = allocator;
    table->prefix = prefix << FR_ID_SEQUENCE_BITS;
    fr_id_buckets *buckets = fr_op_table_new_buckets(table, FR_ID_BUCKETS_FIRST, 0);
    fr_store_relaxed(&table->buckets, buckets); /* nobody else knows the table yet */
    return buckets != NULL;
}

static void fr_op_table_release_texts(fr_op_table *table)
{
    for (fr_id_block *block = table->oldest; block; block = block->queue_next)
        for (uint32_t k = 0; k < FR_IDS_PER_BLOCK; k++)
            fr_failure_release(table->allocator, fr_load_relaxed(&block->words[k]));
}

void fr_op_table_destroy(fr_op_table *table)
{
    fr_op_table_release_texts(table);
    fr_table_memory *memory = table->memory;
    while (memory) {
        fr_table_memory *next = memory->next;
        fr_memory_release(table->allocator, memory, memory->bytes);
        memory = next;
    }
}

/* --- finding a block -------------------------------------------------------------------------- */

static _Atomic(fr_id_block *) *fr_op_table_head(fr_id_buckets *buckets, uint64_t key)
{
    return &buckets->heads[key & buckets->mask];
}

static fr_id_block *fr_op_table_find(const fr_op_table *table, uint64_t key)
{
    /* [table.buckets.read] pairs [table.buckets.publish] : see there */
    fr_id_buckets *buckets = fr_load_acquire(&table->buckets);
    /* [table.head.read] pairs [table.head.link], [table.unlink] : a block is complete, and what an
     * unlinked one was replaced by and the version are seen */
    fr_id_block *block = fr_load_acquire(fr_op_table_head(buckets, key));
    /* [table.key.read] pairs [table.key.set], [table.key.clear] : entries of the ids the key names
     */
    while (block && fr_load_acquire(&block->key) != key)
        /* [table.next.read] pairs [table.head.link], [table.unlink] : as table.head.read */
        block = fr_load_acquire(&block->next[buckets->link]);
    return block;
}

/* The block of an id of this table, or NULL. */
static fr_id_block *fr_op_table_block(const fr_op_table *table, uint64_t id, uint64_t *key)
{
    if ((id & ~FR_ID_SEQUENCE_MASK) != table->prefix)
        return NULL;
    *key = ((id & FR_ID_SEQUENCE_MASK) >> FR_IDS_PER_BLOCK_BITS) + 1;
    for (;;) {
        /* [table.version.before] pairs [table.version.grow] : a block that moves after this look
         * changes the version */
        uint64_t version = fr_load_acquire(&table->version);
        fr_id_block *block = fr_op_table_find(table, *key);
        /* [table.version.after] pairs [table.version.grow] : whoever saw a link or key change sees
         * the version changed */
        if (block || fr_load_acquire(&table->version) == version)
            return block;
    }
}

static uint64_t fr_op_table_word(const fr_id_block *block, uint64_t id)
{
    uint64_t index = id & FR_IDS_INDEX_MASK;
    if (!block->is_packed)
        /* [table.entry.read] pairs [table.entry.complete], [table.entry.issue],
         * [table.entry.reset], [table.entry.born_done] : who sees an op complete sees what it
         * wrote; who sees the word of a later id sees the key changed */
        return fr_load_acquire(&block->words[index]) & ~FR_ENTRY_PACKING;
    /* [table.bit.read] pairs [table.bit.set] : as table.entry.read */
    uint64_t bits = fr_load_acquire(&block->words[index / 64]);
    return (bits >> (index % 64) & 1) != 0 ? fr_op_table_done(id) : 0;
}

/* The block that was read before may be that of this id too. */
static bool fr_op_table_is_near(const fr_op_table *table, const fr_id_block *near, uint64_t id,
                                uint64_t *key)
{
    *key = ((id & FR_ID_SEQUENCE_MASK) >> FR_IDS_PER_BLOCK_BITS) + 1;
    /* [table.key.near] pairs [table.key.set], [table.key.clear] : as table.key.read */
    return near && (id & ~FR_ID_SEQUENCE_MASK) == table->prefix &&
           fr_load_acquire(&near->key) == *key;
}

uint64_t fr_op_table_read_near(const fr_op_table *table, uint64_t id, const fr_id_block **near)
{
    for (;;) {
        uint64_t key;
        const fr_id_block *block = *near;
        if (!fr_op_table_is_near(table, block, id, &key))
            block = fr_op_table_block(table, id, &key);
        *near = block;
        if (!block)
            return 0;
        uint64_t word = fr_op_table_word(block, id);
#ifdef FR_MUTATE_OP_TABLE_NO_RECHECK
        return word;
#else
        if (fr_load_relaxed(&block->key) == key) /* ordered by the acquire of the word */
            return word;
#endif
    }
}

uint64_t fr_op_table_read(const fr_op_table *table, uint64_t id)
{
    const fr_id_block *near = NULL;
    return fr_op_table_read_near(table, id, &near);
}

/* --- under admission -------------------------------------------------------------------------- */

_Atomic uint64_t *fr_op_table_issue(fr_op_table *table, uint64_t sequence)
{
    uint64_t key;
    if (!table->issuing || (sequence & FR_IDS_INDEX_MASK) == 0)
        table->issuing = fr_op_table_block(table, fr_op_table_id(table, sequence), &key);
    return table->issuing ? &table->issuing->words[sequence & FR_IDS_INDEX_MASK] : NULL;
}

fr_op *fr_op_table_pending_op(const fr_op_table *table, uint64_t id)
{
    uint64_t word = fr_op_table_read(table, id);
    if ((word & FR_ENTRY_STATE_MASK) != FR_ENTRY_PENDING)
        return NULL;
    return (fr_op *)(uintptr_t)(word & FR_ENTRY_VALUE_MASK);
}

/* A block that is used again while admission is held has no pending entry, so the swap cannot hit
 * another id's. */
bool fr_op_table_flag(fr_op_table *table, uint64_t id, uint64_t flag)
{
    uint64_t key;
    fr_id_block *block = fr_op_table_block(table, id, &key);
    if (!block || block->is_packed)
        return false;
    _Atomic uint64_t *entry = &block->words[id & FR_IDS_INDEX_MASK];
    uint64_t word = fr_load_relaxed(entry);
    do {
        if ((word & FR_ENTRY_STATE_MASK) != FR_ENTRY_PENDING ||
            (word & flag & FR_ENTRY_RELEASED) != 0)
            return false;
        /* [table.entry.flag] pairs [table.entry.complete] : who completes the op after this sees
         * the flag, and what was done before it was set */
    } while (!fr_cas_acq_rel(entry, &word, word | flag));
    if (flag == FR_ENTRY_RELEASED)
        fr_count(&table->flagged, 1);
    return true;
}

/* --- blocks come and go, under the lock ------------------------------------------------------- */

static void fr_op_table_link(fr_op_table *table, fr_id_block *block, uint64_t key)
{
    fr_id_buckets *buckets = fr_load_relaxed(&table->buckets);
    _Atomic(fr_id_block *) *head = fr_op_table_head(buckets, key);
    /* [table.key.set] pairs [table.key.read], [table.key.near] : the entries are in place */
    fr_store_release(&block->key, key);
    fr_store_relaxed(&block->next[buckets->link], fr_load_relaxed(head));
    /* [table.head.link] pairs [table.head.read], [table.next.read] : the block is complete */
    fr_store_release(head, block);
    table->block_count++;
}

static void fr_op_table_unlink(fr_op_table *table, fr_id_block *block)
{
    fr_id_buckets *buckets = fr_load_relaxed(&table->buckets);
    _Atomic(fr_id_block *) *link = fr_op_table_head(buckets, fr_load_relaxed(&block->key));
    while (fr_load_relaxed(link) != block)
        link = &fr_load_relaxed(link)->next[buckets->link];
#ifndef FR_MUTATE_OP_TABLE_NO_VERSION
    /* [table.version.grow] pairs [table.version.before], [table.version.after] : see there */
    fr_store_release(&table->version, fr_load_relaxed(&table->version) + 1);
#endif
    /* [table.key.clear] pairs [table.key.read], [table.key.near] : the version has grown, the
     * replacement is linked */
    fr_store_release(&block->key, 0);
    /* [table.unlink] pairs [table.head.read], [table.next.read] : as table.key.clear */
    fr_store_release(link, fr_load_relaxed(&block->next[buckets->link]));
    table->block_count--;
}

static void fr_op_table_queue(fr_op_table *table, fr_id_block *block)
{
    block->queue_next = NULL;
    block->queue_previous = table->newest;
    *(table->newest ? &table->newest->queue_next : &table->oldest) = block;
    table->newest = block;
    table->full_count++;
}

static void fr_op_table_unqueue(fr_op_table *table, fr_id_block *block)
{
    *(block->queue_previous ? &block->queue_previous->queue_next : &table->oldest) =
        block->queue_next;
    *(block->queue_next ? &block->queue_next->queue_previous : &table->newest) =
        block->queue_previous;
    table->full_count--;
}

static void fr_op_table_free_block(fr_op_table *table, fr_id_block *block)
{
    fr_op_table_unlink(table, block);
    if (!block->is_packed)
        fr_op_table_unqueue(table, block);
    fr_id_block **list = block->is_packed ? &table->free_packed : &table->free_full;
    block->queue_next = *list;
    *list = block;
}

static void fr_op_table_enter(fr_op_table *table)
{
    fr_id_block *block = table->free_full;
    table->free_full = block->queue_next;
    uint64_t first = fr_load_relaxed(&table->ready_end);
    for (uint32_t k = 0; k < FR_IDS_PER_BLOCK; k++)
        /* [table.entry.reset] pairs [table.entry.read], [table.entry.look] : whoever sees it sees
         * the key cleared */
        fr_store_release(&block->words[k], 0);
    /* Sequence 0 is never given out. */
    fr_store_relaxed(&block->live, first == 0 ? FR_IDS_PER_BLOCK - 1 : FR_IDS_PER_BLOCK);
    fr_op_table_link(table, block, (first >> FR_IDS_PER_BLOCK_BITS) + 1);
    fr_op_table_queue(table, block);
    fr_store_relaxed(&table->ready_end, first + FR_IDS_PER_BLOCK);
}

/* old: as they were under the lock, without which nothing says that they are seen whole. */
static void fr_op_table_grow_buckets(fr_op_table *table, fr_id_buckets *old)
{
    fr_id_buckets *buckets = fr_op_table_new_buckets(table, (old->mask + 1) * 2, 1 - old->link);
    if (!buckets)
        return; /* chains get longer */
    fr_mutex_lock(&table->lock);
    if (fr_load_relaxed(&table->buckets) != old) { /* another thread was first */
        fr_mutex_unlock(&table->lock);
        return;
    }
    for (uint64_t k = 0; k <= old->mask; k++) {
        for (fr_id_block *block = fr_load_relaxed(&old->heads[k]); block;
             block = fr_load_relaxed(&block->next[old->link])) {
            _Atomic(fr_id_block *) *head = fr_op_table_head(buckets, fr_load_relaxed(&block->key));
            fr_store_relaxed(&block->next[buckets->link], fr_load_relaxed(head));
            fr_store_relaxed(head, block);
        }
    }
    fr_store_relaxed(&table->version, fr_load_relaxed(&table->version) + 1);
    /* [table.buckets.publish] pairs [table.buckets.read] : the chains are complete; the version has
     * grown */
    fr_store_release(&table->buckets, buckets);
    fr_mutex_unlock(&table->lock);
}

/* --- packing, under the lock ------------------------------------------------------------------ */

/* The ids that are not released: equal to `held`, those whose entries say so, when every release of
 * the block has counted. */
static uint32_t fr_block_live(const fr_id_block *block, uint32_t held)
{
#ifdef FR_MUTATE_OP_TABLE_PACK_UNCOUNTED
    (void)block;
    return held;
#else
    (void)held;
    /* [table.live.read] pairs [table.live.down] : the releases are over */
    return fr_load_acquire(&block->live);
#endif
}

/* True when all ids of the block are complete, none failed and held, at least one is held, and no
 * release is under way. */
static bool fr_op_table_can_pack(const fr_id_block *block)
{
    uint32_t held = 0;
    for (uint32_t k = 0; k < FR_IDS_PER_BLOCK; k++) {
        uint64_t state = fr_load_relaxed(&block->words[k]) & FR_ENTRY_STATE_MASK;
        if (state != FR_ENTRY_NONE && state != FR_ENTRY_DONE)
            return false;
        held += state == FR_ENTRY_DONE;
    }
    return held > 0 && held == fr_block_live(block, held);
}

/* Stops releases of the block: from then on they take the lock. Returns how many ids are held. */
static uint32_t fr_op_table_freeze(fr_id_block *block, fr_id_block *packed)
{
    uint32_t held = 0;
    for (uint32_t k = 0; k < FR_IDS_PER_BLOCK; k++) {
        uint64_t word = fr_load_relaxed(&block->words[k]);
        /* [table.pack] pairs [table.entry.complete], [table.entry.release] : what the op wrote goes
         * on to who sees the bit */
        bool is_held = (word & FR_ENTRY_STATE_MASK) == FR_ENTRY_DONE &&
                       fr_cas_acq_rel(&block->words[k], &word, word | FR_ENTRY_PACKING);
        _Atomic uint64_t *bits = &packed->words[k / 64];
        uint64_t before = k % 64 == 0 ? 0 : fr_load_relaxed(bits);
        /* [table.bit.set] pairs [table.bit.read] : as table.pack; and the key of the block's last
         * use is seen cleared */
        fr_store_release(bits, before | (uint64_t)is_held << (k % 64));
        held += is_held;
    }
    return held;
}

static void fr_op_table_thaw(fr_id_block *block)
{
    for (uint32_t k = 0; k < FR_IDS_PER_BLOCK; k++) {
        uint64_t word = fr_load_relaxed(&block->words[k]);
        if ((word & FR_ENTRY_PACKING) != 0) /* nobody else changes it meanwhile */
            /* [table.thaw] pairs [table.entry.release] : what was done under the lock is seen */
            fr_store_release(&block->words[k], word & ~FR_ENTRY_PACKING);
    }
}

/* Packs the oldest full block, or puts it behind the others. */
static void fr_op_table_pack_oldest(fr_op_table *table)
{
    fr_id_block *block = table->oldest;
    fr_id_block *packed = table->free_packed;
    if (fr_op_table_can_pack(block)) {
        uint32_t held = fr_op_table_freeze(block, packed);
        if (held > 0 && held == fr_block_live(block, held)) {
            table->free_packed = packed->queue_next;
            fr_store_relaxed(&packed->live, held);
            fr_op_table_link(table, packed, fr_load_relaxed(&block->key));
            fr_op_table_free_block(table, block);
            return;
        }
        fr_op_table_thaw(block);
    }
    fr_op_table_unqueue(table, block);
    fr_op_table_queue(table, block);
}

bool fr_op_table_prepare(fr_op_table *table, uint64_t next)
{
    while (!fr_op_table_is_prepared(table, next)) {
        fr_mutex_lock(&table->lock);
        bool has_block = table->free_full != NULL;
        bool wants_packed = table->full_count > FR_ID_BLOCKS_RECENT && !table->free_packed;
        fr_id_buckets *buckets = fr_load_relaxed(&table->buckets);
        bool wants_buckets = table->block_count > buckets->mask;
        if (has_block && !fr_op_table_is_prepared(table, next))
            fr_op_table_enter(table);
        /* Two a block: blocks whose ids stay pending do not keep others from being packed. */
        for (int k = 0; k < 2 && table->full_count > FR_ID_BLOCKS_RECENT && table->free_packed; k++)
            fr_op_table_pack_oldest(table);
        fr_mutex_unlock(&table->lock);
        if (!has_block && !fr_op_table_add_full(table))
            return next < fr_load_relaxed(&table->ready_end);
        if (wants_packed)
            fr_op_table_add_packed(table);
        if (wants_buckets)
            fr_op_table_grow_buckets(table, buckets);
    }
    return true;
}

/* --- complete and release --------------------------------------------------------------------- */

/* One id of the block was released. */
static void fr_op_table_count_down(fr_op_table *table, fr_id_block *block)
{
    /* [table.live.down] pairs [table.live.down], [table.live.down_locked], [table.live.read] :
     * whoever uses the block again comes after all releases */
    if (fr_sub_acq_rel(&block->live, 1) != 1)
        return;
    fr_mutex_lock(&table->lock);
    fr_op_table_free_block(table, block);
    fr_mutex_unlock(&table->lock);
}

void fr_op_table_count_released(fr_op_table *table, _Atomic uint64_t *entry, uint64_t id)
{
    (void)fr_add_relaxed(&table->let_go, 1);
    _Atomic uint64_t *first = entry - (id & FR_IDS_INDEX_MASK);
    fr_op_table_count_down(table,
                           (fr_id_block *)(void *)((char *)first - offsetof(fr_id_block, words)));
}

/* Releases what the lock-free way cannot: packed, being packed, or failed. */
static fr_release_result fr_op_table_release_locked(fr_op_table *table, uint64_t id)
{
    fr_release_result result = FR_RELEASE_UNKNOWN;
    uint64_t failure = 0, key;
    fr_mutex_lock(&table->lock);
    fr_id_block *block = fr_op_table_block(table, id, &key);
    uint64_t index = id & FR_IDS_INDEX_MASK;
    if (block && block->is_packed) {
        uint64_t bits = fr_load_relaxed(&block->words[index / 64]);
        if ((bits >> (index % 64) & 1) != 0) {
            fr_store_relaxed(&block->words[index / 64], bits & ~(UINT64_C(1) << (index % 64)));
            result = FR_RELEASE_DONE;
        }
    } else if (block) {
        uint64_t word = fr_load_relaxed(&block->words[index]);
        uint64_t state = word & FR_ENTRY_STATE_MASK;
        if (state == FR_ENTRY_PENDING)
            result = FR_RELEASE_PENDING;
        /* [table.failure.read] pairs [table.entry.complete] : the text is there */
        else if (state != FR_ENTRY_NONE && fr_cas_acquire(&block->words[index], &word, 0)) {
            failure = word;
            result = FR_RELEASE_DONE;
        }
    }
    /* [table.live.down_locked] pairs [table.live.down] : as there */
    bool was_last = result == FR_RELEASE_DONE && fr_sub_acq_rel(&block->live, 1) == 1;
    if (was_last)
        fr_op_table_free_block(table, block);
    fr_mutex_unlock(&table->lock);
    fr_failure_release(table->allocator, failure);
    return result;
}

fr_release_result fr_op_table_release(fr_op_table *table, uint64_t id)
{
    for (;;) {
        uint64_t key;
        fr_id_block *block = fr_op_table_block(table, id, &key);
        if (!block)
            return FR_RELEASE_UNKNOWN;
        if (block->is_packed)
            return fr_op_table_release_locked(table, id);
        _Atomic uint64_t *entry = &block->words[id & FR_IDS_INDEX_MASK];
        /* [table.entry.look] pairs [table.entry.reset], [table.entry.issue],
         * [table.entry.born_done], [table.entry.complete] : as table.entry.read
         * */
        uint64_t word = fr_load_acquire(entry);
        if (word == fr_op_table_done(id)) {
            /* [table.entry.release] pairs [table.entry.complete], [table.pack], [table.thaw] : the
             * block's next use comes after the op */
            if (!fr_cas_acq_rel(entry, &word, 0))
                continue;
            fr_op_table_count_down(table, block);
            return FR_RELEASE_DONE;
        }
        if (fr_load_relaxed(&block->key) != key) /* ordered by the acquire of the word */
            continue;
        if ((word & FR_ENTRY_STATE_MASK) == FR_ENTRY_NONE)
            return FR_RELEASE_UNKNOWN;
        if ((word & FR_ENTRY_STATE_MASK) == FR_ENTRY_PENDING)
            return FR_RELEASE_PENDING;
        return fr_op_table_release_locked(table, id);
    }
}

bool fr_op_table_failure(fr_op_table *table, uint64_t id, fr_op_failure *out, char *buffer,
                         size_t buffer_bytes)
{
    fr_mutex_lock(&table->lock); /* a text is given back only after a release under the lock */
    uint64_t word = fr_op_table_read(table, id);
    uint64_t state = word & FR_ENTRY_STATE_MASK;
    bool has_failed = state >= FR_ENTRY_TEXT;
    if (has_failed)
        fr_failure_read(word, table->prefix, out, buffer, buffer_bytes);
    fr_mutex_unlock(&table->lock);
    return has_failed;
}

uint64_t fr_op_table_held(fr_op_table *table, uint64_t next)
{
    uint64_t live = 0;
    fr_mutex_lock(&table->lock);
    const fr_id_buckets *buckets = fr_load_relaxed(&table->buckets);
    for (uint64_t k = 0; k <= buckets->mask; k++)
        for (const fr_id_block *block = fr_load_relaxed(&buckets->heads[k]); block;
             block = fr_load_relaxed(&block->next[buckets->link]))
            live += fr_load_relaxed(&block->live);
    uint64_t not_given_out = fr_load_relaxed(&table->ready_end) - next;
    fr_mutex_unlock(&table->lock);
    uint64_t flagged = fr_load_relaxed(&table->flagged) - fr_load_relaxed(&table->let_go);
    uint64_t not_held = not_given_out + flagged;
    return live > not_held ? live - not_held : 0;
}
