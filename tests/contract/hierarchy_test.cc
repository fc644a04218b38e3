// Hierarchy lookups: R143 to R148, D13, D26, one test a rule, and programs against a set of paths.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/client.h"
#include "tests/support/columns.h"
#include "tests/support/heap.h"

namespace
{

using namespace client;
using Paths = std::vector<std::string>;

constexpr auto parent_of = OVSTAGE_HIERARCHY_PARENT;
constexpr auto children_of = OVSTAGE_HIERARCHY_CHILDREN;
constexpr auto siblings_of = OVSTAGE_HIERARCHY_SIBLINGS;

struct Item {
    ovstage_api_status_t status;
    Paths paths; // sorted
    bool operator==(const Item &other) const
    {
        return status == other.status && paths == other.paths;
    }
};

std::ostream &operator<<(std::ostream &out, const Item &item)
{
    out << "status " << item.status;
    for (const std::string &path : item.paths)
        out << " " << path;
    return out;
}

Item found(Paths paths)
{
    std::sort(paths.begin(), paths.end());
    return {OVSTAGE_OK, paths};
}

const Item absent{OVSTAGE_ERROR_NOT_FOUND, {}};

std::vector<Item> items_of(const ovstage_hierarchy_result_t &result)
{
    std::vector<Item> items;
    for (size_t i = 0; i < result.input_count; i++) {
        const ovstage_hierarchy_item_t &from = result.items[i];
        Item item{from.status, {}};
        EXPECT_LE(from.path_offset + from.path_count, result.path_count);
        for (size_t p = from.path_offset; p < from.path_offset + from.path_count; p++) {
            EXPECT_EQ(result.paths[p].token, OVX_INVALID_TOKEN);
            EXPECT_EQ(result.paths[p].string.ptr[result.paths[p].string.length], '\0');
            item.paths.push_back(text(result.paths[p].string));
        }
        std::sort(item.paths.begin(), item.paths.end());
        items.push_back(item);
    }
    return items;
}

// A lookup that has not been released.
struct Lookup {
    Lookup(const Stage &on, const Paths &paths, ovstage_hierarchy_relation_t relation,
           uint64_t ordinal = 1)
        : stage(&on)
    {
        ovx_primpath_list_t list = on.list(paths);
        result = ovstage_get_hierarchy(on.instance, list, ordinal, relation, &handle);
        EXPECT_EQ(result.status, OVSTAGE_OK) << last_error();
        // R143: copied, so the client may let go of it at once.
        path_dictionary_release_path_list_reference(on.dictionary, list);
    }
    Lookup(const Lookup &) = delete;
    Lookup &operator=(const Lookup &) = delete;
    ~Lookup()
    {
        if (handle)
            stage->finish(ovstage_release_hierarchy(stage->instance, handle));
    }
    std::vector<Item> items()
    {
        stage->finish(result);
        ovstage_hierarchy_result_t fetched;
        EXPECT_EQ(ovstage_fetch_hierarchy_result(stage->instance, handle, &fetched), OVSTAGE_OK)
            << last_error();
        std::vector<Item> out = items_of(fetched);
        EXPECT_EQ(ovstage_release_hierarchy_result(stage->instance, &fetched), OVSTAGE_OK);
        return out;
    }

