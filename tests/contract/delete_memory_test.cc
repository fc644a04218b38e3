// Deletes when memory runs out: what answered OK holds, what failed did nothing, and a seal loses
// none of it.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/filters.h"
#include "tests/support/heap.h"

namespace
{

using namespace client;

constexpr size_t prims = 70; // more than fit into what a delete has on its stack

class DeleteMemory
{
  public:
    explicit DeleteMemory(fr_test_heap *heap) : stage(config_of(heap)), a(stage.token("a"))
    {
        all = stage.query(prims);
        some = stage.query({"/P/1", "/P/3", "/P/5"});
        stage.finish(stage.write(all, a, 1, std::vector<float>(prims, 1)));
        stage.finish(stage.seal(1));
    }

    // Whether it was done.
    bool done(ovstage_enqueue_result_t result)
    {
        if (result.status != OVSTAGE_OK) {
            EXPECT_EQ(result.status, OVSTAGE_ERROR_OUT_OF_MEMORY) << last_error();
            return false;
        }
        ovstage_op_wait_result_t outcome;
        EXPECT_EQ(ovstage_wait_op(stage.instance, result.op_index, forever, &outcome), OVSTAGE_OK);
        if (outcome.error_op_id_count > 0) {
            std::string why = text(ovstage_get_last_op_error(stage.instance, result.op_index));
            EXPECT_NE(why.find("memory"), std::string::npos) << why;
        }
        EXPECT_EQ(ovstage_release_op(stage.instance, result.op_index), OVSTAGE_OK);
        return outcome.error_op_id_count == 0;
    }
    bool remove(ovstage_query_handle_t query, bool whole, uint64_t ordinal)
    {
        ovx_string_or_token_t name{a, {}};
        return done(
            ovstage_delete_attributes(stage.instance, query, &name, whole ? 0 : 1, ordinal));
    }

    Stage stage;
    ovx_token_t a;
    ovstage_query_handle_t all = 0, some = 0;

