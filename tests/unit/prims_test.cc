// The existence of prims against a list of all pairs that were entered.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>
#include <utility>
#include <vector>

extern "C" {
#include "runtime/store/prims.h"
}
#include "tests/support/heap.h"

namespace
{

using Pair = std::pair<uint64_t, uint64_t>;

class Prims : public ::testing::Test
{
  protected:
    void SetUp() override
    {
        heap = fr_test_heap_create();
        prims = fr_prims_create(fr_test_heap_allocator(heap));
        ASSERT_NE(prims, nullptr);
    }

    void TearDown() override
    {
        fr_prims_destroy(prims);
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    }

    void Enter(const std::vector<uint32_t> &list, uint64_t ordinal, uint64_t op_id)
    {
        uint32_t count = static_cast<uint32_t>(list.size());
        ASSERT_TRUE(fr_prims_reserve(prims, list.data(), count));
        fr_prims_enter_all(prims, list.data(), count, ordinal, op_id);
        fr_prims_settle(prims, count);
        for (uint32_t prim : list)
            naive[prim].push_back({ordinal, op_id});
    }

    bool Naive(uint32_t prim, uint64_t ordinal, uint64_t op_id) const
    {
        auto found = naive.find(prim);
        if (found == naive.end())
            return false;
        for (const Pair &pair : found->second) {
            if (pair.first <= ordinal && pair.second < op_id)
                return true;
        }
        return false;
    }

    void Check(uint32_t prim, uint64_t ordinal, uint64_t op_id)
    {
        ASSERT_EQ(fr_prims_exists(prims, prim, ordinal, op_id), Naive(prim, ordinal, op_id))
            << "prim " << prim << " at ordinal " << ordinal << ", op " << op_id;
    }

