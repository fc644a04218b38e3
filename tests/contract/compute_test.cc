// Computing world transforms: R149 to R156, L11, D13, D26, one test a rule.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/composer.h"

namespace
{

using namespace client;

class Compute : public testing::TestWithParam<uint32_t>
{
  protected:
    Composer it{GetParam()};
    Stage &stage{it.stage};
};

INSTANTIATE_TEST_SUITE_P(Workers, Compute, testing::Values(0u, 1u, 3u));

TEST_P(Compute, R149_R150_world_is_local_times_parent_world)
{
    Scene scene;
    scene.locals = {{"/A", scale(2)}, {"/A/B", translation(1, 2, 3)}, {"/A/B/C", translation(5)}};
    const Paths all = {"/A", "/A/B", "/A/B/C"};
    it.locals(scene.locals, 1);
    it.seed(all, 1);
    stage.finish(stage.seal(1));
    it.compute(1, 1);
    Worlds worlds = it.at(all, 1);
    EXPECT_EQ(worlds, expected(scene, all));
    // Row vectors, translation in elements 12 to 14: 5 right of a point at (1, 2, 3), then doubled.
    EXPECT_EQ(worlds["/A/B/C"][12], 12);
    EXPECT_EQ(worlds["/A/B/C"][13], 4);
    EXPECT_EQ(worlds["/A/B/C"][14], 6);
}

TEST_P(Compute, R150_reset_means_exactly_local)
{
    Scene scene;
    scene.locals = {{"/A", translation(1)}, {"/A/B", translation(10)}, {"/A/B/C", scale(3)}};
    scene.resets = {{"/A", false}, {"/A/B", true}};
    const Paths all = {"/A", "/A/B", "/A/B/C"};
    it.locals(scene.locals, 1);
    it.resets(scene.resets, 1);
    it.seed(all, 1);
    stage.finish(stage.seal(1));
    it.compute(1, 1);
    EXPECT_EQ(it.at(all, 1), expected(scene, all));
    EXPECT_EQ(it.at({"/A/B"}, 1)["/A/B"], translation(10));
    scene.resets = {{"/A/B", false}, {"/A/B/C", true}};
    it.resets(scene.resets, 2);
    stage.finish(stage.seal(2));
    it.compute(2, 2);
    EXPECT_EQ(it.at(all, 2), expected(scene, all));
}

TEST_P(Compute, D13_what_is_missing_is_the_identity)
{
    // No prim at /A/Gap; none at /Top; /A/Plain has no local; /Bare resets without one.
    Scene scene;
    scene.locals = {{"/A", translation(1)},
                    {"/A/Gap/X", translation(10)},
                    {"/A/Plain/Y", translation(100)},
                    {"/Top/Z", scale(2)}};
    scene.resets = {{"/Bare", true}};
    const Paths all = {"/A", "/A/Gap/X", "/A/Plain", "/A/Plain/Y", "/Top/Z", "/Bare"};
    it.locals(scene.locals, 1);
    it.resets(scene.resets, 1);
    it.seed(all, 1);
    stage.finish(stage.seal(1));
    it.compute(1, 1);
    EXPECT_EQ(it.at(all, 1), expected(scene, all));
    EXPECT_EQ(it.at({"/A/Gap/X"}, 1)["/A/Gap/X"], translation(11));
    // The prim at /A/Gap comes, one goes, the local of another goes.
    scene.locals["/A/Gap"] = translation(1000);
    it.locals({{"/A/Gap", translation(1000)}}, 2);
    it.remove({}, {"/A"}, 2);
    it.remove({it.local}, {"/A/Plain/Y"}, 2);
    scene.locals.erase("/A");
    scene.locals.erase("/A/Plain/Y");
    stage.finish(stage.seal(2));
    it.compute(2, 2);
    EXPECT_EQ(it.at(all, 2),
              expected(scene, {"/A/Gap/X", "/A/Plain", "/A/Plain/Y", "/Top/Z", "/Bare"}));
}

TEST_P(Compute, R151_D26_existing_rows_only)
{
    Scene scene;
    scene.locals = {{"/A", translation(1)}, {"/A/B", translation(2)}, {"/A/B/C", translation(3)}};
    const Paths all = {"/A", "/A/B", "/A/B/C"};
    it.locals(scene.locals, 1);
    stage.finish(stage.seal(1));
    it.compute(1, 1);
    EXPECT_EQ(it.at(all, 1), Worlds());
    it.seed({"/A/B/C"}, 2);
    stage.finish(stage.seal(2));
    it.compute(2, 2);
    EXPECT_EQ(it.at(all, 2), expected(scene, {"/A/B/C"}));
    // A row that was deleted does not come back; one that is made anew counts again.
    it.remove({it.world}, {"/A/B/C"}, 3);
    it.seed({"/A"}, 3);
    it.locals({{"/A", translation(4)}}, 3);
    scene.locals["/A"] = translation(4);
    stage.finish(stage.seal(3));
    it.compute(3, 3);
    EXPECT_EQ(it.at(all, 3), expected(scene, {"/A"}));
    it.seed({"/A/B/C"}, 4);
    stage.finish(stage.seal(4));
    it.compute(4, 4);
    EXPECT_EQ(it.at(all, 4), expected(scene, {"/A", "/A/B/C"}));
}

// Prims that came one by one and are all written by each seal since: their keys may move, which
// must not be seen.
TEST(ComputeOld, L11_prims_of_many_seals_at_an_old_moment)
{
    flyrail_config_t made = config(0);
    made.history_versions = 64;
    Composer it{made};
    Scene scene;
    Paths all;
    uint64_t ordinal = 0;
    for (int k = 0; k < 20; k++) {
        all.push_back("/P" + std::to_string(k));
        scene.locals[all.back()] = translation(k);
        it.locals({{all.back(), translation(k)}}, ++ordinal);
        it.seed({all.back()}, ordinal);
        it.stage.finish(it.stage.seal(ordinal));
    }
    for (int frame = 0; frame < 12; frame++) {
        it.seed(all, ++ordinal);
        it.stage.finish(it.stage.seal(ordinal));
    }
    const Paths first(all.begin(), all.begin() + 10);
    it.compute(10, 10);
    EXPECT_EQ(it.at(first, 10), expected(scene, first));
}

TEST_P(Compute, R153_models)
{
    // On an empty stage.
    for (auto model : {cpu_model, OVSTAGE_HIERARCHY_COMPUTATION_MODEL_RUNTIME_DEFAULT,
                       OVSTAGE_HIERARCHY_COMPUTATION_MODEL_DEFAULT_CPU})
        stage.finish(ovstage_compute_hierarchy(stage.instance, model, 1, 1));
    for (auto model : {OVSTAGE_HIERARCHY_COMPUTATION_MODEL_GPU_INCREMENTAL,
                       OVSTAGE_HIERARCHY_COMPUTATION_MODEL_GPU_GLOBAL,
                       OVSTAGE_HIERARCHY_COMPUTATION_MODEL_DEFAULT_GPU}) {
        std::string why = it.fails(ovstage_compute_hierarchy(stage.instance, model, 1, 1));
        EXPECT_NE(why.find("GPU"), std::string::npos) << why;
    }
    for (int model : {0, 5, -1}) {
        auto refused = ovstage_compute_hierarchy(
            stage.instance, static_cast<ovstage_hierarchy_computation_model_id_t>(model), 1, 1);
        EXPECT_EQ(refused.status, OVSTAGE_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(refused.op_index, 0u);
    }
    EXPECT_EQ(ovstage_compute_hierarchy(nullptr, cpu_model, 1, 1).status,
              OVSTAGE_ERROR_INVALID_ARGUMENT);
}

TEST(ComputeDefault, R7_the_instance_keeps_the_default_of_its_making)
{
    ovstage_config_entry_t entry = ovstage_config_entry_runtime_default_hierarchy_computation_model(
        OVSTAGE_HIERARCHY_COMPUTATION_MODEL_DEFAULT_GPU);
    ovstage_config_t config = {&entry, 1};
    ASSERT_EQ(ovstage_initialize(&config), OVSTAGE_OK) << last_error();
    {
        Composer it(0u);
        ASSERT_EQ(ovstage_shutdown(), OVSTAGE_OK);
        it.fails(ovstage_compute_hierarchy(
            it.stage.instance, OVSTAGE_HIERARCHY_COMPUTATION_MODEL_RUNTIME_DEFAULT, 1, 1));
        it.compute(1, 1);
    }
    Composer it(0u);
    it.stage.finish(ovstage_compute_hierarchy(
        it.stage.instance, OVSTAGE_HIERARCHY_COMPUTATION_MODEL_RUNTIME_DEFAULT, 1, 1));
}

TEST_P(Compute, R154_output_at_an_ordinal_that_is_sealed)
{
    Scene scene;
    scene.locals = {{"/A", translation(1)}, {"/A/B", translation(2)}};
    const Paths all = {"/A", "/A/B"};
    it.seed(all, 1);
    for (uint64_t ordinal = 1; ordinal <= 5; ordinal++) {
        scene.locals["/A"] = translation(static_cast<double>(ordinal));
        it.locals(scene.locals, ordinal);
        stage.finish(stage.seal(ordinal));
        it.compute(ordinal, ordinal);
        EXPECT_EQ(it.at(all, ordinal), expected(scene, all));
    }
    scene.locals["/A"] = translation(4);
    EXPECT_EQ(it.at(all, 4), expected(scene, all)); // and older ones stay
}

TEST(ComputePending, L11_it_waits_for_the_seals_that_its_input_needs)
{
    Composer it(2u);
    Stage &stage = it.stage;
    Scene scene;
    scene.locals = {{"/A", translation(1)}};
    it.locals(scene.locals, 1);
    it.seed({"/A"}, 1);
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 1);
    ovstage_enqueue_result_t seal = stage.seal(1);
    ovstage_enqueue_result_t computed = it.submit(1, 1);
    EXPECT_EQ(ovstage_wait_op(stage.instance, computed.op_index, 0, nullptr),
              OVSTAGE_ERROR_TIMEOUT);
    gate.let_go();
    stage.finish(computed);
    stage.finish(seal);
    stage.finish(held);
    EXPECT_EQ(it.at({"/A"}, 1), expected(scene, {"/A"}));
}

TEST_P(Compute, L11_an_input_that_is_not_sealed)
{
    it.locals({{"/A", translation(1)}}, 1);
    it.seed({"/A"}, 1);
    stage.finish(stage.seal(1));
    it.locals({{"/A", translation(2)}}, 2);
    std::string why = it.fails(it.submit(2, 1));
    EXPECT_NE(why.find("unsealed change at ordinal 2"), std::string::npos) << why;
    EXPECT_EQ(it.at({"/A"}, 1)["/A"], marked(-7));
    it.compute(1, 1); // a change above the input does not matter
    EXPECT_EQ(it.at({"/A"}, 1)["/A"], translation(1));
    // Nor one of a prim that no world transform depends on.
    it.locals({{"/B", translation(2)}}, 3);
    stage.finish(stage.seal(2));
    it.compute(3, 2);
    EXPECT_EQ(it.at({"/A"}, 2)["/A"], translation(2));
}

TEST_P(Compute, L11_computations_run_in_the_order_accepted)
{
    it.seed({"/A"}, 1);
    std::vector<ovstage_enqueue_result_t> results;
    for (uint64_t ordinal = 1; ordinal <= 20; ordinal++) {
        it.locals({{"/A", translation(static_cast<double>(ordinal))}}, ordinal);
        results.push_back(stage.seal(ordinal));
        results.push_back(it.submit(ordinal, ordinal));
        results.push_back(it.submit(ordinal - 1, ordinal)); // and this one comes later
    }
    for (const ovstage_enqueue_result_t &result : results)
        stage.finish(result);
    EXPECT_EQ(it.at({"/A"}, 20)["/A"], translation(19));
}

TEST(ComputePending, L11_an_open_output_is_an_op_of_that_lane)
{
    Composer it(2u);
    Stage &stage = it.stage;
    Scene scene;
    scene.locals = {{"/A", translation(1)}, {"/A/B", translation(2)}};
    const Paths all = {"/A", "/A/B"};
    it.locals(scene.locals, 1);
    it.seed({"/A"}, 1);
    stage.finish(stage.seal(1));
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 3);
    ovstage_enqueue_result_t computed = it.submit(1, 3);
    EXPECT_EQ(ovstage_wait_op(stage.instance, computed.op_index, 0, nullptr),
              OVSTAGE_ERROR_TIMEOUT);
    ovstage_enqueue_result_t seal = stage.seal(3); // waits for it
    gate.let_go();
    stage.finish(seal);
    stage.finish(held);
    stage.finish(computed);
    EXPECT_EQ(it.at(all, 2)["/A"], marked(-7));
    EXPECT_EQ(it.at(all, 3), expected(scene, {"/A"}));
    EXPECT_EQ(it.changed(all, 3, 3), expected(scene, {"/A"}));
}

