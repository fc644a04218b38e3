/* Finding the prims that match: the candidates that one predicate leads to, each judged by all.
 * That predicate is the one that is expected to lead to the fewest. */
#include "runtime/dictionary/dictionary.h"
#include "runtime/query/path_order.h"
#include "runtime/query/predicate.h"
#include "runtime/store/keys.h"
#include "runtime/store/row_set.h"
#include "runtime/store/store_state.h"

#include <stdio.h>

/* A candidate that does not come in path order, counted in ones that do: what was found has to be
 * sorted. */
#define FR_UNORDERED_COST 4u

typedef struct fr_finding {
    fr_judged judged;
    const fr_filter *filter;
    const fr_predicate *lead; /* NULL: all prims */
    bool implies;             /* a predicate holds only of prims that exist */
    fr_matches *out;
} fr_finding;

static ovstage_api_status_t fr_matches_add(fr_stage *stage, fr_matches *matches, uint32_t prim)
{
    if (matches->count == matches->capacity) {
        size_t capacity = matches->capacity > 0 ? 2 * matches->capacity : 64;
        uint32_t *larger =
            fr_memory_grow(&stage->allocator, matches->prims, matches->capacity * sizeof(*larger),
                           capacity * sizeof(*larger), 16);
        if (!larger)
            return OVSTAGE_ERROR_OUT_OF_MEMORY;
        matches->prims = larger;
        matches->capacity = capacity;
    }
    matches->prims[matches->count++] = prim;
    return OVSTAGE_OK;
}

void fr_found_release(fr_stage *stage, fr_found *found)
{
    fr_matches *matches = &found->matches;
    fr_memory_release(&stage->allocator, matches->prims,
                      matches->capacity * sizeof(*matches->prims));
    fr_tests_release(stage, &found->tests);
    fr_away_release(&found->away);
}

static ovstage_api_status_t fr_finding_judge(fr_finding *finding, uint32_t prim)
{
    const fr_filter *filter = finding->filter;
    fr_away *away = finding->judged.away;
    size_t before = away->count;
    away->no_memory = false;
    if (!finding->implies && !fr_judged_exists(&finding->judged, prim))
        return OVSTAGE_OK;
    finding->judged.match = finding->out->count;
    for (uint32_t p = 0; p < filter->predicate_count; p++)
        if (!fr_predicate_holds(&finding->judged, &filter->predicates[p], prim)) {
            fr_away_cut(away, before);
            return OVSTAGE_OK;
        }
    if (away->no_memory)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    return fr_matches_add(finding->judged.stage, finding->out, prim);
}

/* --- candidates ------------------------------------------------------------------------------- */

static ovstage_api_status_t fr_finding_view(fr_finding *finding, const ovx_string_t *prefix)
{
    fr_stage *stage = finding->judged.stage;
    fr_path_view view;
    if (!fr_path_view_take(stage, &view))
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    if (prefix)
        fr_path_view_narrow(stage, &view, *prefix);
    ovstage_api_status_t status = OVSTAGE_OK;
    uint32_t prim;
    while (status == OVSTAGE_OK && (prim = fr_path_view_next(stage, &view)) != 0)
        status = fr_finding_judge(finding, prim);
    fr_path_view_release(stage, &view);
    return status;
}

static ovstage_api_status_t fr_finding_keys(fr_finding *finding)
{
    uint32_t some[FR_KEYS_SOME], count;
    fr_key_walk walk = {.column = fr_column_first(finding->lead->attribute)};
    ovstage_api_status_t status = OVSTAGE_OK;
    while (status == OVSTAGE_OK && (count = fr_keys_some(&walk, some)) > 0)
        for (uint32_t k = 0; k < count && status == OVSTAGE_OK; k++)
            status = fr_finding_judge(finding, some[k]);
    return status;
}

