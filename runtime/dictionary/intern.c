#include "runtime/dictionary/intern.h"

#include <string.h>

/* A slot: 0 empty, else hash in bits 63..32 and number in bits 31..0. Set once, by who adds the
 * text or moves the slot here, under the lock; never cleared. */
#define FR_INTERN_SLOT(hash, number) ((uint64_t)(hash) << 32 | (number))
_Static_assert(sizeof(((fr_intern_entry *)0)->parent) == 4, "a number fills half a slot");

struct fr_intern_index {
    fr_intern_index *next; /* in intern->indexes */
    uint64_t mask;         /* slots - 1 */
    _Atomic uint64_t slots[];
};

struct fr_intern_block {
    fr_intern_block *next;
    size_t size_bytes;
    char text[];
};

/* What an attempt to add lacks. Had outside the lock, installed inside, and dropped if somebody
 * else was faster. */
typedef struct fr_intern_spare {
    fr_intern_index *index;
    unsigned char *chunk;
    uint32_t chunk_number;
    fr_intern_block *block;
} fr_intern_spare;

typedef struct fr_intern_need {
    uint64_t index_slots;  /* 0: none */
    uint32_t chunk_number; /* FR_CHUNKS_NONE: none */
    bool block;
} fr_intern_need;

static size_t index_bytes(uint64_t slots)
{
    return sizeof(fr_intern_index) + (size_t)slots * sizeof(_Atomic uint64_t);
}

static fr_intern_index *index_create(const fr_allocator *allocator, uint64_t slots)
{
    fr_intern_index *index = (fr_intern_index *)fr_memory_allocate_zero(
        allocator, index_bytes(slots), FR_CACHE_LINE_BYTES);
    if (index)
        index->mask = slots - 1;
    return index;
}

bool fr_intern_init(fr_intern *intern, const fr_allocator *allocator)
{
    intern->allocator = allocator;
    intern->entries.element_bytes = sizeof(fr_intern_entry);
    intern->limit = UINT32_MAX;
    fr_intern_index *index = index_create(allocator, FR_INTERN_FIRST_SLOTS);
    if (!index)
        return false;
    intern->indexes = index;
    fr_store_relaxed(&intern->current, index); /* the dictionary is not shared yet */
    return true;
}

void fr_intern_destroy(fr_intern *intern)
{
    const fr_allocator *allocator = intern->allocator;
    while (intern->indexes) {
        fr_intern_index *index = intern->indexes;
        intern->indexes = index->next;
        fr_memory_release(allocator, index, index_bytes(index->mask + 1));
    }
    while (intern->blocks) {
        fr_intern_block *block = intern->blocks;
        intern->blocks = block->next;
        fr_memory_release(allocator, block, block->size_bytes);
    }
    for (uint32_t k = 0; k < FR_CHUNKS_MAX; k++)
        if (intern->entries.chunk[k])
            fr_memory_release(allocator, intern->entries.chunk[k],
                              fr_chunks_bytes(&intern->entries, k));
}

static uint32_t index_find(const fr_intern *intern, const fr_intern_index *index, ovx_string_t text,
                           uint32_t hash)
{
    for (uint64_t at = hash & index->mask;; at = (at + 1) & index->mask) {
        /* [intern.slot.read] pairs [intern.slot.publish] : the entry that the slot names is
         * written */
        const uint64_t slot = fr_load_acquire(&index->slots[at]);
        if (slot == 0)
            return 0; /* comes, since an index is never full */
        if ((uint32_t)(slot >> 32) != hash)
            continue;
        const fr_intern_entry *entry = fr_intern_at(intern, (uint32_t)slot);
        if (entry->length == text.length && memcmp(entry->text, text.ptr, text.length) == 0)
            return (uint32_t)slot;
    }
}

uint32_t fr_intern_find(const fr_intern *intern, ovx_string_t text, uint32_t hash)
{
    /* [intern.current.read] pairs [intern.current.publish] : its slots are cleared */
    const fr_intern_index *current = fr_load_acquire(&intern->current);
    const uint32_t number = index_find(intern, current, text, hash);
    if (number != 0)
        return number;
    /* [intern.previous.read] pairs [intern.previous.publish] : as intern.current.read */
    const fr_intern_index *previous = fr_load_acquire(&intern->previous);
    return previous ? index_find(intern, previous, text, hash) : 0;
}

