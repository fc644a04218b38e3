/* The one vocabulary of atomic accesses.
 *
 * Owns: the order of every shared access in the library. No other file includes <stdatomic.h>.
 * Each access that is not relaxed carries a comment "[label] pairs [partner] : why"; a lint script
 * checks that every label has a partner that names it back. Relaxed accesses are for words that one
 * thread writes, or for values that are checked again by a stronger access.
 *
 * ThreadSanitizer knows no fences. Under it fr_fence_seq_cst() is a read-modify-write of one shared
 * word, which gives the same order and which it does understand; everything else here publishes by
 * store-release, so that no suppression is needed.
 */
#ifndef FR_SCHEDULER_ATOMIC_H
#define FR_SCHEDULER_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FR_CACHE_LINE_BYTES 64
#define FR_ALIGNED_LINE _Alignas(FR_CACHE_LINE_BYTES)

#if defined(__SANITIZE_THREAD__)
#define FR_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FR_THREAD_SANITIZER 1
#endif
#endif

/* Any sanitizer, the mutation build and the systematic build shrink constants, so that rare paths
 * run. */
#if defined(FR_THREAD_SANITIZER) || defined(__SANITIZE_ADDRESS__) || \
    defined(FR_SMALL_CONSTANTS) || defined(FR_SYSTEMATIC)
#define FR_SHRINK 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FR_SHRINK 1
#endif
#endif

/* In the systematic build (FR_SYSTEMATIC) every access is a point where a seeded scheduler may run
 * another thread. Stores wait in a store buffer of their thread until a seeded moment, in any order
 * but that of one word and of releases; a read-modify-write that releases, and the fence, empty it.
 * So a missing fence or release shows on any machine. The functions are in tests/systematic. */
#ifdef FR_SYSTEMATIC
void fr_systematic_read(const volatile void *word);
void fr_systematic_modify(const volatile void *word, bool releases);
void fr_systematic_write(volatile void *word, size_t size_bytes, uint64_t value, bool releases);
void fr_systematic_fence(void);
#define FR_RELEASES(order) ((order) != memory_order_relaxed && (order) != memory_order_acquire)
#define FR_READ(p, access) (fr_systematic_read(p), (access))
#define FR_MODIFY(p, order, access) (fr_systematic_modify(p, FR_RELEASES(order)), (access))
#define FR_WRITE(p, v, order) \
    fr_systematic_write((p), sizeof(*(p)), (uint64_t)(uintptr_t)(v), FR_RELEASES(order))
#else
#define FR_READ(p, access) (access)
#define FR_MODIFY(p, order, access) (access)
#define FR_WRITE(p, v, order) atomic_store_explicit((p), (v), (order))
#endif

#define fr_load_relaxed(p) FR_READ(p, atomic_load_explicit((p), memory_order_relaxed))
#define fr_load_acquire(p) FR_READ(p, atomic_load_explicit((p), memory_order_acquire))
#define fr_load_seq_cst(p) FR_READ(p, atomic_load_explicit((p), memory_order_seq_cst))

#define fr_store_relaxed(p, v) FR_WRITE(p, v, memory_order_relaxed)
#define fr_store_release(p, v) FR_WRITE(p, v, memory_order_release)
#define fr_store_seq_cst(p, v) \
    FR_MODIFY(p, memory_order_seq_cst, atomic_store_explicit((p), (v), memory_order_seq_cst))

#define fr_exchange_relaxed(p, v) \
    FR_MODIFY(p, memory_order_relaxed, atomic_exchange_explicit((p), (v), memory_order_relaxed))
#define fr_exchange_acquire(p, v) \
    FR_MODIFY(p, memory_order_acquire, atomic_exchange_explicit((p), (v), memory_order_acquire))
#define fr_exchange_release(p, v) \
    FR_MODIFY(p, memory_order_release, atomic_exchange_explicit((p), (v), memory_order_release))
#define fr_exchange_acq_rel(p, v) \
    FR_MODIFY(p, memory_order_acq_rel, atomic_exchange_explicit((p), (v), memory_order_acq_rel))
#define fr_exchange_seq_cst(p, v) \
    FR_MODIFY(p, memory_order_seq_cst, atomic_exchange_explicit((p), (v), memory_order_seq_cst))

#define fr_add_relaxed(p, v) \
    FR_MODIFY(p, memory_order_relaxed, atomic_fetch_add_explicit((p), (v), memory_order_relaxed))
#define fr_add_acquire(p, v) \
    FR_MODIFY(p, memory_order_acquire, atomic_fetch_add_explicit((p), (v), memory_order_acquire))
#define fr_add_release(p, v) \
    FR_MODIFY(p, memory_order_release, atomic_fetch_add_explicit((p), (v), memory_order_release))