static ovstage_api_status_t fr_finding_children(fr_finding *finding, ovx_primpath_t parent)
{
    const fr_dictionary *dictionary = finding->judged.stage->dictionary;
    ovstage_api_status_t status = OVSTAGE_OK;
    for (ovx_primpath_t child = fr_dictionary_path_child(dictionary, parent);
         child != 0 && status == OVSTAGE_OK; child = fr_dictionary_path_sibling(dictionary, child))
        status = fr_finding_judge(finding, (uint32_t)child);
    return status;
}

/* The path itself, or its children. */
static ovstage_api_status_t fr_finding_named(fr_finding *finding, ovx_string_t value)
{
    ovx_primpath_t path = fr_dictionary_path_find(finding->judged.stage->dictionary, value);
    if (finding->lead->reserved == FR_RESERVED_PARENT)
        return fr_finding_children(finding, path);
    return path != OVX_INVALID_PRIMPATH ? fr_finding_judge(finding, (uint32_t)path) : OVSTAGE_OK;
}

/* The parents of all that are named, each once: to judge one may take as many steps as it has
 * children that are named. */
static ovstage_api_status_t fr_finding_parents(fr_finding *finding)
{
    const fr_stage *stage = finding->judged.stage;
    const fr_predicate *lead = finding->lead;
    fr_row_set seen;
    fr_row_set_init(&seen, &stage->allocator, 0);
    bool enough = fr_row_set_reserve(&seen, lead->value_count, NULL, NULL, NULL);
    ovstage_api_status_t status = enough ? OVSTAGE_OK : OVSTAGE_ERROR_OUT_OF_MEMORY;
    for (uint32_t v = 0; v < lead->value_count && status == OVSTAGE_OK; v++) {
        bool added = false;
        ovx_primpath_t parent = fr_dictionary_path_parent(
            stage->dictionary, fr_dictionary_path_find(stage->dictionary, lead->values[v]));
        if (parent != OVX_INVALID_PRIMPATH)
            (void)fr_row_set_add(&seen, (uint32_t)parent, &added);
        if (added)
            status = fr_finding_judge(finding, (uint32_t)parent);
    }
    fr_row_set_destroy(&seen);
    return status;
}

static fr_token_index *fr_finding_tokens(const fr_stage *stage)
{
    /* [store.tokens.look] pairs [store.tokens.enter] : it is set up */
    return fr_load_acquire(&stage->store->token_index);
}

static ovstage_api_status_t fr_finding_token(fr_finding *finding, ovx_string_t value)
{
    fr_stage *stage = finding->judged.stage;
    fr_token_index *index = fr_finding_tokens(stage);
    uint32_t count, prim;
    uint32_t entry =
        fr_token_index_first(index, fr_dictionary_token_find(stage->dictionary, value), &count);
    ovstage_api_status_t status = OVSTAGE_OK;
    while (status == OVSTAGE_OK && entry != 0) {
        entry = fr_token_index_next(index, entry, &prim);
        status = fr_finding_judge(finding, prim);
    }
    return status;
}

/* Whole tokens of a column that is found by them. The empty text is in no index: it stands for no
 * token. */
static bool fr_predicate_is_of_tokens(const fr_predicate *predicate)
{
    bool array = predicate->reserved == FR_RESERVED_SCHEMAS;
    bool whole = predicate->op == OVSTAGE_FILTER_OP_IN ||
                 (predicate->op == OVSTAGE_FILTER_OP_CONTAINS && array);
    for (uint32_t v = 0; v < predicate->value_count && whole; v++)
        whole = predicate->values[v].length > 0;
    return whole && (predicate->reserved == FR_RESERVED_PRIM_TYPE || array);
}

static bool fr_predicate_is_recorded(const fr_predicate *predicate)
{
    return predicate->reserved == FR_RESERVED_NONE || predicate->reserved >= FR_RESERVED_PRIM_TYPE;
}

