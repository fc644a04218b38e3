#include "runtime/query/predicate.h"

#include "runtime/dictionary/dictionary.h"
#include "runtime/store/judge.h"
#include "runtime/store/latest.h"
#include "runtime/store/store_state.h"

#include <string.h>

/* --- texts ------------------------------------------------------------------------------------ */

static int fr_text_compare(ovx_string_t a, ovx_string_t b)
{
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = shorter > 0 ? memcmp(a.ptr, b.ptr, shorter) : 0;
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static bool fr_text_begins(ovx_string_t text, ovx_string_t with)
{
    return text.length >= with.length &&
           (with.length == 0 || memcmp(text.ptr, with.ptr, with.length) == 0);
}

static bool fr_text_contains(ovx_string_t text, ovx_string_t part)
{
    return part.length == 0 ||
           (text.length >= part.length && memmem(text.ptr, text.length, part.ptr, part.length));
}

static bool fr_text_holds_one(ovx_string_t text, ovstage_filter_op_t op, ovx_string_t value)
{
    switch (op) {
    case OVSTAGE_FILTER_OP_IN:
        return text.length == value.length && fr_text_begins(text, value);
    case OVSTAGE_FILTER_OP_CONTAINS:
        return fr_text_contains(text, value);
    case OVSTAGE_FILTER_OP_PREFIX:
        return fr_text_begins(text, value);
    case OVSTAGE_FILTER_OP_LT:
        return fr_text_compare(text, value) < 0;
    case OVSTAGE_FILTER_OP_LE:
        return fr_text_compare(text, value) <= 0;
    case OVSTAGE_FILTER_OP_GT:
        return fr_text_compare(text, value) > 0;
    case OVSTAGE_FILTER_OP_GE:
        return fr_text_compare(text, value) >= 0;
    default:
        return true; /* HAS: there is one */
    }
}

bool fr_text_holds(ovx_string_t text, const fr_predicate *predicate, bool element)
{
    ovstage_filter_op_t op = predicate->op;
    if (op == OVSTAGE_FILTER_OP_HAS)
        return true;
    if (op == OVSTAGE_FILTER_OP_CONTAINS && element)
        op = OVSTAGE_FILTER_OP_IN;
    for (uint32_t v = 0; v < predicate->value_count; v++)
        if (fr_text_holds_one(text, op, predicate->values[v]))
            return true;
    return false;
}

/* --- prims ------------------------------------------------------------------------------------ */

bool fr_judged_exists(const fr_judged *judged, uint32_t prim)
{
    return fr_judge_prim(judged->stage->store, prim, UINT64_MAX, UINT64_MAX);
}

/* Where the key lives, and when it was written last; NULL: it does not. */
static fr_column *fr_predicate_column(const fr_predicate *predicate, uint32_t prim,
                                      uint64_t *out_written)
{
    return predicate->attribute ? fr_judge_key_written(predicate->attribute, prim, UINT64_MAX,
                                                       UINT64_MAX, out_written)
                                : NULL;
}

ovx_primpath_t fr_judged_parent(const fr_judged *judged, uint32_t prim)
{
    const fr_dictionary *dictionary = judged->stage->dictionary;
    ovx_primpath_t parent = fr_dictionary_path_parent(dictionary, prim);
    bool is_root = parent == 0 || fr_dictionary_path_parent(dictionary, parent) == 0;
    return !is_root && fr_judged_exists(judged, (uint32_t)parent) ? parent : OVX_INVALID_PRIMPATH;
}

static bool fr_predicate_parent(const fr_judged *judged, const fr_predicate *predicate,
                                uint32_t prim)
{
    ovx_primpath_t parent = fr_judged_parent(judged, prim);
    return parent != OVX_INVALID_PRIMPATH &&
           fr_text_holds(fr_dictionary_path_text(judged->stage->dictionary, parent), predicate,
                         false);
}

/* A row of children is an array: one of its elements has to do. Those that are named are looked up,
 * however many others there are. */
static bool fr_predicate_children(const fr_judged *judged, const fr_predicate *predicate,
                                  uint32_t prim)
{
    const fr_dictionary *dictionary = judged->stage->dictionary;
    bool named =
        predicate->op == OVSTAGE_FILTER_OP_IN || predicate->op == OVSTAGE_FILTER_OP_CONTAINS;
    for (uint32_t v = 0; named && v < predicate->value_count; v++) {
        ovx_primpath_t child = fr_dictionary_path_find(dictionary, predicate->values[v]);
        if (child != OVX_INVALID_PRIMPATH && fr_dictionary_path_parent(dictionary, child) == prim &&
            fr_judged_exists(judged, (uint32_t)child))
            return true;
    }
    if (named)
        return false;
    for (ovx_primpath_t child = fr_dictionary_path_child(dictionary, prim); child != 0;
         child = fr_dictionary_path_sibling(dictionary, child))
        if (fr_text_holds(fr_dictionary_path_text(dictionary, child), predicate, true) &&
            fr_judged_exists(judged, (uint32_t)child))
            return true;
    return false;
}

/* A column that nobody had made when the query began has no test, and no keys that count. */
static const fr_value_test *fr_tests_find(const fr_tests *tests, const fr_predicate *predicate,
                                          const fr_column *column)
{
    for (size_t k = 0; tests && k < tests->count; k++)
        if (tests->items[k].column == column && tests->items[k].test.predicate == predicate)
            return &tests->items[k].test;
    return NULL;
}

static bool fr_predicate_value(const fr_judged *judged, const fr_predicate *predicate,
                               uint32_t prim)
{
    fr_stage *stage = judged->stage;
    uint64_t written;
    fr_column *column = fr_predicate_column(predicate, prim, &written);
    const fr_value_test *test = column ? fr_tests_find(judged->tests, predicate, column) : NULL;
    fr_latest latest;
    if (!test || !fr_latest_read(column, prim, written, &latest))
        return false;
    bool holds = fr_value_holds(test, stage->dictionary, latest.elements, latest.count);
    fr_latest_release(stage->store->buffers, &latest);
    return holds;
}

bool fr_predicate_holds(const fr_judged *judged, const fr_predicate *predicate, uint32_t prim)
{
    uint64_t written;
    switch (predicate->reserved) {
    case FR_RESERVED_PATH:
        return fr_text_holds(fr_dictionary_path_text(judged->stage->dictionary, prim), predicate,
                             false);
    case FR_RESERVED_PARENT:
        return fr_predicate_parent(judged, predicate, prim);
    case FR_RESERVED_CHILDREN:
        return fr_predicate_children(judged, predicate, prim);
    default:
        return predicate->op == OVSTAGE_FILTER_OP_HAS
                   ? fr_predicate_column(predicate, prim, &written) != NULL
                   : fr_predicate_value(judged, predicate, prim);
    }
}
