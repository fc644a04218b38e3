// Which older states go because newer ones have written all that they hold: whole sets of rows, in
// whatever order they come, and never on a likeness alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <unordered_map>
#include <vector>

#include <ovstage/ovstage.h>

#include "tests/support/store_fixture.h"
#include "tests/support/store_range.h"

extern "C" {
#include "runtime/store/row_set.h"
}

namespace
{

class StoreSuperseded : public Store
{
  protected:
    // Rows are the prims from 1 on, in their order.
    void Make(uint32_t count)
    {
        ASSERT_EQ(Write(Query(range(1, count)), 1, 1), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, 1));
        last = 1;
    }
    // At an ordinal of its own, which is the value.
    void Change(const std::vector<uint32_t> &prims)
    {
        last++;
        ASSERT_EQ(Write(Query(prims), last, last), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, last));
        changed.push_back(prims);
    }
    enum : int64_t { absent = -1, gone = -9 };
    int64_t Value(uint32_t prim, uint32_t ordinal)
    {
        if (ReadStatus(Query({prim}), ordinal) == OVSTAGE_ERROR_OUT_OF_RANGE)
            return gone;
        return ReadValues({prim}, ordinal)[0];
    }
    // The newest three values of a prim are those of the ordinals.
    void ExpectKept(uint32_t prim, uint32_t newest, uint32_t before, int64_t oldest)
    {
        SCOPED_TRACE(prim);
        EXPECT_EQ(Value(prim, last), newest);
        EXPECT_EQ(Value(prim, newest - 1), before);
        EXPECT_EQ(Value(prim, before - 1), oldest);
    }

    uint32_t last = 0;
    std::vector<std::vector<uint32_t>> changed;
};

TEST_F(StoreSuperseded, TheSameRowsInAnotherOrder)
{
    const uint32_t count = 1000;
    Make(count);
    std::vector<uint32_t> prims = range(101, count / 10);
    std::mt19937 random(1);
    for (uint32_t turn = 0; turn < 100; turn++) {
        if (turn % 3 != 0)
            std::shuffle(prims.begin(), prims.end(), random);
        Change(prims);
        EXPECT_LE(Figures().versions_sealed, 5u); // three states, the first full one, a spare
    }
    ExpectKept(prims[7], last, last - 1, last - 2);
    EXPECT_EQ(Value(prims[7], last - 3), gone);
    EXPECT_EQ(Value(count, 2), 1) << "which nobody has written since";
}

// Two sets in turn, of which each comes in two orders.
TEST_F(StoreSuperseded, SetsInTurnInSeveralOrders)
{
    const uint32_t count = 1000;
    Make(count);
    std::vector<uint32_t> one = range(1, 90), other = range(500, 90);
    for (uint32_t turn = 0; turn < 40; turn++) {
        std::vector<uint32_t> &prims = turn % 2 ? one : other;
        if (turn % 8 < 4)
            std::reverse(prims.begin(), prims.end());
        Change(prims);
    }
    EXPECT_LE(Figures().versions_sealed, 8u);
    ExpectKept(1, last, last - 2, last - 4);
    ExpectKept(500, last - 1, last - 3, last - 5);
    EXPECT_EQ(Value(1, last - 5), gone);
}

TEST_F(StoreSuperseded, ByAListOfAllRows)
{
    const uint32_t count = 400;
    Make(count);
    std::vector<uint32_t> all = range(1, count), some = range(50, 20);
    std::reverse(all.begin(), all.end());
    for (uint32_t turn = 0; turn < 30; turn++) {
        Change(range(1, count)); // a full state
        Change(some);
        Change(all);
        Change(all);
        EXPECT_LE(Figures().versions_sealed, 10u) << turn;
    }
    ExpectKept(1, last, last - 1, last - 3);
    ExpectKept(50, last, last - 1, last - 2);
    EXPECT_EQ(Value(50, last - 3), gone);
    // What is kept of before does not outlast them either.
    for (uint32_t turn = 0; turn < 4; turn++)
        Change(all);
    EXPECT_LE(Figures().versions_sealed, 4u);
    ExpectKept(count, last, last - 1, last - 2);
}

// A state of which the next newer one wrote all rows does not wait for others that do, where that
// is few rows.
TEST_F(StoreSuperseded, AllOfFewRowsAmongChangesOfSome)
{
    Make(5);
    for (uint32_t turn = 0; turn < 200; turn++) {
        if (turn % 50 == 10)
            Change(range(1, 5));
        else
            Change({2 + turn % 2, 4});
        // Three states, two off the list and spares; and some more where constants are small.
        EXPECT_LE(Figures().versions_sealed, 12u) << turn;
    }
    ExpectKept(1, last - 39, last - 89, last - 139);
    ExpectKept(2, last - 1, last - 3, last - 5);
    ExpectKept(4, last, last - 1, last - 2);
    EXPECT_EQ(Value(1, last - 140), gone);
}

