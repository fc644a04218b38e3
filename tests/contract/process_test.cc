// Process and instances: R1 to R11, R23 to R25, R166, R174, D8, D22.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <ovstage/ovstage_api/experimental/ovstage_placement_extension.h>

#include "tests/support/columns.h"

namespace
{

using namespace client;

ovstage_config_entry_t model(uint64_t value)
{
    return ovstage_config_entry_runtime_default_hierarchy_computation_model(
        static_cast<ovstage_hierarchy_computation_model_id_t>(value));
}

ovstage_api_status_t initialize(const std::vector<ovstage_config_entry_t> &entries)
{
    ovstage_config_t config = {entries.data(), entries.size()};
    return ovstage_initialize(&config);
}

TEST(Process, R1_initialize_and_shutdown_are_counted)
{
    EXPECT_EQ(ovstage_initialize(nullptr), OVSTAGE_OK);
    EXPECT_EQ(ovstage_initialize(nullptr), OVSTAGE_OK);
    EXPECT_EQ(ovstage_shutdown(), OVSTAGE_OK);
    EXPECT_EQ(ovstage_shutdown(), OVSTAGE_OK);
    EXPECT_EQ(ovstage_shutdown(), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(last_error(), "");
}

TEST(Process, R2_an_instance_keeps_the_state)
{
    ASSERT_EQ(initialize({model(OVSTAGE_HIERARCHY_COMPUTATION_MODEL_GPU_GLOBAL)}), OVSTAGE_OK);
    {
        Stage stage;
        EXPECT_EQ(ovstage_shutdown(), OVSTAGE_OK);
        // Its setting is still the one in use.
        EXPECT_EQ(initialize({model(OVSTAGE_HIERARCHY_COMPUTATION_MODEL_CPU_INCREMENTAL)}),
                  OVSTAGE_ERROR_INVALID_ARGUMENT);
    }
    EXPECT_EQ(initialize({model(OVSTAGE_HIERARCHY_COMPUTATION_MODEL_CPU_INCREMENTAL)}), OVSTAGE_OK);
    EXPECT_EQ(ovstage_shutdown(), OVSTAGE_OK);
}

TEST(Process, R3_initialize_is_optional)
{
    ovstage_instance_t *instance = nullptr;
    ASSERT_EQ(ovstage_create_instance(nullptr, &instance), OVSTAGE_OK);
    EXPECT_NE(ovstage_get_path_dictionary(instance), nullptr);
    EXPECT_EQ(ovstage_destroy_instance(instance), OVSTAGE_OK);
}

TEST(Process, R4_shutdown_without_initialize)
{
    Stage stage;
    EXPECT_EQ(ovstage_shutdown(), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(last_error(), "");
    EXPECT_EQ(stage.floor(), 0u);
}

TEST(Process, R5_entries_that_are_malformed_double_or_unknown)
{
    ovstage_config_t empty = {nullptr, 0};
    EXPECT_EQ(ovstage_initialize(&empty), OVSTAGE_OK);
    EXPECT_EQ(ovstage_shutdown(), OVSTAGE_OK);

    ovstage_config_t no_entries = {nullptr, 1};
    EXPECT_EQ(ovstage_initialize(&no_entries), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(initialize({model(0)}), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(initialize({model(5)}), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("5"), std::string::npos) << last_error();
    EXPECT_EQ(initialize({model(1), model(1)}), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(initialize({model(1), model(4)}), OVSTAGE_ERROR_INVALID_ARGUMENT);

    ovstage_config_entry_t unknown = model(1);
    unknown.key.uint64_key = OVSTAGE_CONFIG_UINT64_COUNT;
    EXPECT_EQ(initialize({unknown}), OVSTAGE_ERROR_INVALID_ARGUMENT);
    for (int type = 0; type <= 7; type++) {
        if (type == OVSTAGE_CONFIG_KEY_TYPE_UINT64 || type == OVSTAGE_CONFIG_KEY_TYPE_STRING)
            continue;
        ovstage_config_entry_t entry = model(1);
        entry.key_type = static_cast<ovstage_config_key_type_t>(type);
        EXPECT_EQ(initialize({entry}), OVSTAGE_ERROR_INVALID_ARGUMENT) << type;
    }
    EXPECT_EQ(initialize({ovstage_config_entry_binary_package_root_path({nullptr, 3})}),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    // No reference was taken.
    EXPECT_EQ(ovstage_shutdown(), OVSTAGE_ERROR_INVALID_ARGUMENT);
}

TEST(Process, R5_a_setting_in_use_cannot_be_changed)
{
    ASSERT_EQ(initialize({model(OVSTAGE_HIERARCHY_COMPUTATION_MODEL_GPU_GLOBAL)}), OVSTAGE_OK);
    EXPECT_EQ(initialize({model(OVSTAGE_HIERARCHY_COMPUTATION_MODEL_DEFAULT_GPU)}), OVSTAGE_OK);
    EXPECT_EQ(initialize({model(OVSTAGE_HIERARCHY_COMPUTATION_MODEL_GPU_INCREMENTAL)}),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(ovstage_initialize(nullptr), OVSTAGE_OK);
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(ovstage_shutdown(), OVSTAGE_OK);
    EXPECT_EQ(initialize({model(OVSTAGE_HIERARCHY_COMPUTATION_MODEL_GPU_INCREMENTAL)}), OVSTAGE_OK);
    EXPECT_EQ(ovstage_shutdown(), OVSTAGE_OK);
}

TEST(Process, R6_ignored_entries_and_the_default)
{
    ASSERT_EQ(initialize({model(OVSTAGE_HIERARCHY_COMPUTATION_MODEL_RUNTIME_DEFAULT)}), OVSTAGE_OK);
    EXPECT_EQ(initialize({model(OVSTAGE_HIERARCHY_COMPUTATION_MODEL_CPU_INCREMENTAL)}), OVSTAGE_OK);
    std::string path = "/nowhere";
    EXPECT_EQ(initialize({ovstage_config_entry_binary_package_root_path(text(path))}), OVSTAGE_OK);
    path = "/elsewhere";
    EXPECT_EQ(initialize({ovstage_config_entry_binary_package_root_path(text(path))}), OVSTAGE_OK);
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(ovstage_shutdown(), OVSTAGE_OK);
}

TEST(Process, R8_failure_to_create_has_a_text)
{
    EXPECT_EQ(ovstage_create_instance(nullptr, nullptr), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(last_error(), "");
    ovstage_instance_desc_t desc = {nullptr};
    ovstage_instance_t *instance = nullptr;
    EXPECT_EQ(ovstage_create_instance(&desc, &instance), OVSTAGE_OK);
    EXPECT_EQ(ovstage_destroy_instance(instance), OVSTAGE_OK);
    desc.name = "a name";
    EXPECT_EQ(ovstage_create_instance(&desc, &instance), OVSTAGE_OK);
    EXPECT_EQ(ovstage_destroy_instance(instance), OVSTAGE_OK);
}

TEST(Process, R9_destroying_nothing_or_twice)
{
    EXPECT_EQ(ovstage_destroy_instance(nullptr), OVSTAGE_OK);
    ovstage_instance_t *instance = nullptr;
    ASSERT_EQ(ovstage_create_instance(nullptr, &instance), OVSTAGE_OK);
    EXPECT_EQ(ovstage_destroy_instance(instance), OVSTAGE_OK);
    EXPECT_EQ(ovstage_destroy_instance(instance), OVSTAGE_ERROR_INVALID_ARGUMENT);
    uint64_t garbage[8] = {1, 2, 3};
    EXPECT_EQ(ovstage_destroy_instance(reinterpret_cast<ovstage_instance_t *>(garbage)),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    flyrail_statistics_t statistics;
    statistics.struct_size = sizeof(statistics);
    EXPECT_EQ(flyrail_get_statistics(reinterpret_cast<ovstage_instance_t *>(garbage), &statistics),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(last_error(), "");
}

TEST(Process, R10_calls_from_many_threads)
{
    Stage stage;
    ovx_token_t x = stage.token("x");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&stage, x] {
            for (int i = 0; i < 50; i++) {
                ovstage_query_handle_t query = stage.query(3);
                stage.finish(task(stage, 0, nullptr, nullptr));
                EXPECT_EQ(stage.floor(x), 0u);
                stage.finish(ovstage_release_query(stage.instance, query));
            }
        });
    for (auto &thread : threads)
        thread.join();
    EXPECT_EQ(stage.statistics().ops_failed, 0u);
}

TEST(Process, R11_usd_stage_id)
{
    Stage stage;
    uint64_t id;
    EXPECT_EQ(ovstage_get_usd_stage_id(nullptr, &id), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(ovstage_get_usd_stage_id(stage.instance, nullptr), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(ovstage_get_usd_stage_id(stage.instance, &id), OVSTAGE_ERROR_NOT_SUPPORTED);
}

TEST(Process, R23_the_last_error_is_the_threads_own)
{
    EXPECT_EQ(ovstage_create_instance(nullptr, nullptr), OVSTAGE_ERROR_INVALID_ARGUMENT);
    std::string mine = last_error();
    EXPECT_NE(mine, "");
    std::string other = "?";
    std::thread([&other] {
        ovx_string_t none = ovstage_get_last_error();
        EXPECT_EQ(none.ptr, nullptr);
        EXPECT_EQ(none.length, 0u);
        EXPECT_EQ(ovstage_shutdown(), OVSTAGE_ERROR_INVALID_ARGUMENT);
        other = last_error();
    }).join();
    EXPECT_EQ(last_error(), mine);
    EXPECT_NE(other, mine);
    ovx_string_t error = ovstage_get_last_error();
    EXPECT_EQ(error.ptr[error.length], '\0') << "R26";
}

TEST(Process, R24_every_status_has_its_text)
{
    Stage stage;
    std::set<std::string> texts;
    for (int status : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 99}) {
        const char *string =
            ovstage_get_error_string(stage.instance, static_cast<ovstage_api_status_t>(status));
        ASSERT_NE(string, nullptr);
        EXPECT_TRUE(texts.insert(string).second) << string;
    }
    EXPECT_NE(ovstage_get_error_string(stage.instance, static_cast<ovstage_api_status_t>(77)),
              nullptr);
}

TEST(Process, R25_D22_the_version_is_the_headers)
{
    Stage stage;
    uint32_t major = 9, minor = 9, patch = 9;
    ovstage_get_version(stage.instance, &major, &minor, &patch);
    EXPECT_EQ(major, 0u);
    EXPECT_EQ(minor, 2u);
    EXPECT_EQ(patch, 1u);
    ovstage_get_version(stage.instance, nullptr, nullptr, nullptr);
    EXPECT_STREQ(flyrail_version_string(), "0.1.0"); // D22: its own
}

TEST(Process, R174_extensions)
{
    Stage stage;
    const void *table = &stage;
    EXPECT_EQ(ovstage_query_extension(stage.instance, "ovstage.placement", &table),
              OVSTAGE_ERROR_NOT_FOUND);
    EXPECT_EQ(table, nullptr);
    EXPECT_EQ(ovstage_query_extension(stage.instance, "nothing.of.the.kind", &table),
              OVSTAGE_ERROR_NOT_FOUND);
    EXPECT_EQ(ovstage_query_extension(stage.instance, nullptr, &table),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(ovstage_query_extension(stage.instance, "ovstage.placement", nullptr),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
}

TEST(Process, R175_without_a_driver_there_is_no_placement)
{
    Stage stage;
    const ovstage_placement_extension_v1_t *table =
        reinterpret_cast<const ovstage_placement_extension_v1_t *>(&stage);
    EXPECT_EQ(ovstage_query_placement_extension(stage.instance, &table), OVSTAGE_ERROR_NOT_FOUND);
    EXPECT_EQ(table, nullptr);
    EXPECT_NE(last_error().find("\"ovstage.placement\" here: there is no "), std::string::npos)
        << last_error();
    // So what is placed is refused, and handed over tensors are given back all the same (R88).
    ovstage_placement_t placement = OVSTAGE_PLACEMENT_INIT;
    ovstage_query_handle_t query = stage.query(1);
    auto record = std::make_shared<Managed::Record>();
    const DLManagedTensorVersioned *managed = Managed::make({1}, 1, 0, record);
    ovstage_write_data_t data{};
    data.managed_tensors = &managed;
    data.tensor_count = 1;
    refused(ovstage_write_attribute_on_device(stage.instance, query, named(stage.token("a")), 1,
                                              data, OVSTAGE_PRIM_MODE_UPSERT, &placement),
            OVSTAGE_ERROR_NOT_FOUND);
    ovx_token_t attribute = stage.token("a");
    ovstage_read_handle_t read = 7;
    refused(ovstage_read_attributes_on_device(stage.instance, query, &attribute, 1, {0, 1, false},
                                              &placement, &read),
            OVSTAGE_ERROR_NOT_FOUND);
}

TEST(Process, D8_a_null_context_is_refused)
{
    Stage stage;
    const ovstage_vtable_t *slots = stage.instance->vtable;
    const auto refused = OVSTAGE_ERROR_INVALID_ARGUMENT;
    ovstage_query_handle_t query = 1;
    ovstage_read_handle_t read = 1;
    ovstage_read_group_t group{};
    ovstage_query_result_t result{};
    ovstage_ordinal_t ordinal;
    ovstage_map_handle_t map = 1;
    ovstage_map_group_t map_group{};
    const void *table;
    EXPECT_EQ(slots->wait_op(nullptr, 1, 0, nullptr), refused);
    EXPECT_EQ(slots->release_op(nullptr, 1), refused);
    EXPECT_EQ(slots->advance_write_floor(nullptr, nullptr).status, refused);
    EXPECT_EQ(slots->get_oldest_preserved_ordinal(nullptr, &query).status, refused);
    EXPECT_EQ(slots->get_attribute_write_floor(nullptr, {}, &query).status, refused);
    EXPECT_EQ(slots->fetch_ordinal(nullptr, 1, 0, &ordinal), refused);
    EXPECT_EQ(slots->release_ordinal_query(nullptr, 1).status, refused);
    EXPECT_EQ(slots->query(nullptr, nullptr, nullptr, 0, &query).status, refused);
    EXPECT_EQ(slots->query_from_path_list(nullptr, 1, &query), refused);
    EXPECT_EQ(slots->fetch_query_result(nullptr, 1, 0, &result), refused);
    EXPECT_EQ(slots->release_query_result(nullptr, &result), refused);
    EXPECT_EQ(slots->release_query(nullptr, 1).status, refused);
    EXPECT_EQ(slots->read_attributes(nullptr, 1, nullptr, 0, {}, &read).status, refused);
    EXPECT_EQ(slots->fetch_read_next(nullptr, 1, 0, &group), refused);
    EXPECT_EQ(slots->release_group(nullptr, &group), refused);
    EXPECT_EQ(slots->release_read(nullptr, 1).status, refused);
    EXPECT_EQ(slots->write_attribute(nullptr, 1, {}, 1, {}, OVSTAGE_PRIM_MODE_UPSERT).status,
              refused);
    EXPECT_EQ(slots->map_attribute(nullptr, 1, nullptr, 1, nullptr, 0, &map).status, refused);
    EXPECT_EQ(slots->fetch_map_next(nullptr, 1, 0, &map_group), refused);
    EXPECT_EQ(slots->unmap_group(nullptr, 1, &map_group, {}).status, refused);
    EXPECT_EQ(slots->unmap_attribute(nullptr, 1, {}).status, refused);
    EXPECT_EQ(slots->delete_attributes(nullptr, 1, nullptr, 0, 1).status, refused);
    EXPECT_EQ(slots->get_path_dictionary(nullptr), nullptr);
    EXPECT_EQ(slots->write_attributes(nullptr, 1, nullptr, 0, 1, OVSTAGE_PRIM_MODE_UPSERT).status,
              refused);
    EXPECT_EQ(slots->query_extension(nullptr, "x", &table), refused);
}

TEST(Process, two_instances_at_the_same_time)
{
    Stage first, second;
    EXPECT_NE(first.instance, second.instance);
    ovstage_enqueue_result_t op = task(first, 0, nullptr, nullptr);
    ASSERT_EQ(op.status, OVSTAGE_OK);
    // Foreign ids and handles are refused.
    EXPECT_EQ(ovstage_wait_op(second.instance, op.op_index, 0, nullptr),
              OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(ovstage_release_op(second.instance, op.op_index), OVSTAGE_ERROR_INVALID_HANDLE);
    ovstage_query_handle_t query = first.query(1);
    EXPECT_EQ(ovstage_release_query(second.instance, query).status, OVSTAGE_ERROR_INVALID_HANDLE);
    first.finish(ovstage_release_query(first.instance, query));
    first.finish(op);
    // R167: one dictionary.
    EXPECT_EQ(first.token("shared"), second.token("shared"));
    first.destroy();
    second.finish(task(second, 0, nullptr, nullptr));
}

TEST(Process, instances_share_the_pool_of_the_process)
{
    flyrail_config_t made = config(2);
    made.own_pool = false;
    Stage first(made);
    made.worker_count = 1;
    Stage second(made);
    first.finish(task(first, 0, nullptr, nullptr));
    second.finish(task(second, 0, nullptr, nullptr));
    EXPECT_EQ(second.statistics().worker_count, first.statistics().worker_count);
}

TEST(Process, instances_come_and_go_on_many_threads)
{
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; t++)
        threads.emplace_back([t] {
            for (int i = 0; i < 15; i++) {
                flyrail_config_t made = config(2);
                made.own_pool = t == 2;
                Stage stage(made);
                stage.finish(task(stage, 1, nullptr, nullptr));
                ASSERT_EQ(task(stage, 2, nullptr, nullptr).status, OVSTAGE_OK);
                stage.destroy();
            }
        });
    for (auto &thread : threads)
        thread.join();
    EXPECT_EQ(ovstage_shutdown(), OVSTAGE_ERROR_INVALID_ARGUMENT);
}

TEST(Process, a_forked_child_is_refused)
{
    Stage stage;
    ovstage_query_handle_t query = stage.query(1);
    stage.finish(task(stage, 0, nullptr, nullptr));
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ovstage_instance_t *made = nullptr;
        ovstage_query_handle_t out = 0;
        const auto refused = OVSTAGE_ERROR_NOT_SUPPORTED;
        bool right = ovstage_release_query(stage.instance, query).status == refused &&
                     last_error().find("forked") != std::string::npos &&
                     task(stage, 0, nullptr, nullptr).status == refused &&
                     ovstage_query_from_path_list(stage.instance, 1, &out) == refused &&
                     ovstage_create_instance(nullptr, &made) == refused && made == nullptr &&
                     ovstage_initialize(nullptr) == refused && ovstage_shutdown() == refused &&
                     ovstage_destroy_instance(stage.instance) == refused;
        _exit(right ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    // The parent goes on.
    stage.finish(ovstage_release_query(stage.instance, query));
    stage.finish(task(stage, 0, nullptr, nullptr));
}

} // namespace
