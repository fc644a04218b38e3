/* Write floors: what is sealed.
 *
 * Accepted floors are raised when an advance is accepted (guarded by the graph's admission lock)
 * and judge submissions (D2). Executed floors are what readers go by: one immutable floor record
 * per instance, published by one store when an advance runs. All columns at once.
 *
 * The effective floor of an attribute = max(base, its own) (D1). */
#ifndef FR_RUNTIME_FLOOR_FLOOR_H
#define FR_RUNTIME_FLOOR_FLOOR_H

#include <ovstage/ovstage_api/ovstage_api_types.h>

#include "scheduler/memory.h"
#include "scheduler/os.h"

/* One executed state. Immutable once published; replaced records live until destroy or until no
 * reader can hold them (the module says how). */
typedef struct fr_floor_record {
    uint64_t base;
    uint64_t serial;    /* goes up by one with each published record */
    uint64_t least_own; /* the least of own[].floor; UINT64_MAX without any */
    uint32_t count;     /* attributes whose own floor is above base, ascending by index */
    struct fr_floor_own {
        uint32_t attribute_index;
        uint64_t floor;
    } own[];
} fr_floor_record;

/* Effective executed floor. */
uint64_t fr_floor_effective(const fr_floor_record *record, uint32_t attribute_index);

#endif
