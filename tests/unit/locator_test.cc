// The locator against a map.
#include <gtest/gtest.h>

#include <random>
#include <unordered_map>
#include <vector>

extern "C" {
#include "runtime/store/locator.h"
}
#include "tests/support/heap.h"

namespace
{

using Naive = std::unordered_map<uint32_t, fr_place>;

class Locator : public ::testing::Test
{
  protected:
    void SetUp() override
    {
        heap = fr_test_heap_create();
        fr_locator_init(&locator, fr_test_heap_allocator(heap));
    }

    void TearDown() override
    {
        fr_locator_destroy(&locator);
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    }

    void Put(uint32_t prim, fr_place place)
    {
        fr_locator_put(&locator, prim, place);
        naive[prim] = place;
    }

    void Check(uint32_t prim)
    {
        fr_place place = {77, 88};
        auto found = naive.find(prim);
        ASSERT_EQ(fr_locator_get(&locator, prim, &place), found != naive.end()) << prim;
        fr_place expected = found == naive.end() ? fr_place{77, 88} : found->second;
        EXPECT_EQ(place.segment, expected.segment) << prim;
        EXPECT_EQ(place.row, expected.row) << prim;
    }

    void CheckAll()
    {
        EXPECT_EQ(locator.count, naive.size());
        EXPECT_EQ(fr_locator_bytes(&locator), fr_test_heap_live_bytes(heap));
        EXPECT_LE(locator.count * 3ull, locator.capacity * 2ull);
        for (const auto &entry : naive)
            Check(entry.first);
    }

    fr_test_heap *heap = nullptr;
    fr_locator locator{};
    Naive naive;
};

TEST_F(Locator, IsEmptyAtFirst)
{
    Check(1);
    Check(UINT32_MAX);
    ASSERT_TRUE(fr_locator_reserve(&locator, 0));
    CheckAll();
    ASSERT_TRUE(fr_locator_reserve(&locator, 1));
    Check(1);
}

TEST_F(Locator, EqualsAMap)
{
    std::mt19937 random(3);
    for (uint32_t batch = 0; batch < 300; batch++) {
        uint32_t count = static_cast<uint32_t>(random() % 200);
        ASSERT_TRUE(fr_locator_reserve(&locator, count));
        uint32_t range = batch % 2 ? 20000u : UINT32_MAX;
        for (uint32_t k = 0; k < count; k++)
            Put(static_cast<uint32_t>(random() % range) + 1, {batch, k});
        for (uint32_t k = 0; k < 50; k++)
            Check(static_cast<uint32_t>(random() % range) + 1);
    }
    CheckAll();
}

// Prims of one kind often have a stride between them: every eighth object, every 4,096th.
TEST_F(Locator, TakesStrides)
{
    for (uint32_t stride : {1u, 8u, 64u, 4096u, 65536u}) {
        naive.clear();
        fr_locator_destroy(&locator);
        ASSERT_TRUE(fr_locator_reserve(&locator, 20000));
        uint32_t capacity = locator.capacity;
        for (uint32_t k = 1; k <= 20000; k++)
            Put(k * stride, {stride, k});
        EXPECT_EQ(locator.capacity, capacity) << "reserved before";
        CheckAll();
        Check(20001 * stride);
        Check(stride + 1);
    }
}

TEST_F(Locator, FindsManyAsOneByOne)
{
    std::mt19937 random(7);
    std::vector<uint64_t> prims;
    for (uint32_t count : {0u, 1u, 5u, 16u, 17u, 1000u}) {
        std::vector<fr_place> places(count, fr_place{77, 88});
        prims.resize(count);
        for (uint64_t &prim : prims)
            prim = random() % 2000 + 1;
        uint32_t missing = fr_locator_get_all(&locator, prims.data(), count, places.data());
        for (uint32_t k = 0; k < count; k++) {
            auto found = naive.find(static_cast<uint32_t>(prims[k]));
            missing -= found == naive.end();
            EXPECT_EQ(places[k].segment, found == naive.end() ? UINT32_MAX : found->second.segment);
            EXPECT_EQ(places[k].row, found == naive.end() ? 0 : found->second.row);
        }
        EXPECT_EQ(missing, 0u);
        ASSERT_TRUE(fr_locator_reserve(&locator, 500)); // none are there in the first turns
        for (uint32_t k = 0; k < 500; k++)
            Put(static_cast<uint32_t>(random() % 2000) + 1, {count, k});
    }
}

TEST_F(Locator, ReplacesAnEntry)
{
    ASSERT_TRUE(fr_locator_reserve(&locator, 2));
    Put(9, {1, 2});
    Put(17, {3, 4});
    Put(9, {5, 6});
    EXPECT_EQ(locator.count, 2u);
    CheckAll();
}

TEST_F(Locator, WithoutMemoryNothingChanges)
{
    ASSERT_TRUE(fr_locator_reserve(&locator, 10));
    for (uint32_t k = 1; k <= 10; k++)
        Put(k, {0, k});
    fr_test_heap_fail(heap, 1, 1);
    EXPECT_FALSE(fr_locator_reserve(&locator, 10));
    CheckAll();
    fr_test_heap_fail(heap, 0, 0);
    ASSERT_TRUE(fr_locator_reserve(&locator, 10));
    CheckAll();
    EXPECT_FALSE(fr_locator_reserve(&locator, UINT32_MAX)) << "more than it can ever hold";
    CheckAll();
}

} // namespace
