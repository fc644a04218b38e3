// The store when memory runs out at any point: a status, or the right values, and all of it comes
// back.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include <ovstage/ovstage.h>

#include "tests/support/store_range.h"
#include "tests/support/store_world.h"

namespace
{

// A program with writes of all kinds, seals and reads, told by numbers: what fails is done again
// without failures later on, so that every state is reached.
class Program
{
  public:
    Program(store_world *on, fr_test_heap *in) : world(on), heap(in)
    {
    }

    // False when a value is not what it must be.
    bool Run()
    {
        bool right = true;
        std::vector<uint32_t> all = range(1, 30), mixed = {31, 2, 40, 3, 2, 5};
        for (uint32_t ordinal = 1; ordinal <= 6; ordinal++) {
            const uint64_t mask = 0x5555;
            Write(all, ordinal % 3 == 1 ? all.size() : 9, ordinal, nullptr);
            Write(mixed, mixed.size(), ordinal, ordinal % 2 ? nullptr : &mask);
            Write({uint32_t{50} + ordinal}, 1, ordinal, nullptr);
            Write(range(10, 12), 12, ordinal + 1, nullptr);
            Write({2}, 1, ordinal, nullptr);
            while (!store_world_seal(world, ordinal))
                fr_test_heap_fail(heap, 0, 0);
            floor = ordinal;
            for (uint64_t at = ordinal > 2 ? ordinal - 2 : 1; at <= ordinal; at++)
                right = Check(range(1, 60), at) && Check(all, at) && Check({2, 50}, at) && right;
        }
        return right;
    }

  private:
    void Write(const std::vector<uint32_t> &prims, size_t count, uint32_t ordinal,
               const uint64_t *mask)
    {
        store_query *query = store_query_create(world, prims.data(), static_cast<uint32_t>(count));
        if (!query)
            return;
        value++;
        int status = store_write(world, 0, query, ordinal, value, mask, 0, false);
        store_query_destroy(world, query);
        if (status != OVSTAGE_OK) {
            EXPECT_EQ(status, OVSTAGE_ERROR_OUT_OF_MEMORY);
            return;
        }
        for (size_t k = 0; k < count; k++) {
            bool last = true;
            for (size_t l = k + 1; l < count; l++)
                last = last && (prims[l] != prims[k] || (mask && !(*mask >> l & 1)));
            if (last && (!mask || (*mask >> k & 1)))
                model[prims[k]][ordinal] = value;
        }
    }
    bool Check(const std::vector<uint32_t> &prims, uint64_t at)
    {
        store_query *query =
            store_query_create(world, prims.data(), static_cast<uint32_t>(prims.size()));
        if (!query)
            return true;
        store_group *group;
        int status = store_read(world, 0, query, at, &group);
        bool right = status == OVSTAGE_OK || status == OVSTAGE_ERROR_OUT_OF_MEMORY;
        EXPECT_TRUE(right) << "status " << status << " at " << at;
        for (uint32_t k = 0; group && k < prims.size(); k++) {
            const store_row *row = store_group_row(group, k);
            const std::map<uint64_t, uint32_t> &written = model[prims[k]];
            auto next = written.upper_bound(at);
            bool is_there = next != written.begin();
            bool same = is_there ? row && store_row_is_whole(row) && row->prim == prims[k] &&
                                       row->value == std::prev(next)->second &&
                                       row->ordinal == std::prev(next)->first
                                 : row == nullptr;
            EXPECT_TRUE(same) << "prim " << prims[k] << " at " << at << " floor " << floor;
            right = right && same;
        }
        if (group)
            store_group_release(world, group);
        store_query_destroy(world, query);
        return right;
    }

