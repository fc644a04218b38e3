#include "runtime/query/predicate.h"

#include "runtime/dictionary/dictionary.h"
#include "runtime/query/heap_sort.h"
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

/* --- the order of values ---------------------------------------------------------------------- */

static int fr_values_compare(const void *items, size_t a, size_t b)
{
    const ovx_string_t *values = items;
    return fr_text_compare(values[a], values[b]);
}

static void fr_values_swap(void *items, size_t a, size_t b)
{
    ovx_string_t *values = items, kept = values[a];
    values[a] = values[b];
    values[b] = kept;
}

void fr_predicate_order(fr_predicate *predicate)
{
    ovx_string_t *values = predicate->values;
    uint32_t kept = 0;
    fr_heap_sort(&(fr_sorted){fr_values_compare, fr_values_swap, values}, predicate->value_count);
    for (uint32_t v = 0; v < predicate->value_count; v++) {
        bool said = kept > 0 && fr_text_begins(values[v], values[kept - 1]) &&
                    (predicate->op == OVSTAGE_FILTER_OP_PREFIX ||
                     values[v].length == values[kept - 1].length);
        if (!said)
            values[kept++] = values[v];
    }
    predicate->value_count = kept;
}

/* How many of the values do not come behind the text. */
static uint32_t fr_values_up_to(const fr_predicate *predicate, ovx_string_t text)
{
    uint32_t first = 0, end = predicate->value_count;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (fr_text_compare(predicate->values[middle], text) <= 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* Below 0, 0, above 0: as the text comes before, is one of, or comes behind all that lies below the
 * path. */
static int fr_text_compare_below(ovx_string_t text, ovx_string_t path)
{
    size_t length =
        path.length > 1 ? path.length : 0; /* the root's slash is that of what is below */
    if (text.length <= length) {
        int order = length > 0 ? fr_text_compare(text, (ovx_string_t){path.ptr, length}) : 0;
        return order != 0 ? order : -1;
    }
    int order = length > 0 ? memcmp(text.ptr, path.ptr, length) : 0;
    return order != 0 ? order : (int)(unsigned char)text.ptr[length] - '/';
}

/* The first value that does not come before what lies below the path. */
static uint32_t fr_values_below(const fr_predicate *predicate, ovx_string_t path)
{
    uint32_t first = 0, end = predicate->value_count;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (fr_text_compare_below(predicate->values[middle], path) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static bool fr_text_contains_one(ovx_string_t text, const fr_predicate *predicate)
{
    for (uint32_t v = 0; v < predicate->value_count; v++)
        if (fr_text_contains(text, predicate->values[v]))
            return true;
    return false;
}

bool fr_text_holds(ovx_string_t text, const fr_predicate *predicate, bool element)
{
    ovstage_filter_op_t op = predicate->op;
    if (op == OVSTAGE_FILTER_OP_HAS)
        return true;
    if (predicate->value_count == 0)
        return false;
    if (op == OVSTAGE_FILTER_OP_CONTAINS && element)
        op = OVSTAGE_FILTER_OP_IN;
    const ovx_string_t *first = predicate->values, *last = first + predicate->value_count - 1;
    uint32_t up_to;
    switch (op) {
    case OVSTAGE_FILTER_OP_IN:
        up_to = fr_values_up_to(predicate, text);
        return up_to > 0 && fr_text_compare(predicate->values[up_to - 1], text) == 0;
    case OVSTAGE_FILTER_OP_PREFIX: /* of which none begins with another */
        up_to = fr_values_up_to(predicate, text);
        return up_to > 0 && fr_text_begins(text, predicate->values[up_to - 1]);
    case OVSTAGE_FILTER_OP_LT:
        return fr_text_compare(text, *last) < 0;
    case OVSTAGE_FILTER_OP_LE:
        return fr_text_compare(text, *last) <= 0;
    case OVSTAGE_FILTER_OP_GT:
        return fr_text_compare(text, *first) > 0;
    case OVSTAGE_FILTER_OP_GE:
        return fr_text_compare(text, *first) >= 0;
    default:
        return fr_text_contains_one(text, predicate);
    }
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
#ifdef FR_MUTATE_PARENT_NEED_NOT_EXIST
    return is_root ? OVX_INVALID_PRIMPATH : parent;
#endif
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

/* Of the values that are named in full, those below the prim: however many children it has, and
 * however many others are named. */
static bool fr_predicate_named_children(const fr_judged *judged, const fr_predicate *predicate,
                                        uint32_t prim)
{
    const fr_dictionary *dictionary = judged->stage->dictionary;
    ovx_string_t path = fr_dictionary_path_text(dictionary, prim);
    uint32_t v = fr_values_below(predicate, path);
    for (; v < predicate->value_count; v++) {
        ovx_string_t value = predicate->values[v];
        if (fr_text_compare_below(value, path) != 0)
            return false;
        ovx_primpath_t child = fr_dictionary_path_find(dictionary, value);
        if (child != OVX_INVALID_PRIMPATH && fr_dictionary_path_parent(dictionary, child) == prim &&
            fr_text_compare(fr_dictionary_path_text(dictionary, child), value) == 0 &&
            fr_judged_exists(judged, (uint32_t)child))
            return true;
    }
    return false;
}

/* A row of children is an array: one of its elements has to do. */
static bool fr_predicate_children(const fr_judged *judged, const fr_predicate *predicate,
                                  uint32_t prim)
{
    const fr_dictionary *dictionary = judged->stage->dictionary;
    if (predicate->op == OVSTAGE_FILTER_OP_IN || predicate->op == OVSTAGE_FILTER_OP_CONTAINS)
        return fr_predicate_named_children(judged, predicate, prim);
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
    if (latest.away) {
        (void)fr_away_add(judged->away, judged->match, test, &latest); /* who goes on asks whether
                                                                          there was memory */
        return true;
    }
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