    const Stage *stage;
    ovstage_hierarchy_handle_t handle = 0;
    ovstage_enqueue_result_t result;
};

std::vector<Item> lookup(const Stage &stage, const Paths &paths,
                         ovstage_hierarchy_relation_t relation, uint64_t ordinal = 1)
{
    return Lookup(stage, paths, relation, ordinal).items();
}

// Writes an attribute to each of the paths.
void write_paths(const Stage &stage, const Paths &paths, uint64_t ordinal,
                 const std::string &attribute = "a")
{
    ovstage_query_handle_t query = stage.query(paths);
    std::vector<float> values(paths.size(), 1);
    stage.finish(stage.write(query, stage.token(attribute), ordinal, values));
    stage.finish(ovstage_release_query(stage.instance, query));
}

void delete_paths(const Stage &stage, const Paths &paths, uint64_t ordinal)
{
    ovstage_query_handle_t query = stage.query(paths);
    stage.finish(ovstage_delete_attributes(stage.instance, query, nullptr, 0, ordinal));
    stage.finish(ovstage_release_query(stage.instance, query));
}

class Hierarchy : public testing::TestWithParam<uint32_t>
{
  protected:
    Stage stage{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Workers, Hierarchy, testing::Values(0u, 2u));

TEST_P(Hierarchy, R143_one_item_for_each_input_in_input_order)
{
    write_paths(stage, {"/W", "/W/A", "/W/A/X", "/W/B"}, 1);
    stage.finish(stage.seal(1));
    std::vector<Item> items =
        lookup(stage, {"/W/B", "/Nowhere", "/W", "/W/A", "/W", "/W/A/Gone"}, children_of);
    std::vector<Item> expected = {
        found({}), absent, found({"/W/A", "/W/B"}), found({"/W/A/X"}), found({"/W/A", "/W/B"}),
        absent};
    EXPECT_EQ(items, expected);
}

TEST_P(Hierarchy, R143_D26_of_nothing)
{
    EXPECT_EQ(lookup(stage, {}, parent_of).size(), 0u);
    ovstage_hierarchy_handle_t handle = 7;
    auto refused = ovstage_get_hierarchy(stage.instance, 0, 1, parent_of, &handle);
    EXPECT_EQ(refused.status, OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(refused.op_index, 0u);
    EXPECT_EQ(handle, OVSTAGE_INVALID_HIERARCHY_HANDLE);
}

TEST_P(Hierarchy, R144_results_live_until_they_are_released)
{
    write_paths(stage, {"/A", "/A/B"}, 1);
    stage.finish(stage.seal(1));
    Lookup of(stage, {"/A"}, children_of, 42);
    stage.finish(of.result);
    ovstage_hierarchy_result_t first, second;
    ASSERT_EQ(ovstage_fetch_hierarchy_result(stage.instance, of.handle, &first), OVSTAGE_OK);
    ASSERT_EQ(ovstage_fetch_hierarchy_result(stage.instance, of.handle, &second), OVSTAGE_OK);
    EXPECT_EQ(first.ordinal, 42u);
    EXPECT_NE(first.hierarchy_result_id, OVSTAGE_INVALID_HIERARCHY_RESULT_ID);
    EXPECT_NE(first.hierarchy_result_id, second.hierarchy_result_id); // D15
    stage.finish(ovstage_release_hierarchy(stage.instance, of.handle));
    EXPECT_EQ(ovstage_fetch_hierarchy_result(stage.instance, of.handle, &second),
              OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(second.items, nullptr);
    EXPECT_EQ(ovstage_release_hierarchy(stage.instance, of.handle).status,
              OVSTAGE_ERROR_INVALID_HANDLE);
    of.handle = 0;
    EXPECT_EQ(items_of(first), std::vector<Item>{found({"/A/B"})});
    EXPECT_EQ(ovstage_release_hierarchy_result(stage.instance, &first), OVSTAGE_OK);
    EXPECT_EQ(ovstage_release_hierarchy_result(stage.instance, &first),
              OVSTAGE_ERROR_INVALID_HANDLE); // `second` is left to the end of the instance
}

TEST_P(Hierarchy, R15_handles_are_not_taken_for_each_other)
{
    write_paths(stage, {"/A"}, 1);
    stage.finish(stage.seal(1));
    Lookup of(stage, {"/A"}, children_of);
    stage.finish(of.result);
    ovstage_hierarchy_result_t result, wrong;
    ASSERT_EQ(ovstage_fetch_hierarchy_result(stage.instance, of.handle, &result), OVSTAGE_OK);
    EXPECT_EQ(ovstage_fetch_hierarchy_result(stage.instance, result.hierarchy_result_id, &wrong),
              OVSTAGE_ERROR_INVALID_HANDLE);
    wrong.hierarchy_result_id = of.handle;
    EXPECT_EQ(ovstage_release_hierarchy_result(stage.instance, &wrong),
              OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(ovstage_release_query(stage.instance, of.handle).status,
              OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(ovstage_release_hierarchy_result(stage.instance, &result), OVSTAGE_OK);
}

TEST(HierarchyPending, R144_a_fetch_does_not_wait)
{
    Stage stage(2);
    write_paths(stage, {"/A", "/A/B"}, 1);
    Gate gate;
    auto held = gate.submit(stage, 1);
    auto seal = stage.seal(1);
    Lookup of(stage, {"/A"}, children_of);
    ovstage_hierarchy_result_t result;
    EXPECT_EQ(ovstage_fetch_hierarchy_result(stage.instance, of.handle, &result),
              OVSTAGE_ERROR_TIMEOUT);
    EXPECT_EQ(result.items, nullptr);
    gate.let_go();
    stage.finish(held);
    stage.finish(seal);
    EXPECT_EQ(of.items(), std::vector<Item>{found({"/A/B"})}); // and has seen that seal
}

TEST(HierarchyPending, R144_polls_come_to_an_end_without_workers)
{
    Stage stage(0);
    write_paths(stage, {"/A"}, 1);
    auto seal = stage.seal(1);
    Lookup of(stage, {"/A"}, parent_of);
    ovstage_hierarchy_result_t result;
    ovstage_api_status_t status = OVSTAGE_ERROR_TIMEOUT;
    for (int polls = 0; polls < 3 && status == OVSTAGE_ERROR_TIMEOUT; polls++)
        status = ovstage_fetch_hierarchy_result(stage.instance, of.handle, &result);
    ASSERT_EQ(status, OVSTAGE_OK);
    EXPECT_EQ(items_of(result), std::vector<Item>{found({})});
    EXPECT_EQ(ovstage_release_hierarchy_result(stage.instance, &result), OVSTAGE_OK);
    stage.finish(seal);
    stage.finish(of.result);
}

TEST_P(Hierarchy, R145_R146_D13_by_path_text_one_level)
{
    // No prim at /W/Gap, nor at the root.
    write_paths(stage, {"/W", "/Wide", "/W/A", "/W/B", "/W/A/X", "/W/Gap/Y", "/W/Gap/Z"}, 1);
    stage.finish(stage.seal(1));
    const Paths all = {"/W", "/W/A", "/W/A/X", "/W/Gap/Y", "/W/Gap", "/"};
    EXPECT_EQ(
        lookup(stage, all, parent_of),
        (std::vector<Item>{found({}), found({"/W"}), found({"/W/A"}), found({}), absent, absent}));
    EXPECT_EQ(lookup(stage, all, children_of),
              (std::vector<Item>{found({"/W/A", "/W/B"}), found({"/W/A/X"}), found({}), found({}),
                                 absent, absent}));
    EXPECT_EQ(lookup(stage, all, siblings_of),
              (std::vector<Item>{found({"/Wide"}), found({"/W/B"}), found({}), found({"/W/Gap/Z"}),
                                 absent, absent}));
}

TEST_P(Hierarchy, R146_the_root_is_no_parent_even_if_it_is_a_prim)
{
    write_paths(stage, {"/", "/A", "/B"}, 1);
    stage.finish(stage.seal(1));
    EXPECT_EQ(lookup(stage, {"/A", "/"}, parent_of), (std::vector<Item>{found({}), found({})}));
    EXPECT_EQ(lookup(stage, {"/"}, children_of), std::vector<Item>{found({"/A", "/B"})});
    EXPECT_EQ(lookup(stage, {"/"}, siblings_of), std::vector<Item>{found({})});
}

TEST_P(Hierarchy, R147_the_newest_sealed_state)
{
    write_paths(stage, {"/A", "/A/B"}, 1);
    EXPECT_EQ(lookup(stage, {"/A"}, children_of), std::vector<Item>{absent}); // unsealed
    stage.finish(stage.seal(1));
    write_paths(stage, {"/A/C"}, 2);
    EXPECT_EQ(lookup(stage, {"/A"}, children_of, 2), std::vector<Item>{found({"/A/B"})});
    auto seal = stage.seal(2);
    // Ordered behind a seal that was accepted before it.
    EXPECT_EQ(lookup(stage, {"/A"}, children_of, 2), std::vector<Item>{found({"/A/B", "/A/C"})});
    stage.finish(seal);
    delete_paths(stage, {"/A/B"}, 3);
    EXPECT_EQ(lookup(stage, {"/A"}, children_of, 3), std::vector<Item>{found({"/A/B", "/A/C"})});
    stage.finish(stage.seal(3));
    // Of the newest one, whatever was asked for.
    EXPECT_EQ(lookup(stage, {"/A"}, children_of, 1), std::vector<Item>{found({"/A/C"})});
    delete_paths(stage, {"/A"}, 4);
    stage.finish(stage.seal(4));
    EXPECT_EQ(lookup(stage, {"/A", "/A/C"}, parent_of), (std::vector<Item>{absent, found({})}));
}

TEST_P(Hierarchy, R147_each_attribute_by_its_own_floor)
{
    write_paths(stage, {"/A", "/A/B"}, 1, "a");
    write_paths(stage, {"/A/C"}, 1, "c");
    std::vector<ovstage_enqueue_result_t> seals;
    for (uint64_t ordinal = 1; ordinal <= 20; ordinal++)
        seals.push_back(stage.seal(ordinal, OVSTAGE_SCOPE_INCLUDE, {stage.token("a")}));
    EXPECT_EQ(lookup(stage, {"/A"}, children_of), std::vector<Item>{found({"/A/B"})});
    for (const ovstage_enqueue_result_t &seal : seals)
        stage.finish(seal);
    stage.finish(stage.seal(1, OVSTAGE_SCOPE_INCLUDE, {stage.token("c")}));
    EXPECT_EQ(lookup(stage, {"/A"}, children_of), std::vector<Item>{found({"/A/B", "/A/C"})});
}

TEST_P(Hierarchy, R136_D13_a_copy_without_a_parent_belongs_to_nobody)
{
    write_paths(stage, {"/W", "/W/A", "/W/A/X"}, 1);
    const ovx_string_t target = literal_to_ovx_string("/W/Lost/B");
    stage.finish(ovstage_clone(stage.instance, literal_to_ovx_string("/W/A"), &target, 1, 1));
    stage.finish(stage.seal(1));
    EXPECT_EQ(lookup(stage, {"/W/Lost/B", "/W/Lost/B/X"}, parent_of),
              (std::vector<Item>{found({}), found({"/W/Lost/B"})}));
    EXPECT_EQ(lookup(stage, {"/W", "/W/Lost/B"}, children_of),
              (std::vector<Item>{found({"/W/A"}), found({"/W/Lost/B/X"})}));
    write_paths(stage, {"/W/Lost"}, 2); // once it is there, it is the parent
    stage.finish(stage.seal(2));
    EXPECT_EQ(lookup(stage, {"/W/Lost/B"}, parent_of, 2), (std::vector<Item>{found({"/W/Lost"})}));
}

TEST_P(Hierarchy, R148_an_unknown_relation)
{
    ovx_primpath_list_t list = stage.list({"/A"});
    for (int relation : {3, -1}) {
        ovstage_hierarchy_handle_t handle = 7;
        auto refused = ovstage_get_hierarchy(
            stage.instance, list, 1, static_cast<ovstage_hierarchy_relation_t>(relation), &handle);
        EXPECT_EQ(refused.status, OVSTAGE_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(handle, OVSTAGE_INVALID_HIERARCHY_HANDLE);
    }
    path_dictionary_release_path_list_reference(stage.dictionary, list);
}

TEST_P(Hierarchy, D8_null_arguments)
{
    ovx_primpath_list_t list = stage.list({"/A"});
    ovstage_hierarchy_handle_t handle = 7;
    ovstage_hierarchy_result_t result;
    std::memset(&result, 5, sizeof(result));
    ovstage_instance_t *const none = nullptr;
    const ovstage_hierarchy_computation_model_desc_t *models = nullptr;
    size_t count = 7;
    const auto bad = OVSTAGE_ERROR_INVALID_ARGUMENT;
    EXPECT_EQ(ovstage_get_hierarchy(none, list, 1, parent_of, &handle).status, bad);
    EXPECT_EQ(handle, OVSTAGE_INVALID_HIERARCHY_HANDLE);
    EXPECT_EQ(ovstage_get_hierarchy(stage.instance, list, 1, parent_of, nullptr).status, bad);
    EXPECT_EQ(ovstage_fetch_hierarchy_result(none, 5, &result), bad);
    EXPECT_EQ(result.paths, nullptr);
    EXPECT_EQ(ovstage_fetch_hierarchy_result(stage.instance, 5, nullptr), bad);
    EXPECT_EQ(ovstage_fetch_hierarchy_result(stage.instance, 5, &result),
              OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(ovstage_release_hierarchy_result(none, &result), bad);
    EXPECT_EQ(ovstage_release_hierarchy_result(stage.instance, nullptr), bad);
    EXPECT_EQ(ovstage_release_hierarchy(none, 5).status, bad);
    EXPECT_EQ(ovstage_get_hierarchy_computation_models(none, &models, &count), bad);
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(ovstage_get_hierarchy_computation_models(stage.instance, nullptr, &count), bad);
    EXPECT_EQ(ovstage_get_hierarchy_computation_models(stage.instance, &models, nullptr), bad);
    EXPECT_NE(last_error().find("out_count"), std::string::npos);
    path_dictionary_release_path_list_reference(stage.dictionary, list);
}

TEST_P(Hierarchy, R155_models)
{
    const ovstage_hierarchy_computation_model_desc_t *models = nullptr;
    size_t count = 0;
    ASSERT_EQ(ovstage_get_hierarchy_computation_models(stage.instance, &models, &count),
              OVSTAGE_OK);
    const Paths names = {"cpu-incremental", "gpu-incremental", "gpu-global", "runtime-default"};
    ASSERT_EQ(count, names.size());
    for (size_t i = 0; i < count; i++) {
        EXPECT_EQ(models[i].model_id, static_cast<int>(i) + 1);
        EXPECT_EQ(text(models[i].name), names[i]);
        EXPECT_EQ(models[i].name.ptr[models[i].name.length], '\0');
        EXPECT_FALSE(is_ovx_string_empty(&models[i].description));
    }
}

// --- programs against a set of paths -------------------------------------------------------------

std::string parent_text(const std::string &path)
{
    return path.substr(0, path.rfind('/'));
}

std::vector<Item> expected_of(const std::set<std::string> &there, const Paths &inputs,
                              ovstage_hierarchy_relation_t relation)
{
    std::vector<Item> items;
    for (const std::string &path : inputs) {
        Paths relatives;
        for (const std::string &other : there)
            if ((relation == parent_of && other == parent_text(path)) ||
                (relation == children_of && parent_text(other) == path) ||
                (relation == siblings_of && other != path &&
                 parent_text(other) == parent_text(path)))
                relatives.push_back(other);
        items.push_back(there.count(path) ? found(relatives) : absent);
    }
    return items;
}

TEST_P(Hierarchy, R143_D13_random_trees_equal_a_set_of_paths)
{
    std::mt19937 random(5);
    Paths pool;
    for (const char *a : {"/a", "/b"})
        for (const char *b : {"", "/c", "/d", "/cc"})
            for (const char *c : {"", "/e", "/f"})
                if (*b || !*c)
                    pool.push_back(std::string(a) + b + c);
    std::set<std::string> there;
    for (uint64_t ordinal = 1; ordinal <= 40; ordinal++) {
        std::shuffle(pool.begin(), pool.end(), random);
        Paths some(pool.begin(), pool.begin() + 1 + random() % 5);
        if (random() % 2) {
            write_paths(stage, some, ordinal, random() % 2 ? "a" : "b");
            there.insert(some.begin(), some.end());
        } else {
            delete_paths(stage, some, ordinal);
            for (const std::string &path : some)
                there.erase(path);
        }
        stage.finish(stage.seal(ordinal));
        for (auto relation : {parent_of, children_of, siblings_of})
            EXPECT_EQ(lookup(stage, pool, relation, ordinal), expected_of(there, pool, relation))
                << ordinal;
    }
}

// --- memory --------------------------------------------------------------------------------------

flyrail_config_t config_of(fr_test_heap *heap)
{
    const fr_allocator *allocator = fr_test_heap_allocator(heap);
    flyrail_config_t made = config(0);
    made.allocator.allocate = allocator->allocate;
    made.allocator.release = allocator->release;
    made.allocator.user = allocator->user;
    return made;
}

// Returns how many allocations a lookup asks for.
uint64_t look_up_with_failures(uint64_t k, bool ever_after)
{
    fr_test_heap *heap = fr_test_heap_create();
    uint64_t asked = 0;
    {
        Stage stage(config_of(heap));
        Paths paths = {"/A"};
        for (int i = 0; i < 40; i++)
            paths.push_back("/A/" + std::to_string(i));
        write_paths(stage, paths, 1);
        ovx_primpath_list_t list = stage.list({"/A", "/B"});
        // More pending seals than the call has on its stack.
        std::vector<ovstage_enqueue_result_t> seals;
        for (uint64_t ordinal = 1; ordinal <= 20; ordinal++)
            seals.push_back(stage.seal(ordinal));
        fr_test_heap_fail(heap, k, ever_after);
        ovstage_hierarchy_handle_t handle = 7;
        ovstage_hierarchy_result_t result;
        auto enqueued = ovstage_get_hierarchy(stage.instance, list, 1, children_of, &handle);
        if (enqueued.status != OVSTAGE_OK) {
            EXPECT_EQ(enqueued.status, OVSTAGE_ERROR_OUT_OF_MEMORY);
            EXPECT_EQ(handle, OVSTAGE_INVALID_HIERARCHY_HANDLE);
        } else {
            ovstage_op_wait_result_t outcome;
            EXPECT_EQ(ovstage_wait_op(stage.instance, enqueued.op_index, forever, &outcome),
                      OVSTAGE_OK);
            bool failed = outcome.error_op_id_count > 0;
            auto status = ovstage_fetch_hierarchy_result(stage.instance, handle, &result);
            if (failed) {
                EXPECT_EQ(status, OVSTAGE_ERROR_OP_FAILED);
                EXPECT_NE(text(ovstage_get_last_op_error(stage.instance, enqueued.op_index))
                              .find("memory"),
                          std::string::npos);
            } else if (status == OVSTAGE_OK) {
                EXPECT_EQ(items_of(result)[0].paths.size(), 40u);
                EXPECT_EQ(items_of(result)[1], absent);
                EXPECT_EQ(ovstage_release_hierarchy_result(stage.instance, &result), OVSTAGE_OK);
            } else {
                EXPECT_EQ(status, OVSTAGE_ERROR_OUT_OF_MEMORY);
            }
        }
        asked = fr_test_heap_calls(heap);
        fr_test_heap_fail(heap, 0, 0);
        for (const ovstage_enqueue_result_t &seal : seals)
            stage.finish(seal);
        if (enqueued.status == OVSTAGE_OK) {
            EXPECT_EQ(ovstage_release_op(stage.instance, enqueued.op_index), OVSTAGE_OK);
            stage.finish(ovstage_release_hierarchy(stage.instance, handle));
        }
        path_dictionary_release_path_list_reference(stage.dictionary, list);
        EXPECT_EQ(lookup(stage, {"/A"}, children_of)[0].paths.size(), 40u);
    }
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    return asked;
}

TEST(HierarchyMemory, the_kth_allocation_fails)
{
    uint64_t asked = look_up_with_failures(0, false);
    ASSERT_GT(asked, 2u);
    for (uint64_t k = 1; k <= asked + 1; k++) {
        look_up_with_failures(k, false);
        look_up_with_failures(k, true);
    }
}

TEST(HierarchyMemory, D20_lookups_and_results_that_are_left_go_with_the_instance)
{
    fr_test_heap *heap = fr_test_heap_create();
    {
        Stage stage(config_of(heap));
        write_paths(stage, {"/A", "/A/B"}, 1);
        stage.finish(stage.seal(1));
        ovx_primpath_list_t list = stage.list({"/A"});
        ovstage_hierarchy_handle_t done = 0, pending = 0;
        auto first = ovstage_get_hierarchy(stage.instance, list, 1, children_of, &done);
        stage.finish(first);
        ovstage_hierarchy_result_t result;
        EXPECT_EQ(ovstage_fetch_hierarchy_result(stage.instance, done, &result), OVSTAGE_OK);
        EXPECT_EQ(ovstage_get_hierarchy(stage.instance, list, 1, children_of, &pending).status,
                  OVSTAGE_OK);
        path_dictionary_release_path_list_reference(stage.dictionary, list);
    }
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
}

} // namespace
