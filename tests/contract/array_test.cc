// Array columns over time: what reads hand out, what held groups keep, and what becomes of managed
// tensors. Contract 4.6, 4.7, L4, L9, D5, D10.
#include "tests/support/arrays.h"

using namespace client;

namespace
{

using Floats = std::map<uint32_t, std::vector<float>>;

class ArrayTest : public ::testing::Test
{
  protected:
    Stage stage{2};
    ovx_token_t attribute = stage.token("points");

    void put(ovstage_query_handle_t query, uint64_t ordinal, const Rows<float> &rows)
    {
        RowPayload<float> payload(rows, f32());
        stage.finish(write(stage, query, attribute, ordinal, payload.data));
    }
    void put_sealed(ovstage_query_handle_t query, uint64_t ordinal, const Rows<float> &rows)
    {
        put(query, ordinal, rows);
        stage.finish(stage.seal(ordinal));
    }
    Floats at(ovstage_query_handle_t query, uint64_t ordinal)
    {
        Snapshot snapshot(stage, query, {attribute}, ordinal);
        EXPECT_EQ(snapshot.status, OVSTAGE_OK) << last_error();
        EXPECT_LE(snapshot.groups.size(), 1u);
        return snapshot.groups.empty() ? Floats() : array_rows<float>(snapshot.groups[0]);
    }
    // Rows of different lengths that tell who wrote them.
    static Rows<float> told(size_t count, float by)
    {
        Rows<float> rows(count);
        for (size_t r = 0; r < count; r++)
            rows[r].assign(r % 5, by * 1000 + static_cast<float>(r));
        return rows;
    }
    static Floats by_position(const Rows<float> &rows)
    {
        Floats out;
        for (size_t r = 0; r < rows.size(); r++)
            out[static_cast<uint32_t>(r)] = rows[r];
        return out;
    }
};

TEST_F(ArrayTest, R75_D5_one_group_with_a_tensor_for_each_row)
{
    ovstage_query_handle_t query = stage.query(3);
    put_sealed(query, 1, {{1, 2}, {}, {3}});
    Snapshot snapshot(stage, query, {attribute}, 1);
    ASSERT_EQ(snapshot.groups.size(), 1u);
    const ovstage_read_group_t &group = snapshot.groups[0];
    EXPECT_TRUE(group.is_array);
    EXPECT_EQ(group.data.tensor_count, 3u);
    EXPECT_EQ(group.data.count, 3u);
    EXPECT_EQ(group.prims.count, 3u);
    EXPECT_EQ(group.prims.index_map, nullptr);
    EXPECT_EQ(group.ordinal, 1u);
    EXPECT_EQ(group.data.tensors[1].shape[0], 0);
    EXPECT_EQ(array_rows<float>(group), (Floats{{0, {1, 2}}, {1, {}}, {2, {3}}}));
}

TEST_F(ArrayTest, R63_prims_without_a_row_are_absent_and_empty_rows_are_not)
{
    put_sealed(stage.query({"/b", "/d"}), 1, {{1}, {}});
    ovstage_query_handle_t query = stage.query({"/a", "/b", "/c", "/d"});
    EXPECT_EQ(at(query, 1), (Floats{{1, {1}}, {3, {}}}));
}

TEST_F(ArrayTest, R83_what_was_read_can_be_written)
{
    ovstage_query_handle_t query = stage.query(4);
    put_sealed(query, 1, {{1, 2}, {}, {3}, {4, 5, 6}});
    ovx_token_t copy = stage.token("copy");
    {
        Snapshot snapshot(stage, query, {attribute}, 1);
        ASSERT_EQ(snapshot.groups.size(), 1u);
        ovstage_write_data_t data{};
        data.tensors = snapshot.groups[0].data.tensors;
        data.tensor_count = snapshot.groups[0].data.tensor_count;
        data.is_array = true;
        stage.finish(write(stage, query, copy, 2, data));
    }
    stage.finish(stage.seal(2));
    attribute = copy;
    EXPECT_EQ(at(query, 2), (Floats{{0, {1, 2}}, {1, {}}, {2, {3}}, {3, {4, 5, 6}}}));
}

TEST_F(ArrayTest, R39_the_last_write_of_an_ordinal_wins)
{
    ovstage_query_handle_t query = stage.query(10);
    put(query, 1, told(10, 1));
    put(query, 1, told(10, 2));
    put(stage.query({"/P/3", "/P/7"}), 1, {{33, 33}, {}});
    stage.finish(stage.seal(1));
    Floats wanted = by_position(told(10, 2));
    wanted[3] = {33, 33};
    wanted[7] = {};
    EXPECT_EQ(at(query, 1), wanted);
    // The same over rows that have their places.
    put(stage.query({"/P/4"}), 2, {{1}});
    put(stage.query({"/P/4"}), 2, {{2, 2}});
    put(stage.query({"/P/5", "/P/4"}), 2, {{5}, {4, 4, 4}});
    stage.finish(stage.seal(2));
    wanted[4] = {4, 4, 4};
    wanted[5] = {5};
    EXPECT_EQ(at(query, 2), wanted);
}

TEST_F(ArrayTest, D6_of_a_path_listed_twice_the_last_row_counts)
{
    ovstage_query_handle_t query = stage.query({"/a", "/b", "/a"});
    put_sealed(query, 1, {{1}, {2, 2}, {3, 3, 3}});
    EXPECT_EQ(at(query, 1), (Floats{{0, {3, 3, 3}}, {1, {2, 2}}, {2, {3, 3, 3}}}));
}

TEST_F(ArrayTest, L4_earlier_moments_and_held_groups_are_what_they_were)
{
    const size_t count = 100;
    ovstage_query_handle_t query = stage.query(count);
    std::vector<Rows<float>> states = {told(count, 0)};
    put_sealed(query, 1, states[0]);
    std::vector<std::unique_ptr<Snapshot>> held;
    for (uint64_t ordinal = 2; ordinal < 40; ordinal++) {
        held.push_back(std::make_unique<Snapshot>(stage, query, std::vector<ovx_token_t>{attribute},
                                                  ordinal - 1));
        Rows<float> rows = states.back();
        // Now a few, now enough to be kept as a bitmap, now all.
        size_t step = ordinal % 3 == 0 ? 40 : ordinal % 3 == 1 ? 3 : 1;
        std::vector<std::string> paths;
        Rows<float> written;
        for (size_t r = ordinal % step; r < count; r += step) {
            rows[r].assign((r + ordinal) % 7, static_cast<float>(ordinal));
            paths.push_back("/P/" + std::to_string(r));
            written.push_back(rows[r]);
        }
        put_sealed(step == 1 ? query : stage.query(paths), ordinal, written);
        states.push_back(rows);
        EXPECT_EQ(at(query, ordinal), by_position(rows));
        EXPECT_EQ(at(query, ordinal - 1), by_position(states[states.size() - 2]));
        if (ordinal % 5 == 0) // some let go, so that heads are free again
            held.erase(held.begin(), held.begin() + 4);
        size_t first = states.size() - 1 - held.size();
        for (size_t h = 0; h < held.size(); h++) {
            ASSERT_EQ(held[h]->groups.size(), 1u);
            ASSERT_EQ(array_rows<float>(held[h]->groups[0]), by_position(states[first + h]));
        }
    }
}

TEST_F(ArrayTest, L5_ranges_show_the_rows_that_changed)
{
    ovstage_query_handle_t query = stage.query(3);
    put_sealed(query, 1, {{1, 2}, {}, {3}});
    put_sealed(stage.query({"/P/2", "/P/0"}), 2, {{4, 5, 6}, {}});
    put_sealed(stage.query({"/P/2"}), 3, {{7}});
    const auto changed = [&](uint64_t start, uint64_t end) {
        Snapshot snapshot(stage, query, {attribute}, ovstage_ordinal_range_t{start, end, true});
        EXPECT_EQ(snapshot.status, OVSTAGE_OK) << last_error();
        EXPECT_LE(snapshot.groups.size(), 1u);
        return snapshot.groups.empty() ? Floats() : array_rows<float>(snapshot.groups[0]);
    };
    EXPECT_EQ(changed(1, 1), (Floats{{0, {1, 2}}, {1, {}}, {2, {3}}}));
    EXPECT_EQ(changed(2, 2), (Floats{{0, {}}, {2, {4, 5, 6}}}));
    EXPECT_EQ(changed(2, 3), (Floats{{0, {}}, {2, {7}}}));
    EXPECT_EQ(changed(1, 3), (Floats{{0, {}}, {1, {}}, {2, {7}}}));
    EXPECT_EQ(changed(4, 9), Floats());
}

TEST_F(ArrayTest, R79_rows_of_several_segments_are_gathered_in_query_order)
{
    put_sealed(stage.query({"/P/5", "/P/1"}), 1, {{5, 5}, {1}});
    put_sealed(stage.query({"/P/0", "/P/3", "/P/2"}), 2, {{0}, {3, 3, 3}, {}});
    put_sealed(stage.query({"/P/1", "/P/3", "/P/9"}), 3, {{11}, {33}, {99}});
    ovstage_query_handle_t query = stage.query(6);
    EXPECT_EQ(at(query, 3), (Floats{{0, {0}}, {1, {11}}, {2, {}}, {3, {33}}, {5, {5, 5}}}));
    EXPECT_EQ(at(query, 2), (Floats{{0, {0}}, {1, {1}}, {2, {}}, {3, {3, 3, 3}}, {5, {5, 5}}}));
    EXPECT_EQ(at(query, 1), (Floats{{1, {1}}, {5, {5, 5}}}));
    // Again, by the kept binding.
    EXPECT_EQ(at(query, 3)[3], (std::vector<float>{33}));
}

TEST_F(ArrayTest, L5_a_range_shows_the_rows_that_changed_in_it)
{
    ovstage_query_handle_t query = stage.query(4);
    put_sealed(query, 1, {{1}, {2}, {3}, {4}});
    put_sealed(stage.query({"/P/2", "/P/0"}), 2, {{5, 5}, {}});
    put_sealed(stage.query({"/P/2"}), 3, {{6, 6, 6}});
    struct Case {
        uint64_t start, end;
        Floats wanted;
    };
    const Case cases[] = {{2, 2, {{0, {}}, {2, {5, 5}}}},
                          {2, 3, {{0, {}}, {2, {6, 6, 6}}}},
                          {3, 3, {{2, {6, 6, 6}}}},
                          {1, 1, {{0, {1}}, {1, {2}}, {2, {3}}, {3, {4}}}}};
    for (const Case &one : cases) {
        SCOPED_TRACE(one.start);
        Snapshot read(stage, query, {attribute}, ovstage_ordinal_range_t{one.start, one.end, true});
        ASSERT_EQ(read.groups.size(), 1u) << last_error();
        EXPECT_EQ(array_rows<float>(read.groups[0]), one.wanted);
    }
}

TEST_F(ArrayTest, R129_R130_a_deleted_array_is_absent_and_may_come_back_as_rows)
{
    ovstage_query_handle_t query = stage.query(3), one = stage.query({"/P/1"});
    put_sealed(query, 1, {{1}, {2, 2}, {}});
    const ovx_string_or_token_t name = named(attribute);
    stage.finish(ovstage_delete_attributes(stage.instance, one, &name, 1, 2));
    stage.finish(stage.seal(2));
    EXPECT_EQ(at(query, 2), (Floats{{0, {1}}, {2, {}}}));
    EXPECT_EQ(at(query, 1), (Floats{{0, {1}}, {1, {2, 2}}, {2, {}}}));
    stage.finish(stage.write(one, attribute, 3, {9}));
    stage.finish(stage.seal(3));
    EXPECT_EQ(at(stage.query({"/P/0", "/P/2"}), 3), (Floats{{0, {1}}, {1, {}}}));
    EXPECT_EQ(stage.read(one, attribute, 3), std::vector<float>{9});
    stage.finish(ovstage_delete_attributes(stage.instance, one, &name, 1, 4));
    stage.finish(stage.seal(4));
    put_sealed(one, 5, {{7, 7, 7}});
    EXPECT_EQ(at(query, 5), (Floats{{0, {1}}, {1, {7, 7, 7}}, {2, {}}}));
}

TEST_F(ArrayTest, R107_an_array_is_another_schema)
{
    ovstage_query_handle_t query = stage.query(2);
    put(query, 2, {{1}, {2}});
    refused(stage.write(query, attribute, 2, {1, 2}), OVSTAGE_ERROR_INVALID_ARGUMENT);
    RowPayload<float> wider({{1, 2}, {3, 4}}, f32(2));
    refused(write(stage, query, attribute, 2, wider.data), OVSTAGE_ERROR_INVALID_ARGUMENT);
}

TEST_F(ArrayTest, R102_long_rows_are_copied_in_pieces)
{
    ovstage_query_handle_t query = stage.query(3);
    std::vector<float> large = ramp(3000001), small = ramp(5, 7);
    put(query, 1, {large, small, {}});
    put(stage.query({"/P/2"}), 1, {ramp(700000, 3)});
    stage.finish(stage.seal(1));
    EXPECT_EQ(at(query, 1), (Floats{{0, large}, {1, small}, {2, ramp(700000, 3)}}));
    Payload packed(ramp(900000), f32(), {900000});
    packed.data.is_array = true;
    const uint32_t map[3] = {2, 2, 0}; // a third of it is not there for anybody
    packed.data.index_map = map;
    packed.data.count = 3;
    stage.finish(write(stage, query, attribute, 2, packed.data));
    stage.finish(stage.seal(2));
    EXPECT_EQ(at(query, 2),
              (Floats{{0, ramp(300000, 600000)}, {1, ramp(300000, 600000)}, {2, ramp(300000)}}));
}

TEST_F(ArrayTest, R112_a_batch_of_arrays_and_rows)
{
    ovstage_query_handle_t query = stage.query(3);
    RowPayload<float> arrays({{1}, {2, 2}, {}}, f32());
    Payload fixed(ramp(3), 3);
    Payload packed(ramp(6), f32(), {6});
    packed.data.is_array = true;
    ovx_token_t plain = stage.token("plain"), other = stage.token("other");
    ovstage_attribute_write_t entries[3] = {
        {named(attribute), arrays.data}, {named(plain), fixed.data}, {named(other), packed.data}};
    stage.finish(
        ovstage_write_attributes(stage.instance, query, entries, 3, 1, OVSTAGE_PRIM_MODE_INSERT));
    stage.finish(stage.seal(1));
    Snapshot snapshot(stage, query, {attribute, plain, other}, 1);
    ASSERT_EQ(snapshot.groups.size(), 3u);
    for (const auto &group : snapshot.groups) {
        if (group.attribute == attribute) {
            EXPECT_EQ(array_rows<float>(group), (Floats{{0, {1}}, {1, {2, 2}}, {2, {}}}));
        } else if (group.attribute == other) {
            EXPECT_EQ(array_rows<float>(group), (Floats{{0, {0, 1}}, {1, {2, 3}}, {2, {4, 5}}}));
        } else {
            EXPECT_FALSE(group.is_array);
        }
    }
}

/* --- managed tensors -------------------------------------------------------------------------- */

class ArrayManagedTest : public ArrayTest
{
  protected:
    using Record = std::shared_ptr<Managed::Record>;
    std::vector<const DLManagedTensorVersioned *> tensors;
    std::vector<Record> records;

