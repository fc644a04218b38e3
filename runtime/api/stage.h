/* fr_stage: one instance's state, the meeting point of graph, store, floors, dictionary and
 * handles.
 *
 * ovstage_context_t is this structure. Each entry point begins with fr_stage_enter, which refuses
 * NULL, forked children and calls from a deleter during destroy. */
#ifndef FR_RUNTIME_API_STAGE_H
#define FR_RUNTIME_API_STAGE_H

#include <flyrail/flyrail.h>
#include <ovstage/ovstage_api/experimental/ovstage_placement_extension.h>

#include "runtime/api/error.h"
#include "runtime/floor/floor.h"
#include "runtime/query/parked.h"
#include "runtime/query/path_index.h"
#include "runtime/store/store.h"
#include "runtime/write/slabs.h"
#include "scheduler/graph.h"
#include "scheduler/tally.h"

typedef struct fr_handles fr_handles; /* handles.h */
typedef struct fr_floors fr_floors;   /* floor/floors.h */
typedef struct fr_dictionary fr_dictionary;
typedef struct fr_hierarchy fr_hierarchy; /* hierarchy/compute.h */
typedef struct fr_access fr_access; /* write/access.h: what writes and reads keep; made after the
                                       dictionary and the store, closed before them */

struct fr_stage {
    ovstage_instance_t instance; /* vtable and context, handed to the client; first, so that the
                                       instance is the stage */
    fr_stage *next_live;         /* in the process's list, under its lock */
    bool leaving;                /* somebody is about to take it out; under the same lock */
    uint32_t instance_number;    /* the upper 16 bits of its ids and handles */
    flyrail_config_t config;
    fr_allocator allocator; /* counts calls for the statistics */
    fr_pool *pool;
    bool owns_pool;
    fr_graph *graph;
    fr_store *store;
    fr_floors *floors;
    fr_dictionary *dictionary;
    fr_handles *handles;
    fr_access *access;
    fr_hierarchy *hierarchy;
    _Atomic(struct fr_devices *) devices; /* placement.h; NULL: no call has needed one */
    /* Payload bytes of writes (D25): what was accepted, changed under admission only; and of these,
     * what has run. */
    FR_ALIGNED_LINE _Atomic uint64_t accepted_payload_bytes;
    uint64_t room_ops, room_accepted_bytes; /* write_quick.c (admission) */
    fr_tally finished_payload_bytes;
    FR_ALIGNED_LINE _Atomic uint64_t allocation_count;
    _Atomic uint64_t queue_full_count;
    bool prims_deleted;               /* a delete of whole prims was accepted (admission) */
    bool deletes_accepted;            /* any delete was (admission) */
    _Atomic uint64_t deletes_pending; /* of those: not done yet */
    uint64_t hierarchy_model;         /* what RUNTIME_DEFAULT stands for (R7) */
    fr_slabs queries;                 /* fr_query */
    fr_parked parked_queries;
    fr_path_index path_index;
    fr_slabs ordinal_answers;           /* floor/floor_query.c */
    fr_slabs parallel_jobs;             /* ops/parallel.c */
    _Atomic uint32_t parallel_jobs_out; /* whose invitation the pool still holds */
    struct fr_trace *trace;             /* log/trace.h; NULL until tracing was started once */
    fr_mutex trace_lock;                /* guards `trace` */
};

/* What a handle stands for. */
typedef enum fr_handle_kind {
    FR_HANDLE_QUERY = 1,
    FR_HANDLE_READ,
    FR_HANDLE_MAP,
    FR_HANDLE_ORDINAL_QUERY,
    FR_HANDLE_GROUP,
    FR_HANDLE_QUERY_RESULT,
    FR_HANDLE_HIERARCHY,
    FR_HANDLE_HIERARCHY_RESULT,
    FR_HANDLE_SNAPSHOT, /* for an ordinal */
    FR_HANDLE_EVENT,
    FR_HANDLE_KINDS,
} fr_handle_kind;

