// Marks of deletes against a plain list of events.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

extern "C" {
#include "runtime/store/marks.h"
}
#include "tests/support/heap.h"

namespace
{

struct Event {
    uint64_t op_id;
    uint32_t attribute, prim;
    bool deleted;
};

class Marks : public ::testing::Test
{
  protected:
    void SetUp() override
    {
        heap = fr_test_heap_create();
        late = fr_late_create(fr_test_heap_allocator(heap));
        ASSERT_NE(late, nullptr);
        marks = fr_marks_create(fr_test_heap_allocator(heap), late);
        ASSERT_NE(marks, nullptr);
    }
    void TearDown() override
    {
        fr_marks_destroy(marks);
        fr_late_destroy(late);
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_live_bytes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    }

    void Delete(uint64_t ordinal, uint32_t attribute, const std::vector<uint32_t> &prims)
    {
        uint64_t id = ++last_id;
        uint32_t count = static_cast<uint32_t>(prims.size());
        ASSERT_TRUE(
            fr_marks_reserve_delete(marks, ordinal, attribute != FR_MARK_ALL, prims.data(), count));
        fr_marks_delete(marks, ordinal, attribute, prims.data(), count, id);
        fr_marks_end(marks, ordinal, count);
        for (uint32_t prim : prims)
            events[ordinal].push_back({id, attribute, prim, true});
    }
    void Write(uint64_t ordinal, uint32_t attribute, const std::vector<uint32_t> &prims)
    {
        uint64_t id = ++last_id;
        std::vector<uint32_t> kept = prims;
        uint32_t count = fr_marks_deleted(marks, ordinal, {attribute, attribute}, kept.data(),
                                          static_cast<uint32_t>(kept.size()));
        if (count > 0) {
            ASSERT_TRUE(fr_marks_reserve(marks, ordinal, count));
            fr_marks_keep(marks, ordinal, {attribute, attribute}, kept.data(), count, id);
            fr_marks_end(marks, ordinal, count);
        }
        for (uint32_t prim : prims)
            events[ordinal].push_back({id, attribute, prim, false});
    }
    bool IsDeleted(uint64_t ordinal, uint32_t attribute, uint32_t prim, uint64_t below)
    {
        bool deleted = false;
        for (const Event &event : events[ordinal])
            if (event.op_id < below && event.prim == prim &&
                (event.attribute == attribute || (event.deleted && event.attribute == FR_MARK_ALL)))
                deleted = event.deleted;
        return deleted;
    }
    uint64_t Find(uint32_t attribute, uint32_t prim, uint64_t low, uint64_t high, uint64_t below)
    {
        for (auto it = events.rbegin(); it != events.rend(); ++it)
            if (it->first > low && it->first <= high &&
                IsDeleted(it->first, attribute, prim, below))
                return it->first;
        return 0;
    }
    // In the order in which they were last deleted.
    std::vector<uint32_t> Collect(uint64_t ordinal, uint32_t attribute)
    {
        fr_marked *marked = nullptr;
        uint32_t count = 0, capacity = 0;
        EXPECT_TRUE(
            fr_marks_collect(marks, ordinal, {attribute, attribute}, &marked, &count, &capacity));
        std::vector<uint32_t> prims;
        for (uint32_t k = 0; k < count; k++)
            prims.push_back(marked[k].prim);
        fr_marked_release(marks, marked, capacity);
        return prims;
    }

