// History by key: L5 and L6, with keys of one layout that are written more and less often.
#include <map>
#include <optional>
#include <random>

#include "tests/support/arrays.h"

using namespace client;

namespace
{

using Values = std::vector<float>;

flyrail_config_t keeping(uint32_t versions, uint64_t bytes = 0, uint32_t workers = 2)
{
    flyrail_config_t made = config(workers);
    made.history_versions = versions;
    if (bytes > 0)
        made.history_limit_bytes = bytes;
    return made;
}

ovstage_enqueue_result_t remove(const Stage &stage, ovstage_query_handle_t query,
                                ovx_token_t attribute, uint64_t ordinal)
{
    ovx_string_or_token_t name = named(attribute);
    return ovstage_delete_attributes(stage.instance, query, &name, 1, ordinal);
}

class History : public ::testing::Test
{
  protected:
    void open(const flyrail_config_t &made)
    {
        stage = std::make_unique<Stage>(made);
        a = stage->token("a");
        both = stage->query(2);
        first = stage->query({"/P/0"});
        second = stage->query({"/P/1"});
    }
    void write_sealed(ovstage_query_handle_t query, uint64_t ordinal, const Values &values)
    {
        stage->finish(stage->write(query, a, ordinal, values));
        stage->finish(stage->seal(ordinal));
    }
    // The keys 0 and 1 become visible together; 0 is written four times, then 1 much more often.
    void publish(uint64_t last)
    {
        write_sealed(both, 1, {1, 1});
        for (uint64_t ordinal = 2; ordinal <= 4; ordinal++)
            write_sealed(first, ordinal, {static_cast<float>(ordinal)});
        for (uint64_t ordinal = 5; ordinal <= last; ordinal++)
            write_sealed(second, ordinal, {static_cast<float>(ordinal)});
    }
    // What the query's one key had; nothing: it is gone.
    std::optional<float> value(ovstage_query_handle_t query, ovstage_ordinal_range_t range)
    {
        Snapshot read(*stage, query, {a}, range);
        if (read.status == OVSTAGE_ERROR_OUT_OF_RANGE)
            return std::nullopt;
        EXPECT_EQ(read.status, OVSTAGE_OK) << last_error();
        EXPECT_EQ(read.groups.size(), 1u);
        return read.groups.empty() ? 0 : Snapshot::rows(read.groups[0])[0].second[0];
    }
    std::optional<float> at(ovstage_query_handle_t query, uint64_t ordinal)
    {
        return value(query, {0, ordinal, false});
    }