TEST(ComputePending, D24_clones_and_computations_in_the_order_accepted)
{
    Composer it(2u);
    Stage &stage = it.stage;
    const ovx_string_t source = literal_to_ovx_string("/A"), first = literal_to_ovx_string("/B"),
                       second = literal_to_ovx_string("/C");
    it.locals({{"/A", translation(1)}}, 1);
    it.seed({"/A"}, 1);
    stage.finish(stage.seal(1));
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 2);
    std::vector<ovstage_enqueue_result_t> results = {
        ovstage_clone(stage.instance, source, &first, 1, 3), it.submit(1, 1), stage.seal(2),
        it.submit(2, 2), ovstage_clone(stage.instance, source, &second, 1, 3)};
    // The first computation waits for the clone before it.
    EXPECT_EQ(ovstage_wait_op(stage.instance, results[1].op_index, 0, nullptr),
              OVSTAGE_ERROR_TIMEOUT);
    gate.let_go();
    for (const ovstage_enqueue_result_t &result : results)
        stage.finish(result);
    stage.finish(held);
    stage.finish(stage.seal(3));
    EXPECT_EQ(it.at({"/A", "/B", "/C"}, 3),
              (Worlds{{"/A", translation(1)}, {"/B", marked(-7)}, {"/C", translation(1)}}));
}

