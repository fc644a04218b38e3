/* Handles: numbers that stand for objects of one instance.
 *
 * A handle is never used again: it names a slot and how often that slot was used before. A slot
 * whose uses are spent is retired. Slots live in chunks that are given back at destroy only, so
 * that any number may be looked up.
 *
 * Bits of a handle (and of an op id, which has its number in place of the lower three):
 *   63..48 instance number, never 0
 *   47..44 kind (fr_handle_kind)
 *   43..22 use of the slot, counted from 1
 *   21..0  slot
 *
 * Threads: every function from any thread.
 * Invariants: a slot is live exactly while its kind is set; its state word is then the middle of
 * its handle. A handle dies under the slot's lock. A retained object cannot be removed in between,
 * since retaining is done under that lock. Progress: constant time; a slot's lock is held for a few
 * instructions. Memory: 24 bytes for each slot ever live at the same time as all others; at most
 * 4,194,048 live handles. */
#ifndef FR_RUNTIME_API_HANDLES_H
#define FR_RUNTIME_API_HANDLES_H

#include "runtime/api/stage.h"

#define FR_INSTANCE_NUMBER_SHIFT 48
#define FR_INSTANCE_NUMBER_BITS 16
#define FR_HANDLE_KIND_SHIFT 44
#define FR_HANDLE_KIND_BITS 4
#define FR_HANDLE_USE_SHIFT 22
#define FR_HANDLE_USE_BITS 22
#define FR_HANDLE_SLOT_BITS 22

_Static_assert(FR_HANDLE_SLOT_BITS == FR_HANDLE_USE_SHIFT, "slot below use");
_Static_assert(FR_HANDLE_USE_SHIFT + FR_HANDLE_USE_BITS == FR_HANDLE_KIND_SHIFT, "use below kind");
_Static_assert(FR_HANDLE_KIND_SHIFT + FR_HANDLE_KIND_BITS == FR_INSTANCE_NUMBER_SHIFT,
               "kind below instance");
_Static_assert(FR_INSTANCE_NUMBER_SHIFT + FR_INSTANCE_NUMBER_BITS == 64, "64 bits in all");
_Static_assert(FR_HANDLE_KINDS <= 1 << FR_HANDLE_KIND_BITS, "every kind fits");

/* NULL without memory. */
fr_handles *fr_handles_create(const fr_allocator *allocator, uint32_t instance_number);
/* Objects of handles that are still live are passed to `drop` first. */
void fr_handles_destroy(fr_handles *handles,
                        void (*drop)(fr_handle_kind kind, void *object, void *user), void *user);

/* A handle that is not live yet: looked up, it is like one that was never given out. Its caller
 * publishes or cancels it later. 0 without memory, or when all slots are in use. */
uint64_t fr_handles_reserve(fr_handles *handles, fr_handle_kind kind);
/* From now on it is live, and who guesses it has the object: nothing else may be left to be done
 * with that. `object` may be any word, NULL too. */
void fr_handles_publish(fr_handles *handles, uint64_t handle, void *object);
void fr_handles_cancel(fr_handles *handles, uint64_t handle);
/* Reserved and published. */
uint64_t fr_handles_add(fr_handles *handles, fr_handle_kind kind, void *object);
/* False when the handle is not live or of another kind. retain, if not NULL, is called with the
 * object under the slot's lock: it must be short. */
bool fr_handles_get(fr_handles *handles, fr_handle_kind kind, uint64_t handle,
                    void (*retain)(void *object), void **out_object);
/* The object without a lock, NULL when the handle is not live: for who knows that no handle of this
 * kind is taken meanwhile. */
void *fr_handles_peek(const fr_handles *handles, fr_handle_kind kind, uint64_t handle);
/* As get, and the handle is dead from now on: exactly one of several callers gets true. */
bool fr_handles_take(fr_handles *handles, fr_handle_kind kind, uint64_t handle, void **out_object);

/* Calls visit for each live handle of a kind, under its slot's lock: it must be short. Looks at
 * every slot there ever was. */
void fr_handles_each(const fr_handles *handles, fr_handle_kind kind,
                     void (*visit)(void *object, void *user), void *user);

/* Why a number is no live handle of this kind, as text for an error: "another instance's",
 * "released or never given out", "of another kind". Static. */
const char *fr_handles_why_not(const fr_handles *handles, fr_handle_kind kind, uint64_t handle);

#endif
