/* What it means that a predicate holds for a prim. The state that a query is judged by is the
 * newest by ordinal that has run: what was accepted before the query has, of what was accepted
 * later some may have (R47, D23).
 *
 * Threads: any, also beside writes, whose effect may then be seen or not. */
#ifndef FR_RUNTIME_QUERY_PREDICATE_H
#define FR_RUNTIME_QUERY_PREDICATE_H

#include "runtime/query/away.h"
#include "runtime/query/filter.h"
#include "runtime/query/value.h"

typedef struct fr_judged {
    fr_stage *stage;
    const struct fr_tests *tests; /* of predicates with values of recorded columns; or NULL */
    fr_away *away;                /* with `tests`: takes values that are judged later */
    size_t match;                 /* the candidate that these are of */
} fr_judged;

/* The values of such predicates, read as each column of their attributes wants them. */
typedef struct fr_column_test {
    const struct fr_column *column;
    fr_value_test test;
} fr_column_test;
typedef struct fr_tests {
    fr_column_test *items;
    size_t count, capacity;
} fr_tests;
/* OUT_OF_MEMORY; INVALID_ARGUMENT: a value that no column of its attribute can have, though there
 * are some. text says which. Only OK has to be released. */
ovstage_api_status_t fr_tests_make(fr_stage *stage, const fr_filter *filter, fr_tests *out,
                                   char *text, size_t text_bytes);
void fr_tests_release(fr_stage *stage, fr_tests *tests);

struct fr_found {
    fr_matches matches;
    bool in_order; /* and each once */
    fr_tests tests;
    fr_away away;
};

/* Whether an attribute lives on the prim. */
bool fr_judged_exists(const fr_judged *judged, uint32_t prim);
/* What usd-parent is of a prim: the root is nobody's, even if it is a prim (D26). 0: none. */
ovx_primpath_t fr_judged_parent(const fr_judged *judged, uint32_t prim);
/* Of a prim that exists. True as well where that hangs on a value on a device, which is noted. */
bool fr_predicate_holds(const fr_judged *judged, const fr_predicate *predicate, uint32_t prim);
/* Puts the values in the order of their bytes, which all that follows looks at, and drops those
 * that say nothing more: that are there twice, or, of PREFIX, begin with another. */
void fr_predicate_order(fr_predicate *predicate);
/* What an operator says of one text: true for one of the values. element: of an array, of which
 * CONTAINS wants a whole one. */
bool fr_text_holds(ovx_string_t text, const fr_predicate *predicate, bool element);

#endif
