/* Rows of one device that are moved by numbers which the host knows.
 *
 * Few runs of rows are copied one by one. Others are moved by a kernel, which reads their numbers
 * on the device: they go there first, in the same stream, through memory that the run holds until
 * the device is done.
 *
 * Threads: as run.h. */
#ifndef FR_RUNTIME_DEVICE_SCATTER_H
#define FR_RUNTIME_DEVICE_SCATTER_H

#include "runtime/device/run.h"

/* As fr_row_move, but for where the lists lie. */
typedef struct fr_listed_move {
    uint64_t to, from;
    uint64_t to_pitch, from_pitch; /* from_pitch 0: every row is the one at `from` */
    uint32_t row_bytes, count;
    const uint32_t *to_rows, *from_rows; /* the host's, `count` numbers each; NULL: 0, 1, 2, ... */
    bool at_once; /* the rows are written by the last call alone: all of them, or, when it or
                     something before it fails, none */
} fr_listed_move;

/* Whether the numbers follow each other. NULL: they do. */
bool fr_rows_are_one_run(const uint32_t *rows, uint32_t count);

/* Both payloads were named to the run. The lists have been read when it returns. */
bool fr_device_run_move_listed(fr_device_run *run, const fr_listed_move *move,
                               fr_device_fault *fault);
/* Elements that lie apart, one after the other. */
bool fr_device_run_collect(fr_device_run *run, const fr_strided_copy *copy, fr_device_fault *fault);

#endif