static ovstage_api_status_t fr_finding_value(fr_finding *finding, const ovx_string_t *value)
{
    if (finding->lead->op == OVSTAGE_FILTER_OP_PREFIX)
        return fr_finding_view(finding, value);
    return fr_predicate_is_recorded(finding->lead) ? fr_finding_token(finding, *value)
                                                   : fr_finding_named(finding, *value);
}

static ovstage_api_status_t fr_finding_run(fr_finding *finding)
{
    const fr_predicate *lead = finding->lead;
    if (!lead)
        return fr_finding_view(finding, NULL);
    if (fr_predicate_is_recorded(lead) && !fr_predicate_is_of_tokens(lead))
        return lead->attribute ? fr_finding_keys(finding) : OVSTAGE_OK;
    if (lead->reserved == FR_RESERVED_CHILDREN)
        return fr_finding_parents(finding);
    ovstage_api_status_t status = OVSTAGE_OK;
    for (uint32_t v = 0; v < lead->value_count && status == OVSTAGE_OK; v++)
        status = fr_finding_value(finding, &lead->values[v]);
    return status;
}

/* --- the predicate that leads ----------------------------------------------------------------- */

static size_t fr_lead_cost_children(const fr_stage *stage, const fr_predicate *predicate,
                                    size_t limit)
{
    size_t cost = 0;
    for (uint32_t v = 0; v < predicate->value_count && cost < limit; v++) {
        ovx_primpath_t child = fr_dictionary_path_child(
            stage->dictionary, fr_dictionary_path_find(stage->dictionary, predicate->values[v]));
        for (; child != 0 && cost < limit;
             child = fr_dictionary_path_sibling(stage->dictionary, child))
            cost += FR_UNORDERED_COST;
    }
    return cost;
}

static size_t fr_lead_cost_prefix(fr_stage *stage, const fr_predicate *predicate, size_t limit)
{
    size_t cost = 0;
    for (uint32_t v = 0; v < predicate->value_count && cost < limit; v++) {
        fr_path_view view;
        if (!fr_path_view_take(stage, &view))
            return limit;
        fr_path_view_narrow(stage, &view, predicate->values[v]);
        cost += fr_path_view_count(&view);
        fr_path_view_release(stage, &view);
    }
    return cost;
}

static size_t fr_lead_cost_tokens(const fr_stage *stage, const fr_predicate *predicate)
{
    size_t cost = 0;
    for (uint32_t v = 0; v < predicate->value_count; v++) {
        uint32_t count;
        ovx_token_t token = fr_dictionary_token_find(stage->dictionary, predicate->values[v]);
        (void)fr_token_index_first(fr_finding_tokens(stage), token, &count);
        cost += (size_t)count * FR_UNORDERED_COST;
    }
    return cost;
}

static size_t fr_lead_cost_keys(const fr_predicate *predicate, size_t limit)
{
    size_t about = predicate->attribute ? fr_keys_about(predicate->attribute) : 0;
    return about > limit / FR_UNORDERED_COST ? limit : about * FR_UNORDERED_COST;
}

/* How many candidates the predicate leads to; `limit`: that many, or not by itself. */
static size_t fr_lead_cost(fr_stage *stage, const fr_predicate *predicate, size_t limit)
{
    bool named =
        predicate->op == OVSTAGE_FILTER_OP_IN || (predicate->op == OVSTAGE_FILTER_OP_CONTAINS &&
                                                  predicate->reserved == FR_RESERVED_CHILDREN);
    switch (predicate->reserved) {
    case FR_RESERVED_PATH:
        if (predicate->op == OVSTAGE_FILTER_OP_PREFIX)
            return fr_lead_cost_prefix(stage, predicate, limit);
        return named ? (size_t)predicate->value_count * FR_UNORDERED_COST : limit;
    case FR_RESERVED_CHILDREN:
        return named ? (size_t)predicate->value_count * FR_UNORDERED_COST : limit;
    case FR_RESERVED_PARENT:
        return named ? fr_lead_cost_children(stage, predicate, limit) : limit;
    default:
        return fr_predicate_is_of_tokens(predicate) ? fr_lead_cost_tokens(stage, predicate)
                                                    : fr_lead_cost_keys(predicate, limit);
    }
}

