// Keys that were made one by one and are written together move into one segment, and nobody sees
// anything of it.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include <ovstage/ovstage.h>

#include "tests/support/store_fixture.h"
#include "tests/support/store_range.h"

namespace
{

constexpr uint32_t count = 40, frames = 12;

class Rehome : public Store
{
  protected:
    const std::vector<uint32_t> prims = range(1, count);
    uint64_t last = 0;

    // A key at each ordinal.
    void Spawn()
    {
        for (uint32_t prim : prims) {
            ASSERT_EQ(Write(Query({prim}), ++last, 1000 + prim), OVSTAGE_OK);
            ASSERT_TRUE(store_world_seal(world, last));
        }
        EXPECT_EQ(Figures().segments, count);
    }
    // All of them, so often that they move.
    void PassFrames(store_query *all, uint32_t many = frames)
    {
        for (uint32_t k = 0; k < many; k++) {
            ASSERT_EQ(Write(all, last + 1, static_cast<uint32_t>(last) + 1), OVSTAGE_OK);
            ASSERT_TRUE(store_world_seal(world, ++last));
        }
    }
    static std::vector<int64_t> Same(uint64_t value)
    {
        return std::vector<int64_t>(count, static_cast<int64_t>(value));
    }
    void Delete(const std::vector<uint32_t> &which, uint64_t ordinal)
    {
        store_op op = {};
        op.ordinal = ordinal;
        op.query = Query(which);
        op.deletes = true;
        store_accept(world, &op);
        ASSERT_EQ(store_run(world, &op), OVSTAGE_OK);
    }
};

TEST_F(Rehome, KeysThatAreWrittenTogetherLieTogether)
{
    Spawn();
    store_query *all = Query(prims);
    PassFrames(all);
    EXPECT_EQ(Figures().segments, 1u);
    EXPECT_EQ(Figures().keys, count);
    store_group_release(world, Read(all, last));
    const uint64_t gathers = Figures().gathers;
    PassFrames(all, 3);
    EXPECT_EQ(ReadValues(prims, last), Same(last));
    store_group_release(world, Read(all, last));
    EXPECT_EQ(Figures().gathers, gathers) << "the rows are the head";
}

TEST_F(Rehome, FewOrRarelyWrittenKeysStay)
{
    Spawn();
    for (uint32_t k = 0; k < 3 * frames; k++) { // no two seals in a row write the same ones
        ASSERT_EQ(Write(Query(range(1 + k % 2 * 20, 20)), ++last, 1), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, last));
    }
    PassFrames(Query(range(1, 9)));
    EXPECT_EQ(Figures().segments, count);
}

// One that the keys had before they moved, and those since, at each moment that is kept.
TEST_F(Rehome, OlderStatesStayAsTheyWere)
{
    Spawn();
    store_query *all = Query(prims);
    bool moved = false;
    for (uint32_t k = 0; k < frames; k++) {
        PassFrames(all, 1);
        for (uint64_t at = last; at + 2 >= last && at > count; at--)
            EXPECT_EQ(ReadValues(prims, at), Same(at)) << at << " of " << last;
        moved = moved || Figures().segments == 1;
    }
    EXPECT_TRUE(moved);
    EXPECT_EQ(ReadStatus(all, last - 3), OVSTAGE_ERROR_OUT_OF_RANGE);
    EXPECT_EQ(ReadStatus(all, 0), OVSTAGE_OK) << "they were not there then";
}

TEST_F(Rehome, AHeldGroupStaysAsItWas)
{
    Spawn();
    store_query *all = Query(prims);
    std::map<uint64_t, store_group *> held;
    for (uint32_t k = 0; k < frames; k++) {
        PassFrames(all, 1);
        held[last] = Read(all, last);
    }
    EXPECT_EQ(Figures().segments, 1u);
    for (auto [ordinal, group] : held) {
        EXPECT_EQ(Values(group, prims), Same(ordinal));
        EXPECT_EQ(store_group_ordinal(group), ordinal);
        store_group_release(world, group);
    }
}

// What an open ordinal has written keeps its keys where they are until it is sealed.
TEST_F(Rehome, OpenVersionsKeepTheirKeysWhereTheyAre)
{
    Spawn();
    store_query *all = Query(prims);
    ASSERT_EQ(Write(all, 1000, 7), OVSTAGE_OK);
    PassFrames(all, 80);
    EXPECT_EQ(Figures().segments, count);
    last = 1000;
    ASSERT_TRUE(store_world_seal(world, last));
    EXPECT_EQ(Figures().segments, 1u);
    EXPECT_EQ(ReadValues(prims, last), Same(7));
    EXPECT_EQ(ReadValues(prims, last - 1), Same(count + 80));
    EXPECT_EQ(ReadValues(prims, count + 79), Same(count + 79));
    PassFrames(all, 3);
    for (uint64_t at = last; at > last - 3; at--)
        EXPECT_EQ(ReadValues(prims, at), Same(at));
}

