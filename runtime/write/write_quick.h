/* The short way of the most frequent write: one attribute that is known, one tensor that is
 * compact, for all prims of the query.
 *
 * What it cannot decide at a glance it leaves alone: then nothing has changed, and the call takes
 * the long way of write.c, which also knows the texts of refusals. */
#ifndef FR_RUNTIME_WRITE_WRITE_QUICK_H
#define FR_RUNTIME_WRITE_WRITE_QUICK_H

#include "runtime/api/stage.h"

/* False: not accepted, nothing changed. */
bool fr_write_quick(fr_stage *stage, ovstage_query_handle_t query, ovx_token_t token,
                    const ovstage_write_data_t *data, ovstage_ordinal_t ordinal,
                    ovstage_op_id_t *out_id);

#endif
