/* Filter queries: an op that finds the prims which match, and makes a query of them.
 *
 * A filter is a copy of what the client has passed. Its op depends on what was accepted before it
 * and is pending, as far as that can change what the filter looks at (D23): so what it finds is the
 * newest state by ordinal, unsealed included, that those ops leave. The query is then fixed: its
 * prims in path order (D6).
 *
 * Values are read as the column's type tells (value.h). All predicates must hold; of a predicate's
 * values, one.
 *
 * Threads: made by the submitting thread; what admit fills in is guarded by admission until then,
 * and read by who runs the op and by fetches. Memory: one block beside the query, freed with it; a
 * run takes 4 bytes for each candidate, and twice that for a moment to sort them. */
#ifndef FR_RUNTIME_QUERY_FILTER_H
#define FR_RUNTIME_QUERY_FILTER_H

#include "runtime/api/stage.h"
#include "runtime/write/access.h"

typedef struct fr_predicate {
    ovx_token_t token;
    fr_reserved reserved;
    const fr_attribute *attribute; /* NULL: no accepted op has named it (admission) */
    ovstage_filter_op_t op;
    uint32_t value_count;
    ovx_string_t *values; /* in order once the filter runs (predicate.h) */
} fr_predicate;

struct fr_filter {
    size_t size_bytes; /* of the block */
    fr_predicate *predicates;
    ovx_token_t *attributes; /* to be reported, each once; none: all */
    uint32_t predicate_count, attribute_count;
    /* Of a query that failed. */
    ovstage_api_status_t status;
    char text[200];
};

ovstage_enqueue_result_t fr_query_filter(fr_stage *stage, const ovstage_filter_t *filter,
                                         const ovx_token_t *attributes, size_t count,
                                         ovstage_query_handle_t *out);
void fr_filter_free(fr_stage *stage, fr_filter *filter); /* NULL is fine */

/* Why a query that is not ready has failed: its status, and the text, which lives as long as the
 * query. OP_FAILED as long as that is not known. */
ovstage_api_status_t fr_query_failure(const fr_query *query, const char **out_text);
/* Until the query is ready, or has failed: OK, TIMEOUT, OP_FAILED, or what the wait ended with; the
 * error text is not set. */
ovstage_api_status_t fr_query_wait(const fr_query *query, uint64_t timeout_ns,
                                   fr_wait_outcome *outcome);

/* matches.c: the prims that match; in path order and each once when settled. */
typedef struct fr_matches {
    uint32_t *prims;
    size_t count, capacity;
} fr_matches;
/* What was found so far: some of it may hang on values that lie on devices. */
typedef struct fr_found fr_found;
/* Not OK: text says why. The caller releases it in any case. */
ovstage_api_status_t fr_filter_find(fr_stage *stage, const fr_filter *filter, fr_found *out,
                                    char *text, size_t text_bytes);
/* When those values are there. */
ovstage_api_status_t fr_filter_settle(fr_stage *stage, fr_found *found, char *text,
                                      size_t text_bytes);
void fr_found_release(fr_stage *stage, fr_found *found);

#endif
