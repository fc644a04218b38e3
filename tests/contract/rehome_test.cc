// Keys that move to another segment (runtime/store/rehome.h): nothing that a client can ask tells
// of it. Of two stages with the same history one has, far above, an open ordinal that keeps its
// keys where they are.
#include <algorithm>
#include <map>
#include <random>

#include "tests/support/columns.h"

using namespace client;

namespace
{

constexpr uint32_t count = 24;
constexpr uint64_t above = 1000000;

// All that a read tells.
struct Told {
    ovstage_api_status_t status;
    std::vector<std::vector<std::pair<uint32_t, std::vector<float>>>> rows;
    std::vector<uint64_t> ordinals;
    std::vector<bool> deletes;
    bool operator==(const Told &other) const
    {
        return status == other.status && rows == other.rows && ordinals == other.ordinals &&
               deletes == other.deletes;
    }
    // Each value of a key is among those.
    bool is_part_of(const Told &all) const
    {
        bool is_part = true;
        for (size_t g = 0; g < rows.size(); g++)
            for (const auto &row : rows[g])
                is_part = is_part && (deletes[g] || all.has(row));
        return is_part;
    }
    bool has(const std::pair<uint32_t, std::vector<float>> &row) const
    {
        bool found = false;
        for (const auto &group : rows)
            found = found || std::find(group.begin(), group.end(), row) != group.end();
        return found;
    }
};

class Twin
{
  public:
    explicit Twin(uint32_t workers) : stage(workers)
    {
    }
    Told told(ovstage_ordinal_range_t range)
    {
        return told(all, range);
    }
    Told told(ovstage_query_handle_t query, ovstage_ordinal_range_t range)
    {
        Snapshot read(stage, query, {name}, range);
        Told out = {read.status, {}, {}, {}};
        for (const ovstage_read_group_t &group : read.groups) {
            const bool is_delete = group.is_delete;
            out.deletes.push_back(is_delete);
            out.ordinals.push_back(group.ordinal);
            if (is_delete) {
                std::vector<std::pair<uint32_t, std::vector<float>>> gone;
                for (uint32_t k = 0; k < group.prims.count; k++)
                    gone.push_back(
                        {group.prims.index_map ? group.prims.index_map[k] : group.prims.offset + k,
                         {}});
                out.rows.push_back(gone);
            } else {
                out.rows.push_back(Snapshot::rows(group));
            }
        }
        return out;
    }
    uint64_t generation()
    {
        Snapshot read(stage, all, {name}, last);
        return read.groups.empty() ? 0 : read.groups[0].meta.layout_generation;
    }
    uint64_t oldest()
    {
        ovstage_ordinal_query_handle_t handle = 0;
        stage.finish(ovstage_get_oldest_preserved_ordinal(stage.instance, &handle));
        uint64_t ordinal = 0;
        EXPECT_EQ(ovstage_fetch_ordinal(stage.instance, handle, forever, &ordinal), OVSTAGE_OK);
        stage.finish(ovstage_release_ordinal_query(stage.instance, handle));
        return ordinal;
    }
    void write(const std::vector<uint32_t> &prims, uint64_t ordinal, float first)
    {
        ovstage_query_handle_t query = of(prims);
        const std::vector<float> values = ramp(prims.size(), first);
        stage.finish(stage.write(query, name, ordinal, values));
        stage.finish(ovstage_release_query(stage.instance, query));
    }
    void remove(uint32_t prim, uint64_t ordinal)
    {
        ovstage_query_handle_t query = of({prim});
        const ovx_string_or_token_t names[] = {{name, {}}};
        stage.finish(ovstage_delete_attributes(stage.instance, query, names, 1, ordinal));
        stage.finish(ovstage_release_query(stage.instance, query));
    }
    void seal()
    {
        stage.finish(stage.seal(++last));
    }

    Stage stage;
    ovstage_query_handle_t all = stage.query(count);
    ovx_token_t name = stage.token("a");
    uint64_t last = 0;
    ovstage_query_handle_t of(const std::vector<uint32_t> &prims)
    {
        std::vector<std::string> paths;
        for (uint32_t prim : prims)
            paths.push_back("/P/" + std::to_string(prim));
        return stage.query(paths);
    }
};

class Rehome : public ::testing::TestWithParam<uint32_t>
{
  protected:
    Twin moved{GetParam()}, kept{GetParam()};

    template <typename Do> void both(Do what)
    {
        what(moved);
        what(kept);
    }
    // What all keys were at an ordinal, as it was told when it was the newest.
    std::map<uint64_t, Told> newest;