/* Under the lock. */
static void index_put(fr_intern_index *index, uint32_t hash, uint32_t number)
{
    uint64_t at = hash & index->mask;
    while (fr_load_relaxed(&index->slots[at]) != 0)
        at = (at + 1) & index->mask;
#ifdef FR_MUTATE_DICTIONARY_RELAXED_SLOT
    fr_store_relaxed(&index->slots[at], FR_INTERN_SLOT(hash, number));
#else
    /* [intern.slot.publish] pairs [intern.slot.read] : the entry was written before */
    fr_store_release(&index->slots[at], FR_INTERN_SLOT(hash, number));
#endif
}

/* Under the lock: some of the slots of a replaced index follow. A new index has room for three
 * quarters of the old one's slots in new texts, so all have followed long before it is replaced. */
static void index_follow(fr_intern *intern)
{
    fr_intern_index *previous = fr_load_relaxed(&intern->previous);
    if (!previous)
        return;
    for (uint32_t i = 0; i < FR_INTERN_MOVES && intern->moved <= previous->mask; i++) {
        const uint64_t slot = fr_load_relaxed(&previous->slots[intern->moved++]);
        if (slot != 0)
            index_put(fr_load_relaxed(&intern->current), (uint32_t)(slot >> 32), (uint32_t)slot);
    }
    if (intern->moved > previous->mask)
        fr_store_relaxed(&intern->previous, NULL);
}

/* Under the lock: replaces the index by the spare one. */
static void index_replace(fr_intern *intern, fr_intern_spare *spare)
{
    fr_intern_index *old = fr_load_relaxed(&intern->current);
    spare->index->next = intern->indexes;
    intern->indexes = spare->index;
    intern->moved = 0;
    /* [intern.previous.publish] pairs [intern.previous.read] : a reader may come to it first here
     */
    fr_store_release(&intern->previous, old);
    /* [intern.current.publish] pairs [intern.current.read] : the slots were cleared before */
    fr_store_release(&intern->current, spare->index);
    spare->index = NULL;
}

static fr_intern_block *block_create(const fr_allocator *allocator, size_t text_bytes)
{
    const size_t bytes = sizeof(fr_intern_block) + text_bytes;
    fr_intern_block *block = (fr_intern_block *)fr_memory_allocate(allocator, bytes, 16);
    if (block)
        block->size_bytes = bytes;
    return block;
}

static void block_install(fr_intern *intern, fr_intern_spare *spare)
{
    spare->block->next = intern->blocks;
    intern->blocks = spare->block;
    spare->block = NULL;
}

/* A long text has a block of its own, into which it is copied before the lock is taken. */
static bool is_long(size_t length)
{
    return length + 1 > FR_INTERN_BLOCK_BYTES / 4;
}

/* Under the lock: installs what the spare brings. False when more is needed. */
static bool make_room(fr_intern *intern, size_t length, fr_intern_spare *spare,
                      fr_intern_need *need)
{
    const uint64_t slots = fr_load_relaxed(&intern->current)->mask + 1;
    const uint64_t count = fr_load_relaxed(&intern->entries.count);
    *need = (fr_intern_need){0, fr_chunks_missing(&intern->entries), false};
    if ((count + 1) * 4 > slots * 3) {
        if (spare->index && spare->index->mask + 1 == slots * 2)
            index_replace(intern, spare);
        else
            need->index_slots = slots * 2;
    }
    if (need->chunk_number != FR_CHUNKS_NONE && spare->chunk &&
        spare->chunk_number == need->chunk_number) {
        intern->entries.chunk[need->chunk_number] = spare->chunk;
        spare->chunk = NULL;
        need->chunk_number = FR_CHUNKS_NONE;
    }
    if (!is_long(length) && intern->room_bytes < length + 1) {
        if (spare->block) {
            intern->room = spare->block->text;
            intern->room_bytes = spare->block->size_bytes - sizeof(fr_intern_block);
            block_install(intern, spare);
        } else {
            need->block = true;
        }
    }
    return need->index_slots == 0 && need->chunk_number == FR_CHUNKS_NONE && !need->block;
}

