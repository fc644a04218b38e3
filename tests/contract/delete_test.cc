// Deleting: R48, R128 to R130, L3, D2, D3, D4, D12, D17.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/support/client.h"

namespace
{

using namespace client;

class DeleteTest : public testing::TestWithParam<uint32_t>
{
  protected:
    DeleteTest() : stage(GetParam()), a(stage.token("a")), b(stage.token("b"))
    {
    }

    ovstage_enqueue_result_t remove(ovstage_query_handle_t query,
                                    const std::vector<ovx_token_t> &attributes, uint64_t ordinal)
    {
        std::vector<ovx_string_or_token_t> names;
        for (ovx_token_t token : attributes)
            names.push_back(ovx_string_or_token_t{token, {}});
        return ovstage_delete_attributes(stage.instance, query, names.data(), names.size(),
                                         ordinal);
    }
    // One value for each path, in the columns's one group; paths without a value are left out.
    std::map<std::string, float> values(const std::vector<std::string> &paths,
                                        ovx_token_t attribute, uint64_t ordinal)
    {
        std::map<std::string, float> found;
        for (const std::string &path : paths) {
            std::vector<float> one = stage.read(stage.query({path}), attribute, ordinal);
            EXPECT_LE(one.size(), 1u);
            if (!one.empty())
                found[path] = one[0];
        }
        // All at once says the same.
        std::vector<float> all = stage.read(stage.query(paths), attribute, ordinal), expected;
        for (const std::string &path : paths)
            if (found.count(path))
                expected.push_back(found[path]);
        EXPECT_EQ(all, expected);
        return found;
    }
    // Of an enqueue that was accepted: what became of the op.
    ovstage_api_status_t outcome(ovstage_enqueue_result_t result)
    {
        EXPECT_EQ(result.status, OVSTAGE_OK) << last_error();
        ovstage_op_wait_result_t out;
        EXPECT_EQ(ovstage_wait_op(stage.instance, result.op_index, forever, &out), OVSTAGE_OK);
        return out.error_op_id_count ? OVSTAGE_ERROR_OP_FAILED : OVSTAGE_OK;
    }
    ovstage_api_status_t read_status(ovstage_query_handle_t query, ovx_token_t attribute,
                                     uint64_t ordinal)
    {
        ovstage_read_handle_t read = 0;
        ovstage_enqueue_result_t result =
            ovstage_read_attributes(stage.instance, query, &attribute, 1,
                                    ovstage_ordinal_range_t{0, ordinal, false}, &read);
        if (result.status == OVSTAGE_OK)
            stage.finish(ovstage_release_read(stage.instance, read));
        return result.status;
    }
    std::vector<ovx_token_t> attributes_of(ovstage_query_handle_t query)
    {
        ovstage_query_result_t result;
        EXPECT_EQ(ovstage_fetch_query_result(stage.instance, query, forever, &result), OVSTAGE_OK);
        std::vector<ovx_token_t> found(result.attributes,
                                       result.attributes + result.attribute_count);
        EXPECT_EQ(ovstage_release_query_result(stage.instance, &result), OVSTAGE_OK);
        return found;
    }
    uint64_t generation(ovstage_query_handle_t query, ovx_token_t attribute, uint64_t ordinal)
    {
        ovstage_read_handle_t read = 0;
        stage.finish(ovstage_read_attributes(stage.instance, query, &attribute, 1,
                                             ovstage_ordinal_range_t{0, ordinal, false}, &read));
        ovstage_read_group_t group;
        uint64_t found = 0;
        while (ovstage_fetch_read_next(stage.instance, read, forever, &group) == OVSTAGE_OK) {
            found = group.meta.layout_generation;
            EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        }
        stage.finish(ovstage_release_read(stage.instance, read));
        return found;
    }