    fr_test_heap *heap = nullptr;
    fr_prims *prims = nullptr;
    std::map<uint32_t, std::vector<Pair>> naive;
};

TEST_F(Prims, NoneAtFirst)
{
    EXPECT_FALSE(fr_prims_exists(prims, 1, UINT64_MAX, UINT64_MAX));
    EXPECT_FALSE(fr_prims_exists(prims, UINT32_MAX, UINT64_MAX, UINT64_MAX));
    EXPECT_EQ(fr_prims_count(prims), 0u);
}

TEST_F(Prims, ExistsFromItsOrdinalForLaterOps)
{
    Enter({5}, 10, 3);
    EXPECT_TRUE(fr_prims_exists(prims, 5, 10, 4));
    EXPECT_FALSE(fr_prims_exists(prims, 5, 10, 3)) << "the op itself creates it";
    EXPECT_FALSE(fr_prims_exists(prims, 5, 9, 4)) << "at an earlier moment it is not there";
    EXPECT_TRUE(fr_prims_exists(prims, 5, UINT64_MAX, UINT64_MAX));
    EXPECT_FALSE(fr_prims_exists(prims, 6, 10, 4)) << "its neighbour is not there";
    EXPECT_EQ(fr_prims_count(prims), 1u);
}

TEST_F(Prims, TellsWhetherAnyOfManyWasEverEntered)
{
    std::vector<uint32_t> many;
    for (uint32_t prim = 1; prim < 2000; prim += 3)
        many.push_back(prim);
    EXPECT_FALSE(fr_prims_any(prims, many.data(), static_cast<uint32_t>(many.size())));
    Enter({2, 3, 5, 1502}, UINT64_MAX, 9); // beside them
    EXPECT_FALSE(fr_prims_any(prims, many.data(), static_cast<uint32_t>(many.size())));
    EXPECT_FALSE(fr_prims_any(prims, many.data(), 0));
    Enter({many.back()}, UINT64_MAX, 9);
    EXPECT_TRUE(fr_prims_any(prims, many.data(), static_cast<uint32_t>(many.size())));
    EXPECT_FALSE(fr_prims_any(prims, many.data(), static_cast<uint32_t>(many.size()) - 1));
}

TEST_F(Prims, TakesTheEndsOfTheNumbers)
{
    Enter({UINT32_MAX, 1}, 0, 0);
    Enter({UINT32_MAX - 1}, UINT64_MAX, INT64_MAX);
    Check(UINT32_MAX, 0, 0);
    Check(UINT32_MAX, 0, 1);
    Check(UINT32_MAX - 1, UINT64_MAX, UINT64_MAX);
    Check(UINT32_MAX - 1, UINT64_MAX - 1, UINT64_MAX);
    Check(1, 0, 1);
    EXPECT_EQ(fr_prims_count(prims), 3u);
}

TEST_F(Prims, EqualsTheListOfAllPairs)
{
    std::mt19937 random(11);
    for (uint32_t range : {3u, 8u, 40u}) {
        for (uint32_t turn = 0; turn < 400; turn++) {
            uint32_t first = turn * 2 + range * 10000;
            for (uint32_t k = 0; k < 12; k++) {
                Enter({first + k % 2}, random() % range, random() % range);
                for (uint32_t looks = 0; looks < 8; looks++)
                    Check(first + looks % 2, random() % range, random() % (range + 1));
            }
            for (uint64_t ordinal = 0; range < 10 && ordinal < range; ordinal++) {
                for (uint64_t op_id = 0; op_id <= range; op_id++)
                    Check(first, ordinal, op_id);
            }
        }
    }
    EXPECT_EQ(fr_prims_count(prims), naive.size());
}

// A staircase of pairs, of which a lower one then makes all the others needless.
TEST_F(Prims, NeedlessPairsGiveTheirRecordsBack)
{
    size_t bytes = 0;
    for (uint32_t turn = 0; turn < 50; turn++) {
        uint64_t base = 1000000 - turn * 1000;
        for (uint64_t step = 0; step < 40; step++)
            Enter({7}, base - step, base - 900 + step);
        Check(7, base, base);
        Check(7, base - 20, base - 885);
        Enter({7}, base - 500, base - 950);
        if (turn == 0)
            bytes = fr_prims_bytes(prims);
    }
    EXPECT_EQ(fr_prims_bytes(prims), bytes);
    EXPECT_EQ(fr_prims_count(prims), 1u);
}

TEST_F(Prims, WhatAReservationDidNotUseGoesAgain)
{
    std::vector<uint32_t> list(30000);
    for (uint32_t k = 0; k < list.size(); k++)
        list[k] = k + 1;
    uint32_t count = static_cast<uint32_t>(list.size());
    ASSERT_TRUE(fr_prims_reserve(prims, list.data(), 1));
    uint64_t small = fr_test_heap_live_bytes(heap);
    EXPECT_EQ(fr_prims_bytes(prims), small);
    for (int turn = 0; turn < 3; turn++) {
        ASSERT_TRUE(fr_prims_reserve(prims, list.data(), count));
        EXPECT_GT(fr_test_heap_live_bytes(heap), small + count * 16ull);
        fr_prims_settle(prims, count);
    }
    EXPECT_EQ(fr_prims_bytes(prims), fr_test_heap_live_bytes(heap));
    EXPECT_LE(fr_test_heap_live_bytes(heap), small + (count / 1024 + 1) * (16384ull + 4096ull));
    fr_prims_settle(prims, 1);
    for (uint32_t prim : list)
        Check(prim, UINT64_MAX, UINT64_MAX);
}

// Two reservations at a time: each has room of its own, whatever the other enters.
TEST_F(Prims, ReservationsAddUp)
{
    std::vector<uint32_t> list(200);
    for (uint32_t k = 0; k < list.size(); k++)
        list[k] = k + 1;
    Enter(list, 50, 50);
    ASSERT_TRUE(fr_prims_reserve(prims, list.data(), 200));
    ASSERT_TRUE(fr_prims_reserve(prims, list.data(), 200));
    fr_test_heap_fail(heap, 1, 1);
    fr_prims_enter_all(prims, list.data(), 200, 40, 60);
    fr_prims_enter_all(prims, list.data(), 200, 60, 40);
    for (uint32_t prim : list) {
        naive[prim].push_back({40, 60});
        naive[prim].push_back({60, 40});
        Check(prim, 45, 61);
        Check(prim, 45, 60);
        Check(prim, 60, 41);
        Check(prim, 59, 41);
    }
    fr_prims_settle(prims, 200);
    fr_prims_settle(prims, 200);
}

TEST_F(Prims, WithoutMemoryNothingChanges)
{
    std::vector<uint32_t> list;
    for (uint32_t k = 0; k < 100; k++)
        list.push_back(1 + k * 5000);
    for (uint64_t k = 1;; k++) {
        fr_prims *fresh = prims;
        fr_test_heap_fail(heap, k, 0);
        bool done = fr_prims_reserve(fresh, list.data(), 100);
        uint64_t calls = fr_test_heap_calls(heap);
        fr_test_heap_fail(heap, 1, 1);
        EXPECT_EQ(done, calls < k);
        EXPECT_EQ(fr_prims_count(fresh), 0u);
        EXPECT_FALSE(fr_prims_exists(fresh, 1, UINT64_MAX, UINT64_MAX));
        if (done)
            fr_prims_enter_all(fresh, list.data(), 100, 1, 1);
        fr_test_heap_fail(heap, 0, 0);
        if (done) {
            fr_prims_settle(fresh, 100);
            EXPECT_GT(k, 100u) << "a page each, at least";
            break;
        }
        fr_prims_destroy(prims);
        prims = fr_prims_create(fr_test_heap_allocator(heap));
    }
    EXPECT_EQ(fr_prims_count(prims), 100u);
}

TEST_F(Prims, ThreadsEnterAndLook)
{
    constexpr uint32_t kThreads = 4;
    constexpr uint32_t kPrims = 3000;
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < kThreads; t++) {
        threads.emplace_back([this, t] {
            std::mt19937 random(t);
            for (uint32_t k = 0; k < kPrims; k++) {
                uint32_t prim = 1 + (k + t * 700) % kPrims;
                // Neither of two threads' pairs is at or below the other.
                ASSERT_TRUE(fr_prims_reserve(prims, &prim, 1));
                fr_prims_enter_all(prims, &prim, 1, 10 + t, 20 - t);
                fr_prims_settle(prims, 1);
                EXPECT_TRUE(fr_prims_exists(prims, prim, 10 + t, 21 - t));
                (void)fr_prims_exists(prims, static_cast<uint32_t>(random()), 10, 20);
            }
        });
    }
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(fr_prims_count(prims), kPrims);
    for (uint32_t prim = 1; prim <= kPrims; prim++) {
        for (uint64_t t = 0; t < kThreads; t++) {
            EXPECT_TRUE(fr_prims_exists(prims, prim, 10 + t, 21 - t));
            EXPECT_FALSE(fr_prims_exists(prims, prim, 10 + t, 20 - t));
        }
        EXPECT_FALSE(fr_prims_exists(prims, prim, 9, 100));
    }
    EXPECT_EQ(fr_prims_bytes(prims), fr_test_heap_live_bytes(heap));
}

TEST_F(Prims, TheOrderOfEnteringHasEachOnce)
{
    std::vector<uint32_t> wanted;
    for (uint32_t turn = 0; turn < 40; turn++) {
        std::vector<uint32_t> list;
        for (uint32_t k = 0; k < 100; k++)
            list.push_back((turn * 7919 + k * 31) % 3001 + 1);
        Enter(list, 50 - turn, turn + 1);
        for (uint32_t prim : list)
            if (std::find(wanted.begin(), wanted.end(), prim) == wanted.end())
                wanted.push_back(prim);
    }
    ASSERT_EQ(fr_prims_count(prims), wanted.size());
    std::vector<uint32_t> order;
    uint32_t some[FR_PRIMS_SOME], got;
    while ((got = fr_prims_entered(prims, static_cast<uint32_t>(order.size()), some)) > 0)
        order.insert(order.end(), some, some + got);
    EXPECT_EQ(order, wanted);
}

} // namespace
