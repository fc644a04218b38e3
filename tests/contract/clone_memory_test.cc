// Clones when memory runs out, and beside everything else that goes on: L1, L2, L4, D24.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/clones.h"
#include "tests/support/heap.h"

namespace
{

using namespace client;

flyrail_config_t config_of(fr_test_heap *heap)
{
    const fr_allocator *allocator = fr_test_heap_allocator(heap);
    flyrail_config_t made = config(0);
    made.allocator.allocate = allocator->allocate;
    made.allocator.release = allocator->release;
    made.allocator.user = allocator->user;
    return made;
}

// Whether the op did it; if not, memory is why.
bool done(const Stage &stage, ovstage_enqueue_result_t result)
{
    if (result.status != OVSTAGE_OK) {
        EXPECT_EQ(result.status, OVSTAGE_ERROR_OUT_OF_MEMORY) << last_error();
        return false;
    }
    ovstage_op_wait_result_t outcome;
    EXPECT_EQ(ovstage_wait_op(stage.instance, result.op_index, forever, &outcome), OVSTAGE_OK);
    if (outcome.error_op_id_count > 0) {
        const std::string why = text(ovstage_get_last_op_error(stage.instance, result.op_index));
        EXPECT_NE(why.find("memory"), std::string::npos) << why;
    }
    EXPECT_EQ(ovstage_release_op(stage.instance, result.op_index), OVSTAGE_OK);
    return outcome.error_op_id_count == 0;
}

const Texts copies = {"/T", "/T/x", "/T/y", "/U", "/U/x", "/U/y"};

// Fixed rows that are sealed and that are not, relationships, a schema of its own, and copies
// beside rows of the same ordinal. Returns how many allocations the clones ask for.
uint64_t run(uint64_t k, bool ever_after)
{
    fr_test_heap *heap = fr_test_heap_create();
    uint64_t asked = 0;
    {
        Clones test(config_of(heap));
        test.put({"/A", "/A/x"}, test.a, 1, {1, 2});
        Payload pair({3, 4}, 1, 2);
        test.stage.finish(write(test.stage, test.stage.query({"/A/y"}), test.a, 1, pair.data));
        test.stage.finish(test.stage.seal(1));
        test.put({"/A/x", "/Else"}, test.a, 2, {5, 6});
        test.put_arrays<uint64_t>({"/A", "/A/x"}, test.b, 2,
                                  {{test.path("/A/x"), test.path("/A/z")}, {test.path("/B")}},
                                  u64(), OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID);
        fr_test_heap_fail(heap, k, ever_after);
        const bool first = done(test.stage, test.clone("/A", {"/T", "/U"}, 2));
        asked = fr_test_heap_calls(heap);
        fr_test_heap_fail(heap, 0, 0);
        const uint64_t prims = test.stage.statistics().prims;
        EXPECT_EQ(prims, first ? 10u : 4u) << "allocation " << k;
        if (!first) {
            EXPECT_TRUE(done(test.stage, test.clone("/A", {"/T", "/U"}, 2)));
        }
        test.stage.finish(test.stage.seal(2));
        EXPECT_EQ(test.get({"/T", "/T/x", "/U", "/U/x"}, test.a, 2), (Floats{1, 5, 1, 5}));
        Snapshot pairs(test.stage, test.stage.query({"/U/y"}), {test.a}, 2);
        EXPECT_EQ(Snapshot::rows(pairs.groups.at(0)).at(0).second, (Floats{3, 4}));
        const auto paths = test.get_arrays<uint64_t>(copies, test.b, 2);
        EXPECT_EQ(paths.at(0), (std::vector<uint64_t>{test.path("/T/x"), test.path("/T/z")}));
        EXPECT_EQ(paths.at(4), (std::vector<uint64_t>{test.path("/B")}));
    }
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    return asked;
}

TEST(CloneMemory, the_kth_allocation_fails)
{
    const uint64_t asked = run(0, false);
    ASSERT_GT(asked, 20u);
    for (uint64_t k = 1; k <= asked + 1; k++)
        run(k, false);
}

TEST(CloneMemory, all_allocations_from_one_on_fail)
{
    const uint64_t asked = run(0, false);
    for (uint64_t k = 1; k <= asked + 1; k++)
        run(k, true);
}

// A clone is unsealed data: above the limit nothing more is accepted, until a seal has made room.
TEST(CloneMemory, D25_copies_count_as_unsealed)
{
    flyrail_config_t made = config(0);
    made.pending_limit_bytes = 64 << 10;
    Clones test(made);
    Texts targets;
    for (int t = 0; t < 20000; t++)
        targets.push_back("/T" + std::to_string(t));
    test.put({"/A"}, test.a, 1, {1});
    test.stage.finish(test.clone("/A", targets, 1));
    EXPECT_GT(test.stage.statistics().pending_bytes, made.pending_limit_bytes);
    const std::string why = refused(test.clone("/A", {"/U"}, 1), OVSTAGE_ERROR_QUEUE_FULL);
    EXPECT_NE(why.find("pending_limit_bytes"), std::string::npos) << why;
    test.stage.finish(test.stage.seal(1));
    test.stage.finish(test.clone("/A", {"/U"}, 2));
}

// What is destroyed before it has run leaves nothing behind.
TEST(CloneMemory, D20_clones_that_are_dropped)
{
    fr_test_heap *heap = fr_test_heap_create();
    {
        Clones test(config_of(heap));
        test.put({"/A"}, test.a, 1, {1});
        for (int k = 0; k < 5; k++)
            EXPECT_EQ(
                test.clone("/A", {"/T" + std::to_string(k), "/U" + std::to_string(k)}, 2).status,
                OVSTAGE_OK);
    }
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
}

TEST(CloneMemory, R18_a_path_that_would_be_too_long_makes_nothing)
{
    Clones test(0);
    const std::string deep(40000, 'd');
    test.put({"/A", "/A/" + deep}, test.a, 1, {1, 2});
    const std::string why = failed(test.stage, test.clone("/A", {"/T", "/" + deep}, 2));
    EXPECT_NE(why.find("targets[1]"), std::string::npos) << why;
    EXPECT_NE(why.find("65535"), std::string::npos) << why;
    test.stage.finish(test.stage.seal(2));
    EXPECT_EQ(test.get({"/T"}, test.a, 2), Floats{});
}

class CloneBeside : public testing::TestWithParam<uint32_t>
{
};

INSTANTIATE_TEST_SUITE_P(Workers, CloneBeside, testing::Values(0u, 1u, 2u, 4u),
                         testing::PrintToStringParamName());

// One thread writes the source and clones it, step by step; another one writes elsewhere at other
// ordinals and seals what is behind. Each step's copies show that step's source, whole.
TEST_P(CloneBeside, L1_writes_seals_and_reads_at_other_ordinals)
{
    const uint64_t steps = 40;
    const int prims = 12;
    Clones test(GetParam());
    Texts source = {"/A"};
    for (int p = 1; p < prims; p++)
        source.push_back("/A/" + std::to_string(p));
    test.put(source, test.a, 1, Floats(prims, 1));
    test.stage.finish(test.stage.seal(1));
    std::vector<Floats> values;
    for (uint64_t step = 0; step <= steps; step++)
        values.emplace_back(prims, static_cast<float>(step));
    std::atomic<uint64_t> cloned{1};
    std::thread other([&] {
        // Behind the clones: each ordinal is sealed when it has been cloned, while later ones run.
        const auto query = test.stage.query({"/Else", "/A/5"});
        const Floats two = {7, 7};
        for (uint64_t sealed = 1; sealed < steps;) {
            const uint64_t now = cloned.load();
            test.stage.finish(test.stage.write(query, test.b, now + 1000, two));
            if (now > sealed)
                test.stage.finish(test.stage.seal(sealed = now));
        }
    });
    const auto query = test.stage.query(source);
    const auto odd = test.stage.query({source[1], source[3], source[5]});
    for (uint64_t step = 2; step <= steps; step++) {
        const Floats some(3, static_cast<float>(step) + 0.5f);
        auto all = step % 3 == 0 ? test.stage.write(odd, test.a, step, some)
                                 : test.stage.write(query, test.a, step, values[step]);
        auto made =
            test.clone("/A", {"/T" + std::to_string(step), "/U" + std::to_string(step)}, step);
        test.stage.finish(all);
        test.stage.finish(made);
        cloned = step;
    }
    other.join();
    Floats expected(prims, 1);
    for (uint64_t step = 2; step <= steps; step++) {
        if (step % 3 == 0)
            expected[1] = expected[3] = expected[5] = static_cast<float>(step) + 0.5f;
        else
            expected = values[step];
        Texts copy;
        for (const std::string &path : source)
            copy.push_back("/U" + std::to_string(step) + path.substr(2));
        EXPECT_EQ(test.get(copy, test.a, steps), expected) << step;
    }
}

// Large enough to be cut into chunks, with a write, a delete and a seal at the same time.
TEST_P(CloneBeside, L2_many_copies_whose_rows_are_cut_into_chunks)
{
    Clones test(GetParam());
    Texts source = {"/A"}, targets;
    Floats numbers = {0};
    Rows<float> lists = {{0}};
    for (int p = 1; p < 20; p++) {
        source.push_back("/A/" + std::to_string(p));
        numbers.push_back(static_cast<float>(p));
        lists.push_back(Floats(static_cast<size_t>(p % 4), static_cast<float>(p)));
    }
    for (int t = 0; t < 600; t++)
        targets.push_back("/W/Env" + std::to_string(t));
    test.put(source, test.a, 1, numbers);
    test.put_arrays<float>(source, test.b, 1, lists, f32());
    const Floats late(20, 9);
    auto made = test.clone("/A", targets, 2);
    auto below = test.stage.write(test.stage.query(source), test.a, 1, late);
    auto above = test.remove({"/W/Env7", "/W/Env7/3"}, {}, 3);
    auto sealed = test.stage.seal(3);
    for (const auto &result : {made, below, above, sealed})
        test.stage.finish(result);
    for (const char *env : {"/W/Env0", "/W/Env321", "/W/Env599"}) {
        Texts copy = {env};
        for (int p = 1; p < 20; p++)
            copy.push_back(std::string(env) + "/" + std::to_string(p));
        EXPECT_EQ(test.get(copy, test.a, 3), numbers);
        const auto rows = test.get_arrays<float>(copy, test.b, 3);
        for (uint32_t p = 0; p < 20; p++)
            EXPECT_EQ(rows.at(p), lists[p]);
    }
    EXPECT_EQ(test.get(source, test.a, 3), late);
    EXPECT_EQ(test.get({"/W/Env7", "/W/Env7/2", "/W/Env7/3"}, test.a, 3), (Floats{2}));
}

} // namespace
