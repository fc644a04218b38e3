/* What a client passes as the payload of one write, checked and turned into what the store works
 * on: a schema and a row source.
 *
 * Everything that can be said against a payload without knowing the column is said here, with value
 * and limit; what passes cannot fail any more when its rows are copied. Sources are host-readable:
 * kDLCPU, kDLCUDAHost, kDLCUDAManaged.
 *
 * Threads: pure functions over the caller's memory. The row source points to the client's index_map
 * and mask until fr_payload_keep_maps has copied them. */
#ifndef FR_RUNTIME_WRITE_PAYLOAD_H
#define FR_RUNTIME_WRITE_PAYLOAD_H

#include "runtime/store/store.h"
#include "runtime/write/array_source.h"
#include "runtime/write/rows.h"
#include "runtime/write/schema_text.h"

/* Dimensions of a tensor, size-1 ones included; more than that is no tensor but a stray pointer. */
#define FR_PAYLOAD_MAX_DIMS 64
/* Alignment that an adopted payload needs: readers may use vector loads on what they are handed. */
#define FR_PAYLOAD_ADOPT_ALIGNMENT 16

typedef struct fr_payload {
    fr_schema schema;
    fr_row_source rows;
    uint64_t array_bytes; /* of an array's elements, all tensors together */
    char text[256];       /* why it was refused */
} fr_payload;

/* All of it: the two arrays, count, index_map and mask against each other, the query and the rows,
 * device, dtype, shape, strides, semantic. place: the CUDA device that tensors are to lie on, or
 * FR_PLACE_HOST: then what they depend on cannot be waited for either. Not for queries without
 * prims, whose payload is not looked at (R101). Not OK: out->text says why. */
ovstage_api_status_t fr_payload_check(const ovstage_write_data_t *data, uint32_t query_count,
                                      bool adopt_managed, int32_t place, fr_payload *out);

/* A tensor of a write; NULL when it cannot be looked at: not given, or managed by another version
 * of DLPack. */
const DLTensor *fr_payload_tensor(const ovstage_write_data_t *data, uint32_t index);

/* The elements of an array that was checked: an upper bound for the bytes, before the check, and
 * the source itself, made in `room` (aligned to 8). */
size_t fr_payload_array_bytes(const ovstage_write_data_t *data);
fr_array_source *fr_payload_array_source(const ovstage_write_data_t *data, uint32_t query_count,
                                         bool adopt_managed, const fr_payload *payload, void *room);

/* index_map and mask: bytes of a copy (0 without them), and the copy itself, made in `room`
 * (aligned to 8), to which the source points from then on. */
size_t fr_payload_map_bytes(const fr_row_source *rows);
void fr_payload_keep_maps(fr_row_source *rows, void *room);

#endif
