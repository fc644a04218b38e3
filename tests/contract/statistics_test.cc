// What the figures about the store count, whatever it is that is there.
#include "tests/support/clones.h"
#include "tests/support/maps.h"

using namespace client;

namespace
{

class StatisticsTest : public MapTest
{
  protected:
    ovstage_enqueue_result_t erase(const Texts &paths, uint64_t ordinal)
    {
        return ovstage_delete_attributes(stage.instance, stage.query(paths), nullptr, 0, ordinal);
    }
    void seal(uint64_t ordinal)
    {
        stage.finish(stage.seal(ordinal));
    }
    // Open ones; those that are sealed; prims; visible keys; whether bytes are pending.
    void expect(uint64_t open, uint64_t sealed, uint64_t prims, uint64_t keys, bool pending)
    {
        flyrail_statistics_t now = stage.statistics();
        EXPECT_EQ(now.versions_open, open);
        EXPECT_EQ(now.versions_sealed, sealed);
        EXPECT_EQ(now.prims, prims);
        EXPECT_EQ(now.keys, keys);
        EXPECT_EQ(now.pending_bytes > 0, pending);
    }
};

TEST_F(StatisticsTest, versions_are_counted_before_their_keys_are_visible)
{
    expect(0, 0, 0, 0, false);
    for (uint64_t ordinal = 1; ordinal < 6; ordinal++)
        write(ordinal, ramp(4));
    expect(5, 0, 4, 0, true);
    write(3, ramp(4, 30)); // in what is there
    expect(5, 0, 4, 0, true);
    RowPayload<float> rows(Rows<float>{{1, 2, 3}, {4}, {5, 6}, {}}, f32());
    ovx_token_t lists = stage.token("lists");
    for (uint64_t ordinal = 1; ordinal < 4; ordinal++)
        stage.finish(client::write(stage, query, lists, ordinal, rows.data));
    expect(8, 0, 4, 0, true);
    seal(2);
    expect(4, 4, 4, 8, true); // two of each column
    write(6, ramp(4));
    expect(5, 4, 4, 8, true);
    // New keys beside others, at one ordinal: they become a segment of their own.
    Values five{0, 1, 2, 3, 4};
    stage.finish(stage.write(stage.query(5), attribute, 7, five));
    expect(7, 4, 5, 8, true);
}

TEST_F(StatisticsTest, maps_clones_and_discards)
{
    Map map(stage, query, description(attribute), 1);
    map.fill(ramp(4));
    expect(0, 0, 0, 0, true); // its rows are nobody's before they are committed
    stage.finish(map.unmap());
    expect(1, 0, 4, 0, true);
    seal(1);
    expect(0, 1, 4, 4, false);
    const std::string source = "/P/0", copy = "/C";
    ovx_string_t target = text(copy);
    stage.finish(ovstage_clone(stage.instance, text(source), &target, 1, 2));
    expect(1, 1, 5, 4, true);
    stage.finish(flyrail_discard(stage.instance, 2));
    expect(0, 1, 5, 4, false); // prims that it made stay counted
}

TEST_F(StatisticsTest, deletes)
{
    write(1, ramp(4));
    seal(1);
    stage.finish(erase({"/P/0", "/Q"}, 2));
    expect(0, 1, 4, 4, true); // no version before its seal
    seal(2);
    expect(0, 2, 3, 3, false); // the keys and which of them is gone
    stage.finish(erase({"/P/1"}, 3));
    stage.finish(flyrail_discard(stage.instance, 3));
    expect(0, 2, 3, 3, false);
    Values one{5};
    stage.finish(stage.write(stage.query({"/P/0"}), attribute, 4, one));
    expect(1, 2, 3, 3, true); // a prim that was deleted is there again with the seal
    seal(4);
    expect(0, 3, 4, 4, false);
}

TEST_F(StatisticsTest, what_is_held)
{
    write(1, ramp(4));
    seal(1);
    flyrail_snapshot_desc_t desc;
    std::memset(&desc, 0, sizeof(desc));
    desc.struct_size = sizeof(desc);
    desc.newest = true;
    flyrail_snapshot_t snapshot = 0;
    ASSERT_EQ(flyrail_snapshot_open(stage.instance, &desc, &snapshot, nullptr), OVSTAGE_OK);
    EXPECT_EQ(stage.statistics().snapshots_open, 1u);
    for (uint64_t ordinal = 2; ordinal < 12; ordinal++) {
        write(ordinal, ramp(4));
        seal(ordinal);
    }
    expect(0, 11, 4, 4, false); // all since
    ASSERT_EQ(flyrail_snapshot_close(stage.instance, snapshot), OVSTAGE_OK);
    write(12, ramp(4));
    seal(12);
    EXPECT_EQ(stage.statistics().snapshots_open, 0u);
    expect(0, 3, 4, 4, false); // the newest and two before
    {
        Snapshot held(stage, query, {attribute}, 12);
        EXPECT_EQ(stage.statistics().pins, 1u);
    }
    EXPECT_EQ(stage.statistics().pins, 0u);
}

} // namespace
