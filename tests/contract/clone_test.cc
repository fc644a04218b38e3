// Clones: R131 to R138, R33, R34, R22, L3, D2, D12, D24.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/clones.h"
#include "tests/support/filters.h"

namespace
{

using namespace client;

class CloneTest : public testing::TestWithParam<uint32_t>, public Clones
{
  protected:
    CloneTest() : Clones(GetParam())
    {
    }
};

INSTANTIATE_TEST_SUITE_P(Workers, CloneTest, testing::Values(0u, 1u, 2u, 4u),
                         testing::PrintToStringParamName());

TEST_P(CloneTest, R133_copies_the_source_and_what_exists_below_it)
{
    put({"/A", "/A/x", "/A/x/y", "/Ab", "/A-"}, a, 1, {1, 2, 3, 4, 5});
    put({"/A/x/y", "/A/z"}, b, 1, {30, 40});
    stage.finish(clone("/A", {"/T", "/U/V"}, 1));
    stage.finish(stage.seal(1));
    const Texts all = {"/A",   "/A/x",   "/A/x/y",   "/A/z",   "/T",  "/T/x",  "/T/x/y", "/T/z",
                       "/U/V", "/U/V/x", "/U/V/x/y", "/U/V/z", "/Tb", "/U/Vb", "/T-"};
    EXPECT_EQ(get(all, a, 1), (Floats{1, 2, 3, 1, 2, 3, 1, 2, 3}));
    EXPECT_EQ(get(all, b, 1), (Floats{30, 40, 30, 40, 30, 40}));
    EXPECT_EQ(get({"/T/z"}, b, 1), (Floats{40}));
    EXPECT_EQ(get({"/U/V/x/y"}, a, 1), (Floats{3}));
}

TEST_P(CloneTest, R133_takes_values_that_are_sealed_or_not_from_wherever_they_lie)
{
    put({"/A", "/A/1", "/A/2", "/A/3", "/A/4"}, a, 1, {1, 1, 1, 1, 1});
    stage.finish(stage.seal(1));
    put({"/A/1"}, a, 2, {2});
    stage.finish(stage.seal(2));
    put({"/A/2"}, a, 3, {3});
    put({"/A/3", "/A/new"}, a, 4, {4, 40});
    put({"/A/4"}, a, 5, {5});
    put({"/A/5"}, a, 5, {50});
    put({"/A/1"}, a, 6, {6}); // above
    const Texts copies = {"/T", "/T/1", "/T/2", "/T/3", "/T/4", "/T/new", "/T/5"};
    stage.finish(clone("/A", {"/T"}, 5));
    stage.finish(clone("/A", {"/S"}, 3));
    stage.finish(stage.seal(6));
    EXPECT_EQ(get(copies, a, 5), (Floats{1, 2, 3, 4, 5, 40, 50}));
    EXPECT_EQ(get({"/S", "/S/1", "/S/2", "/S/3", "/S/4", "/S/new", "/S/5"}, a, 6),
              (Floats{1, 2, 3, 1, 1}));
    EXPECT_EQ(get(copies, a, 4), Floats{});
}

TEST_P(CloneTest, R133_reads_of_copies_are_gated_until_they_are_sealed)
{
    put({"/A"}, a, 1, {1});
    stage.finish(stage.seal(1));
    stage.finish(clone("/A", {"/T"}, 2));
    Snapshot early(stage, stage.query({"/T"}), {a}, 2);
    EXPECT_EQ(early.status, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    stage.finish(stage.seal(2));
    EXPECT_EQ(get({"/T"}, a, 2), (Floats{1}));
    EXPECT_EQ(get({"/T"}, a, 1), Floats{});
}

TEST_P(CloneTest, R131_the_source_must_exist)
{
    put({"/A/x"}, a, 1, {1});
    put({"/Late"}, a, 3, {1});
    const std::string why = failed(stage, clone("/A", {"/T"}, 2));
    EXPECT_NE(why.find("'/A'"), std::string::npos) << why;
    EXPECT_NE(why.find("does not exist"), std::string::npos) << why;
    failed(stage, clone("/Late", {"/T"}, 2));
    failed(stage, clone("/Nobody", {}, 2));
    failed(stage, clone("/", {"/T"}, 2));
    stage.finish(stage.seal(3));
    EXPECT_EQ(get({"/T", "/T/x"}, a, 3), Floats{});
}

TEST_P(CloneTest, R131_any_existing_target_rejects_the_whole_batch)
{
    put({"/A", "/A/x", "/There", "/Half/x"}, a, 1, {1, 2, 3, 4});
    for (const std::string target : {"/There", "/Half", "/A"}) {
        const std::string why = failed(stage, clone("/A", {"/T", target, "/U"}, 2));
        EXPECT_NE(why.find("already exists"), std::string::npos) << why;
    }
    stage.finish(stage.seal(2));
    EXPECT_EQ(get({"/T", "/T/x", "/U", "/U/x", "/Half", "/There", "/Half/x"}, a, 2),
              (Floats{3, 4}));
    // A descendant that no copy would make is in nobody's way.
    put({"/Other/y"}, a, 3, {7});
    stage.finish(clone("/A", {"/Other"}, 3));
    stage.finish(stage.seal(3));
    EXPECT_EQ(get({"/Other", "/Other/x", "/Other/y"}, a, 3), (Floats{1, 2, 7}));
}

TEST_P(CloneTest, R131_what_it_makes_exists_for_the_next_one)
{
    put({"/A"}, a, 1, {1});
    auto first = clone("/A", {"/T"}, 1);
    auto again = clone("/A", {"/T"}, 1);
    auto above = clone("/A", {"/T"}, 2);
    auto of_it = clone("/T", {"/U"}, 1);
    stage.finish(first);
    failed(stage, again);
    failed(stage, above);
    stage.finish(of_it);
    stage.finish(stage.seal(2));
    EXPECT_EQ(get({"/T", "/U"}, a, 2), (Floats{1, 1}));
}

TEST_P(CloneTest, L3_higher_ordinals_make_no_target_exist)
{
    put({"/A"}, a, 1, {1});
    put({"/T"}, a, 5, {5});
    stage.finish(clone("/A", {"/T"}, 2));
    stage.finish(stage.seal(5));
    EXPECT_EQ(get({"/T"}, a, 4), (Floats{1}));
    EXPECT_EQ(get({"/T"}, a, 5), (Floats{5}));
}

TEST_P(CloneTest, L3_later_acceptances_at_lower_ordinals_make_no_target_exist)
{
    if (GetParam() == 0)
        return; // nothing can be held up
    put({"/A"}, a, 1, {1});
    Gate gate;
    auto task = gate.submit(stage, 3);
    auto made = clone("/A", {"/T"}, 3);
    const Floats late = {9};
    auto written = stage.write(stage.query({"/T"}), a, 2, late);
    gate.let_go();
    stage.finish(task);
    stage.finish(made);
    stage.finish(written);
    stage.finish(stage.seal(3));
    EXPECT_EQ(get({"/T"}, a, 2), (Floats{9}));
    EXPECT_EQ(get({"/T"}, a, 3), (Floats{1}));
}

TEST_P(CloneTest, L3_inserts_accepted_before_do_not_see_later_clones)
{
    put({"/A", "/A/x"}, a, 3, {1, 2});
    put({"/A"}, b, 3, {3});
    Gate gate;
    ovstage_enqueue_result_t task = {};
    if (GetParam() > 0)
        task = gate.submit(stage, 5);
    const Floats nine = {9};
    auto insert = stage.write(stage.query({"/T/x"}), a, 5, nine, OVSTAGE_PRIM_MODE_INSERT);
    stage.finish(clone("/A", {"/T"}, 3)); // beside rows that the ordinal has of these columns
    gate.let_go();
    if (GetParam() > 0)
        stage.finish(task);
    stage.finish(insert);
    stage.finish(stage.seal(5));
    EXPECT_EQ(get({"/T", "/T/x"}, a, 3), (Floats{1, 2}));
    EXPECT_EQ(get({"/T", "/T/x"}, a, 5), (Floats{1, 9}));
    EXPECT_EQ(get({"/T", "/T/x"}, b, 5), (Floats{3}));
}

TEST_P(CloneTest, D24_later_lower_ordinals_change_the_source_only)
{
    put({"/A", "/A/x"}, a, 2, {1, 2});
    Gate gate;
    std::vector<ovstage_enqueue_result_t> accepted;
    if (GetParam() > 0)
        accepted.push_back(gate.submit(stage, 4));
    accepted.push_back(clone("/A", {"/T"}, 4));
    const Floats late = {10, 20, 30};
    const Texts prims = {"/A", "/A/x", "/A/new"};
    accepted.push_back(stage.write(stage.query(prims), a, 2, late)); // where it lies
    accepted.push_back(stage.write(stage.query(prims), a, 3, late)); // between
    accepted.push_back(stage.write(stage.query(prims), b, 3, late)); // a new attribute
    gate.let_go();
    std::reverse(accepted.begin(), accepted.end()); // without workers the awaited op runs first
    for (const auto &result : accepted)
        stage.finish(result);
    stage.finish(stage.seal(4));
    EXPECT_EQ(get({"/A", "/A/x", "/A/new"}, a, 4), late);
    EXPECT_EQ(get({"/T", "/T/x", "/T/new"}, a, 4), (Floats{1, 2}));
    EXPECT_EQ(get({"/T", "/T/x", "/T/new"}, b, 4), Floats{});
}

TEST_P(CloneTest, D24_waits_for_what_was_accepted_before_at_or_below_it)
{
    if (GetParam() == 0)
        return; // nothing can be held up
    put({"/A"}, a, 1, {1});
    Gate below, above;
    const Floats two = {2}, nine = {9};
    auto low_task = below.submit(stage, 2);
    below.wait_entered(); // one worker could begin with the other gate; this thread runs no task
    auto low = stage.write(stage.query({"/A"}), a, 2, two);
    auto made = clone("/A", {"/T"}, 5);
    ovstage_op_wait_result_t out;
    EXPECT_EQ(ovstage_wait_op(stage.instance, made.op_index, 0, &out), OVSTAGE_ERROR_TIMEOUT);
    auto high_task = above.submit(stage, 6);
    auto high = stage.write(stage.query({"/A"}), a, 6, nine);
    below.let_go();
    stage.finish(made); // whatever is above it is pending still
    above.let_go();
    for (const auto &result : {low_task, low, high_task, high})
        stage.finish(result);
    stage.finish(stage.seal(6));
    EXPECT_EQ(get({"/T"}, a, 6), (Floats{2}));
}

TEST_P(CloneTest, R35_one_ordinal_runs_in_the_order_of_acceptance)
{
    const Floats one = {1}, two = {2}, three = {3};
    const auto source = stage.query({"/A"}), copy = stage.query({"/T"});
    auto before = stage.write(source, a, 1, one);
    auto made = clone("/A", {"/T", "/U"}, 1);
    auto after = stage.write(source, a, 1, two);
    auto over = stage.write(copy, a, 1, three);
    for (const auto &result : {before, made, after, over})
        stage.finish(result);
    stage.finish(stage.seal(1));
    EXPECT_EQ(get({"/A", "/T", "/U"}, a, 1), (Floats{2, 3, 1}));
}

TEST_P(CloneTest, R133_a_clone_of_a_clone_at_one_ordinal)
{
    put({"/A", "/A/x"}, a, 1, {1, 2});
    stage.finish(stage.seal(1));
    auto first = clone("/A", {"/T"}, 2), second = clone("/T", {"/T/inner", "/U"}, 2);
    auto third = clone("/T/inner", {"/V"}, 2);
    stage.finish(first);
    stage.finish(second);
    stage.finish(third);
    stage.finish(stage.seal(2));
    EXPECT_EQ(
        get({"/T", "/T/x", "/T/inner", "/T/inner/x", "/U", "/U/x", "/U/inner", "/V", "/V/x"}, a, 2),
        (Floats{1, 2, 1, 2, 1, 2, 1, 2}));
}

TEST_P(CloneTest, R132_an_attribute_that_is_sealed_far_above_the_clone)
{
    put({"/A", "/A/x"}, a, 1, {1, 2});
    stage.finish(stage.seal(1));
    for (uint64_t ordinal = 3; ordinal < 9; ordinal++) {
        put({"/A/x"}, a, ordinal, {3});
        stage.finish(stage.seal(ordinal, OVSTAGE_SCOPE_INCLUDE, {a}));
    }
    for (uint64_t ordinal = 2; ordinal < 9; ordinal++)
        EXPECT_NE(failed(stage, clone("/A", {"/T"}, ordinal)).find("floor 8"), std::string::npos);
    stage.finish(clone("/A", {"/T"}, 9));
    stage.finish(stage.seal(9));
    EXPECT_EQ(get({"/T", "/T/x"}, a, 9), (Floats{1, 3}));
}

TEST_P(CloneTest, R34_floor_violations_come_by_wait_op)
{
    put({"/A"}, a, 1, {1});
    put({"/A"}, b, 1, {1});
    stage.finish(stage.seal(2));
    for (uint64_t ordinal : {0, 1, 2}) {
        const std::string why = failed(stage, clone("/A", {"/T"}, ordinal));
        EXPECT_NE(why.find("write floor 2"), std::string::npos) << why;
    }
    EXPECT_EQ(get({"/T"}, a, 2), Floats{});
}

TEST_P(CloneTest, R132_each_attribute_of_the_source_is_judged)
{
    put({"/A", "/A/x"}, a, 1, {1, 2});
    put({"/A/x", "/Else"}, b, 1, {3, 4});
    stage.finish(stage.seal(5, OVSTAGE_SCOPE_INCLUDE, {b}));
    const std::string why = failed(stage, clone("/A", {"/T"}, 5));
    EXPECT_NE(why.find("'b'"), std::string::npos) << why;
    stage.finish(clone("/A", {"/T"}, 6));
    put({"/C"}, a, 2, {8});
    stage.finish(clone("/C", {"/D"}, 3)); // has nothing that is sealed there
    stage.finish(stage.seal(6));
    EXPECT_EQ(get({"/T", "/T/x", "/D"}, a, 6), (Floats{1, 2, 8}));
    EXPECT_EQ(get({"/T", "/T/x", "/D"}, b, 6), (Floats{3}));
}

TEST_P(CloneTest, R132_an_attribute_that_was_sealed_over_and_over_since)
{
    put({"/A", "/A/x", "/A/y"}, a, 2, {1, 2, 3});
    put({"/A", "/A/x", "/A/y"}, b, 2, {1, 2, 3});
    for (uint64_t ordinal = 2; ordinal < 9; ordinal++) {
        put({"/A/x"}, b, ordinal, {4});
        stage.finish(stage.seal(ordinal, OVSTAGE_SCOPE_INCLUDE, {b}));
    }
    for (uint64_t ordinal = 2; ordinal < 9; ordinal++)
        failed(stage, clone("/A", {"/T"}, ordinal));
    stage.finish(clone("/A", {"/T"}, 9));
}

TEST_P(CloneTest, D2_advances_accepted_before_are_waited_for_and_later_ones_wait)
{
    put({"/A"}, a, 1, {1});
    Gate gate;
    std::vector<ovstage_enqueue_result_t> accepted;
    if (GetParam() > 0)
        accepted.push_back(gate.submit(stage, 1));
    const Floats one = {1};
    accepted.push_back(stage.write(stage.query({"/A"}), a, 1, one));
    accepted.push_back(stage.seal(2)); // behind the gate
    auto sealed = clone("/A", {"/T"}, 2);
    auto open = clone("/A", {"/U"}, 3);
    accepted.push_back(stage.seal(3)); // in its scope whatever it finds
    gate.let_go();
    failed(stage, sealed);
    stage.finish(open);
    for (const auto &result : accepted)
        stage.finish(result);
    EXPECT_EQ(get({"/T", "/U"}, a, 3), (Floats{1}));
}

TEST_P(CloneTest, R137_invalid_arguments_come_in_the_enqueue_status)
{
    put({"/A"}, a, 1, {1});
    const auto refuse = [&](const std::string &source, const Texts &targets) {
        return refused(clone(source, targets, 2), OVSTAGE_ERROR_INVALID_ARGUMENT);
    };
    EXPECT_NE(refuse("", {"/T"}).find("source"), std::string::npos);
    EXPECT_NE(refuse("/A/..", {"/T"}).find("source"), std::string::npos);
    EXPECT_NE(refuse("/A", {"/T", ""}).find("targets[1]"), std::string::npos);
    EXPECT_NE(refuse("/A", {"/./T"}).find("targets[0]"), std::string::npos);
    EXPECT_NE(refuse("/A", {"/"}).find("root"), std::string::npos);
    EXPECT_NE(refuse("/A", {"/T", "/U", "T//"}).find("targets[0]"), std::string::npos);
    EXPECT_NE(refuse("/A", {"/T", "/U", "T//"}).find("targets[2]"), std::string::npos);
    const std::string name = "/A";
    ovx_string_t null_text = {nullptr, 2}, source = text(name);
    refused(ovstage_clone(stage.instance, null_text, &source, 1, 2),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    refused(ovstage_clone(stage.instance, source, &null_text, 1, 2),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    refused(ovstage_clone(stage.instance, source, nullptr, 1, 2), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(ovstage_clone(nullptr, source, nullptr, 0, 2).status, OVSTAGE_ERROR_INVALID_ARGUMENT);
    stage.finish(clone("/A", {}, 2)); // nothing to make
}

TEST_P(CloneTest, R137_texts_stand_for_paths_as_everywhere)
{
    put({"/A/x"}, a, 1, {1});
    stage.finish(clone("A//x/", {"T/", "//U//v"}, 2));
    stage.finish(stage.seal(2));
    EXPECT_EQ(get({"/T", "/U/v"}, a, 2), (Floats{1, 1}));
}

TEST_P(CloneTest, R131_a_target_inside_the_source_copies_what_the_source_was)
{
    put({"/A", "/A/x"}, a, 1, {1, 2});
    stage.finish(clone("/A", {"/A/copy", "/A/x/copy"}, 2));
    stage.finish(stage.seal(2));
    EXPECT_EQ(get({"/A/copy", "/A/copy/x", "/A/x/copy", "/A/x/copy/x", "/A/copy/copy"}, a, 2),
              (Floats{1, 2, 1, 2}));
}

TEST_P(CloneTest, R131_no_two_copies_make_the_same_prim)
{
    put({"/A", "/A/x"}, a, 1, {1, 2});
    const std::string why = failed(stage, clone("/A", {"/T/x", "/T"}, 2));
    EXPECT_NE(why.find("'/T/x' already exists"), std::string::npos) << why;
    stage.finish(clone("/A", {"/T/y/z", "/T"}, 2));
    stage.finish(stage.seal(2));
    EXPECT_EQ(get({"/T", "/T/x", "/T/y", "/T/y/z", "/T/y/z/x"}, a, 2), (Floats{1, 2, 1, 2}));
}

TEST_P(CloneTest, R138_a_target_may_lie_below_no_prim)
{
    put({"/A"}, a, 1, {1});
    stage.finish(clone("/A", {"/World/Env0/Rig", "/World/Env1/Rig"}, 1));
    stage.finish(stage.seal(1));
    EXPECT_EQ(get({"/World", "/World/Env0", "/World/Env0/Rig", "/World/Env1/Rig"}, a, 1),
              (Floats{1, 1}));
}

TEST_P(CloneTest, R106_copies_exist_for_inserts)
{
    put({"/A", "/A/x"}, a, 1, {1, 2});
    auto made = clone("/A", {"/T"}, 1);
    const Floats one = {1};
    auto insert = stage.write(stage.query({"/T/x"}), a, 2, one, OVSTAGE_PRIM_MODE_INSERT);
    stage.finish(made);
    if (insert.status == OVSTAGE_OK)
        failed(stage, insert);
    else
        refused(insert, OVSTAGE_ERROR_PRIM_NOT_FOUND);
}

TEST_P(CloneTest, D23_a_filter_query_sees_the_clones_accepted_before_it)
{
    put({"/A", "/A/x"}, a, 1, {1, 2});
    put({"/A/x"}, b, 1, {3});
    auto made = clone("/A", {"/T", "/U/V"}, 2);
    EXPECT_EQ(find(stage, {{"usd-path", OVSTAGE_FILTER_OP_PREFIX, {"/"}}}),
              (Texts{"/A", "/A/x", "/T", "/T/x", "/U/V", "/U/V/x"}));
    EXPECT_EQ(find(stage, {{"b", OVSTAGE_FILTER_OP_HAS, {}}}), (Texts{"/A/x", "/T/x", "/U/V/x"}));
    stage.finish(made);
}

TEST_P(CloneTest, R135_copies_are_changes_at_the_ordinal)
{
    put({"/A", "/A/x"}, a, 1, {1, 2});
    put_arrays<uint64_t>({"/A"}, b, 1, {{path("/A/x")}}, u64(),
                         OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID);
    stage.finish(stage.seal(1));
    put({"/A"}, a, 2, {5});
    stage.finish(clone("/A", {"/T"}, 3));
    stage.finish(stage.seal(3));
    const auto query = stage.query({"/A", "/A/x", "/T", "/T/x"});
    Snapshot range(stage, query, {a, b}, ovstage_ordinal_range_t{3, 3, true});
    ASSERT_EQ(range.status, OVSTAGE_OK);
    ASSERT_EQ(range.groups.size(), 2u);
    for (const ovstage_read_group_t &group : range.groups) {
        if (group.attribute == b) {
            EXPECT_EQ(array_rows<uint64_t>(group).count(2), 1u);
            continue;
        }
        using Row = std::pair<uint32_t, Floats>;
        EXPECT_EQ(Snapshot::rows(group), (std::vector<Row>{{2, {5}}, {3, {2}}}));
    }
}

TEST_P(CloneTest, R134_relationships_into_the_source_are_redirected)
{
    const uint64_t unknown = uint64_t{1} << 40;
    put({"/A", "/A/x", "/A/x/y"}, a, 1, {1, 2, 3});
    put_arrays<uint64_t>({"/A", "/A/x", "/A/x/y"}, b, 1,
                         {{path("/A"), path("/A/x/y"), path("/Ab"), path("/B"), 0, unknown},
                          {path("/B"), path("/"), path("/A/nobody/here")},
                          {}},
                         u64(), OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID);
    stage.finish(clone("/A", {"/T", "/U/v"}, 1));
    stage.finish(stage.seal(1));
    const auto rows = get_arrays<uint64_t>({"/A", "/T", "/T/x", "/T/x/y", "/U/v", "/U/v/x"}, b, 1);
    using Paths = std::vector<uint64_t>;
    EXPECT_EQ(rows.at(0), (Paths{path("/A"), path("/A/x/y"), path("/Ab"), path("/B"), 0, unknown}));
    EXPECT_EQ(rows.at(1), (Paths{path("/T"), path("/T/x/y"), path("/Ab"), path("/B"), 0, unknown}));
    EXPECT_EQ(rows.at(2), (Paths{path("/B"), path("/"), path("/T/nobody/here")}));
    EXPECT_EQ(rows.at(3), Paths{});
    EXPECT_EQ(rows.at(4),
              (Paths{path("/U/v"), path("/U/v/x/y"), path("/Ab"), path("/B"), 0, unknown}));
    EXPECT_EQ(rows.at(5), (Paths{path("/B"), path("/"), path("/U/v/nobody/here")}));
}

TEST_P(CloneTest, R134_connections_are_redirected_and_their_names_kept)
{
    // A name whose number is that of a path inside the source.
    const uint64_t inside = path("/A");
    put_arrays<uint64_t>({"/A", "/A/x"}, b, 1, {{inside, inside, path("/B"), 7}, {path("/B"), 8}},
                         u64(2), OVSTAGE_SEMANTIC_CONNECTION_PATH_ID);
    stage.finish(clone("/A", {"/T"}, 2));
    stage.finish(stage.seal(2));
    const auto rows = get_arrays<uint64_t>({"/T", "/T/x"}, b, 2);
    EXPECT_EQ(rows.at(0), (std::vector<uint64_t>{path("/T"), inside, path("/B"), 7}));
    EXPECT_EQ(rows.at(1), (std::vector<uint64_t>{path("/B"), 8}));
}

TEST_P(CloneTest, R134_numbers_that_are_no_paths_are_left_alone)
{
    const uint64_t inside = path("/A");
    put_arrays<uint64_t>({"/A"}, a, 1, {{inside, inside}}, u64(), OVSTAGE_SEMANTIC_TOKEN_ID);
    put_arrays<uint64_t>({"/A"}, b, 1, {{inside, inside}}, u64());
    stage.finish(clone("/A", {"/T"}, 1));
    stage.finish(stage.seal(1));
    for (ovx_token_t attribute : {a, b})
        EXPECT_EQ(get_arrays<uint64_t>({"/T"}, attribute, 1).at(0),
                  (std::vector<uint64_t>{inside, inside}));
}

TEST_P(CloneTest, R134_arrays_without_such_paths_are_shared)
{
    put_arrays<float>({"/A", "/A/x", "/A/y"}, a, 1, {{1, 2, 3}, {}, {4}}, f32());
    stage.finish(clone("/A", {"/T", "/U"}, 1));
    stage.finish(stage.seal(1));
    const auto rows = get_arrays<float>({"/T", "/T/x", "/T/y", "/U", "/U/x", "/U/y"}, a, 1);
    ASSERT_EQ(rows.size(), 6u);
    EXPECT_EQ(rows.at(0), (Floats{1, 2, 3}));
    EXPECT_EQ(rows.at(4), Floats{});
    EXPECT_EQ(rows.at(5), (Floats{4}));
    Snapshot source(stage, stage.query({"/A"}), {a}, 1), copy(stage, stage.query({"/U"}), {a}, 1);
    EXPECT_EQ(source.groups.at(0).data.tensors[0].data, copy.groups.at(0).data.tensors[0].data);
    // What happens to the source afterwards is no concern of theirs.
    put_arrays<float>({"/A"}, a, 2, {{9, 9, 9}}, f32());
    stage.finish(remove({"/A/y"}, {}, 2));
    stage.finish(stage.seal(2));
    EXPECT_EQ(get_arrays<float>({"/T", "/T/y"}, a, 2),
              (std::map<uint32_t, Floats>{{0, {1, 2, 3}}, {1, {4}}}));
}

TEST_P(CloneTest, R107_each_prim_keeps_its_schema)
{
    put({"/A"}, a, 1, {1});
    Payload pair({2, 3}, 1, 2);
    stage.finish(write(stage, stage.query({"/A/x"}), a, 1, pair.data));
    pair.data.semantic = OVSTAGE_SEMANTIC_TEXTURE_COORDINATE;
    stage.finish(write(stage, stage.query({"/A/y"}), a, 1, pair.data));
    put_arrays<uint8_t>({"/A/z"}, a, 1, {{'h', 'i'}}, u8(), OVSTAGE_SEMANTIC_STRING);
    stage.finish(clone("/A", {"/T"}, 2));
    stage.finish(stage.seal(2));
    Snapshot all(stage, stage.query({"/T", "/T/x", "/T/y", "/T/z"}), {a}, 2);
    ASSERT_EQ(all.groups.size(), 4u);
    for (const ovstage_read_group_t &group : all.groups) {
        ASSERT_EQ(group.prims.count, 1u);
        const uint32_t position =
            group.prims.index_map ? group.prims.index_map[0] : group.prims.offset;
        const DLTensor &tensor = group.data.tensors[0];
        EXPECT_EQ(tensor.dtype.lanes, position == 1 || position == 2 ? 2 : 1);
        EXPECT_EQ(group.is_array, position == 3);
        EXPECT_EQ(group.semantic, position == 2   ? OVSTAGE_SEMANTIC_TEXTURE_COORDINATE
                                  : position == 3 ? OVSTAGE_SEMANTIC_STRING
                                                  : OVSTAGE_SEMANTIC_NONE);
    }
    // The copy's schema is as binding as the source's.
    const Floats one = {1};
    auto wrong = stage.write(stage.query({"/T/x"}), a, 3, one);
    refused(wrong, OVSTAGE_ERROR_INVALID_ARGUMENT);
}

TEST_P(CloneTest, R142_types_are_copied)
{
    const ovx_token_t type = stage.token("usd-prim-type"), schemas = stage.token("usd-schemas");
    Payload one(std::vector<uint64_t>{stage.token("Mesh")}, u64(), {1});
    stage.finish(write(stage, stage.query({"/A"}), type, 1, one.data));
    put_arrays<uint64_t>({"/A"}, schemas, 1, {{stage.token("S"), stage.token("R")}}, u64());
    stage.finish(clone("/A", {"/T"}, 1));
    stage.finish(stage.seal(1));
    Snapshot copy(stage, stage.query({"/T"}), {type, schemas}, 1);
    ASSERT_EQ(copy.groups.size(), 2u);
    for (const ovstage_read_group_t &group : copy.groups) {
        EXPECT_EQ(group.semantic, OVSTAGE_SEMANTIC_TOKEN_ID);
        EXPECT_EQ(*static_cast<const uint64_t *>(group.data.tensors[0].data),
                  stage.token(group.is_array ? "S" : "Mesh"));
    }
}

TEST_P(CloneTest, D12_what_was_deleted_is_not_copied)
{
    put({"/A", "/A/x", "/A/y"}, a, 1, {1, 2, 3});
    put({"/A", "/A/x"}, b, 1, {10, 20});
    stage.finish(stage.seal(1));
    stage.finish(remove({"/A/x"}, {a}, 2));
    stage.finish(remove({"/A/y"}, {}, 2));
    stage.finish(stage.seal(2));
    put({"/A/z"}, a, 3, {4});
    stage.finish(remove({"/A/z"}, {}, 3));
    stage.finish(remove({"/A"}, {b}, 3));
    put({"/A"}, b, 3, {30});
    stage.finish(clone("/A", {"/T"}, 3));
    stage.finish(stage.seal(3));
    const Texts copies = {"/T", "/T/x", "/T/y", "/T/z"};
    EXPECT_EQ(get(copies, a, 3), (Floats{1}));
    EXPECT_EQ(get(copies, b, 3), (Floats{30, 20}));
    stage.finish(remove({"/A"}, {}, 4));
    failed(stage, clone("/A", {"/Again"}, 4));
}

TEST_P(CloneTest, D12_a_deleted_target_is_made_again)
{
    put({"/A"}, a, 1, {1});
    stage.finish(write(stage, stage.query({"/T", "/U"}), a, 1, Payload({5, 6, 7, 8}, 2, 2).data));
    stage.finish(stage.seal(1));
    stage.finish(remove({"/T"}, {}, 2));
    stage.finish(clone("/A", {"/T"}, 2)); // by the ordinal that deleted it
    stage.finish(remove({"/U"}, {}, 3));
    stage.finish(stage.seal(3));
    stage.finish(clone("/A", {"/U"}, 4));
    stage.finish(remove({"/T"}, {a}, 4));
    stage.finish(stage.seal(4));
    EXPECT_EQ(get({"/T"}, a, 2), (Floats{1}));
    EXPECT_EQ(get({"/T", "/U"}, a, 4), (Floats{1}));
}

TEST_P(CloneTest, D5_copies_in_the_order_of_targets_and_paths_are_one_group_without_a_gather)
{
    put({"/A/b", "/A", "/A/a/c", "/A/a"}, a, 1, {2, 0, 4, 3});
    stage.finish(stage.seal(1));
    Texts targets, copies;
    Floats expected;
    for (int t = 0; t < 100; t++) {
        targets.push_back("/Env" + std::to_string(t));
        for (const char *below : {"", "/a", "/a/c", "/b"})
            copies.push_back(targets.back() + below);
        for (float value : {0.0f, 3.0f, 4.0f, 2.0f})
            expected.push_back(value);
    }
    stage.finish(clone("/A", targets, 2));
    stage.finish(stage.seal(2));
    const uint64_t gathers = stage.statistics().gathers;
    EXPECT_EQ(get(copies, a, 2), expected);
    EXPECT_EQ(stage.statistics().gathers, gathers);
}

} // namespace
