// Queries from path lists and their results: R15, R44, R45, R53 to R55, D6, D14, D15.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/client.h"

namespace
{

using namespace client;

struct Query : testing::Test {
    ovstage_query_result_t fetch(ovstage_query_handle_t query)
    {
        ovstage_query_result_t result;
        std::memset(&result, 0xff, sizeof(result));
        EXPECT_EQ(ovstage_fetch_query_result(stage.instance, query, forever, &result), OVSTAGE_OK)
            << last_error();
        return result;
    }
    static std::set<ovx_token_t> attributes(const ovstage_query_result_t &result)
    {
        std::set<ovx_token_t> set(result.attributes, result.attributes + result.attribute_count);
        EXPECT_EQ(set.size(), result.attribute_count) << "R53: distinct";
        return set;
    }
    Stage stage;
};

TEST_F(Query, R44_prims_need_not_exist)
{
    ovstage_query_handle_t query = stage.query({"/not/there", "/nor/this"});
    EXPECT_NE(query, OVSTAGE_INVALID_QUERY_HANDLE);
    EXPECT_TRUE(stage.read(query, stage.token("x"), 5).empty());
    stage.finish(ovstage_release_query(stage.instance, query));
}

TEST_F(Query, R44_an_empty_list)
{
    ovx_primpath_list_t list = 0;
    ASSERT_EQ(
        path_dictionary_create_path_list_from_paths(stage.dictionary, nullptr, 0, &list).status,
        OVX_API_SUCCESS);
    ovstage_query_handle_t query = 0;
    ASSERT_EQ(ovstage_query_from_path_list(stage.instance, list, &query), OVSTAGE_OK);
    ovstage_query_result_t result = fetch(query);
    EXPECT_EQ(result.total_prim_count, 0u);
    EXPECT_EQ(result.attribute_count, 0u);
    EXPECT_EQ(ovstage_release_query_result(stage.instance, &result), OVSTAGE_OK);
    stage.finish(ovstage_release_query(stage.instance, query));
    path_dictionary_release_path_list_reference(stage.dictionary, list);
}

TEST_F(Query, R45_the_list_is_the_callers)
{
    ovx_primpath_list_t list = stage.list({"/a", "/b"});
    ovstage_query_handle_t query = 0;
    ASSERT_EQ(ovstage_query_from_path_list(stage.instance, list, &query), OVSTAGE_OK);
    path_dictionary_release_path_list_reference(stage.dictionary, list);
    // The list is gone for the client, who may even release it again and again.
    for (int i = 0; i < 3; i++) {
        ovx_api_result_t again =
            path_dictionary_release_path_list_reference(stage.dictionary, list);
        EXPECT_EQ(again.status, OVX_API_ERROR);
        path_dictionary_release_error(stage.dictionary, again.error);
    }
    ovx_token_t x = stage.token("x");
    std::vector<float> values = {1, 2};
    stage.finish(stage.write(query, x, 1, values));
    stage.finish(stage.seal(1));
    EXPECT_EQ(stage.read(query, x, 1), values);

    // A group names the query's own list.
    ovstage_read_handle_t read = 0;
    stage.finish(ovstage_read_attributes(stage.instance, query, &x, 1, {0, 1, false}, &read));
    ovstage_read_group_t group;
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, forever, &group), OVSTAGE_OK);
    EXPECT_NE(group.prims.list, list);
    size_t count = 0;
    EXPECT_EQ(
        path_dictionary_get_num_paths_from_path_list(stage.dictionary, group.prims.list, &count)
            .status,
        OVX_API_SUCCESS);
    EXPECT_EQ(count, 2u);
    stage.finish(ovstage_release_query(stage.instance, query)); // R73: the group keeps it
    EXPECT_EQ(
        path_dictionary_get_num_paths_from_path_list(stage.dictionary, group.prims.list, &count)
            .status,
        OVX_API_SUCCESS);
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    stage.finish(ovstage_release_read(stage.instance, read));
}

