// The store through its own interface: what is sealed never changes, whatever fails.
#include <gtest/gtest.h>

#include <vector>

#include <ovstage/ovstage.h>

#include "tests/support/store_fixture.h"
#include "tests/support/store_range.h"

namespace
{

TEST_F(Store, APinnedHeadNeverChanges)
{
    const std::vector<uint32_t> prims = range(1, 40);
    store_query *all = Query(prims), *some = Query({3, 7, 20});
    ASSERT_EQ(Write(all, 1, 1), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 1));
    store_group *held = Read(all, 1);
    for (uint32_t ordinal = 2; ordinal < 12; ordinal++) {
        ASSERT_EQ(Write(ordinal % 4 == 0 ? all : some, ordinal, ordinal), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, ordinal));
        EXPECT_EQ(Values(held, prims), std::vector<int64_t>(40, 1)) << ordinal;
    }
    EXPECT_EQ(store_group_ordinal(held), 1u);
    store_group_release(world, held);
}

// Which a change had that is used again, for more rows than a list has.
TEST_F(Store, TheMemoryOfAListComesBackWhenItBecomesABitmap)
{
    store_query *all = Query(range(1, 400)), *some = Query(range(20, 30)),
                *most = Query(range(1, 90));
    ASSERT_EQ(Write(all, 1, 1), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 1));
    for (uint32_t ordinal = 2; ordinal < 90; ordinal++) {
        ASSERT_EQ(Write(some, ordinal, ordinal), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, ordinal));
    }
    for (uint32_t turn = 0; turn < 4; turn++)
        ASSERT_EQ(store_derive(world, 0, most, 87, 7), OVSTAGE_OK);
    EXPECT_EQ(ReadValues({1, 60}, 88), (std::vector<int64_t>{7, 7}));
}

TEST_F(Store, TwoOlderStatesAreKeptAndNoMore)
{
    const std::vector<uint32_t> prims = range(1, 40);
    store_query *all = Query(prims), *some = Query({3, 7, 20});
    ASSERT_EQ(Write(all, 1, 1), OVSTAGE_OK);
    for (uint32_t ordinal = 2; ordinal < 6; ordinal++)
        ASSERT_EQ(Write(some, ordinal, ordinal), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 1));
    for (uint32_t ordinal = 2; ordinal < 6; ordinal++)
        ASSERT_TRUE(store_world_seal(world, ordinal));
    EXPECT_GT(Figures().in_place, 0u);
    for (uint32_t back = 0; back < 3; back++) {
        std::vector<int64_t> expected(40, 1);
        expected[2] = expected[6] = expected[19] = 5 - back;
        EXPECT_EQ(ReadValues(prims, 5 - back), expected) << back;
    }
    EXPECT_EQ(ReadStatus(all, 2), OVSTAGE_ERROR_OUT_OF_RANGE);
    EXPECT_EQ(ReadStatus(some, 1), OVSTAGE_ERROR_OUT_OF_RANGE);
    EXPECT_EQ(ReadStatus(all, 0), OVSTAGE_OK) << "they were not there then";
}

TEST_F(Store, AWaitingReadKeepsItsMoment)
{
    store_query *all = Query(range(1, 40)), *some = Query({3, 7, 20});
    ASSERT_EQ(Write(all, 1, 1), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 1));
    store_world_hold_moment(world, 1);
    for (uint32_t ordinal = 2; ordinal < 9; ordinal++) {
        ASSERT_EQ(Write(ordinal % 3 ? some : all, ordinal, ordinal), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, ordinal));
    }
    EXPECT_EQ(ReadValues(range(1, 40), 1), std::vector<int64_t>(40, 1));
    std::vector<int64_t> expected(40, 3);
    expected[2] = expected[6] = expected[19] = 4;
    EXPECT_EQ(ReadValues(range(1, 40), 4), expected);
    store_world_release_moment(world, 1);
    ASSERT_EQ(Write(some, 9, 9), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 9));
    EXPECT_EQ(ReadStatus(all, 1), OVSTAGE_ERROR_OUT_OF_RANGE);
}

