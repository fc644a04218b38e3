#include "runtime/floor/records.h"

/* Precedes each fr_floor_record in memory. */
typedef struct fr_record_head {
    uint32_t references;           /* of readers, of `current`, of the fold queue */
    uint32_t capacity;             /* places in own[] */
    struct fr_record_head *next;   /* spare list, fold queue */
    struct fr_record_head *before; /* the record that this one replaced, until it is folded */
} fr_record_head;

_Static_assert(sizeof(fr_record_head) % _Alignof(fr_floor_record) == 0,
               "the record follows its head");

struct fr_floor_records {
    const fr_allocator *allocator;
    fr_mutex publish_lock; /* one publication at a time; the base of the next record */
    fr_mutex lock;         /* everything below, and the heads' references and links */
    fr_record_head *current;
    _Atomic uint64_t base; /* of `current`, for a look without the lock; changed under it */
    fr_record_head *spare;
    fr_record_head *fold_first, *fold_last;
    bool folding;
};

static fr_record_head *fr_head_of(const fr_floor_record *record)
{
    return (fr_record_head *)(uintptr_t)record - 1;
}

static fr_floor_record *fr_record_of(fr_record_head *head)
{
    return (fr_floor_record *)(void *)(head + 1);
}

static size_t fr_record_bytes(uint32_t capacity)
{
    return sizeof(fr_record_head) + sizeof(fr_floor_record) +
           capacity * sizeof(((fr_floor_record *)0)->own[0]);
}

static void fr_record_free(fr_floor_records *records, fr_record_head *head)
{
    fr_memory_release(records->allocator, head, fr_record_bytes(head->capacity));
}

static fr_record_head *fr_record_make(fr_floor_records *records, uint32_t capacity)
{
    fr_record_head *head =
        fr_memory_allocate_zero(records->allocator, fr_record_bytes(capacity), 16);
    if (head)
        head->capacity = capacity;
    return head;
}

fr_floor_records *fr_floor_records_create(const fr_allocator *allocator)
{
    fr_floor_records *records = fr_memory_allocate_zero(allocator, sizeof(*records), 16);
    if (!records)
        return NULL;
    records->allocator = allocator;
    records->current = fr_record_make(records, 0);
    if (!records->current) {
        fr_memory_release(allocator, records, sizeof(*records));
        return NULL;
    }
    records->current->references = 1;
    fr_record_of(records->current)->least_own = UINT64_MAX;
    return records;
}

void fr_floor_records_destroy(fr_floor_records *records)
{
    if (!records)
        return;
    fr_record_free(records, records->current);
    while (records->spare) {
        fr_record_head *head = records->spare;
        records->spare = head->next;
        fr_record_free(records, head);
    }
    fr_memory_release(records->allocator, records, sizeof(*records));
}

const fr_floor_record *fr_floor_records_acquire(fr_floor_records *records)
{
    fr_mutex_lock(&records->lock);
    fr_record_head *head = records->current;
    head->references++;
    fr_mutex_unlock(&records->lock);
    return fr_record_of(head);
}

uint64_t fr_floor_records_base(const fr_floor_records *records)
{
    /* [records.base.look] pairs [records.base.set] : an acquire that follows gets this record or a
     * later one */
    return fr_load_acquire(&records->base);
}

static void fr_record_unreference_locked(fr_floor_records *records, fr_record_head *head)
{
    if (--head->references > 0)
        return;
    head->next = records->spare;
    records->spare = head;
}

void fr_floor_records_release(fr_floor_records *records, const fr_floor_record *record)
{
    fr_mutex_lock(&records->lock);
    fr_record_unreference_locked(records, fr_head_of(record));
    fr_mutex_unlock(&records->lock);
}

fr_floor_record *fr_floor_records_reserve(fr_floor_records *records, uint32_t own_capacity)
{
    fr_mutex_lock(&records->lock);
    fr_record_head *head = records->spare;
    if (head)
        records->spare = head->next;
    fr_mutex_unlock(&records->lock);
    if (head && head->capacity < own_capacity) {
        fr_record_free(records, head); /* spare ones are replaced as the capacity grows */
        head = NULL;
    }
    if (!head)
        head = fr_record_make(records, own_capacity);
    return head ? fr_record_of(head) : NULL;
}

