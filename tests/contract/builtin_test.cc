// Columns that are computed, and filters while prims come and go: R82, R140, R141, D4, D6, D13,
// D14, D26.
#include "tests/support/filters.h"

#include <atomic>
#include <thread>

namespace
{

using namespace client;

using list = std::vector<std::string>;

struct BuiltinTest : testing::Test {
    void make(const list &paths, uint64_t ordinal)
    {
        ovstage_query_handle_t some = stage.query(paths);
        std::vector<float> values = ramp(paths.size());
        stage.finish(stage.write(some, stage.token("x"), ordinal, values));
        stage.finish(ovstage_release_query(stage.instance, some));
    }
    std::string path(uint64_t id)
    {
        ovx_primpath_list_t made = 0;
        EXPECT_EQ(
            path_dictionary_create_path_list_from_paths(stage.dictionary, &id, 1, &made).status,
            OVX_API_SUCCESS);
        list one = paths(stage, made);
        path_dictionary_release_path_list_reference(stage.dictionary, made);
        return one.empty() ? "" : one[0];
    }
    // "1: /a /b": the position, and what its row holds.
    list rows(ovstage_query_handle_t query, const std::string &name, uint64_t ordinal = 0)
    {
        Snapshot snapshot(stage, query, {stage.token(name)}, ordinal);
        list out;
        for (const ovstage_read_group_t &group : snapshot.groups) {
            EXPECT_EQ(group.attribute, stage.token(name));
            EXPECT_EQ(group.ordinal, ordinal); // R80
            EXPECT_FALSE(group.is_delete);
            EXPECT_EQ(group.is_array, name == "usd-children");
            for (uint32_t k = 0; k < group.data.count; k++) {
                const DLTensor &tensor = group.data.tensors[group.is_array ? k : 0];
                const auto *ids = static_cast<const uint64_t *>(tensor.data);
                EXPECT_EQ(tensor.dtype.bits, 64);
                std::string row =
                    std::to_string(group.prims.index_map ? group.prims.index_map[k] : k) + ":";
                for (int64_t i = group.is_array ? 0 : k;
                     i < (group.is_array ? tensor.shape[0] : k + 1); i++)
                    row += " " + path(ids[i]);
                out.push_back(row);
            }
        }
        return out;
    }
    Stage stage;
};

TEST_F(BuiltinTest, R140_paths_parents_and_children_of_what_exists)
{
    make({"/a", "/a/c", "/a/b", "/a/b/d", "/e/f"}, 5); // nothing is sealed: no gate
    ovstage_query_handle_t query =
        stage.query({"/a/b/d", "/a", "/nowhere", "/e/f", "/a/b", "/e", "/a"});
    EXPECT_EQ(rows(query, "usd-path", 7),
              (list{"0: /a/b/d", "1: /a", "3: /e/f", "4: /a/b", "6: /a"}));
    EXPECT_EQ(rows(query, "usd-parent"), (list{"0: /a/b", "4: /a"})); // D13, D26
    EXPECT_EQ(rows(query, "usd-children"), (list{"1: /a/b /a/c", "4: /a/b/d", "6: /a/b /a/c"}));
    Snapshot ranged(stage, query, {stage.token("usd-path"), stage.token("usd-children")},
                    ovstage_ordinal_range_t{1, 9, true});
    EXPECT_EQ(ranged.status, OVSTAGE_OK);
    EXPECT_TRUE(ranged.groups.empty());
    EXPECT_TRUE(rows(stage.query({"/nowhere"}), "usd-path").empty());
}

TEST_F(BuiltinTest, D26_a_top_level_prim_has_no_parent_even_if_the_root_is_a_prim)
{
    make({"/", "/a", "/a/b"}, 1);
    EXPECT_EQ(rows(stage.query({"/", "/a", "/a/b"}), "usd-parent"), (list{"2: /a"}));
    EXPECT_EQ(rows(stage.query({"/"}), "usd-children"), (list{"0: /a"}));
}

TEST_F(BuiltinTest, D6_children_come_in_path_order)
{
    make({"/p", "/p/b", "/p/a-", "/p/a", "/p/B", "/p/ab"}, 1);
    EXPECT_EQ(rows(stage.query({"/p"}), "usd-children"), (list{"0: /p/B /p/a /p/a- /p/ab /p/b"}));
}

TEST_F(BuiltinTest, R140_the_newest_structure_whatever_the_moment)
{
    make({"/a", "/a/b"}, 1);
    stage.finish(stage.seal(1));
    ovstage_query_handle_t query = stage.query({"/a", "/a/b", "/a/c"});
    make({"/a/c"}, 4);
    EXPECT_EQ(rows(query, "usd-children", 1), (list{"0: /a/b /a/c"}));
    ovstage_query_handle_t b = stage.query({"/a/b"});
    stage.finish(ovstage_delete_attributes(stage.instance, b, nullptr, 0, 3));
    EXPECT_EQ(rows(query, "usd-children", 1), (list{"0: /a/c"}));
    EXPECT_EQ(rows(query, "usd-path", 1), (list{"0: /a", "2: /a/c"}));
    ovstage_query_handle_t a = stage.query({"/a"});
    stage.finish(ovstage_delete_attributes(stage.instance, a, nullptr, 0, 3));
    EXPECT_EQ(rows(query, "usd-parent", 1), list()); // its prim is gone, not what is below it
}

TEST_F(BuiltinTest, R86_computed_and_recorded_columns_in_one_read)
{
    make({"/a", "/a/b"}, 1);
    stage.finish(stage.seal(1));
    ovx_token_t x = stage.token("x"), parent = stage.token("usd-parent");
    Snapshot both(stage, stage.query({"/a", "/a/b"}), {x, parent, x}, 1);
    ASSERT_EQ(both.groups.size(), 3u);
    size_t parents = 0;
    for (const ovstage_read_group_t &group : both.groups) {
        EXPECT_EQ(group.meta.attribute_write_floor_ordinal, 1u);
        parents += group.attribute == parent && group.data.count == 1;
    }
    EXPECT_EQ(parents, 1u);
    both.release_read(); // R66: groups stand alone
    for (const ovstage_read_group_t &group : both.groups)
        if (group.attribute == parent) {
            EXPECT_EQ(path(*static_cast<const uint64_t *>(group.data.tensors[0].data)), "/a");
        }
}

TEST_F(BuiltinTest, R141_active_is_neither_read_nor_filtered_by)
{
    ovx_token_t active = stage.token("usd-active");
    ovstage_read_handle_t read = 0;
    refused(
        ovstage_read_attributes(stage.instance, stage.query(1), &active, 1, {0, 1, false}, &read),
        OVSTAGE_ERROR_NOT_SUPPORTED);
    ovstage_query_handle_t query = 0;
    refused(submit(stage, {{"usd-active", OVSTAGE_FILTER_OP_IN, {"true"}}}, &query),
            OVSTAGE_ERROR_NOT_SUPPORTED);
}

// Whoever has named them: a seal, or a write that was refused.
TEST_F(BuiltinTest, D14_computed_columns_are_no_recorded_ones_of_a_match)
{
    make({"/a", "/a/b"}, 1);
    stage.finish(stage.seal(2, OVSTAGE_SCOPE_INCLUDE, {stage.token("usd-path")}));
    ovstage_query_handle_t query = stage.query({"/a/b"});
    Payload ids(std::vector<uint64_t>{1}, u64(), {1});
    refused(write(stage, query, stage.token("usd-parent"), 3, ids.data),
            OVSTAGE_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(found(stage, query).attributes, std::set<std::string>{"x"});
    EXPECT_EQ(found(stage, client::query(stage, {})).attributes, std::set<std::string>{"x"});
}

TEST_F(BuiltinTest, R82_groups_of_computed_columns_tell_the_floors_of_their_names)
{
    make({"/a", "/a/b"}, 1);
    stage.finish(stage.seal(2));
    stage.finish(stage.seal(5, OVSTAGE_SCOPE_INCLUDE, {stage.token("usd-path")}));
    ovx_token_t path = stage.token("usd-path"), parent = stage.token("usd-parent");
    Snapshot both(stage, stage.query({"/a/b"}), {path, parent}, 9);
    ASSERT_EQ(both.groups.size(), 2u);
    for (const ovstage_read_group_t &group : both.groups)
        EXPECT_EQ(group.meta.attribute_write_floor_ordinal, group.attribute == path ? 5u : 2u);
}

// New prims are found and come in order, whatever was found before.
TEST_F(BuiltinTest, D6_prims_that_come_a_few_at_a_time)
{
    std::set<list> wanted; // by components
    uint64_t random = 88172645463325252u;
    for (uint64_t round = 0; round < 60; round++) {
        list some;
        for (uint64_t k = 0; k < 1 + round % 9; k++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            std::string a = std::to_string(random % 23), b = std::to_string(random / 64 % 31);
            bool deep = random % 3 != 0;
            if (wanted.insert(deep ? list{a, b} : list{a}).second)
                some.push_back("/" + a + (deep ? "/" + b : ""));
        }
        if (!some.empty())
            make(some, 1);
        list ordered, below;
        for (const list &parts : wanted) {
            ordered.push_back("/" + parts[0] + (parts.size() > 1 ? "/" + parts[1] : ""));
            if (parts.size() > 1 && parts[0] == "7")
                below.push_back(ordered.back());
        }
        ASSERT_EQ(find(stage, {}), ordered);
        ASSERT_EQ(find(stage, {{"usd-path", OVSTAGE_FILTER_OP_PREFIX, {"/7/"}}}), below);
    }
}

TEST_F(BuiltinTest, L8_a_task_may_wait_for_its_own_query)
{
    struct Inside {
        const Stage *stage;
        list found;
        static ovstage_api_status_t run(const flyrail_task_context_t *, void *user)
        {
            auto *inside = static_cast<Inside *>(user);
            inside->found = find(*inside->stage, {{"x", OVSTAGE_FILTER_OP_HAS, {}}});
            return OVSTAGE_OK;
        }
    } inside{&stage, {}};
    make({"/a", "/b", "/c"}, 1);
    stage.finish(task(stage, 9, Inside::run, &inside));
    EXPECT_EQ(inside.found, (list{"/a", "/b", "/c"}));
}

TEST_F(BuiltinTest, a_discarded_ordinal_is_not_found)
{
    make({"/a", "/b"}, 1);
    make({"/b", "/c"}, 3);
    EXPECT_EQ(find(stage, {{"x", OVSTAGE_FILTER_OP_IN, {"0"}}}), (list{"/a", "/b"}));
    stage.finish(flyrail_discard(stage.instance, 3));
    EXPECT_EQ(find(stage, {}), (list{"/a", "/b"}));
    EXPECT_EQ(find(stage, {{"x", OVSTAGE_FILTER_OP_HAS, {}}}), (list{"/a", "/b"}));
    EXPECT_EQ(find(stage, {{"x", OVSTAGE_FILTER_OP_IN, {"0"}}}), (list{"/a"}));
    EXPECT_EQ(rows(stage.query({"/c", "/a"}), "usd-path"), (list{"1: /a"}));
}

TEST_F(BuiltinTest, what_filters_keep_is_counted)
{
    make({"/a", "/b", "/c"}, 1);
    uint64_t before = stage.statistics().table_bytes;
    EXPECT_EQ(find(stage, {}).size(), 3u);
    uint64_t ordered = stage.statistics().table_bytes;
    EXPECT_GE(ordered, before + 3 * sizeof(uint32_t));
    EXPECT_EQ(find(stage, {}).size(), 3u); // nothing new
    EXPECT_EQ(stage.statistics().table_bytes, ordered);
    Payload type(std::vector<uint64_t>{stage.token("Mesh")}, u64(), {1});
    ovstage_query_handle_t one = stage.query({"/a"});
    stage.finish(write(stage, one, stage.token("usd-prim-type"), 1, type.data));
    EXPECT_GT(stage.statistics().table_bytes, ordered);
}

// Each thread makes and deletes prims of its own, and finds just its own as it left them (D23),
// whatever the others do to theirs.
TEST_F(BuiltinTest, D23_each_thread_finds_what_it_did)
{
    constexpr uint64_t threads = 3, rounds = 60;
    std::vector<std::thread> all;
    for (uint64_t t = 0; t < threads; t++)
        all.emplace_back([&, t] {
            const std::string root = "/T" + std::to_string(t);
            const std::string mark = "mark" + std::to_string(t);
            for (uint64_t round = 0; round < rounds; round++) {
                uint64_t ordinal = 1 + round;
                list mine;
                for (uint64_t k = 0; k <= round % 5; k++)
                    mine.push_back(root + "/" + std::to_string((round + k) % 7));
                ovstage_query_handle_t some = stage.query(mine);
                std::vector<float> values(mine.size(), static_cast<float>(round));
                ovstage_enqueue_result_t written =
                    stage.write(some, stage.token(mark), ordinal, values);
                ovstage_query_handle_t by_value =
                    query(stage, {{mark, OVSTAGE_FILTER_OP_IN, {std::to_string(round)}}});
                std::sort(mine.begin(), mine.end());
                EXPECT_EQ(found(stage, by_value).paths, mine);
                ovstage_enqueue_result_t deleted =
                    ovstage_delete_attributes(stage.instance, some, nullptr, 0, ordinal);
                ovstage_query_handle_t gone = query(stage, {{mark, OVSTAGE_FILTER_OP_HAS, {}}});
                ovstage_query_handle_t by_path =
                    query(stage, {{"usd-path", OVSTAGE_FILTER_OP_PREFIX, {root + "/"}}});
                EXPECT_EQ(found(stage, gone).paths, list());
                EXPECT_EQ(found(stage, by_path).paths, list());
                stage.finish(written);
                stage.finish(deleted);
                for (ovstage_query_handle_t done : {some, by_value, by_path, gone})
                    stage.finish(ovstage_release_query(stage.instance, done));
                if (round % 8 == 7)
                    stage.finish(stage.seal(ordinal, OVSTAGE_SCOPE_INCLUDE, {stage.token(mark)}));
            }
        });
    for (std::thread &thread : all)
        thread.join();
}

} // namespace