TEST_P(Compute, L3_an_open_output_goes_by_what_was_accepted_before_it)
{
    it.locals({{"/A", translation(1)},
               {"/B", translation(2)},
               {"/C", translation(3)},
               {"/D", translation(4)},
               {"/E", translation(5)}},
              1);
    it.seed({"/A", "/B", "/C"}, 1);
    stage.finish(stage.seal(1));
    it.seed({"/D"}, 2);               // a new row, at a lower open ordinal
    it.seed({"/B"}, 3);               // written again by the same one
    it.remove({it.world}, {"/C"}, 2); // gone
    it.seed({"/E"}, 4);               // above
    it.compute(1, 3);
    it.seed({"/C"}, 2, -8); // afterwards: it was not there
    stage.finish(stage.seal(4));
    Worlds worlds = it.at({"/A", "/B", "/C", "/D", "/E"}, 4);
    EXPECT_EQ(worlds["/A"], translation(1));
    EXPECT_EQ(worlds["/B"], translation(2));
    EXPECT_EQ(worlds["/C"], marked(-8));
    EXPECT_EQ(worlds["/D"], translation(4));
    EXPECT_EQ(worlds["/E"], marked(-7));
    it.compute(4, 4); // and the next one sees all of it
    EXPECT_EQ(it.at({"/C", "/E"}, 4), (Worlds{{"/C", translation(3)}, {"/E", translation(5)}}));
}

