/* Snapshot and range reads: the handle object of a read, and the groups it hands out.
 *
 * A read fixes its moment when it is accepted (L4). When no pending seal is needed it is judged and
 * pinned inside the enqueue, and its op is complete at birth, but for rows that devices have to
 * move first; else its op waits for those seals, and the store keeps what it selects until then.
 *
 * A group stands alone: it holds its own pins and its own reference of the query, and is released
 * from any thread, in any order, also after its read and its query. Its identity is read_group_id;
 * nothing else in the client's struct is looked at on release.
 *
 * Threads: every function from any thread.
 * Invariants: `result`, `status` and the text in it are written by who judges the read, before
 * `state` says so, and by nobody afterwards; parts[taken..] belong to the read, those below to
 * groups. `taken` is guarded by the lock. Progress: a fetch waits for the read's op only. Memory:
 * type-stable slabs (write/access.h); a read keeps its array of parts for the next one.
 *
 * Word `state`: FR_READ_PENDING until judged; FR_READ_JUDGED set once by who judged (inside the
 * enqueue, in the op's run, or in its drop). What comes home from a device is judged when it is
 * there, and lies in the host's own memory. */
#ifndef FR_RUNTIME_READ_READ_H
#define FR_RUNTIME_READ_READ_H

#include "runtime/api/stage.h"
#include "runtime/device/park.h"
#include "runtime/write/access.h"

#define FR_READ_INLINE_NAMES 4

typedef struct fr_read_name {
    fr_attribute *attribute; /* NULL: no op named it so far, nothing can have a row */
    ovx_token_t token;       /* what the client called it (D19) */
    fr_reserved derived;     /* a column that is computed (derived.h), or FR_RESERVED_NONE */
    bool sealed; /* the record that it was judged by had its floor at the read's ordinal or above */
    uint64_t floor; /* by that record; UINT64_MAX: not judged */
} fr_read_name;

enum { FR_READ_PENDING = 0, FR_READ_JUDGED = 1 };

/* By which the store knows what a read will select. */
typedef struct fr_read_hold {
    fr_ordinal_node moment, start;
} fr_read_hold;

typedef struct fr_read {
    void *link; /* the slabs' */
    fr_stage *stage;
    fr_query *query; /* one reference */
    fr_read_bounds bounds;
    uint64_t op_id;              /* of a read that waits for seals, or for a device */
    fr_read_hold hold;           /* as long as it waits */
    _Atomic uint32_t references; /* the handle, the op, each call that uses it */
    _Atomic uint32_t state;
    ovstage_api_status_t status; /* of the judgement */
    struct fr_opened *device;    /* that the payload is to be on; NULL: the host */
    uintptr_t stream, available; /* the client's, there */
    struct fr_available *turn;   /* of `available`: a reference, or NULL */
    uint64_t turn_serial;        /* of it, when the read was last judged */
    bool told;                   /* `available` was recorded, or could not be */
    struct fr_fence *ready; /* without an event: what the rows wait for; a reference, or NULL */
    /* While it is judged, which may take several steps: its parts are pinned; it has to wait, in
     * its op, or without one, in its call, until it has one; for a stream or room, a reference of
     * what its rows wait for, or NULL; for its rows, which come home. */
    bool is_pinned, waits;
    fr_graph *graph;
    fr_op *op;
    fr_stream_wait wait;
    struct fr_fence *pending;
    fr_fence_wait home;
    uint32_t name_count;
    fr_read_name few[FR_READ_INLINE_NAMES];
    fr_read_name *names; /* few, or a block */
    fr_mutex lock;
    uint32_t taken;
    fr_read_result result;
} fr_read;

typedef struct fr_group {
    void *link; /* the slabs' */
    fr_stage *stage;
    fr_query *query; /* one reference */
    fr_read_part part;
    int64_t rows; /* the tensor's shape */
    DLTensor tensor;
} fr_group;

/* Reads. make: with the references of the caller and the given query's; NULL without memory. */
fr_read *fr_read_make(fr_stage *stage, fr_query *query, const fr_read_bounds *bounds,
                      uint32_t name_count);
/* read_device.c. place: where the payload is to be; not OK: the last error is set. to_device: of
 * parts that are pinned, before anybody sees them, again when it had to wait; not OK: the text of
 * the result says why. */
ovstage_api_status_t fr_read_place(fr_read *read, const ovstage_placement_t *placement);
ovstage_api_status_t fr_read_to_device(fr_read *read);
/* What it selects at a moment is kept in between. */
void fr_read_keep(const fr_read *read, fr_read_hold *hold, uint64_t moment);
void fr_read_let_go(const fr_read *read, fr_read_hold *hold);
void fr_read_ref(void *read);
void fr_read_unref(void *read); /* the last one releases the parts that nobody fetched */
/* Finds attributes that were not known before. */
void fr_read_resolve(fr_read *read);
/* Pins by the newest executed floors, brings rows to where they are wanted, and publishes the
 * outcome. False: it waits, and is called again by its op, which is parked, or, in the read's call,
 * by the op that it gets. op: whose run this is, NULL: the call. */
bool fr_read_judge(fr_read *read, fr_graph *graph, fr_op *op);
/* Undoes a judgement that nobody has seen yet, or the steps towards one. */
void fr_read_unjudge(fr_read *read);
/* Publishes a failure instead. */
void fr_read_fail(fr_read *read, ovstage_api_status_t status, const char *text);
void fr_read_dispose(void *read, const fr_allocator *allocator); /* for fr_slabs_close */

/* Lets go of what a part holds. */
void fr_read_release_part(fr_stage *stage, fr_read_part *part);

/* Turns the read's next part into a group: END_OF_ITERATION, OUT_OF_MEMORY (it can be fetched
 * again). */
ovstage_api_status_t fr_group_next(fr_read *read, ovstage_read_group_t *out);
/* What release_group does with the group behind a live handle. */
void fr_group_release(void *group);

#endif
