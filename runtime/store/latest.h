/* What a key's newest value is, sealed or not: for filters by values (R47).
 *
 * Rows that an op is just writing where they are cannot be looked at: the thread gives its turn
 * away until that op has done its part. It was accepted later than whoever looks, who depends on
 * the others.
 *
 * Threads: any. Progress: waits for an op that runs, never for one that is pending; else short
 * locks. Memory: none; of an array the payload that it lies in is held, and so is one on a device.
 */
#ifndef FR_RUNTIME_STORE_LATEST_H
#define FR_RUNTIME_STORE_LATEST_H

#include "runtime/store/column.h"

/* The widest row that is no array: 255 lanes of 64 bits. */
#define FR_LATEST_ROW_BYTES 2040u

typedef struct fr_latest {
    const unsigned char *elements;
    uint64_t count;     /* 1 when it is no array */
    fr_buffer *payload; /* of an array on the host, held; NULL: none */
    fr_buffer *away;    /* held: so many elements there, of a payload on a device; or NULL */
    uint64_t away_bytes;
    _Alignas(16) unsigned char row[FR_LATEST_ROW_BYTES];
} fr_latest;

/* The value that the column's key has by all that has run; `written`: when it was written last, as
 * it was judged. False: it has none, or rows of that width are not looked at. */
bool fr_latest_read(fr_column *column, uint32_t prim, uint64_t written, fr_latest *out);
void fr_latest_release(fr_buffers *buffers, fr_latest *latest);

#endif