TEST(ComputePending, L3_an_open_output_goes_by_the_seals_accepted_before_it)
{
    Composer it(2u);
    Stage &stage = it.stage;
    it.matrices(it.world, {{"/A", translation(0)}}, 1);
    stage.finish(stage.seal(1));
    it.matrices(it.world, {{"/B", translation(0)}}, 2);
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 5);
    ovstage_enqueue_result_t computed = it.submit(1, 5); // of the same transforms
    it.seed({"/A"}, 3);
    stage.finish(stage.seal(3)); // before it can run
    gate.let_go();
    stage.finish(held);
    stage.finish(computed);
    stage.finish(stage.seal(5));
    const Paths all = {"/A", "/B"};
    EXPECT_EQ(it.changed(all, 5, 5), (Worlds{{"/B", translation(0)}}));
    EXPECT_EQ(it.at(all, 5), (Worlds{{"/A", marked(-7)}, {"/B", translation(0)}}));
}

TEST_P(Compute, L11_an_open_output_that_is_taken_back)
{
    it.locals({{"/A", translation(1)}}, 1);
    it.seed({"/A"}, 1);
    stage.finish(stage.seal(1));
    it.compute(1, 3);
    stage.finish(flyrail_discard(stage.instance, 3));
    it.compute(1, 4);
    stage.finish(stage.seal(4));
    EXPECT_EQ(it.at({"/A"}, 3)["/A"], marked(-7));
    EXPECT_EQ(it.at({"/A"}, 4)["/A"], translation(1));
}