    struct Group {
        bool is_delete;
        std::vector<uint32_t> positions;
        std::vector<float> values;
    };
    // Groups of values first.
    std::vector<Group> range(ovstage_query_handle_t query, uint64_t start, uint64_t end)
    {
        std::vector<Group> groups;
        ovstage_read_handle_t read = 0;
        stage.finish(ovstage_read_attributes(stage.instance, query, &a, 1,
                                             ovstage_ordinal_range_t{start, end, true}, &read));
        ovstage_read_group_t group;
        while (ovstage_fetch_read_next(stage.instance, read, forever, &group) == OVSTAGE_OK) {
            Group found;
            found.is_delete = group.is_delete;
            EXPECT_EQ(group.ordinal, end); // D4
            EXPECT_EQ(group.attribute, a);
            for (uint32_t i = 0; i < group.prims.count; i++)
                found.positions.push_back(group.prims.index_map ? group.prims.index_map[i]
                                                                : group.prims.offset + i);
            if (group.is_delete) {
                EXPECT_EQ(group.data.tensors, nullptr);
                EXPECT_EQ(group.data.tensor_count, 0u);
                EXPECT_EQ(group.data.count, 0u);
            } else {
                const float *rows = static_cast<const float *>(group.data.tensors[0].data);
                found.values.assign(rows, rows + group.data.count);
            }
            groups.push_back(found);
            EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        }
        stage.finish(ovstage_release_read(stage.instance, read));
        std::sort(groups.begin(), groups.end(), [](const Group &left, const Group &right) {
            return left.is_delete < right.is_delete;
        });
        return groups;
    }

