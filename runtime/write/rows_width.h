/* One row of a known width: what the movers of rows.c and rows_plain.c are made of.
 *
 * FR_ROWS_BY_WIDTH(width, loop) runs `loop(w)` with w a constant for the widths that physics and
 * rendering use (scalars, float3, float4, double3, double4, 4x4 matrices), so that each copy is a
 * few moves instead of a call; any other width takes the last branch. */
#ifndef FR_RUNTIME_WRITE_ROWS_WIDTH_H
#define FR_RUNTIME_WRITE_ROWS_WIDTH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FR_ROWS_BY_WIDTH(width, loop) \
    do { \
        switch (width) { \
        case 1: \
            loop(1); \
            break; \
        case 2: \
            loop(2); \
            break; \
        case 4: \
            loop(4); \
            break; \
        case 8: \
            loop(8); \
            break; \
        case 12: \
            loop(12); \
            break; \
        case 16: \
            loop(16); \
            break; \
        case 24: \
            loop(24); \
            break; \
        case 32: \
            loop(32); \
            break; \
        case 64: \
            loop(64); \
            break; \
        case 128: \
            loop(128); \
            break; \
        default: \
            loop(width); \
            break; \
        } \
    } while (0)

/* Rows of a list lie anywhere, so each is a miss, and a mover that waits for one after the other
 * has few under way: it asks for the row that comes so many places later. Half or twice as far is
 * as good. */
#define FR_ROWS_AHEAD 16u

/* The row to ask for at place k. */
static inline uint32_t fr_rows_ahead(const uint32_t *rows, size_t k, size_t count)
{
    return rows[k + FR_ROWS_AHEAD < count ? k + FR_ROWS_AHEAD : k];
}

/* What only asks for memory is inlined by force: of a call that does nothing else the compiler
 * believes that it has no effect, and leaves it out. */
#define FR_ASKS static inline __attribute__((always_inline))

FR_ASKS void fr_row_ask_for(const void *row)
{
    __builtin_prefetch(row, 1);
}

/* A row of so many bytes, to be written or only read: both lines of one that takes two, as a matrix
 * does; of a longer one what comes behind them is fetched without being asked for. */
FR_ASKS void fr_row_ask_to_write(const unsigned char *row, size_t width)
{
    __builtin_prefetch(row, 1);
    if (width > 64)
        __builtin_prefetch(row + 64, 1);
}

FR_ASKS void fr_row_ask_to_read(const unsigned char *row, size_t width)
{
    __builtin_prefetch(row);
    if (width > 64)
        __builtin_prefetch(row + 64);
}

static inline __attribute__((always_inline)) void fr_row_copy(void *destination, const void *source,
                                                              size_t width)
{
    memcpy(destination, source, width);
}

#endif
