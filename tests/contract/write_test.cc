// Writes: admission, order, prims, schemas, batches. Contract 4.3, 4.8 and section 5, one test a
// rule.
#include "tests/support/write_fixtures.h"

using namespace client;

namespace
{

using Values = std::vector<float>;

class WriteTest : public BatchFixture
{
};

TEST_F(WriteTest, R33_ordinals_start_above_the_floor)
{
    std::string why = refused(stage.write(query, a, 0, one), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_NE(why.find("'a'"), std::string::npos) << why;
    stage.finish(stage.write(query, a, 1, one));
    stage.finish(stage.write(query, a, UINT64_MAX, two));
    stage.finish(stage.seal(1));
    EXPECT_EQ(at(a, 1), one);
}

TEST_F(WriteTest, R34_a_violation_is_told_by_the_enqueue)
{
    stage.finish(stage.seal(5));
    std::string why = refused(stage.write(query, a, 5, one), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_NE(why.find("ordinal 5"), std::string::npos) << why;
    EXPECT_NE(why.find("floor 5"), std::string::npos) << why;
    refused(stage.write(query, a, 3, one), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    stage.finish(stage.write(query, a, 6, one));
}

TEST_F(WriteTest, D2_a_seal_counts_from_its_acceptance)
{
    Gate gate;
    auto held = gate.submit(stage, 4);
    gate.wait_entered();
    auto seal = stage.seal(4); // waits for the task of ordinal 4
    ASSERT_EQ(seal.status, OVSTAGE_OK);
    refused(stage.write(query, a, 4, one), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    auto above = stage.write(query, a, 5, one);
    gate.let_go();
    stage.finish(held);
    stage.finish(seal);
    stage.finish(above);
}

TEST_F(WriteTest, D2_scoped_seals_count_for_their_scope)
{
    stage.finish(stage.write(query, a, 1, one));
    stage.finish(stage.write(query, b, 1, one));
    stage.finish(stage.seal(3, OVSTAGE_SCOPE_INCLUDE, {a}));
    refused(stage.write(query, a, 3, one), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    stage.finish(stage.write(query, b, 3, two));
    stage.finish(stage.seal(7, OVSTAGE_SCOPE_EXCLUDE, {a}));
    refused(stage.write(query, b, 7, one), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    stage.finish(stage.write(query, a, 4, two));
}

TEST_F(WriteTest, R35_one_ordinal_in_order_of_submission)
{
    Gate gate;
    auto held = gate.submit(stage, 1);
    std::vector<ovstage_enqueue_result_t> ops;
    std::vector<Values> values;
    for (int i = 0; i < 50; i++)
        values.push_back(ramp(3, static_cast<float>(i)));
    for (const Values &value : values)
        ops.push_back(stage.write(query, a, 1, value));
    gate.let_go();
    stage.finish(held);
    for (auto op : ops)
        stage.finish(op);
    stage.finish(stage.seal(1));
    EXPECT_EQ(at(a, 1), values.back());
}

TEST_F(WriteTest, R36_a_seal_waits_for_what_is_below_and_not_for_what_is_above)
{
    Gate below, above;
    auto held_below = below.submit(stage, 2);
    auto held_above = above.submit(stage, 9);
    below.wait_entered();
    above.wait_entered();
    auto write = stage.write(query, a, 2, one);
    auto seal = stage.seal(5);
    ovstage_op_wait_result_t outcome;
    EXPECT_EQ(ovstage_wait_op(stage.instance, seal.op_index, 0, &outcome), OVSTAGE_ERROR_TIMEOUT);
    EXPECT_EQ(outcome.lowest_pending_op_id, held_below.op_index);
    below.let_go();
    stage.finish(seal); // with the task at 9 still running
    EXPECT_EQ(at(a, 5), one);
    above.let_go();
    stage.finish(held_below);
    stage.finish(held_above);
    stage.finish(write);
}

TEST_F(WriteTest, R39_sealed_data_never_changes_and_the_later_submission_wins)
{
    stage.finish(stage.write(query, a, 1, one));
    stage.finish(stage.write(query, a, 1, two));
    stage.finish(stage.seal(1));
    Snapshot held(stage, query, {a}, 1);
    stage.finish(stage.write(query, a, 2, three));
    stage.finish(stage.seal(2));
    EXPECT_EQ(Snapshot::rows(held.groups[0])[0].second, (Values{20}));
    EXPECT_EQ(at(a, 1), two);
    EXPECT_EQ(at(a, 2), three);
}

TEST_F(WriteTest, L1_ordinals_run_beside_each_other)
{
    Gate gate;
    auto held = gate.submit(stage, 1);
    gate.wait_entered();
    auto waiting = stage.write(query, a, 1, one);
    stage.finish(stage.write(query, a, 2, two)); // though ordinal 1 is stuck
    gate.let_go();
    stage.finish(held);
    stage.finish(waiting);
    stage.finish(stage.seal(2));
    EXPECT_EQ(at(a, 1), one);
    EXPECT_EQ(at(a, 2), two);
}

TEST_F(WriteTest, L2_held_groups_hold_nobody_up)
{
    stage.finish(stage.write(query, a, 1, one));
    stage.finish(stage.seal(1));
    Snapshot held(stage, query, {a}, 1);
    for (uint64_t ordinal = 2; ordinal < 12; ordinal++) {
        stage.finish(stage.write(query, a, ordinal, two));
        stage.finish(stage.seal(ordinal));
    }
    EXPECT_EQ(Snapshot::rows(held.groups[0])[2].second, (Values{12}));
}

TEST_F(WriteTest, L3_effects_go_by_ordinal)
{
    stage.finish(stage.write(query, a, 6, one));
    stage.finish(stage.write(query, a, 5, two)); // accepted later, counts earlier
    stage.finish(stage.seal(6));
    EXPECT_EQ(at(a, 6), one);
    EXPECT_EQ(at(a, 5), two);
}

TEST_F(WriteTest, L3_later_acceptances_never_change_a_status)
{
    Gate gate;
    auto held = gate.submit(stage, 5);
    gate.wait_entered();
    auto insert = stage.write(query, a, 5, one, OVSTAGE_PRIM_MODE_INSERT);
    stage.finish(stage.write(query, b, 3, two)); // below it, accepted after it, run before it
    gate.let_go();
    stage.finish(held);
    stage.finish(insert);
    stage.finish(stage.seal(5));
    EXPECT_EQ(at(a, 5), one);
    EXPECT_EQ(at(b, 5), two);
}

TEST_F(WriteTest, L3_the_higher_ordinal_replaces_a_key_of_another_schema)
{
    stage.finish(stage.write(query, a, 6, one));
    Payload pair(ramp(6), 3, 2);
    stage.finish(write(stage, query, a, 5, pair.data)); // nothing there at 5
    stage.finish(stage.seal(6));
    Snapshot low(stage, query, {a}, 5);
    ASSERT_EQ(low.groups.size(), 1u);
    EXPECT_EQ(low.groups[0].data.tensors[0].dtype.lanes, 2);
    EXPECT_EQ(at(a, 6), one);
}

TEST_F(WriteTest, L7_a_submission_waits_for_nobody)
{
    Gate first, second;
    auto held = first.submit(stage, 1), other = second.submit(stage, 2);
    first.wait_entered();
    second.wait_entered();
    auto op1 = stage.write(query, a, 1, one);
    auto op2 = stage.write(query, a, 2, two);
    auto op3 = stage.write(query, a, 2, two, OVSTAGE_PRIM_MODE_INSERT);
    auto seal = stage.seal(2);
    EXPECT_EQ(op1.status, OVSTAGE_OK);
    EXPECT_EQ(op3.status, OVSTAGE_OK);
    first.let_go();
    second.let_go();
    stage.finish(held);
    stage.finish(other);
    stage.finish(op1);
    stage.finish(op2);
    EXPECT_NE(failed(stage, op3).find("exists"), std::string::npos);
    stage.finish(seal);
}

TEST_F(WriteTest, R105_writing_a_child_makes_no_ancestors)
{
    ovstage_query_handle_t child = stage.query({"/World/a/b"});
    stage.finish(stage.write(child, a, 1, {1}));
    ovstage_query_handle_t parent = stage.query({"/World/a"});
    stage.finish(stage.write(parent, a, 2, {2}, OVSTAGE_PRIM_MODE_INSERT));
}

TEST_F(WriteTest, R106_insert_refuses_prims_that_exist)
{
    stage.finish(stage.write(query, a, 1, one, OVSTAGE_PRIM_MODE_INSERT));
    // By another attribute, onto one of them: the prim counts.
    ovstage_query_handle_t mixed = stage.query({"/New", "/P/2"});
    Values values = {1, 2};
    std::string why = refused(stage.write(mixed, b, 2, values, OVSTAGE_PRIM_MODE_INSERT),
                              OVSTAGE_ERROR_PRIM_NOT_FOUND);
    EXPECT_NE(why.find("/P/2"), std::string::npos) << why;
    stage.finish(stage.seal(2));
    EXPECT_TRUE(stage.read(mixed, b, 2).empty()); // nothing was written
}

TEST_F(WriteTest, R106_insert_that_must_wait_to_know_fails_when_it_runs)
{
    Gate gate;
    auto held = gate.submit(stage, 1);
    auto before = stage.write(query, a, 1, one);
    auto insert = stage.write(query, b, 2, two, OVSTAGE_PRIM_MODE_INSERT);
    gate.let_go();
    EXPECT_NE(failed(stage, insert).find("/P/0"), std::string::npos);
    stage.finish(held);
    stage.finish(before);
    stage.finish(stage.seal(2));
    EXPECT_TRUE(at(b, 2).empty());
    EXPECT_EQ(at(a, 2), one);
}

TEST_F(WriteTest, R106_insert_above_is_no_conflict_below)
{
    stage.finish(stage.write(query, a, 9, one));
    stage.finish(stage.write(query, b, 3, two, OVSTAGE_PRIM_MODE_INSERT)); // not there at 3
    stage.finish(stage.seal(9));
    EXPECT_EQ(at(b, 3), two);
}

TEST_F(WriteTest, D26_insert_judges_what_it_addresses)
{
    ovstage_query_handle_t first = stage.query(1);
    stage.finish(stage.write(first, a, 1, {1}));
    Payload masked(ramp(3, 50), 3);
    uint64_t mask = 6;
    masked.data.mask = &mask;
    masked.data.count = 3;
    stage.finish(write(stage, query, b, 2, masked.data, OVSTAGE_PRIM_MODE_INSERT));
    ovstage_query_handle_t turned = stage.query({"/Q/1", "/P/0"});
    Payload leading(ramp(1), 1);
    leading.data.count = 1;
    stage.finish(write(stage, turned, b, 2, leading.data, OVSTAGE_PRIM_MODE_INSERT));
}

TEST_F(WriteTest, R107_another_schema_fails_and_leaves_all_as_it_was)
{
    stage.finish(stage.write(query, a, 1, one));
    Payload wide(ramp(6), 3, 2);
    std::string why = refused(write(stage, query, a, 2, wide.data), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(why.find("'a'"), std::string::npos) << why;
    EXPECT_NE(why.find("/P/0"), std::string::npos) << why;
    Payload other(std::vector<int32_t>{1, 2, 3}, DLDataType{kDLInt, 32, 1}, {3});
    refused(write(stage, query, a, 2, other.data), OVSTAGE_ERROR_INVALID_ARGUMENT);
    stage.finish(stage.seal(2));
    EXPECT_EQ(at(a, 2), one);
    // Another prim may hold another schema of the name.
    ovstage_query_handle_t elsewhere = stage.query({"/E"});
    Payload here(ramp(2), 1, 2);
    stage.finish(write(stage, elsewhere, a, 3, here.data));
}

TEST_F(WriteTest, R22_what_was_waited_for_is_known_to_the_enqueue)
{
    // The worker that ran an op has things to tidy up when the op is complete already.
    Stage busy(4);
    ovstage_query_handle_t prims = busy.query(3);
    ovx_token_t name = busy.token("a");
    Payload wide(ramp(6), 3, 2);
    for (uint64_t ordinal = 1; ordinal <= 3000; ordinal++) {
        busy.finish(busy.write(prims, name, ordinal, one));
        refused(write(busy, prims, name, ordinal, wide.data), OVSTAGE_ERROR_INVALID_ARGUMENT);
    }
}

TEST_F(WriteTest, R107_R22_another_schema_that_is_not_known_yet_fails_when_it_runs)
{
    Gate gate;
    auto held = gate.submit(stage, 1);
    auto before = stage.write(query, a, 1, one);
    Payload wide(ramp(6), 3, 2);
    auto late = write(stage, query, a, 2, wide.data);
    gate.let_go();
    EXPECT_NE(failed(stage, late).find("'a'"), std::string::npos);
    stage.finish(held);
    stage.finish(before);
    stage.finish(stage.seal(2));
    EXPECT_EQ(at(a, 2), one);
}

TEST_F(WriteTest, R108_D11_roles)
{
    Payload plain(ramp(9), 3, 3);
    plain.data.semantic = OVSTAGE_SEMANTIC_POINT;
    stage.finish(write(stage, query, a, 1, plain.data));
    plain.data.semantic = OVSTAGE_SEMANTIC_VECTOR;
    refused(write(stage, query, a, 2, plain.data), OVSTAGE_ERROR_INVALID_ARGUMENT);
    plain.data.semantic = OVSTAGE_SEMANTIC_NONE; // keeps the role
    stage.finish(write(stage, query, a, 2, plain.data));
    stage.finish(write(stage, query, b, 2, plain.data));
    plain.data.semantic = OVSTAGE_SEMANTIC_COLOR; // a role onto a column without one
    refused(write(stage, query, b, 3, plain.data), OVSTAGE_ERROR_INVALID_ARGUMENT);
    stage.finish(stage.seal(3));
    Snapshot snapshot(stage, query, {a, b}, 3);
    ASSERT_EQ(snapshot.groups.size(), 2u);
    for (const auto &group : snapshot.groups)
        EXPECT_EQ(group.semantic,
                  group.attribute == a ? OVSTAGE_SEMANTIC_POINT : OVSTAGE_SEMANTIC_NONE);
}

TEST_F(WriteTest, R110_roles_round_trip_and_do_not_split_a_column)
{
    Payload points(ramp(9), 3, 3);
    points.data.semantic = OVSTAGE_SEMANTIC_POINT;
    stage.finish(write(stage, query, a, 1, points.data));
    ovstage_query_handle_t more = stage.query({"/More"});
    Payload plain(ramp(3), 1, 3);
    stage.finish(write(stage, more, a, 1, plain.data));
    stage.finish(stage.seal(1));
    ovstage_query_handle_t both = stage.query({"/P/0", "/More"});
    Snapshot snapshot(stage, both, {a}, 1);
    ASSERT_EQ(snapshot.groups.size(), 1u);
    EXPECT_EQ(snapshot.groups[0].semantic, OVSTAGE_SEMANTIC_POINT);
    // A pair of tokens without a role is no asset.
    Payload pair(std::vector<uint64_t>(6, 1), u64(2), {3});
    stage.finish(write(stage, query, b, 2, pair.data));
    stage.finish(stage.seal(2));
    Snapshot pairs(stage, query, {b}, 2);
    ASSERT_EQ(pairs.groups.size(), 1u);
    EXPECT_EQ(pairs.groups[0].semantic, OVSTAGE_SEMANTIC_NONE);
}

TEST_F(WriteTest, R115_recorded_reserved_columns)
{
    ovx_token_t type = stage.token("usd-prim-type"), schemas = stage.token("usd-schemas");
    Payload tokens(std::vector<uint64_t>{5, 6, 7}, u64(), {3});
    stage.finish(write(stage, query, type, 1, tokens.data));
    refused(stage.write(query, type, 1, one), OVSTAGE_ERROR_INVALID_ARGUMENT);
    tokens.data.semantic = OVSTAGE_SEMANTIC_TOKEN_ID;
    stage.finish(write(stage, query, type, 1, tokens.data));
    tokens.data.is_array = true;
    refused(write(stage, query, type, 1, tokens.data), OVSTAGE_ERROR_INVALID_ARGUMENT);
    stage.finish(write(stage, query, schemas, 1, tokens.data));
    tokens.data.is_array = false;
    EXPECT_NE(refused(write(stage, query, schemas, 1, tokens.data), OVSTAGE_ERROR_INVALID_ARGUMENT)
                  .find("usd-schemas"),
              std::string::npos);
    stage.finish(stage.seal(1));
    Snapshot snapshot(stage, query, {type}, 1);
    ASSERT_EQ(snapshot.groups.size(), 1u);
    EXPECT_EQ(snapshot.groups[0].semantic, OVSTAGE_SEMANTIC_TOKEN_ID);
}

TEST_F(WriteTest, R116_computed_names_are_not_written)
{
    Payload tokens(std::vector<uint64_t>{5, 6, 7}, u64(), {3});
    for (const char *name : {"usd-path", "usd-parent", "usd-children", "usd-active"}) {
        std::string why = refused(write(stage, query, stage.token(name), 1, tokens.data),
                                  OVSTAGE_ERROR_NOT_SUPPORTED);
        EXPECT_NE(why.find(name), std::string::npos) << why;
    }
}

TEST_F(WriteTest, D6_a_path_listed_twice)
{
    ovstage_query_handle_t twice = stage.query({"/P/0", "/P/1", "/P/0"});
    stage.finish(stage.write(twice, a, 1, {1, 2, 3}));
    stage.finish(stage.seal(1));
    EXPECT_EQ(stage.read(twice, a, 1), (Values{3, 2, 3}));
    EXPECT_EQ(at(a, 1), (Values{3, 2}));
}

TEST_F(WriteTest, names_that_are_none)
{
    Payload data(one, 3);
    refused(write(stage, query, 0, 1, data.data), OVSTAGE_ERROR_INVALID_ARGUMENT);
    refused(write(stage, query, 0x7fffffff, 1, data.data), OVSTAGE_ERROR_INVALID_ARGUMENT);
    ovx_string_or_token_t null_text = {0, {nullptr, 5}};
    refused(batch({{null_text, data.data}}, 1), OVSTAGE_ERROR_INVALID_ARGUMENT);
    ovx_string_or_token_t empty = {0, {"", 0}};
    refused(batch({{empty, data.data}}, 1), OVSTAGE_ERROR_INVALID_ARGUMENT);
}

TEST_F(WriteTest, calls_that_are_none)
{
    Payload data(one, 3);
    ovstage_attribute_write_t entry = {named(a), data.data};
    refused(
        ovstage_write_attributes(stage.instance, query, nullptr, 1, 1, OVSTAGE_PRIM_MODE_UPSERT),
        OVSTAGE_ERROR_INVALID_ARGUMENT);
    refused(ovstage_write_attributes(stage.instance, query, &entry, 0, 1, OVSTAGE_PRIM_MODE_UPSERT),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    refused(ovstage_write_attributes(stage.instance, query, &entry, 1, 1,
                                     static_cast<ovstage_prim_mode_t>(7)),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    refused(write(stage, 0, a, 1, data.data), OVSTAGE_ERROR_INVALID_HANDLE);
    refused(write(stage, query + 1, a, 1, data.data), OVSTAGE_ERROR_INVALID_HANDLE);
    Stage other(0);
    refused(write(other, query, a, 1, data.data), OVSTAGE_ERROR_INVALID_HANDLE);
    auto record = std::make_shared<Managed::Record>();
    const DLManagedTensorVersioned *managed = Managed::make(one, 1, 0, record);
    data.data.tensors = nullptr;
    data.data.managed_tensors = &managed;
    EXPECT_EQ(
        stage.instance->vtable
            ->write_attribute(nullptr, query, named(a), 1, data.data, OVSTAGE_PRIM_MODE_UPSERT)
            .status,
        OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(record->deleted, 1);
    stage.finish(ovstage_release_query(stage.instance, query));
    refused(stage.write(query, a, 1, one), OVSTAGE_ERROR_INVALID_HANDLE);
}

TEST_F(WriteTest, R55_a_query_may_be_released_while_writes_use_it)
{
    Gate gate;
    auto held = gate.submit(stage, 1);
    auto op = stage.write(query, a, 1, one);
    stage.finish(ovstage_release_query(stage.instance, query));
    gate.let_go();
    stage.finish(held);
    stage.finish(op);
    stage.finish(stage.seal(1));
    query = stage.query(3);
    EXPECT_EQ(at(a, 1), one);
}

TEST_F(WriteTest, large_columns_are_written_whole)
{
    const size_t prims = 300000;
    ovstage_query_handle_t many = stage.query(prims);
    Values values = ramp(prims), turned = ramp(prims, 5);
    stage.finish(stage.write(many, a, 1, values));
    stage.finish(stage.seal(1));
    EXPECT_EQ(stage.read(many, a, 1), values);
    auto first = stage.write(many, a, 2, turned);
    auto second = stage.write(many, a, 3, values);
    auto third = stage.write(many, b, 2, values);
    stage.finish(first);
    stage.finish(second);
    stage.finish(third);
    stage.finish(stage.seal(3));
    EXPECT_EQ(stage.read(many, a, 2), turned);
    EXPECT_EQ(stage.read(many, a, 3), values);
    EXPECT_EQ(stage.read(many, b, 3), values);
}

} // namespace
