// Handles: never used again, refused when they are stale, foreign or of another kind (R15, D7).
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/support/heap.h"
#include "tests/unit/handles_cases.h"

namespace
{

constexpr int query = 1, read = 2, group = 5;

struct Handles : testing::Test {
    Handles() : heap(fr_test_heap_create()), it(handles_case_open(heap, 7))
    {
    }
    ~Handles() override
    {
        handles_case_close(it);
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    }
    fr_test_heap *heap;
    fr_handles_case *it;
    int objects[16];
};

TEST_F(Handles, stand_for_their_object_until_they_are_taken)
{
    uint64_t first = handles_case_add(it, query, &objects[0]);
    uint64_t second = handles_case_add(it, read, &objects[1]);
    ASSERT_NE(first, 0u);
    ASSERT_NE(second, 0u);
    EXPECT_EQ(handles_case_get(it, query, first), &objects[0]);
    EXPECT_EQ(handles_case_get(it, read, second), &objects[1]);
    EXPECT_EQ(handles_case_take(it, query, first), &objects[0]);
    EXPECT_EQ(handles_case_take(it, query, first), nullptr);
    EXPECT_EQ(handles_case_get(it, query, first), nullptr);
    EXPECT_EQ(handles_case_get(it, read, second), &objects[1]);
}

TEST_F(Handles, that_are_reserved_stand_for_nothing_until_they_are_published)
{
    uint64_t handle = handles_case_reserve(it, query);
    uint64_t other = handles_case_add(it, query, &objects[1]);
    EXPECT_NE(handle, other);
    EXPECT_EQ(handles_case_get(it, query, handle), nullptr);
    EXPECT_EQ(handles_case_take(it, query, handle), nullptr);
    EXPECT_STREQ(handles_case_why_not(it, query, handle), "released already, or never given out");
    handles_case_publish(it, handle, &objects[0]);
    EXPECT_EQ(handles_case_get(it, query, handle), &objects[0]);
    EXPECT_EQ(handles_case_take(it, query, handle), &objects[0]);
    EXPECT_EQ(handles_case_take(it, query, handle), nullptr);

    uint64_t cancelled = handles_case_reserve(it, read);
    EXPECT_NE(cancelled, handle);
    handles_case_cancel(it, cancelled);
    EXPECT_EQ(handles_case_get(it, read, cancelled), nullptr);
    EXPECT_EQ(handles_case_reserve(it, read), cancelled) << "nobody was given it";
    handles_case_cancel(it, cancelled);
    EXPECT_EQ(handles_case_take(it, query, other), &objects[1]);
}

TEST_F(Handles, of_another_kind_are_refused)
{
    uint64_t handle = handles_case_add(it, query, &objects[0]);
    EXPECT_EQ(handles_case_get(it, read, handle), nullptr);
    EXPECT_EQ(handles_case_take(it, group, handle), nullptr);
    EXPECT_STREQ(handles_case_why_not(it, read, handle), "of another kind");
    EXPECT_EQ(handles_case_get(it, query, handle), &objects[0]);
}

TEST_F(Handles, of_another_instance_are_refused)
{
    fr_handles_case *other = handles_case_open(heap, 8);
    uint64_t handle = handles_case_add(it, query, &objects[0]);
    uint64_t foreign = handles_case_add(other, query, &objects[1]);
    EXPECT_EQ(handles_case_get(it, query, foreign), nullptr);
    EXPECT_EQ(handles_case_get(other, query, handle), nullptr);
    EXPECT_STREQ(handles_case_why_not(it, query, foreign), "none that this instance gave out");
    EXPECT_EQ(handles_case_close(other), 1u);
}

TEST_F(Handles, made_up_ones_are_refused)
{
    uint64_t handle = handles_case_add(it, query, &objects[0]);
    for (int bit = 0; bit < 64; bit++)
        EXPECT_EQ(handles_case_get(it, query, handle ^ UINT64_C(1) << bit), nullptr) << bit;
    EXPECT_EQ(handles_case_get(it, query, 0), nullptr);
    EXPECT_EQ(handles_case_get(it, query, UINT64_MAX), nullptr);
    EXPECT_STREQ(handles_case_why_not(it, query, 0), "the invalid handle");
    EXPECT_STREQ(handles_case_why_not(it, query, handle + 1),
                 "released already, or never given out");
}

TEST_F(Handles, are_never_used_again)
{
    std::set<uint64_t> seen;
    std::vector<uint64_t> live;
    for (int i = 0; i < 3000; i++) {
        uint64_t handle = handles_case_add(it, i % 2 ? query : read, &objects[i % 16]);
        EXPECT_TRUE(seen.insert(handle).second);
        live.push_back((static_cast<uint64_t>(i % 2) << 63) ^ handle);
        if (live.size() == 5) {
            for (uint64_t packed : live) {
                bool is_query = packed >> 63;
                uint64_t taken = packed & ~(UINT64_C(1) << 63);
                EXPECT_NE(handles_case_take(it, is_query ? query : read, taken), nullptr);
            }
            live.clear();
        }
    }
    for (uint64_t handle : seen)
        EXPECT_EQ(handles_case_get(it, query, handle), nullptr);
}

TEST_F(Handles, many_at_the_same_time)
{
    std::vector<uint64_t> live;
    for (size_t i = 0; i < 5000; i++)
        live.push_back(handles_case_add(it, group, &objects[i % 16]));
    EXPECT_EQ(std::set<uint64_t>(live.begin(), live.end()).size(), 5000u);
    for (size_t i = 0; i < 5000; i++)
        EXPECT_EQ(handles_case_get(it, group, live[i]), &objects[i % 16]);
    for (size_t i = 0; i < 5000; i += 2)
        EXPECT_EQ(handles_case_take(it, group, live[i]), &objects[i % 16]);
    for (size_t i = 0; i < 5000; i++)
        EXPECT_EQ(handles_case_get(it, group, live[i]), i % 2 ? &objects[i % 16] : nullptr);
}

TEST_F(Handles, nothing_changes_without_memory)
{
    // The first chunk of slots, then a later one.
    std::set<uint64_t> live;
    for (size_t made : {size_t{0}, size_t{256}}) {
        while (live.size() < made)
            live.insert(handles_case_add(it, group, &objects[0]));
        fr_test_heap_fail(heap, 1, 0);
        EXPECT_EQ(handles_case_add(it, group, &objects[0]), 0u);
        fr_test_heap_fail(heap, 0, 0);
        live.insert(handles_case_add(it, group, &objects[0]));
        EXPECT_EQ(live.size(), made + 1);
    }
    EXPECT_EQ(live.count(0), 0u);
    for (uint64_t handle : live)
        EXPECT_EQ(handles_case_get(it, group, handle), &objects[0]);
}

TEST_F(Handles, an_object_is_not_retained_after_it_was_taken)
{
    EXPECT_EQ(handles_case_race(it, 3000), 0u);
}

} // namespace
