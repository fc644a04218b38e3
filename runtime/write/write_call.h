/* A call that writes, on its way to acceptance: what its steps share.
 *
 * Threads: the calling thread's own. */
#ifndef FR_RUNTIME_WRITE_WRITE_CALL_H
#define FR_RUNTIME_WRITE_WRITE_CALL_H

#include "runtime/write/write_op.h"

typedef struct fr_write_call {
    fr_stage *stage;
    fr_query *query;
    const ovstage_attribute_write_t *writes;
    uint32_t count;
    const fr_write_request *request;
    bool asks_query;   /* for how many elements a payload without a count has, but not yet */
    uint32_t elements; /* as many: the query's prims, or some of them */
    uint64_t ordinal;
    fr_op *op;
    fr_write_op *write;              /* the op's payload */
    fr_attribute *const *attributes; /* of a query without prims, which has no op record */
    struct fr_opened *device;        /* of the placement; NULL: the host */
    ovstage_placement_t placement;   /* as given, or the first device that has rows of the call */
    bool is_placed;                  /* there is one, on a device */
    bool stays_on_host;              /* there is one, on the host, and rows of devices */
    bool pending;              /* how many prims the query has does not count yet: it is not ready,
                                  or a filter's that found none */
    uint64_t producers[2];     /* its op, and that of a cuda_sync beside rows of the host */
    bool syncs;                /* there is one */
    ovstage_api_status_t doom; /* what is wrong with a payload, if it has prims */
    bool writes_nothing;       /* the same, and it has none */
    /* What admit found. */
    uint32_t refused_entry;
    uint64_t refused_floor;
} fr_write_call;

typedef fr_attribute *(*fr_write_attribute_at)(const fr_write_call *, uint32_t entry);

static inline ovstage_enqueue_result_t fr_write_refused(ovstage_api_status_t status)
{
    ovstage_enqueue_result_t result = {status, OVSTAGE_INVALID_OP_ID};
    return result;
}

/* write.c. distinct: columns in one batch. floor: under admission; tells the call what it found.
 * refuse: says so. */
ovstage_api_status_t fr_write_check_distinct(const fr_write_call *call, fr_write_attribute_at at);
ovstage_api_status_t fr_write_admit_floor(fr_write_call *call, fr_write_attribute_at at);
ovstage_enqueue_result_t fr_write_refuse_floor(const fr_write_call *call,
                                               const fr_attribute *attribute);
/* write_empty.c. named, admit: of a call without an op record. */
fr_attribute *fr_write_named_attribute(const fr_write_call *call, uint32_t entry);
ovstage_api_status_t fr_write_admit_empty(fr_submission *submission, void *call);
ovstage_enqueue_result_t fr_write_submit_empty(fr_write_call *call);
/* write_empty_device.c: the same with a placement on a device. */
ovstage_enqueue_result_t fr_write_submit_empty_on_device(fr_write_call *call);

#endif
