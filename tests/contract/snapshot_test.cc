// flyrail_snapshot_*: moments that are kept to be read.
#include <thread>

#include "tests/support/columns.h"
#include "tests/support/heap.h"

using namespace client;

namespace
{

using Values = std::vector<float>;

flyrail_snapshot_desc_t newest(const std::vector<ovx_token_t> &attributes = {})
{
    flyrail_snapshot_desc_t desc;
    std::memset(&desc, 0, sizeof(desc));
    desc.struct_size = sizeof(desc);
    desc.newest = true;
    desc.attributes = attributes.data();
    desc.attribute_count = attributes.size();
    return desc;
}

flyrail_snapshot_desc_t at(uint64_t ordinal)
{
    flyrail_snapshot_desc_t desc = newest();
    desc.newest = false;
    desc.ordinal = ordinal;
    return desc;
}

class SnapshotTest : public testing::Test
{
  protected:
    Stage stage{2};
    ovstage_query_handle_t query = stage.query(40);
    ovx_token_t attribute = stage.token("x"), other = stage.token("y");

    static Values values(uint64_t ordinal)
    {
        return ramp(40, static_cast<float>(1000 * ordinal));
    }
    // All rows of an ordinal, sealed.
    void step(uint64_t ordinal)
    {
        Values all = values(ordinal);
        stage.finish(stage.write(query, attribute, ordinal, all));
        stage.finish(stage.seal(ordinal));
    }
    flyrail_snapshot_t open(const flyrail_snapshot_desc_t &desc, uint64_t ordinal)
    {
        flyrail_snapshot_t snapshot = 0;
        uint64_t moment = 777;
        EXPECT_EQ(flyrail_snapshot_open(stage.instance, &desc, &snapshot, &moment), OVSTAGE_OK)
            << last_error();
        EXPECT_NE(snapshot, 0u);
        EXPECT_EQ(moment, ordinal);
        return snapshot;
    }
    void close(flyrail_snapshot_t snapshot)
    {
        EXPECT_EQ(flyrail_snapshot_close(stage.instance, snapshot), OVSTAGE_OK) << last_error();
        EXPECT_EQ(flyrail_snapshot_close(stage.instance, snapshot), OVSTAGE_ERROR_INVALID_HANDLE);
        EXPECT_NE(last_error().find("snapshot"), std::string::npos) << last_error();
    }
    // The values of the attribute, of all 40 prims; none when the read is refused.
    Values read(flyrail_snapshot_t snapshot, ovstage_api_status_t status = OVSTAGE_OK)
    {
        ovstage_read_handle_t handle = 7;
        ovstage_enqueue_result_t result =
            flyrail_snapshot_read(stage.instance, snapshot, query, &attribute, 1, &handle);
        EXPECT_EQ(result.status, status) << last_error();
        EXPECT_EQ(handle != 0, status == OVSTAGE_OK);
        Values out;
        if (result.status != OVSTAGE_OK)
            return out;
        ovstage_read_group_t group;
        while (ovstage_fetch_read_next(stage.instance, handle, forever, &group) == OVSTAGE_OK) {
            for (const auto &row : Snapshot::rows(group))
                out.push_back(row.second[0]);
            EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        }
        stage.finish(result);
        stage.finish(ovstage_release_read(stage.instance, handle));
        return out;
    }
    std::string refused(const flyrail_snapshot_desc_t *desc, ovstage_api_status_t status)
    {
        flyrail_snapshot_t snapshot = 7;
        EXPECT_EQ(flyrail_snapshot_open(stage.instance, desc, &snapshot, nullptr), status);
        EXPECT_EQ(snapshot, 0u);
        EXPECT_NE(last_error(), "");
        return last_error();
    }
};

TEST_F(SnapshotTest, shows_its_moment_while_others_go_on)
{
    flyrail_snapshot_t nothing = open(newest(), 0);
    step(1);
    flyrail_snapshot_t one = open(newest(), 1);
    for (uint64_t ordinal = 2; ordinal < 30; ordinal++)
        step(ordinal);
    flyrail_snapshot_t last = open(newest(), 29);
    EXPECT_EQ(read(one), values(1));
    EXPECT_EQ(read(last), values(29));
    EXPECT_EQ(read(nothing), Values());
    close(one);
    close(nothing);
    step(30);
    EXPECT_EQ(read(last), values(29));
    close(last);
    EXPECT_EQ(stage.statistics().snapshots_open, 0u);
}

TEST_F(SnapshotTest, parts_of_a_column_as_well)
{
    step(1);
    flyrail_snapshot_t one = open(at(1), 1);
    ovstage_query_handle_t some = stage.query({"/P/3", "/P/30"});
    for (uint64_t ordinal = 2; ordinal < 12; ordinal++) {
        Values two{static_cast<float>(ordinal), static_cast<float>(ordinal)};
        stage.finish(stage.write(some, attribute, ordinal, two));
        ovx_string_or_token_t name = named(attribute);
        if (ordinal == 6)
            stage.finish(ovstage_delete_attributes(stage.instance, stage.query({"/P/9"}), &name, 1,
                                                   ordinal));
        stage.finish(stage.seal(ordinal));
    }
    EXPECT_EQ(read(one), values(1));
    close(one);
}

TEST_F(SnapshotTest, what_is_kept_goes_when_it_is_closed)
{
    step(1);
    flyrail_snapshot_t one = open(newest(), 1);
    for (uint64_t ordinal = 2; ordinal < 40; ordinal++)
        step(ordinal);
    uint64_t held = stage.statistics().history_bytes;
    close(one);
    step(40);
    step(41);
    EXPECT_LT(stage.statistics().history_bytes, held / 4);
    Snapshot gone(stage, query, {attribute}, 1);
    EXPECT_EQ(gone.status, OVSTAGE_ERROR_OUT_OF_RANGE);
}

TEST_F(SnapshotTest, of_an_ordinal_that_is_sealed)
{
    step(3);
    close(open(at(3), 3));
    close(open(at(2), 2));
    std::string why;
    flyrail_snapshot_desc_t later = at(4);
    why = refused(&later, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_NE(why.find("ordinal 4"), std::string::npos) << why;
    EXPECT_NE(why.find("floor is 3"), std::string::npos) << why;
    later = at(UINT64_MAX);
    refused(&later, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(stage.statistics().snapshots_open, 0u);
}

TEST_F(SnapshotTest, goes_by_the_floors_of_what_is_named)
{
    Values all = values(5);
    stage.finish(stage.write(query, attribute, 5, all));
    stage.finish(stage.write(query, other, 5, all));
    stage.finish(stage.seal(2));
    stage.finish(stage.seal(5, OVSTAGE_SCOPE_INCLUDE, {attribute}));
    stage.finish(stage.seal(4, OVSTAGE_SCOPE_INCLUDE, {other}));
    std::vector<ovx_token_t> one{attribute}, two{attribute, other},
        unknown{stage.token("nobody wrote it")};
    close(open(newest(one), 5));
    close(open(newest(two), 4));
    close(open(newest(), 4));
    close(open(newest(unknown), 2));
    flyrail_snapshot_desc_t desc = at(5);
    desc.attributes = two.data();
    desc.attribute_count = 2;
    refused(&desc, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    desc.attribute_count = 1;
    flyrail_snapshot_t snapshot = open(desc, 5);
    EXPECT_EQ(read(snapshot), values(5));
    close(snapshot);
}

TEST_F(SnapshotTest, wrong_arguments)
{
    flyrail_snapshot_desc_t desc = newest();
    refused(nullptr, OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(flyrail_snapshot_open(stage.instance, &desc, nullptr, nullptr),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    for (uint32_t size : {0u, 4u, static_cast<uint32_t>(sizeof(desc)) + 8}) {
        desc.struct_size = size;
        std::string why = refused(&desc, OVSTAGE_ERROR_INVALID_ARGUMENT);
        EXPECT_NE(why.find(std::to_string(size)), std::string::npos) << why;
    }
    desc = newest();
    desc.attribute_count = 2;
    desc.attributes = nullptr;
    refused(&desc, OVSTAGE_ERROR_INVALID_ARGUMENT);
    for (ovx_token_t token : {ovx_token_t{0}, ~ovx_token_t{0}}) {
        desc.attributes = &token;
        desc.attribute_count = 1;
        refused(&desc, OVSTAGE_ERROR_INVALID_ARGUMENT);
    }
    flyrail_snapshot_t snapshot = 7;
    desc = newest();
    EXPECT_EQ(flyrail_snapshot_open(nullptr, &desc, &snapshot, nullptr),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(snapshot, 0u);
    EXPECT_EQ(flyrail_snapshot_close(nullptr, 1), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(stage.statistics().snapshots_open, 0u);
}

TEST_F(SnapshotTest, wrong_handles)
{
    step(1);
    Stage elsewhere(1);
    flyrail_snapshot_desc_t desc = newest();
    flyrail_snapshot_t foreign = 0, own = open(newest(), 1);
    ASSERT_EQ(flyrail_snapshot_open(elsewhere.instance, &desc, &foreign, nullptr), OVSTAGE_OK);
    for (uint64_t handle : {uint64_t{0}, uint64_t{5}, ~uint64_t{0}, uint64_t{query}, foreign,
                            own + 1, own ^ uint64_t{1} << 47}) {
        read(handle, OVSTAGE_ERROR_INVALID_HANDLE);
        EXPECT_EQ(flyrail_snapshot_close(stage.instance, handle), OVSTAGE_ERROR_INVALID_HANDLE);
    }
    ovstage_read_handle_t handle = 7;
    EXPECT_EQ(flyrail_snapshot_read(stage.instance, own, own, &attribute, 1, &handle).status,
              OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(handle, 0u);
    EXPECT_EQ(flyrail_snapshot_read(stage.instance, own, query, &attribute, 1, nullptr).status,
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(read(own), values(1));
    close(own);
    elsewhere.destroy(); // with one open
}

TEST_F(SnapshotTest, so_many_may_be_open)
{
    step(1);
    flyrail_snapshot_desc_t desc = newest();
    std::vector<flyrail_snapshot_t> all;
    for (uint32_t k = 0; k < 1024; k++)
        all.push_back(open(desc, 1));
    std::string why = refused(&desc, OVSTAGE_ERROR_OUT_OF_RANGE);
    EXPECT_NE(why.find("1024"), std::string::npos) << why;
    EXPECT_EQ(stage.statistics().snapshots_open, 1024u);
    close(all.back());
    all.back() = open(desc, 1);
    for (flyrail_snapshot_t snapshot : all)
        EXPECT_EQ(flyrail_snapshot_close(stage.instance, snapshot), OVSTAGE_OK);
    EXPECT_EQ(stage.statistics().snapshots_open, 0u);
}

TEST_F(SnapshotTest, history_has_its_limit_all_the_same)
{
    flyrail_config_t made = config(1);
    made.history_limit_bytes = 64 << 10;
    Stage small(made);
    ovstage_query_handle_t all = small.query(1000);
    ovx_token_t still = small.token("still"), moves = small.token("moves");
    Values constant = ramp(1000);
    small.finish(small.write(all, still, 1, constant));
    flyrail_snapshot_desc_t desc = newest();
    flyrail_snapshot_t snapshot = 0;
    for (uint64_t ordinal = 1; ordinal < 60; ordinal++) {
        Values step = ramp(1000, static_cast<float>(ordinal));
        small.finish(small.write(all, moves, ordinal, step));
        small.finish(small.seal(ordinal));
        if (ordinal == 1) {
            ASSERT_EQ(flyrail_snapshot_open(small.instance, &desc, &snapshot, nullptr), OVSTAGE_OK);
        }
        EXPECT_LE(small.statistics().history_bytes, made.history_limit_bytes);
    }
    EXPECT_GT(small.statistics().history_drops, 0u);
    ovstage_read_handle_t read = 0;
    ovstage_enqueue_result_t result =
        flyrail_snapshot_read(small.instance, snapshot, all, &moves, 1, &read);
    EXPECT_EQ(result.status, OVSTAGE_ERROR_OUT_OF_RANGE) << last_error();
    result = flyrail_snapshot_read(small.instance, snapshot, all, &still, 1, &read);
    ASSERT_EQ(result.status, OVSTAGE_OK) << last_error(); // it has its value still
    ovstage_read_group_t group;
    ASSERT_EQ(ovstage_fetch_read_next(small.instance, read, forever, &group), OVSTAGE_OK);
    EXPECT_EQ(static_cast<const float *>(group.data.tensors[0].data)[999], 999.0f);
    EXPECT_EQ(ovstage_release_group(small.instance, &group), OVSTAGE_OK);
}

// No worker, one, four: the newest moment is whole whenever it is taken, however short history is.
TEST(Snapshots, taken_while_others_seal)
{
    for (uint32_t workers : {0u, 1u, 4u}) {
        flyrail_config_t made = config(workers);
        made.history_versions = 0;
        Stage stage(made);
        ovstage_query_handle_t all = stage.query(8);
        ovx_token_t names[2] = {stage.token("x"), stage.token("y")};
        constexpr uint64_t last = 300;
        std::atomic<bool> done{false};
        std::atomic<uint64_t> taken{0};
        std::vector<std::thread> readers;
        for (int t = 0; t < 2; t++)
            readers.emplace_back([&] {
                flyrail_snapshot_desc_t desc = newest();
                uint64_t before = 0;
                for (bool ends = false; !ends;) {
                    ends = done;
                    flyrail_snapshot_t snapshot = 0;
                    uint64_t moment = 0;
                    ASSERT_EQ(flyrail_snapshot_open(stage.instance, &desc, &snapshot, &moment),
                              OVSTAGE_OK);
                    EXPECT_GE(moment, before);
                    before = moment;
                    for (ovx_token_t name : names) { // one after the other, seals in between
                        ovstage_read_handle_t read = 0;
                        ovstage_enqueue_result_t result =
                            flyrail_snapshot_read(stage.instance, snapshot, all, &name, 1, &read);
                        ASSERT_EQ(result.status, OVSTAGE_OK) << last_error();
                        ovstage_read_group_t group;
                        if (moment > 0) {
                            ASSERT_EQ(
                                ovstage_fetch_read_next(stage.instance, read, forever, &group),
                                OVSTAGE_OK);
                            EXPECT_EQ(static_cast<const float *>(group.data.tensors[0].data)[7],
                                      static_cast<float>(moment + 7));
                            EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
                        }
                        stage.finish(result);
                        stage.finish(ovstage_release_read(stage.instance, read));
                    }
                    EXPECT_EQ(flyrail_snapshot_close(stage.instance, snapshot), OVSTAGE_OK);
                    taken++;
                }
            });
        for (uint64_t ordinal = 1; ordinal <= last; ordinal++) {
            Values step = ramp(8, static_cast<float>(ordinal));
            for (ovx_token_t name : names)
                stage.finish(stage.write(all, name, ordinal, step));
            stage.finish(stage.seal(ordinal));
        }
        done = true;
        for (auto &reader : readers)
            reader.join();
        EXPECT_GE(taken, 2u);
        EXPECT_EQ(stage.statistics().snapshots_open, 0u);
    }
}

TEST(Snapshots, memory_that_runs_out)
{
    for (uint64_t k = 1;; k++) {
        fr_test_heap *heap = fr_test_heap_create();
        const fr_allocator *allocator = fr_test_heap_allocator(heap);
        flyrail_config_t made = config(0);
        made.allocator.allocate = allocator->allocate;
        made.allocator.release = allocator->release;
        made.allocator.user = allocator->user;
        bool reached;
        {
            Stage stage(made);
            std::vector<flyrail_snapshot_t> open;
            flyrail_snapshot_desc_t desc = newest();
            fr_test_heap_fail(heap, k, false);
            int failures = 0;
            for (int s = 0; s < 300; s++) { // more than the first lists have room for
                flyrail_snapshot_t snapshot = 0;
                ovstage_api_status_t status =
                    flyrail_snapshot_open(stage.instance, &desc, &snapshot, nullptr);
                failures += status != OVSTAGE_OK;
                if (status == OVSTAGE_OK) {
                    open.push_back(snapshot);
                } else {
                    EXPECT_EQ(status, OVSTAGE_ERROR_OUT_OF_MEMORY);
                    EXPECT_EQ(snapshot, 0u);
                }
            }
            reached = fr_test_heap_calls(heap) >= k;
            fr_test_heap_fail(heap, 0, false);
            EXPECT_EQ(failures, reached ? 1 : 0) << k;
            EXPECT_EQ(stage.statistics().snapshots_open, open.size());
            for (flyrail_snapshot_t snapshot : open)
                EXPECT_EQ(flyrail_snapshot_close(stage.instance, snapshot), OVSTAGE_OK);
        }
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
        if (!reached) {
            EXPECT_GT(k, 3u);
            return;
        }
    }
}

} // namespace
