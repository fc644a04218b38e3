// Writes of some rows of a column on a device: what is read of it is what the host's column has.
#include <random>

#include "tests/placement/rows_fixture.h"

namespace
{

class SubsetRows : public RowsTest
{
};

TEST_P(SubsetRows, SomePrimsInAnyOrder)
{
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(Keeping(workers));
        const uint32_t count = 40;
        ovstage_query_handle_t all = stage.query(count);
        std::vector<uint32_t> turned, spread, few = {33, 4, 21}, one = {17}, together = {5, 6, 7};
        for (uint32_t k = 0; k < count; k++) {
            turned.push_back(count - 1 - k);
            if (k % 3 == 1)
                spread.push_back(k * 7 % count);
        }
        uint64_t ordinal = 1;
        WriteBoth(stage, all, ordinal, {{count}, {}, 1000});
        stage.finish(stage.seal(ordinal));
        for (const auto &numbers : {few, spread, one, turned, together, few}) {
            ordinal++;
            Rows rows = {
                {static_cast<int64_t>(numbers.size())}, {}, static_cast<float>(1000 * ordinal)};
            WriteBoth(stage, stage.query(Paths(numbers)), ordinal, rows);
            stage.finish(stage.seal(ordinal));
            for (uint64_t at = ordinal > 2 ? ordinal - 2 : 1; at <= ordinal; at++)
                ExpectSameAt(stage, all, at);
            ExpectSameAt(stage, stage.query(Paths(turned)), ordinal);
            ExpectSame(stage, all, {ordinal, ordinal, true});
            ExpectSame(stage, all, {ordinal - 1, ordinal, true});
        }
    }
}

// Several writes of an ordinal, to the same rows and to others, and of several ordinals that are
// sealed together.
TEST_P(SubsetRows, AnOrdinalIsWrittenAgain)
{
    client::Stage stage(Keeping(2));
    const uint32_t count = 100;
    ovstage_query_handle_t all = stage.query(count);
    WriteBoth(stage, all, 1, {{count}, {}, 1000});
    stage.finish(stage.seal(1));
    float first = 2000;
    for (uint64_t ordinal : {2u, 5u, 3u, 4u, 3u}) {
        for (const std::vector<uint32_t> &numbers :
             std::vector<std::vector<uint32_t>>{{9, 70},
                                                {70, 8},
                                                {1, 2, 3, 4, 5},
                                                {4, 60, 61, 9},
                                                {8},
                                                {99, 98, 97, 96, 95, 94}}) {
            WriteBoth(stage, stage.query(Paths(numbers)), ordinal,
                      {{static_cast<int64_t>(numbers.size())}, {}, first += 100});
        }
    }
    WriteBoth(stage, all, 4, {{count}, {}, first += 1000}); // over what it has
    WriteBoth(stage, stage.query(Paths({50, 3})), 4, {{2}, {}, first += 1000});
    stage.finish(stage.seal(5));
    for (uint64_t ordinal = 1; ordinal <= 5; ordinal++) {
        ExpectSameAt(stage, all, ordinal);
        ExpectSame(stage, all, {ordinal, 5, true});
    }
}

TEST_P(SubsetRows, MasksAndMaps)
{
    client::Stage stage(Keeping(1));
    const uint32_t count = 70;
    ovstage_query_handle_t all = stage.query(count), few = stage.query(Paths({30, 2, 69, 41}));
    WriteBoth(stage, all, 1, {{count}, {}, 1000});
    stage.finish(stage.seal(1));
    Rows masked = {{count}, {}, 2000};
    masked.mask = {0x8000000000000105u, 0x21u};
    WriteBoth(stage, all, 2, masked);
    Rows masked_few = {{4}, {}, 3000};
    masked_few.mask = {0xau};
    WriteBoth(stage, few, 2, masked_few);
    Rows mapped = {{3}, {}, 4000};
    mapped.map = {2, 0, 2, 1};
    WriteBoth(stage, few, 3, mapped);
    Rows none = {{4}, {}, 5000};
    none.mask = {0};
    WriteBoth(stage, few, 3, none);
    Rows turned = {{count}, {}, 6000};
    for (uint32_t k = 0; k < count; k++)
        turned.map.push_back(count - 1 - k);
    WriteBoth(stage, all, 4, turned);
    Rows leading = {{2}, {}, 7000}; // the first prims of the query
    leading.map = {1, 0};
    WriteBoth(stage, all, 5, leading);
    stage.finish(stage.seal(5));
    for (uint64_t ordinal = 1; ordinal <= 5; ordinal++) {
        ExpectSameAt(stage, all, ordinal);
        ExpectSame(stage, all, {ordinal, ordinal, true});
    }
}

