/* Rows of the host that a device may still write: what a cuda_sync beside them stands for.
 *
 * It is captured in the call, as that of rows on a device. The host cannot make a stream wait in
 * its place, so an op comes before the write that is over when the device is: the write waits for
 * it as for any producer, keeps its place in its lane, and holds no thread. If the device fails, so
 * does the write.
 *
 * Threads: as write_op.h. */
#ifndef FR_RUNTIME_WRITE_WRITE_SYNC_H
#define FR_RUNTIME_WRITE_WRITE_SYNC_H

#include "runtime/write/write_device.h"

/* In the op's block, behind what it has for a device. */
typedef struct fr_write_sync {
    fr_captured captured;
    uint64_t wait_id; /* of the op before; 0: what was captured is over already */
} fr_write_sync;

static inline fr_write_sync *fr_write_sync_of(const fr_write_op *write)
{
    unsigned char *block = write->block;
    return write->syncs
               ? (fr_write_sync *)(void *)(block + (write->on_device ? sizeof(fr_device_write) : 0))
               : NULL;
}

/* Whether rows of the host come with one. */
bool fr_write_syncs_host(const fr_write_call *call);
/* Steps of the call; not OK: the text is set, and let_go is to be called. capture: of one entry;
 * preferred: a device that is in use anyway, or NULL. submit: when all are; let_go gets `held` when
 * the device is done with the rows. */
ovstage_api_status_t fr_write_sync_capture(fr_write_sync *sync, fr_stage *stage,
                                           fr_opened *preferred, uint64_t ordinal,
                                           const ovstage_cuda_sync_t *given);
ovstage_api_status_t fr_write_sync_submit(fr_write_sync *sync, fr_stage *stage,
                                          const ovstage_cuda_sync_t *told,
                                          void (*let_go)(void *held), void *held);
/* Both for all entries of a call. */
ovstage_api_status_t fr_write_sync_call(const fr_write_call *call);
/* When the op runs. False: it has failed. */
bool fr_write_sync_judge(fr_op *op, const fr_write_op *write);
void fr_write_sync_let_go(const fr_write_op *write);

#endif