    std::unique_ptr<Stage> stage;
    ovx_token_t a = 0;
    ovstage_query_handle_t both = 0, first = 0, second = 0;
};

TEST_F(History, L5_L6_a_key_keeps_two_versions_however_often_others_are_written)
{
    open(keeping(2));
    publish(40);
    EXPECT_EQ(value(first, {1, 3, true}), 3);
    EXPECT_EQ(value(first, {1, 2, true}), 2);
    EXPECT_EQ(value(first, {2, 4, true}), 4);
    for (uint64_t ordinal = 2; ordinal <= 40; ordinal++)
        EXPECT_EQ(at(first, ordinal), std::min<float>(float(ordinal), 4));
    EXPECT_EQ(at(second, 39), 39);
    EXPECT_EQ(at(second, 38), 38);
    // What has three newer ones is gone sooner or later.
    EXPECT_EQ(at(second, 30), std::nullopt);
    EXPECT_EQ(value(second, {20, 30, true}), std::nullopt);
    // A read of both needs what each of them had.
    Snapshot gone(*stage, both, {a}, 30);
    EXPECT_EQ(gone.status, OVSTAGE_ERROR_OUT_OF_RANGE);
    Snapshot kept(*stage, both, {a}, 38);
    ASSERT_EQ(kept.groups.size(), 1u);
    EXPECT_EQ(kept.groups[0].ordinal, 38u);
    Snapshot old(*stage, both, {a}, 4);
    ASSERT_EQ(old.status, OVSTAGE_ERROR_OUT_OF_RANGE) << "of prim 1 at 1";
    // Below the 64 seals that are exact too.
    for (uint64_t ordinal = 41; ordinal <= 300; ordinal++)
        write_sealed(second, ordinal, {static_cast<float>(ordinal)});
    EXPECT_EQ(at(first, 2), 2);
    EXPECT_EQ(at(first, 3), 3);
    EXPECT_EQ(at(first, 200), 4);
}

TEST_F(History, L6_a_snapshot_group_tells_when_its_rows_were_written)
{
    open(keeping(2));
    publish(300);
    Snapshot read(*stage, first, {a}, 3);
    ASSERT_EQ(read.groups.size(), 1u);
    EXPECT_EQ(read.groups[0].ordinal, 3u);
    Snapshot again(*stage, first, {a}, 3);
    ASSERT_EQ(again.groups.size(), 1u);
    // What was handed out stays when it is gone.
    for (uint64_t ordinal = 301; ordinal <= 320; ordinal++)
        write_sealed(ordinal % 2 ? first : second, ordinal, {static_cast<float>(ordinal)});
    EXPECT_EQ(at(first, 3), std::nullopt);
    EXPECT_EQ(Snapshot::rows(read.groups[0])[0].second[0], 3);
    EXPECT_EQ(Snapshot::rows(again.groups[0])[0].second[0], 3);
}

TEST_F(History, L6_as_many_versions_as_are_configured)
{
    for (uint32_t versions : {0u, 1u, 2u, 8u}) {
        open(keeping(versions));
        write_sealed(both, 1, {1, 1});
        for (uint64_t ordinal = 2; ordinal <= 12; ordinal++)
            write_sealed(first, ordinal, {static_cast<float>(ordinal)});
        for (uint64_t ordinal = 13; ordinal <= 200; ordinal++)
            write_sealed(second, ordinal, {static_cast<float>(ordinal)});
        for (uint64_t ordinal = 12 - versions; ordinal <= 12; ordinal++)
            EXPECT_EQ(at(first, ordinal), float(ordinal)) << versions;
        EXPECT_EQ(at(first, 11 - versions), std::nullopt) << versions;
        EXPECT_EQ(at(second, 200 - versions), 200 - float(versions));
        EXPECT_EQ(at(second, 100), std::nullopt);
    }
}

TEST_F(History, L6_the_byte_limit_takes_the_oldest)
{
    const size_t rows = 4000;
    open(keeping(2, 256 << 10));
    ovstage_query_handle_t all = stage->query(rows);
    write_sealed(all, 1, Values(rows, 1));
    write_sealed(first, 2, {2});
    // Each at an ordinal of its own, twice: there is no room for two more values of all.
    for (uint64_t ordinal = 3; ordinal < 3 + 2 * rows; ordinal++) {
        ovstage_query_handle_t one =
            stage->query({"/P/" + std::to_string(1 + ordinal % (rows - 1))});
        write_sealed(one, ordinal, {static_cast<float>(ordinal)});
        stage->finish(ovstage_release_query(stage->instance, one));
        if (ordinal % 64 == 0) {
            ASSERT_LE(stage->statistics().history_bytes, 256u << 10);
        }
    }
    EXPECT_GT(stage->statistics().history_drops, 0u);
    EXPECT_GT(stage->statistics().history_bytes, 32u << 10) << "what fits is kept";
    EXPECT_EQ(at(first, 1), std::nullopt) << "the oldest";
    EXPECT_EQ(at(first, 2), 2) << "the newest of its key";
    const uint64_t last = 2 + 2 * rows, back = last - rows / 8;
    ovstage_query_handle_t late = stage->query({"/P/" + std::to_string(1 + last % (rows - 1))});
    EXPECT_EQ(at(late, last - 1), float(last - (rows - 1)));
    ovstage_query_handle_t one = stage->query({"/P/" + std::to_string(1 + back % (rows - 1))});
    EXPECT_EQ(at(one, back - 1), float(back - (rows - 1))) << "replaced not long ago";
}

// --- against a model of each key ----------------------------------------------------------------

struct Shape {
    uint32_t versions;
    bool is_array, deletes, scoped;
    uint32_t prims;
};

std::ostream &operator<<(std::ostream &out, const Shape &shape)
{
    return out << shape.versions << " versions, " << shape.prims << " prims"
               << (shape.is_array ? ", arrays" : "") << (shape.deletes ? ", deletes" : "")
               << (shape.scoped ? ", scoped seals" : "");
}

class HistoryModel : public ::testing::TestWithParam<Shape>
{
  protected:
    // Empty: deleted.
    using Key = std::map<uint64_t, std::optional<Values>>;