void fr_floor_records_unreserve(fr_floor_records *records, fr_floor_record *record)
{
    fr_record_head *head = fr_head_of(record);
    head->references = 1;
    fr_floor_records_release(records, record);
}

/* --- publication ------------------------------------------------------------------------------ */

static void fr_record_add_own(fr_floor_record *record, uint32_t index, uint64_t floor)
{
    record->own[record->count].attribute_index = index;
    record->own[record->count].floor = floor;
    record->count++;
    if (floor < record->least_own)
        record->least_own = floor;
}

/* True when `next` says more than `now`. */
static bool fr_record_build(fr_floor_record *next, const fr_floor_record *now,
                            const fr_floor_change *change)
{
    bool raises = false;
    next->serial = now->serial + 1;
    next->base = now->base;
    next->count = 0;
    next->least_own = UINT64_MAX;
    if (!change->indices && change->ordinal > now->base) {
        next->base = change->ordinal;
        raises = true;
    }
    uint32_t i = 0, k = 0;
    while (i < now->count || (change->indices && k < change->count)) {
        bool changes = change->indices && k < change->count &&
                       (i == now->count || change->indices[k] <= now->own[i].attribute_index);
        uint32_t index = changes ? change->indices[k] : now->own[i].attribute_index;
        uint64_t before = now->base, after;
        if (i < now->count && now->own[i].attribute_index == index)
            before = now->own[i++].floor;
        after = before;
        if (changes) {
            k++;
            if (change->ordinal > before) {
                after = change->ordinal;
                raises = true;
            }
        }
        if (after > next->base)
            fr_record_add_own(next, index, after);
    }
    return raises;
}

/* The oldest publication that is not folded becomes *fold's. */
static void fr_record_fold_locked(fr_floor_records *records, fr_floor_fold *fold)
{
    fr_record_head *head = records->fold_first;
    records->folding = head != NULL;
    fold->published = fold->before = NULL;
    if (!head)
        return;
    records->fold_first = head->next;
    if (!records->fold_first)
        records->fold_last = NULL;
    head->next = NULL;
    fold->published = fr_record_of(head);
    fold->before = fr_record_of(head->before);
}

void fr_floor_records_publish(fr_floor_records *records, const fr_floor_change *change,
                              fr_floor_record *(*take)(void *user), void *user, fr_floor_fold *fold)
{
    fr_mutex_lock_long(&records->publish_lock);
    fr_floor_record *next = take(user);
    fr_record_head *head = fr_head_of(next);
    /* Only this section replaces `current`, so it stays referenced while it is read here. */
    if (!fr_record_build(next, fr_record_of(records->current), change)) {
        fr_mutex_unlock_long(&records->publish_lock);
        fr_floor_records_unreserve(records, next);
        return;
    }
    if (change->prepare)
        change->prepare(next, change->prepare_user);
    fr_mutex_lock(&records->lock);
    head->references = 2; /* `current` and the fold queue */
    head->before = records->current;
    head->next = NULL;
    records->current = head; /* from here on readers take versions at or below it as sealed */
    /* [records.base.set] pairs [records.base.look] : who sees it finds what is sealed by it */
    fr_store_release(&records->base, next->base);
    if (records->fold_last)
        records->fold_last->next = head;
    else
        records->fold_first = head;
    records->fold_last = head;
    if (!records->folding)
        fr_record_fold_locked(records, fold);
    fr_mutex_unlock(&records->lock);
    fr_mutex_unlock_long(&records->publish_lock);
}

void fr_floor_records_fold_next(fr_floor_records *records, fr_floor_fold *fold)
{
    fr_record_head *published = fr_head_of(fold->published), *before = fr_head_of(fold->before);
    fr_mutex_lock(&records->lock);
    published->before = NULL;
    fr_record_unreference_locked(records, before);
    fr_record_unreference_locked(records, published);
    fr_record_fold_locked(records, fold);
    fr_mutex_unlock(&records->lock);
}

uint64_t fr_floor_effective(const fr_floor_record *record, uint32_t attribute_index)
{
    uint32_t low = 0, high = record->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (record->own[middle].attribute_index < attribute_index)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < record->count && record->own[low].attribute_index == attribute_index)
        return record->own[low].floor;
    return record->base;
}