    store_world *world;
    fr_test_heap *heap;
    uint64_t floor = 0;
    uint32_t value = 0;
    std::map<uint32_t, std::map<uint64_t, uint32_t>> model;
};

TEST(StoreMemory, EveryAllocationMayFail)
{
    for (int ever_after = 0; ever_after < 2; ever_after++) {
        for (uint64_t k = 1;; k += 1) {
            fr_test_heap *heap = fr_test_heap_create();
            store_world_options options = {2, 0, 0};
            store_world *world = store_world_create(heap, &options);
            ASSERT_NE(world, nullptr);
            fr_test_heap_fail(heap, k, ever_after);
            bool right = Program(world, heap).Run();
            uint64_t calls = fr_test_heap_calls(heap);
            fr_test_heap_fail(heap, 0, 0);
            store_world_destroy(world);
            EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
            EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
            ASSERT_TRUE(right && !::testing::Test::HasFailure()) << "allocation " << k;
            if (calls < k)
                break;
        }
    }
}

// The keys have their places then, and writes of higher ordinals come in above the hole.
TEST(StoreMemory, ASealWithoutMemoryIsMadeUpForByTheNext)
{
    bool failed = true;
    for (uint64_t k = 2; failed; k++) {
        fr_test_heap *heap = fr_test_heap_create();
        store_world_options options = {2, 0, 0};
        store_world *world = store_world_create(heap, &options);
        const std::vector<uint32_t> prims = range(1, 40), few = {4, 9, 50};
        store_query *all = store_query_create(world, prims.data(), 40);
        store_query *some = store_query_create(world, few.data(), 3);
        EXPECT_EQ(store_write(world, 0, all, 1, 1, nullptr, 0, false), OVSTAGE_OK);
        EXPECT_EQ(store_write(world, 0, some, 2, 2, nullptr, 0, false), OVSTAGE_OK);
        fr_test_heap_fail(heap, k, 1);
        EXPECT_TRUE(store_world_seal(world, 2));
        failed = fr_test_heap_calls(heap) >= k;
        fr_test_heap_fail(heap, 0, 0);
        EXPECT_EQ(store_write(world, 0, some, 3, 3, nullptr, 0, false), OVSTAGE_OK);
        EXPECT_TRUE(store_world_seal(world, 3));
        store_group *group;
        for (uint32_t at = 1; at <= 3; at++) {
            EXPECT_EQ(store_read(world, 0, all, at, &group), OVSTAGE_OK) << "allocation " << k;
            for (uint32_t position = 0; group && position < 40; position++) {
                const store_row *row = store_group_row(group, position);
                uint32_t expected = position == 3 || position == 8 ? at : 1;
                EXPECT_TRUE(row && store_row_is_whole(row) && row->ordinal == expected)
                    << "allocation " << k << " at " << at << " position " << position;
            }
            if (group)
                store_group_release(world, group);
        }
        store_query_destroy(world, all);
        store_query_destroy(world, some);
        store_world_destroy(world);
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    }
}

// A sealed value is not lost, and not out of reach: who reads it gives the keys their place then.
TEST(StoreMemory, WhatASealHadNoMemoryForIsReadWithoutAnotherSeal)
{
    uint64_t late = 0;
    bool failed = true;
    for (uint64_t k = 1; failed; k++) {
        fr_test_heap *heap = fr_test_heap_create();
        store_world_options options = {2, 0, 0};
        store_world *world = store_world_create(heap, &options);
        const std::vector<uint32_t> prims = range(1, 40), few = {4, 9, 50};
        store_query *all = store_query_create(world, prims.data(), 40);
        store_query *some = store_query_create(world, few.data(), 3);
        EXPECT_EQ(store_write(world, 0, some, 1, 1, nullptr, 0, false), OVSTAGE_OK);
        EXPECT_TRUE(store_world_seal(world, 1));
        EXPECT_EQ(store_write(world, 0, all, 2, 2, nullptr, 0, false), OVSTAGE_OK);
        EXPECT_EQ(store_write(world, 0, some, 3, 3, nullptr, 0, false), OVSTAGE_OK);
        EXPECT_EQ(store_write(world, 0, all, 4, 4, nullptr, 0, false), OVSTAGE_OK);
        fr_test_heap_fail(heap, k, 1);
        bool sealed = store_world_seal(world, 3);
        failed = fr_test_heap_calls(heap) >= k;
        fr_test_heap_fail(heap, 0, 0);
        store_figures before;
        store_world_figures(world, &before);
        for (uint32_t at = 1; sealed && at <= 3; at++) {
            store_group *group;
            EXPECT_EQ(store_read(world, 0, all, at, &group), OVSTAGE_OK) << "allocation " << k;
            for (uint32_t position = 0; group && position < 40; position++) {
                const store_row *row = store_group_row(group, position);
                bool is_few = position == 3 || position == 8;
                uint32_t expected = at == 2 || is_few ? at : at == 3 ? 2 : 0;
                EXPECT_EQ(row ? row->ordinal : 0, expected)
                    << "allocation " << k << " at " << at << " position " << position;
            }
            if (group)
                store_group_release(world, group);
        }
        store_figures after;
        store_world_figures(world, &after);
        late += after.segments > before.segments;
        EXPECT_TRUE(store_world_seal(world, 4));
        store_group *group;
        EXPECT_EQ(store_read(world, 0, all, 4, &group), OVSTAGE_OK);
        for (uint32_t position = 0; group && position < 40; position++) {
            const store_row *row = store_group_row(group, position);
            EXPECT_TRUE(row && store_row_is_whole(row) && row->ordinal == 4) << position;
        }
        if (group)
            store_group_release(world, group);
        store_query_destroy(world, all);
        store_query_destroy(world, some);
        store_world_destroy(world);
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    }
    EXPECT_GT(late, 1u) << "the seal found memory each time";
}

// Rows are derived above a state of which a part is archived: the k-th allocation of the seal that
// retires it fails, and all after it, and of the derivation, which tries again, the l-th.
class HalfArchived
{
  public:
    explicit HalfArchived(uint64_t at) : at_(at)
    {
        store_world_options options = {2, 0, 0};
        world_ = store_world_create(heap_, &options);
        const std::vector<uint32_t> prims = range(1, count_);
        all_ = store_query_create(world_, prims.data(), count_);
        some_ = store_query_create(world_, prims.data(), changed_);
    }
    HalfArchived(const HalfArchived &) = delete;
    HalfArchived &operator=(const HalfArchived &) = delete;
    ~HalfArchived()
    {
        store_query_destroy(world_, all_);
        store_query_destroy(world_, some_);
        store_world_destroy(world_);
        EXPECT_EQ(fr_test_heap_mistakes(heap_), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap_), 0u);
    }
    // What the derivation answers.
    int Run(uint64_t k, uint64_t l)
    {
        Seal(1, nullptr);
        store_group *pinned; // so that the state keeps all its rows, of which some are to be kept
        EXPECT_EQ(store_read(world_, 0, all_, 1, &pinned), OVSTAGE_OK);
        Seal(4, low_);
        store_group_release(world_, pinned);
        Seal(6, high_);
        seal_fails_ = Seal(8, high_, k);
        fr_test_heap_fail(heap_, l, 0);
        int status = store_derive(world_, 0, some_, at_, 2);
        derivation_fails_ = fr_test_heap_calls(heap_) >= l;
        fr_test_heap_fail(heap_, 0, 0);
        Seal(10, high_);
        return status;
    }
    void Check(bool derived) const
    {
        for (uint32_t at = 1; at <= 5; at++) {
            const uint32_t wanted = at >= 4 ? 4 : derived && at >= at_ ? 2 : 1;
            store_group *group;
            ASSERT_EQ(store_read(world_, 0, some_, at, &group), OVSTAGE_OK) << "at " << at;
            for (uint32_t position = 0; position < changed_; position++) {
                const store_row *row = store_group_row(group, position);
                EXPECT_TRUE(row && store_row_is_whole(row) && row->value == wanted)
                    << "position " << position << " at " << at << ": " << (row ? row->value : 0)
                    << ", not " << wanted;
            }
            store_group_release(world_, group);
        }
    }
    bool SealFails() const
    {
        return seal_fails_;
    }
    bool DerivationFails() const
    {
        return derivation_fails_;
    }

