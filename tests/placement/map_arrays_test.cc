// Sessions over arrays whose elements lie on a device: filled there by the client, and committed.
#include "tests/placement/arrays_fixture.h"
#include "tests/placement/each_fails.h"

namespace
{

class MapArrays : public ArraysTest
{
  protected:
    static ovstage_enqueue_result_t Map(const client::Stage &stage, ovstage_query_handle_t query,
                                        uint64_t ordinal, const std::vector<size_t> &sizes,
                                        const ovstage_placement_t &placement,
                                        ovstage_map_handle_t *out)
    {
        ovstage_map_desc_t desc = {};
        desc.attribute = Name(OnDevice(stage));
        desc.dtype = {kDLFloat, 32, 1};
        return ovstage_map_attribute_on_device(stage.instance, query, &desc, ordinal, sizes.data(),
                                               sizes.size(), &placement, out);
    }

    // The rows count up from `first` over all of them; they lie one after the other.
    void Fill(const ovstage_map_group_t &group, const std::vector<size_t> &sizes, float first,
              int32_t device, fr_cu_stream producer)
    {
        ASSERT_EQ(group.data.tensor_count, sizes.size());
        for (size_t row = 0; row < sizes.size(); row++) {
            const DLTensor &tensor = group.data.tensors[row];
            EXPECT_EQ(tensor.device.device_type, kDLCUDA);
            EXPECT_EQ(tensor.device.device_id, device);
            ASSERT_EQ(tensor.shape[0], static_cast<int64_t>(sizes[row]));
            EXPECT_EQ(tensor.data == nullptr, sizes[row] == 0);
            if (sizes[row] > 0)
                Produce(producer, reinterpret_cast<fr_cu_device_ptr>(tensor.data),
                        static_cast<uint32_t>(sizes[row]), first);
            first += static_cast<float>(sizes[row]);
        }
    }

    // The same to the host's column by a write.
    void Both(const client::Stage &stage, ovstage_query_handle_t query, uint64_t ordinal,
              const std::vector<size_t> &sizes, float first, int32_t device, bool with_event)
    {
        MakeCurrent(device);
        fr_cu_stream producer = Stream("producer");
        ovstage_placement_t placement = Place(nullptr, with_event ? Event() : nullptr, device);
        ovstage_map_handle_t map = 0;
        ovstage_map_group_t group = {};
        stage.finish(Map(stage, query, ordinal, sizes, placement, &map));
        ASSERT_EQ(ovstage_fetch_map_next(stage.instance, map, client::forever, &group), OVSTAGE_OK);
        Fill(group, sizes, first, device, producer);
        stage.finish(ovstage_unmap_attribute(stage.instance, map, {Handle(producer), 0}));
        MakeCurrent(0);
        WriteOnHost(stage, query, ordinal,
                    {std::vector<uint32_t>(sizes.begin(), sizes.end()), first});
    }
};

TEST_P(MapArrays, AreWhatTheHostsAre)
{
    read_on = {0, 1};
    for (bool first_on_host : {false, true})
        for (int32_t device : {0, 1}) {
            client::Stage stage(Keeping(device ? 0u : 2u));
            ovstage_query_handle_t all = stage.query(6), some = stage.query(Paths({4, 1, 3}));
            Ragged first = {{1, 2, 3, 0, 2, 1}, 100};
            first.plain = first_on_host;
            WriteBoth(stage, all, 1, first);
            stage.finish(stage.seal(1));
            Both(stage, all, 2, {2, 0, 1, 4, 3, 1}, 200, device, true);
            Both(stage, some, 3, {5, 0, 2}, 300, device, false);
            Both(stage, some, 3, {1, 1, 1}, 400, device, true);
            Both(stage, some, 4, {0, 0, 0}, 0, device, false);
            Both(stage, stage.query(7), 5, {1, 2, 3, 4, 5, 6, 7}, 500, device, true);
            stage.finish(stage.seal(5));
            for (uint64_t at = 1; at <= 5; at++) {
                ExpectSameAt(stage, stage.query(7), at);
                ExpectSame(stage, stage.query(7), {at, at, true});
            }
        }
}

// Sessions make a column that nothing was written to; and are zero as long as nobody fills them.
TEST_P(MapArrays, MakeTheirColumn)
{
    client::Stage stage(Keeping(1));
    ovstage_query_handle_t all = stage.query(3);
    Both(stage, all, 1, {2, 1, 3}, 100, 0, true);
    stage.finish(stage.seal(1));
    ExpectSameAt(stage, all, 1);
    ovstage_placement_t placement = Place(nullptr, Event());
    ovstage_map_handle_t map = 0;
    ovstage_map_group_t group = {};
    stage.finish(Map(stage, all, 2, {1, 2, 0}, placement, &map));
    ASSERT_EQ(ovstage_fetch_map_next(stage.instance, map, client::forever, &group), OVSTAGE_OK);
    stage.finish(ovstage_unmap_attribute(stage.instance, map, {0, 0}));
    stage.finish(stage.seal(2));
    auto shown = ReadGroups(stage, all, OnDevice(stage), {0, 2, false}, nullptr);
    ASSERT_EQ(shown.size(), 1u);
    EXPECT_EQ(shown[0].rows, (RaggedRows{{0}, {0, 0}, {}}));
    // One that is left, and one that nobody fetches.
    stage.finish(Map(stage, all, 3, {1, 2, 0}, placement, &map));
    stage.finish(ovstage_unmap_attribute(stage.instance, map, {0, 0}));
    stage.finish(Map(stage, all, 3, {1, 2, 0}, placement, &map));
    ASSERT_EQ(ovstage_fetch_map_next(stage.instance, map, client::forever, &group), OVSTAGE_OK);
}

// A commit without an event is complete when the client's streams are done; with one it is done
// before, and who reads waits for them.
TEST_P(MapArrays, WaitForWhatFillsThem)
{
    for (bool on_host : {false, true}) {
        client::Stage stage(Keeping(1));
        ovstage_query_handle_t all = stage.query(3);
        Ragged first = {{1, 2, 3}, 100};
        first.plain = on_host;
        WriteBoth(stage, all, 1, first);
        stage.finish(stage.seal(1));
        fr_cu_stream producer = Stream("held producer");
        for (bool with_event : {false, true}) {
            uint64_t ordinal = with_event ? 3 : 2;
            ovstage_placement_t placement = Place(nullptr, with_event ? Event() : nullptr);
            ovstage_map_handle_t map = 0;
            ovstage_map_group_t group = {};
            const std::vector<size_t> sizes = {2, 0, 3};
            stage.finish(Map(stage, all, ordinal, sizes, placement, &map));
            ASSERT_EQ(ovstage_fetch_map_next(stage.instance, map, client::forever, &group),
                      OVSTAGE_OK);
            fr_sim_hold(producer, true);
            Fill(group, sizes, 200, 0, producer);
            ovstage_enqueue_result_t commit =
                ovstage_unmap_attribute(stage.instance, map, {Handle(producer), 0});
            for (uint32_t look = 0; look < 4 && (on_host || !with_event); look++)
                EXPECT_FALSE(IsDone(stage, commit));
            if (!on_host && with_event) {
                stage.finish(commit);
                EXPECT_FALSE(fr_sim_drain());
                EXPECT_EQ(
                    cu->cuEventQuery(reinterpret_cast<fr_cu_event>(placement.availability_event)),
                    (fr_cu_result)FR_CU_ERROR_NOT_READY);
            }
            fr_sim_hold(producer, false);
            if (on_host || !with_event)
                stage.finish(commit);
            WriteOnHost(stage, all, ordinal, {{2, 0, 3}, 200});
            stage.finish(stage.seal(ordinal));
            ExpectSameAt(stage, all, ordinal);
        }
    }
}

PLACEMENT_ORDERS(MapArrays);

class MapArrayFaults : public MapArrays
{
  protected:
    bool on_host = false;
    bool applied_ = false;

