// The executed floors: one immutable record, replaced by publication (D1, R38, R39).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "tests/support/heap.h"
#include "tests/unit/floors_cases.h"

namespace
{

struct Floors : testing::Test {
    Floors() : heap(fr_test_heap_create()), it(floors_case_open(heap))
    {
    }
    ~Floors() override
    {
        floors_case_close(it);
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    }
    void all(uint64_t ordinal)
    {
        ASSERT_TRUE(floors_case_publish(it, ordinal, nullptr, 0, 8));
    }
    void some(uint64_t ordinal, const std::vector<uint32_t> &indices)
    {
        ASSERT_TRUE(floors_case_publish(it, ordinal, indices.data(),
                                        static_cast<uint32_t>(indices.size()), 64));
    }
    uint64_t effective(uint32_t index)
    {
        fr_floors_view *view = floors_case_hold(it);
        uint64_t floor = floors_view_effective(view, index);
        floors_case_let_go(it, view);
        return floor;
    }
    fr_test_heap *heap;
    fr_floors_case *it;
};

TEST_F(Floors, start_at_0)
{
    EXPECT_EQ(effective(0), 0u);
    EXPECT_EQ(effective(12345), 0u);
}

TEST_F(Floors, only_rise)
{
    all(10);
    some(7, {3});
    EXPECT_EQ(effective(3), 10u);
    all(9);
    EXPECT_EQ(effective(3), 10u);
    some(12, {3});
    EXPECT_EQ(effective(3), 12u);
    EXPECT_EQ(effective(4), 10u);
    some(11, {3, 4});
    EXPECT_EQ(effective(3), 12u);
    EXPECT_EQ(effective(4), 11u);
    all(UINT64_MAX);
    EXPECT_EQ(effective(3), UINT64_MAX);
}

TEST_F(Floors, a_record_that_is_held_does_not_change)
{
    some(5, {1, 2});
    fr_floors_view *view = floors_case_hold(it);
    all(20);
    some(30, {1});
    EXPECT_EQ(floors_view_effective(view, 1), 5u);
    EXPECT_EQ(floors_view_effective(view, 3), 0u);
    EXPECT_EQ(floors_view_serial(view), 1u);
    floors_case_let_go(it, view);
    EXPECT_EQ(effective(1), 30u);
    EXPECT_EQ(effective(3), 20u);
}

TEST_F(Floors, what_raises_nothing_publishes_nothing)
{
    all(10);
    all(10);
    some(4, {0, 1});
    fr_floors_view *view = floors_case_hold(it);
    EXPECT_EQ(floors_view_serial(view), 1u);
    EXPECT_EQ(floors_view_count(view), 0u);
    EXPECT_EQ(floors_view_least(view), UINT64_MAX);
    floors_case_let_go(it, view);
}

TEST_F(Floors, folds_are_handed_out_in_order_to_one_at_a_time)
{
    all(1);
    some(2, {0});
    uint64_t serials[2];
    ASSERT_TRUE(floors_case_fold(it, serials));
    EXPECT_EQ(serials[0], 1u);
    EXPECT_EQ(serials[1], 0u);
    all(3);
    ASSERT_TRUE(floors_case_fold(it, serials));
    EXPECT_EQ(serials[0], 2u);
    EXPECT_EQ(serials[1], 1u);
    ASSERT_TRUE(floors_case_fold(it, serials));
    EXPECT_EQ(serials[0], 3u);
    EXPECT_EQ(serials[1], 2u);
    EXPECT_FALSE(floors_case_fold(it, serials));
}

TEST_F(Floors, agree_with_a_map)
{
    std::mt19937 random(7);
    std::map<uint32_t, uint64_t> own;
    uint64_t base = 0;
    for (int round = 0; round < 500; round++) {
        uint64_t ordinal = random() % 100 + static_cast<unsigned>(round) / 4;
        if (random() % 4 == 0) {
            all(ordinal);
            base = std::max(base, ordinal);
        } else {
            std::vector<uint32_t> indices;
            for (uint32_t i = 0; i < 40; i++)
                if (random() % 3 == 0)
                    indices.push_back(i);
            some(ordinal, indices);
            for (uint32_t i : indices)
                own[i] = std::max(own[i], ordinal);
        }
        fr_floors_view *view = floors_case_hold(it);
        uint64_t least = UINT64_MAX;
        uint32_t count = 0;
        for (uint32_t i = 0; i < 40; i++) {
            ASSERT_EQ(floors_view_effective(view, i), std::max(base, own[i])) << round;
            if (own[i] > base) {
                count++;
                least = std::min(least, own[i]);
            }
        }
        EXPECT_EQ(floors_view_base(view), base);
        EXPECT_EQ(floors_view_count(view), count);
        EXPECT_EQ(floors_view_least(view), least);
        floors_case_let_go(it, view);
        uint64_t serials[2];
        while (floors_case_fold(it, serials))
            ;
    }
}

TEST_F(Floors, records_are_used_again)
{
    uint64_t serials[2];
    for (uint64_t ordinal = 1; ordinal < 4; ordinal++) {
        all(ordinal);
        while (floors_case_fold(it, serials))
            ;
    }
    fr_test_heap_fail(heap, 0, 0);
    for (uint64_t ordinal = 4; ordinal < 100; ordinal++) {
        all(ordinal);
        while (floors_case_fold(it, serials))
            ;
    }
    EXPECT_EQ(fr_test_heap_calls(heap), 0u);
}

TEST_F(Floors, publish_nothing_without_memory)
{
    fr_test_heap_fail(heap, 1, 0);
    EXPECT_FALSE(floors_case_publish(it, 10, nullptr, 0, 8));
    EXPECT_EQ(effective(0), 0u);
    fr_test_heap_fail(heap, 0, 0);
    all(10);
    EXPECT_EQ(effective(0), 10u);
}

TEST_F(Floors, readers_see_whole_records)
{
    EXPECT_EQ(floors_case_race(it, 3000), 0u);
}

} // namespace
