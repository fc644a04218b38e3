// Array columns while ordinals are written, sealed and folded at the same time as readers hold
// groups. Each row tells its ordinal and prim, its length and elements follow from them, and which
// ordinals wrote a prim is known beforehand: so every read is checked exactly.
#include <atomic>
#include <thread>

#include "tests/support/arrays.h"

using namespace client;

namespace
{

constexpr uint32_t prim_count = 80, last_ordinal = 300, writer_count = 3, reader_count = 2;

bool writes(uint32_t ordinal, uint32_t prim)
{
    return ordinal % 5 == 1   ? true
           : ordinal % 5 == 3 ? prim / 8 == ordinal % 10
                              : prim % 7 == ordinal % 7;
}

std::vector<float> row_of(uint32_t ordinal, uint32_t prim)
{
    if ((ordinal + prim) % 11 == 0)
        return {};
    std::vector<float> row(2 + (ordinal * 7 + prim) % 40, static_cast<float>(ordinal * 100 + prim));
    row[0] = static_cast<float>(ordinal);
    row[1] = static_cast<float>(prim);
    return row;
}

struct Race {
    Stage stage{2};
    ovx_token_t attribute = stage.token("points");
    ovstage_query_handle_t all = stage.query(prim_count);
    std::atomic<uint32_t> next{1}, sealed{0}, reads{0}, wrong{0};
    std::atomic<uint32_t> done[last_ordinal + 1] = {};
    std::vector<std::shared_ptr<Managed::Record>> records[last_ordinal + 1];
};

void write_one(Race &race, uint32_t ordinal)
{
    std::vector<std::string> paths;
    Rows<float> rows;
    for (uint32_t prim = 0; prim < prim_count; prim++) {
        if (!writes(ordinal, prim))
            continue;
        paths.push_back("/P/" + std::to_string(prim));
        rows.push_back(row_of(ordinal, prim));
    }
    ovstage_query_handle_t query = race.stage.query(paths);
    RowPayload<float> payload(rows, f32());
    std::vector<const DLManagedTensorVersioned *> tensors;
    for (uint32_t again = 0; again < 2; again++) {
        ovstage_write_data_t data = payload.data;
        if (ordinal % 3 == 0) {
            tensors.clear();
            for (const auto &row : rows) {
                race.records[ordinal].push_back(std::make_shared<Managed::Record>());
                tensors.push_back(Managed::make(row, 1, DLPACK_FLAG_BITMASK_IS_COPIED,
                                                race.records[ordinal].back()));
            }
            data.tensors = nullptr;
            data.managed_tensors = tensors.data();
        }
        race.stage.finish(write(race.stage, query, race.attribute, ordinal, data));
    }
    race.stage.finish(ovstage_release_query(race.stage.instance, query));
}

void write_all(Race &race)
{
    uint32_t ordinal;
    while ((ordinal = race.next.fetch_add(1)) <= last_ordinal) {
        write_one(race, ordinal);
        race.done[ordinal].store(1);
    }
}

void seal_all(Race &race)
{
    for (uint32_t ordinal = 1; ordinal <= last_ordinal; ordinal++) {
        while (race.done[ordinal].load() == 0)
            std::this_thread::yield();
        race.stage.finish(race.stage.seal(ordinal));
        race.sealed.store(ordinal);
    }
}

bool is_right(const Snapshot &snapshot, uint32_t at)
{
    if (snapshot.groups.size() != 1 || snapshot.groups[0].prims.count != prim_count)
        return false;
    for (const auto &[prim, row] : array_rows<float>(snapshot.groups[0])) {
        uint32_t ordinal = at;
        while (!writes(ordinal, prim))
            ordinal--;
        if (row != row_of(ordinal, prim))
            return false;
    }
    return true;
}

void read_all(Race &race)
{
    std::vector<std::pair<std::unique_ptr<Snapshot>, uint32_t>> held;
    for (uint32_t at = 0; at < last_ordinal; race.reads++) {
        at = race.sealed.load();
        if (at == 0) {
            std::this_thread::yield();
            continue;
        }
        held.emplace_back(std::make_unique<Snapshot>(race.stage, race.all,
                                                     std::vector<ovx_token_t>{race.attribute}, at),
                          at);
        if (held.back().first->status == OVSTAGE_ERROR_OUT_OF_RANGE) {
            held.pop_back(); /* sealed further by now than history goes */
            continue;
        }
        race.wrong += !is_right(*held.back().first, at);
        if (held.size() < 4)
            continue;
        race.wrong += !is_right(*held.front().first, held.front().second);
        held.erase(held.begin());
    }
}

TEST(ArrayStress, readers_hold_groups_while_writers_fold)
{
    Race race;
    std::vector<std::thread> threads;
    threads.emplace_back(seal_all, std::ref(race));
    for (uint32_t k = 0; k < writer_count; k++)
        threads.emplace_back(write_all, std::ref(race));
    for (uint32_t k = 0; k < reader_count; k++)
        threads.emplace_back(read_all, std::ref(race));
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(race.wrong, 0u);
    EXPECT_GT(race.reads, 0u);
    EXPECT_EQ(race.stage.statistics().pending_bytes, 0u);
    race.stage.destroy();
    for (const auto &records : race.records)
        for (const auto &record : records)
            EXPECT_EQ(record->deleted, 1);
}

} // namespace
