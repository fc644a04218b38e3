/* The plain movers over compact row buffers. */
#include "runtime/write/rows.h"
#include "runtime/write/rows_width.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

void fr_rows_gather_indexed(void *destination, const void *source, const uint32_t *indices,
                            uint32_t n, uint32_t row_bytes)
{
    unsigned char *to = destination;
    const unsigned char *from = source;
#define FR_GATHER(w) \
    for (uint32_t k = 0; k < n; k++) { \
        fr_row_ask_to_read(from + (size_t)fr_rows_ahead(indices, k, n) * (w), (w)); \
        fr_row_copy(to + (size_t)k * (w), from + (size_t)indices[k] * (w), (w)); \
    } \
    (void)0
    FR_ROWS_BY_WIDTH(row_bytes, FR_GATHER);
#undef FR_GATHER
}

void fr_rows_scatter_indexed(void *destination, const uint32_t *indices, const void *source,
                             uint32_t n, uint32_t row_bytes)
{
    unsigned char *to = destination;
    const unsigned char *from = source;
#define FR_SCATTER(w) \
    for (uint32_t k = 0; k < n; k++) { \
        fr_row_ask_to_write(to + (size_t)fr_rows_ahead(indices, k, n) * (w), (w)); \
        fr_row_copy(to + (size_t)indices[k] * (w), from + (size_t)k * (w), (w)); \
    } \
    (void)0
    FR_ROWS_BY_WIDTH(row_bytes, FR_SCATTER);
#undef FR_SCATTER
}

#if defined(__x86_64__)
/* How far ahead of a line its source is asked for: a page, which the fetches of the hardware do not
 * cross. */
#define FR_STREAM_AHEAD_BYTES ((size_t)4096)

static inline void fr_rows_stream_line(unsigned char *to, const unsigned char *from)
{
    __builtin_prefetch((const void *)((uintptr_t)from + FR_STREAM_AHEAD_BYTES));
    __m128i a = _mm_loadu_si128((const __m128i *)(const void *)from);
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(from + 16));
    __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(from + 32));
    __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(from + 48));
    _mm_stream_si128((__m128i *)(void *)to, a);
    _mm_stream_si128((__m128i *)(void *)(to + 16), b);
    _mm_stream_si128((__m128i *)(void *)(to + 32), c);
    _mm_stream_si128((__m128i *)(void *)(to + 48), d);
}

/* Stores past the caches: a large payload is not read again before it would have been evicted, and
 * a normal store would first fetch each line that it overwrites. Line after line, since a core can
 * have few lines of such stores open at a time. The fence makes the weakly ordered stores visible
 * before whatever publishes the copy. */
static void fr_rows_copy_streaming(unsigned char *to, const unsigned char *from, size_t size_bytes)
{
    size_t head_bytes = (64 - ((uintptr_t)to & 63)) & 63;
    memcpy(to, from, head_bytes);
    to += head_bytes;
    from += head_bytes;
    size_bytes -= head_bytes;
    for (; size_bytes >= 64; size_bytes -= 64, to += 64, from += 64)
        fr_rows_stream_line(to, from);
    memcpy(to, from, size_bytes);
    _mm_sfence();
}
#else
static void fr_rows_copy_streaming(unsigned char *to, const unsigned char *from, size_t size_bytes)
{
    memcpy(to, from, size_bytes);
}
#endif

void fr_rows_copy_part(void *destination, const void *source, size_t size_bytes, size_t whole_bytes)
{
    if (whole_bytes >= FR_ROWS_STREAM_BYTES && size_bytes >= FR_ROWS_STREAM_PART_BYTES)
        fr_rows_copy_streaming(destination, source, size_bytes);
    else if (size_bytes != 0)
        memcpy(destination, source, size_bytes);
}

void fr_rows_copy_compact(void *destination, const void *source, size_t size_bytes)
{
    fr_rows_copy_part(destination, source, size_bytes, size_bytes);
}