    void seal()
    {
        both([](Twin &twin) { twin.seal(); });
        newest[kept.last] = kept.told({0, kept.last, false});
    }
    // Of keys that lie together more may be kept than of others, and is right.
    void expect_the_same(ovstage_ordinal_range_t range)
    {
        const Told now = moved.told(range), before = kept.told(range),
                   &then = newest[range.end_ordinal];
        EXPECT_TRUE(now == before || (before.status == OVSTAGE_ERROR_OUT_OF_RANGE &&
                                      now.status == OVSTAGE_OK && now.is_part_of(then)))
            << range.start_ordinal << " to " << range.end_ordinal << " of " << moved.last;
        EXPECT_TRUE(range.start_ordinal > 0 || now.status != OVSTAGE_OK || now == then)
            << range.end_ordinal << " of " << moved.last;
    }
    void expect_the_same(uint64_t first, uint64_t step)
    {
        const uint64_t last = moved.last;
        for (uint64_t at = last > 6 ? last - 6 : 1; at <= last; at++)
            expect_the_same({0, at, false});
        for (uint64_t start = first; start <= last; start += step)
            for (uint64_t end : {last, last - (last - start) / 2, start})
                expect_the_same({start, end, true});
        EXPECT_EQ(moved.generation(), kept.generation());
        EXPECT_EQ(moved.oldest(), kept.oldest());
    }
    void spawn()
    {
        for (uint32_t prim = 0; prim < count; prim++) {
            both([&](Twin &twin) { twin.write({prim}, twin.last + 1, static_cast<float>(prim)); });
            seal();
        }
        kept.write(all(), above, 0);
    }
    static std::vector<uint32_t> all()
    {
        std::vector<uint32_t> prims(count);
        for (uint32_t k = 0; k < count; k++)
            prims[k] = k;
        return prims;
    }
};

INSTANTIATE_TEST_SUITE_P(Workers, Rehome, ::testing::Values(0u, 2u));

TEST_P(Rehome, R82_L5_L6_keys_that_moved_are_told_of_as_before)
{
    std::mt19937 random(7);
    spawn();
    bool differed = false;
    for (uint32_t frame = 0; frame < 100; frame++) {
        std::vector<uint32_t> prims = all();
        if (frame >= 15) // some of them, and one of those is deleted
            prims.erase(std::remove_if(prims.begin(), prims.end(),
                                       [&](uint32_t) { return random() % 3 == 0; }),
                        prims.end());
        both([&](Twin &twin) {
            if (!prims.empty())
                twin.write(prims, twin.last + 1, static_cast<float>(1000 * frame));
            if (frame % 16 == 3)
                twin.remove(frame % count, twin.last + 1);
        });
        seal();
        if (frame % 5 == 0 || (frame > 5 && frame < 12))
            expect_the_same(1 + frame % 3, 7);
        differed = differed ||
                   moved.stage.statistics().segments + count / 2 < kept.stage.statistics().segments;
    }
    EXPECT_TRUE(differed) << "or nothing has moved";
}

// By one seal: a segment has room then for keys that are not there yet.
TEST_P(Rehome, R82_L5_keys_that_were_made_at_different_ordinals)
{
    for (uint32_t prim = 0; prim < 2 * count; prim += 2) {
        both([&](Twin &twin) {
            twin.write({prim}, twin.last + 1, 1);
            twin.write({prim + 1}, twin.last + 2, 2);
            twin.last++;
        });
        seal();
    }
    std::vector<uint32_t> prims = all(), later;
    for (uint32_t prim = 1; prim < 2 * count; prim += 2)
        later.push_back(prim);
    for (uint32_t prim = count; prim < 2 * count; prim++)
        prims.push_back(prim);
    kept.write(prims, above, 0);
    for (uint32_t frame = 0; frame < 10; frame++) {
        both([&](Twin &twin) {
            twin.write(prims, twin.last + 1, static_cast<float>(1000 * frame));
        });
        seal();
        for (uint64_t start = 1; start <= count; start++)
            for (uint64_t end : {start, start + 1, moved.last})
                expect_the_same({start, end, true});
    }
    EXPECT_EQ(moved.stage.statistics().segments, 1u);
    ovstage_query_handle_t of_moved = moved.of(later), of_kept = kept.of(later);
    for (uint64_t start = 1; start < 2 * count; start += 2) { // when the others were made
        const Told told = moved.told(of_moved, {start, start, true});
        EXPECT_TRUE(told.status == OVSTAGE_OK && told.rows.empty()) << start;
        EXPECT_TRUE(told == kept.told(of_kept, {start, start, true})) << start;
    }
}

// It is kept from before they move until long after.
TEST_P(Rehome, L4_an_open_snapshot_shows_what_it_did)
{
    spawn();
    const uint64_t moment = moved.last;
    const Told before = moved.told({0, moment, false});
    flyrail_snapshot_desc_t desc;
    std::memset(&desc, 0, sizeof(desc));
    desc.struct_size = sizeof(desc);
    desc.ordinal = moment;
    flyrail_snapshot_t snapshot = 0;
    ASSERT_EQ(flyrail_snapshot_open(moved.stage.instance, &desc, &snapshot, nullptr), OVSTAGE_OK)
        << last_error();
    for (uint32_t frame = 0; frame < 20; frame++) {
        moved.write(all(), moved.last + 1, static_cast<float>(1000 * frame));
        moved.seal();
        EXPECT_TRUE(moved.told({0, moment, false}) == before) << frame;
    }
    EXPECT_EQ(flyrail_snapshot_close(moved.stage.instance, snapshot), OVSTAGE_OK);
    for (uint32_t frame = 0; frame < 40; frame++) {
        moved.write(all(), moved.last + 1, static_cast<float>(frame));
        moved.seal();
    }
    EXPECT_EQ(moved.stage.statistics().segments, 1u);
}

} // namespace