  private:
    // True when some allocation failed.
    bool Seal(uint32_t ordinal, const uint64_t *mask, uint64_t k = 0)
    {
        EXPECT_EQ(store_write(world_, 0, all_, ordinal, ordinal, mask, 0, false), OVSTAGE_OK);
        fr_test_heap_fail(heap_, k, 1);
        const bool sealed = store_world_seal(world_, ordinal);
        const bool failed = k != 0 && fr_test_heap_calls(heap_) >= k;
        fr_test_heap_fail(heap_, 0, 0);
        EXPECT_TRUE(sealed || store_world_seal(world_, ordinal));
        return failed;
    }

    static constexpr uint32_t count_ = 200, changed_ = 100;
    static constexpr uint64_t low_[4] = {~UINT64_C(0), (UINT64_C(1) << (changed_ - 64)) - 1, 0, 0};
    static constexpr uint64_t high_[4] = {0, ~low_[1], ~UINT64_C(0), 0xff};
    const uint64_t at_;
    fr_test_heap *heap_ = fr_test_heap_create();
    store_world *world_;
    store_query *all_, *some_;
    bool seal_fails_ = false, derivation_fails_ = false;
};

TEST(StoreMemory, WhatIsDerivedAboveAStateThatIsHalfArchived)
{
    int times = 0;
    for (uint64_t at = 1; at <= 2; at++) {
        for (uint64_t k = 1, seal_fails = 1; seal_fails; k++) {
            for (uint64_t l = 1, derivation_fails = 1; derivation_fails; l++) {
                HalfArchived half(at);
                const int status = half.Run(k, l);
                // Not where the state went off the list.
                EXPECT_TRUE(status == OVSTAGE_OK || status == OVSTAGE_ERROR_OUT_OF_RANGE ||
                            (status == OVSTAGE_ERROR_OUT_OF_MEMORY && half.DerivationFails()));
                half.Check(status == OVSTAGE_OK);
                ASSERT_FALSE(::testing::Test::HasFailure())
                    << "at " << at << " allocations " << k << " and " << l;
                seal_fails = half.SealFails();
                derivation_fails = half.DerivationFails();
                times += status == OVSTAGE_OK;
            }
        }
    }
    EXPECT_GT(times, 2) << "nothing was derived";
}

