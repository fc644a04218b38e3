/* What a clone has while it runs.
 *
 * Threads: made by who runs the op; while its chunks run nothing changes but the job; the last of
 * them commits and gives back what it can; the record itself goes when nobody can hold the job any
 * more. Type-stable (slabs), as fr_job_help wants it. */
#ifndef FR_RUNTIME_CLONE_CLONE_WORK_H
#define FR_RUNTIME_CLONE_CLONE_WORK_H

#include "runtime/clone/clone.h"
#include "runtime/device/park.h"
#include "runtime/store/current.h"
#include "runtime/store/row_set.h"
#include "scheduler/job.h"

/* Paths of the source's subtree that the copies need: its prims, what values in it refer to, and
 * all that lies between those and the source. Each comes after its parent; the source is the first.
 */
typedef struct fr_clone_paths {
    fr_row_set known;  /* row: a path's number; place: its place here */
    uint32_t *parents; /* places, of all but the first */
    uint32_t parent_capacity;
    uint32_t *copies; /* target by target, a path number for each place */
    size_t copies_bytes;
} fr_clone_paths;

/* One column of the copies. */
typedef struct fr_clone_column {
    const fr_current_column *from;
    fr_row_source rows;
    fr_buffer *slices, *elements; /* of an array in which paths were redirected; else NULL */
    uint64_t *mask;               /* NULL: all prims have it */
    fr_write_plan plan;
    uint64_t first_chunk;
} fr_clone_column;

struct fr_clone_work {
    void *link; /* the slabs' */
    fr_job job;
    fr_stage *stage;
    fr_op *op;
    fr_clone_op *clone;
    uint64_t ordinal, op_id;
    uint32_t *prims; /* the source's, in path order */
    uint32_t prim_count, prim_capacity;
    fr_clone_paths paths;
    fr_current current;
    bool has_current, is_found;
    /* Of columns on devices: so many columns have their rows, or need none there; an op that finds
     * no stream waits for one. */
    uint32_t gathered_count;
    bool is_parked;
    fr_stream_wait wait;
    fr_fence *pending; /* a reference: what its rows wait for; or NULL */
    fr_graph *graph;
    /* Of the copies, target by target. */
    uint32_t copy_count;
    uint32_t *copies;
    ovx_primpath_t *copy_paths;
    uint32_t *index_map; /* which of the source's prims each is of */
    fr_query query;      /* over copy_paths */
    bool fresh;          /* nothing was ever written to any of these prims */
    bool prims_reserved;
    fr_clone_column *columns;
    uint32_t column_count;   /* of which the mask and the rows are made */
    uint32_t reserved_count; /* of which the plan is reserved */
    uint64_t chunk_count;
};

/* NULL without memory. */
fr_clone_work *fr_clone_work_get(fr_op *op);
/* What it has beside itself. */
void fr_clone_work_clear(fr_clone_work *work);
void fr_clone_work_put(fr_clone_work *work);

/* The op fails, and they answer false. --------------------------------------------------------- */
bool fr_clone_no_memory(fr_clone_work *work);
/* clone_paths.c: the prims of the subtree; paths that are needed besides; the paths of all copies,
 * when all are known. */
bool fr_clone_find_source(fr_clone_work *work);
/* *place: of a path at or below the source. */
bool fr_clone_need_path(fr_clone_work *work, uint32_t path, uint32_t *place);
bool fr_clone_is_inside(const fr_clone_work *work, ovx_primpath_t path);
bool fr_clone_make_paths(fr_clone_work *work);
/* clone_values.c: what the paths in values need; the columns, when all paths are there. */
bool fr_clone_find_references(fr_clone_work *work);
bool fr_clone_make_columns(fr_clone_work *work);
/* clone_place.c: rows of columns on devices, together there; false also for an op that is parked.
 * One such column into its plan, which is to be cancelled if it is reserved and they fail. */
bool fr_clone_gather(fr_clone_work *work);
bool fr_clone_place_column(fr_clone_work *work, fr_write *what, fr_clone_column *column,
                           bool *reserved);

static inline uint32_t fr_clone_copy_of(const fr_clone_work *work, uint32_t target, uint32_t place)
{
    return work->paths.copies[(size_t)target * work->paths.known.count + place];
}

#endif