// Ordinals that wrote all keys before they moved are told as one step each.
TEST_F(Rehome, KeysThatWereAlwaysWrittenTogether)
{
    Spawn();
    store_query *all = Query(prims);
    ASSERT_EQ(Write(all, 1000, 7), OVSTAGE_OK); // is in the way of the first
    PassFrames(all, 80);
    last = 1000;
    ASSERT_TRUE(store_world_seal(world, last));
    EXPECT_EQ(Figures().segments, 1u);
    ASSERT_EQ(Write(Query({5, 9}), last + 1, 3), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, ++last));
    std::vector<int64_t> values = Same(7);
    EXPECT_EQ(ReadValues(prims, last - 1), values);
    values[4] = values[8] = 3;
    EXPECT_EQ(ReadValues(prims, last), values);
    store_group *group = Read(Query({5, 6}), last - 1);
    EXPECT_EQ(store_group_ordinal(group), last - 1);
    store_group_release(world, group);
    group = Read(Query({6, 7}), last);
    EXPECT_EQ(store_group_ordinal(group), last - 1) << "when those were written last";
    store_group_release(world, group);
    group = Read(Query({6, 7}), last - 2);
    EXPECT_EQ(store_group_ordinal(group), count + 80u);
    store_group_release(world, group);
}

TEST_F(Rehome, MoreKeysThanALockIsHeldFor)
{
    const std::vector<uint32_t> many = range(1, 700);
    for (uint32_t prim : many) {
        ASSERT_EQ(Write(Query({prim}), ++last, prim), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, last));
    }
    store_query *all = Query(many);
    PassFrames(all);
    EXPECT_EQ(Figures().segments, 1u);
    EXPECT_EQ(ReadValues(many, last), std::vector<int64_t>(700, static_cast<int64_t>(last)));
}

TEST_F(Rehome, NewKeysJoinLater)
{
    Spawn();
    PassFrames(Query(prims));
    const std::vector<uint32_t> more = range(101, count);
    for (uint32_t prim : more) {
        ASSERT_EQ(Write(Query({prim}), ++last, 1), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, last));
    }
    std::vector<uint32_t> both = prims;
    both.insert(both.end(), more.begin(), more.end());
    PassFrames(Query(both), 3 * frames);
    EXPECT_EQ(Figures().segments, 1u);
    EXPECT_EQ(ReadValues(both, last),
              std::vector<int64_t>(both.size(), static_cast<int64_t>(last)));
}

TEST_F(Rehome, DeletedKeysStayDeletedAndComeBack)
{
    Spawn();
    store_query *all = Query(prims);
    PassFrames(all, 7);
    ASSERT_EQ(Write(all, last + 1, 8), OVSTAGE_OK);
    Delete({3, 4}, last + 1);
    ASSERT_TRUE(store_world_seal(world, ++last));
    EXPECT_EQ(Figures().segments, 2u) << "tombstones lie in one of their own";
    EXPECT_EQ(Figures().keys, count - 2);
    EXPECT_EQ(ReadValues({2, 3, 4, 5}, last), (std::vector<int64_t>{8, -1, -1, 8}));
    EXPECT_EQ(ReadValues(prims, last - 1), Same(last - 1));
    PassFrames(all, 1);
    EXPECT_EQ(ReadValues(prims, last), Same(last));
    EXPECT_EQ(Figures().keys, count);
    Delete({3}, last + 1);
    ASSERT_TRUE(store_world_seal(world, ++last));
    EXPECT_EQ(Figures().keys, count - 1);
    const int64_t value = static_cast<int64_t>(last) - 1;
    EXPECT_EQ(ReadValues({2, 3, 4}, last), (std::vector<int64_t>{value, -1, value}));
    EXPECT_EQ(ReadValues({2, 3, 4}, last - 1), (std::vector<int64_t>(3, value)));
}

// At the newest state, and below it.
TEST_F(Rehome, RowsAreDerivedAtStatesOfBefore)
{
    Spawn();
    store_query *all = Query(prims);
    PassFrames(all, frames);
    ASSERT_EQ(Figures().segments, 1u);
    ASSERT_EQ(Write(Query({9}), last + 1, 99), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, ++last));
    store_query *some = Query({8, 9});
    ASSERT_EQ(store_derive(world, 0, some, last - 1, 77), OVSTAGE_OK);
    EXPECT_EQ(ReadValues({7, 8, 9}, last - 1),
              (std::vector<int64_t>{static_cast<int64_t>(last) - 1, 77, 77}));
    EXPECT_EQ(ReadValues({7, 8, 9}, last),
              (std::vector<int64_t>{static_cast<int64_t>(last) - 1, 77, 99}));
    EXPECT_EQ(ReadValues({7, 8, 9}, last - 2),
              (std::vector<int64_t>{static_cast<int64_t>(last) - 2, static_cast<int64_t>(last) - 2,
                                    static_cast<int64_t>(last) - 2}));
}

