// Lanes that come to be stalled when they have begun: they name no producer, but what they write is
// behind work in a client's stream that stalls. They hold up no others, however many they are.
#include "tests/placement/placement_fixture.h"
#include "tests/support/maps.h"

namespace
{

class StalledLanes : public PlacementTest
{
  protected:
    static constexpr uint64_t first_lane = 10;

    fr_cu_stream stalled_ = nullptr, producer_ = nullptr;
    fr_cu_device_ptr late_ = 0, data_ = 0; // 1, 2, 3, which is not there yet; and 4, 5, 6

    void Hold()
    {
        stalled_ = Stream("stalled");
        producer_ = Stream("producer");
        late_ = Memory(3 * sizeof(float), "late source");
        data_ = Memory(3 * sizeof(float), "source");
        Produce(producer_, data_, 3, 4);
        FR_SIM_OK(cu->cuStreamSynchronize(producer_));
        fr_sim_hold(stalled_, true);
        Produce(stalled_, late_, 3, 1);
    }

    // Without workers it has run after a few looks, or is parked.
    static bool Finishes(const client::Stage &stage, uint32_t workers,
                         ovstage_enqueue_result_t sent)
    {
        for (uint32_t look = 0; workers == 0 && look < 8; look++)
            if (IsDone(stage, sent))
                return true;
        if (workers > 0)
            stage.finish(sent);
        return workers > 0;
    }

    ovstage_enqueue_result_t WriteIn(const client::Stage &stage, ovstage_query_handle_t query,
                                     ovx_token_t attribute, uint64_t ordinal, fr_cu_device_ptr from,
                                     fr_cu_stream stream, fr_cu_stream sync,
                                     fr_cu_event written = nullptr)
    {
        ovstage_placement_t placement = Place(stream, written ? written : Event());
        return Write(stage, query, attribute, ordinal, from, 3, {Handle(sync), 0}, &placement);
    }

    // Of the first rows, which are copied to where all of them lie: 4, 5.
    ovstage_enqueue_result_t Commit(const client::Stage &stage, ovstage_query_handle_t query,
                                    ovx_token_t attribute, uint64_t ordinal)
    {
        const ovstage_placement_t placement = Place(nullptr, Event());
        const ovstage_map_desc_t desc = client::description(attribute);
        ovstage_map_handle_t map = 0;
        ovstage_map_group_t group = {};
        stage.finish(ovstage_map_attribute_on_device(stage.instance, query, &desc, ordinal, nullptr,
                                                     0, &placement, &map));
        EXPECT_EQ(ovstage_fetch_map_next(stage.instance, map, client::forever, &group), OVSTAGE_OK)
            << client::last_error();
        Produce(producer_, reinterpret_cast<fr_cu_device_ptr>(group.data.tensors->data), 2, 4);
        EXPECT_EQ(cu->cuStreamSynchronize(producer_), 0u);
        return ovstage_unmap_attribute(stage.instance, map, {0, 0});
    }

    // Of the group that comes next, on the host.
    static float FirstOf(const client::Stage &stage, ovstage_read_handle_t read)
    {
        ovstage_read_group_t group = {};
        EXPECT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
                  OVSTAGE_OK)
            << client::last_error();
        float first =
            group.data.tensors ? *static_cast<const float *>(group.data.tensors[0].data) : 0;
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        return first;
    }

    // The first ones say so, as many as are told; the others are stalled by the stream that their
    // first write goes into. commits: the second is the commit of a map.
    void Stall(const client::Stage &stage, uint32_t workers, ovstage_query_handle_t query,
               ovx_token_t attribute, uint64_t lanes, uint64_t told, bool commits)
    {
        const ovstage_query_handle_t some = stage.query(2);
        for (uint64_t k = 0; k < lanes; k++) {
            uint64_t ordinal = first_lane + k;
            bool tells = k < told;
            ovstage_enqueue_result_t first =
                WriteIn(stage, query, attribute, ordinal, late_, tells ? nullptr : stalled_,
                        tells ? stalled_ : nullptr);
            ASSERT_TRUE(Finishes(stage, workers, first)) << k;
            ovstage_enqueue_result_t second =
                commits ? Commit(stage, some, attribute, ordinal)
                        : WriteIn(stage, query, attribute, ordinal, data_, nullptr, nullptr);
            ASSERT_TRUE(Finishes(stage, workers, second)) << k;
        }
    }

