// Groups: contract 4.6 and D5, one test a rule.
#include <map>

#include "tests/support/columns.h"

using namespace client;

namespace
{

using Values = std::vector<float>;
using Rows = std::vector<std::pair<uint32_t, Values>>;

class GroupTest : public ::testing::Test
{
  protected:
    Stage stage{2};
    ovstage_query_handle_t query = stage.query(5);
    ovx_token_t a = stage.token("a"), b = stage.token("b");

    void write_sealed(ovstage_query_handle_t to, uint64_t ordinal, const Values &values)
    {
        stage.finish(stage.write(to, a, ordinal, values));
        stage.finish(stage.seal(ordinal));
    }
    ovstage_read_group_t only_group(const Snapshot &snapshot)
    {
        EXPECT_EQ(snapshot.status, OVSTAGE_OK) << last_error();
        EXPECT_EQ(snapshot.groups.size(), 1u);
        return snapshot.groups.empty() ? ovstage_read_group_t{} : snapshot.groups[0];
    }
};

TEST_F(GroupTest, R72_R78_a_column_written_whole_is_one_group_in_query_order)
{
    write_sealed(query, 1, ramp(5));
    Snapshot snapshot(stage, query, {a}, 1);
    ovstage_read_group_t group = only_group(snapshot);
    EXPECT_EQ(group.prims.offset, 0u);
    EXPECT_EQ(group.prims.count, 5u);
    EXPECT_EQ(group.prims.index_map, nullptr);
    EXPECT_EQ(group.data.tensors[0].shape[0], 5);
    EXPECT_EQ(std::memcmp(group.data.tensors[0].data, ramp(5).data(), 20), 0);
}

TEST_F(GroupTest, R72_the_list_is_the_querys_own)
{
    write_sealed(query, 1, ramp(5));
    ovx_primpath_list_t list = stage.list({"/P/0", "/P/1"});
    ovstage_query_handle_t two = 0;
    ASSERT_EQ(ovstage_query_from_path_list(stage.instance, list, &two), OVSTAGE_OK);
    Snapshot first(stage, two, {a}, 1), second(stage, two, {a}, 1);
    EXPECT_NE(only_group(first).prims.list, list);
    EXPECT_EQ(only_group(first).prims.list, only_group(second).prims.list);
    path_dictionary_release_path_list_reference(stage.dictionary, list);
    size_t count = 0;
    EXPECT_EQ(path_dictionary_get_num_paths_from_path_list(stage.dictionary,
                                                           only_group(first).prims.list, &count)
                  .status,
              OVX_API_SUCCESS);
    EXPECT_EQ(count, 2u);
}

TEST_F(GroupTest, R72_a_part_names_its_positions)
{
    ovstage_query_handle_t some = stage.query({"/P/1", "/P/3"});
    write_sealed(some, 1, {1, 3});
    Snapshot snapshot(stage, query, {a}, 1);
    ovstage_read_group_t group = only_group(snapshot);
    EXPECT_EQ(group.prims.count, 2u);
    EXPECT_EQ(Snapshot::rows(group), (Rows{{1, {1}}, {3, {3}}}));
}

TEST_F(GroupTest, R73_a_reference_keeps_the_list)
{
    write_sealed(query, 1, ramp(5));
    ovx_primpath_list_t list = 0;
    {
        Snapshot snapshot(stage, query, {a}, 1);
        list = only_group(snapshot).prims.list;
        EXPECT_EQ(path_dictionary_add_path_list_reference(stage.dictionary, list).status,
                  OVX_API_SUCCESS);
    }
    stage.finish(ovstage_release_query(stage.instance, query));
    size_t count = 0;
    EXPECT_EQ(path_dictionary_get_num_paths_from_path_list(stage.dictionary, list, &count).status,
              OVX_API_SUCCESS);
    EXPECT_EQ(count, 5u);
    EXPECT_EQ(path_dictionary_release_path_list_reference(stage.dictionary, list).status,
              OVX_API_SUCCESS);
}

TEST_F(GroupTest, R74_R76_R77_the_canonical_group)
{
    Payload points(ramp(15), f32(), {5, 3});
    points.data.semantic = OVSTAGE_SEMANTIC_POINT;
    stage.finish(write(stage, query, a, 2, points.data));
    stage.finish(stage.seal(3));
    Snapshot snapshot(stage, query, {a}, 3);
    ovstage_read_group_t group = only_group(snapshot);
    EXPECT_NE(group.read_group_id, 0u);
    EXPECT_EQ(group.attribute, a);
    EXPECT_EQ(group.ordinal, 2u);
    EXPECT_FALSE(group.is_delete);
    EXPECT_FALSE(group.is_array);
    EXPECT_EQ(group.semantic, OVSTAGE_SEMANTIC_POINT);
    EXPECT_EQ(group.data.tensor_count, 1u);
    EXPECT_EQ(group.data.count, group.prims.count);
    EXPECT_EQ(group.data.index_map, nullptr);
    EXPECT_EQ(group.data.mask, nullptr);
    EXPECT_EQ(group.data.cuda_sync.stream, 0u);
    EXPECT_EQ(group.data.cuda_sync.wait_event, 0u);
    const DLTensor &tensor = group.data.tensors[0];
    EXPECT_EQ(tensor.ndim, 1);
    EXPECT_EQ(tensor.dtype.code, kDLFloat);
    EXPECT_EQ(tensor.dtype.bits, 32);
    EXPECT_EQ(tensor.dtype.lanes, 3);
    EXPECT_EQ(tensor.device.device_type, kDLCPU);
    EXPECT_EQ(tensor.strides, nullptr);
    EXPECT_EQ(tensor.byte_offset, 0u);
    EXPECT_EQ(group.meta.attribute_write_floor_ordinal, 3u);
}

TEST_F(GroupTest, R78_a_one_prim_read_has_one_row)
{
    write_sealed(query, 1, ramp(5));
    Snapshot snapshot(stage, stage.query({"/P/3"}), {a}, 1);
    EXPECT_EQ(only_group(snapshot).data.tensors[0].shape[0], 1);
    EXPECT_EQ(Snapshot::rows(only_group(snapshot)), (Rows{{0, {3}}}));
}

TEST_F(GroupTest, D5_one_group_however_the_rows_were_written)
{
    write_sealed(stage.query({"/P/4", "/P/0"}), 1, {40, 0});
    write_sealed(stage.query({"/P/2"}), 2, {20});
    stage.finish(stage.write(stage.query({"/P/1", "/P/3"}), a, 3, {10, 30}));
    write_sealed(stage.query({"/P/0"}), 4, {1});
    Snapshot snapshot(stage, query, {a}, 4);
    EXPECT_EQ(Snapshot::rows(only_group(snapshot)),
              (Rows{{0, {1}}, {1, {10}}, {2, {20}}, {3, {30}}, {4, {40}}}));
    EXPECT_EQ(only_group(snapshot).prims.index_map, nullptr);
}

TEST_F(GroupTest, D5_any_order_of_the_query)
{
    write_sealed(query, 1, ramp(5));
    ovstage_query_handle_t turned = stage.query({"/P/4", "/P/2", "/P/2", "/P/0"});
    Snapshot snapshot(stage, turned, {a}, 1);
    EXPECT_EQ(Snapshot::rows(only_group(snapshot)), (Rows{{0, {4}}, {1, {2}}, {2, {2}}, {3, {0}}}));
}

TEST_F(GroupTest, R82_layout_generations)
{
    write_sealed(query, 1, ramp(5));
    auto generation = [&](uint64_t ordinal) {
        Snapshot snapshot(stage, query, {a}, ordinal);
        return only_group(snapshot).meta.layout_generation;
    };
    uint64_t first = generation(1);
    write_sealed(query, 2, ramp(5, 7));      // values only
    write_sealed(stage.query(2), 3, {1, 2}); // some of them
    EXPECT_EQ(generation(3), first);
    stage.finish(stage.write(stage.query({"/Z"}), a, 4, {1}));
    EXPECT_EQ(generation(3), first); // not before the seal
    stage.finish(stage.seal(4));
    EXPECT_GT(generation(4), first); // a prim joined
}

TEST_F(GroupTest, R82_floors_of_scoped_seals)
{
    stage.finish(stage.write(query, a, 1, ramp(5)));
    stage.finish(stage.write(query, b, 1, ramp(5)));
    stage.finish(stage.seal(1));
    stage.finish(stage.seal(6, OVSTAGE_SCOPE_INCLUDE, {b}));
    Snapshot snapshot(stage, query, {a, b}, 1);
    ASSERT_EQ(snapshot.groups.size(), 2u);
    for (const auto &group : snapshot.groups)
        EXPECT_EQ(group.meta.attribute_write_floor_ordinal, group.attribute == a ? 1u : 6u);
}

TEST_F(GroupTest, R83_what_is_read_can_be_written)
{
    Payload points(ramp(15), f32(), {5, 3});
    points.data.semantic = OVSTAGE_SEMANTIC_POINT;
    stage.finish(write(stage, query, a, 1, points.data));
    stage.finish(stage.seal(1));
    {
        Snapshot snapshot(stage, query, {a}, 1);
        ovstage_write_data_t data;
        std::memset(&data, 0, sizeof(data));
        data.tensors = only_group(snapshot).data.tensors;
        data.tensor_count = 1;
        data.semantic = only_group(snapshot).semantic;
        stage.finish(write(stage, query, b, 2, data));
        stage.finish(write(stage, query, a, 2, data)); // onto itself
    }
    stage.finish(stage.seal(2));
    Snapshot snapshot(stage, query, {b}, 2);
    EXPECT_EQ(Snapshot::rows(only_group(snapshot))[4].second, (Values{12, 13, 14}));
}

TEST_F(GroupTest, R84_R79_one_group_for_each_type)
{
    write_sealed(stage.query({"/P/1", "/P/4"}), 1, {1, 4});
    Payload wide(ramp(6, 100), 3, 2);
    stage.finish(write(stage, stage.query({"/P/3", "/P/0", "/P/2"}), a, 2, wide.data));
    stage.finish(stage.seal(2));
    Snapshot snapshot(stage, query, {a}, 2);
    ASSERT_EQ(snapshot.groups.size(), 2u);
    for (const auto &group : snapshot.groups) {
        if (group.data.tensors[0].dtype.lanes == 1)
            EXPECT_EQ(Snapshot::rows(group), (Rows{{1, {1}}, {4, {4}}}));
        else
            EXPECT_EQ(Snapshot::rows(group),
                      (Rows{{0, {102, 103}}, {2, {104, 105}}, {3, {100, 101}}}));
    }
}

TEST_F(GroupTest, rows_of_every_width)
{
    // Bytes of a row that is shared by no other test: each width once, written apart and gathered.
    uint64_t ordinal = 0;
    for (uint16_t width : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 255}) {
        ovx_token_t name = stage.token("width " + std::to_string(width));
        ordinal++;
        for (const char *prim : {"/P/4", "/P/1", "/P/0", "/P/3", "/P/2"}) {
            std::vector<uint8_t> bytes(width);
            for (uint16_t i = 0; i < width; i++)
                bytes[i] = static_cast<uint8_t>(prim[3] * 31 + i);
            Payload row(bytes, u8(width), {1});
            stage.finish(write(stage, stage.query({prim}), name, ordinal, row.data));
        }
        stage.finish(stage.seal(ordinal));
        Snapshot snapshot(stage, query, {name}, ordinal);
        ovstage_read_group_t group = only_group(snapshot);
        ASSERT_EQ(group.data.count, 5u);
        const auto *rows = static_cast<const uint8_t *>(group.data.tensors[0].data);
        for (int prim = 0; prim < 5; prim++) {
            for (uint16_t i = 0; i < width; i++)
                ASSERT_EQ(rows[prim * width + i], static_cast<uint8_t>(('0' + prim) * 31 + i));
        }
    }
}