TEST_F(Store, UndoesRestOnTheNearestWholeState)
{
    Open({8, 0, 0});
    store_query *all = Query(range(1, 40)), *some = Query({3, 7, 20});
    ASSERT_EQ(Write(all, 1, 1), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 1));
    for (uint32_t ordinal = 2; ordinal < 9; ordinal++) {
        // Now and then somebody reads the head, so that whole states lie between the undoes.
        store_group *held = ordinal % 3 == 0 ? Read(all, ordinal - 1) : nullptr;
        ASSERT_EQ(Write(some, ordinal, ordinal), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, ordinal));
        if (held)
            store_group_release(world, held);
    }
    for (uint32_t ordinal = 1; ordinal < 9; ordinal++) {
        std::vector<int64_t> expected(40, 1);
        expected[2] = expected[6] = expected[19] = ordinal;
        EXPECT_EQ(ReadValues(range(1, 40), ordinal), expected) << ordinal;
    }
}

TEST_F(Store, UnsealedChangesAreRefusedAndInvisible)
{
    store_query *all = Query(range(1, 8)), *one = Query({3}), *other = Query({4, 5, 6, 7, 8});
    ASSERT_EQ(Write(all, 1, 1), OVSTAGE_OK);
    EXPECT_EQ(ReadStatus(all, 5), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION) << "without a place";
    EXPECT_EQ(ReadStatus(all, 0), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 1));
    ASSERT_EQ(Write(one, 3, 3), OVSTAGE_OK);
    EXPECT_EQ(ReadStatus(all, 3), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(ReadStatus(one, 9), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(ReadStatus(other, 9), OVSTAGE_OK) << "not one of its prims";
    EXPECT_EQ(ReadValues(range(1, 8), 2), std::vector<int64_t>(8, 1));
}

TEST_F(Store, AHeldHeadCostsASpareAndNoCopy)
{
    Open({0, 0, 0});
    store_query *all = Query(range(1, 100)), *some = Query({3, 7, 20, 33, 34, 35});
    ASSERT_EQ(Write(all, 1, 1), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 1));
    store_group *held = Read(all, 1);
    for (uint32_t ordinal = 2; ordinal < 30; ordinal++) {
        ASSERT_EQ(Write(some, ordinal, ordinal), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, ordinal));
        store_group *next = Read(all, ordinal);
        store_group_release(world, held);
        held = next;
        std::vector<int64_t> expected(100, 1);
        for (uint32_t prim : {3, 7, 20, 33, 34, 35})
            expected[prim - 1] = ordinal;
        ASSERT_EQ(Values(held, range(1, 100)), expected) << ordinal;
    }
    store_group_release(world, held);
    EXPECT_LE(Figures().with_copy, 3u);
    EXPECT_GE(Figures().with_spare, 24u);
}

// With the head always held, each seal brings what an older state lay in up to date; what is kept
// of that state reads as before. As a list of rows, and as a bitmap.
TEST_F(Store, AHeldHeadIsLaidOverAnOlderStateThatStaysReadable)
{
    for (uint32_t changed : {6u, 40u}) {
        Open({3, 0, 0});
        const std::vector<uint32_t> prims = range(1, 100);
        store_query *all = Query(prims), *some = Query(range(30, changed));
        ASSERT_EQ(Write(all, 1, 1), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, 1));
        store_group *held = Read(all, 1), *before = nullptr;
        for (uint32_t ordinal = 2; ordinal < 30; ordinal++) {
            ASSERT_EQ(Write(some, ordinal, ordinal), OVSTAGE_OK);
            ASSERT_TRUE(store_world_seal(world, ordinal));
            if (before)
                store_group_release(world, before);
            // For a while the state before is held as well, and an earlier one has to do.
            before = ordinal > 10 && ordinal < 20 ? held : nullptr;
            if (!before)
                store_group_release(world, held);
            held = Read(all, ordinal);
            for (uint32_t back = 0; back < 3 && back + 1 < ordinal; back++) {
                std::vector<int64_t> expected(100, 1);
                for (uint32_t k = 0; k < changed; k++)
                    expected[29 + k] = ordinal - back;
                ASSERT_EQ(ReadValues(prims, ordinal - back), expected) << ordinal << ' ' << back;
            }
        }
        store_group_release(world, held);
        EXPECT_LE(Figures().with_copy, 3u);
        EXPECT_GE(Figures().with_spare, 24u);
    }
}

