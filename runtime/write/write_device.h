/* Writes to columns on a device, of rows that lie there or on the host.
 *
 * The call captures what the rows depend on. The op takes memory, puts the copies and moves of each
 * entry into a stream, records a fence behind them, and then the client's event, if one is given:
 * then the op is done as soon as that is submitted (R178, R179). A managed tensor is let go of when
 * what reads it is done: without an event, before the op is complete.
 *
 * An op that finds no stream parks, and goes on at the entry at which it was.
 *
 * Threads: as write_op.h. */
#ifndef FR_RUNTIME_WRITE_WRITE_DEVICE_H
#define FR_RUNTIME_WRITE_WRITE_DEVICE_H

#include "runtime/device/available.h"
#include "runtime/device/capture.h"
#include "runtime/device/park.h"
#include "runtime/device/report.h"
#include "runtime/write/write_call.h"

typedef struct fr_write_hold fr_write_hold;

/* write_down.h */
typedef struct fr_write_down {
    fr_fence_wait over;
    fr_staged *staged; /* the rows of the entry that is next, one after the other; NULL: none */
    fr_fence *done;    /* behind the copy of them */
} fr_write_down;

/* At the head of the op's block. */
typedef struct fr_device_write {
    fr_opened *opened;
    uintptr_t stream, available; /* the client's */
    bool is_placed; /* there; else rows of each entry lie where its column does, or as they are; */
    bool stays_on_host; /* or there, since a placement says so */
    fr_available *turn; /* of `available`: a reference, or NULL */
    bool told;          /* `available` was recorded, or could not be */
    fr_captured captured;
    fr_fence *put;       /* behind the entries that are in streams: a reference, or NULL */
    bool is_behind;      /* that waits in a stream of `opened` for work of another device */
    bool dep_is_written; /* what was captured is the last write of the rows' own buffer */
    fr_device_told work;
    struct fr_op *report;     /* without `available`: complete when the device's work is done */
    fr_write_hold *holds;     /* one for each managed tensor, until the op has run */
    fr_stream_wait wait;      /* for a stream; */
    bool brings;              /* the entry that is next, through pinned memory */
    bool may_park, is_parked; /* the op may wait so; its run has found no stream, or waits for: */
    fr_write_down down;
} fr_device_write;

static inline fr_device_write *fr_write_device(const fr_write_op *write)
{
    return write->on_device ? write->block : NULL;
}

/* Steps of the call; not OK: the text is set. open: which device, if any. entry: one that was
 * checked as any other. capture: last, before it is submitted. doom: of one that was refused, over
 * a query that was pending: which is none if that has no prims. */
ovstage_api_status_t fr_write_device_open(fr_write_call *call);
void fr_write_device_doom(fr_write_call *call);
ovstage_api_status_t fr_write_device_check_entry(const fr_write_call *call, uint32_t e);
ovstage_api_status_t fr_write_device_capture(fr_write_call *call);
/* The same of one entry that is filled already, with its report. */
ovstage_api_status_t fr_write_device_capture_sync(fr_device_write *device, fr_graph *graph,
                                                  uint64_t ordinal,
                                                  const ovstage_cuda_sync_t *sync);
/* For who asks what it waits for: of several entries, the first one's. */
fr_device_told fr_write_tell_work(const fr_write_call *call, const char *what);
/* Of an op that was accepted, whatever became of it. */
void fr_write_device_end(fr_op *op, const fr_write_op *write);
/* The same of one that was not. */
void fr_write_device_let_go(const fr_write_op *write);

fr_run_result fr_write_device_run(fr_op *op, fr_write_op *write, const fr_run_context *context);
/* For write_down.c. hold: until the fence is over the tensor is not the client's again. last: the
 * entry, which is written, was the op's last. */
void fr_write_device_hold(fr_device_write *device, fr_write_entry *entry, fr_fence *fence);
void fr_write_device_last(fr_op *op, fr_device_write *device);
/* The entry has failed, and what is before the fence, on that device, may read the source. */
void fr_write_device_failed(fr_device_write *device, fr_fence *done, const fr_opened *there);

#endif