static void spare_drop(const fr_intern *intern, fr_intern_spare *spare)
{
    const fr_allocator *allocator = intern->allocator;
    if (!spare->index && !spare->chunk && !spare->block)
        return; /* mostly */
    if (spare->index)
        fr_memory_release(allocator, spare->index, index_bytes(spare->index->mask + 1));
    if (spare->chunk)
        fr_memory_release(allocator, spare->chunk,
                          fr_chunks_bytes(&intern->entries, spare->chunk_number));
    if (spare->block)
        fr_memory_release(allocator, spare->block, spare->block->size_bytes);
    *spare = (fr_intern_spare){0};
}

static bool spare_fill(const fr_intern *intern, const fr_intern_need *need, fr_intern_spare *spare)
{
    const fr_allocator *allocator = intern->allocator;
    if (need->index_slots != 0) {
        spare->index = index_create(allocator, need->index_slots);
        if (!spare->index)
            return false;
    }
    if (need->chunk_number != FR_CHUNKS_NONE) {
        spare->chunk_number = need->chunk_number;
        spare->chunk = (unsigned char *)fr_memory_allocate(
            allocator, fr_chunks_bytes(&intern->entries, need->chunk_number), FR_CACHE_LINE_BYTES);
        if (!spare->chunk)
            return false;
    }
    if (need->block)
        spare->block = block_create(allocator, FR_INTERN_BLOCK_BYTES);
    return !need->block || spare->block;
}

/* Under the lock, with room made: copies the text, unless it is a long one. */
static const char *text_keep(fr_intern *intern, ovx_string_t text, fr_intern_spare *own_block)
{
    if (is_long(text.length)) {
        const char *kept = own_block->block->text;
        block_install(intern, own_block);
        return kept;
    }
    char *kept = intern->room;
    memcpy(kept, text.ptr, text.length);
    kept[text.length] = '\0';
    intern->room += text.length + 1;
    intern->room_bytes -= text.length + 1;
    return kept;
}

/* Under the lock, with room made. */
static uint32_t entry_append(fr_intern *intern, ovx_string_t text, uint32_t hash,
                             const fr_intern_entry *like, fr_intern_spare *own_block)
{
    const uint32_t index = fr_load_relaxed(&intern->entries.count);
    fr_intern_entry *entry = (fr_intern_entry *)fr_chunks_at(&intern->entries, index);
    *entry = *like;
    entry->text = text_keep(intern, text, own_block);
    entry->length = (uint32_t)text.length;
    fr_intern_entry *parent =
        like->parent == 0 ? NULL
                          : (fr_intern_entry *)fr_chunks_at(&intern->entries, like->parent - 1);
    if (parent)
        entry->older_sibling = fr_load_relaxed(&parent->newest_child);
    fr_chunks_publish(&intern->entries);
    if (parent) /* [intern.child.publish] pairs [intern.child.read] : the child's entry is written,
                   and counted, so that a walk goes on from it */
        fr_store_release(&parent->newest_child, index + 1);
    index_put(fr_load_relaxed(&intern->current), hash, index + 1);
    index_follow(intern);
    return index + 1;
}

bool fr_intern_add(fr_intern *intern, ovx_string_t text, uint32_t hash, const fr_intern_entry *like,
                   uint32_t *out, fr_fault *fault)
{
    fr_intern_spare own_block = {0}, spare = {0};
    fr_intern_need need;
    bool full = false;
    if (is_long(text.length)) {
        own_block.block = block_create(intern->allocator, text.length + 1);
        if (!own_block.block)
            return fr_fault_set(fault, FR_FAULT_MEMORY, 0, 0);
        memcpy(own_block.block->text, text.ptr, text.length);
        own_block.block->text[text.length] = '\0';
    }
    for (;;) {
        fr_mutex_lock(&intern->lock);
        *out = fr_intern_find(intern, text, hash);
        full = *out == 0 && fr_load_relaxed(&intern->entries.count) >= intern->limit;
        const bool done = *out != 0 || full || make_room(intern, text.length, &spare, &need);
        if (done && *out == 0 && !full)
            *out = entry_append(intern, text, hash, like, &own_block);
        fr_mutex_unlock(&intern->lock);
        spare_drop(intern, &spare);
        if (done || !spare_fill(intern, &need, &spare))
            break;
    }
    spare_drop(intern, &spare);
    spare_drop(intern, &own_block);
    if (*out != 0)
        return true;
    return fr_fault_set(fault, full ? FR_FAULT_NUMBERS : FR_FAULT_MEMORY, 0, intern->limit);
}
