// Random programs on one store against a map of ordinals a prim.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include <ovstage/ovstage.h>

#include "tests/support/store_range.h"
#include "tests/support/store_world.h"

namespace
{

class Random
{
  public:
    explicit Random(uint64_t seed) : generator(seed)
    {
    }
    uint32_t below(uint32_t n)
    {
        return std::uniform_int_distribution<uint32_t>(0, n - 1)(generator);
    }

  private:
    std::mt19937_64 generator;
};

struct Held {
    store_group *group;
    std::vector<uint32_t> prims;
    std::vector<int64_t> values;
};

class Compared
{
  public:
    explicit Compared(uint64_t seed) : random(seed)
    {
        heap = fr_test_heap_create();
        store_world_options options = {random.below(4), 0, random.below(2) ? 0u : 64u};
        world = store_world_create(heap, &options);
        for (int k = 0; k < 6; k++)
            lists.push_back(List());
        for (const std::vector<uint32_t> &list : lists)
            kept.push_back(
                store_query_create(world, list.data(), static_cast<uint32_t>(list.size())));
    }
    ~Compared()
    {
        for (const Held &one : held)
            Release(one);
        for (store_query *query : kept)
            store_query_destroy(world, query);
        store_world_destroy(world);
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    }
    void Run(int steps)
    {
        for (int step = 0; step < steps && !::testing::Test::HasFailure(); step++) {
            uint32_t what = random.below(10);
            if (what < 5)
                Write();
            else if (what < 7)
                Seal();
            else if (what < 9)
                Read();
            else if (!held.empty()) {
                Release(held.front());
                held.erase(held.begin());
            }
        }
    }

  private:
    std::vector<uint32_t> List()
    {
        uint32_t first = 1 + random.below(60), count = 1 + random.below(40);
        std::vector<uint32_t> list = range(first, count);
        if (random.below(2))
            for (uint32_t &prim : list)
                prim = 1 + random.below(100);
        return list;
    }
    void Write()
    {
        size_t which = random.below(static_cast<uint32_t>(lists.size()));
        const std::vector<uint32_t> &list = lists[which];
        uint64_t ordinal = floor + 1 + random.below(5), mask = 0;
        bool masked = random.below(3) == 0;
        for (size_t k = 0; k < list.size(); k++)
            mask |= uint64_t{random.below(2)} << k;
        value++;
        ASSERT_EQ(store_write(world, 0, kept[which], ordinal, value, masked ? &mask : nullptr, 0,
                              random.below(4) == 0),
                  OVSTAGE_OK);
        for (size_t k = 0; k < list.size(); k++)
            if (!masked || (mask >> k & 1))
                model[list[k]][ordinal] = value;
    }
    void Seal()
    {
        floor += 1 + random.below(3);
        ASSERT_TRUE(store_world_seal(world, floor));
    }
    int64_t Expected(uint32_t prim, uint64_t at)
    {
        const std::map<uint64_t, uint32_t> &written = model[prim];
        auto next = written.upper_bound(at);
        return next == written.begin() ? -1 : int64_t{std::prev(next)->second};
    }
    void Read()
    {
        size_t which = random.below(static_cast<uint32_t>(lists.size()));
        std::vector<uint32_t> list = lists[which];
        uint64_t ordinal = random.below(3) ? floor : random.below(static_cast<uint32_t>(floor) + 6);
        uint64_t at = std::min(ordinal, floor);
        bool open = false;
        for (uint32_t prim : list)
            for (const auto &written : model[prim])
                open = open || (written.first > floor && written.first <= ordinal);
        store_group *group;
        int status = store_read(world, 0, kept[which], ordinal, &group);
        ASSERT_EQ(status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, open) << status;
        if (open)
            return;
        if (status == OVSTAGE_ERROR_OUT_OF_RANGE) {
            ASSERT_LT(at, floor) << "the newest is never gone";
            return;
        }
        ASSERT_EQ(status, OVSTAGE_OK);
        Held one{group, list, {}};
        for (uint32_t prim : list)
            one.values.push_back(Expected(prim, at));
        Look(one);
        if (random.below(2) && held.size() < 8)
            held.push_back(one);
        else
            Release(one);
    }
    void Look(const Held &one)
    {
        for (uint32_t k = 0; k < one.prims.size(); k++) {
            const store_row *row = store_group_row(one.group, k);
            ASSERT_EQ(row == nullptr, one.values[k] < 0) << "prim " << one.prims[k];
            if (row) {
                ASSERT_TRUE(store_row_is_whole(row) && row->prim == one.prims[k]);
                ASSERT_EQ(int64_t{row->value}, one.values[k]) << "prim " << one.prims[k];
            }
        }
    }
    void Release(const Held &one)
    {
        Look(one);
        store_group_release(world, one.group);
    }

    Random random;
    fr_test_heap *heap;
    store_world *world;
    std::vector<std::vector<uint32_t>> lists;
    std::vector<store_query *> kept;
    std::map<uint32_t, std::map<uint64_t, uint32_t>> model;
    std::vector<Held> held;
    uint64_t floor = 0;
    uint32_t value = 0;
};

TEST(StoreModel, RandomProgramsDoWhatTheModelSays)
{
    for (uint64_t seed = 1; seed <= 150; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Compared(seed).Run(300);
        if (::testing::Test::HasFailure())
            return;
    }
}

} // namespace
