// Row sets against a vector and a map.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

extern "C" {
#include "runtime/store/row_set.h"
}
#include "tests/support/heap.h"

namespace
{

// The set beside what it must be, and a payload of one number a row as its users keep it.
class RowSet : public ::testing::Test
{
  protected:
    void SetUp() override
    {
        heap = fr_test_heap_create();
    }

    void Open(uint32_t universe)
    {
        fr_row_set_init(&set, fr_test_heap_allocator(heap), universe);
        order.clear();
        places.clear();
    }

    void Close()
    {
        fr_row_set_destroy(&set);
        EXPECT_EQ(fr_test_heap_live_bytes(heap), 0u);
        EXPECT_EQ(fr_row_set_bytes(&set), 0u);
    }

    void TearDown() override
    {
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    }

    // The list that a conversion leaves behind is the order so far; places are rows from then on.
    bool Reserve(uint32_t more)
    {
        bool turns = fr_row_set_turns_bitmap(&set, more);
        bool became = false;
        uint32_t *old_rows = nullptr;
        uint32_t old_count = 0;
        if (!fr_row_set_reserve(&set, more, &became, &old_rows, &old_count))
            return false;
        EXPECT_EQ(became, turns);
        EXPECT_EQ(became, old_rows != nullptr);
        if (became) {
            EXPECT_TRUE(fr_row_set_is_bitmap(&set));
            EXPECT_EQ(std::vector<uint32_t>(old_rows, old_rows + old_count), order);
            for (auto &place : places)
                place.second = place.first;
        }
        fr_row_set_release_old(&set, old_rows);
        return true;
    }

    // As users do it that look into the set meanwhile.
    bool Index()
    {
        fr_row_set_room room{};
        if (!fr_row_set_begin_index(fr_test_heap_allocator(heap), set.capacity, &room))
            return false;
        for (uint32_t first = 0; first < set.count; first += 7)
            fr_row_set_add_index(&set, &room, first, std::min(first + 7, set.count));
        Check(710);
        fr_row_set_install_index(&set, &room);
        fr_row_set_room_release(&set, &room);
        return true;
    }

    void Add(uint32_t row)
    {
        bool added = false;
        uint32_t place = fr_row_set_add(&set, row, &added);
        bool is_new = places.count(row) == 0;
        EXPECT_EQ(added, is_new);
        if (is_new) {
            places[row] = fr_row_set_is_bitmap(&set) ? row : static_cast<uint32_t>(order.size());
            order.push_back(row);
        }
        EXPECT_EQ(place, places[row]);
    }

    void Check(uint32_t below)
    {
        EXPECT_EQ(set.count, order.size());
        for (uint32_t row = 0; row < below; row++) {
            auto found = places.find(row);
            EXPECT_EQ(fr_row_set_place(&set, row),
                      found == places.end() ? FR_ROW_SET_NONE : found->second);
        }
        if (!fr_row_set_is_bitmap(&set)) {
            EXPECT_TRUE(std::equal(order.begin(), order.end(), set.rows));
        }
    }