// What the states of the list take is their records too, which may be more than the rows.
TEST_F(StoreSuperseded, TheListIsNotLongerThanItsRowsAreWorth)
{
    const uint32_t count = 40;
    Make(count);
    std::vector<uint32_t> prims = range(1, count);
    std::vector<std::vector<uint32_t>> written(count + 1, std::vector<uint32_t>{1});
    std::mt19937 random(1);
    const uint64_t all =
        3 * count * (sizeof(store_row) + 24); // and a record in the archive of each
    for (uint32_t turn = 0; turn < 200; turn++) {
        std::shuffle(prims.begin(), prims.end(), random);
        Change({prims.begin(), prims.begin() + 20});
        for (uint32_t k = 0; k < 20; k++)
            written[prims[k]].push_back(last);
        EXPECT_LE(Figures().versions_sealed, 20u) << turn;
        // The list, the archive with its index and room to grow, and spares.
        EXPECT_LE(Figures().history_bytes, (4 + 4) * all) << turn;
        EXPECT_GE(Figures().history_bytes, (Figures().versions_sealed - 1) * 360u) << turn;
    }
    for (uint32_t prim = 1; prim <= count; prim++) {
        const std::vector<uint32_t> &when = written[prim];
        const size_t newest = when.size() - 1;
        ExpectKept(prim, when[newest], when[newest - 1], when[newest - 2]);
    }
}

TEST_F(StoreSuperseded, NotByAlmostTheSameRows)
{
    const uint32_t count = 1000, size = 90;
    Make(count);
    // The first has a row that no other set has, and each of those one in place of it.
    for (uint32_t turn = 0; turn < 12; turn++) {
        std::vector<uint32_t> prims = range(201, size);
        prims[turn % size] = turn == 0 ? 900 : 900 + turn;
        Change(prims);
        if (turn == 0) {
            prims[0] = 899;
            Change(prims);
        }
    }
    ExpectKept(900, 2, 1, absent);
    ExpectKept(899, 3, 1, absent);
    ExpectKept(201 + size - 1, last, last - 1, last - 2);
    // Left out once, at 4: of the others it is one older.
    ExpectKept(202, last, last - 1, last - 2);
    ExpectKept(901, 4, 1, absent);
}

// A set that loses a row and gets another one each time: only those are archived.
TEST_F(StoreSuperseded, OfASetThatChangesALittle)
{
    const uint32_t count = 2000, size = 200, turns = 220;
    Make(count);
    std::vector<std::vector<uint32_t>> written(count + 1, std::vector<uint32_t>{1});
    std::vector<uint32_t> prims = range(1, size);
    for (uint32_t turn = 0; turn < turns; turn++) {
        if (turn % 7 == 0)
            std::reverse(prims.begin(), prims.end());
        prims[turn % size] = size + turn + 1;
        std::vector<uint32_t> now = prims; // and some that come and go
        for (uint32_t every = 2; every <= 70; every++)
            if (turn % every == 0)
                now.push_back(count - every);
        Change(now);
        for (uint32_t prim : now)
            written[prim].push_back(last);
        if (turn % 55 != 54)
            continue;
        for (uint32_t prim = 1; prim <= count; prim += 1 + prim % 3) {
            const std::vector<uint32_t> &when = written[prim];
            for (size_t back = 0; back < std::min<size_t>(3, when.size()); back++) {
                uint32_t ordinal = when[when.size() - 1 - back];
                ASSERT_EQ(Value(prim, ordinal), ordinal) << prim << " of " << last;
            }
        }
        for (store_query *query : queries)
            store_query_destroy(world, query);
        queries.clear();
    }
    // Three values of each row that was in, and the list of states: much less than each of each.
    const uint64_t states = 3 + 64, rows = (states + 2) * (size + 9) + 3 * (size + turns + 70);
    EXPECT_LE(Figures().history_bytes, rows * (sizeof(store_row) + 24 + 16));
}

// Pairs of rows with the same sum of fingerprints.
std::vector<uint32_t> alike(uint32_t count)
{
    std::unordered_map<uint32_t, std::pair<uint32_t, uint32_t>> sums;
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = 0; b < a; b++) {
            uint32_t sum = fr_row_set_fingerprint(a) + fr_row_set_fingerprint(b);
            auto found = sums.emplace(sum, std::make_pair(a, b));
            if (!found.second)
                return {a, b, found.first->second.first, found.first->second.second};
        }
    return {};
}

TEST_F(StoreSuperseded, NotByOtherRowsOfTheSameFingerprint)
{
    const uint32_t count = 2000;
    std::vector<uint32_t> rows = alike(count);
    ASSERT_EQ(rows.size(), 4u);
    Make(count);
    std::vector<uint32_t> first, second;
    for (uint32_t prim = 1; first.size() < 40; prim++)
        if (std::count(rows.begin(), rows.end(), prim - 1) == 0)
            first.push_back(prim);
    second = first;
    for (uint32_t k = 0; k < 2; k++) {
        first.push_back(rows[k] + 1);
        second.push_back(rows[2 + k] + 1);
    }
    Change(first);
    for (uint32_t turn = 0; turn < 12; turn++)
        Change(second);
    for (uint32_t k = 0; k < 2; k++) {
        ExpectKept(rows[k] + 1, 2, 1, absent);
        ExpectKept(rows[2 + k] + 1, last, last - 1, last - 2);
    }
}

} // namespace
