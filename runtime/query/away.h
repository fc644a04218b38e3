/* Values that lie on devices and that a filter looks at: they are brought to the host, and its op
 * parks until they are there.
 *
 * While the filter goes through its candidates, those rows are noted, with the payload in which
 * each is the newest then; the candidate counts as found until its rows are there. Then each device
 * gathers what lies there, behind the writes of it, and copies it into pinned memory; and the
 * values are judged. So the filter goes through its candidates once, whatever is written meanwhile.
 *
 * Threads: who runs the op. Invariants: a payload that is noted is held until its rows are copied,
 * so that nothing else comes to lie there; what overwrites it in place waits for the copy, on the
 * device. An op that is parked holds no thread and no stream. Memory: 32 bytes for each value, and
 * its row, in pinned memory (staging.h), until the filter has run. */
#ifndef FR_RUNTIME_QUERY_AWAY_H
#define FR_RUNTIME_QUERY_AWAY_H

#include "runtime/api/stage.h"
#include "runtime/device/park.h"
#include "runtime/query/value.h"
#include "runtime/store/latest.h"

/* The value by which a candidate, which is all else, has to be judged. */
typedef struct fr_away_value {
    size_t match; /* which one */
    const fr_value_test *test;
    uint32_t source, row; /* of the payload */
    uint32_t place;       /* of its copy: so many rows of the source come before it */
} fr_away_value;

/* Rows of one payload. */
typedef struct fr_away_source {
    fr_buffer *buffer; /* a reference */
    uint32_t row_bytes, count;
    struct fr_staged *staged;
    fr_fence *brought; /* a reference: behind the copy */
} fr_away_source;

typedef struct fr_away {
    fr_stage *stage;
    fr_away_value *values;
    size_t count, capacity;
    fr_away_source *sources;
    uint32_t source_count, source_capacity;
    bool no_memory;
    /* Of the op that waits. */
    fr_stream_wait wait;
    fr_fence *pending; /* a reference: what that waits for; or NULL */
    fr_fence_call over;
    fr_graph *graph;
    fr_op *op;
    bool is_parked;
} fr_away;

/* Takes what latest holds. False without memory. */
bool fr_away_add(fr_away *away, size_t match, const fr_value_test *test, fr_latest *latest);
/* The values from there on are of no candidate. */
void fr_away_cut(fr_away *away, size_t count);
/* By the op's run, again when it was parked: OK: all are there, or *parked. Not OK: text says why.
 */
ovstage_api_status_t fr_away_bring(fr_away *away, fr_op *op, fr_graph *graph, bool *parked,
                                   char *text, size_t text_bytes);
const unsigned char *fr_away_row(const fr_away *away, const fr_away_value *value);
/* It need not be there yet. */
void fr_away_release(fr_away *away);

#endif