TEST_P(Compute, L11_below_newer_ordinals)
{
    it.locals({{"/A", translation(1)}, {"/B", translation(1)}}, 1);
    it.seed({"/A", "/B"}, 1);
    stage.finish(stage.seal(1));
    it.seed({"/A"}, 3, -9); // what is newer stays
    stage.finish(stage.seal(3));
    it.compute(1, 2);
    const Paths all = {"/A", "/B"};
    EXPECT_EQ(it.at(all, 1), (Worlds{{"/A", marked(-7)}, {"/B", marked(-7)}}));
    EXPECT_EQ(it.at(all, 2), (Worlds{{"/A", translation(1)}, {"/B", translation(1)}}));
    EXPECT_EQ(it.at(all, 3), (Worlds{{"/A", marked(-9)}, {"/B", translation(1)}}));
    EXPECT_EQ(it.changed(all, 1, 1).size(), 2u);
    EXPECT_EQ(it.changed(all, 2, 2).size(), 2u);
    EXPECT_EQ(it.changed(all, 3, 3), (Worlds{{"/A", marked(-9)}}));
    EXPECT_EQ(it.changed(all, 2, 3).size(), 2u);
}

TEST_P(Compute, L11_held_groups_keep_theirs)
{
    const Paths all = {"/A", "/A/B", "/A/C"};
    it.seed(all, 1);
    it.locals({{"/A", translation(1)}}, 1);
    stage.finish(stage.seal(1));
    ovstage_query_handle_t query = stage.query(all);
    Snapshot before(stage, query, {it.world}, 1);
    it.compute(1, 1);
    Snapshot first(stage, query, {it.world}, 1);
    it.locals({{"/A", translation(2)}}, 2);
    stage.finish(stage.seal(2));
    it.compute(2, 1); // the same ordinal again
    Snapshot second(stage, query, {it.world}, 1);
    auto rows = [&](const Snapshot &snapshot) {
        Worlds out;
        for (const ovstage_read_group_t &group : snapshot.groups)
            Composer::add_rows(group, all, &out);
        return out;
    };
    Worlds seeded, ones, twos;
    for (const std::string &path : all) {
        seeded[path] = marked(-7);
        ones[path] = translation(1);
        twos[path] = translation(2);
    }
    EXPECT_EQ(rows(before), seeded);
    EXPECT_EQ(rows(first), ones);
    EXPECT_EQ(rows(second), twos);
}

