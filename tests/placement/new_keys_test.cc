// Keys that are not visible yet, of a column on a device: in whatever sets and orders they come,
// they get the places, and have the values, that they have in a column of the host.
#include <algorithm>

#include "tests/placement/rows_fixture.h"
#include "tests/support/filters.h"
#include "tests/support/maps.h"

namespace
{

std::vector<uint32_t> Steps(uint32_t first, uint32_t end, uint32_t step = 1)
{
    std::vector<uint32_t> numbers;
    for (uint32_t k = first; k < end; k += step)
        numbers.push_back(k);
    return numbers;
}

std::vector<uint32_t> Back(std::vector<uint32_t> numbers)
{
    std::reverse(numbers.begin(), numbers.end());
    return numbers;
}

class NewKeys : public RowsTest
{
  protected:
    struct Set {
        uint64_t ordinal;
        std::vector<uint32_t> numbers;
    };

    void WriteSet(const client::Stage &stage, const Set &set, Rows rows = {})
    {
        rows.shape = {static_cast<int64_t>(set.numbers.size())};
        rows.first = next_ += 100;
        WriteBoth(stage, stage.query(Paths(set.numbers)), set.ordinal, rows);
    }

    void ExpectSameTo(const client::Stage &stage, uint64_t last)
    {
        for (uint32_t count : {40u, 7u}) {
            ovstage_query_handle_t query = stage.query(Paths(Back(Steps(0, count))));
            for (uint64_t at = 1; at <= last; at++) {
                ExpectSameAt(stage, query, at);
                ExpectSame(stage, query, {at, at, true});
            }
        }
        ExpectSame(stage, stage.query(40), {1, last, true});
    }

    // The sets in that order; then one seal after the other, or one of all.
    void Run(const std::vector<Set> &sets)
    {
        uint64_t last = 0;
        for (const Set &set : sets)
            last = std::max(last, set.ordinal);
        for (bool at_once : {false, true}) {
            client::Stage stage(Keeping(at_once ? 1 : 0));
            for (const Set &set : sets)
                WriteSet(stage, set);
            for (uint64_t seal = at_once ? last : 1; seal <= last; seal++)
                stage.finish(stage.seal(seal));
            ExpectSameTo(stage, last);
            WriteSet(stage, {last + 1, {3, 20, 1}}); // and on
            stage.finish(stage.seal(last + 1));
            ExpectSameTo(stage, last + 1);
        }
    }

