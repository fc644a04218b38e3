// Very many ordinals at a time: what a seal has to do grows with what it seals, and with nothing
// else. Steps are counted, not timed. Run again in tests/locks, it shows that no lock is held for a
// walk over very many of anything.
#include <gtest/gtest.h>

#include <ovstage/ovstage.h>

#include "tests/support/looks.h"
#include "tests/support/store_range.h"
#include "tests/support/store_world.h"

namespace
{

const uint32_t rows = 40;

class StoreMany : public ::testing::Test
{
  protected:
    void SetUp() override
    {
        heap = fr_test_heap_create();
        Open(0);
    }
    void Open(uint64_t history_limit_bytes)
    {
        store_world_options options = {2, history_limit_bytes, cache_limit_bytes};
        world = store_world_create(heap, &options);
        ASSERT_NE(world, nullptr);
        const std::vector<uint32_t> prims = range(1, rows);
        all = store_query_create(world, prims.data(), rows);
        for (uint32_t prim : prims)
            one.push_back(store_query_create(world, &prim, 1));
        ASSERT_EQ(store_write(world, 0, all, 1, 1, nullptr, 0, false), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, 1));
    }
    void TearDown() override
    {
        Close();
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    }
    void Close()
    {
        store_query_destroy(world, all);
        for (store_query *query : one)
            store_query_destroy(world, query);
        one.clear();
        store_world_destroy(world);
    }
    // One row at each of the ordinals behind the last one.
    void Write(uint32_t count)
    {
        for (uint32_t k = 0; k < count; k++) {
            last++;
            ASSERT_EQ(store_write(world, 0, one[last % rows], last, last, nullptr, 0, false),
                      OVSTAGE_OK);
        }
    }
    void Seal(uint32_t ordinal)
    {
        ASSERT_TRUE(store_world_seal(world, ordinal));
    }
    store_figures Figures()
    {
        store_figures figures;
        store_world_figures(world, &figures);
        return figures;
    }
    uint64_t Steps()
    {
        return Figures().seal_steps;
    }
    // Each row has the newest of the values that were written up to the ordinal.
    void Check(uint32_t ordinal)
    {
        store_group *group;
        ASSERT_EQ(store_read(world, 0, all, ordinal, &group), OVSTAGE_OK);
        for (uint32_t k = 0; k < rows; k++) {
            const store_row *row = store_group_row(group, k);
            ASSERT_NE(row, nullptr);
            EXPECT_TRUE(store_row_is_whole(row));
            EXPECT_EQ(row->value, Value(ordinal, k));
        }
        EXPECT_EQ(store_group_ordinal(group), ordinal);
        store_group_release(world, group);
        // One row, and when it was written.
        uint32_t k = ordinal * 7 % rows;
        ASSERT_EQ(store_read(world, 0, one[k], ordinal, &group), OVSTAGE_OK);
        EXPECT_EQ(store_group_row(group, 0)->value, Value(ordinal, k));
        EXPECT_EQ(store_group_ordinal(group), Value(ordinal, k));
        store_group_release(world, group);
    }
    void Check()
    {
        Check(last);
    }
    static uint32_t Value(uint32_t ordinal, uint32_t row)
    {
        uint32_t back = (ordinal + rows - row) % rows;
        return ordinal > back + 1 ? ordinal - back : 1;
    }
    int Status(store_query *query, uint64_t ordinal)
    {
        store_group *group;
        int status = store_read(world, 0, query, ordinal, &group);
        if (group)
            store_group_release(world, group);
        return status;
    }

    fr_test_heap *heap = nullptr;
    store_world *world = nullptr;
    store_query *all = nullptr;
    std::vector<store_query *> one;
    uint32_t last = 1;
    uint64_t cache_limit_bytes = 0; // much
};

const uint32_t many = 2000;
// Of each entry: found, entered in the rows' ordinals, folded, and cut off history.
const uint64_t steps_each = 8;