TEST_F(Store, AdoptedPayloadsAreNeverWritten)
{
    store_query *all = Query(range(1, 40)), *some = Query({3, 7, 20});
    int deleted = 0, changed = 0;
    for (uint32_t ordinal = 1; ordinal < 6; ordinal++) {
        ASSERT_EQ(store_write_adopted(world, 0, all, ordinal, ordinal, &deleted, &changed),
                  OVSTAGE_OK);
        if (ordinal % 2 == 0) { // once more at the same ordinal
            ASSERT_EQ(Write(some, ordinal, 90 + ordinal), OVSTAGE_OK);
        }
        ASSERT_TRUE(store_world_seal(world, ordinal));
    }
    ASSERT_EQ(Write(some, 6, 6), OVSTAGE_OK); // folded onto one
    ASSERT_TRUE(store_world_seal(world, 6));
    std::vector<int64_t> expected(40, 5);
    expected[2] = expected[6] = expected[19] = 6;
    EXPECT_EQ(ReadValues(range(1, 40), 6), expected);
    Close();
    EXPECT_EQ(deleted, 5);
    EXPECT_EQ(changed, 0);
}

TEST_F(Store, OfAPathListedTwiceTheLastIsWrittenAndBothAreRead)
{
    const std::vector<uint32_t> twice = {5, 6, 5, 7, 6, 5};
    for (uint32_t ordinal = 1; ordinal < 4; ordinal++) {
        // The row's value is its position: each position gets a mask of its own.
        const uint64_t earlier = 0x03, later = 0x3c;
        ASSERT_EQ(Write(Query(twice), ordinal, 1, &earlier), OVSTAGE_OK);
        ASSERT_EQ(Write(Query(twice), ordinal, 10 * ordinal, &later), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, ordinal));
        EXPECT_EQ(ReadValues(twice, ordinal), std::vector<int64_t>(6, 10 * ordinal));
    }
    EXPECT_EQ(Figures().keys, 3u);
}

TEST_F(Store, OneWriteIntoVeryManySegments)
{
    const std::vector<uint32_t> prims = range(1, 300), more = range(1, 303);
    for (uint32_t prim : prims) {
        ASSERT_EQ(Write(Query({prim}), prim, 1), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, prim));
    }
    EXPECT_EQ(Figures().segments, 300u);
    // Key by key, as a write that must be judged is; some have no place yet.
    for (uint32_t turn = 0; turn < 2; turn++) {
        ASSERT_EQ(store_write(world, 0, Query(more), 301, 5 + turn, nullptr, 0, true), OVSTAGE_OK);
        EXPECT_EQ(Figures().versions_open, 301u); // those without a place are one
    }
    ASSERT_TRUE(store_world_seal(world, 301));
    EXPECT_EQ(ReadValues(more, 301), std::vector<int64_t>(303, 6));
}

TEST_F(Store, AListAcrossAndWithinRunsOfPrims)
{
    ASSERT_EQ(Write(Query(range(10, 40)), 1, 1), OVSTAGE_OK); // 10 to 49
    ASSERT_TRUE(store_world_seal(world, 1));
    ASSERT_EQ(Write(Query({9, 50, 8, 51, 7, 60}), 2, 2), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 2));
    const std::vector<std::vector<uint32_t>> lists = {
        {12, 30, 11, 49, 10}, {12, 30, 9, 49, 10},        {12, 30, 50, 49, 10},
        {60, 7, 51, 8, 50},   {10, 11, 12, 13, 14},       {51, 8, 60, 7, 11},
        {49, 48, 47, 46, 45}, {10, 0x80000000, 49, 11, 9}};
    uint64_t ordinal = 3;
    for (const std::vector<uint32_t> &prims : lists) {
        ASSERT_EQ(Write(Query(prims), ordinal, 7), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, ordinal));
        EXPECT_EQ(ReadValues(prims, ordinal), std::vector<int64_t>(5, 7)) << ordinal;
        ordinal++;
    }
    EXPECT_EQ(Figures().keys, 47u);
}

