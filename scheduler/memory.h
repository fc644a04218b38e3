/* Memory of the library: every allocation goes through an fr_allocator, so that a host can replace
 * it and a test can make the k-th one fail. The hooks may be called from any thread. Both calls are
 * out of every lock-free path. */
#ifndef FR_SCHEDULER_MEMORY_H
#define FR_SCHEDULER_MEMORY_H

#include <stddef.h>
#include <stdint.h>

typedef struct fr_allocator {
    /* NULL when there is no memory. alignment is a power of two, at least 16. Contents are
     * undefined. */
    void *(*allocate)(size_t size_bytes, size_t alignment_bytes, void *user);
    /* size_bytes is what was asked for. */
    void (*release)(void *memory, size_t size_bytes, void *user);
    void *user;
} fr_allocator;

/* The C library's heap. */
extern const fr_allocator fr_allocator_default;

/* size 0 gives NULL. The returned memory is zeroed. */
void *fr_memory_allocate_zero(const fr_allocator *allocator, size_t size_bytes,
                              size_t alignment_bytes);
void *fr_memory_allocate(const fr_allocator *allocator, size_t size_bytes, size_t alignment_bytes);
/* NULL is fine. */
void fr_memory_release(const fr_allocator *allocator, void *memory, size_t size_bytes);
/* A larger copy of memory (old_bytes are kept); NULL leaves the old one as it was. */
void *fr_memory_grow(const fr_allocator *allocator, void *memory, size_t old_bytes,
                     size_t new_bytes, size_t alignment_bytes);

#ifdef FR_CHECK_LOCKS
/* Test builds: allocations that were asked for by a thread that held a mutex (os.h), in the whole
 * process. */
uint64_t fr_memory_under_locks(void);
#endif

#endif
