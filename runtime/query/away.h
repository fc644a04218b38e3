/* Values that lie on devices and that a filter looks at: they are brought to the host, and its op
 * parks until they are there.
 *
 * While the filter goes through its candidates, those rows are noted, or the elements that an array
 * has, with the payload in which each is the newest then; the candidate counts as found until they
 * are there. Then each device gathers what lies there, behind the writes of it, and copies it into
 * pinned memory by one call; and the values are judged. So the filter goes through its candidates
 * once, whatever is written meanwhile.
 *
 * Threads: who runs the op. Invariants: a payload that is noted is held until its rows are copied,
 * so that nothing else comes to lie there; what overwrites it in place waits for the copy, on the
 * device. An op that is parked holds no thread and no stream. Memory: 48 bytes for each value, and
 * its elements, in pinned memory (staging.h), until the filter has run. */
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
    uint32_t source;
    bool is_put;         /* a place is given to it: */
    uint64_t at_bytes;   /* in what its device brings */
    uint64_t from_bytes; /* in its payload */
    uint64_t count;      /* elements; 1 when it is no array */
} fr_away_value;

/* A payload of which some are. */
typedef struct fr_away_source {
    fr_buffer *buffer; /* a reference */
    uint32_t count;    /* of values */
    uint32_t haul;
} fr_away_source;

/* What one device brings. */
typedef struct fr_away_haul {
    fr_opened *opened;
    struct fr_staged *staged; /* NULL: nothing yet */
    fr_fence *brought;        /* a reference: behind the copy */
} fr_away_haul;

typedef struct fr_away {
    fr_stage *stage;
    fr_away_value *values;
    size_t count, capacity;
    fr_away_source *sources;
    size_t source_count, source_capacity;
    fr_away_haul *hauls;
    size_t haul_count, haul_capacity;
    bool no_memory;
    /* Of the op that waits. */
    fr_stream_wait wait;
    fr_fence *pending; /* a reference: what that waits for; or NULL */
    fr_fence_wait over;
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
const unsigned char *fr_away_elements(const fr_away *away, const fr_away_value *value);
/* It need not be there yet. */
void fr_away_release(fr_away *away);

#endif