// However far the listed paths lie apart, and whichever of them comes again.
TEST_F(Store, APathListedTwiceIsFoundInAnyList)
{
    for (uint32_t step : {1u, 64u, 5000u, 100000u}) {
        std::vector<uint32_t> prims;
        for (uint32_t k = 0; k < 50; k++)
            prims.push_back(1 + (49 - k) * step);
        for (uint32_t twice : {0u, 21u, 48u}) {
            Open({2, 0, 0});
            prims.push_back(prims[twice]);
            ASSERT_EQ(Write(Query(prims), 1, 1), OVSTAGE_OK);
            ASSERT_TRUE(store_world_seal(world, 1));
            ASSERT_EQ(Write(Query(prims), 2, 2), OVSTAGE_OK);
            ASSERT_TRUE(store_world_seal(world, 2));
            EXPECT_EQ(Figures().keys, 50u) << step;
            EXPECT_EQ(ReadValues(prims, 2), std::vector<int64_t>(51, 2)) << step << ' ' << twice;
            prims.pop_back();
        }
    }
}

TEST_F(Store, OneSealMakesOneSegmentInTheOrderOfTheLowestOrdinal)
{
    ASSERT_EQ(Write(Query({9, 8, 7}), 5, 5), OVSTAGE_OK);
    ASSERT_EQ(Write(Query({4, 7, 3}), 2, 2), OVSTAGE_OK);
    for (uint32_t prim = 20; prim < 60; prim++)
        ASSERT_EQ(Write(Query({prim}), 4, 4), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 5));
    EXPECT_EQ(Figures().segments, 1u);
    EXPECT_EQ(Figures().keys, 45u);
    std::vector<uint32_t> order = {4, 7, 3};
    for (uint32_t prim = 20; prim < 60; prim++)
        order.push_back(prim);
    order.push_back(9);
    order.push_back(8);
    std::vector<int64_t> expected(45, 4);
    expected[0] = expected[2] = 2;
    expected[1] = expected[43] = expected[44] = 5;
    EXPECT_EQ(ReadValues(order, 5), expected);
    EXPECT_EQ(Figures().gathers, 0u) << "these are the rows as they lie";
}

TEST_F(Store, KeysThatManyOrdinalsBringAlongTakeTheirRoomOnce)
{
    const uint32_t count = 2000;
    store_query *all = Query(range(1, count));
    for (uint32_t ordinal = 1; ordinal <= 50; ordinal++)
        ASSERT_EQ(Write(all, ordinal, ordinal), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 50));
    EXPECT_EQ(Figures().keys, count);
    // Three whole states, and tables of some dozen bytes a key.
    EXPECT_LT(fr_test_heap_live_bytes(heap), count * (3 * sizeof(store_row) + 400));
    EXPECT_EQ(ReadValues(range(1, count), 50), std::vector<int64_t>(count, 50));
}

TEST_F(Store, ScopedSealsTakeTheirAttributeOnly)
{
    store_query *all = Query(range(1, 8));
    for (uint32_t attribute = 0; attribute < 2; attribute++)
        ASSERT_EQ(store_write(world, attribute, all, 3, 3, nullptr, 0, false), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal_one(world, 1, 4));
    store_group *group;
    EXPECT_EQ(store_read(world, 0, all, 4, &group), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    ASSERT_EQ(store_read(world, 1, all, 4, &group), OVSTAGE_OK);
    EXPECT_EQ(store_group_ordinal(group), 3u);
    store_group_release(world, group);
    ASSERT_TRUE(store_world_seal(world, 5));
    EXPECT_EQ(ReadValues(range(1, 8), 5), std::vector<int64_t>(8, 3));
}

TEST_F(Store, TheHigherOrdinalsSchemaHasTheKey)
{
    store_query *all = Query(range(1, 8)), *some = Query({2, 3, 4});
    ASSERT_EQ(store_write(world, 0, some, 5, 5, nullptr, 1, true), OVSTAGE_OK);
    ASSERT_EQ(store_write(world, 0, all, 2, 2, nullptr, 0, true), OVSTAGE_OK);
    EXPECT_EQ(store_write(world, 0, some, 6, 6, nullptr, 0, true), OVSTAGE_ERROR_INVALID_ARGUMENT);
    ASSERT_EQ(store_write(world, 0, some, 6, 6, nullptr, 1, true), OVSTAGE_OK);
    ASSERT_EQ(store_write(world, 0, some, 4, 4, nullptr, 0, true), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 6));
    EXPECT_EQ(ReadValues(range(1, 8), 6), (std::vector<int64_t>{2, 6, 6, 6, 2, 2, 2, 2}));
    EXPECT_EQ(ReadValues(range(1, 8), 4), (std::vector<int64_t>{2, 4, 4, 4, 2, 2, 2, 2}));
}