TEST_P(SubsetRows, RowsThatLieApart)
{
    for (bool from_host : {false, true}) {
        client::Stage stage(Keeping(1));
        const uint32_t count = 30;
        ovstage_query_handle_t all = stage.query(count), few = stage.query(Paths({29, 2, 11}));
        WriteBoth(stage, all, 1, {{count, 3}, {}, 1000});
        stage.finish(stage.seal(1));
        std::vector<Rows> writes = {{{3, 3}, {5, 1}, 2000},      // rows apart
                                    {{3, 3}, {1, 3}, 3000},      // elements apart
                                    {{3, 3}, {-4, 1}, 4000, 8},  // backwards
                                    {{3, 3}, {0, 1}, 5000},      // one row
                                    {{3, 3}, {7, -2}, 6000, 4}}; // elements backwards
        uint64_t ordinal = 1;
        for (Rows rows : writes) {
            rows.from_host = from_host;
            WriteBoth(stage, few, ++ordinal, rows);
            rows.map = {2, 2, 0};
            rows.first += 500;
            WriteBoth(stage, few, ++ordinal, rows);
            rows.map = {};
            rows.mask = {5};
            rows.first += 100;
            WriteBoth(stage, few, ++ordinal, rows);
        }
        Rows whole = {{count, 3}, {4, 1}, 7000};
        whole.from_host = from_host;
        WriteBoth(stage, all, ++ordinal, whole);
        stage.finish(stage.seal(ordinal));
        for (uint64_t at = 1; at <= ordinal; at++)
            ExpectSame(stage, all, {at, at, true});
        for (uint64_t at = ordinal - 3; at <= ordinal; at++)
            ExpectSameAt(stage, all, at);
    }
}

TEST_P(SubsetRows, RowsOfTheHost)
{
    client::Stage stage(Keeping(2));
    const uint32_t count = 40;
    ovstage_query_handle_t all = stage.query(count);
    WriteBoth(stage, all, 1, {{count}, {}, 1000});
    stage.finish(stage.seal(1));
    uint64_t ordinal = 1;
    for (bool with_event : {true, false})
        for (const std::vector<uint32_t> &numbers :
             std::vector<std::vector<uint32_t>>{{31, 4, 20}, {4, 5, 6}, {7}}) {
            Rows rows = {
                {static_cast<int64_t>(numbers.size())}, {}, static_cast<float>(1000 * ++ordinal)};
            rows.from_host = true;
            rows.with_event = with_event;
            WriteBoth(stage, stage.query(Paths(numbers)), ordinal, rows);
        }
    Rows masked = {{count}, {}, 9000};
    masked.mask = {0x5500aau};
    masked.from_host = true;
    WriteBoth(stage, all, ++ordinal, masked);
    stage.finish(stage.seal(ordinal));
    for (uint64_t at = 1; at <= ordinal; at++)
        ExpectSame(stage, all, {at, at, true});
    ExpectSameAt(stage, all, ordinal);
}

// New keys of one seal are written together; then some of them, and some with older ones.
TEST_P(SubsetRows, NewKeys)
{
    client::Stage stage(Keeping(1));
    ovstage_query_handle_t all = stage.query(9);
    Rows some = {{9}, {}, 1000};
    some.mask = {0xb6};
    WriteBoth(stage, all, 1, some);
    WriteBoth(stage, stage.query(Paths({4, 2, 7})), 1, {{3}, {}, 1500}); // of these
    some.first = 2000;
    WriteBoth(stage, all, 2, some); // the same again, at another ordinal
    stage.finish(stage.seal(1));
    WriteBoth(stage, stage.query(Paths({2, 7})), 2, {{2}, {}, 2500}); // which has them still
    WriteBoth(stage, all, 3, {{9}, {}, 3000});                        // three new ones among them
    WriteBoth(stage, stage.query(Paths({3, 2, 0, 7})), 3, {{4}, {}, 3500});
    stage.finish(stage.seal(3));
    WriteBoth(stage, stage.query(Paths({8, 0, 4, 3})), 4, {{4}, {}, 4000});
    stage.finish(stage.seal(4));
    for (uint64_t ordinal = 1; ordinal <= 4; ordinal++) {
        ExpectSameAt(stage, all, ordinal);
        ExpectSame(stage, all, {ordinal, ordinal, true});
    }
}

