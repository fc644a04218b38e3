/* All prims that there ever were, in path order, for filters: which ones begin with a text is found
 * by halving, and what is found comes in the order that queries have (D6).
 *
 * Writers do not know of it: the store keeps the order in which prims were made, and a query that
 * finds new ones sorts them and adds them as a run. A run is a sorted array that does not change;
 * it is joined with the one before it as long as that is less than twice as long, so there are few,
 * and each prim is moved a few times in all. Prims that are gone stay: who finds one judges it.
 *
 * Threads: any; the lock is taken by queries only, to look at the list of runs. Who comes second
 * with the same news throws his away.
 * Invariants: a view has each prim once that the store had counted when it was taken.
 * Progress: the first query after many prims were made pays for sorting them. Memory: 4 bytes a
 * prim, and as much again while runs are joined. */
#ifndef FR_RUNTIME_QUERY_PATH_INDEX_H
#define FR_RUNTIME_QUERY_PATH_INDEX_H

#include <ovx/string_types.h>

#include "scheduler/os.h"

typedef struct fr_stage fr_stage;

/* Each is at least half of the one before it, so 2^32 prims are in fewer. */
#define FR_PATH_RUNS 34u

typedef struct fr_path_run {
    _Atomic uint32_t references; /* the index, and each view */
    size_t count;
    uint32_t prims[];
} fr_path_run;

typedef struct fr_path_runs {
    uint32_t count;
    fr_path_run *runs[FR_PATH_RUNS];
} fr_path_runs;

typedef struct fr_path_index {
    fr_mutex lock;
    uint64_t seen; /* prims of the store's order that are in the runs */
    fr_path_runs runs;
    _Atomic uint64_t bytes; /* of all runs, those that only views hold included */
} fr_path_index;

/* A part of each run. */
typedef struct fr_path_view {
    fr_path_runs runs;
    size_t first[FR_PATH_RUNS], end[FR_PATH_RUNS];
} fr_path_view;

void fr_path_index_destroy(fr_stage *stage); /* nobody has a view */
/* All of it. False without memory. */
bool fr_path_view_take(fr_stage *stage, fr_path_view *out);
void fr_path_view_release(fr_stage *stage, fr_path_view *view);
/* Of a whole view only what begins with the text, byte for byte. */
void fr_path_view_narrow(const fr_stage *stage, fr_path_view *view, ovx_string_t prefix);
size_t fr_path_view_count(const fr_path_view *view);
/* Takes the next prim out of it, in path order; 0: there is none. */
uint32_t fr_path_view_next(const fr_stage *stage, fr_path_view *view);

#endif