  private:
    float next_ = 0;
};

TEST_P(NewKeys, OfOneOrdinal)
{
    Run({{1, {3, 1}}, {1, Steps(4, 9)}, {1, {0, 2}}, {1, Steps(10, 40)}, {1, {9}}});
}

TEST_P(NewKeys, OfOneOrdinalThatOverlap)
{
    Run({{1, Steps(0, 5)}, {1, Back(Steps(2, 30))}, {1, {39, 4, 0}}, {1, Steps(0, 40, 3)}});
}

TEST_P(NewKeys, OfOneOrdinalInAnotherOrder)
{
    Run({{1, Steps(0, 20)}, {1, Back(Steps(0, 20))}, {2, Back(Steps(0, 20))}, {2, {5, 2}}});
}

TEST_P(NewKeys, OfSeveralOrdinals)
{
    Run({{1, Steps(0, 9)}, {2, Steps(9, 20)}, {3, Steps(20, 40)}});
    Run({{1, Steps(0, 20)}, {2, Back(Steps(0, 20))}, {3, {7, 3, 12}}});
}

TEST_P(NewKeys, OfALowerOrdinalThatComesLater)
{
    Run({{3, Steps(0, 20)}, {2, Steps(15, 40)}, {1, Back(Steps(3, 17))}, {2, {1}}});
}

TEST_P(NewKeys, OfSeveralOrdinalsThatOverlap)
{
    Run({{2, Steps(0, 30, 2)}, {1, Steps(0, 30, 3)}, {2, {33, 1, 0}}, {3, Steps(5, 25)}});
}

// A lower ordinal places some of them meanwhile: those of the higher one lie in several segments
// then, of which it has written some rows already.
TEST_P(NewKeys, ThatGetTheirPlacesByALowerOrdinal)
{
    client::Stage stage(Keeping(1));
    WriteSet(stage, {3, Steps(0, 40)}); // in both segments, by turns
    WriteSet(stage, {2, {0, 8, 16, 1}});
    WriteSet(stage, {1, Steps(0, 40, 4)});
    stage.finish(stage.seal(1));
    WriteSet(stage, {2, {4, 36, 0, 2}}); // beside those that have no place for it
    WriteSet(stage, {3, {4, 5}});
    stage.finish(stage.seal(2));
    WriteSet(stage, {3, {2, 3}});
    stage.finish(stage.seal(3));
    ExpectSameTo(stage, 3);
}

TEST_P(NewKeys, FromAnywhere)
{
    read_on = {0, 1};
    client::Stage stage(Keeping(2));
    Rows elsewhere, host, plain, apart;
    elsewhere.source = 1;
    host.from_host = plain.plain = true;
    apart.strides = {3};
    WriteSet(stage, {1, Steps(0, 6)}, elsewhere);
    WriteSet(stage, {1, Steps(4, 20)}, host);
    WriteSet(stage, {2, {21, 3}}, plain);
    WriteSet(stage, {2, Steps(20, 40)}, apart);
    WriteSet(stage, {1, Steps(18, 30)}, elsewhere);
    stage.finish(stage.seal(2));
    ExpectSameTo(stage, 2);
}

TEST_P(NewKeys, WithDeletesBetween)
{
    client::Stage stage(Keeping(1));
    auto remove = [&](const std::vector<uint32_t> &numbers, uint64_t ordinal) {
        for (const char *name : {"device", "host"}) {
            ovx_string_or_token_t attribute = {stage.token(name), {}};
            stage.finish(ovstage_delete_attributes(stage.instance, stage.query(Paths(numbers)),
                                                   &attribute, 1, ordinal));
        }
    };
    WriteSet(stage, {1, Steps(0, 10)});
    remove({3, 4}, 1);
    WriteSet(stage, {1, {12, 4, 11}});
    WriteSet(stage, {2, Steps(8, 30)});
    remove({9, 1, 35}, 2);
    WriteSet(stage, {3, {1, 35, 36}});
    remove({12}, 3);
    stage.finish(stage.seal(3));
    ExpectSameTo(stage, 3);
}

// An ordinal of which nothing is left.
TEST_P(NewKeys, BesideThoseThatAreDiscarded)
{
    client::Stage stage(Keeping(1));
    WriteSet(stage, {1, Steps(0, 10)});
    WriteSet(stage, {2, Steps(5, 20)});
    stage.finish(flyrail_discard(stage.instance, 1));
    WriteSet(stage, {3, Steps(15, 40)});
    WriteSet(stage, {1, {39, 2}});
    stage.finish(stage.seal(3));
    ExpectSameTo(stage, 3);
}

TEST_P(NewKeys, OfSessions)
{
    client::Stage stage(Keeping(1));
    auto map = [&](const Set &set) {
        ovstage_query_handle_t query = stage.query(Paths(set.numbers));
        auto count = static_cast<uint32_t>(set.numbers.size());
        client::Map host(stage, query, client::description(OnHost(stage)), set.ordinal);
        host.fill(client::Values(count, 7));
        stage.finish(host.unmap_group());
        ovstage_map_desc_t desc = client::description(OnDevice(stage));
        ovstage_placement_t placement = Place(nullptr, Event());
        ovstage_map_handle_t there = 0;
        ovstage_map_group_t group = {};
        stage.finish(ovstage_map_attribute_on_device(stage.instance, query, &desc, set.ordinal,
                                                     nullptr, 0, &placement, &there));
        ASSERT_EQ(ovstage_fetch_map_next(stage.instance, there, client::forever, &group),
                  OVSTAGE_OK);
        std::vector<float> values(count, 7);
        fr_cu_stream producer = Stream("producer");
        FR_SIM_OK(
            cu->cuMemcpyHtoDAsync(reinterpret_cast<fr_cu_device_ptr>(group.data.tensors->data),
                                  values.data(), count * sizeof(float), producer));
        FR_SIM_OK(cu->cuStreamSynchronize(producer));
        stage.finish(ovstage_unmap_attribute(stage.instance, there, {Handle(producer), 0}));
    };
    map({1, Steps(0, 10)}); // becomes the payload
    WriteSet(stage, {1, {12, 3}});
    map({1, {20, 12, 5}});
    map({2, Steps(10, 40)});
    WriteSet(stage, {2, {4, 11}});
    stage.finish(stage.seal(2));
    ExpectSameTo(stage, 2);
}

// As they are added they are copied now and then, not each time.
TEST_P(NewKeys, ManyWritesOfAFew)
{
    client::Stage stage(Keeping(0));
    for (uint32_t k = 0; k < 40; k++)
        WriteSet(stage, {1 + k % 2, {k, k / 2}});
    stage.finish(stage.seal(2));
    ExpectSameTo(stage, 2);
}

// Those whose producers stall get their places behind them: neither what others put into streams
// for a seal, nor who reads that, comes behind them.
TEST_P(NewKeys, ThatStallHoldUpNoOthers)
{
    client::Stage stage(Keeping(0));
    ovx_token_t other = stage.token("other");
    ovstage_query_handle_t low = stage.query(Paths({0, 1, 2})), high = stage.query(Paths({2, 3})),
                           all = stage.query(4);
    fr_cu_stream stalled = Stream("stalled producer"), producer = Stream("producer");
    fr_cu_event readable = Event();
    fr_sim_hold(stalled, true);
    Rows rows = {{3}, {}, 10};
    stage.finish(WriteOnDevice(stage, low, 1, rows, stalled));
    stage.finish(WriteOnDevice(stage, high, 2, {{2}, {}, 20}, stalled));
    stage.finish(stage.seal(2));
    rows.name = other;
    stage.finish(WriteOnDevice(stage, low, 3, rows, producer));
    rows = {{2}, {}, 30};
    rows.name = other;
    stage.finish(WriteOnDevice(stage, high, 4, rows, producer));
    stage.finish(stage.seal(4));
    ovstage_placement_t placement = Place(nullptr, readable);
    ovstage_read_handle_t read = 0;
    stage.finish(Read(stage, all, other, 4, &placement, &read));
    EXPECT_FALSE(fr_sim_drain());
    EXPECT_EQ(cu->cuEventQuery(readable), 0u);
    fr_sim_hold(stalled, false);
    stage.finish(ovstage_release_read(stage.instance, read));
    EXPECT_EQ(stage.read(all, other, 4), (std::vector<float>{10, 11, 30, 31}));
    EXPECT_EQ(stage.read(all, OnDevice(stage), 2), (std::vector<float>{10, 11, 20, 21}));
}

// They do where all streams of the stage's wait for other producers.
TEST_P(NewKeys, GetTheirPlacesWhereAllStreamsStall)
{
    client::Stage stage(Keeping(0));
    ovstage_query_handle_t high = stage.query(Paths({5, 4, 0})), found = 0;
    fr_cu_stream held = Stream("held writer"), stalled = Stream("stalled producer");
    fr_cu_device_ptr late = Memory(sizeof(float), "late source");
    ovstage_placement_t none = Place(nullptr, Event());
    Rows rows = {{4}, {}, 10};
    rows.stream = held;
    fr_sim_hold(held, true);
    WriteBoth(stage, stage.query(4), 1, rows);
    rows.shape = {3};
    WriteBoth(stage, high, 2, rows);
    fr_sim_hold(stalled, true);
    Produce(stalled, late, 1, 5);
    for (uint64_t k = 0; k < 32; k++)
        stage.finish(Write(stage, stage.query(1), stage.token("other"), 10 + k, late, 1,
                           {Handle(stalled), 0}, &none));
    stage.finish(stage.seal(2));
    stage.finish(client::submit(stage, {{"device", OVSTAGE_FILTER_OP_HAS, {}}}, &found));
    EXPECT_EQ(client::found(stage, found).paths.size(), 6u);
    fr_sim_hold(held, false);
    fr_sim_hold(stalled, false);
    for (uint64_t at : {1u, 2u})
        ExpectSameAt(stage, stage.query(6), at);
}

// Of a device that fails for good before they have places: the values are lost, and the keys are
// there, for who looks for those alone, until they are deleted.
TEST_P(NewKeys, OfADeviceThatIsDead)
{
    reports_are_meant = true;
    client::Stage stage(Keeping(0));
    ovx_string_or_token_t attribute = {OnDevice(stage), {}};
    ovstage_read_handle_t read = 0;
    auto count_keys = [&] {
        ovstage_query_handle_t found = 0;
        stage.finish(client::submit(stage, {{"device", OVSTAGE_FILTER_OP_HAS, {}}}, &found));
        return client::found(stage, found).paths.size();
    };
    WriteSet(stage, {2, {8, 1}});
    WriteSet(stage, {1, Steps(0, 6, 2)});
    WriteSet(stage, {1, {6, 1}});
    stage.finish(stage.seal(1));
    WriteSet(stage, {2, {2, 0, 9}});
    EXPECT_TRUE(fr_sim_drain());
    fr_sim_fail_operation(0, 1, FR_CU_ERROR_ILLEGAL_ADDRESS);
    Produce(Stream("last"), Memory(sizeof(float), "last"), 1, 1);
    (void)fr_sim_drain();
    EXPECT_EQ(Read(stage, stage.query(10), OnDevice(stage), 1, nullptr, &read).status,
              OVSTAGE_ERROR_OP_FAILED); // it is found dead
    stage.finish(stage.seal(2));
    EXPECT_EQ(count_keys(), 7u);
    EXPECT_EQ(Read(stage, stage.query(10), OnDevice(stage), 2, nullptr, &read).status,
              OVSTAGE_ERROR_OP_FAILED);
    EXPECT_NE(client::last_error().find("ILLEGAL_ADDRESS"), std::string::npos)
        << client::last_error();
    stage.finish(
        ovstage_delete_attributes(stage.instance, stage.query(Paths({8, 2, 4})), &attribute, 1, 3));
    stage.finish(stage.seal(3));
    EXPECT_EQ(count_keys(), 4u);
}

PLACEMENT_ORDERS(NewKeys);

} // namespace
