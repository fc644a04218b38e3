/* Payload buffers: where the rows of a version lie. Recycled by size class, since fresh pages cost
 * a hundred times the copy of a small write; large ones are advised to be huge pages.
 *
 * Threads: all. Invariants: a buffer without references belongs to nobody; a deleter of an adopted
 * tensor runs once, when the last reference goes, outside of every lock. Progress: one short lock
 * per size class, never held over an allocation, a system call or a deleter. Memory bound: what is
 * free in the classes is counted as pooled bytes; above a quarter of what is in use (at least
 * 64 MiB), what was free for a second is given back. */
#ifndef FR_RUNTIME_STORE_BUFFERS_H
#define FR_RUNTIME_STORE_BUFFERS_H

#include <ovstage/ovstage_api/ovstage_api_types.h>

#include "runtime/store/stock.h"
#include "scheduler/memory.h"

typedef struct fr_buffers fr_buffers;

typedef struct fr_buffer {
    /* Aligned to 64 bytes at least when it is ours; as the client had it when adopted. NULL of one
     * that is placed: whoever forgets to ask faults, and reads nothing wrong. */
    FR_ALIGNED_LINE unsigned char *data;
    size_t capacity_bytes; /* at least what was asked for */
    _Atomic uint64_t references;
    uint32_t size_class;
    bool holds_slices; /* its rows refer to payloads (slices.h) */
    bool is_placed;    /* it lies on a device */
    union {
        /* Its deleter runs when the last reference goes. NULL: it is ours. */
        const struct DLManagedTensorVersioned *adopted;
        struct fr_placed *placed; /* is_placed */
    };
    union {
        struct {
            union {
                struct fr_buffer *next_free; /* while nobody refers to it; or the next one to let go
                                                of */
                struct fr_pending *pending;  /* of a payload of slices: that counts it; or NULL */
            };
            uint64_t live_bytes; /* of a payload of slices: a seal's own (compact.h) */
        };
        fr_stocked free;
    };
    struct fr_buffer_slab *slab; /* that the record and the data belong to; NULL: on their own */
} fr_buffer;

/* builtin_pool false: every buffer comes from the allocator, and goes back to it. The same under
 * sanitizers, for the sake of their red zones. NULL without memory. */
fr_buffers *fr_buffers_create(const fr_allocator *allocator, bool builtin_pool);
/* Pools under sanitizers too: for the tests of the pool. */
fr_buffers *fr_buffers_create_pooled(const fr_allocator *allocator);
/* All buffers have come back, the adopted ones too. */
void fr_buffers_destroy(fr_buffers *buffers);

/* One reference. Contents undefined. NULL without memory. */
fr_buffer *fr_buffer_get(fr_buffers *buffers, size_t size_bytes);
/* A buffer over a managed tensor's memory; takes over its ownership, unless it returns NULL (no
 * memory). */
fr_buffer *fr_buffer_adopt(fr_buffers *buffers, const struct DLManagedTensorVersioned *managed,
                           const void *data, size_t size_bytes);
/* A buffer over a payload on a device, of which it has the only reference. NULL without memory. */
fr_buffer *fr_buffer_of_placed(fr_buffers *buffers, struct fr_placed *placed, size_t size_bytes);
void fr_buffer_retain(fr_buffer *buffer);
void fr_buffer_release(fr_buffers *buffers, fr_buffer *buffer); /* NULL is fine */
void fr_buffer_retain_many(fr_buffer *buffer, uint64_t count);
/* Without running a deleter: when these were the last references, the buffer goes to the front of a
 * list of which the caller lets go when it holds no lock. */
void fr_buffer_drop_many(fr_buffer *buffer, uint64_t count, fr_buffer **let_go);
void fr_buffers_let_go(fr_buffers *buffers, fr_buffer *list);
/* Nobody else refers to it and it is not adopted: it may be written in place. */
bool fr_buffer_writable(const fr_buffer *buffer);

typedef struct fr_buffers_statistics {
    uint64_t payload_bytes; /* in buffers with references, adopted and placed ones included */
    uint64_t pooled_bytes;  /* of slabs, without references */
} fr_buffers_statistics;
void fr_buffers_statistics_read(const fr_buffers *buffers, fr_buffers_statistics *out);

#endif