    fr_test_heap *heap = nullptr;
    fr_row_set set{};
    std::vector<uint32_t> order;
    std::map<uint32_t, uint32_t> places;
};

TEST_F(RowSet, EqualsTheNaiveOne)
{
    std::mt19937 random(7);
    for (uint32_t universe : {0u, 1u, 7u, 8u, 9u, 63u, 64u, 65u, 200u, 1000u, 4096u}) {
        for (int turn = 0; turn < 20; turn++) {
            Open(universe);
            uint32_t below = universe ? universe : 700;
            for (uint32_t batch = 0; batch < 12; batch++) {
                uint32_t count = static_cast<uint32_t>(random() % (below / 16 + 2));
                ASSERT_TRUE(Reserve(count));
                for (uint32_t k = 0; k < count; k++)
                    Add(static_cast<uint32_t>(random() % below));
            }
            Check(below + 70);
            EXPECT_GE(fr_row_set_bytes(&set), fr_test_heap_live_bytes(heap));
            Close();
        }
    }
}

TEST_F(RowSet, AppendsRowsThatAreNotInIt)
{
    for (uint32_t step : {1u, 7u, 64u}) {
        Open(0);
        for (uint32_t first = 0, count = 1; count < 3000; first += count * step, count *= 3) {
            std::vector<uint32_t> rows(count);
            for (uint32_t k = 0; k < count; k++)
                rows[k] = first + k * step;
            ASSERT_TRUE(Reserve(count));
            fr_row_set_append(&set, rows.data(), count);
            for (uint32_t row : rows) {
                places[row] = static_cast<uint32_t>(order.size());
                order.push_back(row);
            }
            Add(first); // which is in it
            ASSERT_TRUE(Reserve(1));
            Add(UINT32_MAX - count); // which is not
        }
        Check(20000);
        Close();
    }
}

TEST_F(RowSet, KeepsTheOrderOfUnboundedRows)
{
    Open(0);
    for (uint32_t k = 0; k < 50000; k++) {
        ASSERT_TRUE(fr_row_set_reserve(&set, 1, nullptr, nullptr, nullptr));
        Add(UINT32_MAX - 1 - k * 64);
    }
    Check(0);
    EXPECT_FALSE(fr_row_set_is_bitmap(&set));
    EXPECT_LE(fr_row_set_bytes(&set), 50000u * 2 * 12);
    Close();
}

TEST_F(RowSet, TurnsIntoABitmapAboveAnEighth)
{
    Open(800);
    ASSERT_TRUE(Reserve(100));
    EXPECT_FALSE(fr_row_set_is_bitmap(&set));
    for (uint32_t row = 0; row < 100; row++)
        Add(row * 3);
    EXPECT_FALSE(fr_row_set_turns_bitmap(&set, 0));
    EXPECT_TRUE(fr_row_set_turns_bitmap(&set, 1));
    ASSERT_TRUE(Reserve(1));
    EXPECT_TRUE(fr_row_set_is_bitmap(&set));
    EXPECT_FALSE(fr_row_set_turns_bitmap(&set, 800));
    Check(900);
    EXPECT_EQ(fr_row_set_bytes(&set), 104u);
    Close();
}

TEST_F(RowSet, WithoutMemoryNothingChanges)
{
    for (uint32_t universe : {0u, 1000u}) {
        for (uint64_t k = 1;; k++) {
            Open(universe);
            ASSERT_TRUE(Reserve(20));
            for (uint32_t row = 0; row < 20; row++)
                Add(row * 11 % 97);
            fr_test_heap_fail(heap, k, 0);
            bool done = Reserve(300);
            fr_test_heap_fail(heap, 0, 0);
            Check(400);
            if (!done) {
                EXPECT_FALSE(fr_row_set_is_bitmap(&set));
                ASSERT_TRUE(Reserve(300));
            }
            for (uint32_t row = 0; row < 300; row++)
                Add(row);
            Check(400);
            Close();
            if (done) {
                EXPECT_GT(k, universe ? 1u : 2u);
                break;
            }
        }
    }
}

TEST_F(RowSet, TakesRowsOverAndIndexesThemLater)
{
    Open(0);
    for (uint32_t count : {3u, 8u, 9u, 100u, 50u, 5u}) {
        std::vector<uint32_t> rows;
        for (uint32_t k = 0; k < count; k++)
            rows.push_back(k * 7 % 701);
        uint32_t capacity = set.capacity;
        fr_test_heap_fail(heap, 1, 1);
        bool had_room = fr_row_set_assign(&set, rows.data(), count);
        fr_test_heap_fail(heap, 0, 0);
        EXPECT_EQ(had_room, count <= capacity) << count;
        if (!had_room) {
            EXPECT_EQ(set.count, 0u);
            ASSERT_TRUE(fr_row_set_assign(&set, rows.data(), count));
        }
        order = rows;
        places.clear();
        for (uint32_t k = 0; k < count; k++)
            places[rows[k]] = k;
        Check(710);
        fr_test_heap_fail(heap, 1, 1);
        bool walked = Index();
        fr_test_heap_fail(heap, 0, 0);
        EXPECT_EQ(walked, set.capacity <= 8);
        EXPECT_EQ(fr_row_set_is_indexed(&set), walked);
        ASSERT_TRUE(Index());
        EXPECT_TRUE(fr_row_set_is_indexed(&set));
        EXPECT_EQ(set.hash != nullptr, !walked);
        Check(710);
        ASSERT_TRUE(Reserve(1));
        Add(709);
        Check(710);
        fr_row_set_clear(&set, 0);
        order.clear();
        places.clear();
        Check(710);
    }
    Close();
}

TEST_F(RowSet, GrowsBesideWhatIsThere)
{
    Open(0);
    ASSERT_TRUE(Reserve(20));
    for (uint32_t row = 0; row < 20; row++)
        Add(3 * row);
    fr_row_set_room room, index{};
    const uint32_t *before = set.rows;
    ASSERT_TRUE(fr_row_set_prepare(&set, true, 400, &room));
    EXPECT_EQ(set.rows, before);
    Check(700);
    fr_row_set_install(&set, &room);
    EXPECT_EQ(room.rows, before) << "given back without the lock";
    EXPECT_GE(set.capacity, 420u);
    fr_row_set_room_release(&set, &room);
    Check(700);
    // An index that comes second is not taken.
    ASSERT_TRUE(fr_row_set_begin_index(fr_test_heap_allocator(heap), set.capacity, &index));
    fr_row_set_add_index(&set, &index, 0, set.count);
    fr_row_set_install_index(&set, &index);
    EXPECT_NE(index.hash, nullptr);
    fr_row_set_room_release(&set, &index);
    for (uint32_t row = 0; row < 400; row++)
        Add(row);
    Check(700);
    Close();
}

TEST_F(RowSet, IsClearedToAListAgain)
{
    Open(80);
    ASSERT_TRUE(Reserve(20));
    for (uint32_t row = 0; row < 20; row++)
        Add(row);
    EXPECT_TRUE(fr_row_set_is_bitmap(&set));
    fr_row_set_clear(&set, 400);
    order.clear();
    places.clear();
    EXPECT_FALSE(fr_row_set_is_bitmap(&set));
    EXPECT_EQ(fr_test_heap_live_bytes(heap), 0u);
    ASSERT_TRUE(Reserve(30));
    for (uint32_t row = 0; row < 30; row++)
        Add(399 - row);
    Check(410);
    Close();
}

TEST_F(RowSet, ListsOfTheSameRowsAreFoundEqual)
{
    for (uint32_t count : {1u, 2u, 8u, 9u, 500u}) {
        SCOPED_TRACE(count);
        const uint32_t universe = 5u << 20, step = universe / count; // several windows
        fr_row_set other;
        std::vector<uint32_t> rows(count);
        for (uint32_t k = 0; k < count; k++)
            rows[k] = k * step;
        fr_row_set_init(&set, fr_test_heap_allocator(heap), universe);
        fr_row_set_init(&other, fr_test_heap_allocator(heap), universe);
        ASSERT_TRUE(fr_row_set_assign(&set, rows.data(), count));
        ASSERT_TRUE(fr_row_set_assign(&other, rows.data(), count));
        std::vector<uint64_t> window(fr_row_set_window_bytes(universe) / sizeof(uint64_t), 7);
        EXPECT_LT(window.size() * sizeof(uint64_t), universe / 8);
        auto same = [&] {
            bool found = fr_row_set_same_rows(&set, &other, window.data());
            EXPECT_EQ(fr_row_set_same_rows(&other, &set, window.data()), found);
            return found;
        };
        EXPECT_TRUE(same());
        std::rotate(other.rows, other.rows + count / 3, other.rows + count);
        EXPECT_TRUE(same());
        std::reverse(other.rows, other.rows + count);
        EXPECT_TRUE(same());
        for (uint32_t k : {0u, count / 2, count - 1}) {
            uint32_t row = other.rows[k];
            for (uint32_t instead : {row + 1, row + step - 1, universe - 1}) {
                other.rows[k] = instead;
                EXPECT_FALSE(same());
            }
            other.rows[k] = row;
        }
        other.count--;
        EXPECT_FALSE(same());
        fr_row_set_destroy(&other);
        fr_row_set_destroy(&set);
    }
    EXPECT_EQ(fr_row_set_window_bytes(65), 16u);
}

TEST_F(RowSet, RefusesMoreThanItCanHold)
{
    Open(0);
    EXPECT_FALSE(fr_row_set_reserve(&set, UINT32_MAX, nullptr, nullptr, nullptr));
    ASSERT_TRUE(fr_row_set_reserve(&set, 1, nullptr, nullptr, nullptr));
    Add(5);
    EXPECT_FALSE(fr_row_set_reserve(&set, UINT32_MAX, nullptr, nullptr, nullptr));
    Check(10);
    Close();
}

} // namespace