    using Values = std::map<std::string, float>;
    const std::vector<std::string> xyz = {"/x", "/y", "/z"};
    Stage stage;
    ovx_token_t a, b;
};

INSTANTIATE_TEST_SUITE_P(Workers, DeleteTest, testing::Values(0u, 2u));

TEST_P(DeleteTest, R128_deletes_the_named_attributes_of_the_prims)
{
    ovstage_query_handle_t all = stage.query(xyz);
    stage.finish(stage.write(all, a, 1, {1, 2, 3}));
    stage.finish(stage.write(all, b, 1, {10, 20, 30}));
    stage.finish(stage.seal(1));
    stage.finish(remove(stage.query({"/y"}), {a}, 2));
    stage.finish(stage.seal(2));
    EXPECT_EQ(values(xyz, a, 2), (Values{{"/x", 1}, {"/z", 3}}));
    EXPECT_EQ(values(xyz, b, 2), (Values{{"/x", 10}, {"/y", 20}, {"/z", 30}}));
    // R129: below it the old data is there, as long as history is.
    EXPECT_EQ(values(xyz, a, 1), (Values{{"/x", 1}, {"/y", 2}, {"/z", 3}}));
}

TEST_P(DeleteTest, R128_without_names_deletes_whole_prims)
{
    ovstage_query_handle_t all = stage.query(xyz);
    stage.finish(stage.write(all, a, 1, {1, 2, 3}));
    stage.finish(stage.write(all, b, 1, {10, 20, 30}));
    stage.finish(stage.seal(1));
    stage.finish(remove(stage.query({"/x", "/z"}), {}, 2));
    stage.finish(stage.seal(2));
    EXPECT_EQ(values(xyz, a, 2), (Values{{"/y", 2}}));
    EXPECT_EQ(values(xyz, b, 2), (Values{{"/y", 20}}));
    EXPECT_EQ(attributes_of(stage.query({"/x"})).size(), 0u); // R48
    EXPECT_EQ(attributes_of(stage.query({"/y"})).size(), 2u);
}

TEST_P(DeleteTest, R129_an_unsealed_delete_is_an_unsealed_change)
{
    ovstage_query_handle_t all = stage.query(xyz), y = stage.query({"/y"}), x = stage.query({"/x"});
    stage.finish(stage.write(all, a, 1, {1, 2, 3}));
    stage.finish(stage.seal(1));
    stage.finish(remove(y, {a}, 5));
    EXPECT_EQ(read_status(y, a, 5), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_NE(last_error().find("ordinal 5"), std::string::npos) << last_error();
    EXPECT_EQ(read_status(all, a, 9), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(values({"/y"}, a, 4), (Values{{"/y", 2}}));
    EXPECT_EQ(read_status(x, a, 9), OVSTAGE_OK); // R62: an unrelated path
    EXPECT_EQ(attributes_of(y).size(), 0u);      // the latest committed state, not gated
    // D12: of what is not there it is no change.
    stage.finish(remove(stage.query({"/nobody"}), {a}, 5));
    stage.finish(remove(x, {b}, 5));
    EXPECT_EQ(read_status(stage.query({"/nobody"}), a, 9), OVSTAGE_OK);
    EXPECT_EQ(read_status(x, b, 9), OVSTAGE_OK);
}

TEST_P(DeleteTest, R130_a_deleted_attribute_takes_another_schema)
{
    ovstage_query_handle_t x = stage.query({"/x"});
    stage.finish(stage.write(x, a, 1, {1}));
    stage.finish(stage.seal(1));
    double value = 7;
    int64_t shape[1] = {1};
    DLTensor tensor{&value, {kDLCPU, 0}, 1, {kDLFloat, 64, 1}, shape, nullptr, 0};
    ovstage_write_data_t data;
    std::memset(&data, 0, sizeof(data));
    data.tensors = &tensor;
    data.tensor_count = 1;
    auto write_double = [&](uint64_t ordinal) {
        return ovstage_write_attribute(stage.instance, x, ovx_string_or_token_t{a, {}}, ordinal,
                                       data, OVSTAGE_PRIM_MODE_UPSERT);
    };
    ovstage_enqueue_result_t refused = write_double(2);
    if (refused.status == OVSTAGE_OK) {
        EXPECT_EQ(outcome(refused), OVSTAGE_ERROR_OP_FAILED);
    }
    // By one ordinal, in acceptance order.
    stage.finish(remove(x, {a}, 3));
    stage.finish(write_double(3));
    stage.finish(stage.seal(3));
    ovstage_read_handle_t read = 0;
    ovstage_read_group_t group;
    stage.finish(ovstage_read_attributes(stage.instance, x, &a, 1,
                                         ovstage_ordinal_range_t{0, 3, false}, &read));
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, forever, &group), OVSTAGE_OK);
    EXPECT_EQ(group.data.tensors[0].dtype.bits, 64);
    EXPECT_EQ(*static_cast<const double *>(group.data.tensors[0].data), 7);
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    EXPECT_EQ(ovstage_fetch_read_next(stage.instance, read, forever, &group),
              OVSTAGE_ERROR_END_OF_ITERATION);
    stage.finish(ovstage_release_read(stage.instance, read));
    // And back again.
    stage.finish(remove(x, {}, 4));
    stage.finish(stage.write(x, a, 5, {9}));
    stage.finish(stage.seal(5));
    EXPECT_EQ(values({"/x"}, a, 5), (Values{{"/x", 9}}));
    EXPECT_EQ(values({"/x"}, a, 4), (Values{}));
}

TEST_P(DeleteTest, R130_a_deleted_prim_may_be_inserted)
{
    ovstage_query_handle_t x = stage.query({"/x"});
    stage.finish(stage.write(x, a, 1, {1}));
    stage.finish(stage.write(x, b, 1, {2}));
    EXPECT_EQ(stage.write(x, a, 2, {3}, OVSTAGE_PRIM_MODE_INSERT).status,
              OVSTAGE_ERROR_PRIM_NOT_FOUND);
    // A prim is there while an attribute lives on it.
    stage.finish(remove(x, {a}, 2));
    EXPECT_EQ(stage.write(x, a, 3, {3}, OVSTAGE_PRIM_MODE_INSERT).status,
              OVSTAGE_ERROR_PRIM_NOT_FOUND);
    stage.finish(remove(x, {b}, 4));
    stage.finish(stage.write(x, a, 5, {4}, OVSTAGE_PRIM_MODE_INSERT));
    stage.finish(stage.seal(9));
    EXPECT_EQ(values({"/x"}, a, 9), (Values{{"/x", 4}}));
    EXPECT_EQ(values({"/x"}, b, 9), (Values{}));
    EXPECT_EQ(stage.write(x, a, 10, {3}, OVSTAGE_PRIM_MODE_INSERT).status,
              OVSTAGE_ERROR_PRIM_NOT_FOUND);
    stage.finish(remove(x, {}, 10));
    stage.finish(stage.write(x, b, 11, {5}, OVSTAGE_PRIM_MODE_INSERT));
}

TEST_P(DeleteTest, L3_deletes_apply_by_ordinal)
{
    ovstage_query_handle_t x = stage.query({"/x"});
    stage.finish(stage.write(x, a, 6, {6}));
    stage.finish(remove(x, {a}, 5)); // late, and below: does not undo the write at 6
    stage.finish(stage.write(x, a, 3, {3}));
    stage.finish(stage.seal(6));
    EXPECT_EQ(values({"/x"}, a, 4), (Values{{"/x", 3}}));
    EXPECT_EQ(values({"/x"}, a, 5), (Values{}));
    EXPECT_EQ(values({"/x"}, a, 6), (Values{{"/x", 6}}));
}

TEST_P(DeleteTest, L3_one_ordinal_in_acceptance_order)
{
    ovstage_query_handle_t all = stage.query(xyz);
    stage.finish(stage.write(all, a, 1, {1, 2, 3}));
    stage.finish(stage.seal(1));
    stage.finish(stage.write(all, a, 2, {11, 12, 13}));
    stage.finish(remove(all, {a}, 2));
    stage.finish(stage.write(stage.query({"/y"}), a, 2, {22}));
    stage.finish(remove(stage.query({"/y", "/z"}), {a}, 2));
    stage.finish(stage.write(stage.query({"/z"}), a, 2, {33}));
    stage.finish(stage.seal(2));
    EXPECT_EQ(values(xyz, a, 2), (Values{{"/z", 33}}));
    EXPECT_EQ(values(xyz, a, 1), (Values{{"/x", 1}, {"/y", 2}, {"/z", 3}}));
}

TEST_P(DeleteTest, L3_deletes_at_many_ordinals_in_one_seal)
{
    constexpr size_t ordinals = 40;
    ovstage_query_handle_t all = stage.query(ordinals);
    stage.finish(stage.write(all, a, 1, std::vector<float>(ordinals, 1)));
    for (size_t k = 0; k < ordinals; k++)
        stage.finish(remove(stage.query({"/P/" + std::to_string(k)}), {a}, 2 + k));
    stage.finish(stage.seal(ordinals));
    EXPECT_EQ(stage.read(all, a, ordinals), std::vector<float>{1});
    stage.finish(stage.seal(1 + ordinals));
    EXPECT_EQ(stage.read(all, a, 1 + ordinals), std::vector<float>{});
}

TEST_P(DeleteTest, D12_a_prim_is_deleted_with_what_appears_below_it_later)
{
    ovstage_query_handle_t x = stage.query({"/x"});
    stage.finish(stage.write(x, a, 1, {1}));
    stage.finish(stage.seal(1));
    stage.finish(remove(x, {}, 5));
    stage.finish(stage.write(x, b, 3, {3})); // an attribute that the delete did not know
    stage.finish(stage.seal(5));
    EXPECT_EQ(values({"/x"}, b, 4), (Values{{"/x", 3}}));
    EXPECT_EQ(values({"/x"}, b, 5), (Values{}));
    EXPECT_EQ(values({"/x"}, a, 5), (Values{}));
    // Descendants stay.
    stage.finish(stage.write(stage.query({"/x/child"}), a, 6, {4}));
    stage.finish(stage.write(x, a, 6, {5}));
    stage.finish(remove(x, {}, 7));
    stage.finish(stage.seal(7));
    EXPECT_EQ(values({"/x", "/x/child"}, a, 7), (Values{{"/x/child", 4}}));
}

TEST_P(DeleteTest, D2_named_deletes_are_judged_like_writes)
{
    ovstage_query_handle_t x = stage.query({"/x"});
    stage.finish(stage.write(x, a, 1, {1}));
    stage.finish(stage.seal(4, OVSTAGE_SCOPE_INCLUDE, {a}));
    EXPECT_EQ(remove(x, {b, a}, 4).status, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_NE(last_error().find("'a'"), std::string::npos) << last_error();
    stage.finish(remove(x, {b}, 4));
    EXPECT_EQ(remove(x, {b}, 0).status, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(values({"/x"}, a, 4), (Values{{"/x", 1}}));
}

TEST_P(DeleteTest, D3_whole_prims_need_an_ordinal_above_what_lives_on_them)
{
    ovstage_query_handle_t x = stage.query({"/x"}), y = stage.query({"/y"});
    stage.finish(stage.write(x, a, 1, {1}));
    stage.finish(stage.write(y, b, 1, {2}));
    stage.finish(stage.seal(4, OVSTAGE_SCOPE_INCLUDE, {a}));
    EXPECT_EQ(outcome(remove(x, {}, 4)), OVSTAGE_ERROR_OP_FAILED);
    EXPECT_EQ(outcome(remove(y, {}, 4)), OVSTAGE_OK); // a does not live there
    EXPECT_EQ(outcome(remove(x, {}, 5)), OVSTAGE_OK);
    stage.finish(stage.seal(5));
    EXPECT_EQ(remove(x, {}, 5).status, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(values({"/x"}, a, 5), (Values{}));
    EXPECT_EQ(values({"/x"}, a, 4), (Values{{"/x", 1}}));
    EXPECT_EQ(values({"/y"}, b, 5), (Values{}));
}

TEST_P(DeleteTest, D11_a_role_goes_with_its_key)
{
    ovstage_query_handle_t x = stage.query({"/x"});
    float value = 1;
    int64_t shape[1] = {1};
    DLTensor tensor{&value, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
    ovstage_write_data_t data;
    std::memset(&data, 0, sizeof(data));
    data.tensors = &tensor;
    data.tensor_count = 1;
    data.semantic = OVSTAGE_SEMANTIC_COLOR;
    stage.finish(ovstage_write_attribute(stage.instance, x, ovx_string_or_token_t{a, {}}, 1, data,
                                         OVSTAGE_PRIM_MODE_UPSERT));
    auto semantic = [&](uint64_t ordinal) {
        ovstage_read_handle_t read = 0;
        ovstage_read_group_t group;
        stage.finish(ovstage_read_attributes(stage.instance, x, &a, 1,
                                             ovstage_ordinal_range_t{0, ordinal, false}, &read));
        EXPECT_EQ(ovstage_fetch_read_next(stage.instance, read, forever, &group), OVSTAGE_OK);
        auto found = group.semantic;
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        stage.finish(ovstage_release_read(stage.instance, read));
        return found;
    };
    stage.finish(stage.write(x, a, 2, {2})); // NONE keeps the role
    stage.finish(remove(x, {a}, 3));
    stage.finish(stage.write(x, a, 4, {4})); // and is NONE where there is none
    stage.finish(stage.seal(4));
    EXPECT_EQ(semantic(2), OVSTAGE_SEMANTIC_COLOR);
    EXPECT_EQ(semantic(4), OVSTAGE_SEMANTIC_NONE);
}

TEST_P(DeleteTest, R82_the_generation_tells_who_leaves_and_comes_back)
{
    ovstage_query_handle_t all = stage.query(xyz), y = stage.query({"/y"});
    stage.finish(stage.write(all, a, 1, {1, 2, 3}));
    stage.finish(stage.seal(1));
    uint64_t first = generation(all, a, 1);
    stage.finish(remove(y, {a}, 2));
    stage.finish(stage.seal(2));
    uint64_t left = generation(all, a, 2);
    EXPECT_GT(left, first);
    stage.finish(stage.write(stage.query({"/x"}), a, 3, {7}));
    stage.finish(stage.seal(3));
    EXPECT_EQ(generation(all, a, 3), left); // values only
    stage.finish(stage.write(y, a, 4, {8}));
    stage.finish(stage.seal(4));
    uint64_t back = generation(all, a, 4);
    EXPECT_GT(back, left);
    stage.finish(stage.write(y, a, 5, {9}));
    stage.finish(stage.seal(5));
    EXPECT_EQ(generation(all, a, 5), back);
    stage.finish(remove(y, {a}, 6)); // once more
    stage.finish(stage.seal(6));
    EXPECT_GT(generation(all, a, 6), back);
}

TEST_P(DeleteTest, R68_a_held_group_does_not_see_it)
{
    ovstage_query_handle_t all = stage.query(xyz);
    stage.finish(stage.write(all, a, 1, {1, 2, 3}));
    stage.finish(stage.seal(1));
    ovstage_read_handle_t read = 0;
    ovstage_read_group_t group;
    stage.finish(ovstage_read_attributes(stage.instance, all, &a, 1,
                                         ovstage_ordinal_range_t{0, 1, false}, &read));
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, forever, &group), OVSTAGE_OK);
    for (uint64_t ordinal = 2; ordinal < 20; ordinal += 2) {
        stage.finish(remove(all, {}, ordinal));
        stage.finish(stage.write(all, a, ordinal + 1, {4, 5, 6}));
        stage.finish(stage.seal(ordinal + 1));
    }
    const float *held = static_cast<const float *>(group.data.tensors[0].data);
    EXPECT_EQ(std::vector<float>(held, held + 3), (std::vector<float>{1, 2, 3}));
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    stage.finish(ovstage_release_read(stage.instance, read));
}

TEST_P(DeleteTest, R70_a_range_shows_tombstones_in_a_group_of_their_own)
{
    ovstage_query_handle_t all = stage.query(xyz);
    stage.finish(stage.write(all, a, 1, {1, 2, 3}));
    stage.finish(stage.seal(1));
    stage.finish(remove(stage.query({"/y", "/z"}), {a}, 2));
    stage.finish(stage.seal(2));
    stage.finish(stage.write(stage.query({"/z"}), a, 3, {33}));
    stage.finish(stage.seal(3));
    using Positions = std::vector<uint32_t>;
    auto deletes = range(all, 2, 2);
    ASSERT_EQ(deletes.size(), 1u);
    EXPECT_TRUE(deletes[0].is_delete);
    EXPECT_EQ(deletes[0].positions, (Positions{1, 2}));
    auto both = range(all, 2, 3);
    ASSERT_EQ(both.size(), 2u);
    EXPECT_EQ(both[0].positions, Positions{2});
    EXPECT_EQ(both[0].values, std::vector<float>{33});
    EXPECT_EQ(both[1].positions, Positions{1});
    auto from_the_start = range(all, 1, 3);
    ASSERT_EQ(from_the_start.size(), 2u);
    EXPECT_EQ(from_the_start[0].positions, (Positions{0, 2}));
    EXPECT_EQ(from_the_start[0].values, (std::vector<float>{1, 33}));
    EXPECT_EQ(from_the_start[1].positions, Positions{1});
    auto before = range(all, 1, 1);
    ASSERT_EQ(before.size(), 1u);
    EXPECT_EQ(before[0].values, (std::vector<float>{1, 2, 3}));
    EXPECT_EQ(range(all, 4, 9).size(), 0u);
    // Unsealed: refused, where the range has it.
    stage.finish(remove(all, {}, 10));
    EXPECT_EQ(range(all, 11, 20).size(), 0u);
    ovstage_read_handle_t read = 0;
    EXPECT_EQ(ovstage_read_attributes(stage.instance, all, &a, 1,
                                      ovstage_ordinal_range_t{4, 10, true}, &read)
                  .status,
              OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(range(all, 4, 9).size(), 0u);
}

TEST_P(DeleteTest, D12_a_delete_of_nothing_is_no_change)
{
    ovstage_query_handle_t x = stage.query({"/x"}), both = stage.query({"/x", "/y"});
    stage.finish(remove(x, {a}, 1));
    stage.finish(stage.write(both, a, 2, {1, 2}));
    stage.finish(stage.seal(2));
    std::vector<Group> groups = range(both, 1, 1);
    EXPECT_EQ(groups.size(), 0u);
}

TEST_P(DeleteTest, L5_one_ordinal_that_deletes_and_writes_another_role)
{
    ovstage_query_handle_t x = stage.query({"/x"});
    float value = 1;
    int64_t shape[1] = {1};
    DLTensor tensor{&value, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
    ovstage_write_data_t data;
    std::memset(&data, 0, sizeof(data));
    data.tensors = &tensor;
    data.tensor_count = 1;
    data.semantic = OVSTAGE_SEMANTIC_COLOR;
    const auto write = [&](uint64_t ordinal) {
        stage.finish(ovstage_write_attribute(stage.instance, x, ovx_string_or_token_t{a, {}},
                                             ordinal, data, OVSTAGE_PRIM_MODE_UPSERT));
    };
    write(1);
    stage.finish(remove(x, {a}, 1));
    stage.finish(stage.write(x, a, 1, {2})); // without the role that went with the key
    stage.finish(stage.seal(1));
    auto groups = range(x, 1, 1);
    ASSERT_EQ(groups.size(), 1u);
    EXPECT_EQ(groups[0].values, std::vector<float>{2});
    stage.finish(remove(x, {}, 2));
    stage.finish(stage.seal(2));
    groups = range(x, 1, 2);
    ASSERT_EQ(groups.size(), 1u);
    EXPECT_TRUE(groups[0].is_delete);
    write(3);
    stage.finish(remove(x, {a}, 3));
    stage.finish(stage.write(x, a, 3, {2}));
    stage.finish(remove(x, {a}, 3));
    stage.finish(stage.seal(3));
    groups = range(x, 3, 3);
    ASSERT_EQ(groups.size(), 1u);
    EXPECT_TRUE(groups[0].is_delete);
}

TEST_P(DeleteTest, bad_input_is_told)
{
    ovstage_query_handle_t x = stage.query({"/x"});
    const auto invalid = OVSTAGE_ERROR_INVALID_ARGUMENT;
    EXPECT_EQ(ovstage_delete_attributes(stage.instance, x, nullptr, 2, 1).status, invalid);
    EXPECT_EQ(ovstage_delete_attributes(stage.instance, x + 1, nullptr, 0, 1).status,
              OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(remove(x, {UINT64_C(1) << 40}, 1).status, invalid);
    EXPECT_EQ(remove(x, {0}, 1).status, invalid); // neither a token nor a name
    for (const char *name : {"usd-path", "usd-parent", "usd-children", "usd-active"}) // R116
        EXPECT_EQ(remove(x, {stage.token(name)}, 1).status, OVSTAGE_ERROR_NOT_SUPPORTED) << name;
    stage.finish(remove(x, {a, a, b}, 1)); // D1: duplicates are harmless
    stage.finish(remove(stage.query(std::vector<std::string>{}), {a}, 1));
    stage.finish(stage.seal(1));
}

// What one key is at each ordinal, by the rules.
struct Event {
    uint64_t ordinal, id;
    std::optional<float> value; // none: deleted
};

TEST_P(DeleteTest, L3_random_writes_and_deletes)
{
    const std::vector<std::string> paths = {"/p/0", "/p/1", "/p/2", "/p/3", "/p/4", "/p/5"};
    for (uint32_t seed = 1; seed <= 60; seed++) {
        std::mt19937 random(seed);
        Stage fresh(GetParam());
        ovx_token_t names[2] = {fresh.token("a"), fresh.token("b")};
        std::map<std::pair<size_t, std::string>, std::vector<Event>> events;
        uint64_t id = 0, floor = 0;
        std::vector<ovstage_enqueue_result_t> pending;
        std::vector<std::vector<float>> kept(400);
        for (int step = 0; step < 60; step++) {
            uint64_t ordinal = floor + 1 + random() % 4;
            std::vector<std::string> chosen;
            for (const std::string &path : paths)
                if (random() % 2)
                    chosen.push_back(path);
            size_t attribute = random() % 2;
            ovstage_query_handle_t query = fresh.query(chosen);
            uint32_t kind = random() % 8;
            id++;
            if (kind < 4) {
                std::vector<float> &rows = kept[id];
                for (size_t k = 0; k < chosen.size(); k++)
                    rows.push_back(static_cast<float>(id * 10 + k));
                pending.push_back(fresh.write(query, names[attribute], ordinal, rows));
                for (size_t k = 0; k < chosen.size(); k++)
                    events[{attribute, chosen[k]}].push_back({ordinal, id, rows[k]});
            } else if (kind < 7) {
                bool whole = kind == 6;
                ovx_string_or_token_t name{names[attribute], {}};
                pending.push_back(ovstage_delete_attributes(fresh.instance, query, &name,
                                                            whole ? 0 : 1, ordinal));
                for (size_t which = 0; which < 2; which++)
                    for (const std::string &path : chosen)
                        if (whole || which == attribute)
                            events[{which, path}].push_back({ordinal, id, std::nullopt});
            } else {
                floor += random() % 3;
                pending.push_back(fresh.seal(floor));
            }
            ASSERT_EQ(pending.back().status, OVSTAGE_OK) << last_error();
        }
        pending.push_back(fresh.seal(floor += 4));
        for (const auto &result : pending)
            fresh.finish(result);
        for (uint64_t at = floor - 1; at <= floor; at++)
            for (size_t attribute = 0; attribute < 2; attribute++) {
                std::vector<float> expected;
                for (const std::string &path : paths) {
                    Event newest = {0, 0, std::nullopt};
                    for (const Event &event : events[{attribute, path}])
                        if (event.ordinal <= at && event.ordinal >= newest.ordinal)
                            newest = event; // of one ordinal they are in acceptance order
                    if (newest.value)
                        expected.push_back(*newest.value);
                }
                EXPECT_EQ(fresh.read(fresh.query(paths), names[attribute], at), expected)
                    << "seed " << seed << " attribute " << attribute << " at " << at;
            }
    }
}

} // namespace
