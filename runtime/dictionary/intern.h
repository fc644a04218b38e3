/* Texts as dense numbers from 1: equal texts have equal numbers for ever.
 *
 * Entries lie in an append-only table. An index of open addressing leads from a text's hash to its
 * number. When it is three quarters full a larger one takes its place; the slots of the old one
 * follow a few at a time, with each new text, so that no text pays for all.
 *
 * Threads: any. One lock for new texts.
 * Invariants: a slot is written once, after the entry it names; slots of a replaced index stay as
 * they are, and the index is kept until destroy, since a reader may be in it. A reader that misses
 * may have looked too early, so a miss counts only under the lock. Progress: known texts are found
 * without a lock; each new text holds the lock for one probe, one copy of a short text and
 * FR_INTERN_MOVES slots. Memory is had before the lock is taken. Memory bound: texts, 32 bytes an
 * entry, 11 to 21 bytes of index and as much again of old ones.
 *
 * Entries with a parent are its children, in a list that only grows at its front: whoever walks it
 * sees each child that was there when they began. */
#ifndef FR_RUNTIME_DICTIONARY_INTERN_H
#define FR_RUNTIME_DICTIONARY_INTERN_H

#include <ovx/types.h>

#include "runtime/dictionary/chunks.h"
#include "runtime/dictionary/fault.h"
#include "scheduler/memory.h"
#include "scheduler/os.h"

#ifdef FR_SHRINK
#define FR_INTERN_FIRST_SLOTS 4u
#define FR_INTERN_BLOCK_BYTES 256u
#else
#define FR_INTERN_FIRST_SLOTS 1024u
#define FR_INTERN_BLOCK_BYTES 65536u
#endif
#define FR_INTERN_MOVES 4u

typedef struct fr_intern_entry {
    const char *text; /* ends with a NUL behind length bytes */
    uint32_t length;
    uint32_t parent, token, depth; /* of a path: its parent path, last token, number of tokens */
    uint32_t older_sibling;        /* the parent's child before this one; 0: none */
    _Atomic uint32_t newest_child; /* 0: none */
} fr_intern_entry;

typedef struct fr_intern_index fr_intern_index;
typedef struct fr_intern_block fr_intern_block;

typedef struct fr_intern {
    _Atomic(fr_intern_index *) current;
    _Atomic(fr_intern_index *) previous; /* while its slots follow, else NULL */
    fr_chunks entries;                   /* number n is element n - 1 */
    const fr_allocator *allocator;

    FR_ALIGNED_LINE fr_mutex lock; /* guards what is below, and appending to entries */
    uint32_t moved;                /* slots of `previous` that are in `current` */
    uint32_t limit;                /* entries allowed */
    fr_intern_index *indexes;      /* all of them, for destroy */
    fr_intern_block *blocks;       /* all of them, for destroy */
    char *room;                    /* where the next short text goes */
    size_t room_bytes;
} fr_intern;

/* All zero is a fine start for `intern`. False without memory. */
bool fr_intern_init(fr_intern *intern, const fr_allocator *allocator);
void fr_intern_destroy(fr_intern *intern); /* also after a failed init */

/* The number of a text, or 0 if it was not found, which may be wrong while somebody interns it. */
uint32_t fr_intern_find(const fr_intern *intern, ovx_string_t text, uint32_t hash);

/* The number of a text that is known from now on. `like` gives parent, token and depth of a new
 * one, which becomes a child of the parent, if there is one. False without memory or numbers. */
bool fr_intern_add(fr_intern *intern, ovx_string_t text, uint32_t hash, const fr_intern_entry *like,
                   uint32_t *out, fr_fault *fault);

static inline bool fr_intern_known(const fr_intern *intern, uint64_t number)
{
    return number - 1 < fr_chunks_count(&intern->entries);
}

/* Of a number that is known. */
static inline const fr_intern_entry *fr_intern_at(const fr_intern *intern, uint32_t number)
{
    return (const fr_intern_entry *)fr_chunks_at(&intern->entries, number - 1);
}

static inline ovx_string_t fr_intern_text(const fr_intern *intern, uint64_t number)
{
    ovx_string_t text = {NULL, 0};
    if (fr_intern_known(intern, number)) {
        const fr_intern_entry *entry = fr_intern_at(intern, (uint32_t)number);
        text.ptr = entry->text;
        text.length = entry->length;
    }
    return text;
}

#endif
