// Range reads: contract 4.5 and L5, L6, D4, one test a rule.
#include <map>

#include "tests/support/columns.h"
#include "tests/support/stuck.h"

using namespace client;

namespace
{

using Values = std::vector<float>;
using Rows = std::vector<std::pair<uint32_t, Values>>;

constexpr ovstage_ordinal_range_t range(uint64_t start, uint64_t end)
{
    return {start, end, true};
}

class Range : public ::testing::TestWithParam<uint32_t>
{
  protected:
    Stage stage{GetParam()};
    ovstage_query_handle_t query = stage.query(4);
    ovx_token_t a = stage.token("a"), b = stage.token("b");

    // "/P/<prim>" = value, for each.
    void write(ovx_token_t attribute, uint64_t ordinal, const std::map<int, float> &keys)
    {
        std::vector<std::string> paths;
        Values values;
        for (auto [prim, value] : keys) {
            paths.push_back("/P/" + std::to_string(prim));
            values.push_back(value);
        }
        ovstage_query_handle_t some = stage.query(paths);
        stage.finish(stage.write(some, attribute, ordinal, values));
        stage.finish(ovstage_release_query(stage.instance, some));
    }
    void write_sealed(ovx_token_t attribute, uint64_t ordinal, const std::map<int, float> &keys)
    {
        write(attribute, ordinal, keys);
        stage.finish(stage.seal(ordinal));
    }
    // The rows of the one group that there must be; none: no group.
    Rows changed(ovstage_query_handle_t of, ovx_token_t attribute, uint64_t start, uint64_t end)
    {
        Snapshot read(stage, of, {attribute}, range(start, end));
        EXPECT_EQ(read.status, OVSTAGE_OK) << last_error();
        EXPECT_LE(read.groups.size(), 1u);
        return read.groups.empty() ? Rows() : Snapshot::rows(read.groups[0]);
    }
    Rows changed(uint64_t start, uint64_t end)
    {
        return changed(query, a, start, end);
    }
    ovstage_api_status_t refusal(uint64_t start, uint64_t end)
    {
        ovstage_read_handle_t handle = 77;
        ovstage_enqueue_result_t result =
            ovstage_read_attributes(stage.instance, query, &a, 1, range(start, end), &handle);
        EXPECT_EQ(result.op_index, 0u);
        EXPECT_EQ(handle, 0u);
        EXPECT_FALSE(last_error().empty());
        return result.status;
    }
    uint64_t frontier()
    {
        ovstage_ordinal_query_handle_t handle = 0;
        stage.finish(ovstage_get_oldest_preserved_ordinal(stage.instance, &handle));
        uint64_t ordinal = 99;
        EXPECT_EQ(ovstage_fetch_ordinal(stage.instance, handle, forever, &ordinal), OVSTAGE_OK);
        stage.finish(ovstage_release_ordinal_query(stage.instance, handle));
        return ordinal;
    }
};

INSTANTIATE_TEST_SUITE_P(Workers, Range, ::testing::Values(0u, 2u));

TEST_P(Range, R57_L5_what_changed_between_both_ends)
{
    write_sealed(a, 2, {{0, 20}, {1, 21}, {2, 22}, {3, 23}});
    write_sealed(a, 4, {{1, 41}, {3, 43}});
    write_sealed(a, 6, {{1, 61}});
    const Rows all = {{0, {20}}, {1, {61}}, {2, {22}}, {3, {43}}};
    EXPECT_EQ(changed(0, UINT64_MAX), all);
    EXPECT_EQ(changed(0, 6), all);
    EXPECT_EQ(changed(2, 6), all);
    EXPECT_EQ(changed(3, 6), (Rows{{1, {61}}, {3, {43}}}));
    EXPECT_EQ(changed(4, 6), (Rows{{1, {61}}, {3, {43}}}));
    EXPECT_EQ(changed(5, 6), (Rows{{1, {61}}}));
    EXPECT_EQ(changed(6, 6), (Rows{{1, {61}}}));
    EXPECT_EQ(changed(4, 5), (Rows{{1, {41}}, {3, {43}}}));
    EXPECT_EQ(changed(1, 3), (Rows{{0, {20}}, {1, {21}}, {2, {22}}, {3, {23}}}));
}

TEST_P(Range, R60_nothing_selected_is_no_error)
{
    EXPECT_EQ(changed(1, 5), Rows());
    write_sealed(a, 2, {{0, 20}});
    write_sealed(a, 5, {{0, 50}});
    EXPECT_EQ(changed(0, 0), Rows());
    EXPECT_EQ(changed(1, 1), Rows());
    EXPECT_EQ(changed(3, 4), Rows());
    EXPECT_EQ(changed(6, UINT64_MAX), Rows()) << "nothing is sealed there";
    EXPECT_EQ(changed(UINT64_MAX, UINT64_MAX), Rows());
}

TEST_P(Range, R60_L5_the_floor_gate)
{
    write_sealed(a, 2, {{0, 20}, {1, 21}});
    write(a, 5, {{1, 51}});
    EXPECT_EQ(refusal(2, 5), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(refusal(5, 5), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(refusal(4, UINT64_MAX), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    // Outside of the range they do not matter.
    EXPECT_EQ(changed(2, 4), (Rows{{0, {20}}, {1, {21}}}));
    EXPECT_EQ(changed(6, 9), Rows());
    // Keys that have no place yet count as well.
    write(a, 7, {{3, 73}});
    EXPECT_EQ(refusal(6, 9), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(changed(8, 9), Rows());
    stage.finish(stage.seal(7));
    EXPECT_EQ(changed(3, 7), (Rows{{1, {51}}, {3, {73}}}));
}

TEST_P(Range, R60_D12_an_unsealed_delete_of_what_another_took_away_is_no_change)
{
    write_sealed(a, 1, {{0, 10}, {1, 11}});
    ovstage_query_handle_t one = stage.query({"/P/0"});
    const ovx_string_or_token_t named = {a, {}};
    stage.finish(ovstage_delete_attributes(stage.instance, one, nullptr, 0, 6));
    stage.finish(ovstage_delete_attributes(stage.instance, one, &named, 1, 5));
    stage.finish(ovstage_delete_attributes(stage.instance, one, &named, 1, 3));
    EXPECT_EQ(refusal(2, 6), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(refusal(3, 4), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(changed(4, 6), Rows()) << "by then it was gone";
    EXPECT_EQ(changed(6, 6), Rows());
    write(a, 5, {{0, 50}}); // it comes back
    EXPECT_EQ(refusal(4, 5), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(refusal(6, 6), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    stage.finish(stage.seal(6));
    Snapshot read(stage, query, {a}, range(4, 6));
    ASSERT_EQ(read.groups.size(), 1u);
    EXPECT_TRUE(read.groups[0].is_delete);
}

TEST_P(Range, L5_an_unsealed_change_is_reported_before_a_value_that_is_gone)
{
    for (uint64_t ordinal = 1; ordinal <= 9; ordinal++)
        write_sealed(a, ordinal, {{0, float(ordinal)}});
    EXPECT_EQ(refusal(1, 2), OVSTAGE_ERROR_OUT_OF_RANGE);
    write(a, 12, {{1, 1}});
    stage.finish(stage.seal(11));
    ovstage_query_handle_t both = stage.query({"/P/0", "/P/1"});
    Snapshot read(stage, both, {a}, range(1, 12));
    EXPECT_EQ(read.status, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
}

TEST_P(Range, R61_L5_retained_values_are_given_whatever_came_after)
{
    write_sealed(a, 2, {{0, 20}, {1, 21}});
    write_sealed(a, 4, {{0, 40}});
    write_sealed(a, 6, {{0, 60}, {1, 61}});
    EXPECT_EQ(changed(3, 5), (Rows{{0, {40}}}));
    EXPECT_EQ(changed(1, 3), (Rows{{0, {20}}, {1, {21}}}));
    write(a, 9, {{0, 90}}); // unsealed, after the end
    EXPECT_EQ(changed(3, 5), (Rows{{0, {40}}}));
    // Two sealed versions of each key before its newest are kept (L6).
    write_sealed(a, 10, {{1, 101}});
    EXPECT_EQ(changed(3, 5), (Rows{{0, {40}}}));
    EXPECT_EQ(refusal(1, 3), OVSTAGE_ERROR_OUT_OF_RANGE) << "0 has changed at 4, 6 and 9";
    EXPECT_EQ(changed(stage.query({"/P/1"}), a, 1, 3), (Rows{{0, {21}}}));
}

TEST_P(Range, L5_a_value_that_nobody_replaced_is_not_gone)
{
    write_sealed(a, 1, {{0, 10}, {1, 11}, {2, 12}});
    write_sealed(a, 2, {{0, 20}});
    for (uint64_t ordinal = 3; ordinal <= 9; ordinal++)
        write_sealed(a, ordinal, {{1, float(ordinal)}});
    EXPECT_EQ(changed(2, 2), (Rows{{0, {20}}}));
    ovstage_query_handle_t two = stage.query({"/P/2", "/P/0"});
    EXPECT_EQ(changed(two, a, 1, 2), (Rows{{0, {12}}, {1, {20}}}));
    EXPECT_EQ(refusal(1, 2), OVSTAGE_ERROR_OUT_OF_RANGE) << "of prim 1";
    EXPECT_EQ(refusal(4, 4), OVSTAGE_ERROR_OUT_OF_RANGE);
}

TEST_P(Range, R62_only_selected_keys_are_looked_at)
{
    for (uint64_t ordinal = 1; ordinal <= 9; ordinal++)
        write_sealed(a, ordinal, {{3, float(ordinal)}});
    write_sealed(a, 10, {{0, 100}});
    write(a, 12, {{3, 1}});
    write(b, 11, {{0, 1}});
    ovstage_query_handle_t some = stage.query({"/P/0", "/P/1"});
    EXPECT_EQ(changed(some, a, 1, 12), (Rows{{0, {100}}}));
    Snapshot read(stage, some, {a, b}, range(1, 12));
    EXPECT_EQ(read.status, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
}

TEST_P(Range, R63_what_nobody_has_gives_no_groups)
{
    write_sealed(a, 1, {{0, 10}});
    EXPECT_EQ(changed(query, b, 1, 1), Rows());
    EXPECT_EQ(changed(stage.query({"/Nowhere"}), a, 1, 1), Rows());
    EXPECT_EQ(changed(stage.query(0), a, 1, 1), Rows());
    Snapshot none(stage, query, {}, range(1, 1));
    EXPECT_EQ(none.status, OVSTAGE_OK);
    EXPECT_TRUE(none.groups.empty());
}

TEST_P(Range, R64_a_range_waits_for_the_seal_that_it_needs)
{
    write_sealed(a, 1, {{0, 10}, {1, 11}});
    Values values = {20};
    ovstage_query_handle_t first = stage.query(1);
    auto write = stage.write(first, a, 2, values);
    auto seal = stage.seal(2);
    ovstage_read_handle_t handle = 0;
    auto op = ovstage_read_attributes(stage.instance, query, &a, 1, range(2, 2), &handle);
    ASSERT_EQ(op.status, OVSTAGE_OK) << last_error();
    ovstage_read_group_t group;
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, handle, forever, &group), OVSTAGE_OK);
    EXPECT_EQ(Snapshot::rows(group), (Rows{{0, {20}}}));
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    EXPECT_EQ(ovstage_fetch_read_next(stage.instance, handle, forever, &group),
              OVSTAGE_ERROR_END_OF_ITERATION);
    for (auto other : {write, seal, op})
        stage.finish(other);
    stage.finish(ovstage_release_read(stage.instance, handle));
}

TEST_P(Range, R65_R86_each_attribute_has_its_groups)
{
    write_sealed(a, 1, {{0, 10}, {1, 11}});
    write_sealed(b, 2, {{1, 21}, {2, 22}});
    Snapshot read(stage, query, {b, a}, range(1, 2));
    ASSERT_EQ(read.groups.size(), 2u);
    EXPECT_NE(read.groups[0].attribute, read.groups[1].attribute);
    for (const ovstage_read_group_t &group : read.groups)
        EXPECT_EQ(Snapshot::rows(group), group.attribute == a ? (Rows{{0, {10}}, {1, {11}}})
                                                              : (Rows{{1, {21}}, {2, {22}}}));
}

TEST_P(Range, R68_groups_stay_as_they_are)
{
    write_sealed(a, 1, {{0, 10}, {1, 11}, {2, 12}, {3, 13}});
    Snapshot whole(stage, query, {a}, range(1, 1));
    write_sealed(a, 2, {{2, 22}});
    Snapshot part(stage, query, {a}, range(2, 2));
    for (uint64_t ordinal = 3; ordinal <= 12; ordinal++)
        write_sealed(a, ordinal, {{0, float(ordinal)}, {2, float(ordinal)}});
    ASSERT_EQ(whole.groups.size(), 1u);
    ASSERT_EQ(part.groups.size(), 1u);
    EXPECT_EQ(Snapshot::rows(whole.groups[0]), (Rows{{0, {10}}, {1, {11}}, {2, {12}}, {3, {13}}}));
    EXPECT_EQ(Snapshot::rows(part.groups[0]), (Rows{{2, {22}}}));
}

TEST_P(Range, R76_R77_R80_what_a_group_says)
{
    write_sealed(a, 3, {{0, 30}, {1, 31}, {2, 32}});
    write_sealed(a, 4, {{1, 41}});
    stage.finish(stage.seal(9));
    Snapshot read(stage, query, {a}, range(4, 7));
    ASSERT_EQ(read.groups.size(), 1u);
    const ovstage_read_group_t &group = read.groups[0];
    EXPECT_NE(group.read_group_id, 0u);
    EXPECT_EQ(group.attribute, a);
    EXPECT_EQ(group.ordinal, 7u) << "the range's end";
    EXPECT_FALSE(group.is_delete);
    EXPECT_FALSE(group.is_array);
    EXPECT_EQ(group.semantic, OVSTAGE_SEMANTIC_NONE);
    EXPECT_EQ(group.prims.count, 1u);
    ASSERT_NE(group.prims.index_map, nullptr);
    EXPECT_EQ(group.prims.index_map[0], 1u);
    EXPECT_EQ(group.data.count, 1u);
    EXPECT_EQ(group.data.tensor_count, 1u);
    EXPECT_EQ(group.data.tensors[0].shape[0], 1);
    EXPECT_EQ(group.data.index_map, nullptr);
    EXPECT_EQ(group.data.mask, nullptr);
    EXPECT_EQ(group.meta.attribute_write_floor_ordinal, 9u);
    Snapshot latest(stage, query, {a}, 9);
    EXPECT_EQ(group.meta.layout_generation, latest.groups[0].meta.layout_generation) << "R82";
    EXPECT_EQ(group.prims.list, latest.groups[0].prims.list) << "R72";
}

TEST_P(Range, R78_D5_a_full_write_is_one_group_without_a_copy)
{
    for (uint64_t ordinal = 1; ordinal <= 4; ordinal++) {
        Values values = ramp(4, 10 * float(ordinal));
        stage.finish(stage.write(query, a, ordinal, values));
        stage.finish(stage.seal(ordinal));
        Snapshot read(stage, query, {a}, range(ordinal, ordinal));
        Snapshot latest(stage, query, {a}, ordinal);
        ASSERT_EQ(read.groups.size(), 1u);
        const ovstage_read_group_t &group = read.groups[0];
        EXPECT_EQ(group.data.tensors[0].data, latest.groups[0].data.tensors[0].data);
        EXPECT_EQ(group.data.tensors[0].shape[0], 4);
        EXPECT_EQ(group.prims.index_map, nullptr);
        EXPECT_EQ(group.prims.count, 4u);
        EXPECT_EQ(Snapshot::rows(group)[3].second, (Values{values[3]}));
    }
    Snapshot since(stage, query, {a}, range(2, 4));
    ASSERT_EQ(since.groups.size(), 1u);
    EXPECT_EQ(since.groups[0].prims.index_map, nullptr);
}

TEST_P(Range, R81_D4_one_group_in_query_order_whatever_was_written_when)
{
    // Three segments, changed against their order, by several ops at several ordinals.
    write_sealed(a, 1, {{2, 12}, {3, 13}});
    write_sealed(a, 2, {{0, 20}});
    write_sealed(a, 3, {{1, 31}, {4, 34}});
    write_sealed(a, 4, {{4, 44}});
    write_sealed(a, 5, {{0, 50}, {2, 52}});
    write(a, 6, {{1, 61}});
    write(a, 6, {{2, 62}});
    stage.finish(stage.seal(6));
    ovstage_query_handle_t mixed =
        stage.query({"/P/4", "/P/0", "/P/3", "/P/2", "/Nowhere", "/P/1", "/P/0"});
    EXPECT_EQ(changed(mixed, a, 4, 6),
              (Rows{{0, {44}}, {1, {50}}, {3, {62}}, {5, {61}}, {6, {50}}}));
    EXPECT_EQ(changed(mixed, a, 5, 6), (Rows{{1, {50}}, {3, {62}}, {5, {61}}, {6, {50}}}));
    EXPECT_EQ(changed(mixed, a, 1, 6),
              (Rows{{0, {44}}, {1, {50}}, {2, {13}}, {3, {62}}, {5, {61}}, {6, {50}}}));
}

TEST_P(Range, R81_many_rows_of_many_changes)
{
    constexpr size_t count = 3000;
    ovstage_query_handle_t all = stage.query(count);
    Values values = ramp(count);
    stage.finish(stage.write(all, a, 1, values));
    stage.finish(stage.seal(1));
    std::map<uint32_t, float> wanted;
    for (uint64_t ordinal = 2; ordinal <= 9; ordinal++) {
        std::map<int, float> keys; // few, then above 1/8 of all: a bitmap
        for (size_t i = 0; i < (ordinal < 6 ? 90 : 600); i++) {
            auto prim = static_cast<uint32_t>((i * 977 + ordinal * 131) % count);
            keys[static_cast<int>(prim)] = wanted[prim] = float(1000 * ordinal + i);
        }
        write_sealed(a, ordinal, keys);
    }
    std::vector<std::string> backwards;
    for (size_t i = count; i-- > 0;)
        backwards.push_back("/P/" + std::to_string(i));
    ovstage_query_handle_t reversed = stage.query(backwards);
    Rows forward_rows, backward_rows;
    for (auto [prim, value] : wanted)
        forward_rows.push_back({prim, {value}});
    for (auto at = wanted.rbegin(); at != wanted.rend(); ++at)
        backward_rows.push_back({static_cast<uint32_t>(count - 1 - at->first), {at->second}});
    EXPECT_EQ(changed(all, a, 2, 9), forward_rows);
    EXPECT_EQ(changed(reversed, a, 2, 9), backward_rows);
    // Few of a segment, and paths that are listed twice.
    std::vector<std::string> some, twice;
    Rows some_rows, twice_rows;
    for (uint32_t i = 0; i < 120; i++) {
        uint32_t prim = (i * 611 + 5) % count;
        some.push_back("/P/" + std::to_string(prim));
        if (wanted.count(prim))
            some_rows.push_back({i, {wanted[prim]}});
    }
    for (uint32_t i = 0; i < 2 * count; i++) {
        twice.push_back("/P/" + std::to_string(i * 7 % count));
        if (wanted.count(i * 7 % count))
            twice_rows.push_back({i, {wanted[i * 7 % count]}});
    }
    EXPECT_EQ(changed(stage.query(some), a, 2, 9), some_rows);
    EXPECT_EQ(changed(stage.query(twice), a, 2, 9), twice_rows);
    // Very few rows, changed more than once.
    Values three = {1, 2, 3};
    for (uint64_t ordinal = 10; ordinal <= 11; ordinal++) {
        stage.finish(stage.write(stage.query({"/P/2999", "/P/64", "/P/63"}), a, ordinal, three));
        stage.finish(stage.seal(ordinal));
    }
    EXPECT_EQ(changed(all, a, 10, 11), (Rows{{63, {3}}, {64, {2}}, {2999, {1}}}));
    EXPECT_EQ(changed(reversed, a, 10, 11), (Rows{{0, {1}}, {2935, {2}}, {2936, {3}}}));
}

TEST_P(Range, R84_L3_the_column_that_was_written_last_has_the_key)
{
    // Accepted from above: nothing below is judged by it.
    Payload numbers(Values{60, 61}, 2);
    ovstage_query_handle_t two = stage.query(2);
    Payload other(std::vector<uint64_t>{30, 31, 32}, u64(), {3});
    ovstage_query_handle_t three = stage.query(3);
    stage.finish(client::write(stage, two, a, 6, numbers.data));
    stage.finish(client::write(stage, three, a, 3, other.data));
    stage.finish(stage.seal(6));
    Snapshot late(stage, query, {a}, range(4, 6));
    ASSERT_EQ(late.groups.size(), 1u);
    EXPECT_EQ(Snapshot::rows(late.groups[0]), (Rows{{0, {60}}, {1, {61}}}));
    Snapshot early(stage, query, {a}, range(1, 5));
    ASSERT_EQ(early.groups.size(), 1u);
    EXPECT_EQ(early.groups[0].prims.count, 3u);
    EXPECT_EQ(early.groups[0].data.tensors[0].dtype.code, kDLUInt);
    Snapshot both(stage, query, {a}, range(1, 6));
    ASSERT_EQ(both.groups.size(), 2u);
    for (const ovstage_read_group_t &group : both.groups) {
        bool is_number = group.data.tensors[0].dtype.code == kDLFloat;
        EXPECT_EQ(group.prims.count, is_number ? 2u : 1u);
        EXPECT_EQ(group.ordinal, 6u);
    }
}

// Whose the key was stays known where its value is gone.
TEST_P(Range, L4_L5_a_key_that_another_column_had_is_gone_with_its_value)
{
    Payload numbers(Values{50}, 1);
    Payload other(std::vector<uint64_t>{30}, u64(), {1});
    ovstage_query_handle_t one = stage.query(1);
    stage.finish(client::write(stage, one, a, 5, numbers.data));
    stage.finish(client::write(stage, one, a, 3, other.data));
    stage.finish(stage.seal(6));
    const auto expect_gone = [&](uint64_t newest) {
        for (ovstage_ordinal_range_t asked : {range(1, 6), range(4, 6), {0, 6, false}}) {
            Snapshot read(stage, one, {a}, asked);
            EXPECT_EQ(read.status, OVSTAGE_ERROR_OUT_OF_RANGE) << newest;
        }
        Snapshot whole(stage, one, {a}, range(4, newest));
        ASSERT_EQ(whole.groups.size(), 1u);
        EXPECT_EQ(Snapshot::rows(whole.groups[0])[0].second, (Values{float(newest)}));
    };
    for (uint64_t ordinal = 10; ordinal < 14; ordinal++)
        write_sealed(a, ordinal, {{0, float(ordinal)}});
    expect_gone(13);
    for (uint64_t ordinal = 14; ordinal < 90; ordinal++)
        write_sealed(a, ordinal, {{0, float(ordinal)}});
    // Merged: the key is counted at its newest change only; a snapshot cannot tell whose it was.
    EXPECT_GT(frontier(), 6u);
    EXPECT_EQ(changed(one, a, 1, 6), Rows());
    Snapshot read(stage, one, {a}, 6);
    EXPECT_EQ(read.status, OVSTAGE_ERROR_OUT_OF_RANGE);
    Snapshot early(stage, one, {a}, 4);
    ASSERT_EQ(early.groups.size(), 1u);
    EXPECT_EQ(early.groups[0].data.tensors[0].dtype.code, kDLUInt);
}

TEST_P(Range, R42_L6_the_last_64_seals_are_exact)
{
    write_sealed(a, 1, {{0, 10}, {1, 11}, {2, 12}, {3, 13}});
    for (uint64_t ordinal = 2; ordinal <= 64; ordinal++) {
        stage.finish(stage.seal(ordinal, OVSTAGE_SCOPE_INCLUDE, {b})); // not a's
        write_sealed(a, ordinal, {{int(ordinal % 2), float(ordinal)}});
    }
    EXPECT_EQ(frontier(), 0u);
    EXPECT_EQ(changed(1, 64).size(), 4u);
    EXPECT_EQ(refusal(1, 1), OVSTAGE_ERROR_OUT_OF_RANGE) << "of prims 0 and 1";
    ovstage_query_handle_t rest = stage.query({"/P/2", "/P/3"});
    EXPECT_EQ(changed(rest, a, 1, 1), (Rows{{0, {12}}, {1, {13}}}));
    EXPECT_EQ(refusal(2, 2), OVSTAGE_ERROR_OUT_OF_RANGE);
    for (uint64_t ordinal = 65; ordinal <= 67; ordinal++) {
        write_sealed(a, ordinal, {{int(ordinal % 2), float(ordinal)}});
        EXPECT_EQ(frontier(), ordinal - 64) << "what the oldest of 65 seals sealed";
    }
    // At and above the frontier: exact, from what is newest in either part.
    EXPECT_EQ(changed(3, 67), (Rows{{0, {66}}, {1, {67}}}));
    EXPECT_EQ(changed(67, 67), (Rows{{1, {67}}}));
    EXPECT_EQ(refusal(4, 4), OVSTAGE_ERROR_OUT_OF_RANGE);
    // Below it each key is counted at its newest merged change only.
    EXPECT_EQ(changed(1, 67), (Rows{{0, {66}}, {1, {67}}, {2, {12}}, {3, {13}}}));
    EXPECT_EQ(changed(1, 1), (Rows{{2, {12}}, {3, {13}}})) << "0 at 2, 1 at 3";
    EXPECT_EQ(refusal(2, 2), OVSTAGE_ERROR_OUT_OF_RANGE) << "0 at 2";
    // Another column has seals of its own.
    write_sealed(b, 70, {{0, 1}});
    EXPECT_EQ(frontier(), 3u);
}

TEST(RangeWaits, L5_a_waiting_range_keeps_its_start)
{
    Stage stage{2};
    ovstage_query_handle_t query = stage.query(3), first = stage.query(1);
    ovx_token_t names[2] = {stage.token("a"), stage.token("b")};
    ovx_token_t a = names[0], b = names[1];
    Values one = ramp(3, 10), two = ramp(3, 20), three = ramp(3, 30), again = {40};
    stage.finish(stage.write(query, a, 1, one));
    stage.finish(stage.write(first, a, 2, again));
    stage.finish(stage.seal(3, OVSTAGE_SCOPE_INCLUDE, {a}));
    Stuck stuck(two);
    auto write_b = client::write(stage, query, b, 3, stuck.payload.data);
    auto seal_b = stage.seal(3, OVSTAGE_SCOPE_INCLUDE, {b});
    ovstage_read_handle_t handle = 0;
    auto op = ovstage_read_attributes(stage.instance, query, names, 2, range(2, 3), &handle);
    ASSERT_EQ(op.status, OVSTAGE_OK);
    // More seals of the other column than are kept exactly.
    for (uint64_t ordinal = 10; ordinal < 80; ordinal++) {
        stage.finish(stage.write(query, a, ordinal, three));
        stage.finish(stage.seal(ordinal, OVSTAGE_SCOPE_INCLUDE, {a}));
    }
    stuck.let_go();
    std::map<ovx_token_t, Values> got;
    ovstage_read_group_t group;
    while (ovstage_fetch_read_next(stage.instance, handle, forever, &group) == OVSTAGE_OK) {
        for (const auto &row : Snapshot::rows(group))
            got[group.attribute].push_back(row.second[0]);
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    }
    EXPECT_EQ(got[a], again);
    EXPECT_EQ(got[b], two);
    for (auto done : {write_b, seal_b, op})
        stage.finish(done);
    stage.finish(ovstage_release_read(stage.instance, handle));
}

TEST_P(Range, L6_full_writes_are_merged_too)
{
    ovstage_query_handle_t two = stage.query(2);
    for (uint64_t ordinal = 1; ordinal <= 70; ordinal++) {
        Values values = ramp(2, float(ordinal));
        stage.finish(stage.write(two, a, ordinal, values));
        stage.finish(stage.seal(ordinal));
    }
    EXPECT_EQ(frontier(), 6u);
    EXPECT_EQ(changed(2, 5), Rows()) << "all are counted at 6";
    EXPECT_EQ(refusal(2, 6), OVSTAGE_ERROR_OUT_OF_RANGE);
    EXPECT_EQ(refusal(7, 7), OVSTAGE_ERROR_OUT_OF_RANGE);
    EXPECT_EQ(changed(2, 70), (Rows{{0, {70}}, {1, {71}}}));
    EXPECT_EQ(changed(69, 69), (Rows{{0, {69}}, {1, {70}}}));
}

TEST_P(Range, L6_without_history_changes_are_known_still)
{
    flyrail_config_t config = client::config(GetParam());
    config.history_versions = 0;
    config.history_limit_bytes = 0;
    Stage bare(config);
    ovstage_query_handle_t of = bare.query(2);
    for (uint64_t ordinal = 1; ordinal <= 5; ordinal++) {
        ovstage_query_handle_t one = bare.query(ordinal < 3 ? 2 : 1);
        Values values = ramp(ordinal < 3 ? 2 : 1, 10 * float(ordinal));
        bare.finish(bare.write(one, a, ordinal, values));
        bare.finish(bare.seal(ordinal));
    }
    Snapshot late(bare, of, {a}, range(3, 5));
    ASSERT_EQ(late.groups.size(), 1u);
    EXPECT_EQ(Snapshot::rows(late.groups[0]), (Rows{{0, {50}}}));
    ovstage_query_handle_t second = bare.query({"/P/1"});
    Snapshot kept(bare, second, {a}, range(2, 2));
    ASSERT_EQ(kept.groups.size(), 1u);
    EXPECT_EQ(Snapshot::rows(kept.groups[0]), (Rows{{0, {21}}}));
    Snapshot gone(bare, of, {a}, range(2, 2));
    EXPECT_EQ(gone.status, OVSTAGE_ERROR_OUT_OF_RANGE);
    EXPECT_GT(bare.statistics().membership_bytes, 0u);
}

} // namespace