TEST_F(Query, R15_wrong_lists_and_handles)
{
    ovx_primpath_list_t list = stage.list({"/a"});
    ovstage_query_handle_t query = 7;
    for (ovx_primpath_list_t wrong : {ovx_primpath_list_t{0}, list + 12345, UINT64_MAX}) {
        EXPECT_NE(ovstage_query_from_path_list(stage.instance, wrong, &query), OVSTAGE_OK);
        EXPECT_EQ(query, 0u);
        EXPECT_NE(last_error(), "");
        query = 7;
    }
    EXPECT_EQ(ovstage_query_from_path_list(stage.instance, list, nullptr),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    path_dictionary_release_path_list_reference(stage.dictionary, list);

    query = stage.query(1);
    ovstage_query_result_t result;
    for (ovstage_query_handle_t wrong :
         {ovstage_query_handle_t{0}, query + 1, query ^ UINT64_C(1) << 50, UINT64_MAX}) {
        EXPECT_EQ(ovstage_release_query(stage.instance, wrong).status,
                  OVSTAGE_ERROR_INVALID_HANDLE);
        EXPECT_NE(last_error(), "");
        EXPECT_EQ(ovstage_fetch_query_result(stage.instance, wrong, 0, &result),
                  OVSTAGE_ERROR_INVALID_HANDLE);
        std::vector<float> values = {1};
        EXPECT_EQ(stage.write(wrong, stage.token("x"), 1, values).status,
                  OVSTAGE_ERROR_INVALID_HANDLE);
    }
    stage.finish(ovstage_release_query(stage.instance, query));
    ovstage_enqueue_result_t again = ovstage_release_query(stage.instance, query);
    EXPECT_EQ(again.status, OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(again.op_index, 0u);
    EXPECT_NE(last_error().find("released"), std::string::npos) << last_error();
}

TEST_F(Query, R53_D14_a_result_tells_count_and_attributes)
{
    ovx_token_t x = stage.token("x"), y = stage.token("y"), z = stage.token("z");
    ovstage_query_handle_t all = stage.query({"/a", "/b", "/c"}), one = stage.query({"/c"});
    std::vector<float> three = {1, 2, 3}, single = {4};
    ovstage_query_result_t result = fetch(all);
    EXPECT_EQ(result.total_prim_count, 3u);
    EXPECT_EQ(result.all_handle, all);
    EXPECT_EQ(result.attribute_count, 0u);
    EXPECT_EQ(ovstage_release_query_result(stage.instance, &result), OVSTAGE_OK);

    stage.finish(stage.write(all, x, 1, three));
    stage.finish(stage.write(one, y, 2, single));
    ovstage_query_handle_t other = stage.query({"/d"});
    stage.finish(stage.write(other, z, 1, single));
    // R47: unsealed writes count.
    result = fetch(all);
    EXPECT_EQ(attributes(result), (std::set<ovx_token_t>{x, y}));
    EXPECT_EQ(ovstage_release_query_result(stage.instance, &result), OVSTAGE_OK);
    stage.finish(stage.seal(2));
    result = fetch(one);
    EXPECT_EQ(attributes(result), (std::set<ovx_token_t>{x, y}));
    EXPECT_EQ(result.total_prim_count, 1u);
    EXPECT_EQ(ovstage_release_query_result(stage.instance, &result), OVSTAGE_OK);
    result = fetch(other);
    EXPECT_EQ(attributes(result), std::set<ovx_token_t>{z});
    EXPECT_EQ(ovstage_release_query_result(stage.instance, &result), OVSTAGE_OK);
}

TEST_F(Query, R54_D15_each_result_is_its_own)
{
    ovstage_query_handle_t query = stage.query(2);
    ovstage_query_result_t first = fetch(query), second = fetch(query);
    EXPECT_NE(first.query_result_id, second.query_result_id);
    stage.finish(ovstage_release_query(stage.instance, query)); // the results stay
    EXPECT_EQ(ovstage_release_query_result(stage.instance, &first), OVSTAGE_OK);
    EXPECT_EQ(ovstage_release_query_result(stage.instance, &first), OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(ovstage_release_query_result(stage.instance, &second), OVSTAGE_OK);
    EXPECT_EQ(ovstage_release_query_result(stage.instance, nullptr),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(ovstage_fetch_query_result(stage.instance, query, 0, &first),
              OVSTAGE_ERROR_INVALID_HANDLE);
    query = stage.query(1);
    EXPECT_EQ(ovstage_fetch_query_result(stage.instance, query, 0, nullptr),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    fetch(query); // never released: destroy gives it back
}

TEST_F(Query, R55_a_release_comes_after_the_uses_before_it)
{
    ovx_token_t x = stage.token("x");
    std::vector<float> values = {1, 2, 3};
    Gate gate;
    gate.submit(stage, 1);
    ovstage_query_handle_t query = stage.query(3);
    ovstage_enqueue_result_t write = stage.write(query, x, 1, values);
    stage.finish(ovstage_release_query(stage.instance, query));
    gate.let_go();
    stage.finish(write);
    stage.finish(stage.seal(1));
    query = stage.query(3);
    EXPECT_EQ(stage.read(query, x, 1), values);
    stage.finish(ovstage_release_query(stage.instance, query));
}

/* What an earlier query of a list had resolved must not show: keys get their places in between, and
 * more lists are in use than are remembered. */
TEST_F(Query, R44_one_made_again_of_the_same_list)
{
    ovx_token_t x = stage.token("x");
    std::vector<ovx_primpath_list_t> lists;
    for (int i = 0; i < 12; i++) {
        std::vector<std::string> paths;
        for (int k = 0; k < 8; k++)
            paths.push_back("/again/p" +
                            std::to_string(i + k)); /* each shares most with the next */
        lists.push_back(stage.list(paths));
    }
    for (uint64_t round = 1; round <= 6; round++) {
        for (size_t i = 0; i < lists.size(); i++) {
            uint64_t ordinal = (round - 1) * lists.size() + i + 1;
            std::vector<float> values(8, static_cast<float>(ordinal));
            ovstage_query_handle_t query = 0;
            ASSERT_EQ(ovstage_query_from_path_list(stage.instance, lists[i], &query), OVSTAGE_OK);
            ovstage_enqueue_result_t write = stage.write(query, x, ordinal, values);
            stage.finish(ovstage_release_query(stage.instance, query));
            ASSERT_EQ(ovstage_query_from_path_list(stage.instance, lists[i], &query), OVSTAGE_OK);
            stage.finish(write);
            stage.finish(stage.seal(ordinal));
            EXPECT_EQ(stage.read(query, x, ordinal), values) << ordinal;
            stage.finish(ovstage_release_query(stage.instance, query));
            EXPECT_EQ(ovstage_release_query(stage.instance, query).status,
                      OVSTAGE_ERROR_INVALID_HANDLE);
        }
    }
    for (ovx_primpath_list_t list : lists)
        path_dictionary_release_path_list_reference(stage.dictionary, list);
    ovstage_query_handle_t query = 0;
    EXPECT_EQ(ovstage_query_from_path_list(stage.instance, lists.back(), &query),
              OVSTAGE_ERROR_INVALID_HANDLE);
}

TEST_F(Query, of_two_releases_one_succeeds)
{
    for (int round = 0; round < 200; round++) {
        ovstage_query_handle_t query = stage.query(1);
        std::atomic<int> accepted{0};
        auto release = [&] {
            ovstage_enqueue_result_t result = ovstage_release_query(stage.instance, query);
            if (result.status == OVSTAGE_OK)
                accepted++;
            else
                EXPECT_EQ(result.status, OVSTAGE_ERROR_INVALID_HANDLE);
        };
        std::thread other(release);
        release();
        other.join();
        EXPECT_EQ(accepted, 1);
    }
}

} // namespace