TEST_P(Compute, L11_changes_are_the_rows_that_became_others)
{
    const Paths all = {"/A", "/A/B", "/A/C", "/D"};
    it.seed(all, 1);
    it.locals({{"/A", translation(1)}, {"/A/B", translation(1)}, {"/D", translation(1)}}, 1);
    stage.finish(stage.seal(1));
    it.compute(1, 1);
    it.locals({{"/A/B", translation(2)}, {"/D", translation(1)}}, 2); // /D as it was
    stage.finish(stage.seal(2));
    it.compute(2, 2);
    EXPECT_EQ(it.changed(all, 2, 2), (Worlds{{"/A/B", translation(3)}}));
    it.seed({"/A/C"}, 3); // somebody writes a world
    stage.finish(stage.seal(3));
    it.compute(3, 4); // 4 is open
    stage.finish(stage.seal(4));
    EXPECT_EQ(it.changed(all, 4, 4), (Worlds{{"/A/C", translation(1)}}));
    it.compute(4, 4);
    EXPECT_EQ(it.changed(all, 4, 4).size(), 1u);
    stage.finish(stage.seal(5));
    it.compute(5, 5);
    EXPECT_EQ(it.changed(all, 5, 5), Worlds());
}

TEST_P(Compute, R107_columns_of_other_types)
{
    it.locals({{"/A", translation(1)}}, 1);
    it.seed({"/A"}, 1);
    Payload floats(std::vector<float>(16, 1), 1, 16);
    stage.finish(it.write(it.local, {"/A/B"}, floats.data, 1));
    it.matrices(it.world, {{"/A/B", marked(-7)}}, 1, OVSTAGE_SEMANTIC_NONE);
    stage.finish(stage.seal(1));
    std::string why = it.fails(it.submit(1, 1));
    EXPECT_NE(why.find("localMatrix"), std::string::npos) << why;
    EXPECT_NE(why.find("/A/B"), std::string::npos) << why;
    it.remove({it.local}, {"/A/B"}, 2);
    stage.finish(it.write(it.world, {"/W"}, floats.data, 2));
    stage.finish(stage.seal(2));
    why = it.fails(it.submit(2, 2));
    EXPECT_NE(why.find("worldMatrix"), std::string::npos) << why;
    it.remove({it.world}, {"/W"}, 3);
    it.locals({{"/A/B", translation(2)}}, 3);
    stage.finish(stage.seal(3));
    it.compute(3, 3);
    // Two columns: of the role MATRIX, and of none.
    EXPECT_EQ(it.at({"/A", "/A/B", "/W"}, 3),
              (Worlds{{"/A", translation(1)}, {"/A/B", translation(3)}}));
    // Another type that came and went since does not matter.
    it.remove({it.local}, {"/A/B"}, 4);
    stage.finish(it.write(it.local, {"/A/B"}, floats.data, 4));
    it.remove({it.local}, {"/A/B"}, 5);
    stage.finish(stage.seal(5));
    it.compute(5, 5);
    EXPECT_EQ(it.at({"/A/B"}, 5), (Worlds{{"/A/B", translation(1)}}));
}

TEST_P(Compute, L6_moments_that_are_not_kept)
{
    it.seed({"/A"}, 1);
    for (uint64_t ordinal = 1; ordinal <= 8; ordinal++) {
        it.locals({{"/A", translation(static_cast<double>(ordinal))}}, ordinal);
        stage.finish(stage.seal(ordinal));
        it.compute(ordinal, ordinal);
    }
    std::string why = it.fails(it.submit(2, 8)); // the input
    EXPECT_NE(why.find("no longer kept"), std::string::npos) << why;
    why = it.fails(it.submit(8, 2)); // the output
    EXPECT_NE(why.find("no longer kept"), std::string::npos) << why;
    it.compute(7, 8);
    EXPECT_EQ(it.at({"/A"}, 8)["/A"], translation(7));
}

} // namespace
