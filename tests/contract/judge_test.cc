// Judgement by acceptance, whatever has run, was sealed and is gone meanwhile: L3, R106, D3.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/client.h"
#include "tests/support/filters.h"

namespace
{

using namespace client;

// Of an op that failed: why; empty when it did not.
std::string failure(const Stage &stage, ovstage_enqueue_result_t result)
{
    EXPECT_EQ(result.status, OVSTAGE_OK) << last_error();
    ovstage_op_wait_result_t out;
    EXPECT_EQ(ovstage_wait_op(stage.instance, result.op_index, forever, &out), OVSTAGE_OK);
    return out.error_op_id_count ? text(ovstage_get_last_op_error(stage.instance, result.op_index))
                                 : "";
}

// An instance that keeps no state but the newest, and lanes that can be held up.
class JudgeTest : public testing::TestWithParam<uint32_t>
{
  protected:
    JudgeTest() : stage(without_history()), a(stage.token("a"))
    {
    }
    static flyrail_config_t without_history()
    {
        flyrail_config_t made = config(GetParam());
        made.history_versions = 0;
        return made;
    }
    // What is submitted at this ordinal waits until the gate is let go. Without workers nothing
    // runs before it is waited for anyhow.
    void hold(Gate &gate, uint64_t ordinal)
    {
        if (GetParam() == 0)
            return;
        held.push_back(gate.submit(stage, ordinal));
        gate.wait_entered();
    }
    ovstage_enqueue_result_t remove(ovstage_query_handle_t query, uint64_t ordinal)
    {
        ovx_string_or_token_t name{a, {}};
        return ovstage_delete_attributes(stage.instance, query, &name, 1, ordinal);
    }
    ovstage_enqueue_result_t write_array(ovstage_query_handle_t query, uint64_t ordinal)
    {
        DLTensor tensor{&number, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &one_element, nullptr, 0};
        ovstage_write_data_t data;
        std::memset(&data, 0, sizeof(data));
        data.tensors = &tensor;
        data.tensor_count = 1;
        data.is_array = true;
        return ovstage_write_attribute(stage.instance, query, ovx_string_or_token_t{a, {}}, ordinal,
                                       data, OVSTAGE_PRIM_MODE_UPSERT);
    }
    void finish_held()
    {
        for (ovstage_enqueue_result_t result : held)
            stage.finish(result);
    }

