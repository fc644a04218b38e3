/* What a write is about to do: its targets, and the scratch memory in which their elements and
 * places lie.
 *
 * Threads: made, entered and ended by who runs the op; its chunks by any. */
#ifndef FR_RUNTIME_STORE_PLAN_H
#define FR_RUNTIME_STORE_PLAN_H

#include "runtime/store/array_write.h"
#include "runtime/store/bind.h"
#include "runtime/store/kept.h"

#define FR_PLAN_LOCAL_ELEMENTS 4u

typedef struct fr_plan {
    fr_store *store;
    const fr_row_source *source;
    const fr_query *query;
    uint64_t ordinal, op_id;
    fr_target *targets;
    uint32_t target_count, target_capacity, targets_in_table;
    bool one_row;             /* see fr_plan_one_row */
    bool prims_entered;       /* as fr_write's */
    bool late;                /* see late.h */
    struct fr_opened *device; /* that the rows lie on; NULL: the host */
    fr_column *claimed;       /* whose place it decides when it is applied; or NULL */
    fr_kept kept;
    fr_target local_target;
    const fr_binding *binding; /* kept as long as a target refers to its rows */
    fr_array_write *array;     /* NULL: rows of a fixed size */
    uint32_t *scratch;         /* elements and places of all targets */
    uint32_t
        *scratch_next; /* of a bound query: elements from here on, places scratch_half behind */
    size_t scratch_half, scratch_bytes;
    uint32_t local_scratch[2 * FR_PLAN_LOCAL_ELEMENTS];
} fr_plan;

/* The target of the column and segment (NULL: unplaced rows) that there is, or a new one. NULL
 * without memory. Pointers to others are of no use after it. */
fr_target *fr_plan_target(fr_plan *plan, fr_column *column, fr_segment *segment);
/* A new one, where it is certain that there is none. */
fr_target *fr_plan_target_add(fr_plan *plan, fr_column *column, fr_segment *segment);
void fr_plan_targets_release(fr_plan *plan);

/* plan_elements.c: all targets, and the elements of each. The text is set for all failures but
 * OUT_OF_MEMORY. */
ovstage_api_status_t fr_plan_find_targets(fr_plan *plan, const fr_write *write, fr_column *column,
                                          fr_write_plan *out);
/* plan_place.c: of a write whose rows go to a device, before memory is taken: whether they may, and
 * what is written in place. NOT_SUPPORTED with the text set. */
ovstage_api_status_t fr_plan_check_device(fr_plan *plan, const fr_column *column,
                                          fr_write_plan *out);
ovstage_api_status_t fr_plan_refuse(fr_write_plan *out, ovstage_api_status_t status,
                                    const char *text);

#endif
