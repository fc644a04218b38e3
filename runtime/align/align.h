/* Alignment of read groups (R185): the rows that several attributes have in common, in one order.
 *
 * A pure function over groups: it knows no instance, so it takes memory from the C library's heap,
 * as one block that starts with a header. Calls nothing but the scheduler's memory and the error
 * text. */
#ifndef FR_RUNTIME_ALIGN_ALIGN_H
#define FR_RUNTIME_ALIGN_ALIGN_H

#include <ovstage/ovalign.h>

/* Where a group's prim i stands in the list. */
static inline uint32_t fr_align_position(const ovstage_read_group_t *group, uint32_t i)
{
    return group->prims.index_map ? group->prims.index_map[i] : group->prims.offset + i;
}

/* Of a fixed group: the row of prim i; of an array group: the tensor of prim i. */
static inline uint32_t fr_align_row(const ovstage_read_group_t *group, uint32_t i)
{
    return group->data.index_map ? group->data.index_map[i] : i;
}

static inline uint32_t fr_align_element_bytes(DLDataType type)
{
    return (uint32_t)type.bits * type.lanes / 8;
}

/* A zeroed block for a result: what follows the header. NULL without memory. Given back with
 * fr_align_block_free(what it returned). */
void *fr_align_block_make(size_t size_bytes);
void fr_align_block_free(void *block); /* NULL is fine */

/* align_rows.c: groups checked before. Fills *out; not OK: the text is set, *out is as it was. */
ovstage_api_status_t fr_align_gather(const ovalign_request_t *request, ovalign_result_t *out);

#endif
