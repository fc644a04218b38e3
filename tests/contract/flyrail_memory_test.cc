// Memory that runs out: the k-th allocation fails, for every k of a short program. A status,
// nothing lost, and what was sealed before stays readable.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/client.h"
#include "tests/support/heap.h"

namespace
{

using namespace client;

constexpr size_t prims = 40;

flyrail_config_t config_of(fr_test_heap *heap, uint32_t workers)
{
    const fr_allocator *allocator = fr_test_heap_allocator(heap);
    flyrail_config_t made = config(workers);
    made.allocator.allocate = allocator->allocate;
    made.allocator.release = allocator->release;
    made.allocator.user = allocator->user;
    return made;
}

// Calls whose failure is counted, and allowed if it is for want of memory.
class Program
{
  public:
    explicit Program(ovstage_instance_t *of) : instance(of)
    {
    }
    int failures = 0;

    void run(ovx_primpath_list_t list, ovx_token_t x, ovx_token_t y)
    {
        for (uint64_t ordinal = 2; ordinal < 6; ordinal++) {
            ovstage_query_handle_t query = 0;
            if (!check(ovstage_query_from_path_list(instance, list, &query)))
                continue;
            write(query, x, ordinal, static_cast<float>(ordinal), prims);
            write(query, y, ordinal, static_cast<float>(ordinal), prims / 8);
            ovx_token_t names[2] = {x, y};
            ovstage_write_floor_desc_t scoped{ordinal, OVSTAGE_SCOPE_INCLUDE, names, 2};
            finish(ovstage_advance_write_floor(instance, &scoped));
            ovstage_write_floor_desc_t others{ordinal, OVSTAGE_SCOPE_EXCLUDE, names, 1};
            finish(ovstage_advance_write_floor(instance, &others));
            seal(ordinal);
            tasks(ordinal + 1);
            read(query, names, {0, ordinal, false});
            read(query, names, {ordinal, ordinal, true});
            read(query, names, {ordinal - 1, ordinal, true});
            floor_query(x);
            ovstage_query_result_t result;
            if (check(ovstage_fetch_query_result(instance, query, forever, &result))) {
                EXPECT_EQ(ovstage_release_query_result(instance, &result), OVSTAGE_OK);
            }
            finish(ovstage_release_query(instance, query));
        }
    }
    void seal(uint64_t ordinal)
    {
        ovstage_write_floor_desc_t all{ordinal, OVSTAGE_SCOPE_ALL, nullptr, 0};
        finish(ovstage_advance_write_floor(instance, &all));
    }
    void write(ovstage_query_handle_t query, ovx_token_t attribute, uint64_t ordinal, float value,
               uint32_t count)
    {
        std::vector<float> values(count, value);
        int64_t shape[1] = {count};
        DLTensor tensor{values.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
        ovstage_write_data_t data;
        std::memset(&data, 0, sizeof(data));
        data.tensors = &tensor;
        data.tensor_count = 1;
        data.count = count;
        finish(ovstage_write_attribute(instance, query, ovx_string_or_token_t{attribute, {}},
                                       ordinal, data, OVSTAGE_PRIM_MODE_UPSERT));
    }

  private:
    bool check(ovstage_api_status_t status)
    {
        if (status == OVSTAGE_OK)
            return true;
        failures++;
        EXPECT_EQ(status, OVSTAGE_ERROR_OUT_OF_MEMORY) << last_error();
        EXPECT_NE(last_error(), "");
        return false;
    }
    // Waits and releases. An op may fail for want of memory too.
    void finish(ovstage_enqueue_result_t result)
    {
        if (!check(result.status)) {
            EXPECT_EQ(result.op_index, 0u);
            return;
        }
        ovstage_op_wait_result_t outcome;
        EXPECT_EQ(ovstage_wait_op(instance, result.op_index, forever, &outcome), OVSTAGE_OK);
        if (outcome.error_op_id_count > 0) {
            failures++;
            std::string why = text(ovstage_get_last_op_error(instance, outcome.error_op_ids[0]));
            EXPECT_NE(why, "");
        }
        EXPECT_EQ(ovstage_release_op(instance, result.op_index), OVSTAGE_OK);
    }
    void tasks(uint64_t ordinal)
    {
        flyrail_task_desc_t desc;
        std::memset(&desc, 0, sizeof(desc));
        desc.struct_size = sizeof(desc);
        ovstage_enqueue_result_t first = flyrail_submit_task(instance, &desc);
        desc.ordered = true;
        desc.ordinal = ordinal;
        desc.deps = &first.op_index;
        desc.dep_count = first.status == OVSTAGE_OK;
        finish(flyrail_submit_task(instance, &desc));
        finish(first);
        check(flyrail_parallel_for(
            instance, 1000, 10, [](uint64_t, uint64_t, void *) {}, nullptr));
    }
    void read(ovstage_query_handle_t query, const ovx_token_t *names, ovstage_ordinal_range_t range)
    {
        ovstage_read_handle_t read = 0;
        ovstage_enqueue_result_t result =
            ovstage_read_attributes(instance, query, names, 2, range, &read);
        if (!check(result.status)) {
            EXPECT_EQ(read, 0u);
            return;
        }
        finish(result);
        ovstage_read_group_t group;
        ovstage_api_status_t status;
        while ((status = ovstage_fetch_read_next(instance, read, forever, &group)) == OVSTAGE_OK)
            EXPECT_EQ(ovstage_release_group(instance, &group), OVSTAGE_OK);
        if (status != OVSTAGE_ERROR_END_OF_ITERATION)
            failures++;
        finish(ovstage_release_read(instance, read));
    }
    void floor_query(ovx_token_t attribute)
    {
        ovstage_ordinal_query_handle_t handle = 0;
        ovstage_enqueue_result_t result = ovstage_get_attribute_write_floor(
            instance, ovx_string_or_token_t{attribute, {}}, &handle);
        if (!check(result.status)) {
            EXPECT_EQ(handle, 0u);
            return;
        }
        finish(result);
        uint64_t floor;
        EXPECT_EQ(ovstage_fetch_ordinal(instance, handle, forever, &floor), OVSTAGE_OK);
        finish(ovstage_release_ordinal_query(instance, handle));
    }

    ovstage_instance_t *instance;
};

TEST(Memory, every_allocation_of_a_creation_may_fail)
{
    fr_test_heap *heap = fr_test_heap_create();
    flyrail_config_t made = config_of(heap, 1);
    uint64_t k = 0;
    for (bool failed = true; failed;) {
        k++;
        fr_test_heap_fail(heap, k, 0);
        ovstage_instance_t *instance = nullptr;
        ovstage_api_status_t status = flyrail_create_instance(nullptr, &made, &instance);
        failed = fr_test_heap_calls(heap) >= k;
        fr_test_heap_fail(heap, 0, 0);
        EXPECT_EQ(status, failed ? OVSTAGE_ERROR_OUT_OF_MEMORY : OVSTAGE_OK) << k;
        if (status == OVSTAGE_OK) {
            EXPECT_EQ(ovstage_destroy_instance(instance), OVSTAGE_OK);
        } else {
            EXPECT_EQ(instance, nullptr);
            EXPECT_NE(last_error(), "");
        }
        ASSERT_EQ(fr_test_heap_live_bytes(heap), 0u) << k;
    }
    EXPECT_GT(k, 5u);
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
}

// ever: all allocations from the k-th on fail. Returns false when the program asked for fewer.
bool run_with_failure(uint32_t workers, uint64_t k, bool ever)
{
    fr_test_heap *heap = fr_test_heap_create();
    bool reached;
    {
        Stage stage(config_of(heap, workers));
        ovx_token_t x = stage.token("x"), y = stage.token("y");
        std::vector<std::string> paths;
        for (size_t i = 0; i < prims; i++)
            paths.push_back("/P/" + std::to_string(i));
        ovx_primpath_list_t list = stage.list(paths);
        ovstage_query_handle_t query = stage.query(paths);
        std::vector<float> first(prims, 1.0f), second(prims, 9.0f);
        stage.finish(stage.write(query, x, 1, first));
        stage.finish(stage.seal(1));

        Program program(stage.instance);
        fr_test_heap_fail(heap, k, ever);
        program.run(list, x, y);
        reached = fr_test_heap_calls(heap) >= k;
        fr_test_heap_fail(heap, 0, 0);
        EXPECT_TRUE(reached || program.failures == 0) << k;

        // The stage goes on: newest moments can be written, sealed and read.
        stage.finish(stage.write(query, x, 9, second));
        stage.finish(stage.seal(9));
        EXPECT_EQ(stage.read(query, x, 9), second) << k;
        EXPECT_EQ(stage.floor(), 9u);
        path_dictionary_release_path_list_reference(stage.dictionary, list);
        stage.finish(ovstage_release_query(stage.instance, query));
    }
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u) << k;
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u) << k;
    return reached;
}

TEST(Memory, every_allocation_of_a_program_may_fail)
{
    uint64_t k = 1;
    while (run_with_failure(0, k, false)) {
        ASSERT_FALSE(testing::Test::HasFailure()) << "k = " << k;
        k++;
    }
    EXPECT_GT(k, 5u);
}

TEST(Memory, all_allocations_from_one_on_may_fail)
{
    uint64_t k = 1;
    while (run_with_failure(0, k, true)) {
        ASSERT_FALSE(testing::Test::HasFailure()) << "k = " << k;
        k++;
    }
    EXPECT_GT(k, 5u);
}

TEST(Memory, with_workers_too)
{
    for (uint64_t k = 1; run_with_failure(2, k, k % 2 == 0); k++)
        ASSERT_FALSE(testing::Test::HasFailure()) << "k = " << k;
}

} // namespace