// The numbers of the rows are on the device before a kernel reads them, though its stream has
// nothing to wait for.
TEST_P(SubsetRows, TheListsAreThere)
{
    client::Stage stage(Keeping(0));
    std::vector<uint32_t> apart;
    for (uint32_t k = 0; k < 60; k += 2)
        apart.push_back(k);
    ovstage_query_handle_t all = stage.query(60), some = stage.query(Paths(apart));
    WriteBoth(stage, all, 1, {{60}, {}, 100});
    stage.finish(stage.seal(1));
    for (uint64_t ordinal = 2; ordinal <= 4; ordinal++) {
        Rows rows = {{30}, {}, static_cast<float>(ordinal * 100)};
        rows.from_host = ordinal == 3;
        WriteBoth(stage, some, ordinal, rows);
        stage.finish(stage.seal(ordinal));
        ExpectSameAt(stage, some, ordinal);
    }
}

// Writes of one ordinal in streams of the client's: what the first has written is copied, written
// over, and read.
TEST_P(SubsetRows, AnotherStream)
{
    client::Stage stage(Keeping(2));
    ovstage_query_handle_t all = stage.query(40);
    WriteBoth(stage, all, 1, {{40}, {}, 0});
    stage.finish(stage.seal(1));
    float first = 1000;
    for (uint64_t ordinal = 2; ordinal <= 3; ordinal++) {
        for (const std::vector<uint32_t> &numbers : std::vector<std::vector<uint32_t>>{
                 {9, 30}, {30, 8, 2}, {9, 8}, {30, 2}, {1, 3, 5, 7, 11, 13, 15, 17, 19, 21}}) {
            Rows rows = {{static_cast<int64_t>(numbers.size())}, {}, first += 100};
            rows.stream = Stream("writer");
            WriteBoth(stage, stage.query(Paths(numbers)), ordinal, rows);
        }
        stage.finish(stage.seal(ordinal));
        ExpectSameAt(stage, all, ordinal);
    }
}

// Rows of an ordinal that waits for a producer hold up no read of others at that ordinal.
TEST_P(SubsetRows, AStalledProducerHoldsUpItsRowsAlone)
{
    client::Stage stage(Keeping(1));
    ovstage_query_handle_t all = stage.query(30), few = stage.query(Paths({20, 3, 12})),
                           rest = stage.query(Paths({1, 2, 4}));
    stage.finish(WriteOnDevice(stage, all, 1, {{30}, {}, 0}, Stream("producer")));
    stage.finish(stage.seal(1));
    fr_cu_stream stalled = Stream("stalled producer");
    fr_sim_hold(stalled, true);
    Rows late = {{3}, {}, 200};
    late.event = Event();
    stage.finish(WriteOnDevice(stage, few, 2, late, stalled));
    stage.finish(stage.seal(2));
    fr_cu_event readable = Event();
    ovstage_placement_t placement = Place(nullptr, readable);
    EXPECT_EQ(ReadGroups(stage, rest, OnDevice(stage), {0, 2, false}, &placement)[0].values,
              (std::vector<float>{1, 2, 4}));
    EXPECT_EQ(cu->cuEventQuery(late.event), (fr_cu_result)FR_CU_ERROR_NOT_READY);
    fr_sim_hold(stalled, false);
    EXPECT_EQ(ReadGroups(stage, few, OnDevice(stage), {0, 2, false}, &placement)[0].values,
              (std::vector<float>{200, 201, 202}));
}