TEST_F(Store, ARepeatedGatherIsTakenFromTheCache)
{
    const std::vector<uint32_t> odd = {9, 3, 1, 7, 5, 12};
    store_query *all = Query(range(1, 40)), *query = Query(odd);
    ASSERT_EQ(Write(all, 1, 1), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 1));
    for (int k = 0; k < 5; k++)
        EXPECT_EQ(ReadStatus(query, 1), OVSTAGE_OK);
    EXPECT_EQ(Figures().gathers, 1u);
    EXPECT_EQ(Figures().gather_hits, 4u);
    EXPECT_GT(Figures().cache_bytes, 0u);
    ASSERT_EQ(Write(query, 2, 2), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 2));
    store_group *group = Read(query, 2);
    EXPECT_EQ(Values(group, odd), std::vector<int64_t>(6, 2)) << "another state";
    store_group_release(world, group);
    group = Read(query, 1);
    EXPECT_EQ(Values(group, odd), std::vector<int64_t>(6, 1));
    store_group_release(world, group);
    Open({2, 0, 1});
    query = Query(odd);
    ASSERT_EQ(Write(Query(range(1, 40)), 1, 1), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 1));
    for (int k = 0; k < 3; k++)
        EXPECT_EQ(ReadStatus(query, 1), OVSTAGE_OK);
    EXPECT_EQ(Figures().gathers, 3u) << "no room to keep one";
    EXPECT_EQ(Figures().cache_bytes, 0u);
}

TEST_F(Store, VeryManyOpenOrdinalsOfOneRow)
{
    const uint32_t count = 20000;
    store_query *all = Query(range(1, 40)), *one = Query({3});
    ASSERT_EQ(Write(all, 1, 1), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 1));
    // From the highest down, so that each is below all that are there.
    for (uint32_t ordinal = count; ordinal > 1; ordinal--)
        ASSERT_EQ(Write(one, ordinal, ordinal), OVSTAGE_OK);
    for (uint32_t ordinal = 2; ordinal <= count; ordinal++)
        ASSERT_TRUE(store_world_seal(world, ordinal));
    EXPECT_EQ(ReadValues({3, 4}, count), (std::vector<int64_t>{count, 1}));
    EXPECT_EQ(ReadValues({3, 4}, count - 2), (std::vector<int64_t>{count - 2, 1}));
    EXPECT_EQ(Figures().pending_bytes, 0u);
}

