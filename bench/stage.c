#include "bench/stage.h"

#include <stdio.h>
#include <string.h>

#include "scheduler/atomic.h"

static const char *last_error(void)
{
    ovx_string_t text = ovstage_get_last_error(); /* ends with a NUL */
    return text.ptr ? text.ptr : "no text";
}

static void check(ovstage_api_status_t status, const char *what)
{
    if (status != OVSTAGE_OK)
        bench_die("%s gave status %u: %s", what, (unsigned)status, last_error());
}

static void check_dictionary(ovx_api_result_t result, const char *what)
{
    if (result.status != OVX_API_SUCCESS)
        bench_die("%s: %s", what, result.error.ptr);
}

static void open_with(bench_stage *self, uint32_t worker_count, bool caller_runs, bool pinned)
{
    flyrail_config_t config = {.struct_size = sizeof(config)};
    check(flyrail_get_default_config(&config), "get_default_config");
    config.worker_count = worker_count;
    config.own_pool = true;
    config.caller_runs = caller_runs;
    config.pin_workers = pinned;
    *self = (bench_stage){0};
    check(flyrail_create_instance(NULL, &config, &self->instance), "create_instance");
    self->dictionary = ovstage_get_path_dictionary(self->instance);
}

void stage_open(bench_stage *self, uint32_t worker_count, bool caller_runs)
{
    open_with(self, worker_count, caller_runs, false);
}

void stage_open_pinned(bench_stage *self, uint32_t worker_count)
{
    open_with(self, worker_count, false, true);
}

void stage_close(bench_stage *self)
{
    check(ovstage_destroy_instance(self->instance), "destroy_instance");
    self->instance = NULL;
}

/* ---- names ---- */
ovx_token_t stage_token(bench_stage *self, const char *name)
{
    ovx_string_t text = {name, strlen(name)};
    ovx_token_t token = OVX_INVALID_TOKEN;
    check_dictionary(path_dictionary_create_tokens_from_strings(self->dictionary, &text, 1, &token),
                     "create_tokens_from_strings");
    return token;
}

ovx_primpath_t *stage_paths(bench_stage *self, const char *prefix, uint32_t first, uint32_t count)
{
    enum { BATCH = 256, TEXT_SIZE = 64 };
    static char texts[BATCH][TEXT_SIZE];
    ovx_string_t strings[BATCH];
    ovx_primpath_t *paths = bench_allocate(count * sizeof(*paths));
    for (uint32_t done = 0; done < count;) {
        uint32_t part = count - done < BATCH ? count - done : BATCH;
        for (uint32_t i = 0; i < part; i++) {
            int length = snprintf(texts[i], TEXT_SIZE, "%s%u", prefix, first + done + i);
            strings[i] = (ovx_string_t){texts[i], (size_t)length};
        }
        check_dictionary(path_dictionary_create_paths_from_strings(self->dictionary, strings, part,
                                                                   paths + done),
                         "create_paths_from_strings");
        done += part;
    }
    return paths;
}

ovstage_query_handle_t stage_query(bench_stage *self, const ovx_primpath_t *paths, size_t count)
{
    ovx_primpath_list_t list = OVX_INVALID_PRIMPATH_LIST;
    ovstage_query_handle_t query = OVSTAGE_INVALID_QUERY_HANDLE;
    check_dictionary(
        path_dictionary_create_path_list_from_paths(self->dictionary, paths, count, &list),
        "create_path_list_from_paths");
    check(ovstage_query_from_path_list(self->instance, list, &query), "query_from_path_list");
    check_dictionary(path_dictionary_release_path_list_reference(self->dictionary, list),
                     "release_path_list_reference");
    return query;
}

void stage_release_query(bench_stage *self, ovstage_query_handle_t query)
{
    stage_release(self, stage_take(ovstage_release_query(self->instance, query), "release_query"));
}

void payload_set(bench_payload *self, void *rows, size_t row_count, DLDataType type)
{
    memset(self, 0, sizeof(*self));
    self->shape[0] = (int64_t)row_count;
    self->tensor = (DLTensor){rows, {kDLCPU, 0}, 1, type, self->shape, NULL, 0};
    self->data.tensors = &self->tensor;
    self->data.tensor_count = 1;
}

