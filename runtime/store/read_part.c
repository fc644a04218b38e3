/* The rows of a part of a read, wherever they are wanted: those of fixed size, and of arrays the
 * elements. */
#include <string.h>

#include "runtime/store/array_place.h"
#include "runtime/store/array_read.h"
#include "runtime/store/gathered.h"
#include "runtime/store/snapshot.h"
#include "runtime/store/store_state.h"

/* False without memory. */
static bool fr_read_part_gather(fr_read_part *part)
{
    fr_snapshot *snapshot = part->state;
    if (part->data)
        return true;
    if (!fr_snapshot_gather(snapshot))
        return false;
    if (!part->schema.is_array) /* gathered slices are good as long as the versions are pinned */
        fr_gathered_keep(snapshot);
    part->data = snapshot->gathered->data;
    return true;
}

ovstage_api_status_t fr_store_read_materialize(fr_store *store, fr_query *query, fr_read_part *part)
{
    (void)query;
    bool is_array = part->schema.is_array;
    if (part->is_delete || (!is_array && (part->placed || part->staged)))
        return OVSTAGE_OK;
    bool enough = fr_read_part_gather(part) &&
                  (!is_array || part->tensors || fr_array_read_tensors(store->buffers, part));
    return enough ? OVSTAGE_OK : OVSTAGE_ERROR_OUT_OF_MEMORY;
}

ovstage_api_status_t fr_store_read_slices(fr_read_part *part)
{
    if (!fr_read_part_gather(part))
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    part->data_bytes = fr_array_bytes(part->data, part->count, part->schema.row_bytes);
    return OVSTAGE_OK;
}

bool fr_store_read_gather_placed(const fr_read_part *part, struct fr_device_run *run,
                                 struct fr_placed *to, struct fr_device_fault *fault)
{
    return part->schema.is_array ? fr_array_gather(part->data, part->count, part->schema.row_bytes,
                                                   to->address, run, fault)
                                 : fr_snapshot_gather_placed(part->state, run, to, fault);
}

void fr_store_read_pack(const fr_read_part *part, unsigned char *to)
{
    if (part->schema.is_array)
        fr_array_pack(part->data, part->count, part->schema.row_bytes, to);
    else
        memcpy(to, part->data, part->data_bytes);
}

struct fr_fence *fr_store_read_stalled_by(const fr_read_part *part)
{
    if (part->schema.is_array)
        return fr_array_stalled_by(part->data, part->count);
    return part->placed ? fr_placed_stalled_by(part->placed) : fr_snapshot_stalled_by(part->state);
}

bool fr_store_read_wait(const fr_read_part *part, struct fr_device_run *run,
                        struct fr_device_fault *fault)
{
    return part->schema.is_array
               ? fr_array_wait_to_read(part->data, part->count, run, fault)
               : fr_wait_to_read(run->opened, run->stream, run->own, part->placed, fault);
}

int32_t fr_store_read_lost(const fr_read_part *part)
{
    if (part->schema.is_array)
        return fr_array_lost(part->data, part->count);
    return part->placed ? fr_placed_lost(part->placed) : 0;
}
