// Hostile arguments to every function and slot: a status with a text, nothing changed, no crash.
// After
// each round the stage must still work.
#include <ovstage/ovalign.h>

#include "tests/support/hostile.h"

namespace
{

using namespace client;

TEST_F(Hostile, handles_that_are_none)
{
    ovstage_instance_t *it = stage.instance;
    ovx_token_t name = stage.token("a");
    Payload payload(ramp(2), 2);
    for (uint64_t wrong : no_handles()) {
        const auto bad = OVSTAGE_ERROR_INVALID_HANDLE;
        uint64_t out = 77;
        ovstage_op_wait_result_t waited;
        ovstage_query_result_t result;
        ovstage_read_group_t group;
        ovstage_map_group_t map_group;
        std::memset(&result, 0, sizeof(result));
        std::memset(&group, 0, sizeof(group));
        std::memset(&map_group, 0, sizeof(map_group));
        refused(ovstage_release_query(it, wrong), bad);
        refused(ovstage_release_read(it, wrong), bad);
        refused(ovstage_release_ordinal_query(it, wrong), bad);
        refused(ovstage_fetch_ordinal(it, wrong, forever, &out), bad);
        refused(ovstage_fetch_query_result(it, wrong, forever, &result), bad);
        refused(ovstage_fetch_read_next(it, wrong, forever, &group), bad);
        group.read_group_id = wrong;
        refused(ovstage_release_group(it, &group), bad);
        result.query_result_id = wrong;
        refused(ovstage_release_query_result(it, &result), bad);
        refused(ovstage_write_attribute(it, wrong, named(name), 5, payload.data,
                                        OVSTAGE_PRIM_MODE_UPSERT),
                bad);
        refused(ovstage_read_attributes(it, wrong, &name, 1, ovstage_ordinal_range_t{0, 0, false},
                                        &out),
                bad);
        EXPECT_EQ(out, 0u);
        refused(ovstage_wait_op(it, wrong, forever, &waited), bad);
        refused(ovstage_release_op(it, wrong), bad);
        EXPECT_EQ(ovstage_get_last_op_error(it, wrong).ptr, nullptr);
        if (wrong != 0)
            refused(flyrail_wait_all(it, &wrong, 1, forever), bad);
        size_t index = 9;
        refused(flyrail_wait_any(it, &wrong, 1, forever, &index), bad);
        flyrail_task_desc_t task;
        std::memset(&task, 0, sizeof(task));
        task.struct_size = sizeof(task);
        task.deps = &wrong;
        task.dep_count = 1;
        refused(flyrail_submit_task(it, &task), bad);
    }
    works();
}

TEST_F(Hostile, instances_that_are_none)
{
    Stage gone(1);
    ovstage_instance_t *dead = gone.instance;
    const ovstage_vtable_t *table = dead->vtable;
    gone.destroy();
    ovstage_context_t *contexts[] = {nullptr, reinterpret_cast<ovstage_context_t *>(dead),
                                     reinterpret_cast<ovstage_context_t *>(uintptr_t(1)),
                                     reinterpret_cast<ovstage_context_t *>(UINTPTR_MAX)};
    for (ovstage_context_t *context : contexts) {
        const auto bad = OVSTAGE_ERROR_INVALID_ARGUMENT;
        uint64_t out = 1;
        ovx_token_t name = 1;
        Payload payload(ramp(2), 2);
        ovstage_write_floor_desc_t seal{1, OVSTAGE_SCOPE_ALL, nullptr, 0};
        ovstage_attribute_write_t entry{named(name), payload.data};
        refused(table->wait_op(context, 1, forever, nullptr), bad);
        refused(table->release_op(context, 1), bad);
        refused(table->advance_write_floor(context, &seal), bad);
        refused(table->get_oldest_preserved_ordinal(context, &out), bad);
        refused(table->get_attribute_write_floor(context, named(0), &out), bad);
        refused(table->fetch_ordinal(context, 1, forever, &out), bad);
        refused(table->release_ordinal_query(context, 1), bad);
        refused(table->query(context, nullptr, nullptr, 0, &out), bad);
        refused(table->query_from_path_list(context, 1, &out), bad);
        ovstage_query_result_t result;
        std::memset(&result, 0, sizeof(result));
        refused(table->fetch_query_result(context, 1, 0, &result), bad);
        refused(table->release_query_result(context, &result), bad);
        refused(table->release_query(context, 1), bad);
        refused(table->read_attributes(context, 1, &name, 1, ovstage_ordinal_range_t{0, 0, false},
                                       &out),
                bad);
        ovstage_read_group_t group;
        std::memset(&group, 0, sizeof(group));
        refused(table->fetch_read_next(context, 1, 0, &group), bad);
        refused(table->release_group(context, &group), bad);
        refused(table->release_read(context, 1), bad);
        refused(table->write_attribute(context, 1, named(name), 1, payload.data,
                                       OVSTAGE_PRIM_MODE_UPSERT),
                bad);
        refused(table->write_attributes(context, 1, &entry, 1, 1, OVSTAGE_PRIM_MODE_UPSERT), bad);
        ovstage_map_desc_t map;
        std::memset(&map, 0, sizeof(map));
        refused(table->map_attribute(context, 1, &map, 1, nullptr, 0, &out), bad);
        ovstage_map_group_t map_group;
        std::memset(&map_group, 0, sizeof(map_group));
        refused(table->fetch_map_next(context, 1, 0, &map_group), bad);
        refused(table->unmap_group(context, 1, &map_group, ovstage_cuda_sync_t{}), bad);
        refused(table->unmap_attribute(context, 1, ovstage_cuda_sync_t{}), bad);
        refused(table->delete_attributes(context, 1, nullptr, 0, 1), bad);
        uint32_t major = 9, minor = 9, patch = 9;
        table->get_version(context, &major, &minor, &patch);
        table->get_version(context, nullptr, nullptr, nullptr);
        EXPECT_NE(table->get_error_string(context, OVSTAGE_OK), nullptr);
        EXPECT_NE(table->get_error_string(context, static_cast<ovstage_api_status_t>(-7)), nullptr);
        EXPECT_EQ(table->get_last_op_error(context, 1).ptr, nullptr);
        EXPECT_EQ(table->get_path_dictionary(context), nullptr);
        const void *extension = &extension;
        EXPECT_NE(table->query_extension(context, "ovstage.placement", &extension), OVSTAGE_OK);
        EXPECT_NE(table->query_extension(context, nullptr, nullptr), OVSTAGE_OK);
    }
    works();
}

TEST_F(Hostile, instances_that_are_none_of_the_extensions)
{
    Stage gone(1);
    ovstage_instance_t *dead = gone.instance;
    gone.destroy();
    const auto bad = OVSTAGE_ERROR_INVALID_ARGUMENT;
    uint64_t out = 1;
    ovstage_instance_t *instances[] = {nullptr, dead,
                                       reinterpret_cast<ovstage_instance_t *>(uintptr_t(1)),
                                       reinterpret_cast<ovstage_instance_t *>(UINTPTR_MAX)};
    for (ovstage_instance_t *instance : instances) {
        flyrail_statistics_t statistics;
        statistics.struct_size = sizeof(statistics);
        flyrail_task_desc_t task;
        std::memset(&task, 0, sizeof(task));
        task.struct_size = sizeof(task);
        uint32_t until = 0;
        refused(flyrail_get_statistics(instance, &statistics), bad);
        refused(flyrail_submit_task(instance, &task), bad);
        refused(flyrail_parallel_for(
                    instance, 5, 1, [](uint64_t, uint64_t, void *) { ADD_FAILURE(); }, nullptr),
                bad);
        refused(flyrail_run(instance, 0, &out), bad);
        refused(flyrail_worker_run(instance, &until), bad);
        refused(flyrail_worker_stop(instance, &until), bad);
        refused(flyrail_wait_floor(instance, 0, 0, 0), bad);
        refused(flyrail_wait_room(instance, 0, 0, 0), bad);
        refused(flyrail_wait_all(instance, nullptr, 0, 0), bad);
        refused(flyrail_wait_any(instance, &out, 1, 0, nullptr), bad);
        refused(flyrail_trace_start(instance, 1), bad);
        refused(flyrail_trace_stop(instance), bad);
        refused(flyrail_trace_write(
                    instance, FLYRAIL_TRACE_SVG, [](const char *, size_t, void *) { return true; },
                    nullptr),
                bad);
        refused(flyrail_trace_span(instance, "x", 0, 0, 1), bad);
        if (instance)
            refused(ovstage_destroy_instance(instance), bad);
    }
    works();
}

TEST_F(Hostile, null_pointers)
{
    ovstage_instance_t *it = stage.instance;
    const auto bad = OVSTAGE_ERROR_INVALID_ARGUMENT;
    ovstage_query_handle_t query = stage.query(2);
    ovx_token_t name = stage.token("a");
    ovx_primpath_list_t list = stage.list({"/P/0"});
    uint64_t out = 0;
    refused(ovstage_advance_write_floor(it, nullptr), bad);
    refused(ovstage_get_oldest_preserved_ordinal(it, nullptr), bad);
    refused(ovstage_get_attribute_write_floor(it, named(name), nullptr), bad);
    refused(ovstage_query_from_path_list(it, list, nullptr), bad);
    refused(ovstage_fetch_query_result(it, query, 0, nullptr), bad);
    refused(ovstage_release_query_result(it, nullptr), bad);
    refused(
        ovstage_read_attributes(it, query, nullptr, 1, ovstage_ordinal_range_t{0, 0, false}, &out),
        bad);
    refused(
        ovstage_read_attributes(it, query, &name, 1, ovstage_ordinal_range_t{0, 0, false}, nullptr),
        bad);
    refused(ovstage_read_attributes(it, query, &name, SIZE_MAX,
                                    ovstage_ordinal_range_t{0, 0, false}, &out),
            bad);
    refused(ovstage_release_group(it, nullptr), bad);
    refused(ovstage_write_attributes(it, query, nullptr, 3, 1, OVSTAGE_PRIM_MODE_UPSERT), bad);
    refused(flyrail_get_statistics(it, nullptr), bad);
    refused(flyrail_submit_task(it, nullptr), bad);
    refused(flyrail_parallel_for(it, 3, 1, nullptr, nullptr), bad);
    refused(flyrail_worker_run(it, nullptr), bad);
    refused(flyrail_worker_stop(it, nullptr), bad);
    refused(flyrail_wait_all(it, nullptr, 1, 0), bad);
    refused(flyrail_wait_any(it, nullptr, 1, 0, nullptr), bad);
    refused(flyrail_trace_write(it, FLYRAIL_TRACE_SVG, nullptr, nullptr), bad);
    refused(flyrail_trace_span(it, nullptr, 0, 0, 0), bad);
    refused(flyrail_get_default_config(nullptr), bad);
    refused(flyrail_create_instance(nullptr, nullptr, nullptr), bad);
    refused(ovstage_create_instance(nullptr, nullptr), bad);
    EXPECT_EQ(flyrail_run(it, 0, nullptr), OVSTAGE_OK);
    EXPECT_EQ(flyrail_wait_all(it, nullptr, 0, 0), OVSTAGE_OK);
    std::vector<float> values = ramp(2);
    ovstage_enqueue_result_t write = stage.write(query, name, 7, values);
    EXPECT_EQ(ovstage_wait_op(it, write.op_index, forever, nullptr), OVSTAGE_OK);
    stage.finish(write);
    ovstage_read_handle_t read = open_read(query, name, 0);
    refused(ovstage_fetch_read_next(it, read, 0, nullptr), bad);
    ovstage_ordinal_query_handle_t floor = 0;
    stage.finish(ovstage_get_attribute_write_floor(it, named(0), &floor));
    refused(ovstage_fetch_ordinal(it, floor, 0, nullptr), bad);
    works();
}

TEST_F(Hostile, double_releases)
{
    ovstage_instance_t *it = stage.instance;
    const auto bad = OVSTAGE_ERROR_INVALID_HANDLE;
    ovx_token_t name = stage.token("a");
    ovstage_query_handle_t query = stage.query(4);
    std::vector<float> values = ramp(4);
    ovstage_enqueue_result_t write = stage.write(query, name, 1, values);
    stage.finish(write);
    refused(ovstage_release_op(it, write.op_index), bad);
    refused(ovstage_wait_op(it, write.op_index, 0, nullptr), bad);
    stage.finish(stage.seal(1));
    ovstage_read_handle_t read = open_read(query, name, 1);
    ovstage_read_group_t group, copy;
    ASSERT_EQ(ovstage_fetch_read_next(it, read, forever, &group), OVSTAGE_OK);
    copy = group;
    // A copy is as good as the original; what else was changed in it does not matter.
    copy.data.tensors = nullptr;
    copy.prims.list = UINT64_MAX;
    EXPECT_EQ(ovstage_release_group(it, &copy), OVSTAGE_OK);
    refused(ovstage_release_group(it, &group), bad);
    refused(ovstage_release_group(it, &copy), bad);
    // Another instance's group.
    refused(ovstage_release_group(other.instance, &group), bad);
    ovstage_query_result_t result;
    ASSERT_EQ(ovstage_fetch_query_result(it, query, forever, &result), OVSTAGE_OK);
    ovstage_query_result_t result_copy = result;
    refused(ovstage_release_query_result(other.instance, &result), bad);
    EXPECT_EQ(ovstage_release_query_result(it, &result), OVSTAGE_OK);
    refused(ovstage_release_query_result(it, &result_copy), bad);
    stage.finish(ovstage_release_read(it, read));
    refused(ovstage_release_read(it, read), bad);
    refused(ovstage_fetch_read_next(it, read, forever, &group), bad);
    stage.finish(ovstage_release_query(it, query));
    refused(ovstage_release_query(it, query), bad);
    refused(ovstage_fetch_query_result(it, query, 0, &result), bad);
    works();
}

// A handle of one kind is none of another.
TEST_F(Hostile, handles_of_another_kind)
{
    ovstage_instance_t *it = stage.instance;
    const auto bad = OVSTAGE_ERROR_INVALID_HANDLE;
    ovx_token_t name = stage.token("a");
    ovstage_query_handle_t query = stage.query(4);
    std::vector<float> values = ramp(4);
    stage.finish(stage.write(query, name, 1, values));
    stage.finish(stage.seal(1));
    ovstage_read_handle_t read = open_read(query, name, 1);
    ovstage_ordinal_query_handle_t floor = 0;
    ovstage_enqueue_result_t op = ovstage_get_attribute_write_floor(it, named(0), &floor);
    ovstage_read_group_t group;
    ASSERT_EQ(ovstage_fetch_read_next(it, read, forever, &group), OVSTAGE_OK);
    ovstage_query_result_t result;
    ASSERT_EQ(ovstage_fetch_query_result(it, query, forever, &result), OVSTAGE_OK);
    ovx_primpath_list_t list = stage.list({"/x"});
    const uint64_t all[] = {
        query, read, floor, op.op_index, group.read_group_id, result.query_result_id, list, name};
    uint64_t out = 0;
    ovstage_read_group_t no_group;
    ovstage_query_result_t no_result;
    for (uint64_t handle : all) {
        std::memset(&no_group, 0, sizeof(no_group));
        std::memset(&no_result, 0, sizeof(no_result));
        if (handle != query) {
            refused(ovstage_release_query(it, handle), bad);
            refused(ovstage_fetch_query_result(it, handle, 0, &no_result), bad);
        }
        if (handle != read) {
            refused(ovstage_release_read(it, handle), bad);
            refused(ovstage_fetch_read_next(it, handle, 0, &no_group), bad);
        }
        if (handle != floor) {
            refused(ovstage_release_ordinal_query(it, handle), bad);
            refused(ovstage_fetch_ordinal(it, handle, 0, &out), bad);
        }
        if (handle != op.op_index) {
            refused(ovstage_release_op(it, handle), bad);
            refused(ovstage_wait_op(it, handle, 0, nullptr), bad);
        }
        no_group.read_group_id = handle;
        if (handle != group.read_group_id)
            refused(ovstage_release_group(it, &no_group), bad);
        no_result.query_result_id = handle;
        if (handle != result.query_result_id)
            refused(ovstage_release_query_result(it, &no_result), bad);
    }
    EXPECT_EQ(ovstage_release_group(it, &group), OVSTAGE_OK);
    EXPECT_EQ(ovstage_release_query_result(it, &result), OVSTAGE_OK);
    stage.finish(op);
    works();
}

TEST_F(Hostile, struct_sizes)
{
    ovstage_instance_t *it = stage.instance;
    const auto bad = OVSTAGE_ERROR_INVALID_ARGUMENT;
    for (uint32_t size : {0u, 1u, 3u, 4u, 8u, 4096u, UINT32_MAX}) {
        flyrail_config_t made = config(0);
        made.struct_size = size;
        refused(flyrail_get_default_config(&made), bad);
        ovstage_instance_t *out = it;
        refused(flyrail_create_instance(nullptr, &made, &out), bad);
        EXPECT_EQ(out, nullptr);
        flyrail_statistics_t statistics;
        statistics.struct_size = size;
        refused(flyrail_get_statistics(it, &statistics), bad);
        flyrail_task_desc_t task;
        std::memset(&task, 0, sizeof(task));
        task.struct_size = size;
        refused(flyrail_submit_task(it, &task), bad);
    }
}

TEST_F(Hostile, ranges_of_any_size)
{
    struct Seen {
        std::atomic<uint64_t> calls{0}, elements{0};
        std::atomic<bool> wrong{false};
        uint64_t count;
    };
    for (uint64_t count : {UINT64_MAX, UINT64_MAX - 1, uint64_t(1) << 63, uint64_t(1) << 32,
                           (uint64_t(1) << 31) + 1}) {
        for (uint64_t grain :
             {uint64_t(0), uint64_t(1) << 62, (uint64_t(1) << 63) + 1, count - 1, count}) {
            if (grain == 0 && count < uint64_t(1) << 40)
                continue;
            Seen seen;
            seen.count = count;
            EXPECT_EQ(flyrail_parallel_for(
                          stage.instance, count, grain,
                          [](uint64_t begin, uint64_t end, void *user) {
                              Seen *to = static_cast<Seen *>(user);
                              to->calls++;
                              to->elements += end - begin;
                              if (begin >= end || end > to->count)
                                  to->wrong = true;
                          },
                          &seen),
                      OVSTAGE_OK);
            EXPECT_EQ(seen.elements, count) << count << " by " << grain;
            EXPECT_FALSE(seen.wrong);
        }
    }
    EXPECT_EQ(flyrail_parallel_for(
                  stage.instance, 0, UINT64_MAX, [](uint64_t, uint64_t, void *) { ADD_FAILURE(); },
                  nullptr),
              OVSTAGE_OK);
}

TEST_F(Hostile, room_and_limits)
{
    ovstage_instance_t *it = stage.instance;
    refused(flyrail_wait_room(it, UINT64_MAX, 0, 0), OVSTAGE_ERROR_OUT_OF_RANGE);
    refused(flyrail_wait_room(it, 0, UINT64_MAX, 0), OVSTAGE_ERROR_OUT_OF_RANGE);
    EXPECT_EQ(flyrail_wait_room(it, 0, 0, forever), OVSTAGE_OK);
    flyrail_config_t made = config(0);
    made.op_limit = UINT64_MAX;
    made.pending_limit_bytes = made.history_limit_bytes = made.cache_limit_bytes = UINT64_MAX;
    made.history_versions = UINT32_MAX;
    made.spin_ns = 0;
    {
        Stage large(made);
        EXPECT_EQ(flyrail_wait_room(large.instance, UINT64_MAX, UINT64_MAX, forever), OVSTAGE_OK);
        ovx_token_t name = large.token("a");
        ovstage_query_handle_t query = large.query(3);
        std::vector<float> values = ramp(3);
        for (uint64_t at = 1; at < 12; at++) {
            large.finish(large.write(query, name, at, values));
            large.finish(large.seal(at));
        }
        for (uint64_t at = 1; at < 12; at++)
            EXPECT_EQ(large.read(query, name, at), values);
    }
    made.op_limit = 1;
    made.pending_limit_bytes = 1;
    made.history_limit_bytes = made.cache_limit_bytes = 0;
    made.history_versions = 0;
    {
        Stage small(made);
        EXPECT_EQ(flyrail_wait_room(small.instance, 1, 0, forever), OVSTAGE_OK);
        refused(flyrail_wait_room(small.instance, 2, 0, forever), OVSTAGE_ERROR_OUT_OF_RANGE);
        ovx_token_t name = small.token("a");
        ovstage_query_handle_t query = small.query(3);
        std::vector<float> values = ramp(3);
        refused(small.write(query, name, 1, values), OVSTAGE_ERROR_QUEUE_FULL);
        small.finish(small.seal(1));
    }
    works();
}

TEST_F(Hostile, traces)
{
    ovstage_instance_t *it = stage.instance;
    const auto bad = OVSTAGE_ERROR_INVALID_ARGUMENT;
    refused(flyrail_trace_stop(it), bad);
    auto yes = [](const char *, size_t, void *) { return true; };
    refused(flyrail_trace_write(it, FLYRAIL_TRACE_SVG, yes, nullptr), bad);
    refused(flyrail_trace_write(it, static_cast<flyrail_trace_format_t>(2), yes, nullptr), bad);
    EXPECT_EQ(flyrail_trace_start(it, 1), OVSTAGE_OK);
    refused(flyrail_trace_start(it, 1), bad);
    refused(flyrail_trace_write(it, FLYRAIL_TRACE_SVG, yes, nullptr), bad);
    refused(flyrail_trace_span(it, "x", 0, 2, 1), bad);
    EXPECT_EQ(flyrail_trace_span(it, "<\"&\\\n%s%n", UINT64_MAX, 0, UINT64_MAX), OVSTAGE_OK);
    EXPECT_EQ(flyrail_trace_span(it, "", 0, 0, 0), OVSTAGE_OK);
    works();
    EXPECT_EQ(flyrail_trace_stop(it), OVSTAGE_OK);
    refused(flyrail_trace_stop(it), bad);
    // What is called back may call: the trace stays as it is meanwhile.
    for (auto format : {FLYRAIL_TRACE_SVG, FLYRAIL_TRACE_PERFETTO_JSON}) {
        EXPECT_EQ(flyrail_trace_write(
                      it, format,
                      [](const char *, size_t, void *user) {
                          ovstage_instance_t *inside = static_cast<ovstage_instance_t *>(user);
                          EXPECT_EQ(flyrail_trace_start(inside, 1), OVSTAGE_ERROR_INVALID_ARGUMENT);
                          EXPECT_EQ(flyrail_trace_stop(inside), OVSTAGE_ERROR_INVALID_ARGUMENT);
                          EXPECT_EQ(flyrail_trace_span(inside, "x", 0, 0, 0), OVSTAGE_OK);
                          return true;
                      },
                      it),
                  OVSTAGE_OK);
        refused(flyrail_trace_write(
                    it, format, [](const char *, size_t, void *) { return false; }, nullptr),
                OVSTAGE_ERROR_OP_FAILED);
    }
    works();
}

TEST_F(Hostile, what_is_not_there_takes_bad_arguments_too)
{
    ovstage_instance_t *it = stage.instance;
    uint64_t out = 9;
    uint32_t path = 0;
    (void)path;
    EXPECT_NE(ovstage_clone(it, ovx_string_t{nullptr, 5}, nullptr, SIZE_MAX, 0).status, OVSTAGE_OK);
    EXPECT_NE(ovstage_get_hierarchy(it, UINT64_MAX, 0, OVSTAGE_HIERARCHY_PARENT, nullptr).status,
              OVSTAGE_OK);
    EXPECT_NE(ovstage_get_hierarchy(it, UINT64_MAX, 0,
                                    static_cast<ovstage_hierarchy_relation_t>(-1), &out)
                  .status,
              OVSTAGE_OK);
    EXPECT_EQ(out, 0u);
    EXPECT_NE(ovstage_fetch_hierarchy_result(it, 5, nullptr), OVSTAGE_OK);
    EXPECT_NE(ovstage_release_hierarchy_result(it, nullptr), OVSTAGE_OK);
    EXPECT_NE(ovstage_release_hierarchy(it, UINT64_MAX).status, OVSTAGE_OK);
    EXPECT_NE(ovstage_get_hierarchy_computation_models(it, nullptr, nullptr), OVSTAGE_OK);
    EXPECT_NE(ovstage_compute_hierarchy(
                  it, static_cast<ovstage_hierarchy_computation_model_id_t>(-1), 5, 0)
                  .status,
              OVSTAGE_OK);
    EXPECT_NE(ovstage_get_usd_stage_id(it, nullptr), OVSTAGE_OK);
    EXPECT_NE(ovstage_instancing_get_prototype_roots(it, nullptr), OVSTAGE_OK);
    EXPECT_NE(ovstage_map_attribute(it, 1, nullptr, 0, nullptr, SIZE_MAX, nullptr).status,
              OVSTAGE_OK);
    EXPECT_NE(ovstage_unmap_group(it, 1, nullptr, ovstage_cuda_sync_t{}).status, OVSTAGE_OK);
    EXPECT_NE(ovstage_fetch_map_next(it, 1, 0, nullptr), OVSTAGE_OK);
    EXPECT_NE(ovstage_delete_attributes(it, 1, nullptr, SIZE_MAX, 0).status, OVSTAGE_OK);
    EXPECT_NE(ovstage_query(it, nullptr, nullptr, SIZE_MAX, nullptr).status, OVSTAGE_OK);
    EXPECT_NE(ovalign_align(nullptr, nullptr), 0);
    ovalign_release(nullptr);
    ovstage_config_entry_t entry;
    std::memset(&entry, 0xff, sizeof(entry));
    ovstage_config_t config{&entry, 1};
    refused(ovstage_initialize(&config), OVSTAGE_ERROR_INVALID_ARGUMENT);
    config = {nullptr, SIZE_MAX};
    refused(ovstage_initialize(&config), OVSTAGE_ERROR_INVALID_ARGUMENT);
    works();
}

// Lengths that no text has: nothing of them is read.
TEST_F(Hostile, R26_lengths_that_no_text_has)
{
    ovstage_instance_t *it = stage.instance;
    const ovstage_query_handle_t query = stage.query(2);
    const std::vector<float> values = ramp(2);
    Payload payload(values, 2);
    for (size_t length : {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX - 200, SIZE_MAX / 2 + 1}) {
        const ovx_string_t huge{"/A", length};
        const ovx_string_or_token_t name{0, huge};
        uint64_t out = 9;
        const ovx_string_t lists[][2] = {{huge, huge}, {{"a", 1}, huge}, {huge, {"/B", 200}}};
        for (const auto &list : lists) {
            const ovstage_predicate_t predicate{named(stage.token("a")), OVSTAGE_FILTER_OP_IN, list,
                                                2};
            const ovstage_filter_t filter{&predicate, 1};
            refused(ovstage_query(it, &filter, nullptr, 0, &out), OVSTAGE_ERROR_OUT_OF_MEMORY);
            EXPECT_EQ(out, 0u);
        }
        EXPECT_NE(
            ovstage_write_attribute(it, query, name, 5, payload.data, OVSTAGE_PRIM_MODE_UPSERT)
                .status,
            OVSTAGE_OK);
        EXPECT_NE(ovstage_delete_attributes(it, query, &name, 1, 5).status, OVSTAGE_OK);
        EXPECT_NE(ovstage_get_attribute_write_floor(it, name, &out).status, OVSTAGE_OK);
        const ovstage_map_desc_t desc{name, f32(), OVSTAGE_SEMANTIC_NONE, OVSTAGE_PRIM_MODE_UPSERT};
        EXPECT_NE(ovstage_map_attribute(it, query, &desc, 5, nullptr, 0, &out).status, OVSTAGE_OK);
        const std::string path = "/A";
        const ovx_string_t fine = text(path);
        EXPECT_NE(ovstage_clone(it, huge, &fine, 1, 5).status, OVSTAGE_OK);
        EXPECT_NE(ovstage_clone(it, fine, &huge, 1, 5).status, OVSTAGE_OK);
        EXPECT_NE(last_error(), "");
    }
    works();
}

} // namespace