static void fr_finding_choose_lead(fr_finding *finding)
{
    fr_stage *stage = finding->judged.stage;
    size_t least = fr_prims_count(stage->store->prims);
    for (uint32_t p = 0; p < finding->filter->predicate_count; p++) {
        const fr_predicate *predicate = &finding->filter->predicates[p];
        finding->implies |= fr_predicate_is_recorded(predicate);
        size_t cost = fr_lead_cost(stage, predicate, least);
        if (cost < least) {
            least = cost;
            finding->lead = predicate;
        }
    }
}

/* --- all together ----------------------------------------------------------------------------- */

static ovstage_api_status_t fr_matches_order(fr_stage *stage, fr_matches *matches)
{
    size_t size_bytes = matches->count * sizeof(uint32_t), kept = 0;
    uint32_t *scratch = fr_memory_allocate(&stage->allocator, size_bytes, 16);
    if (!scratch && matches->count > 0)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    fr_paths_sort(stage->dictionary, matches->prims, matches->count, scratch);
    fr_memory_release(&stage->allocator, scratch, size_bytes);
    for (size_t k = 0; k < matches->count; k++)
        if (kept == 0 || matches->prims[kept - 1] != matches->prims[k])
            matches->prims[kept++] = matches->prims[k];
    matches->count = kept;
    return OVSTAGE_OK;
}

/* All prims, and those of one prefix, come in order and once. */
static bool fr_finding_is_ordered(const fr_finding *finding)
{
    const fr_predicate *lead = finding->lead;
    return !lead || (lead->reserved == FR_RESERVED_PATH && lead->op == OVSTAGE_FILTER_OP_PREFIX &&
                     lead->value_count == 1);
}

ovstage_api_status_t fr_filter_find(fr_stage *stage, const fr_filter *filter, fr_found *out,
                                    char *text, size_t text_bytes)
{
    *out = (fr_found){.away.stage = stage};
    ovstage_api_status_t status = fr_tests_make(stage, filter, &out->tests, text, text_bytes);
    if (status != OVSTAGE_OK)
        return status;
    fr_finding finding = {.judged = {.stage = stage, .tests = &out->tests, .away = &out->away},
                          .filter = filter,
                          .out = &out->matches};
    fr_finding_choose_lead(&finding);
    status = fr_finding_run(&finding);
    out->in_order = fr_finding_is_ordered(&finding);
    if (status != OVSTAGE_OK)
        (void)snprintf(text, text_bytes, "no memory to find the prims that match (%zu so far)",
                       out->matches.count);
    return status;
}

/* Those whose values on devices do not do go. The values come in the order of the matches. */
static void fr_found_judge(const fr_stage *stage, fr_found *found)
{
    fr_matches *matches = &found->matches;
    const fr_away *away = &found->away;
    size_t kept = 0, next = 0;
    for (size_t m = 0; m < matches->count; m++) {
        bool holds = true;
        for (; next < away->count && away->values[next].match == m; next++)
            holds = holds && fr_value_holds(away->values[next].test, stage->dictionary,
                                            fr_away_elements(away, &away->values[next]),
                                            away->values[next].count);
        if (holds)
            matches->prims[kept++] = matches->prims[m];
    }
    matches->count = kept;
}

ovstage_api_status_t fr_filter_settle(fr_stage *stage, fr_found *found, char *text,
                                      size_t text_bytes)
{
    if (found->away.count > 0)
        fr_found_judge(stage, found);
    ovstage_api_status_t status =
        found->in_order ? OVSTAGE_OK : fr_matches_order(stage, &found->matches);
    if (status != OVSTAGE_OK)
        (void)snprintf(text, text_bytes, "no memory to find the prims that match (%zu so far)",
                       found->matches.count);
    return status;
}
