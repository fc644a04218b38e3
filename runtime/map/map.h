/* Map sessions: memory that a client fills in place, and that becomes the payload of a write.
 *
 * Owns the sessions, their ops and the acceptance of their commits. May call: `write` (checks of
 * what is mapped, the op that a commit is), `store` (buffers, judgements), `query`, `floor`, `api`
 * and `scheduler`. Called by: `api` for the entry points, and `write` (access.c), which keeps the
 * sessions' memory.
 *
 * map_attribute is an op at its ordinal: it judges what a write would be judged by, and makes the
 * buffer, zeroed. From then on the session is nobody's concern but its client's: no lane, seal or
 * other session knows of it (L2). A commit is an ordinary write at the session's ordinal, accepted
 * and judged when it is submitted, whose rows are the buffer; where they make up a whole version,
 * it becomes the payload without a copy. Rows of arrays are slices of one payload, however they are
 * committed: no element is copied where the column lies with the buffer.
 *
 * On a device (map_device.c) the buffer is cleared there, and a fetch waits for that on the host:
 * the client's streams know nothing of ours. What the client has put into its streams by the commit
 * is captured in the call of that, as a write's producer is, and counts as the last write of the
 * buffer from then on, whatever becomes of the commit: so its memory is nobody else's before. When
 * the device has failed for good, unmap_attribute ends the session all the same, and its op fails
 * if something was fetched.
 *
 * Threads: every function from any thread. Which of several fetches, commits and ends comes first
 * is decided under the admission lock.
 * Invariants: a buffer belongs to its session until a commit was accepted, then to that write. A
 * session that has ended has no handle. The handle goes with the acceptance of what ends the
 * session, or with the refusal of a commit that a seal has overtaken.
 * Progress: a fetch waits for the session's op only.
 * Memory: type-stable slabs (write/access.h); a buffer counts as pending bytes from the acceptance
 * of its map until its commit has run or its session is gone.
 *
 * Word `state`: FR_MAP_PENDING until the op has run or was dropped, then FR_MAP_KNOWN. */
#ifndef FR_RUNTIME_MAP_MAP_H
#define FR_RUNTIME_MAP_MAP_H

#include "runtime/api/placement.h"

enum { FR_MAP_PENDING = 0, FR_MAP_KNOWN = 1 };

/* Of the session's one group. */
typedef enum fr_map_phase {
    FR_MAP_OPEN,      /* nobody has fetched it, so it will not be committed */
    FR_MAP_FETCHED,   /* its memory is the client's to write */
    FR_MAP_COMMITTED, /* its memory is a write's */
} fr_map_phase;

typedef struct fr_map {
    void *link; /* the slabs' */
    fr_stage *stage;
    fr_query *query; /* one reference */
    fr_attribute *attribute;
    uint64_t ordinal;
    uint64_t op_id;     /* set when accepted */
    uint64_t client_id; /* by what clients know the op: its report's, else op_id; set before the
                           handle is known */
    _Atomic uint32_t references; /* the handle, its ops, each call that uses it */
    _Atomic uint32_t state;
    bool inserts;
    bool meets_query;       /* submitted before its query was ready */
    uint32_t element_count; /* the sizes of an array that were given */
    /* What is wrong with what is mapped, if the query turns out to have prims; said in `text`. */
    ovstage_api_status_t doom;
    bool finds_schema; /* the client has named none: the op finds it at the keys */
    bool any_role;     /* it has named no role */
    bool judge;        /* keys may have other schemas than the attribute's first (admission) */
    fr_schema schema;  /* from submission on it says whether rows are arrays */
    uint64_t expected_bytes; /* when submitted */
    /* The device that the buffer is to lie on, NULL: the host; and, of the client's placement,
     * where the device's work goes, and the event that commits record. */
    struct fr_opened *device;
    uintptr_t stream, available;
    uint64_t payload_bytes; /* of the buffer, set by the op */
    /* Admission. */
    fr_map_phase phase;
    bool live;              /* from acceptance until the session ends */
    uint64_t counted_bytes; /* in stage->accepted_payload_bytes, and the session's to take out */
    /* NULL: none yet, or a commit's. Of an array the slices, which are there from submission on. */
    struct fr_buffer *buffer;
    /* Written before `state` says so, and by nobody afterwards. */
    ovstage_api_status_t status;
    char text[256];
    struct fr_placed *placed; /* what `buffer`, or the payload of its slices, is on the device, as
                                 long as it is ours; NULL: nothing */
    struct fr_fence *ready;   /* behind its clearing there: a reference, or NULL */
    const DLTensor *tensors;  /* one of all rows; of an array one a row */
    struct fr_buffer *tensors_buffer; /* where those of an array lie */
    int64_t rows;                     /* the one tensor's shape */
    DLTensor tensor;
} fr_map;

/* Entry points. */
ovstage_enqueue_result_t fr_map_attribute(fr_stage *stage, ovstage_query_handle_t query,
                                          const ovstage_map_desc_t *desc, ovstage_ordinal_t ordinal,
                                          const size_t *element_sizes, size_t element_count,
                                          ovstage_map_handle_t *out);
/* placement: NULL: none. */
ovstage_enqueue_result_t fr_map_attribute_placed(fr_stage *stage, ovstage_query_handle_t query,
                                                 const ovstage_map_desc_t *desc,
                                                 ovstage_ordinal_t ordinal,
                                                 const size_t *element_sizes, size_t element_count,
                                                 const ovstage_placement_t *placement,
                                                 ovstage_map_handle_t *out);
ovstage_api_status_t fr_map_fetch_next(fr_stage *stage, ovstage_map_handle_t map,
                                       ovstage_timeout_ns_t timeout, ovstage_map_group_t *out);
ovstage_enqueue_result_t fr_map_unmap_group(fr_stage *stage, ovstage_map_handle_t map,
                                            const ovstage_map_group_t *group,
                                            ovstage_cuda_sync_t sync);
ovstage_enqueue_result_t fr_map_unmap(fr_stage *stage, ovstage_map_handle_t map,
                                      ovstage_cuda_sync_t sync);

void fr_map_ref(void *map);
void fr_map_unref(void *map); /* the last one gives the buffer back */
bool fr_map_is_known(const fr_map *map);

/* map_op.c. What can be said already is said when it is submitted; the rest by the op. */
extern const fr_op_type fr_map_op_type;
typedef struct fr_map_op {
    fr_map *map;          /* one reference */
    struct fr_op *report; /* on a device: of the map; complete when the buffer is cleared */
} fr_map_op;
ovstage_api_status_t fr_map_judge_submitted(fr_map *map);
/* map_device.c. place: in the call; not OK: the text is set. make: the buffer, which is cleared
 * when map->ready is over; NULL: the fault says why. */
ovstage_api_status_t fr_map_place(fr_map *map, const ovstage_placement_t *placement);
struct fr_buffer *fr_map_make_placed(fr_map *map, uint64_t size_bytes, fr_device_fault *fault);
/* Admission. The keys may have more than one schema. */
bool fr_map_is_open(const fr_map *map);
/* Once accepted: whether its op looks at what others leave behind. */
static inline bool fr_map_is_judged(const fr_map *map)
{
    return map->inserts || map->judge || map->finds_schema;
}

#endif
