/* What one write of an array column brings along: its elements in payloads, and a slice of them for
 * each of its rows, which the plan then copies like any row.
 *
 * Elements are copied once, into one payload a write, whatever rows they become; rows that no
 * element of the write selects are left out. A tensor that may be adopted is a payload as it is.
 *
 * Threads: made and destroyed by who runs the op; chunks by any, each once. */
#ifndef FR_RUNTIME_STORE_ARRAY_WRITE_H
#define FR_RUNTIME_STORE_ARRAY_WRITE_H

#include "runtime/store/pending.h"
#include "runtime/store/slices.h"
#include "runtime/store/store.h"
#include "runtime/store/touch.h"

typedef struct fr_array_write {
    fr_row_source rows; /* the write's, over the slices */
    fr_buffer *slices;
    const fr_array_source *source; /* NULL: the slices were there */
    const fr_slice *given; /* that lie elsewhere, and whose elements go to a device; or NULL */
    uint32_t element_bytes;
    bool adopted;         /* some of the slices are of tensors themselves */
    fr_pending *pending;  /* for a version that has none yet */
    fr_buffer *payload;   /* that elements are copied into, or were there in; NULL: none are */
    uint64_t copied;      /* elements */
    bool straight;        /* element k of the payload is element k of the one tensor */
    uint32_t chunk_count; /* 0: on a device, array_place.h copies them */
    uint64_t chunk_elements;
    uint32_t chunk_rows[]; /* the row that each chunk begins in */
} fr_array_write;

/* Rows that have a buffer are taken as they are. NULL without memory. */
fr_array_write *fr_array_write_make(fr_store *store, const fr_write *write);
void fr_array_write_destroy(fr_store *store, fr_array_write *array); /* NULL is fine */
/* Committed: its payloads are counted as unsealed, with those of the version that got rows. */
void fr_array_write_count(fr_array_write *array, fr_touched *touched);
/* Copies elements [first, end) of those that are copied, of which row has the first, to where they
 * lie in a payload at `to`. */
void fr_array_write_copy(const fr_array_write *array, uint32_t row, uint64_t first, uint64_t end,
                         unsigned char *to);
/* The same of a chunk. */
void fr_array_write_chunk(const fr_array_write *array, uint32_t chunk);
/* The rows of elements of the write: as fr_rows_copy (elements NULL, to rows from first_target on)
 * and fr_rows_scatter. */
void fr_array_write_rows(fr_store *store, const fr_array_write *array, uint32_t first,
                         const uint32_t *elements, uint32_t first_target, const uint32_t *targets,
                         uint32_t count, fr_buffer *to);

#endif