// Of two keys one has a state that the other does not, just above one that it is not to lose.
TEST_F(Rehome, AStateThatOnlySomeHave)
{
    ASSERT_EQ(Write(Query({3}), 2, 20), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 2));
    ASSERT_EQ(Write(Query({3}), 5, 50), OVSTAGE_OK);
    ASSERT_EQ(Write(Query({3, 4}), 3, 30), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 9));
    EXPECT_EQ(ReadValues({3, 4}, 2), (std::vector<int64_t>{20, -1}));
    EXPECT_EQ(ReadValues({3, 4}, 4), (std::vector<int64_t>{30, 30}));
    EXPECT_EQ(ReadValues({3, 4}, 9), (std::vector<int64_t>{50, 30}));
}

// The first that writes single rows of them, which makes room to note when rows were written.
TEST_F(Rehome, AWriterBesideTheSealThatMoves)
{
    const std::vector<uint32_t> pairs = range(1, 2 * count);
    for (uint32_t round = 0; round < 10; round++) {
        Open({2, 0, 0});
        last = 0;
        std::vector<uint32_t> odd;
        for (uint32_t prim = 1; prim < 2 * count; prim += 2) {
            ASSERT_EQ(Write(Query({prim, prim + 1}), ++last, prim), OVSTAGE_OK);
            ASSERT_TRUE(store_world_seal(world, last));
            odd.push_back(prim);
        }
        store_query *all = Query(pairs), *some = Query(odd);
        PassFrames(all, 7);
        std::atomic<bool> seals{false};
        std::thread writer([&] {
            while (!seals.load(std::memory_order_relaxed))
                std::this_thread::yield();
            EXPECT_EQ(Write(some, 1000, 7), OVSTAGE_OK);
        });
        ASSERT_EQ(Write(all, last + 1, 8), OVSTAGE_OK);
        seals.store(true, std::memory_order_relaxed);
        ASSERT_TRUE(store_world_seal(world, ++last));
        PassFrames(all, 1);
        const uint64_t before = last;
        writer.join();
        last = 1000;
        ASSERT_TRUE(store_world_seal(world, last));
        std::vector<int64_t> values(2 * count, static_cast<int64_t>(before));
        EXPECT_EQ(ReadValues(pairs, last - 1), values);
        for (uint32_t k = 0; k < 2 * count; k += 2)
            values[k] = 7;
        EXPECT_EQ(ReadValues(pairs, last), values);
    }
}

// In vain, it is as if it had not been tried.
TEST_F(Rehome, EachAllocationMayFail)
{
    const std::vector<uint32_t> few = range(1, 16);
    uint64_t calls = 0;
    for (uint64_t k = 1; k == 1 || calls >= k - 1; k++) {
        Open({2, 0, 0});
        last = 0;
        for (uint32_t prim : few)
            ASSERT_EQ(Write(Query({prim}), prim, 1), OVSTAGE_OK);
        for (last = 1; last < few.size(); last++)
            ASSERT_TRUE(store_world_seal(world, last));
        ASSERT_TRUE(store_world_seal(world, last));
        store_query *all = Query(few);
        PassFrames(all, 7);
        ASSERT_EQ(Figures().segments, few.size());
        ASSERT_EQ(Write(all, last + 1, static_cast<uint32_t>(last) + 1), OVSTAGE_OK);
        fr_test_heap_fail(heap, k, k % 2);
        bool sealed = store_world_seal(world, ++last);
        calls = fr_test_heap_calls(heap);
        fr_test_heap_fail(heap, 0, 0);
        if (!sealed) {
            ASSERT_TRUE(store_world_seal(world, last));
        }
        for (uint64_t at = last; at > last - 3; at--)
            EXPECT_EQ(ReadValues(few, at), std::vector<int64_t>(16, static_cast<int64_t>(at))) << k;
        PassFrames(all, 1);
        for (uint64_t at : {last, last - 2})
            EXPECT_EQ(ReadValues(few, at), std::vector<int64_t>(16, static_cast<int64_t>(at))) << k;
    }
    EXPECT_GT(calls, 5u);
    EXPECT_EQ(Figures().segments, 1u) << "the last one did not fail";
}

} // namespace