#define fr_add_acq_rel(p, v) \
    FR_MODIFY(p, memory_order_acq_rel, atomic_fetch_add_explicit((p), (v), memory_order_acq_rel))
#define fr_add_seq_cst(p, v) \
    FR_MODIFY(p, memory_order_seq_cst, atomic_fetch_add_explicit((p), (v), memory_order_seq_cst))

#define fr_sub_relaxed(p, v) \
    FR_MODIFY(p, memory_order_relaxed, atomic_fetch_sub_explicit((p), (v), memory_order_relaxed))
#define fr_sub_release(p, v) \
    FR_MODIFY(p, memory_order_release, atomic_fetch_sub_explicit((p), (v), memory_order_release))
#define fr_sub_acq_rel(p, v) \
    FR_MODIFY(p, memory_order_acq_rel, atomic_fetch_sub_explicit((p), (v), memory_order_acq_rel))
#define fr_sub_seq_cst(p, v) \
    FR_MODIFY(p, memory_order_seq_cst, atomic_fetch_sub_explicit((p), (v), memory_order_seq_cst))

#define fr_or_relaxed(p, v) \
    FR_MODIFY(p, memory_order_relaxed, atomic_fetch_or_explicit((p), (v), memory_order_relaxed))
#define fr_or_release(p, v) \
    FR_MODIFY(p, memory_order_release, atomic_fetch_or_explicit((p), (v), memory_order_release))
#define fr_or_acq_rel(p, v) \
    FR_MODIFY(p, memory_order_acq_rel, atomic_fetch_or_explicit((p), (v), memory_order_acq_rel))
#define fr_or_seq_cst(p, v) \
    FR_MODIFY(p, memory_order_seq_cst, atomic_fetch_or_explicit((p), (v), memory_order_seq_cst))

#define fr_and_relaxed(p, v) \
    FR_MODIFY(p, memory_order_relaxed, atomic_fetch_and_explicit((p), (v), memory_order_relaxed))
#define fr_and_release(p, v) \
    FR_MODIFY(p, memory_order_release, atomic_fetch_and_explicit((p), (v), memory_order_release))
#define fr_and_acq_rel(p, v) \
    FR_MODIFY(p, memory_order_acq_rel, atomic_fetch_and_explicit((p), (v), memory_order_acq_rel))

/* Compare and swap: true when swapped; otherwise *expected holds what was seen, read relaxed
 * ("_seen" reads it with acquire, for callers that go on with the seen value). */
#define FR_CAS(p, expected, v, order, order_seen) \
    FR_MODIFY( \
        p, order, \
        atomic_compare_exchange_strong_explicit((p), (expected), (v), (order), (order_seen)))

#define fr_cas_relaxed(p, expected, v) \
    FR_CAS(p, expected, v, memory_order_relaxed, memory_order_relaxed)
#define fr_cas_acquire(p, expected, v) \
    FR_CAS(p, expected, v, memory_order_acquire, memory_order_relaxed)
#define fr_cas_release(p, expected, v) \
    FR_CAS(p, expected, v, memory_order_release, memory_order_relaxed)
#define fr_cas_acq_rel(p, expected, v) \
    FR_CAS(p, expected, v, memory_order_acq_rel, memory_order_relaxed)
#define fr_cas_acq_rel_seen(p, expected, v) \
    FR_CAS(p, expected, v, memory_order_acq_rel, memory_order_acquire)
#define fr_cas_seq_cst(p, expected, v) \
    FR_CAS(p, expected, v, memory_order_seq_cst, memory_order_relaxed)

extern _Atomic uint32_t fr_fence_word; /* what the fence modifies under ThreadSanitizer */
#if defined(FR_SYSTEMATIC)
#define fr_fence_seq_cst() fr_systematic_fence()
#elif defined(FR_THREAD_SANITIZER)
#define fr_fence_seq_cst() \
    ((void)atomic_fetch_add_explicit(&fr_fence_word, 0, memory_order_seq_cst))
#else
#define fr_fence_seq_cst() atomic_thread_fence(memory_order_seq_cst)
#endif

/* A counter that its owner alone writes and others may read, for statistics: no decision depends on
 * it. */
#define fr_count(p, n) \
    atomic_store_explicit((p), atomic_load_explicit((p), memory_order_relaxed) + (n), \
                          memory_order_relaxed)

static inline void fr_cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Asks for a line that will be written; any address. For x86 compilers make a fetch for reading of
 * the builtin unless a flag allows the instruction, which where it is missing does nothing: the
 * line would come shared, and the first write would have to ask for it again. */
static inline void fr_prefetch_write(const void *address)
{
#if defined(__x86_64__)
    __asm__ __volatile__("prefetchw (%0)" : : "r"(address));
#else
    __builtin_prefetch(address, 1);
#endif
}

#endif