  private:
    static flyrail_config_t config_of(fr_test_heap *heap)
    {
        const fr_allocator *allocator = fr_test_heap_allocator(heap);
        flyrail_config_t made = config(0);
        made.allocator.allocate = allocator->allocate;
        made.allocator.release = allocator->release;
        made.allocator.user = allocator->user;
        return made;
    }
};

// Returns how many allocations the program asks for.
uint64_t run(uint64_t k, bool ever_after)
{
    fr_test_heap *heap = fr_test_heap_create();
    uint64_t asked = 0;
    {
        DeleteMemory test(heap);
        fr_test_heap_fail(heap, k, ever_after);
        bool deleted = test.remove(test.all, false, 2);
        bool written = test.done(test.stage.write(test.some, test.a, 2, {2, 2, 2}));
        bool removed = test.remove(test.some, true, 3);
        bool sealed = test.done(test.stage.seal(3));
        asked = fr_test_heap_calls(heap);
        fr_test_heap_fail(heap, 0, 0);
        if (!sealed) {
            EXPECT_TRUE(test.done(test.stage.seal(3)));
        }
        std::vector<float> at_2, at_3;
        for (size_t prim = 0; prim < prims; prim++) {
            bool is_some = prim == 1 || prim == 3 || prim == 5;
            float value = is_some && written ? 2.0f : 1.0f;
            bool there = !deleted || (is_some && written);
            if (there)
                at_2.push_back(value);
            if (there && !(is_some && removed))
                at_3.push_back(value);
        }
        EXPECT_EQ(test.stage.read(test.all, test.a, 2), at_2) << k;
        EXPECT_EQ(test.stage.read(test.all, test.a, 3), at_3) << k;
    }
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    return asked;
}

// An INSERT that is judged after later accepted ops below it have run, and were sealed. It sees
// the delete before it, if that was done, and none of them.
uint64_t run_judged(uint64_t k, bool ever_after)
{
    fr_test_heap *heap = fr_test_heap_create();
    uint64_t asked = 0;
    {
        DeleteMemory test(heap);
        const Stage &stage = test.stage;
        const std::vector<float> nine = {9, 9, 9}, four = {4, 4, 4};
        fr_test_heap_fail(heap, k, ever_after);
        bool deleted = test.remove(test.some, true, 2);
        bool begins = test.done( // what a later one adds to
            stage.write(stage.query({"/P/2"}), test.a, 4, {4}));
        auto insert = stage.write(test.some, test.a, 9, nine, OVSTAGE_PRIM_MODE_INSERT);
        std::string why = insert.status != OVSTAGE_OK ? last_error() : "";
        bool written = test.done(stage.write(test.some, test.a, 4, four));
        bool removed = test.remove(stage.query({"/P/5"}), false, 5);
        bool sealed = test.done(stage.seal(5));
        asked = fr_test_heap_calls(heap);
        fr_test_heap_fail(heap, 0, 0);
        if (!sealed) {
            EXPECT_TRUE(test.done(stage.seal(5)));
        }
        bool inserted = false;
        if (insert.status == OVSTAGE_OK) {
            ovstage_op_wait_result_t outcome;
            EXPECT_EQ(ovstage_wait_op(stage.instance, insert.op_index, forever, &outcome),
                      OVSTAGE_OK);
            inserted = outcome.error_op_id_count == 0;
            if (!inserted)
                why = text(ovstage_get_last_op_error(stage.instance, insert.op_index));
        }
        EXPECT_TRUE(inserted || why.find("memory") != std::string::npos ||
                    (!deleted && why.find("exists already") != std::string::npos))
            << k << ": " << why;
        EXPECT_FALSE(inserted && !deleted) << k;
        EXPECT_TRUE(test.done(stage.seal(9)));
        std::vector<float> expected;
        for (size_t prim = 0; prim < prims; prim++) {
            bool is_some = prim == 1 || prim == 3 || prim == 5;
            bool there = !is_some || written || !deleted;
            if (is_some && inserted)
                expected.push_back(9);
            else if (there && !(prim == 5 && removed))
                expected.push_back((is_some && written) || (prim == 2 && begins) ? 4.0f : 1.0f);
        }
        EXPECT_EQ(stage.read(test.all, test.a, 9), expected) << k;
    }
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    return asked;
}

TEST(DeleteMemory, a_judgement_after_later_ops)
{
    uint64_t asked = run_judged(0, false);
    ASSERT_GT(asked, 5u);
    for (uint64_t k = 1; k <= asked + 1; k++) {
        run_judged(k, false);
        run_judged(k, true);
    }
}

// A later accepted write below what is to be judged, to a version that others began.
uint64_t run_late_write(uint64_t k)
{
    fr_test_heap *heap = fr_test_heap_create();
    uint64_t asked = 0;
    {
        DeleteMemory test(heap);
        const Stage &stage = test.stage;
        EXPECT_TRUE(test.remove(test.some, true, 2));
        EXPECT_TRUE(test.done(stage.write(stage.query({"/P/2"}), test.a, 4, {4})));
        const std::vector<float> nine = {9, 9, 9}; // is read when the filter waits for it
        auto insert = stage.write(test.some, test.a, 9, nine, OVSTAGE_PRIM_MODE_INSERT);
        fr_test_heap_fail(heap, k, false);
        (void)test.done(stage.write(test.some, test.a, 4, {5, 5, 5}));
        asked = fr_test_heap_calls(heap);
        fr_test_heap_fail(heap, 0, 0);
        // Nobody is left waiting for a write that has failed.
        EXPECT_EQ(find(stage, {{"a", OVSTAGE_FILTER_OP_GT, {"3"}}}).size(), 4u) << k;
        EXPECT_EQ(insert.status, OVSTAGE_OK);
    }
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    return asked;
}

TEST(DeleteMemory, a_late_write_that_fails_holds_nobody_up)
{
    uint64_t asked = run_late_write(0);
    ASSERT_GT(asked, 0u);
    for (uint64_t k = 1; k <= asked + 1; k++)
        run_late_write(k);
}

TEST(DeleteMemory, the_kth_allocation_fails)
{
    uint64_t asked = run(0, false);
    ASSERT_GT(asked, 5u);
    for (uint64_t k = 1; k <= asked + 1; k++)
        run(k, false);
}

TEST(DeleteMemory, all_allocations_from_one_on_fail)
{
    uint64_t asked = run(0, false);
    for (uint64_t k = 1; k <= asked + 1; k++)
        run(k, true);
}

} // namespace