    ovstage_write_data_t pass(const Rows<float> &rows, uint64_t flags)
    {
        tensors.clear();
        records.clear();
        for (const auto &row : rows) {
            records.push_back(std::make_shared<Managed::Record>());
            tensors.push_back(Managed::make(row, 1, flags, records.back()));
        }
        ovstage_write_data_t data{};
        data.managed_tensors = tensors.data();
        data.tensor_count = static_cast<uint32_t>(tensors.size());
        data.is_array = true;
        return data;
    }
    std::vector<int> deleted() const
    {
        std::vector<int> counts;
        for (const auto &record : records)
            counts.push_back(record->deleted);
        return counts;
    }
};

TEST_F(ArrayManagedTest, R88_each_is_deleted_once_when_the_write_is_done)
{
    ovstage_query_handle_t query = stage.query(3);
    stage.finish(write(stage, query, attribute, 1, pass({{1}, {2, 2}, {}}, 0)));
    EXPECT_EQ(deleted(), (std::vector<int>{1, 1, 1}));
    stage.finish(stage.seal(1));
    EXPECT_EQ(at(query, 1), (Floats{{0, {1}}, {1, {2, 2}}, {2, {}}}));
}

TEST_F(ArrayManagedTest, R88_each_is_deleted_once_when_the_write_is_refused)
{
    ovstage_query_handle_t query = stage.query(3);
    refused(write(stage, query, attribute, 1, pass({{1}, {2}}, 0)), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(deleted(), (std::vector<int>{1, 1}));
    ovstage_write_data_t twice = pass({{1}, {2}, {3}}, DLPACK_FLAG_BITMASK_IS_COPIED);
    tensors[2]->deleter(const_cast<DLManagedTensorVersioned *>(tensors[2]));
    tensors[2] = tensors[0];
    refused(write(stage, query, attribute, 1, twice), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(deleted(), (std::vector<int>{1, 1, 1}));
}

TEST_F(ArrayManagedTest, D10_adopted_tensors_are_the_rows_and_live_as_long)
{
    ovstage_query_handle_t query = stage.query(3);
    ovstage_write_data_t data = pass({ramp(4), {}, ramp(2, 5)}, DLPACK_FLAG_BITMASK_IS_COPIED);
    const void *memory[2] = {tensors[0]->dl_tensor.data, tensors[2]->dl_tensor.data};
    stage.finish(write(stage, query, attribute, 1, data));
    EXPECT_EQ(deleted(), (std::vector<int>{0, 1, 0})); // there is nothing to adopt of an empty one
    stage.finish(stage.seal(1));
    auto first = std::make_unique<Snapshot>(stage, query, std::vector<ovx_token_t>{attribute}, 1);
    ASSERT_EQ(first->groups.size(), 1u);
    EXPECT_EQ(first->groups[0].data.tensors[0].data, memory[0]);
    EXPECT_EQ(first->groups[0].data.tensors[2].data, memory[1]);
    for (uint64_t ordinal = 2; ordinal < 8; ordinal++)
        put_sealed(stage.query({"/P/0"}), ordinal, {{static_cast<float>(ordinal)}});
    // Its row is history that nobody wants, but for the group.
    EXPECT_EQ(deleted(), (std::vector<int>{0, 1, 0}));
    EXPECT_EQ(array_rows<float>(first->groups[0])[0], ramp(4));
    first.reset();
    for (uint64_t ordinal = 8; ordinal < 20; ordinal++)
        put_sealed(stage.query({"/P/0"}), ordinal, {{static_cast<float>(ordinal)}});
    EXPECT_EQ(deleted(), (std::vector<int>{1, 1, 0}));
    EXPECT_EQ(at(query, 19)[2], ramp(2, 5));
    stage.destroy();
    EXPECT_EQ(deleted(), (std::vector<int>{1, 1, 1}));
}

TEST_F(ArrayManagedTest, D10_a_packed_tensor_is_adopted_for_all_its_rows)
{
    ovstage_query_handle_t query = stage.query(4);
    ovstage_write_data_t data = pass({ramp(8)}, DLPACK_FLAG_BITMASK_IS_COPIED);
    const auto *memory = static_cast<const float *>(tensors[0]->dl_tensor.data);
    stage.finish(write(stage, query, attribute, 1, data));
    stage.finish(stage.seal(1));
    Snapshot snapshot(stage, query, {attribute}, 1);
    ASSERT_EQ(snapshot.groups.size(), 1u);
    for (uint32_t row = 0; row < 4; row++)
        EXPECT_EQ(snapshot.groups[0].data.tensors[row].data, memory + 2 * row);
    EXPECT_EQ(deleted(), std::vector<int>{0});
}

TEST_F(ArrayManagedTest, D10_what_covers_less_is_copied)
{
    ovstage_query_handle_t query = stage.query(4);
    put(query, 1, told(4, 1));
    ovstage_write_data_t data = pass({{1}, {2}, {3}, {4}}, DLPACK_FLAG_BITMASK_IS_COPIED);
    uint64_t mask = 5;
    data.mask = &mask;
    data.count = 4;
    stage.finish(write(stage, query, attribute, 1, data));
    EXPECT_EQ(deleted(), (std::vector<int>{1, 1, 1, 1}));
    data = pass({{1}, {2}}, DLPACK_FLAG_BITMASK_IS_COPIED);
    data.count = 2;
    stage.finish(write(stage, query, attribute, 1, data));
    EXPECT_EQ(deleted(), (std::vector<int>{1, 1}));
}

} // namespace
