/* The stage as the rows use it: shorter names, and no way back from an error. */
#ifndef BENCH_STAGE_H
#define BENCH_STAGE_H

#include <flyrail/flyrail.h>
#include <ovx/path_dictionary/path_dictionary.h>

#include "bench/bench.h"

typedef struct bench_stage {
    ovstage_instance_t *instance;
    path_dictionary_instance_t *dictionary;
    ovstage_ordinal_t ordinal; /* the newest that was used */
} bench_stage;

/* With a pool of its own, gone with it. caller_runs as in flyrail_config_t. */
void stage_open(bench_stage *self, uint32_t worker_count, bool caller_runs);
/* As above, with each worker on a CPU of its own; waits run nothing. */
void stage_open_pinned(bench_stage *self, uint32_t worker_count);
void stage_close(bench_stage *self);

/* ---- names ---- */
ovx_token_t stage_token(bench_stage *self, const char *name);
/* PREFIX and a number, from `first` on. The caller frees the handles with bench_free. */
ovx_primpath_t *stage_paths(bench_stage *self, const char *prefix, uint32_t first, uint32_t count);
/* A query over those paths, its list let go of already. */
ovstage_query_handle_t stage_query(bench_stage *self, const ovx_primpath_t *paths, size_t count);
void stage_release_query(bench_stage *self, ovstage_query_handle_t query);

/* ---- payloads ---- */
typedef struct bench_payload {
    int64_t shape[1];
    DLTensor tensor;
    ovstage_write_data_t data;
} bench_payload;

static const DLDataType stage_float1 = {kDLFloat, 32, 1};
static const DLDataType stage_float3 = {kDLFloat, 32, 3};
static const DLDataType stage_double16 = {kDLFloat, 64, 16};

/* Points into itself: not to be moved afterwards. */
void payload_set(bench_payload *self, void *rows, size_t row_count, DLDataType type);

/* Managed tensors to be taken over: of a fixed number, so that what is measured is not the client's
 * own taking and giving of memory. Zeroed: all are free. */
enum { MANAGED_TENSORS = 16 };
typedef struct managed_tensor {
    struct DLManagedTensorVersioned tensor;
    int64_t shape[1];
    _Atomic bool in_use;
} managed_tensor;
typedef struct managed_tensors {
    managed_tensor tensors[MANAGED_TENSORS];
} managed_tensors;

/* One that nobody has, over those rows, to which nobody writes. Its deleter makes it free again. */
const struct DLManagedTensorVersioned *managed_take(managed_tensors *self, void *rows,
                                                    size_t row_count, DLDataType type);

/* ---- submitting: each gives the op's id ---- */
ovstage_op_id_t stage_take(ovstage_enqueue_result_t result, const char *what);

static inline ovstage_op_id_t stage_write(bench_stage *self, ovstage_query_handle_t query,
                                          ovx_token_t attribute, ovstage_ordinal_t ordinal,
                                          const bench_payload *rows)
{
    ovx_string_or_token_t name = {.token = attribute};
    return stage_take(ovstage_write_attribute(self->instance, query, name, ordinal, rows->data,
                                              OVSTAGE_PRIM_MODE_UPSERT),
                      "write_attribute");
}

static inline ovstage_op_id_t stage_seal(bench_stage *self, ovstage_ordinal_t ordinal)
{
    const ovstage_write_floor_desc_t floor = {.ordinal = ordinal, .scope = OVSTAGE_SCOPE_ALL};
    return stage_take(ovstage_advance_write_floor(self->instance, &floor), "advance_write_floor");
}

static inline ovstage_op_id_t stage_task(bench_stage *self, flyrail_task_fn fn, void *user)
{
    const flyrail_task_desc_t task = {.struct_size = sizeof(task), .fn = fn, .user = user};
    return stage_take(flyrail_submit_task(self->instance, &task), "submit_task");
}

/* Waits; an op that failed ends the program. */
void stage_wait(bench_stage *self, ovstage_op_id_t op);
void stage_release(bench_stage *self, ovstage_op_id_t op);
/* Both. */
void stage_finish(bench_stage *self, ovstage_op_id_t op);
void stage_wait_all(bench_stage *self, const ovstage_op_id_t *ops, size_t count);
void stage_release_all(bench_stage *self, const ovstage_op_id_t *ops, size_t count);
/* A write and its seal at the next ordinal, both waited for. */
void stage_publish(bench_stage *self, ovstage_query_handle_t query, ovx_token_t attribute,
                   const bench_payload *rows);
/* The newest values at or below the ordinal, one group, held. */
ovstage_read_group_t stage_hold(bench_stage *self, ovstage_query_handle_t query,
                                ovx_token_t attribute, ovstage_ordinal_t ordinal);
/* Of what changed in a range that one group's worth changed in. */
ovstage_read_group_t stage_hold_range(bench_stage *self, ovstage_query_handle_t query,
                                      ovx_token_t attribute, ovstage_ordinal_range_t range);
void stage_let_go(bench_stage *self, const ovstage_read_group_t *group);

flyrail_statistics_t stage_statistics(bench_stage *self);

#endif