// A seal does not wait for a producer; what it could not fold is gathered over, and folded when the
// rows are there, or when there is too much of it.
TEST_P(SubsetRows, AStalledProducerIsNotFolded)
{
    client::Stage stage(Keeping(1));
    const uint32_t count = 50;
    ovstage_query_handle_t all = stage.query(count), few = stage.query(Paths({40, 3, 12})),
                           rest = stage.query(Paths({1, 2, 4}));
    WriteBoth(stage, all, 1, {{count}, {}, 100});
    stage.finish(stage.seal(1));
    ExpectSameAt(stage, all, 1);
    fr_cu_stream stalled = Stream("stalled producer");
    fr_sim_hold(stalled, true);
    const std::vector<float> late = {200, 201, 202};
    stage.finish(stage.write(few, OnHost(stage), 2, late));
    stage.finish(WriteOnDevice(stage, few, 2, {{3}, {}, 200}, stalled));
    for (uint64_t ordinal = 3; ordinal <= 14; ordinal++) {
        stage.finish(stage.seal(ordinal - 1));
        WriteBoth(stage, rest, ordinal, {{3}, {}, static_cast<float>(100 * ordinal)});
    }
    stage.finish(stage.seal(14));
    EXPECT_FALSE(fr_sim_drain());
    fr_sim_hold(stalled, false);
    for (uint64_t ordinal = 12; ordinal <= 14; ordinal++)
        ExpectSameAt(stage, all, ordinal);
    ExpectSame(stage, all, {2, 14, true});
    EXPECT_TRUE(fr_sim_drain());
    WriteBoth(stage, rest, 15, {{3}, {}, 7000});
    stage.finish(stage.seal(15));
    ExpectSameAt(stage, all, 15);
}

// A fold does not come behind what another column waits for at the same ordinal, nor does what a
// head that is used again leaves behind.
TEST_P(SubsetRows, AStalledProducerHoldsUpNoFoldOfOthers)
{
    client::Stage stage(Keeping(1));
    const uint32_t count = 30;
    ovstage_query_handle_t all = stage.query(count), few = stage.query(Paths({20, 3, 12}));
    fr_cu_stream stalled = Stream("stalled producer"), producer = Stream("producer");
    fr_cu_event late = Event();
    for (uint64_t ordinal = 1; ordinal <= 5; ordinal++) {
        Rows rows = {{ordinal == 1 ? count : 3}, {}, static_cast<float>(1000 * ordinal)};
        rows.with_event = false; // so that it is written when it is sealed
        stage.finish(WriteOnDevice(stage, ordinal == 1 ? all : few, ordinal, rows, producer));
        fr_sim_hold(stalled, true);
        fr_cu_device_ptr memory = Memory(count * sizeof(float), "late source");
        Produce(stalled, memory, count, 0);
        ovstage_placement_t placement = Place(nullptr, late);
        stage.finish(Write(stage, all, stage.token("late"), ordinal, memory, count,
                           {Handle(stalled), 0}, &placement));
        stage.finish(stage.seal(ordinal));
    }
    for (uint64_t ordinal = 1; ordinal <= 5; ordinal++) {
        fr_cu_event readable = Event();
        ovstage_placement_t placement = Place(nullptr, readable);
        ovstage_read_handle_t read = 0;
        stage.finish(Read(stage, all, OnDevice(stage), ordinal, &placement, &read));
        EXPECT_FALSE(fr_sim_drain());
        EXPECT_EQ(cu->cuEventQuery(readable), 0u) << ordinal;
        stage.finish(ovstage_release_read(stage.instance, read));
    }
    EXPECT_EQ(cu->cuEventQuery(late), (fr_cu_result)FR_CU_ERROR_NOT_READY);
    fr_sim_hold(stalled, false);
}

