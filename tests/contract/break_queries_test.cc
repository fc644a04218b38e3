// Queries that are used by everything while they are being found: nobody may look at what is being
// filled in, and what is written over them is what was asked for.
#include <atomic>
#include <thread>

#include "tests/support/columns.h"
#include "tests/support/filters.h"

namespace
{

using namespace client;

constexpr size_t prims = 5;

class PendingQueries : public ::testing::TestWithParam<uint32_t>
{
  protected:
    PendingQueries() : stage(GetParam()), name(stage.token("a")), other(stage.token("b"))
    {
        std::vector<float> values = ramp(prims);
        stage.finish(stage.write(stage.query(prims), name, 1, values));
    }

    // Pending, or being found, or ready.
    ovstage_query_handle_t fresh() const
    {
        return query(stage, {{"a", OVSTAGE_FILTER_OP_HAS, {}}});
    }

    Stage stage;
    ovx_token_t name, other;
};

TEST_P(PendingQueries, L7_writes)
{
    for (uint64_t n = 2; n < 120; n++) {
        std::vector<float> values = ramp(prims, static_cast<float>(n));
        ovstage_query_handle_t asked = fresh();
        ovstage_enqueue_result_t written = stage.write(asked, name, n, values);
        stage.finish(ovstage_release_query(stage.instance, asked));
        stage.finish(written);
        stage.finish(stage.seal(n));
        ASSERT_EQ(stage.read(stage.query(prims), name, n), values);
    }
}

TEST_P(PendingQueries, L7_rows_by_their_numbers)
{
    std::vector<float> expected = ramp(prims);
    for (uint64_t n = 2; n < 120; n++) {
        uint32_t row = static_cast<uint32_t>(n % prims);
        float value = static_cast<float>(n);
        int64_t shape[1] = {1};
        DLTensor tensor{&value, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
        ovstage_write_data_t data;
        std::memset(&data, 0, sizeof(data));
        data.tensors = &tensor;
        data.tensor_count = 1;
        ovstage_query_handle_t asked = fresh();
        ovstage_enqueue_result_t written =
            flyrail_write_rows(stage.instance, asked, ovx_string_or_token_t{name, {}}, n, &row, 1,
                               data, FLYRAIL_WRITE_KEYS_EXIST);
        stage.finish(ovstage_release_query(stage.instance, asked));
        stage.finish(written);
        stage.finish(stage.seal(n));
        expected[row] = value;
        ASSERT_EQ(stage.read(stage.query(prims), name, n), expected);
    }
}

TEST_P(PendingQueries, L7_reads_and_deletes)
{
    std::vector<float> values = ramp(prims);
    for (uint64_t n = 2; n < 120; n++) {
        stage.finish(stage.write(stage.query(prims), other, n, values));
        ovstage_query_handle_t asked = fresh();
        ovx_string_or_token_t gone{other, {}};
        ovstage_enqueue_result_t deleted =
            ovstage_delete_attributes(stage.instance, asked, &gone, 1, n);
        ovstage_enqueue_result_t sealed = stage.seal(n);
        ovstage_query_handle_t again = fresh();
        ASSERT_EQ(stage.read(again, name, n), values);
        ASSERT_TRUE(stage.read(again, other, n).empty());
        stage.finish(ovstage_release_query(stage.instance, asked));
        stage.finish(ovstage_release_query(stage.instance, again));
        stage.finish(deleted);
        stage.finish(sealed);
    }
}

TEST_P(PendingQueries, L7_maps)
{
    for (uint64_t n = 2; n < 120; n++) {
        ovstage_query_handle_t asked = fresh();
        ovstage_map_desc_t desc;
        std::memset(&desc, 0, sizeof(desc));
        desc.attribute = ovx_string_or_token_t{name, {}};
        desc.dtype = {kDLFloat, 32, 1};
        ovstage_map_handle_t map = 0;
        ovstage_enqueue_result_t mapped =
            ovstage_map_attribute(stage.instance, asked, &desc, n, nullptr, 0, &map);
        ovstage_map_group_t group;
        ASSERT_EQ(ovstage_fetch_map_next(stage.instance, map, forever, &group), OVSTAGE_OK)
            << last_error();
        ASSERT_EQ(group.prims.count, prims);
        for (size_t k = 0; k < prims; k++)
            static_cast<float *>(group.data.tensors[0].data)[k] = static_cast<float>(n);
        stage.finish(mapped);
        stage.finish(ovstage_unmap_attribute(stage.instance, map, ovstage_cuda_sync_t{}));
        stage.finish(ovstage_release_query(stage.instance, asked));
        stage.finish(stage.seal(n));
        ASSERT_EQ(stage.read(stage.query(prims), name, n),
                  std::vector<float>(prims, static_cast<float>(n)));
    }
}

// One thread goes on writing over a query while another lets it be found; nothing but the query
// orders the two.
TEST(PendingQueriesBeside, L7_written_over_while_it_is_found)
{
    for (unsigned round = 0; round < 20; round++) {
        Stage stage(2);
        ovx_token_t name = stage.token("a");
        std::vector<float> values = ramp(prims);
        stage.finish(stage.write(stage.query(prims), name, 1, values));
        Gate gate;
        gate.submit(stage, 2);
        gate.wait_entered();
        ovstage_query_handle_t asked = query(stage, {{"a", OVSTAGE_FILTER_OP_HAS, {}}});
        std::atomic<unsigned> submitted{0};
        std::thread writer([&] {
            for (uint64_t n = 3; n < 63; n++) {
                EXPECT_EQ(stage.write(asked, name, n, values).status, OVSTAGE_OK) << last_error();
                submitted.store(static_cast<unsigned>(n), std::memory_order_relaxed);
            }
        });
        while (submitted.load(std::memory_order_relaxed) < 20)
            std::this_thread::yield();
        gate.let_go();
        writer.join();
        stage.finish(stage.seal(63));
        EXPECT_EQ(stage.read(asked, name, 63), values);
    }
}

INSTANTIATE_TEST_SUITE_P(Workers, PendingQueries, ::testing::Values(0u, 1u, 2u));

} // namespace