// At the oldest state of the list, below which the rows have been as they are, and have as many
// older values as are kept: the k-th allocation fails, and then it is tried again.
TEST(StoreMemory, WhatIsDerivedAtTheOldestStateDisplaces)
{
    const uint32_t count = 100, oldest = 5, last = 7;
    for (uint64_t k = 1, fails = 1; fails; k++) {
        fr_test_heap *heap = fr_test_heap_create();
        store_world_options options = {2, 0, 0};
        store_world *world = store_world_create(heap, &options);
        const std::vector<uint32_t> prims = range(1, count);
        store_query *all = store_query_create(world, prims.data(), count);
        store_query *some = store_query_create(world, prims.data() + 1, 2);
        store_query *other = store_query_create(world, prims.data(), 1);
        store_query *written[] = {all, some, some, other, other, other, other};
        for (uint32_t at = 1; at <= last; at++) {
            ASSERT_EQ(store_write(world, 0, written[at - 1], at, at, nullptr, 0, false),
                      OVSTAGE_OK);
            ASSERT_TRUE(store_world_seal(world, at));
        }
        auto expect = [&](uint32_t value, uint32_t from, uint32_t to) {
            for (uint32_t at = from; at <= to; at++) {
                store_group *group;
                ASSERT_EQ(store_read(world, 0, some, at, &group), OVSTAGE_OK) << "at " << at;
                for (uint32_t position = 0; position < 2; position++) {
                    const store_row *row = store_group_row(group, position);
                    ASSERT_TRUE(row && store_row_is_whole(row));
                    ASSERT_EQ(row->value, value) << "position " << position << " at " << at;
                }
                store_group_release(world, group);
            }
        };
        fr_test_heap_fail(heap, k, 0);
        const int status = store_derive(world, 0, some, oldest, 9);
        fails = fr_test_heap_calls(heap) >= k;
        fr_test_heap_fail(heap, 0, 0);
        EXPECT_TRUE(status == OVSTAGE_OK || (fails && status == OVSTAGE_ERROR_OUT_OF_MEMORY));
        if (status != OVSTAGE_OK)
            expect(1, 1, 1); // nothing has changed
        expect(2, 2, 2);
        expect(3, 3, oldest - 1);
        expect(status == OVSTAGE_OK ? 9 : 3, oldest, last);
        for (uint32_t at : {oldest, oldest + 1}) {
            ASSERT_EQ(store_derive(world, 0, some, at, 10 + at), OVSTAGE_OK);
            expect(10 + at, at, last);
            expect(3, 3, oldest - 1);
        }
        // Only as many as configured.
        store_group *group;
        EXPECT_EQ(store_read(world, 0, some, 1, &group), OVSTAGE_ERROR_OUT_OF_RANGE);
        for (store_query *query : {all, some, other})
            store_query_destroy(world, query);
        store_world_destroy(world);
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
        ASSERT_FALSE(::testing::Test::HasFailure()) << "allocation " << k;
    }
}

TEST(StoreMemory, AStoreThatCannotBeMadeLeavesNothing)
{
    for (uint64_t k = 1;; k++) {
        fr_test_heap *heap = fr_test_heap_create();
        fr_test_heap_fail(heap, k, 0);
        store_world_options options = {2, 0, 0};
        store_world *world = store_world_create(heap, &options);
        if (world)
            store_world_destroy(world);
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u) << "allocation " << k;
        if (world)
            break;
    }
}

} // namespace