/* The stage behind what a flat function was given; not looked at, so that fr_stage_enter may refuse
 * it. */
static inline fr_stage *fr_stage_of(ovstage_instance_t *instance)
{
    return (fr_stage *)(void *)instance;
}

/* OK, or INVALID_ARGUMENT (NULL, not alive) or NOT_SUPPORTED (a forked child) with the text set.
 * Reads nothing of a stage that is not alive. */
ovstage_api_status_t fr_stage_enter(fr_stage *stage);

/* Handles: never re-used, carry the instance number and a kind; stale, foreign and wrong-kind ones
 * are refused (R15, D7). create: 0 without memory; whoever guesses the handle can release the
 * object from then on, so nothing may be done with it afterwards. reserve: one that is not live, 0
 * without memory. settle: with OK it stands for the object from now on, as after create, and the
 * answer is true; else for nothing. acquire: the object, protected from a concurrent remove by
 * calling `retain(object)` under the slot's protection; NULL when the handle is not live. remove:
 * the object, exactly once; NULL when not live. */
uint64_t fr_handle_create(fr_stage *stage, fr_handle_kind kind, void *object);
uint64_t fr_handle_reserve(fr_stage *stage, fr_handle_kind kind);
bool fr_handle_settle(fr_stage *stage, uint64_t handle, ovstage_api_status_t status, void *object);
void *fr_handle_acquire(fr_stage *stage, fr_handle_kind kind, uint64_t handle,
                        void (*retain)(void *object));
void *fr_handle_remove(fr_stage *stage, fr_handle_kind kind, uint64_t handle);

/* Sets the text for a handle that is not live and returns INVALID_HANDLE; what: "query", "read",
 * ... */
ovstage_api_status_t fr_handle_refuse(fr_stage *stage, fr_handle_kind kind, uint64_t handle,
                                      const char *what);
/* A release as an op that is complete at birth: takes the handle and accepts the op in one step, so
 * exactly one of several releases is accepted. On OK *out_object is the caller's. */
ovstage_enqueue_result_t fr_handle_release_op(fr_stage *stage, fr_handle_kind kind, uint64_t handle,
                                              const char *what, void **out_object);

/* The query behind a handle with a reference added; NULL with the last error set (INVALID_HANDLE).
 */
fr_query *fr_stage_query_acquire(fr_stage *stage, ovstage_query_handle_t handle);

/* The one way to submit (ops/submit.c): fr_graph_submit, with the limits of D25 looked at before:
 * ops, and payload_bytes beside what is pending already; 0 and never_full: no limit. Without
 * workers a full queue first runs ops of the lowest ordinal. On refusal the record is still the
 * caller's, op_index is 0, and the text is set for QUEUE_FULL and OUT_OF_MEMORY (for other statuses
 * admit or its caller has set it). */
ovstage_enqueue_result_t fr_stage_submit(fr_stage *stage, fr_submission *submission,
                                         uint64_t payload_bytes);
/* The same, for an op whose `admit` names producers, of which nobody knows the number before: with
 * too little room for their ids it sets *needed to their number, or more, and refuses; then it is
 * asked again, with that room. */
ovstage_enqueue_result_t fr_stage_submit_after(fr_stage *stage, const fr_submission *submission,
                                               uint64_t payload_bytes, size_t *needed);
/* An op that is complete at birth. */
ovstage_enqueue_result_t fr_stage_submit_done(
    fr_stage *stage, ovstage_api_status_t (*admit)(fr_submission *, void *), void *user);
/* True when so many more bytes fit; without workers runs ops until they do, if it can. False: the
 * text is set. */
ovstage_api_status_t fr_stage_room(fr_stage *stage, uint64_t payload_bytes);
/* Bytes that count against pending_limit_bytes: unsealed versions and payloads of writes that have
 * not run. */