    fr_test_heap *heap = nullptr;
    fr_late *late = nullptr;
    fr_marks *marks = nullptr;
    uint64_t last_id = 0;
    std::map<uint64_t, std::vector<Event>> events;
};

TEST_F(Marks, TheLastEventOfAKeyDecides)
{
    EXPECT_TRUE(fr_marks_none(marks));
    Delete(5, 0, {1, 2, 3}); // op 1
    Write(5, 0, {2});        // op 2
    Write(5, 1, {3});        // op 3: another attribute
    Delete(5, 0, {2});       // op 4
    EXPECT_FALSE(fr_marks_none(marks));
    EXPECT_EQ(fr_marks_find(marks, {0, 0}, 2, 4, 5, 1), 0u);
    EXPECT_EQ(fr_marks_find(marks, {0, 0}, 2, 4, 5, 2), 5u);
    EXPECT_EQ(fr_marks_find(marks, {0, 0}, 2, 4, 5, 4), 0u);
    EXPECT_EQ(fr_marks_find(marks, {0, 0}, 2, 4, 9, UINT64_MAX), 5u);
    EXPECT_EQ(fr_marks_find(marks, {0, 0}, 2, 5, 9, UINT64_MAX), 0u); // at or below the floor
    EXPECT_EQ(fr_marks_find(marks, {1, 1}, 3, 0, 9, UINT64_MAX), 0u);
    EXPECT_EQ(Collect(5, 0), (std::vector<uint32_t>{1, 3, 2}));
    EXPECT_EQ(Collect(5, 1), std::vector<uint32_t>{});
    EXPECT_EQ(Collect(6, 0), std::vector<uint32_t>{});
}

TEST_F(Marks, AWholePrimIsDeletedForEveryAttribute)
{
    Delete(5, FR_MARK_ALL, {1, 2});
    Write(5, 3, {1});
    EXPECT_EQ(fr_marks_find(marks, {7, 7}, 1, 0, 5, UINT64_MAX), 5u);
    EXPECT_EQ(fr_marks_find(marks, {3, 3}, 1, 0, 5, UINT64_MAX), 0u);
    EXPECT_EQ(Collect(5, 3), std::vector<uint32_t>{2});
    EXPECT_EQ(Collect(5, 7), (std::vector<uint32_t>{1, 2}));
    Delete(5, FR_MARK_ALL, {1});
    EXPECT_EQ(Collect(5, 3), (std::vector<uint32_t>{2, 1}));
}

TEST_F(Marks, AnOlderSchemaStaysDeleted)
{
    Delete(5, 0, {1, 2});
    uint32_t prim = 1;
    ASSERT_TRUE(fr_marks_reserve(marks, 5, 1));
    fr_marks_keep(marks, 5, {0, 9}, &prim, 1, ++last_id);
    fr_marks_end(marks, 5, 1);
    EXPECT_EQ(fr_marks_find(marks, {0, 9}, 1, 0, 5, UINT64_MAX), 0u);
    EXPECT_EQ(fr_marks_find(marks, {0, 8}, 1, 0, 5, UINT64_MAX), 5u);
    EXPECT_TRUE(fr_marks_ever(marks, 1));
    EXPECT_FALSE(fr_marks_ever(marks, 3));
    EXPECT_FALSE(fr_marks_ever(marks, 1u << 30));
}

TEST_F(Marks, GoWhenTheirSealsAreDone)
{
    Delete(5, 0, {1});
    Delete(5, 1, {1});
    Delete(7, 0, {1});
    uint64_t next = 0;
    ASSERT_TRUE(fr_marks_next(marks, 0, 9, &next));
    EXPECT_EQ(next, 5u);
    ASSERT_TRUE(fr_marks_next(marks, 5, 9, &next));
    EXPECT_EQ(next, 7u);
    EXPECT_FALSE(fr_marks_next(marks, 7, 9, &next));
    EXPECT_FALSE(fr_marks_next(marks, 5, 6, &next));
    fr_marks_settle(marks, 5, 0);
    ASSERT_TRUE(fr_marks_next(marks, 0, 9, &next));
    EXPECT_EQ(next, 5u);
    fr_marks_settle(marks, 7, 0); // waits for the lower one
    fr_marks_settle(marks, 5, 1);
    EXPECT_TRUE(fr_marks_none(marks));
    EXPECT_EQ(fr_marks_bytes(marks), 0u);
    Delete(8, FR_MARK_ALL, {1});
    fr_marks_settle(marks, 8, 0);
    fr_marks_drop(marks, 7);
    EXPECT_FALSE(fr_marks_none(marks)); // an attribute may still appear below it
    fr_marks_drop(marks, 8);
    EXPECT_TRUE(fr_marks_none(marks));
}

TEST_F(Marks, AReservationKeepsTheRecord)
{
    uint32_t prim = 1;
    ASSERT_TRUE(fr_marks_reserve_delete(marks, 5, 1, &prim, 1));
    fr_marks_drop(marks, 9);
    fr_marks_delete(marks, 5, 0, &prim, 1, 1);
    fr_marks_end(marks, 5, 1);
    EXPECT_EQ(fr_marks_find(marks, {0, 0}, 1, 0, 9, UINT64_MAX), 5u);
    fr_marks_drop(marks, 9);
    ASSERT_TRUE(fr_marks_reserve(marks, 6, 1)); // and nothing comes of it
    fr_marks_end(marks, 6, 1);
    EXPECT_TRUE(fr_marks_none(marks));
}

// Marks of another ordinal are left to seals and to the end of judgements.
TEST_F(Marks, AnEndTakesItsOwnRecordOnly)
{
    Delete(1, 0, {1, 2});
    const uint32_t prim = 3;
    ASSERT_TRUE(fr_marks_reserve(marks, 1, 1)); // so that the seal leaves the record
    fr_marks_settle(marks, 1, 0);
    fr_marks_end(marks, 1, 1);
    ASSERT_TRUE(fr_marks_reserve_delete(marks, 2, 1, &prim, 1));
    fr_marks_end(marks, 2, 1); // another lane, which has entered nothing
    EXPECT_EQ(fr_marks_count(marks, 1), 2u);
    EXPECT_EQ(fr_marks_count(marks, 2), 0u);
    fr_marks_drop(marks, 0);
    EXPECT_TRUE(fr_marks_none(marks));
}

TEST_F(Marks, ReservationsAddUp)
{
    std::vector<uint32_t> prims;
    for (uint32_t prim = 1; prim <= 40; prim++)
        prims.push_back(prim);
    Delete(5, 0, {1});
    ASSERT_TRUE(fr_marks_reserve(marks, 5, 40));
    ASSERT_TRUE(fr_marks_reserve(marks, 5, 40)); // of another column, by the same op
    fr_marks_keep(marks, 5, {0, 0}, prims.data(), 40, ++last_id);
    fr_marks_keep(marks, 5, {0, 1}, prims.data(), 40, last_id);
    fr_marks_end(marks, 5, 40);
    fr_marks_end(marks, 5, 40);
    EXPECT_EQ(fr_marks_count(marks, 5), 81u);
    EXPECT_EQ(Collect(5, 0), std::vector<uint32_t>{});
}

TEST_F(Marks, WithoutMemoryNothingChanges)
{
    Delete(5, 0, {1, 2, 3, 4});
    for (uint64_t k = 1; k < 4; k++) { // the record, events, their hash
        fr_test_heap_fail(heap, k, 0);
        EXPECT_FALSE(fr_marks_reserve(marks, 6, 100)) << k;
        fr_test_heap_fail(heap, 0, 0);
    }
    fr_test_heap_fail(heap, 1, 0);
    EXPECT_FALSE(fr_marks_reserve(marks, 5, 100));
    fr_marked *marked = nullptr;
    uint32_t count = 0, capacity = 0;
    fr_test_heap_fail(heap, 1, 0);
    EXPECT_FALSE(fr_marks_collect(marks, 5, {0, 0}, &marked, &count, &capacity));
    fr_test_heap_fail(heap, 0, 0);
    EXPECT_EQ(Collect(5, 0), (std::vector<uint32_t>{1, 2, 3, 4}));
    uint64_t next = 0;
    EXPECT_FALSE(fr_marks_next(marks, 5, 9, &next));
}

TEST_F(Marks, AsAListOfEventsSays)
{
    std::mt19937 random(7);
    const uint32_t attributes = 3, prims = 40;
    for (int round = 0; round < 600; round++) {
        uint64_t ordinal = 1 + random() % 6;
        uint32_t attribute = random() % attributes;
        std::vector<uint32_t> chosen;
        for (uint32_t prim = 1; prim <= prims; prim++)
            if (random() % 8 == 0)
                chosen.push_back(prim);
        if (random() % 2)
            Write(ordinal, attribute, chosen);
        else
            Delete(ordinal, random() % 3 ? attribute : FR_MARK_ALL, chosen);
        for (int look = 0; look < 20; look++) {
            uint32_t prim = 1 + random() % prims, which = random() % attributes;
            uint64_t low = random() % 7, high = low + random() % 7;
            uint64_t below = 1 + random() % (last_id + 2);
            ASSERT_EQ(fr_marks_find(marks, {which, which}, prim, low, high, below),
                      Find(which, prim, low, high, below))
                << "round " << round;
        }
    }
    for (uint64_t ordinal = 1; ordinal <= 6; ordinal++)
        for (uint32_t attribute = 0; attribute < attributes; attribute++) {
            std::vector<uint32_t> collected = Collect(ordinal, attribute), expected;
            for (uint32_t prim = 1; prim <= prims; prim++)
                if (IsDeleted(ordinal, attribute, prim, UINT64_MAX))
                    expected.push_back(prim);
            std::sort(collected.begin(), collected.end());
            EXPECT_EQ(collected, expected);
        }
}

} // namespace
