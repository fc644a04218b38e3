/* Path lists: immutable arrays of path numbers behind counted handles.
 *
 * A handle is a slot's number and the slot's generation. A slot is used again when its list is
 * gone, with the next generation, and never once the generations are used up: no handle occurs
 * twice. Several slots may share one array. Arrays go back to a pool, so that a program that makes
 * the same kind of list again and again allocates nothing.
 *
 * The word of a slot:
 *   bits 63..24  generation   set by who opens the slot, one more each time; never cleared
 *   bits 23..0   references   added to by acquire, from any number but 0; taken from by release; 0:
 * the slot is free, and only opening it makes it more than that References are the library's own,
 * and one for all of the clients' together, while `clients` is not 0. So no client can release what
 * the library holds.
 *
 * Threads: any.
 * Invariants: a slot is never given back, so its word can be looked at with any handle; the
 * generation and the references change in one step, so a stale handle cannot catch a later list;
 * fields are written while nobody can have a reference. Progress: acquire and release are lock-free
 * until the last reference; opening and the last release take one short lock, under which nothing
 * is allocated. Memory bound: a slot of 64 bytes for each list that ever lived at once; free arrays
 * of up to FR_LIST_RETAINED_BYTES. */
#ifndef FR_RUNTIME_DICTIONARY_LISTS_H
#define FR_RUNTIME_DICTIONARY_LISTS_H

#include "runtime/dictionary/chunks.h"
#include "runtime/dictionary/dictionary.h"
#include "runtime/dictionary/fault.h"
#include "scheduler/os.h"

#define FR_LIST_INDEX_BITS 24
#define FR_LIST_REFERENCE_BITS 24
#define FR_LIST_GENERATION_MAX (UINT64_MAX >> FR_LIST_REFERENCE_BITS)

/* Free arrays kept in all, and the largest that is kept. */
#ifdef FR_SHRINK
#define FR_LIST_RETAINED_BYTES 1024u
#define FR_LIST_POOLED_LOG2 9
#else
#define FR_LIST_RETAINED_BYTES (4u << 20)
#define FR_LIST_POOLED_LOG2 20
#endif
/* Size classes: four to each doubling, from 128 bytes on. */
#define FR_LIST_CLASSES ((FR_LIST_POOLED_LOG2 - 7) * 4 + 1)

typedef struct fr_path_array {
    _Atomic uint32_t references; /* slots that show it; the last one gives it back */
    uint32_t pool_class;         /* FR_LIST_CLASSES: none */
    size_t size_bytes;
    struct fr_path_array *next; /* in the pool, under the lock */
    uint64_t unused;            /* paths begin at a multiple of 16 */
    ovx_primpath_t paths[];
} fr_path_array;

typedef struct fr_lists fr_lists;

typedef struct fr_list_slot {
    fr_path_list list; /* first: a list is its slot */
    _Atomic uint64_t word;
    _Atomic uint32_t clients; /* references that clients hold */
    uint32_t next;            /* in the list of free slots, under the lock: index + 1 */
    fr_path_array *array;
    fr_lists *lists;
} fr_list_slot;

struct fr_lists {
    fr_chunks slots;
    const fr_allocator *allocator;
    uint64_t first_generation; /* of new slots: above those of an earlier dictionary */
    uint32_t limit;            /* slots allowed */

    FR_ALIGNED_LINE fr_mutex lock; /* guards what is below, and appending to slots */
    uint32_t free_slot;            /* index + 1 */
    uint64_t last_generation;      /* highest that was given out */
    size_t retained_bytes;
    fr_path_array *pool[FR_LIST_CLASSES];
};

void fr_lists_init(fr_lists *lists, const fr_allocator *allocator, uint64_t first_generation);
/* Frees what is left, lists that nobody released included. */
void fr_lists_destroy(fr_lists *lists);

/* An array for `count` > 0 paths, to be filled; NULL without memory. */
fr_path_array *fr_lists_array_take(fr_lists *lists, size_t count);
void fr_lists_array_give(fr_lists *lists, fr_path_array *array); /* one reference; NULL is fine */
/* Another reference to the array of a list that the caller holds; NULL for an empty one. */
fr_path_array *fr_lists_array_of(const fr_path_list *list);

/* A new list of `count` paths in `array`, whose reference it takes over (NULL if count is 0), with
 * one reference: a client's, or the library's. NULL without memory or handles; the array is then
 * still the caller's. */
const fr_path_list *fr_lists_open(fr_lists *lists, fr_path_array *array, size_t count, bool client,
                                  fr_fault *fault);

/* NULL: not a live handle. */
const fr_path_list *fr_lists_acquire(fr_lists *lists, ovx_primpath_list_t handle);
void fr_lists_release(const fr_path_list *list);

/* A client's reference. False: the handle is not live, or no client has a reference to release. */
bool fr_lists_client_add(fr_lists *lists, ovx_primpath_list_t handle);
bool fr_lists_client_release(fr_lists *lists, ovx_primpath_list_t handle);

#endif
