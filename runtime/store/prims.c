#include "runtime/store/prims.h"

#include "runtime/store/paged.h"
#include "runtime/store/prims_side.h"
#include "scheduler/os.h"

/* Prims that are entered before the lock is given to somebody else. */
#define FR_PRIMS_BATCH 256u
/* From one pair to two, which both move to side records. */
#define FR_PRIMS_RECORDS_A_PRIM 2u
#define FR_PRIMS_NONE 0u
#define FR_PRIMS_SEVERAL UINT64_MAX

typedef struct fr_prims_entry {
    uint64_t op_id_plus_1; /* FR_PRIMS_NONE, FR_PRIMS_SEVERAL, or of the only pair */
    union {
        uint64_t ordinal;     /* of the only pair */
        fr_prims_pair *pairs; /* of several: ascending by ordinal, descending by op id */
    } of;
} fr_prims_entry;

_Static_assert(sizeof(fr_prims_entry) == 16, "what a prim costs");

struct fr_prims {
    const fr_allocator *allocator;
    fr_mutex lock; /* of all entries and of the side records */
    _Atomic uint64_t count;
    _Atomic size_t side_bytes;
    fr_prims_side side;
    fr_paged entries; /* elements: fr_prims_entry */
    fr_paged order;   /* elements: prims as uint32_t, `count` of them */
};

/* --- life ------------------------------------------------------------------------------------- */

fr_prims *fr_prims_create(const fr_allocator *allocator)
{
    fr_prims *prims = fr_memory_allocate_zero(allocator, sizeof(*prims), FR_CACHE_LINE_BYTES);
    if (!prims)
        return NULL;
    prims->allocator = allocator;
    fr_prims_side_init(&prims->side, allocator);
    fr_paged_init(&prims->entries, allocator, sizeof(fr_prims_entry));
    fr_paged_init(&prims->order, allocator, sizeof(uint32_t));
    return prims;
}

void fr_prims_destroy(fr_prims *prims)
{
    if (!prims)
        return;
    fr_paged_destroy(&prims->entries);
    fr_paged_destroy(&prims->order);
    fr_prims_side_destroy(&prims->side);
    fr_memory_release(prims->allocator, prims, sizeof(*prims));
}

/* --- reservations ----------------------------------------------------------------------------- */

static void fr_prims_unlock(fr_prims *prims)
{
    fr_store_relaxed(&prims->side_bytes, prims->side.bytes);
    fr_mutex_unlock(&prims->lock);
}

static bool fr_prims_reserve_pages(fr_prims *prims, const uint32_t *prim, uint32_t count)
{
    uint32_t last_page = UINT32_MAX;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t page = prim[k] >> FR_PAGED_LEAF_BITS;
        if (page != last_page && !fr_paged_reserve(&prims->entries, prim[k]))
            return false;
        last_page = page;
    }
    return true;
}

/* Places in the order for all prims that are promised by now, so for those of others too that may
 * be entered first. */
static bool fr_prims_reserve_order(fr_prims *prims, uint64_t begin, uint64_t end)
{
    for (; begin < end; begin = (begin | (FR_PAGED_LEAF_ELEMENTS - 1)) + 1)
        if (!fr_paged_reserve(&prims->order, (uint32_t)begin))
            return false;
    return true;
}

bool fr_prims_reserve(fr_prims *prims, const uint32_t *prim, uint32_t count)
{
    uint64_t records = (uint64_t)count * FR_PRIMS_RECORDS_A_PRIM;
    if (!fr_prims_reserve_pages(prims, prim, count))
        return false;
    for (;;) {
        fr_mutex_lock(&prims->lock);
        bool promised = fr_prims_side_promise(&prims->side, records);
        uint64_t begin = fr_load_relaxed(&prims->count);
        uint64_t end = begin + prims->side.promised / FR_PRIMS_RECORDS_A_PRIM;
        fr_prims_unlock(prims);
        if (promised && fr_prims_reserve_order(prims, begin, end))
            return true;
        if (promised) {
            fr_prims_settle(prims, count);
            return false;
        }
        fr_prims_chunk *chunk = fr_prims_chunk_make(prims->allocator, records);
        if (!chunk)
            return false;
        fr_mutex_lock(&prims->lock);
        fr_prims_side_add(&prims->side, chunk);
        fr_prims_unlock(prims);
    }
}

void fr_prims_settle(fr_prims *prims, uint32_t count)
{
    fr_mutex_lock(&prims->lock);
    fr_prims_chunk *chunk =
        fr_prims_side_settle(&prims->side, (uint64_t)count * FR_PRIMS_RECORDS_A_PRIM);
    fr_prims_unlock(prims);
    fr_prims_chunk_free(prims->allocator, chunk);
}

/* --- entering, under the lock ----------------------------------------------------------------- */

static fr_prims_pair *fr_prims_pair_make(fr_prims *prims, uint64_t ordinal, uint64_t op_id,
                                         fr_prims_pair *next)
{
    fr_prims_pair *pair = fr_prims_side_take(&prims->side);
    pair->ordinal = ordinal;
    pair->op_id = op_id;
    pair->next = next;
    return pair;
}

/* Into the list, where no pair is at or below it; those that it is at or below go. */
static void fr_prims_insert(fr_prims *prims, fr_prims_pair **place, uint64_t ordinal,
                            uint64_t op_id)
{
    while (*place && (*place)->ordinal < ordinal) {
        if ((*place)->op_id <= op_id)
            return;
        place = &(*place)->next;
    }
    if (*place && (*place)->ordinal == ordinal && (*place)->op_id <= op_id)
        return;
    while (*place && (*place)->op_id >= op_id) {
        fr_prims_pair *above = *place;
        *place = above->next;
        fr_prims_side_put(&prims->side, above);
    }
    *place = fr_prims_pair_make(prims, ordinal, op_id, *place);
}

