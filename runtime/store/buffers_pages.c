#include "runtime/store/buffers_pages.h"

#include "scheduler/os.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#define FR_PAGE_BYTES ((size_t)4096)

/* --- jemalloc --------------------------------------------------------------------------------- */

/* Its interface as version 5 has it; weak, since the library must not need it. */
extern void *mallocx(size_t size, int flags) __attribute__((weak));
extern void dallocx(void *memory, int flags) __attribute__((weak));
extern int mallctl(const char *name, void *old_value, size_t *old_size, void *new_value,
                   size_t new_size) __attribute__((weak));

#define FR_ARENA_ALIGN_PAGE 12 /* the logarithm of the alignment */
#define FR_ARENA_NO_THREAD_CACHE (1 << 8)
#define FR_ARENA_SHIFT 20

/* How to ask the arena, 0: not looked for, -1: there is none, -2: somebody makes it. */
static _Atomic int32_t fr_arena_flags;

static bool fr_arena_decay_off(unsigned arena, const char *kind)
{
    char name[64];
    ptrdiff_t never = -1;
    (void)snprintf(name, sizeof(name), "arena.%u.%s_decay_ms", arena, kind);
    return mallctl(name, NULL, NULL, &never, sizeof(never)) == 0;
}

static int32_t fr_arena_make(void)
{
    const char *version = NULL;
    size_t version_size = sizeof(version);
    if (!mallocx || !dallocx || !mallctl)
        return -1;
    if (mallctl("version", &version, &version_size, NULL, 0) != 0 || !version || version[0] != '5')
        return -1;
    unsigned arena = 0;
    size_t arena_size = sizeof(arena);
    if (mallctl("arenas.create", &arena, &arena_size, NULL, 0) != 0)
        return -1;
    if (!fr_arena_decay_off(arena, "dirty") || !fr_arena_decay_off(arena, "muzzy"))
        return -1;
    return (int32_t)((arena + 1) << FR_ARENA_SHIFT) | FR_ARENA_NO_THREAD_CACHE |
           FR_ARENA_ALIGN_PAGE;
}

static int32_t fr_arena_find(void)
{
    /* [pages.arena.read] pairs [pages.arena.made] : the arena is set up when its flags are seen */
    int32_t flags = fr_load_acquire(&fr_arena_flags);
    if (flags != 0)
        return flags;
    /* The first one makes it, and nobody waits for that: others map their pages meanwhile. */
    if (!fr_cas_relaxed(&fr_arena_flags, &flags, -2))
        return -2;
    flags = fr_arena_make();
    /* [pages.arena.made] pairs [pages.arena.read] : hands on the finished arena */
    fr_store_release(&fr_arena_flags, flags);
    return flags;
}

/* --- mapped pages ----------------------------------------------------------------------------- */

static size_t fr_pages_round(size_t size_bytes)
{
    return (size_bytes + FR_PAGE_BYTES - 1) & ~(FR_PAGE_BYTES - 1);
}

static void *fr_pages_map(size_t size_bytes)
{
    void *pages =
        mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* At a huge page boundary: maps more and cuts both ends off. */
static void *fr_pages_map_huge(size_t size_bytes)
{
    unsigned char *pages = fr_pages_map(size_bytes + FR_HUGE_PAGE_BYTES);
    if (!pages)
        return NULL;
    size_t before = (size_t)(-(uintptr_t)pages & (FR_HUGE_PAGE_BYTES - 1));
    size_t after = FR_HUGE_PAGE_BYTES - before;
    if (before)
        (void)munmap(pages, before);
    if (after)
        (void)munmap(pages + before + size_bytes, after);
    /* Advice: small pages do as well. */
    (void)madvise(pages + before, size_bytes, MADV_HUGEPAGE);
    return pages + before;
}

void *fr_pages_get(size_t size_bytes, bool *from_arena)
{
    *from_arena = false;
    if (size_bytes > SIZE_MAX - 2 * FR_HUGE_PAGE_BYTES)
        return NULL;
    if (size_bytes >= FR_HUGE_PAGE_BYTES)
        return fr_pages_map_huge(fr_pages_round(size_bytes));
    int32_t flags = fr_arena_find();
    if (flags <= 0)
        return fr_pages_map(fr_pages_round(size_bytes));
    *from_arena = true;
    return mallocx(size_bytes, flags);
}

void fr_pages_give(void *pages, size_t size_bytes, bool from_arena)
{
    if (from_arena)
        dallocx(pages, FR_ARENA_NO_THREAD_CACHE);
    else
        (void)munmap(pages, fr_pages_round(size_bytes));
}