static void managed_give_back(struct DLManagedTensorVersioned *tensor)
{
    /* [managed.free.give] pairs [managed.free.take] : the stage reads its rows no more */
    fr_store_release((_Atomic bool *)tensor->manager_ctx, false);
}

const struct DLManagedTensorVersioned *managed_take(managed_tensors *self, void *rows,
                                                    size_t row_count, DLDataType type)
{
    for (int i = 0; i < MANAGED_TENSORS; i++) {
        managed_tensor *each = &self->tensors[i];
        /* [managed.free.take] pairs [managed.free.give] : it may be described anew */
        if (fr_exchange_acquire(&each->in_use, true))
            continue;
        each->shape[0] = (int64_t)row_count;
        each->tensor = (struct DLManagedTensorVersioned){
            .version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
            .manager_ctx = &each->in_use,
            .deleter = managed_give_back,
            .flags = DLPACK_FLAG_BITMASK_IS_COPIED,
            .dl_tensor = {rows, {kDLCPU, 0}, 1, type, each->shape, NULL, 0},
        };
        return &each->tensor;
    }
    bench_die("the stage keeps more than %d adopted tensors of a column", MANAGED_TENSORS);
}

/* ---- ops ---- */
ovstage_op_id_t stage_take(ovstage_enqueue_result_t result, const char *what)
{
    if (__builtin_expect(result.status != OVSTAGE_OK, 0))
        check(result.status, what);
    return result.op_index;
}

void stage_wait(bench_stage *self, ovstage_op_id_t op)
{
    ovstage_op_wait_result_t result = {0};
    check(ovstage_wait_op(self->instance, op, OVSTAGE_TIMEOUT_INFINITE, &result), "wait_op");
    if (result.error_op_id_count > 0) {
        ovx_string_t text = ovstage_get_last_op_error(self->instance, result.error_op_ids[0]);
        bench_die("an op failed: %s", text.ptr ? text.ptr : "no text");
    }
}

void stage_release(bench_stage *self, ovstage_op_id_t op)
{
    check(ovstage_release_op(self->instance, op), "release_op");
}

void stage_finish(bench_stage *self, ovstage_op_id_t op)
{
    stage_wait(self, op);
    stage_release(self, op);
}

void stage_wait_all(bench_stage *self, const ovstage_op_id_t *ops, size_t count)
{
    check(flyrail_wait_all(self->instance, ops, count, OVSTAGE_TIMEOUT_INFINITE), "wait_all");
}

void stage_release_all(bench_stage *self, const ovstage_op_id_t *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        stage_release(self, ops[i]);
}

void stage_publish(bench_stage *self, ovstage_query_handle_t query, ovx_token_t attribute,
                   const bench_payload *rows)
{
    ovstage_ordinal_t ordinal = ++self->ordinal;
    stage_finish(self, stage_write(self, query, attribute, ordinal, rows));
    stage_finish(self, stage_seal(self, ordinal));
}

ovstage_read_group_t stage_hold(bench_stage *self, ovstage_query_handle_t query,
                                ovx_token_t attribute, ovstage_ordinal_t ordinal)
{
    const ovstage_ordinal_range_t latest = {.end_ordinal = ordinal};
    return stage_hold_range(self, query, attribute, latest);
}

ovstage_read_group_t stage_hold_range(bench_stage *self, ovstage_query_handle_t query,
                                      ovx_token_t attribute, ovstage_ordinal_range_t range)
{
    ovstage_read_handle_t read = OVSTAGE_INVALID_READ_HANDLE;
    ovstage_read_group_t group;
    stage_release(self, stage_take(ovstage_read_attributes(self->instance, query, &attribute, 1,
                                                           range, &read),
                                   "read_attributes"));
    check(ovstage_fetch_read_next(self->instance, read, OVSTAGE_TIMEOUT_INFINITE, &group),
          "fetch_read_next");
    stage_release(self, stage_take(ovstage_release_read(self->instance, read), "release_read"));
    return group;
}

void stage_let_go(bench_stage *self, const ovstage_read_group_t *group)
{
    check(ovstage_release_group(self->instance, group), "release_group");
}

flyrail_statistics_t stage_statistics(bench_stage *self)
{
    flyrail_statistics_t statistics = {.struct_size = sizeof(statistics)};
    check(flyrail_get_statistics(self->instance, &statistics), "get_statistics");
    return statistics;
}