    void Prepare(const client::Stage &stage)
    {
        Ragged first = {{1, 2, 3}, 100};
        first.plain = on_host;
        WriteBoth(stage, stage.query(3), 1, first);
        stage.finish(stage.seal(1));
        producer_ = Stream("producer");
        event_ = Event();
    }

    bool Session(const client::Stage &stage)
    {
        const std::vector<size_t> sizes = {2, 0, 3};
        ovstage_placement_t placement = Place(nullptr, event_);
        ovstage_map_handle_t map = 0;
        ovstage_map_group_t group = {};
        applied_ = false;
        bool good = Succeeds(stage, Map(stage, stage.query(3), 2, sizes, placement, &map));
        if (map == OVSTAGE_INVALID_MAP_HANDLE)
            return false;
        if (good)
            good =
                ovstage_fetch_map_next(stage.instance, map, client::forever, &group) == OVSTAGE_OK;
        for (size_t row = 0; good && row < sizes.size(); row++)
            FillSurely(group.data.tensors[row], row == 0 ? 0 : 2);
        ovstage_cuda_sync_t sync = {good ? Handle(producer_) : 0, 0};
        ovstage_enqueue_result_t sent = ovstage_unmap_attribute(stage.instance, map, sync);
        bool committed = Succeeds(stage, sent, &applied_);
        if (sent.status != OVSTAGE_OK) // the session is there until it is ended
            (void)Succeeds(stage, ovstage_unmap_attribute(stage.instance, map, sync), &applied_);
        applied_ = applied_ && good;
        return good && committed;
    }

    void Check(const client::Stage &stage)
    {
        if (applied_)
            WriteOnHost(stage, stage.query(3), 2, {{2, 0, 3}, 200});
        stage.finish(stage.seal(2));
        ExpectSameAt(stage, stage.query(3), 2);
    }

  private:
    // The call that fails may be the client's.
    void FillSurely(const DLTensor &row, size_t first)
    {
        size_t size_bytes = static_cast<size_t>(row.shape[0]) * sizeof(float);
        auto to = reinterpret_cast<fr_cu_device_ptr>(row.data);
        const float *from = filling_.data() + first;
        if (size_bytes > 0 && cu->cuMemcpyHtoDAsync(to, from, size_bytes, producer_) != 0) {
            FR_SIM_OK(cu->cuMemcpyHtoDAsync(to, from, size_bytes, producer_));
        }
    }

    const std::vector<float> filling_ = {200, 201, 202, 203, 204};
    fr_cu_stream producer_ = nullptr;
    fr_cu_event event_ = nullptr;
};

TEST_P(MapArrayFaults, EachCallFailsOnce)
{
    for (bool of_host : {false, true}) {
        on_host = of_host;
        EachCallFails(
            1, 1, [&](const client::Stage &stage) { Prepare(stage); },
            [&](const client::Stage &stage) { return Session(stage); },
            [&](const client::Stage &stage) { Check(stage); });
    }
}

TEST_P(MapArrayFaults, EachAllocationFailsOnce)
{
    for (bool of_host : {false, true}) {
        on_host = of_host;
        EachAllocationFails(
            1, 1, [&](const client::Stage &stage) { Prepare(stage); },
            [&](const client::Stage &stage) { return Session(stage); },
            [&](const client::Stage &stage) { Check(stage); });
    }
}

INSTANTIATE_TEST_SUITE_P(Orders, MapArrayFaults, ::testing::Values(Orders()[0]), OrderName);

} // namespace