// However often the keys are written that became visible together with it.
TEST_F(Store, OlderValuesAreThoseOfTheKey)
{
    store_query *still = Query({1}), *often = Query({2});
    ASSERT_EQ(Write(Query(range(1, 10)), 1, 1), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 1));
    for (uint32_t ordinal = 2; ordinal <= 5; ordinal++) {
        ASSERT_EQ(Write(often, ordinal, ordinal), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, ordinal));
    }
    ASSERT_EQ(Write(still, 6, 6), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 6));
    for (uint32_t at = 1; at <= 5; at++)
        EXPECT_EQ(ReadValues({1}, at), std::vector<int64_t>{1}) << at;
    for (uint32_t at = 1; at <= 2; at++)
        EXPECT_EQ(ReadStatus(often, at), OVSTAGE_ERROR_OUT_OF_RANGE) << at;
    for (uint32_t at = 3; at <= 5; at++)
        EXPECT_EQ(ReadValues({2}, at), std::vector<int64_t>{at}) << at;
    for (uint32_t ordinal = 7; ordinal <= 300; ordinal++) {
        ASSERT_EQ(Write(Query({3 + ordinal % 5}), ordinal, ordinal), OVSTAGE_OK);
        if (ordinal % 3 == 0) {
            ASSERT_TRUE(store_world_seal(world, ordinal));
        }
    }
    EXPECT_EQ(ReadValues({1, 10}, 5), (std::vector<int64_t>{1, 1}));
    EXPECT_EQ(ReadValues({1, 2}, 6), (std::vector<int64_t>{6, 5}));
    EXPECT_EQ(ReadValues({1, 2, 10}, 4), (std::vector<int64_t>{1, 4, 1}));
    EXPECT_EQ(ReadStatus(often, 2), OVSTAGE_ERROR_OUT_OF_RANGE);
    EXPECT_EQ(ReadValues(range(3, 5), 290), (std::vector<int64_t>{290, 286, 287, 288, 289}));
    EXPECT_EQ(ReadStatus(Query({3}), 100), OVSTAGE_ERROR_OUT_OF_RANGE);
}

TEST_F(Store, HistoryKeepsToItsBytesAndSparesTheNewest)
{
    const uint64_t limit = 40 * sizeof(store_row) + 600;
    Open({8, limit, 0});
    store_query *all = Query(range(1, 40)), *some = Query({3, 7, 20});
    for (uint32_t ordinal = 1; ordinal < 9; ordinal++) {
        ASSERT_EQ(Write(ordinal % 3 == 1 ? all : some, ordinal, ordinal), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, ordinal));
        EXPECT_LE(Figures().history_bytes, limit);
    }
    EXPECT_GT(Figures().history_drops, 0u);
    EXPECT_GT(Figures().history_bytes, 0u) << "a little fits";
    std::vector<int64_t> expected(40, 7);
    expected[2] = expected[6] = expected[19] = 8;
    EXPECT_EQ(ReadValues(range(1, 40), 8), expected);
    EXPECT_EQ(ReadValues(range(1, 40), 7), std::vector<int64_t>(40, 7));
    EXPECT_EQ(ReadStatus(all, 3), OVSTAGE_ERROR_OUT_OF_RANGE);
    // What a waiting read selects stays, limit or not.
    store_world_hold_moment(world, 8);
    for (uint32_t ordinal = 9; ordinal < 15; ordinal++) {
        ASSERT_EQ(Write(all, ordinal, ordinal), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, ordinal));
    }
    EXPECT_EQ(ReadValues(range(1, 40), 8), expected);
    store_world_release_moment(world, 8);
}

TEST_F(Store, FiguresCountWhatThereIs)
{
    store_query *all = Query(range(1, 40));
    ASSERT_EQ(Write(all, 1, 1), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 1));
    const uint64_t tables = Figures().table_bytes;
    EXPECT_GT(tables, 40u * 4u);
    ASSERT_EQ(Write(all, 2, 2), OVSTAGE_OK);
    ASSERT_EQ(Write(Query({7}), 3, 3), OVSTAGE_OK);
    EXPECT_EQ(Figures().versions_open, 2u);
    EXPECT_EQ(Figures().versions_sealed, 1u);
    EXPECT_GT(Figures().pending_bytes, 40u * sizeof(store_row));
    EXPECT_EQ(Figures().history_bytes, 0u);
    store_group *first = Read(all, 1), *second = Read(all, 1);
    EXPECT_EQ(Figures().pins, 2u);
    store_group_release(world, first);
    store_group_release(world, second);
    EXPECT_EQ(Figures().pins, 0u);
    ASSERT_TRUE(store_world_seal(world, 3));
    EXPECT_EQ(Figures().versions_open, 0u);
    EXPECT_EQ(Figures().versions_sealed, 3u);
    EXPECT_EQ(Figures().pending_bytes, 0u);
    EXPECT_GT(Figures().history_bytes, 40u * sizeof(store_row));
}

} // namespace
