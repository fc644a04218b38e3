/* The calls by which flyrail writes beyond the interface: rows of a query by their numbers, and
 * modes that demand that what is written is there. */
#include "runtime/write/write_op.h"

#define FR_WRITE_MODES (FLYRAIL_WRITE_KEYS_EXIST + 1)

_Static_assert((int)FLYRAIL_WRITE_UPSERT == (int)OVSTAGE_PRIM_MODE_UPSERT &&
                   (int)FLYRAIL_WRITE_INSERT == (int)OVSTAGE_PRIM_MODE_INSERT &&
                   (int)FLYRAIL_WRITE_PRIMS_EXIST == FR_WRITE_PRIM_MODES,
               "they go on from the interface's");

ovstage_enqueue_result_t flyrail_write_attributes(ovstage_instance_t *instance,
                                                  ovstage_query_handle_t query,
                                                  const ovstage_attribute_write_t *writes,
                                                  size_t count, ovstage_ordinal_t ordinal,
                                                  flyrail_write_mode_t mode)
{
    const fr_write_request request = {.query = query,
                                      .writes = writes,
                                      .count = count,
                                      .ordinal = ordinal,
                                      .mode = (int)mode,
                                      .mode_count = FR_WRITE_MODES};
    return fr_write_enter(fr_stage_of(instance), &request);
}

ovstage_enqueue_result_t flyrail_write_rows(ovstage_instance_t *instance,
                                            ovstage_query_handle_t query,
                                            ovx_string_or_token_t attribute,
                                            ovstage_ordinal_t ordinal, const uint32_t *rows,
                                            size_t row_count, ovstage_write_data_t data,
                                            flyrail_write_mode_t mode)
{
    const ovstage_attribute_write_t write = {attribute, data};
    const fr_write_request request = {.query = query,
                                      .writes = &write,
                                      .count = 1,
                                      .some = true,
                                      .rows = rows,
                                      .row_count = row_count,
                                      .ordinal = ordinal,
                                      .mode = (int)mode,
                                      .mode_count = FR_WRITE_MODES};
    return fr_write_enter(fr_stage_of(instance), &request);
}