TEST_F(StoreMany, OneSealOfAllTakesStepsForEachOnce)
{
    Write(many);
    const uint64_t before = Steps();
    Seal(last);
    EXPECT_GE(Steps() - before, many);
    EXPECT_LE(Steps() - before, steps_each * many);
    Check();
}

TEST_F(StoreMany, OneSealOfAllBesideAHeldHeadTakesStepsForEachOnce)
{
    store_group *held;
    ASSERT_EQ(store_read(world, 0, all, 1, &held), OVSTAGE_OK);
    Write(many);
    const uint64_t before = Steps();
    Seal(last);
    EXPECT_LE(Steps() - before, steps_each * many);
    Check();
    for (uint32_t k = 0; k < rows; k++)
        EXPECT_EQ(store_group_row(held, k)->value, 1u);
    store_group_release(world, held);
}

TEST_F(StoreMany, ASealOfEachTakesStepsForItsOwn)
{
    Write(many);
    const uint64_t before = Steps();
    for (uint32_t ordinal = 2; ordinal <= last; ordinal++)
        Seal(ordinal);
    EXPECT_LE(Steps() - before, 2 * steps_each * many);
    Check();
}

// Reads that wait for a seal keep as many states as there are moments. A seal looks at those that
// it makes or drops, and a read finds its own.
TEST_F(StoreMany, StatesThatAreHeldCostNothingButMemory)
{
    for (uint32_t ordinal = 1; ordinal <= many; ordinal++)
        store_world_hold_moment(world, ordinal);
    Write(many);
    const uint64_t before = Steps();
    for (uint32_t ordinal = 2; ordinal <= last; ordinal++)
        Seal(ordinal);
    EXPECT_LE(Steps() - before, steps_each * many);
    EXPECT_GE(Figures().versions_sealed, many);
    for (uint32_t ordinal = 2; ordinal <= last; ordinal += 37)
        Check(ordinal);
    EXPECT_EQ(Status(all, 1), OVSTAGE_OK);
    // Of some the moment goes: all above the lowest one stay.
    for (uint32_t ordinal = 1; ordinal <= many; ordinal++)
        if (ordinal % 100 != 0)
            store_world_release_moment(world, ordinal);
    Write(1);
    Seal(last);
    // Of each row two older values stay beside them.
    Check(100 - 2 * rows);
    EXPECT_EQ(Status(all, 100 - 2 * rows - 1), OVSTAGE_ERROR_OUT_OF_RANGE);
    for (uint32_t ordinal = 100; ordinal <= last; ordinal += 37)
        Check(ordinal);
    const uint64_t cut = Steps();
    for (uint32_t ordinal = 100; ordinal <= many; ordinal += 100)
        store_world_release_moment(world, ordinal);
    Write(1);
    Seal(last);
    EXPECT_LE(Steps() - cut, steps_each * many);
    EXPECT_LE(Figures().versions_sealed, 3u + 2);
    EXPECT_LE(Figures().history_bytes, 8 * rows * sizeof(store_row));
    Check(last - 2);
    Check(last - 2 * rows);
    EXPECT_EQ(Status(all, last - 4 * rows), OVSTAGE_ERROR_OUT_OF_RANGE);
    const uint64_t idle = Steps();
    Write(1);
    Seal(last);
    EXPECT_LE(Steps() - idle, 2 * steps_each);
}