static void fr_prims_enter_several(fr_prims *prims, fr_prims_entry *entry, uint64_t ordinal,
                                   uint64_t op_id)
{
    fr_prims_insert(prims, &entry->of.pairs, ordinal, op_id);
    fr_prims_pair *only = entry->of.pairs;
    if (only->next)
        return;
    entry->op_id_plus_1 = only->op_id + 1;
    entry->of.ordinal = only->ordinal;
    fr_prims_side_put(&prims->side, only);
}

static void fr_prims_enter_locked(fr_prims *prims, uint32_t prim, uint64_t ordinal, uint64_t op_id)
{
    fr_prims_entry *entry = fr_paged_find(&prims->entries, prim);
    if (entry->op_id_plus_1 == FR_PRIMS_SEVERAL) {
        fr_prims_enter_several(prims, entry, ordinal, op_id);
        return;
    }
    uint64_t have_ordinal = entry->of.ordinal;
    uint64_t have_op_id = entry->op_id_plus_1 - 1;
    bool none = entry->op_id_plus_1 == FR_PRIMS_NONE;
    if (!none && have_ordinal <= ordinal && have_op_id <= op_id)
        return;
    if (none || (ordinal <= have_ordinal && op_id <= have_op_id)) {
        entry->of.ordinal = ordinal;
        entry->op_id_plus_1 = op_id + 1;
        if (none) {
            *(uint32_t *)fr_paged_find(&prims->order, (uint32_t)fr_load_relaxed(&prims->count)) =
                prim;
            fr_count(&prims->count, 1);
        }
        return;
    }
    fr_prims_pair *pairs = fr_prims_pair_make(prims, have_ordinal, have_op_id, NULL);
    fr_prims_insert(prims, &pairs, ordinal, op_id);
    entry->of.pairs = pairs;
    entry->op_id_plus_1 = FR_PRIMS_SEVERAL;
}

void fr_prims_enter_all(fr_prims *prims, const uint32_t *prim, uint32_t count, uint64_t ordinal,
                        uint64_t op_id)
{
    for (uint32_t first = 0; first < count;) {
        uint32_t end = count - first > FR_PRIMS_BATCH ? first + FR_PRIMS_BATCH : count;
        fr_mutex_lock(&prims->lock);
        for (; first < end; first++)
            fr_prims_enter_locked(prims, prim[first], ordinal, op_id);
        fr_mutex_unlock(&prims->lock);
    }
}

/* --- looking ---------------------------------------------------------------------------------- */

static bool fr_prims_exists_locked(const fr_prims_entry *entry, uint64_t ordinal, uint64_t op_id)
{
    if (entry->op_id_plus_1 != FR_PRIMS_SEVERAL)
        return entry->op_id_plus_1 != FR_PRIMS_NONE && entry->of.ordinal <= ordinal &&
               entry->op_id_plus_1 <= op_id;
    for (const fr_prims_pair *pair = entry->of.pairs; pair && pair->ordinal <= ordinal;
         pair = pair->next) {
        if (pair->op_id < op_id)
            return true;
    }
    return false;
}

bool fr_prims_exists(const fr_prims *prims, uint32_t prim, uint64_t ordinal, uint64_t op_id)
{
    const fr_prims_entry *entry = fr_paged_find(&prims->entries, prim);
    if (!entry)
        return false;
    /* The lock is no part of what the caller sees. */
    fr_mutex *lock = (fr_mutex *)(uintptr_t)&prims->lock;
    fr_mutex_lock(lock);
    bool exists = fr_prims_exists_locked(entry, ordinal, op_id);
    fr_mutex_unlock(lock);
    return exists;
}

bool fr_prims_any(const fr_prims *prims, const uint32_t *prim, uint32_t count)
{
    fr_mutex *lock = (fr_mutex *)(uintptr_t)&prims->lock; /* as above */
    bool any = false;
    for (uint32_t first = 0; first < count && !any;) {
        uint32_t end = count - first > FR_PRIMS_BATCH ? first + FR_PRIMS_BATCH : count;
        fr_mutex_lock(lock);
        for (; first < end && !any; first++) {
            const fr_prims_entry *entry = fr_paged_find(&prims->entries, prim[first]);
            any = entry && entry->op_id_plus_1 != FR_PRIMS_NONE;
        }
        fr_mutex_unlock(lock);
    }
    return any;
}

uint32_t fr_prims_entered(const fr_prims *prims, uint32_t from, uint32_t some[FR_PRIMS_SOME])
{
    /* The lock is no part of what the caller sees. */
    fr_mutex *lock = (fr_mutex *)(uintptr_t)&prims->lock;
    uint32_t count = 0;
    fr_mutex_lock(lock);
    uint64_t end = fr_load_relaxed(&prims->count);
    for (; count < FR_PRIMS_SOME && from < end; count++, from++)
        some[count] = *(const uint32_t *)fr_paged_find(&prims->order, from);
    fr_mutex_unlock(lock);
    return count;
}

uint64_t fr_prims_count(const fr_prims *prims)
{
    return fr_load_relaxed(&prims->count);
}

size_t fr_prims_bytes(const fr_prims *prims)
{
    return sizeof(*prims) + fr_paged_bytes(&prims->entries) + fr_paged_bytes(&prims->order) +
           fr_load_relaxed(&prims->side_bytes);
}