    uint32_t below(uint32_t n)
    {
        return std::uniform_int_distribution<uint32_t>(0, n - 1)(random);
    }
    // One group of keys is written often, one seldom, one all together.
    std::vector<uint32_t> some()
    {
        const uint32_t all = GetParam().prims, often = all / 8 + 1;
        std::vector<uint32_t> chosen;
        switch (below(12)) {
        case 0:
            for (uint32_t prim = 0; prim < all; prim++)
                chosen.push_back(prim);
            return chosen;
        case 1:
        case 2:
            for (uint32_t prim = often; prim < all; prim++)
                if (below(3) == 0)
                    chosen.push_back(prim);
            return chosen;
        case 3:
            return {often + below(all - often)};
        case 4:
        case 5:
            return {below(often)};
        default:
            for (uint32_t prim = 0; prim < often; prim++)
                chosen.push_back(prim);
            return chosen;
        }
    }
    ovstage_query_handle_t query(const std::vector<uint32_t> &prims)
    {
        std::vector<std::string> paths;
        for (uint32_t prim : prims)
            paths.push_back("/P/" + std::to_string(prim));
        return stage->query(paths);
    }
    void write(uint64_t ordinal, const std::vector<uint32_t> &prims)
    {
        client::Rows<float> rows;
        Values values;
        for (uint32_t prim : prims) {
            float value = static_cast<float>(ordinal) + static_cast<float>(prim) / 4096;
            rows.emplace_back(GetParam().is_array ? (ordinal + prim) % 5 : 1, value);
            values.push_back(value);
            keys[prim][ordinal] = rows.back();
        }
        ovstage_query_handle_t where = query(prims);
        RowPayload<float> arrays(rows, f32());
        Payload fixed(values, static_cast<int64_t>(values.size()));
        stage->finish(client::write(*stage, where, a, ordinal,
                                    GetParam().is_array ? arrays.data : fixed.data));
        stage->finish(ovstage_release_query(stage->instance, where));
    }
    void erase(uint64_t ordinal, const std::vector<uint32_t> &prims)
    {
        ovstage_query_handle_t where = query(prims);
        stage->finish(remove(*stage, where, a, ordinal));
        stage->finish(ovstage_release_query(stage->instance, where));
        for (uint32_t prim : prims) {
            Key &key = keys[prim];
            if (!key.empty() && std::prev(key.end())->second)
                key[ordinal] = std::nullopt;
        }
    }
    void publish()
    {
        for (uint32_t more = 1 + below(below(4) ? 1 : 6); more > 0; more--) {
            last++;
            std::vector<uint32_t> prims = some();
            if (prims.empty())
                continue;
            if (GetParam().deletes && below(4) == 0)
                erase(last, prims);
            else
                write(last, prims);
        }
        if (!GetParam().scoped)
            stage->finish(stage->seal(last));
        else
            stage->finish(stage->seal(last, OVSTAGE_SCOPE_INCLUDE, {a}));
    }
    // Whether the version at or below the ordinal must be there, which is not the newest.
    bool is_kept(uint32_t prim, uint64_t ordinal)
    {
        const Key &key = keys[prim];
        auto next = key.upper_bound(ordinal);
        return next == key.begin() || std::distance(next, key.end()) <= GetParam().versions;
    }
    static std::map<uint32_t, Values> rows(const ovstage_read_group_t &group)
    {
        if (group.is_array)
            return array_rows<float>(group);
        std::map<uint32_t, Values> found;
        for (const auto &row : Snapshot::rows(group))
            found.insert(row);
        return found;
    }
    void check_snapshot(const std::vector<uint32_t> &prims, uint64_t ordinal)
    {
        std::map<uint32_t, Values> expected, found;
        bool kept = true;
        for (uint32_t k = 0; k < prims.size(); k++) {
            const Key &key = keys[prims[k]];
            auto next = key.upper_bound(ordinal);
            kept = kept && is_kept(prims[k], ordinal);
            if (next != key.begin() && std::prev(next)->second)
                expected[k] = *std::prev(next)->second;
        }
        ovstage_query_handle_t where = query(prims);
        Snapshot read(*stage, where, {a}, ordinal);
        if (kept || read.status != OVSTAGE_ERROR_OUT_OF_RANGE) {
            ASSERT_EQ(read.status, OVSTAGE_OK) << "latest(" << ordinal << "): " << last_error();
            for (const ovstage_read_group_t &group : read.groups)
                found.merge(rows(group));
            ASSERT_EQ(found, expected) << "latest(" << ordinal << ")";
        }
        read.release();
        read.release_read();
        stage->finish(ovstage_release_query(stage->instance, where));
    }
    void check_range(const std::vector<uint32_t> &prims, uint64_t start, uint64_t end)
    {
        std::map<uint32_t, Values> expected, found, deleted;
        bool kept = true;
        for (uint32_t k = 0; k < prims.size(); k++) {
            const Key &key = keys[prims[k]];
            auto next = key.upper_bound(end);
            if (next == key.begin() || std::prev(next)->first < start)
                continue;
            kept = kept && is_kept(prims[k], end);
            const std::optional<Values> &value = std::prev(next)->second;
            (value ? expected : deleted)[k] = value ? *value : Values();
        }
        ovstage_query_handle_t where = query(prims);
        Snapshot read(*stage, where, {a}, {start, end, true});
        if (kept || read.status != OVSTAGE_ERROR_OUT_OF_RANGE) {
            ASSERT_EQ(read.status, OVSTAGE_OK) << start << " to " << end << ": " << last_error();
            size_t tombstones = 0;
            for (const ovstage_read_group_t &group : read.groups)
                if (group.is_delete)
                    tombstones += group.prims.count;
                else
                    found.merge(rows(group));
            ASSERT_EQ(found, expected) << start << " to " << end;
            ASSERT_EQ(tombstones, deleted.size()) << start << " to " << end;
        }
        read.release();
        read.release_read();
        stage->finish(ovstage_release_query(stage->instance, where));
    }
    uint64_t frontier()
    {
        ovstage_ordinal_query_handle_t handle = 0;
        stage->finish(ovstage_get_oldest_preserved_ordinal(stage->instance, &handle));
        uint64_t ordinal = 0;
        EXPECT_EQ(ovstage_fetch_ordinal(stage->instance, handle, forever, &ordinal), OVSTAGE_OK);
        stage->finish(ovstage_release_ordinal_query(stage->instance, handle));
        return ordinal;
    }
    void check()
    {
        std::vector<uint32_t> prims;
        for (uint32_t count = below(4) ? 1 : 1 + below(GetParam().prims); count > 0; count--)
            prims.push_back(below(GetParam().prims));
        const Key &key = keys[prims[0]]; // most moments are about what is only just kept
        uint64_t ordinal = below(static_cast<uint32_t>(last) + 1);
        if (below(3) && key.size() > 1) {
            size_t back = std::min<size_t>(key.size() - 1, GetParam().versions);
            ordinal =
                std::prev(key.end(), static_cast<ptrdiff_t>(1 + below(uint32_t(back) + 1)))->first;
            ordinal += below(2);
        }
        ordinal = std::min(ordinal, last);
        check_snapshot(prims, ordinal);
        uint64_t from = std::max<uint64_t>(frontier() + 1, 1);
        if (from <= ordinal && !HasFatalFailure())
            check_range(prims, from + below(uint32_t(ordinal - from) + 1), ordinal);
    }

    std::mt19937_64 random;
    std::unique_ptr<Stage> stage;
    ovx_token_t a = 0;
    uint64_t last = 0;
    std::map<uint32_t, Key> keys;
};

TEST_P(HistoryModel, L5_L6_each_key_has_its_newest_versions)
{
    for (uint64_t seed = 1; seed <= 2 && !HasFailure(); seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        random.seed(seed);
        stage = std::make_unique<Stage>(keeping(GetParam().versions, 0, seed % 2 ? 0 : 2));
        a = stage->token("a");
        last = 0;
        keys.clear();
        for (int step = 0; step < 80 && !HasFailure(); step++) {
            publish();
            for (int k = 0; k < 4 && !HasFailure(); k++)
                check();
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, HistoryModel,
    ::testing::Values(Shape{2, false, false, false, 12}, Shape{2, false, true, false, 12},
                      Shape{1, false, false, true, 40}, Shape{8, false, true, true, 40},
                      Shape{0, false, true, false, 12}, Shape{2, false, false, false, 160},
                      Shape{2, false, true, false, 160}, Shape{2, true, false, false, 40},
                      Shape{2, true, true, true, 120}, Shape{8, true, false, false, 12}));

} // namespace
