/* The one way to make a stream wait for a fence, and why it must. Each wait that is left out is a
 * race on the device that no test of the host alone would see: so each reason has a mutation. */
#ifndef FR_RUNTIME_DEVICE_WAIT_FOR_H
#define FR_RUNTIME_DEVICE_WAIT_FOR_H

#include "runtime/device/placed.h"

typedef enum fr_wait_reason {
    FR_WAIT_PRODUCER,       /* what the client's source depends on */
    FR_WAIT_MORE_PRODUCERS, /* the same, of entries whose rows lie on another device */
    FR_WAIT_TARGET,         /* the last write of what is written, or the allocation of its memory */
    FR_WAIT_READER,         /* reads of what is written in place */
    FR_WAIT_SOURCE,         /* the last write of what is read */
    FR_WAIT_REPLICA,        /* the copy into a replica that is read */
    FR_WAIT_PEER,           /* the last write of what is read on another device */
    FR_WAIT_OTHERS,         /* what the same read does on another device */
    FR_WAIT_ENTRY,          /* what an entry of a write has put into a stream of its home */
    FR_WAIT_ENTRY_SOURCE,   /* and where its rows lie */
    FR_WAIT_ENTRIES_BEFORE, /* it */
    FR_WAIT_OWN_WORK,       /* what an op has put into another stream than its event's */
    FR_WAIT_WORK_BEFORE,    /* and had put before, or depends on */
    FR_WAIT_EARLIER_RECORD, /* of the same event of the client's */
} fr_wait_reason;

/* own: the stream of ours that `stream` is, or NULL; it turns if the fence may stall. fence: NULL
 * and one that is over make no call. Entered. False: the fault says why. */
bool fr_wait_for(fr_opened *opened, fr_device_stream stream, fr_own_stream *own,
                 const fr_fence *fence, fr_wait_reason reason, fr_device_fault *fault);
/* The same for a payload that is read, or written. */
bool fr_wait_to_read(fr_opened *opened, fr_device_stream stream, fr_own_stream *own,
                     fr_placed *placed, fr_device_fault *fault);
bool fr_wait_to_write(fr_opened *opened, fr_device_stream stream, fr_own_stream *own,
                      fr_placed *placed, fr_device_fault *fault);

#endif