// With a sanitizer each payload is an allocation of its own, so that red zones work.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PAYLOADS_ARE_POOLED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PAYLOADS_ARE_POOLED 0
#endif
#endif
#ifndef PAYLOADS_ARE_POOLED
#define PAYLOADS_ARE_POOLED 1
#endif

#if PAYLOADS_ARE_POOLED
// Without workers, so that nothing depends on how far one thread runs ahead of another.
TEST(Groups, no_heap_allocation_in_steady_state)
{
    Stage stage(0);
    ovstage_query_handle_t query = stage.query(5), part = stage.query(2);
    ovx_token_t a = stage.token("a");
    Values values = ramp(5), some = ramp(2);
    uint64_t ordinal = 1;
    auto frame = [&] {
        auto whole = stage.write(query, a, ordinal, values);
        auto partial = stage.write(part, a, ordinal, some);
        auto seal = stage.seal(ordinal);
        stage.finish(whole);
        stage.finish(partial);
        stage.finish(seal);
        EXPECT_EQ(stage.read(query, a, ordinal), values);
        ordinal++;
    };
    // Tokens of seals that their waiters ran are taken back when there are a few hundred of them.
    for (int i = 0; i < 1000; i++)
        frame();
    uint64_t before = stage.statistics().heap_allocations;
    for (int i = 0; i < 1000; i++)
        frame();
    EXPECT_EQ(stage.statistics().heap_allocations, before);
}
#endif

