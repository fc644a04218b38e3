#include "runtime/query/path_index.h"

#include <string.h>

#include "runtime/api/stage.h"
#include "runtime/query/path_order.h"
#include "runtime/store/store_state.h"

/* --- runs ------------------------------------------------------------------------------------- */

static size_t fr_path_run_bytes(size_t count)
{
    return sizeof(fr_path_run) + count * sizeof(uint32_t);
}

static fr_path_run *fr_path_run_make(fr_stage *stage, size_t count)
{
    fr_path_run *run = fr_memory_allocate(&stage->allocator, fr_path_run_bytes(count), 16);
    if (!run)
        return NULL;
    fr_store_relaxed(&run->references, 1);
    run->count = count;
    fr_add_relaxed(&stage->path_index.bytes, fr_path_run_bytes(count));
    return run;
}

static void fr_path_run_release(fr_stage *stage, fr_path_run *run)
{
    /* [path_run.release] pairs [path_run.release] : the last one sees that the others are done */
    if (fr_sub_acq_rel(&run->references, 1) != 1)
        return;
    fr_sub_relaxed(&stage->path_index.bytes, fr_path_run_bytes(run->count));
    fr_memory_release(&stage->allocator, run, fr_path_run_bytes(run->count));
}

static void fr_path_runs_release(fr_stage *stage, fr_path_runs *runs)
{
    while (runs->count > 0)
        fr_path_run_release(stage, runs->runs[--runs->count]);
}

/* NULL without memory; the two stay. */
static fr_path_run *fr_path_run_join(fr_stage *stage, const fr_path_run *a, const fr_path_run *b)
{
    fr_path_run *joined = fr_path_run_make(stage, a->count + b->count);
    if (joined)
        fr_paths_join(stage->dictionary, a->prims, a->count, b->prims, b->count, joined->prims);
    return joined;
}

/* --- keeping up ------------------------------------------------------------------------------- */

/* Prims of the store's order from number `from` to `end`, sorted. NULL without memory. */
static fr_path_run *fr_path_run_of_new(fr_stage *stage, uint64_t from, uint64_t end)
{
    uint32_t some[FR_PRIMS_SOME];
    size_t count = (size_t)(end - from), taken = 0;
    fr_path_run *run = fr_path_run_make(stage, count);
    uint32_t *scratch = fr_memory_allocate(&stage->allocator, count * sizeof(uint32_t), 16);
    if (run && scratch) {
        while (taken < count) {
            size_t got = fr_prims_entered(stage->store->prims, (uint32_t)(from + taken), some);
            got = got > count - taken ? count - taken : got;
            memcpy(run->prims + taken, some, got * sizeof(uint32_t));
            taken += got;
        }
        fr_paths_sort(stage->dictionary, run->prims, count, scratch);
    } else if (run) {
        fr_path_run_release(stage, run);
        run = NULL;
    }
    fr_memory_release(&stage->allocator, scratch, count * sizeof(uint32_t));
    return run;
}

/* What the runs are with a new one: the first `*kept` of them, and the one that is returned. */
static fr_path_run *fr_path_runs_with(fr_stage *stage, const fr_path_runs *runs, fr_path_run *made,
                                      uint32_t *kept)
{
    *kept = runs->count;
    while (made && *kept > 0 && runs->runs[*kept - 1]->count < 2 * made->count) {
        fr_path_run *joined = fr_path_run_join(stage, runs->runs[--*kept], made);
        fr_path_run_release(stage, made);
        made = joined;
    }
    return made;
}

static void fr_path_index_look(fr_path_index *index, fr_path_runs *out, uint64_t *seen)
{
    fr_mutex_lock(&index->lock);
    *seen = index->seen;
    *out = index->runs;
    for (uint32_t k = 0; k < out->count; k++)
        (void)fr_add_relaxed(&out->runs[k]->references, 1);
    fr_mutex_unlock(&index->lock);
}

/* Unless somebody was faster, `made` takes the place of the runs from `kept` on, which are in
 * *gone then; else it is in *gone itself. */