// A group that is held shows the same while its rows are written again and folded.
TEST_P(SubsetRows, AGroupStaysAsItIs)
{
    client::Stage stage(Keeping(1));
    ovstage_query_handle_t all = stage.query(20), few = stage.query(Paths({9, 3, 15}));
    WriteBoth(stage, all, 1, {{20}, {}, 0});
    stage.finish(stage.seal(1));
    fr_cu_stream consumer = Stream("consumer");
    fr_cu_event readable = Event();
    fr_cu_device_ptr sum = Memory(sizeof(float), "sum");
    ovstage_placement_t placement = Place(nullptr, readable);
    ovstage_read_handle_t read = 0;
    stage.finish(Read(stage, all, OnDevice(stage), 1, &placement, &read));
    ovstage_read_group_t group = {};
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group), OVSTAGE_OK);
    for (uint64_t ordinal = 2; ordinal <= 9; ordinal++) {
        WriteBoth(stage, few, ordinal, {{3}, {}, static_cast<float>(1000 * ordinal)});
        stage.finish(stage.seal(ordinal));
        ExpectSameAt(stage, all, ordinal);
    }
    FR_SIM_OK(cu->cuStreamWaitEvent(consumer, readable, 0));
    Sum(consumer, reinterpret_cast<fr_cu_device_ptr>(group.data.tensors[0].data), 20, sum);
    EXPECT_EQ(Value(consumer, sum), 190);
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    stage.finish(ovstage_release_read(stage.instance, read));
}

// A head is made of a payload that nobody reads any more, by what has changed since.
TEST_P(SubsetRows, HeadsAreBroughtUpToDate)
{
    for (bool same : {false, true}) {
        flyrail_config_t config = Keeping(2);
        config.history_versions = same ? 1 : 100;
        client::Stage stage(config);
        const uint32_t count = 60;
        ovstage_query_handle_t all = stage.query(count);
        WriteBoth(stage, all, 1, {{count}, {}, 0});
        stage.finish(stage.seal(1));
        flyrail_statistics_t before = stage.statistics();
        const uint64_t last = 12;
        for (uint64_t ordinal = 2; ordinal <= last; ordinal++) {
            std::vector<uint32_t> numbers;
            for (uint32_t k = 0; k < (ordinal % 3 == 0 ? 12u : 3u); k++)
                numbers.push_back((k * 7 + (same ? 0 : static_cast<uint32_t>(ordinal) * 5)) %
                                  count);
            Rows rows = {
                {static_cast<int64_t>(numbers.size())}, {}, static_cast<float>(1000 * ordinal)};
            rows.with_event = false; // so that it is written when it is sealed
            WriteBoth(stage, stage.query(Paths(numbers)), ordinal, rows);
            stage.finish(stage.seal(ordinal));
            EXPECT_TRUE(fr_sim_drain());
            ExpectSameAt(stage, all, ordinal);
            if (ordinal > 3)
                ExpectSameAt(stage, all, ordinal - (same ? 0 : 2));
        }
        flyrail_statistics_t after = stage.statistics();
        for (uint64_t ordinal = 1; !same && ordinal <= last; ordinal++)
            ExpectSameAt(stage, all, ordinal);
        // The host's column counts as well: it is folded in place, unless a group is held.
        EXPECT_GE(after.folds_with_spare - before.folds_with_spare, last - 4);
        EXPECT_LE(after.folds_with_copy - before.folds_with_copy, 3u);
    }
}

// A fold that waits for producers is in a stream of their ordinal: it writes what an older state
// lay in only when that is saved, which another stream does.
TEST_P(SubsetRows, AFoldThatIsForcedWaitsForWhatIsSaved)
{
    client::Stage stage(Keeping(1));
    const uint32_t count = 20;
    const uint64_t last = 10; // as many as may wait
    ovstage_query_handle_t all = stage.query(count), few = stage.query(Paths({9, 3, 15}));
    Rows rows = {{3}, {}, 1000};
    rows.with_event = false; // so that it is folded when it is sealed
    WriteBoth(stage, all, 1, {{count}, {}, 0});
    stage.finish(stage.seal(1));
    WriteBoth(stage, few, 2, rows);
    stage.finish(stage.seal(2));
    EXPECT_TRUE(fr_sim_drain());
    ExpectSameAt(stage, all, 2);
    uint64_t before = stage.statistics().folds_with_spare;
    fr_cu_stream stalled = Stream("stalled producer");
    fr_sim_hold(stalled, true);
    rows.with_event = true;
    for (uint64_t ordinal = 3; ordinal <= last; ordinal++) {
        rows.first = static_cast<float>(1000 * ordinal);
        const std::vector<float> values = {rows.first, rows.first + 1, rows.first + 2};
        stage.finish(stage.write(few, OnHost(stage), ordinal, values));
        stage.finish(WriteOnDevice(stage, few, ordinal, rows, stalled));
        stage.finish(stage.seal(ordinal));
    }
    EXPECT_FALSE(fr_sim_drain());
    fr_sim_hold(stalled, false);
    // The host's column is folded in place.
    EXPECT_EQ(stage.statistics().folds_with_spare - before, 1u);
    for (uint64_t ordinal = 1; ordinal <= last; ordinal++)
        ExpectSameAt(stage, all, ordinal);
}