// Beside a held head a state of its own is made of each; the whole of what they take is counted.
TEST_F(StoreMany, HistoryIsCountedAsItComesAndGoes)
{
    store_group *held;
    ASSERT_EQ(store_read(world, 0, all, 1, &held), OVSTAGE_OK);
    store_world_hold_moment(world, 1);
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < 50; k++) {
        store_group *next;
        Write(1);
        Seal(last);
        ASSERT_EQ(store_read(world, 0, all, last, &next), OVSTAGE_OK);
        store_group_release(world, held);
        held = next;
        EXPECT_GT(Figures().history_bytes, bytes);
        bytes = Figures().history_bytes;
    }
    store_group_release(world, held);
    store_world_release_moment(world, 1);
    for (uint32_t k = 0; k < 4 * rows; k++) {
        Write(1);
        Seal(last);
    }
    // What two older values of each row take, whatever became of those before.
    const uint64_t now = Figures().history_bytes;
    Close();
    last = 1;
    Open(0);
    for (uint32_t k = 0; k < 4 * rows; k++) {
        Write(1);
        Seal(last);
    }
    EXPECT_EQ(Figures().history_bytes, now);
}

TEST_F(StoreMany, OpenOrdinalsAreLookedThroughInPieces)
{
    const uint32_t fresh = rows + 1;
    store_query *written = one[0], *other = one[1];
    store_query *made = store_query_create(world, &fresh, 1);
    const uint32_t absent_prim = rows + 2;
    store_query *absent = store_query_create(world, &absent_prim, 1);
    for (uint32_t k = 0; k < many / 4; k++) {
        last++;
        ASSERT_EQ(store_write(world, 0, written, last, last, nullptr, 0, true), OVSTAGE_OK);
        ASSERT_EQ(store_write(world, 0, made, last, last, nullptr, 0, k % 100 == 0), OVSTAGE_OK);
    }
    EXPECT_EQ(Status(other, last), OVSTAGE_OK);
    EXPECT_EQ(Status(absent, last), OVSTAGE_OK);
    EXPECT_EQ(Status(written, last), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(Status(written, 2), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(Status(made, last), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(Status(made, 1), OVSTAGE_OK);
    // Another schema is judged against what all of these have left behind.
    EXPECT_EQ(store_write(world, 0, written, last + 1, 0, nullptr, 1, true),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(store_write(world, 0, made, last + 1, 0, nullptr, 1, true),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(store_write(world, 0, absent, last + 1, 0, nullptr, 1, true), OVSTAGE_OK);
    Seal(last);
    EXPECT_EQ(Status(made, last), OVSTAGE_OK);
    store_query_destroy(world, made);
    store_query_destroy(world, absent);
}

// Lists of rows without an index are made by bound writes; who looks rows up in one makes it, and
// looks at no other ordinals for that.
TEST_F(StoreMany, ListsAreIndexedWhereTheyAre)
{
    const std::vector<uint32_t> prims = range(1, 5 * rows);
    store_query *wide = store_query_create(world, prims.data(), 5 * rows);
    ASSERT_EQ(store_write(world, 0, wide, ++last, 1, nullptr, 0, false), OVSTAGE_OK);
    Seal(last);
    std::vector<uint32_t> listed, others; // all in the segment of those that are new
    for (uint32_t k = rows + 1; k <= 2 * rows; k += 3)
        (k % 2 ? listed : others).push_back(k);
    while (listed.size() < 12)
        listed.push_back(2 * rows + static_cast<uint32_t>(listed.size()));
    store_query *bound = store_query_create(world, listed.data(), 12);
    store_query *other = store_query_create(world, others.data(), 1);
    const uint32_t count = many / 4, first = last + 1;
    for (uint32_t k = 0; k < count; k++)
        ASSERT_EQ(store_write(world, 0, bound, ++last, k, nullptr, 0, false), OVSTAGE_OK);
    EXPECT_EQ(Status(other, last), OVSTAGE_OK);
    EXPECT_EQ(Status(bound, first), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    // One more of them, again and again.
    uint64_t before = fr_test_looks();
    ASSERT_EQ(store_write(world, 0, bound, ++last, 0, nullptr, 0, false), OVSTAGE_OK);
    EXPECT_EQ(Status(bound, last), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_LE(fr_test_looks() - before, count / 2);
    Seal(last);
    for (uint32_t turn = 0; turn < 20; turn++) {
        ASSERT_EQ(store_write(world, 0, bound, ++last, turn, nullptr, 0, false), OVSTAGE_OK);
        Seal(last);
        store_group *group;
        ASSERT_EQ(store_read(world, 0, bound, last, &group), OVSTAGE_OK);
        EXPECT_EQ(store_group_row(group, 3)->value, turn);
        EXPECT_EQ(store_group_ordinal(group), last);
        store_group_release(world, group);
    }
    for (store_query *query : {wide, bound, other})
        store_query_destroy(world, query);
}

// Over very many segments, and many queries of them.
TEST_F(StoreMany, BindingsOfManySegmentsAreBoundedByTheCache)
{
    Close();
    cache_limit_bytes = 96u << 10;
    Open(0);
    const uint32_t segments = 300;
    std::vector<uint32_t> prims;
    for (uint32_t k = 0; k < segments; k++) {
        prims.push_back(rows + 1 + k);
        last++;
        store_query *query = store_query_create(world, &prims.back(), 1);
        ASSERT_EQ(store_write(world, 0, query, last, last, nullptr, 0, false), OVSTAGE_OK);
        Seal(last);
        store_query_destroy(world, query);
    }
    std::vector<store_query *> queries;
    const uint64_t before = Figures().cache_bytes;
    for (uint32_t turn = 0; turn < 40; turn++) {
        std::swap(prims[turn], prims[segments - 1 - turn]);
        queries.push_back(store_query_create(world, prims.data(), segments));
        for (uint32_t again = 0; again < 2; again++) {
            store_group *group;
            ASSERT_EQ(store_read(world, 0, queries.back(), last, &group), OVSTAGE_OK);
            for (uint32_t k = 0; k < segments; k++)
                ASSERT_EQ(store_group_row(group, k)->value, prims[k] - rows + 1);
            store_group_release(world, group);
            EXPECT_LE(Figures().cache_bytes, cache_limit_bytes);
        }
    }
    EXPECT_GT(Figures().cache_bytes, cache_limit_bytes / 4);
    for (store_query *query : queries)
        store_query_destroy(world, query);
    EXPECT_EQ(Figures().cache_bytes, before);
}

// A seal that is to make room gives up on segments of which all is read, and looks at others first
// the next time.
TEST_F(StoreMany, ALimitThatCannotBeKeptCostsASealABoundedSearch)
{
    Close();
    Open(1);
    const uint32_t segments = 400;
    std::vector<uint32_t> prims;
    for (uint32_t k = 0; k < segments; k++) { // a segment each
        prims.push_back(rows + 1 + k);
        last++;
        store_query *query = store_query_create(world, &prims.back(), 1);
        ASSERT_EQ(store_write(world, 0, query, last, last, nullptr, 0, false), OVSTAGE_OK);
        Seal(last);
        store_query_destroy(world, query);
    }
    store_query *each = store_query_create(world, prims.data(), segments);
    store_group *held;
    ASSERT_EQ(store_read(world, 0, each, last, &held), OVSTAGE_OK);
    ASSERT_EQ(store_write(world, 0, each, ++last, 7, nullptr, 0, false), OVSTAGE_OK);
    Seal(last);
    EXPECT_GE(Figures().segments, segments);
    EXPECT_GT(Figures().history_bytes, 1u);
    const uint64_t before = Steps();
    Write(10);
    for (uint32_t ordinal = last - 9; ordinal <= last; ordinal++)
        Seal(ordinal);
    EXPECT_LE(Steps() - before, 10u * (64 + 2 * steps_each));
    store_group_release(world, held);
    const uint32_t sealings = segments / 2 + 2; // each drops what it finds
    for (uint32_t k = 0; k < sealings; k++) {
        Write(1);
        Seal(last);
    }
    EXPECT_EQ(Figures().history_bytes, 0u);
    store_query_destroy(world, each);
}

} // namespace
