// What the store keeps beside the values: within its bounds, counted, and given back.
#include <gtest/gtest.h>

#include <vector>

#include <ovstage/ovstage.h>

#include "tests/support/store_fixture.h"
#include "tests/support/store_range.h"

namespace
{

// Of more queries than the cache has room for, those that are read again and again stay.
TEST_F(Store, TheLeastUsedGatherGoesForANewOne)
{
    const uint64_t limit = 53u << 10; // not quite as much as all of them take
    Open({2, 0, limit});
    ASSERT_EQ(Write(Query(range(1, 200)), 1, 1), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 1));
    std::vector<uint32_t> prims = range(100, 60);
    std::swap(prims[3], prims[7]);
    store_query *often = Query(prims);
    std::vector<store_query *> seldom;
    for (uint32_t k = 1; k <= 30; k++) {
        prims[0] = k;
        seldom.push_back(Query(prims));
    }
    EXPECT_EQ(ReadStatus(often, 1), OVSTAGE_OK);
    for (uint32_t turn = 0; turn < 3; turn++)
        for (store_query *query : seldom) {
            EXPECT_EQ(ReadStatus(query, 1), OVSTAGE_OK);
            uint64_t before = Figures().gather_hits;
            EXPECT_EQ(ReadStatus(often, 1), OVSTAGE_OK);
            EXPECT_EQ(Figures().gather_hits, before + 1);
            EXPECT_LE(Figures().cache_bytes, limit);
        }
    // The newest is there, the first one is not.
    uint64_t hits = Figures().gather_hits, gathers = Figures().gathers;
    EXPECT_GT(gathers, 31u) << "all had room";
    EXPECT_EQ(ReadStatus(seldom.back(), 1), OVSTAGE_OK);
    EXPECT_EQ(Figures().gather_hits, hits + 1);
    EXPECT_EQ(ReadStatus(seldom.front(), 1), OVSTAGE_OK);
    EXPECT_EQ(Figures().gathers, gathers + 1);
    for (store_query *query : queries)
        store_query_destroy(world, query);
    queries.clear();
    EXPECT_EQ(Figures().cache_bytes, 0u);
}

// A query whose binding the caches have no room for, or whose rows do not fit beside the bindings,
// takes nothing from the others.
TEST_F(Store, WhatIsNotKeptDrivesNothingOut)
{
    const uint32_t limit = 16u << 10;
    Open({2, 0, limit});
    const uint32_t count = limit / sizeof(store_row);
    ASSERT_EQ(Write(Query(range(1, count)), 1, 1), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 1));
    auto swapped = [](uint32_t rows) {
        std::vector<uint32_t> prims = range(1, rows);
        std::swap(prims[3], prims[7]);
        return prims;
    };
    store_query *small = Query(swapped(20));
    EXPECT_EQ(ReadStatus(small, 1), OVSTAGE_OK);
    for (uint32_t rows : {count, count - 32, count / 2 + count / 4}) {
        SCOPED_TRACE(rows);
        store_query *large = Query(swapped(rows));
        EXPECT_EQ(ReadStatus(large, 1), OVSTAGE_OK);
        EXPECT_LE(Figures().cache_bytes, limit);
        uint64_t hits = Figures().gather_hits;
        EXPECT_EQ(ReadStatus(small, 1), OVSTAGE_OK);
        EXPECT_EQ(Figures().gather_hits, hits + 1);
    }
}

TEST_F(Store, KeptChangesAreBoundedAndCounted)
{
    const uint32_t count = 80000; // a change of every tenth row takes 200 KB
    store_query *all = Query(range(1, count));
    std::vector<uint32_t> tenth;
    for (uint32_t k = 1; k <= count; k += 10)
        tenth.push_back(k);
    store_query *some = Query(tenth);
    ASSERT_EQ(Write(all, 1, 1), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 1));
    const uint64_t before = Figures().table_bytes;
    const uint64_t each = tenth.size() * (sizeof(uint32_t) + sizeof(uint64_t));
    const uint32_t open = 100;
    for (uint32_t ordinal = 2; ordinal < 2 + open; ordinal++)
        ASSERT_EQ(Write(some, ordinal, ordinal), OVSTAGE_OK);
    EXPECT_GE(Figures().table_bytes, before + open * each) << "not counted";
    ASSERT_TRUE(store_world_seal(world, 1 + open));
    ASSERT_EQ(Write(all, 2 + open, 3), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 2 + open));
    ASSERT_EQ(Write(all, 3 + open, 3), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 3 + open));
    ASSERT_EQ(Write(all, 4 + open, 3), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 4 + open));
    const uint64_t kept = uint64_t{8} << 20;
    const uint64_t log = Figures().membership_bytes; // of what the last seals changed
    EXPECT_GE(log, open * each);
    EXPECT_LE(Figures().table_bytes - log, before + kept + 4 * each + (64u << 10));
}

// A bound write leaves its list of rows without an index; who looks rows up in it makes one.
TEST_F(Store, ListsOfRowsAreIndexedByWhoLooksThemUp)
{
    const uint32_t count = 4000;
    std::vector<uint32_t> tenth, backwards;
    for (uint32_t k = 3; k <= count; k += 10)
        tenth.push_back(k);
    for (uint32_t k = count; k > 1; k -= 2)
        backwards.push_back(k);
    for (uint32_t k : tenth)
        backwards.push_back(k);
    store_query *all = Query(range(1, count)), *some = Query(tenth);
    ASSERT_EQ(Write(all, 1, 1), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 1));
    std::vector<store_group *> held;
    for (uint32_t ordinal = 2; ordinal <= 6; ordinal++) {
        ASSERT_EQ(Write(some, ordinal, ordinal), OVSTAGE_OK);
        EXPECT_EQ(ReadStatus(Query({3993, 5}), ordinal), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
        EXPECT_EQ(ReadStatus(all, ordinal), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
        EXPECT_EQ(ReadStatus(Query({4, 5}), ordinal), OVSTAGE_OK);
        // The list goes on with the index.
        ASSERT_EQ(Write(Query({4, 13, 8, 9, 10, 11}), ordinal, ordinal), OVSTAGE_OK);
        EXPECT_EQ(ReadStatus(Query({4, 5}), ordinal), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
        ASSERT_TRUE(store_world_seal(world, ordinal));
        held.push_back(Read(all, ordinal));
    }
    for (uint32_t at = 4; at <= 6; at++) {
        std::vector<int64_t> expected(backwards.size(), 1);
        for (size_t k = 0; k < backwards.size(); k++)
            if (backwards[k] % 10 == 3 || backwards[k] == 4 ||
                (backwards[k] >= 8 && backwards[k] <= 11))
                expected[k] = at;
        store_group *group = Read(Query(backwards), at);
        ASSERT_NE(group, nullptr);
        EXPECT_EQ(Values(group, backwards), expected) << at;
        EXPECT_EQ(store_group_ordinal(group), at);
        store_group_release(world, group);
        // None of these were written since: the newest of theirs is the first.
        std::vector<uint32_t> fives;
        for (uint32_t k = 5; k <= count; k += 10)
            fives.push_back(k);
        group = Read(Query(fives), at);
        EXPECT_EQ(store_group_ordinal(group), 1u);
        store_group_release(world, group);
    }
    EXPECT_EQ(ReadStatus(Query(backwards), 2), OVSTAGE_ERROR_OUT_OF_RANGE);
    for (store_group *group : held)
        store_group_release(world, group);
}

} // namespace
