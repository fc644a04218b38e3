/* Pages for payloads, from below the C library's heap: large ones mapped at huge page boundaries,
 * middle ones from a jemalloc arena of their own when the process is linked with jemalloc 5 (its
 * symbols are looked for weakly), else mapped.
 *
 * Threads: all. Progress: system calls; the arena is made once in a process, by the first thread
 * that wants pages, without a lock: others map theirs until it is there. Memory bound: what was
 * asked for, plus less than 2 MiB of address space while mapping. The arena keeps what comes back
 * (its decay is off), so that it is not paged in again. */
#ifndef FR_RUNTIME_STORE_BUFFERS_PAGES_H
#define FR_RUNTIME_STORE_BUFFERS_PAGES_H

#include <stdbool.h>
#include <stddef.h>

#define FR_HUGE_PAGE_BYTES ((size_t)2 << 20)

/* NULL without memory. Aligned to 4096 bytes at least. *from_arena is handed to fr_pages_give. */
void *fr_pages_get(size_t size_bytes, bool *from_arena);
void fr_pages_give(void *pages, size_t size_bytes, bool from_arena);

#endif