    // What lanes that wait for nobody do: writes, seals, reads that move rows, a clone.
    void Others(const client::Stage &stage, uint32_t workers, ovstage_query_handle_t query,
                ovx_token_t attribute)
    {
        fr_cu_event written = Event();
        ASSERT_TRUE(Finishes(
            stage, workers, WriteIn(stage, query, attribute, 1, data_, nullptr, nullptr, written)));
        FR_SIM_OK(cu->cuEventSynchronize(written));
        ASSERT_TRUE(Finishes(stage, workers, stage.seal(1)));
        ovstage_placement_t as_it_lies = Place(nullptr, Event());
        ovstage_read_handle_t read = 0;
        ASSERT_TRUE(Finishes(stage, workers, Read(stage, query, attribute, 1, &as_it_lies, &read)));
        stage.finish(ovstage_release_read(stage.instance, read));
        stage.finish(Read(stage, query, attribute, 1, nullptr, &read));
        EXPECT_EQ(FirstOf(stage, read), 4);
        stage.finish(ovstage_release_read(stage.instance, read));
        const std::string from = "/P", copy = "/Q";
        const ovx_string_t to = client::text(copy);
        ASSERT_TRUE(
            Finishes(stage, workers, ovstage_clone(stage.instance, client::text(from), &to, 1, 2)));
        ASSERT_TRUE(Finishes(stage, workers, stage.seal(2)));
    }

    // Of each lane the second write counts.
    void Release(const client::Stage &stage, ovstage_query_handle_t query, ovx_token_t attribute,
                 uint64_t lanes)
    {
        fr_sim_hold(stalled_, false);
        stage.finish(stage.seal(first_lane + lanes));
        for (uint64_t ordinal : {first_lane, first_lane + lanes - 1}) {
            ovstage_read_handle_t read = 0;
            stage.finish(Read(stage, query, attribute, ordinal, nullptr, &read));
            EXPECT_EQ(FirstOf(stage, read), 4);
            stage.finish(ovstage_release_read(stage.instance, read));
        }
    }

    static flyrail_config_t Keeping(uint32_t workers)
    {
        flyrail_config_t config = client::config(workers);
        config.history_versions = 100;
        return config;
    }

    // The prim above all others, which a clone begins with.
    static void MakeRoot(const client::Stage &stage)
    {
        std::vector<float> values = {1};
        stage.finish(stage.write(stage.query(std::vector<std::string>{"/P"}), stage.token("root"),
                                 1, values));
    }
};

TEST_P(StalledLanes, ByTheirFirstWriteHoldUpNoOthers)
{
    struct Case {
        uint32_t workers;
        uint64_t lanes, told;
        bool commits;
    };
    std::vector<Case> cases = {{0, 64, 0, false}};
    if (GetParam().mode == FR_SIM_LAZY) // in each order they would take their time
        cases = {{0, 8, 0, false},  {0, 32, 0, false}, {0, 64, 0, false}, {0, 40, 32, false},
                 {0, 40, 32, true}, {2, 8, 0, false},  {2, 32, 0, false}, {2, 64, 0, false}};
    for (const Case &is : cases) {
        client::Stage stage(Keeping(is.workers));
        MakeRoot(stage);
        ovstage_query_handle_t query = stage.query(3);
        ovx_token_t attribute = stage.token("values");
        Hold();
        Stall(stage, is.workers, query, attribute, is.lanes, is.told, is.commits);
        if (!HasFatalFailure())
            Others(stage, is.workers, query, stage.token("other"));
        if (HasFatalFailure()) {
            fr_sim_hold(stalled_, false);
            return;
        }
        EXPECT_FALSE(fr_sim_drain());
        Release(stage, query, attribute, is.lanes);
    }
}

// A read of the host that waits on one device for what it reads on another is not in the way of
// one that does not.
TEST_P(StalledLanes, HoldUpNoReadsOfOtherDevices)
{
    client::Stage stage(Keeping(0));
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t late = stage.token("late"), other = stage.token("other");
    Hold();
    fr_cu_event written = Event();
    ovstage_placement_t there = Place(nullptr, nullptr, 1), here = Place(stalled_, written);
    stage.finish(Write(stage, query, other, 1, data_, 3, {0, 0}, &there));
    stage.finish(Write(stage, query, late, 1, late_, 3, {0, 0}, &here));
    stage.finish(stage.seal(1));
    const ovx_token_t both[2] = {late, other};
    ovstage_read_handle_t waits = 0, read = 0;
    ovstage_enqueue_result_t sent = ovstage_read_attributes_on_device(
        stage.instance, query, both, 2, {0, 1, false}, nullptr, &waits);
    EXPECT_EQ(sent.status, OVSTAGE_OK);
    ovstage_enqueue_result_t alone = Read(stage, query, other, 1, nullptr, &read);
    EXPECT_FALSE(fr_sim_drain());
    EXPECT_TRUE(Finishes(stage, 0, alone));
    fr_sim_hold(stalled_, false);
    EXPECT_EQ(FirstOf(stage, read), 4);
    EXPECT_EQ(FirstOf(stage, waits), 1);
    EXPECT_EQ(FirstOf(stage, waits), 4);
    for (ovstage_read_handle_t handle : {waits, read})
        stage.finish(ovstage_release_read(stage.instance, handle));
}

PLACEMENT_ORDERS(StalledLanes);

} // namespace