static void fr_path_index_put(fr_path_index *index, uint64_t seen, uint64_t end, uint32_t kept,
                              fr_path_run *made, fr_path_runs *gone)
{
    gone->count = 0;
    fr_mutex_lock(&index->lock);
    if (index->seen == seen) {
        for (uint32_t k = kept; k < index->runs.count; k++)
            gone->runs[gone->count++] = index->runs.runs[k];
        index->runs.runs[kept] = made;
        index->runs.count = kept + 1;
        index->seen = end;
    } else {
        gone->runs[gone->count++] = made;
    }
    fr_mutex_unlock(&index->lock);
}

static bool fr_path_index_catch_up(fr_stage *stage, const fr_path_runs *runs, uint64_t seen,
                                   uint64_t end)
{
    uint32_t kept;
    fr_path_runs gone;
    fr_path_run *made = fr_path_run_of_new(stage, seen, end);
    made = fr_path_runs_with(stage, runs, made, &kept);
    if (!made)
        return false;
    fr_path_index_put(&stage->path_index, seen, end, kept, made, &gone);
    fr_path_runs_release(stage, &gone);
    return true;
}

void fr_path_index_destroy(fr_stage *stage)
{
    fr_path_runs_release(stage, &stage->path_index.runs);
}

/* --- views ------------------------------------------------------------------------------------ */

bool fr_path_view_take(fr_stage *stage, fr_path_view *out)
{
    uint64_t seen, wanted = fr_prims_count(stage->store->prims);
    fr_path_index_look(&stage->path_index, &out->runs, &seen);
    while (seen < wanted) {
        bool enough = fr_path_index_catch_up(stage, &out->runs, seen, wanted);
        fr_path_runs_release(stage, &out->runs);
        if (!enough)
            return false;
        fr_path_index_look(&stage->path_index, &out->runs, &seen);
    }
    for (uint32_t k = 0; k < out->runs.count; k++) {
        out->first[k] = 0;
        out->end[k] = out->runs.runs[k]->count;
    }
    return true;
}

void fr_path_view_release(fr_stage *stage, fr_path_view *view)
{
    fr_path_runs_release(stage, &view->runs);
}

static bool fr_path_begins(ovx_string_t text, ovx_string_t prefix)
{
    return text.length >= prefix.length && memcmp(text.ptr, prefix.ptr, prefix.length) == 0;
}

/* The first of the run that does not come before what begins with the text; past_it: that comes
 * behind all of that. */
static size_t fr_path_run_bound(const fr_dictionary *dictionary, const fr_path_run *run,
                                ovx_string_t prefix, bool past_it)
{
    size_t first = 0, end = run->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        ovx_string_t text = fr_dictionary_path_text(dictionary, run->prims[middle]);
        bool before =
            fr_path_compare(text, prefix) < 0 || (past_it && fr_path_begins(text, prefix));
        if (before)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

void fr_path_view_narrow(const fr_stage *stage, fr_path_view *view, ovx_string_t prefix)
{
    if (prefix.length == 0)
        return;
    for (uint32_t k = 0; k < view->runs.count; k++) {
        const fr_path_run *run = view->runs.runs[k];
        view->first[k] = fr_path_run_bound(stage->dictionary, run, prefix, false);
        view->end[k] = fr_path_run_bound(stage->dictionary, run, prefix, true);
    }
}

size_t fr_path_view_count(const fr_path_view *view)
{
    size_t count = 0;
    for (uint32_t k = 0; k < view->runs.count; k++)
        count += view->end[k] - view->first[k];
    return count;
}

/* There are few runs, mostly one that is not empty. */
uint32_t fr_path_view_next(const fr_stage *stage, fr_path_view *view)
{
    uint32_t lowest = FR_PATH_RUNS;
    ovx_string_t lowest_text = {NULL, 0};
    for (uint32_t k = 0; k < view->runs.count; k++) {
        if (view->first[k] == view->end[k])
            continue;
        uint32_t prim = view->runs.runs[k]->prims[view->first[k]];
        ovx_string_t text = fr_dictionary_path_text(stage->dictionary, prim);
        if (lowest == FR_PATH_RUNS || fr_path_compare(text, lowest_text) < 0) {
            lowest = k;
            lowest_text = text;
        }
    }
    return lowest == FR_PATH_RUNS ? 0 : view->runs.runs[lowest]->prims[view->first[lowest]++];
}
