// Random programs on one store against a map of ordinals a prim.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
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
    // `times` as many prims. few_bytes: history has little room. derives: of ten steps so many.
    explicit Compared(uint64_t seed, uint32_t times = 1, bool few_bytes = false,
                      uint32_t derives = 0)
        : random(seed), scale(times), derived_share(derives), limited(few_bytes)
    {
        heap = fr_test_heap_create();
        store_world_options options = {random.below(5), limited ? 1000 + random.below(20000) : 0,
                                       random.below(2) ? 0u : 64u};
        history = options.history_versions;
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
        if (moment)
            store_world_release_moment(world, moment);
        for (store_query *query : kept)
            store_query_destroy(world, query);
        store_world_destroy(world);
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    }
    void Run(int steps)
    {
        for (int step = 0; step < steps && !::testing::Test::HasFailure(); step++) {
            uint32_t what = random.below(10 + derived_share);
            if (random.below(20) == 0)
                Wait();
            if (what >= 10)
                Derive();
            else if (what < 5)
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

    int Derived() const
    {
        return derived;
    }

  private:
    std::vector<uint32_t> List()
    {
        uint32_t first = 1 + random.below(60 * scale), count = 1 + random.below(40 * scale);
        std::vector<uint32_t> list = range(first, count);
        if (random.below(2))
            for (uint32_t &prim : list)
                prim = 1 + random.below(100 * scale);
        return list;
    }
    // The moment is held from now on, or no longer.
    void Wait()
    {
        if (moment)
            store_world_release_moment(world, moment);
        moment = moment ? 0 : floor;
        if (moment)
            store_world_hold_moment(world, moment);
    }
    void Write()
    {
        size_t which = random.below(static_cast<uint32_t>(lists.size()));
        const std::vector<uint32_t> &list = lists[which];
        uint64_t ordinal = floor + 1 + random.below(5);
        std::vector<uint64_t> mask(list.size() / 64 + 1);
        bool masked = random.below(3) == 0;
        uint32_t share = 1 + random.below(random.below(2) ? 2 : 30);
        for (size_t k = 0; k < list.size(); k++)
            mask[k / 64] |= uint64_t{random.below(share) == 0} << k % 64;
        value++;
        ASSERT_EQ(store_write(world, 0, kept[which], ordinal, value, masked ? mask.data() : nullptr,
                              0, random.below(4) == 0),
                  OVSTAGE_OK);
        for (size_t k = 0; k < list.size(); k++)
            if (!masked || (mask[k / 64] >> k % 64 & 1))
                model[list[k]][ordinal] = value;
    }
    // Of keys that are there at a sealed ordinal, in whatever order the ordinals come.
    void Derive()
    {
        const auto newest = static_cast<uint32_t>(floor);
        const uint32_t back = newest ? random.below(random.below(3) ? 1 + newest / 8 : newest) : 0;
        const uint64_t ordinal = floor - std::min(back, newest);
        const uint32_t share = 1 + random.below(random.below(2) ? 2 : 30);
        const std::vector<uint32_t> &list =
            lists[random.below(static_cast<uint32_t>(lists.size()))];
        std::set<uint32_t> there;
        for (uint32_t prim : list)
            if (Expected(prim, ordinal) >= 0 && random.below(share) == 0)
                there.insert(prim);
        if (there.empty())
            return;
        const std::vector<uint32_t> prims(there.begin(), there.end());
        store_query *query =
            store_query_create(world, prims.data(), static_cast<uint32_t>(prims.size()));
        ASSERT_NE(query, nullptr);
        value++;
        const int status = store_derive(world, 0, query, ordinal, value);
        store_query_destroy(world, query);
        if (status == OVSTAGE_ERROR_OUT_OF_RANGE) {
            ASSERT_LT(ordinal, floor) << "the newest state is always there";
            return;
        }
        ASSERT_EQ(status, OVSTAGE_OK);
        derived++;
        for (uint32_t prim : prims)
            model[prim][ordinal] = value;
        ReadEach(prims, ordinal - 1);
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
    // Sealed values of the key that came after the one that it had.
    size_t Newer(uint32_t prim, uint64_t at)
    {
        const std::map<uint64_t, uint32_t> &written = model[prim];
        if (written.upper_bound(at) == written.begin())
            return 0; // it had none
        return static_cast<size_t>(
            std::distance(written.upper_bound(at), written.upper_bound(floor)));
    }
    void Read()
    {
        const size_t which = random.below(static_cast<uint32_t>(lists.size()));
        Read(lists[which], kept[which],
             random.below(3) ? floor : random.below(static_cast<uint32_t>(floor) + 6));
    }
    // Of each key its own history is kept.
    void ReadEach(const std::vector<uint32_t> &prims, uint64_t ordinal)
    {
        for (const uint32_t prim : prims) {
            store_query *query = store_query_create(world, &prim, 1);
            ASSERT_NE(query, nullptr);
            Read({prim}, query, ordinal);
            store_query_destroy(world, query);
        }
    }
    void Read(const std::vector<uint32_t> &list, store_query *query, uint64_t ordinal)
    {
        const uint64_t at = std::min(ordinal, floor);
        bool open = false;
        for (uint32_t prim : list)
            for (const auto &written : model[prim])
                open = open || (written.first > floor && written.first <= ordinal);
        store_group *group;
        int status = store_read(world, 0, query, ordinal, &group);
        ASSERT_EQ(status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, open) << status;
        if (open)
            return;
        if (status == OVSTAGE_ERROR_OUT_OF_RANGE) {
            bool may = limited && at < floor;
            for (uint32_t prim : list)
                may = may || Newer(prim, at) > history;
            ASSERT_FALSE(moment && at >= moment) << "somebody waits for " << moment;
            ASSERT_TRUE(may) << "of each key its newest values are kept";
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
    uint32_t scale, derived_share;
    bool limited;
    int derived = 0;
    uint64_t moment = 0; // that is held; 0: none
    fr_test_heap *heap;
    store_world *world;
    std::vector<std::vector<uint32_t>> lists;
    std::vector<store_query *> kept;
    std::map<uint32_t, std::map<uint64_t, uint32_t>> model;
    std::vector<Held> held;
    size_t history = 0;
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

TEST(StoreModel, RandomProgramsOfManyKeys)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Compared(seed, 4).Run(400);
        if (::testing::Test::HasFailure())
            return;
    }
}

TEST(StoreModel, RandomProgramsWithFewBytesOfHistory)
{
    for (uint64_t seed = 1; seed <= 15; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Compared(seed, 1 + seed % 3, true).Run(300);
        if (::testing::Test::HasFailure())
            return;
    }
}

// What is derived at a sealed ordinal comes below what is newer, and what was before it stays.
TEST(StoreModel, RandomProgramsThatDerive)
{
    int derived = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Compared compared(seed, 1, seed % 10 == 0, 1 + seed % 4);
        compared.Run(300);
        derived += compared.Derived();
        if (::testing::Test::HasFailure())
            return;
    }
    EXPECT_GT(derived, 500);
}

} // namespace