uint64_t fr_stage_pending_bytes(const fr_stage *stage);
uint64_t fr_stage_payload_bytes(const fr_stage *stage); /* the latter alone */

/* Entry points that other folders implement; api/vtable.c puts them into the table. */
ovstage_enqueue_result_t fr_write_attribute(fr_stage *stage, ovstage_query_handle_t query,
                                            ovx_string_or_token_t attribute,
                                            ovstage_ordinal_t ordinal, ovstage_write_data_t data,
                                            ovstage_prim_mode_t mode);
ovstage_enqueue_result_t fr_write_attributes(fr_stage *stage, ovstage_query_handle_t query,
                                             const ovstage_attribute_write_t *writes, size_t count,
                                             ovstage_ordinal_t ordinal, ovstage_prim_mode_t mode);
ovstage_enqueue_result_t fr_delete_attributes(fr_stage *stage, ovstage_query_handle_t query,
                                              const ovx_string_or_token_t *attributes, size_t count,
                                              ovstage_ordinal_t ordinal);
ovstage_enqueue_result_t fr_read_attributes(fr_stage *stage, ovstage_query_handle_t query,
                                            const ovx_token_t *attributes, size_t count,
                                            ovstage_ordinal_range_t range,
                                            ovstage_read_handle_t *out);
/* With a placement; NULL: none. */
ovstage_enqueue_result_t fr_read_attributes_placed(fr_stage *stage, ovstage_query_handle_t query,
                                                   const ovx_token_t *attributes, size_t count,
                                                   ovstage_ordinal_range_t range,
                                                   const ovstage_placement_t *placement,
                                                   ovstage_read_handle_t *out);
ovstage_api_status_t fr_read_fetch_next(fr_stage *stage, ovstage_read_handle_t read,
                                        ovstage_timeout_ns_t timeout, ovstage_read_group_t *out);
ovstage_api_status_t fr_read_release_group(fr_stage *stage, const ovstage_read_group_t *group);
ovstage_enqueue_result_t fr_read_release(fr_stage *stage, ovstage_read_handle_t read);

/* Floors, for writes and reads (floor/floors.c). The first five under the admission lock. */
uint64_t fr_floors_accepted(const fr_floors *floors, const fr_attribute *attribute);
uint64_t fr_floors_accepted_base(const fr_floors *floors);
/* The attribute is named by an accepted op (D1): call it from `accepted` of a write. */
void fr_floors_know(fr_floors *floors, fr_attribute *attribute);
/* The id of an accepted, still pending advance that brings the attribute's floor to `ordinal` or
 * above: of the lowest one. None if the executed floor is there already, or if no accepted one
 * brings it there (a read above the accepted floor is judged against what has run). Returns how
 * many were put into ids (at most capacity). */
size_t fr_floors_pending_seals(const fr_floors *floors, const fr_attribute *attribute,
                               uint64_t ordinal, uint64_t *ids, size_t capacity);
size_t fr_floors_pending_count(const fr_floors *floors);
/* The executed record; valid until the matching release (or forever, if the module keeps them: then
 * release does nothing). */
const fr_floor_record *fr_floors_record_acquire(fr_floors *floors);
void fr_floors_record_release(fr_floors *floors, const fr_floor_record *record);

/* Attribute argument of a call: token or text -> known-from-now-on attribute and the token it was
 * named by. INVALID_ARGUMENT for an empty name, a NULL text with a length, a token the dictionary
 * does not know; OUT_OF_MEMORY. */
ovstage_api_status_t fr_stage_attribute(fr_stage *stage, ovx_string_or_token_t name, bool enter,
                                        fr_attribute **out_attribute, ovx_token_t *out_token);
/* The name in such an argument, for texts; cut when it is longer. */
typedef struct fr_name_told {
    char text[104];
} fr_name_told;
fr_name_told fr_stage_name_tell(const fr_stage *stage, ovx_string_or_token_t name);

#endif