    Stage stage;
    ovx_token_t a;
    std::vector<ovstage_enqueue_result_t> held;
    float number = 7;
    int64_t one_element = 1;
};

INSTANTIATE_TEST_SUITE_P(Workers, JudgeTest, testing::Values(0u, 3u));

TEST_P(JudgeTest, L3_a_key_made_later_and_lower_was_written_before)
{
    const std::vector<float> one = {1}, two = {2, 3};
    ovstage_query_handle_t x = stage.query({"/x"}), y = stage.query({"/y"});
    Gate six, nine;
    hold(six, 6);
    hold(nine, 9);
    auto first = stage.write(x, a, 6, one);
    auto judged = write_array(x, 9);
    stage.finish(stage.write(stage.query({"/x", "/y"}), a, 2, two)); // which makes both keys
    stage.finish(stage.seal(3));
    six.let_go();
    stage.finish(first);
    for (uint64_t ordinal = 7; ordinal <= 8; ordinal++) {
        stage.finish(stage.write(y, a, ordinal, one));
        stage.finish(stage.seal(ordinal)); // no state of 6 is left
    }
    nine.let_go();
    EXPECT_NE(failure(stage, judged).find("another schema"), std::string::npos);
    finish_held();
    stage.finish(stage.seal(9));
    EXPECT_EQ(stage.read(x, a, 9), one);
}

// The other way round: what a later op wrote, sealed by now, is nothing to it.
TEST_P(JudgeTest, L3_a_later_write_below_is_not_seen)
{
    const std::vector<float> one = {1}, two = {2};
    ovstage_query_handle_t x = stage.query({"/x"}), both = stage.query({"/x", "/y"});
    stage.finish(stage.write(both, a, 1, {1, 1}));
    stage.finish(stage.seal(1));
    Gate nine;
    hold(nine, 9);
    stage.finish(remove(x, 2));
    stage.finish(stage.write(stage.query({"/y"}), a, 4, one)); // begins what ...
    auto judged = write_array(x, 9);                           // (of a key that is deleted)
    stage.finish(stage.write(x, a, 4, two));                   // ... a later op adds to
    stage.finish(stage.seal(5));
    stage.finish(stage.write(x, a, 6, two));
    stage.finish(remove(x, 7));
    stage.finish(stage.write(x, a, 7, two));
    stage.finish(stage.seal(8));
    EXPECT_EQ(stage.read(x, a, 8), two);
    nine.let_go();
    EXPECT_EQ(failure(stage, judged), "");
    finish_held();
    stage.finish(stage.seal(9));
    EXPECT_EQ(stage.read(x, a, 9), std::vector<float>{7}); // the higher ordinal replaces the key
}

TEST_P(JudgeTest, L3_a_later_delete_below_is_not_seen)
{
    const std::vector<float> one = {1};
    ovstage_query_handle_t x = stage.query({"/x"});
    stage.finish(stage.write(x, a, 1, one));
    stage.finish(stage.seal(1));
    Gate nine;
    hold(nine, 9);
    EXPECT_EQ(stage.write(x, stage.token("b"), 9, one, OVSTAGE_PRIM_MODE_INSERT).status,
              OVSTAGE_ERROR_PRIM_NOT_FOUND); // decidable
    auto array = write_array(x, 9);          // as is this, where nothing is pending
    std::string why = array.status != OVSTAGE_OK ? last_error() : "";
    stage.finish(remove(x, 2));
    stage.finish(remove(x, 3));
    stage.finish(stage.seal(8));
    EXPECT_EQ(stage.read(x, a, 8), std::vector<float>{});
    nine.let_go();
    if (array.status == OVSTAGE_OK)
        why = failure(stage, array);
    EXPECT_NE(why.find("another schema"), std::string::npos) << why;
    finish_held();
}

// What is left of it, once all is sealed, is nothing: the delete below, which came later, took the
// key away before.
TEST_P(JudgeTest, L3_an_earlier_delete_above_a_later_one_is_seen)
{
    ovstage_query_handle_t x = stage.query({"/x"});
    stage.finish(stage.write(x, a, 3, {1}));
    stage.finish(stage.seal(3));
    Gate nine;
    hold(nine, 9);
    auto deleted = remove(x, 5);
    auto judged = write_array(x, 9);
    stage.finish(remove(x, 4));
    stage.finish(deleted);
    stage.finish(stage.seal(8));
    nine.let_go();
    EXPECT_EQ(failure(stage, judged), "");
    finish_held();
}

TEST_P(JudgeTest, L3_many_later_writes_below_are_not_seen)
{
    constexpr uint64_t last = 80; // more seals than changes are kept of
    const std::vector<float> one = {1};
    ovstage_query_handle_t x = stage.query({"/x"});
    stage.finish(stage.write(x, a, 1, one));
    stage.finish(remove(x, 2));
    Gate gate;
    hold(gate, last + 1);
    auto judged = write_array(x, last + 1);
    for (uint64_t ordinal = 3; ordinal <= last; ordinal++) {
        stage.finish(stage.write(x, a, ordinal, one));
        stage.finish(stage.seal(ordinal));
    }
    gate.let_go();
    EXPECT_EQ(failure(stage, judged), "");
    finish_held();
}

TEST_P(JudgeTest, R106_an_insert_behind_a_pending_delete_is_not_refused)
{
    const std::vector<float> one = {1}, two = {2};
    ovstage_query_handle_t x = stage.query({"/x"});
    stage.finish(stage.write(x, a, 1, one));
    Gate two_held;
    hold(two_held, 2);
    auto deleted = remove(x, 2);
    auto insert = stage.write(x, a, 3, two, OVSTAGE_PRIM_MODE_INSERT);
    EXPECT_EQ(insert.status, OVSTAGE_OK) << last_error();
    two_held.let_go();
    stage.finish(deleted);
    stage.finish(insert);
    // One above which nothing is pending is refused at once.
    EXPECT_EQ(stage.write(x, a, 3, two, OVSTAGE_PRIM_MODE_INSERT).status,
              OVSTAGE_ERROR_PRIM_NOT_FOUND);
    finish_held();
    stage.finish(stage.seal(3));
    EXPECT_EQ(stage.read(x, a, 3), two);
}

// A filter that finds nothing and has run, and one that cannot have run yet: what is written over
// them enters its schema in the same way, and a NONE that follows gets its role.
TEST_P(JudgeTest, L3_a_schema_is_entered_whether_a_filter_has_run_or_not)
{
    ovstage_query_handle_t x = stage.query({"/x"});
    const std::vector<float> one = {1};
    for (bool has_run : {true, false}) {
        const ovx_token_t column = stage.token(has_run ? "b" : "c");
        Gate gate;
        ovstage_enqueue_result_t gated = {OVSTAGE_OK, OVSTAGE_INVALID_OP_ID};
        if (!has_run && GetParam() > 0) {
            gated = gate.submit(stage, 3);
            gate.wait_entered();
        }
        ovstage_query_handle_t none = 0;
        ovstage_enqueue_result_t found =
            submit(stage, {{"usd-path", OVSTAGE_FILTER_OP_IN, {"/nowhere"}}}, &none);
        if (has_run)
            stage.finish(found);
        Payload vector(one, 1), plain(one, 1);
        vector.data.semantic = OVSTAGE_SEMANTIC_VECTOR;
        ovstage_enqueue_result_t nothing = write(stage, none, column, 4, vector.data);
        ovstage_enqueue_result_t written = write(stage, x, column, 4, plain.data);
        gate.let_go();
        for (ovstage_enqueue_result_t op : {nothing, written})
            stage.finish(op);
        if (gated.op_index != OVSTAGE_INVALID_OP_ID)
            stage.finish(gated);
        stage.finish(stage.seal(4, OVSTAGE_SCOPE_INCLUDE, {column}));
        Snapshot snapshot(stage, x, {column}, {0, 4, false});
        ASSERT_EQ(snapshot.groups.size(), 1u);
        EXPECT_EQ(snapshot.groups[0].semantic, OVSTAGE_SEMANTIC_VECTOR) << has_run;
    }
}

TEST_P(JudgeTest, D3_what_is_sealed_is_not_deleted_below)
{
    const std::vector<float> one = {1};
    ovstage_query_handle_t x = stage.query({"/x"}), y = stage.query({"/y"});
    stage.finish(stage.write(stage.query({"/x", "/y"}), a, 1, {1, 1}));
    stage.finish(remove(x, 3));
    stage.finish(stage.seal(4, OVSTAGE_SCOPE_INCLUDE, {a}));
    stage.finish(remove(y, 5));
    auto whole = [&](ovstage_query_handle_t query, uint64_t ordinal) {
        return failure(stage,
                       ovstage_delete_attributes(stage.instance, query, nullptr, 0, ordinal));
    };
    EXPECT_NE(whole(x, 2), ""); // it was there at 2
    EXPECT_NE(whole(y, 2), ""); // it is there up to 4
    EXPECT_EQ(whole(x, 4), "");
    stage.finish(stage.seal(5));
    EXPECT_EQ(stage.read(x, a, 2), one);
    EXPECT_EQ(stage.read(y, a, 4), one);
}

} // namespace
