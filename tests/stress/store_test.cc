// Writers of different ordinals, readers and a sealer at the same time. Each row tells its ordinal
// and prim, and which ordinals wrote a prim is known beforehand: so every read is checked exactly.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include <ovstage/ovstage.h>

#include "tests/support/store_world.h"

namespace
{

constexpr uint32_t prim_count = 96, last_ordinal = 240, writer_count = 3, reader_count = 2;

// What kind of write an ordinal is: everything, every seventh prim, or a run of prims.
std::vector<uint32_t> written_by(uint32_t ordinal)
{
    std::vector<uint32_t> prims;
    for (uint32_t prim = 1; prim <= prim_count; prim++) {
        bool in = ordinal % 5 == 1   ? true
                  : ordinal % 5 == 3 ? prim / 8 == ordinal % 12
                                     : prim % 7 == ordinal % 7;
        // Further keys come as time goes by.
        if (in && prim <= prim_count / 2 + ordinal / 4)
            prims.push_back(prim);
    }
    return prims;
}

struct Race {
    fr_test_heap *heap = fr_test_heap_create();
    store_world *world = nullptr;
    std::vector<std::vector<uint32_t>> prims;
    std::atomic<uint32_t> done[last_ordinal + 1] = {}, next{1}, sealed{0}, wrong{0}, reads{0};
};

void write_all(Race &race)
{
    for (;;) {
        uint32_t ordinal = race.next.fetch_add(1);
        if (ordinal > last_ordinal)
            return;
        const std::vector<uint32_t> &prims = race.prims[ordinal];
        if (!prims.empty()) {
            store_query *query =
                store_query_create(race.world, prims.data(), static_cast<uint32_t>(prims.size()));
            for (uint32_t again = 0; again < 2; again++)
                if (store_write(race.world, 0, query, ordinal, again, nullptr, 0, false) !=
                    OVSTAGE_OK)
                    race.wrong++;
            store_query_destroy(race.world, query);
        }
        race.done[ordinal].store(1);
    }
}

void seal_all(Race &race)
{
    for (uint32_t ordinal = 1; ordinal <= last_ordinal; ordinal++) {
        while (race.done[ordinal].load() == 0)
            std::this_thread::yield();
        if (!store_world_seal(race.world, ordinal))
            race.wrong++;
        race.sealed.store(ordinal);
    }
}

uint32_t newest(const Race &race, uint32_t prim, uint32_t at)
{
    for (uint32_t ordinal = at; ordinal > 0; ordinal--)
        for (uint32_t written : race.prims[ordinal])
            if (written == prim)
                return ordinal;
    return 0;
}

void check(Race &race, const std::vector<uint32_t> &prims, const store_group *group, uint32_t at)
{
    for (uint32_t k = 0; k < prims.size(); k++) {
        const store_row *row = store_group_row(group, k);
        uint32_t ordinal = newest(race, prims[k], at);
        bool right = ordinal == 0 ? row == nullptr
                                  : row && store_row_is_whole(row) && row->prim == prims[k] &&
                                        row->ordinal == ordinal && row->value == 1;
        if (!right)
            race.wrong++;
    }
    race.reads++;
}

void read_all(Race &race, uint32_t salt)
{
    std::vector<std::vector<uint32_t>> lists(3);
    for (uint32_t prim = 1; prim <= prim_count / 2; prim++)
        lists[0].push_back(prim); // as they lie
    for (uint32_t prim = prim_count; prim > 3; prim -= 3)
        lists[1].push_back(prim);
    lists[2] = {5, 5, 11};
    std::vector<store_query *> queries;
    for (const std::vector<uint32_t> &list : lists)
        queries.push_back(
            store_query_create(race.world, list.data(), static_cast<uint32_t>(list.size())));
    store_group *held = nullptr;
    uint32_t held_at = 0, held_which = 0;
    for (uint32_t turn = salt; race.sealed.load() < last_ordinal; turn++) {
        uint32_t at = race.sealed.load(), which = turn % 3;
        store_group *group;
        int status = store_read(race.world, 0, queries[which], at, &group);
        if (status == OVSTAGE_ERROR_OUT_OF_RANGE)
            continue; // the seals have gone on too far
        if (status != OVSTAGE_OK) {
            race.wrong++;
            continue;
        }
        check(race, lists[which], group, at);
        if (held && turn % 16 == 0) {
            check(race, lists[held_which], held, held_at);
            store_group_release(race.world, held);
            held = nullptr;
        }
        if (held) {
            store_group_release(race.world, group);
        } else {
            held = group;
            held_at = at;
            held_which = which;
        }
    }
    if (held) {
        check(race, lists[held_which], held, held_at);
        store_group_release(race.world, held);
    }
    for (store_query *query : queries)
        store_query_destroy(race.world, query);
}

TEST(StoreRace, WritersReadersAndASealer)
{
    for (uint32_t round = 0; round < 6; round++) {
        Race race;
        store_world_options options = {round % 3, 0, round % 2 ? 1u : 0u};
        race.world = store_world_create(race.heap, &options);
        ASSERT_NE(race.world, nullptr);
        for (uint32_t ordinal = 0; ordinal <= last_ordinal; ordinal++)
            race.prims.push_back(written_by(ordinal));
        std::vector<std::thread> threads;
        for (uint32_t k = 0; k < writer_count; k++)
            threads.emplace_back([&race] { write_all(race); });
        for (uint32_t k = 0; k < reader_count; k++)
            threads.emplace_back([&race, k] { read_all(race, k); });
        threads.emplace_back([&race] { seal_all(race); });
        for (std::thread &thread : threads)
            thread.join();
        EXPECT_EQ(race.wrong.load(), 0u) << "of " << race.reads.load() << " reads";
        store_world_destroy(race.world);
        EXPECT_EQ(fr_test_heap_mistakes(race.heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(race.heap), 0u);
    }
}

// Lists of rows that are taken over as they are get their index from who looks for a row of them,
// while the lane that made them makes room for more.
TEST(StoreRace, ReadersIndexListsThatTheirLaneAddsTo)
{
    constexpr uint32_t rows = 8192, few = 64, ordinals = 60;
    fr_test_heap *heap = fr_test_heap_create();
    store_world_options options = {2, 0, 0};
    store_world *world = store_world_create(heap, &options);
    ASSERT_NE(world, nullptr);
    std::vector<uint32_t> prims(rows);
    std::iota(prims.begin(), prims.end(), 1);
    store_query *all = store_query_create(world, prims.data(), rows);
    store_query *some = store_query_create(world, prims.data() + few, few);
    store_query *more = store_query_create(world, prims.data() + 4 * few, 5 * few);
    store_query *last = store_query_create(world, prims.data() + rows - few, few);
    ASSERT_EQ(store_write(world, 0, all, 1, 0, nullptr, 0, false), OVSTAGE_OK);
    ASSERT_TRUE(store_world_seal(world, 1));
    std::atomic<bool> over{false};
    std::atomic<uint32_t> wrong{0};
    std::thread reader([&] {
        while (!over.load()) {
            store_group *group = nullptr;
            // None of its rows is in a list, so each list is looked through.
            if (store_read(world, 0, last, ordinals, &group) != OVSTAGE_OK)
                wrong++;
            if (group)
                store_group_release(world, group);
        }
    });
    for (uint32_t ordinal = 2; ordinal <= ordinals; ordinal++)
        for (store_query *query : {some, more})
            if (store_write(world, 0, query, ordinal, ordinal, nullptr, 0, false) != OVSTAGE_OK)
                wrong++;
    over.store(true);
    reader.join();
    EXPECT_EQ(wrong.load(), 0u);
    for (store_query *query : {all, some, more, last})
        store_query_destroy(world, query);
    store_world_destroy(world);
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
}

} // namespace
