// Filters and computed columns when memory runs out: what answered OK holds, what failed says why
// and changed nothing, and the same works when there is memory again.
#include "tests/support/filters.h"
#include "tests/support/heap.h"

namespace
{

using namespace client;

using list = std::vector<std::string>;

class FilterMemory
{
  public:
    explicit FilterMemory(fr_test_heap *heap) : stage(config_of(heap)), x(stage.token("x"))
    {
        all = stage.query({"/a", "/a/b", "/a/c", "/d"});
        stage.finish(stage.write(all, x, 1, ones));
        stage.finish(stage.seal(1));
        std::vector<uint64_t> types(4, stage.token("Mesh"));
        types[3] = stage.token("Lamp");
        Payload payload(types, u64(), {4});
        stage.finish(client::write(stage, all, stage.token("usd-prim-type"), 2, payload.data));
    }

    // Whether it was done.
    bool done(ovstage_enqueue_result_t result)
    {
        if (result.status != OVSTAGE_OK) {
            EXPECT_EQ(result.status, OVSTAGE_ERROR_OUT_OF_MEMORY) << last_error();
            EXPECT_NE(last_error(), "");
            return false;
        }
        ovstage_op_wait_result_t outcome;
        EXPECT_EQ(ovstage_wait_op(stage.instance, result.op_index, forever, &outcome), OVSTAGE_OK);
        if (outcome.error_op_id_count > 0) {
            std::string why = text(ovstage_get_last_op_error(stage.instance, result.op_index));
            EXPECT_NE(why, "");
        }
        EXPECT_EQ(ovstage_release_op(stage.instance, result.op_index), OVSTAGE_OK);
        return outcome.error_op_id_count == 0;
    }

    // Each kind of filter, and what uses it before it is ready: nothing runs before it is waited
    // for.
    void try_all()
    {
        try_one({});
        try_one({{"usd-prim-type", OVSTAGE_FILTER_OP_IN, {"Mesh", "Lamp"}}});
        try_one(
            {{"x", OVSTAGE_FILTER_OP_GT, {"0"}}, {"usd-path", OVSTAGE_FILTER_OP_PREFIX, {"/"}}});
    }
    void try_one(const std::vector<Where> &parts)
    {
        ovstage_query_handle_t query = 0;
        ovstage_enqueue_result_t found = submit(stage, parts, &query);
        EXPECT_EQ(query == 0, found.status != OVSTAGE_OK);
        if (query == 0) {
            EXPECT_EQ(found.status, OVSTAGE_ERROR_OUT_OF_MEMORY);
            return;
        }
        const ovx_token_t columns[2] = {x, stage.token("usd-children")};
        ovstage_read_handle_t read = 0;
        ovstage_enqueue_result_t reads =
            ovstage_read_attributes(stage.instance, query, columns, 2, {0, 1, false}, &read);
        ovstage_enqueue_result_t writes = stage.write(query, x, ordinal, ones);
        ovstage_map_desc_t desc;
        std::memset(&desc, 0, sizeof(desc));
        desc.attribute = named(x);
        ovstage_map_handle_t map = 0;
        ovstage_enqueue_result_t maps =
            ovstage_map_attribute(stage.instance, query, &desc, ordinal, nullptr, 0, &map);
        bool was_found = done(found), was_read = done(reads);
        for (ovstage_enqueue_result_t result : {writes, maps})
            if (done(result)) {
                EXPECT_TRUE(was_found);
            }
        ovstage_read_group_t group;
        while (was_read &&
               ovstage_fetch_read_next(stage.instance, read, forever, &group) == OVSTAGE_OK) {
            EXPECT_EQ(group.data.count, group.data.tensors[0].dtype.code == kDLFloat ? 4u : 1u);
            EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        }
        ovstage_query_result_t result;
        ovstage_api_status_t status =
            ovstage_fetch_query_result(stage.instance, query, forever, &result);
        if (status == OVSTAGE_OK) {
            EXPECT_EQ(result.total_prim_count, 4u);
            EXPECT_EQ(result.attribute_count, 2u);
            EXPECT_EQ(ovstage_release_query_result(stage.instance, &result), OVSTAGE_OK);
        } else {
            EXPECT_EQ(status, was_found ? OVSTAGE_ERROR_OUT_OF_MEMORY : OVSTAGE_ERROR_OP_FAILED);
            EXPECT_NE(last_error(), "");
        }
        if (read != 0)
            ovstage_release_read(stage.instance, read);
        if (map != 0)
            ovstage_unmap_attribute(stage.instance, map, {0, 0});
        ovstage_release_query(stage.instance, query);
    }

    const std::vector<float> ones = {1, 1, 1, 1};
    uint64_t ordinal = 3;
    Stage stage;
    ovx_token_t x;
    ovstage_query_handle_t all = 0;

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
        FilterMemory test(heap);
        fr_test_heap_fail(heap, k, ever_after);
        test.try_all();
        asked = fr_test_heap_calls(heap);
        fr_test_heap_fail(heap, 0, false);
        EXPECT_EQ(find(test.stage, {{"x", OVSTAGE_FILTER_OP_IN, {"1", "0"}}}),
                  (list{"/a", "/a/b", "/a/c", "/d"}));
        EXPECT_EQ(find(test.stage, {{"usd-prim-type", OVSTAGE_FILTER_OP_IN, {"Lamp"}}}),
                  (list{"/d"}));
        EXPECT_EQ(find(test.stage, {{"usd-children", OVSTAGE_FILTER_OP_HAS, {}}}), (list{"/a"}));
        test.stage.finish(test.stage.seal(9));
    }
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    return asked;
}

TEST(FilterMemoryTest, EachAllocationFailsInTurn)
{
    uint64_t asked = run(0, false);
    ASSERT_GT(asked, 10u);
    for (uint64_t k = 1; k <= asked; k++)
        run(k, false);
}

TEST(FilterMemoryTest, AllAllocationsFailFromOneOn)
{
    uint64_t asked = run(0, false);
    for (uint64_t k = 1; k <= asked; k++)
        run(k, true);
}

} // namespace