// Of a column of path ids: each row, by position.
using Ids = std::map<uint32_t, std::vector<uint64_t>>;

Ids path_rows(const Snapshot &snapshot)
{
    Ids rows;
    for (const ovstage_read_group_t &group : snapshot.groups) {
        EXPECT_EQ(group.data.count, group.prims.count);
        for (uint32_t i = 0; i < group.prims.count; i++) {
            const DLTensor &tensor = group.data.tensors[group.is_array ? i : 0];
            EXPECT_EQ(tensor.dtype.code, kDLUInt);
            EXPECT_EQ(tensor.dtype.bits, 64);
            const auto *ids = static_cast<const uint64_t *>(tensor.data) + (group.is_array ? 0 : i);
            const size_t count = group.is_array ? static_cast<size_t>(tensor.shape[0]) : 1;
            uint32_t position = group.prims.index_map ? group.prims.index_map[i] : i;
            for (size_t k = 0; k < count; k++)
                rows[position].push_back(ids[k]);
        }
    }
    return rows;
}

TEST_F(GroupTest, R139_R140_computed_columns_show_the_newest_structure)
{
    ovstage_query_handle_t tree = stage.query({"/W", "/W/b", "/W/a", "/W/a/x", "/gone"});
    ovx_token_t path = stage.token("usd-path"), parent = stage.token("usd-parent"),
                children = stage.token("usd-children");
    Values values = ramp(4);
    stage.finish(stage.write(stage.query({"/W", "/W/b", "/W/a", "/W/a/x"}), a, 3, values));
    const auto id = [&](const std::string &path_text) {
        ovx_string_t string = text(path_text);
        ovx_primpath_t made = 0;
        path_dictionary_create_paths_from_strings(stage.dictionary, &string, 1, &made);
        return made;
    };
    const uint64_t w = id("/W"), wa = id("/W/a"), wb = id("/W/b"), wax = id("/W/a/x");
    // Not gated by the floor, whatever the ordinal is.
    Snapshot paths(stage, tree, {path}, 1), parents(stage, tree, {parent}, 9),
        below(stage, tree, {children}, 0);
    EXPECT_EQ(path_rows(paths), (Ids{{0, {w}}, {1, {wb}}, {2, {wa}}, {3, {wax}}}));
    EXPECT_EQ(path_rows(parents), (Ids{{1, {w}}, {2, {w}}, {3, {wa}}})); // D26
    EXPECT_EQ(path_rows(below), (Ids{{0, {wa, wb}}, {2, {wax}}}));
    ASSERT_EQ(parents.groups.size(), 1u);
    EXPECT_FALSE(parents.groups[0].is_array);
    EXPECT_EQ(parents.groups[0].ordinal, 9u);
    EXPECT_TRUE(below.groups[0].is_array);
    Snapshot range(stage, tree, {path, parent, children}, ovstage_ordinal_range_t{1, 9, true});
    EXPECT_EQ(range.status, OVSTAGE_OK);
    EXPECT_TRUE(range.groups.empty());
    stage.finish(ovstage_delete_attributes(stage.instance, stage.query({"/W/a"}), nullptr, 0, 4));
    Snapshot after(stage, tree, {parent, children}, 1);
    EXPECT_EQ(path_rows(after), (Ids{{0, {wb}}, {1, {w}}}));
}

} // namespace