// A payload that a device still reads for somebody is not written for the next head: who reads that
// does not wait for the other.
TEST_P(SubsetRows, AStalledReaderHoldsUpNoHead)
{
    client::Stage stage(Keeping(1));
    const uint32_t count = 20;
    std::vector<uint32_t> turned;
    for (uint32_t k = 0; k < count; k++)
        turned.push_back(count - 1 - k);
    ovstage_query_handle_t all = stage.query(count), few = stage.query(Paths({9, 3, 15}));
    WriteBoth(stage, all, 1, {{count}, {}, 0});
    stage.finish(stage.seal(1));
    ExpectSameAt(stage, all, 1);
    fr_cu_stream held = Stream("held reader");
    fr_cu_event readable = Event();
    ovstage_placement_t placement = Place(held, readable);
    fr_sim_hold(held, true);
    ovstage_read_handle_t read = 0;
    stage.finish(Read(stage, stage.query(Paths(turned)), OnDevice(stage), 1, &placement, &read));
    stage.finish(ovstage_release_read(stage.instance, read));
    for (uint64_t ordinal = 2; ordinal <= 6; ordinal++) {
        Rows rows = {{3}, {}, static_cast<float>(1000 * ordinal)};
        rows.with_event = false;
        WriteBoth(stage, few, ordinal, rows);
        stage.finish(stage.seal(ordinal));
        (void)fr_sim_drain();
        ExpectSameAt(stage, all, ordinal);
    }
    EXPECT_EQ(cu->cuEventQuery(readable), (fr_cu_result)FR_CU_ERROR_NOT_READY);
    fr_sim_hold(held, false);
}

// Programs by chance.
TEST_P(SubsetRows, AnyWrites)
{
    std::mt19937 random(static_cast<uint32_t>(GetParam().seed) * 977u + 5u);
    auto below = [&](size_t end) { return static_cast<uint32_t>(random() % end); };
    for (uint32_t program = 0; program < 3; program++) {
        client::Stage stage(Keeping(below(3)));
        const uint32_t count = 10 + below(90);
        ovstage_query_handle_t all = stage.query(count);
        uint64_t sealed = 1;
        WriteBoth(stage, all, 1, {{count}, {}, 0});
        stage.finish(stage.seal(1));
        for (uint32_t step = 0; step < 25; step++) {
            std::vector<uint32_t> numbers(count);
            for (uint32_t k = 0; k < count; k++)
                numbers[k] = k;
            std::shuffle(numbers.begin(), numbers.end(), random);
            numbers.resize(1 + below(below(2) ? 5 : count));
            auto size = static_cast<uint32_t>(numbers.size());
            Rows rows = {{size}, {}, static_cast<float>(1000 * (step + 1))};
            if (below(3) == 0)
                for (uint32_t k = 0; k < size; k++)
                    rows.map.push_back(below(size));
            else if (below(2) == 0)
                for (uint32_t k = 0; k < size; k += 64)
                    rows.mask.push_back((static_cast<uint64_t>(random()) << 32) + random());
            if (below(3) == 0)
                rows.strides = {1 + below(3)};
            rows.from_host = below(3) == 0;
            rows.with_event = below(2) == 0;
            WriteBoth(stage, stage.query(Paths(numbers)), sealed + 1 + below(3), rows);
            if (below(3) == 0) {
                sealed += 1 + below(2);
                stage.finish(stage.seal(sealed));
                ExpectSameAt(stage, all, sealed);
                ExpectSameAt(stage, stage.query(Paths(numbers)), sealed);
                ExpectSame(stage, all, {sealed - below(2), sealed, true});
            }
        }
        stage.finish(stage.seal(sealed + 3));
        ExpectSameAt(stage, all, sealed + 3);
    }
}

PLACEMENT_ORDERS(SubsetRows);

} // namespace
