// Filters by arrays that lie on devices.
#include "tests/placement/arrays_fixture.h"
#include "tests/support/filters.h"

namespace
{

class ArrayFilters : public ArraysTest
{
};

std::vector<uint32_t> Lengths(uint32_t count)
{
    std::vector<uint32_t> lengths;
    for (uint32_t k = 0; k < count; k++)
        lengths.push_back((k * 7 + 3) % 5); // some are empty
    return lengths;
}

// A filter finds by the newest elements that lie on devices, sealed or not, what it would find by
// the host's.
TEST_P(ArrayFilters, FindWhatTheHostsDo)
{
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(Keeping(workers));
        const uint32_t count = 20;
        ovstage_query_handle_t all = stage.query(count);
        auto same = [&](ovstage_filter_op_t op, const std::string &value) {
            std::vector<std::string> wanted = client::find(stage, {{"host", op, {value}}});
            EXPECT_EQ(client::find(stage, {{"device", op, {value}}}), wanted) << value;
            EXPECT_EQ(client::find(
                          stage, {{"device", op, {value}}, {"rows", OVSTAGE_FILTER_OP_GE, {"0"}}}),
                      wanted)
                << value;
            return wanted;
        };
        WriteBoth(stage, all, 1, {Lengths(count), 1000});
        std::vector<float> values(count, 7);
        ovstage_placement_t rows = Place(nullptr, Event());
        int64_t shape = count;
        DLTensor tensor{values.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &shape, nullptr, 0};
        ovstage_write_data_t data = {};
        data.tensors = &tensor;
        data.tensor_count = 1;
        stage.finish(ovstage_write_attribute_on_device(stage.instance, all,
                                                       Name(stage.token("rows")), 1, data,
                                                       OVSTAGE_PRIM_MODE_UPSERT, &rows));
        EXPECT_EQ(same(OVSTAGE_FILTER_OP_IN, "1004").size(), 1u);
        stage.finish(stage.seal(1));
        for (uint32_t k = 0; k < count; k += 3) // payloads of their own
            WriteBoth(stage, stage.query(Paths({k})), 2, {{2}, 2000.0f + static_cast<float>(k)});
        EXPECT_EQ(same(OVSTAGE_FILTER_OP_GE, "2000").size(), 7u);
        EXPECT_GT(same(OVSTAGE_FILTER_OP_LT, "1012").size(), 2u);
        EXPECT_EQ(same(OVSTAGE_FILTER_OP_CONTAINS, "2004").size(), 1u);
        // Who asks while elements are on their way waits for them, and holds up nobody.
        fr_cu_stream producer = Stream("held producer");
        Ragged late = {{3, 1, 2}, 3000};
        fr_sim_hold(producer, true);
        ovstage_query_handle_t three = stage.query(Paths({5, 9, 2})), found = 0;
        stage.finish(WriteOnDevice(stage, three, 2, late, producer));
        ovstage_enqueue_result_t asked =
            client::submit(stage, {{"device", OVSTAGE_FILTER_OP_GT, {"3002"}}}, &found);
        for (uint32_t look = 0; look < 4; look++)
            EXPECT_FALSE(IsDone(stage, asked));
        stage.finish(stage.write(all, stage.token("other"), 9, values));
        if (workers == 0) // it has begun: what it looks at stays
            WriteBoth(stage, all, 9, {Lengths(count), 1000});
        fr_sim_hold(producer, false);
        stage.finish(asked);
        EXPECT_EQ(client::found(stage, found).paths, Paths({2, 9}));
        stage.finish(ovstage_release_query(stage.instance, found));
    }
}

PLACEMENT_ORDERS(ArrayFilters);

} // namespace
