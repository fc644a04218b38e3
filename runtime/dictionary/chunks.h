/* An append-only table: elements are numbered from 0, never move and never go away, so that a
 * number can be turned into a pointer without a lock.
 *
 * Chunk k holds FR_CHUNKS_FIRST << k elements, so 32-bit numbers need no more than a few pointers.
 *
 * Threads: one appender at a time (its lock is the caller's), readers at any time.
 * Invariants: a chunk's pointer is written before the count lets a reader come to its elements.
 * Progress: readers are wait-free; appending allocates nothing, its chunk is brought along.
 * Memory bound: at most twice the elements in use; what is not in use yet is never touched. */
#ifndef FR_RUNTIME_DICTIONARY_CHUNKS_H
#define FR_RUNTIME_DICTIONARY_CHUNKS_H

#include "scheduler/atomic.h"

#ifdef FR_SHRINK
#define FR_CHUNKS_FIRST_LOG2 2
#else
#define FR_CHUNKS_FIRST_LOG2 8
#endif
#define FR_CHUNKS_FIRST (1u << FR_CHUNKS_FIRST_LOG2)
#define FR_CHUNKS_MAX (33 - FR_CHUNKS_FIRST_LOG2)
#define FR_CHUNKS_NONE UINT32_MAX

typedef struct fr_chunks {
    _Atomic uint32_t count; /* elements that readers may see */
    uint32_t element_bytes;
    unsigned char *chunk[FR_CHUNKS_MAX];
} fr_chunks;

static inline uint32_t fr_chunks_of(uint32_t index, uint64_t *first)
{
    const uint64_t shifted = (uint64_t)index + FR_CHUNKS_FIRST;
    const uint32_t log2 = 63u - (uint32_t)__builtin_clzll(shifted);
    *first = ((uint64_t)1 << log2) - FR_CHUNKS_FIRST;
    return log2 - FR_CHUNKS_FIRST_LOG2;
}

/* Readers: only below a count, or below a number, that was read with acquire. */
static inline void *fr_chunks_at(const fr_chunks *chunks, uint32_t index)
{
    uint64_t first;
    const uint32_t k = fr_chunks_of(index, &first);
    return chunks->chunk[k] + (size_t)(index - first) * chunks->element_bytes;
}

static inline uint32_t fr_chunks_count(const fr_chunks *chunks)
{
    /* [chunks.count.read] pairs [chunks.count.publish] : an element that is counted is written, and
     * so is its chunk's pointer */
    return fr_load_acquire(&chunks->count);
}

/* Appender: the chunk that the next element needs and that is not there yet, or FR_CHUNKS_NONE. */
static inline uint32_t fr_chunks_missing(const fr_chunks *chunks)
{
    uint64_t first;
    const uint32_t k = fr_chunks_of(fr_load_relaxed(&chunks->count), &first);
    return chunks->chunk[k] ? FR_CHUNKS_NONE : k;
}

static inline size_t fr_chunks_bytes(const fr_chunks *chunks, uint32_t k)
{
    return ((size_t)FR_CHUNKS_FIRST << k) * chunks->element_bytes;
}

/* Appender: lets readers come to the element behind the last one, which has been written. */
static inline void fr_chunks_publish(fr_chunks *chunks)
{
    /* [chunks.count.publish] pairs [chunks.count.read] : a reader that sees the number sees the
     * element */
    fr_store_release(&chunks->count, fr_load_relaxed(&chunks->count) + 1);
}

#endif
