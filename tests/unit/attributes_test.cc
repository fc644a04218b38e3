// The attribute table: names, aliases, dense indices, and many threads at once.
#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "tests/support/heap.h"
#include "tests/unit/attributes_cases.h"

namespace
{

class Attributes : public ::testing::Test
{
  protected:
    void SetUp() override
    {
        heap = fr_test_heap_create();
        table = attributes_case_open(fr_test_heap_allocator(heap), 40, 50);
        ASSERT_NE(table, nullptr);
    }

    void TearDown() override
    {
        attributes_case_close(table);
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    }

    fr_test_heap *heap = nullptr;
    fr_attributes *table = nullptr;
};

TEST_F(Attributes, AreUnknownUntilEntered)
{
    EXPECT_EQ(attributes_case_find(table, 1), nullptr);
    EXPECT_EQ(attributes_case_find(table, UINT64_MAX), nullptr);
    EXPECT_EQ(attributes_case_find(table, UINT64_C(1) << 32), nullptr);
    EXPECT_EQ(attributes_case_count(table), 0u);
    fr_attribute *one = attributes_case_enter(table, 1);
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(attributes_case_find(table, 1), one);
    EXPECT_EQ(attributes_case_enter(table, 1), one);
    EXPECT_EQ(attributes_case_find(table, 2), nullptr) << "in the same page";
    EXPECT_EQ(attributes_case_count(table), 1u);
    EXPECT_TRUE(attributes_case_is_fresh(one));
    EXPECT_EQ(attributes_case_token(one), 1u);
}

TEST_F(Attributes, AliasesAreOneAttributeBothWays)
{
    EXPECT_EQ(attributes_case_find(table, 40), nullptr);
    EXPECT_EQ(attributes_case_find(table, 50), nullptr);
    fr_attribute *one = attributes_case_enter(table, 40);
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(attributes_case_token(one), 50u) << "the canonical name";
    EXPECT_EQ(attributes_case_find(table, 50), one);
    EXPECT_EQ(attributes_case_find(table, 40), one);
    EXPECT_EQ(attributes_case_enter(table, 50), one);
    EXPECT_EQ(attributes_case_count(table), 1u);

    fr_attributes *other = attributes_case_open(fr_test_heap_allocator(heap), 7, 3000);
    fr_attribute *two = attributes_case_enter(other, 3000);
    EXPECT_EQ(attributes_case_find(other, 7), two);
    EXPECT_EQ(attributes_case_enter(other, 7), two);
    EXPECT_EQ(attributes_case_token(two), 3000u);
    attributes_case_close(other);
}

TEST_F(Attributes, WithoutAliasEachNameIsItsOwn)
{
    fr_attributes *plain = attributes_case_open(fr_test_heap_allocator(heap), 0, 0);
    EXPECT_NE(attributes_case_enter(plain, 40), attributes_case_enter(plain, 50));
    EXPECT_EQ(attributes_case_count(plain), 2u);
    attributes_case_close(plain);
}

TEST_F(Attributes, IndicesAreDenseAndEntriesStay)
{
    std::vector<fr_attribute *> entered;
    for (uint32_t k = 0; k < 5000; k++) {
        entered.push_back(attributes_case_enter(table, 100 + uint64_t{k} * 13));
        ASSERT_NE(entered.back(), nullptr);
    }
    ASSERT_EQ(attributes_case_count(table), 5000u);
    for (uint32_t k = 0; k < 5000; k++) {
        EXPECT_EQ(attributes_case_at(table, k), entered[k]);
        EXPECT_EQ(attributes_case_index(entered[k]), k);
        EXPECT_EQ(attributes_case_token(entered[k]), 100 + uint64_t{k} * 13);
        EXPECT_EQ(attributes_case_find(table, 100 + uint64_t{k} * 13), entered[k]);
        EXPECT_TRUE(attributes_case_is_fresh(entered[k]));
    }
    EXPECT_EQ(attributes_case_bytes(table), fr_test_heap_live_bytes(heap));
}

TEST_F(Attributes, RefusesATokenOfMoreThan32Bits)
{
    EXPECT_EQ(attributes_case_enter(table, UINT64_C(1) << 32), nullptr);
    EXPECT_NE(attributes_case_enter(table, UINT32_MAX), nullptr);
    EXPECT_EQ(attributes_case_count(table), 1u);
}

TEST_F(Attributes, WithoutMemoryNothingChanges)
{
    uint64_t failures = 0;
    for (uint64_t token = 1; token < 3000; token += 60) {
        for (uint64_t k = 1;; k++) {
            uint32_t count = attributes_case_count(table);
            fr_test_heap_fail(heap, k, 0);
            fr_attribute *entered = attributes_case_enter(table, token);
            fr_test_heap_fail(heap, 0, 0);
            if (entered) {
                EXPECT_EQ(attributes_case_count(table), count + 1);
                break;
            }
            failures++;
            EXPECT_EQ(attributes_case_count(table), count);
            EXPECT_EQ(attributes_case_find(table, token), nullptr);
        }
    }
    EXPECT_GE(failures, 5u) << "three pages, a table and two chunks";
    fr_test_heap_fail(heap, 1, 0);
    EXPECT_EQ(attributes_case_open(fr_test_heap_allocator(heap), 0, 0), nullptr);
    fr_test_heap_fail(heap, 0, 0);
}

TEST_F(Attributes, ThreadsEnterTheSameNames)
{
    constexpr uint32_t kThreads = 4;
    constexpr uint32_t kNames = 4000;
    std::vector<std::vector<fr_attribute *>> seen(kThreads);
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < kThreads; t++) {
        threads.emplace_back([&, t] {
            for (uint32_t k = 0; k < kNames; k++) {
                uint64_t token = 1000 + (k + t * 300) % kNames * 3;
                fr_attribute *attribute = attributes_case_enter(table, token);
                seen[t].push_back(attribute);
                EXPECT_EQ(attributes_case_token(attribute), token);
                // What is below the count is whole, whoever entered it.
                uint32_t last = attributes_case_count(table) - 1;
                EXPECT_EQ(attributes_case_index(attributes_case_at(table, last)), last);
                fr_attribute *another = attributes_case_find(table, 1000 + k % kNames * 3);
                if (another) {
                    EXPECT_EQ(attributes_case_token(another), 1000 + k % kNames * 3);
                }
            }
        });
    }
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(attributes_case_count(table), kNames);
    std::set<fr_attribute *> all;
    for (uint32_t k = 0; k < kNames; k++)
        all.insert(attributes_case_at(table, k));
    EXPECT_EQ(all.size(), kNames);
    for (const auto &list : seen)
        EXPECT_EQ(std::set<fr_attribute *>(list.begin(), list.end()), all);
}

} // namespace
