// Filter queries: R46 to R54, D6, D9, D14, D15, D23, D26, L7, L10, R64.
#include "tests/support/filters.h"

#include <atomic>
#include <thread>

namespace
{

using namespace client;

using list = std::vector<std::string>;

struct FilterTest : testing::Test {
    // A column of floats on these paths, written and not sealed.
    void make(const list &paths, const std::string &attribute, uint64_t ordinal, float first = 0)
    {
        ovstage_query_handle_t some = stage.query(paths);
        std::vector<float> values = ramp(paths.size(), first);
        stage.finish(stage.write(some, stage.token(attribute), ordinal, values));
        stage.finish(ovstage_release_query(stage.instance, some));
    }
    void remove(const list &paths, const list &attributes, uint64_t ordinal)
    {
        ovstage_query_handle_t some = stage.query(paths);
        std::vector<ovx_string_or_token_t> names;
        for (const std::string &name : attributes)
            names.push_back(named(stage.token(name)));
        stage.finish(
            ovstage_delete_attributes(stage.instance, some, names.data(), names.size(), ordinal));
        stage.finish(ovstage_release_query(stage.instance, some));
    }
    Stage stage;
};

// --- what is found ------------------------------------------------------------------------------

TEST_F(FilterTest, R46_without_predicates_all_prims)
{
    ovstage_query_handle_t none = 0;
    stage.finish(ovstage_query(stage.instance, nullptr, nullptr, 0, &none));
    EXPECT_TRUE(found(stage, none).paths.empty());
    make({"/b", "/a/c"}, "x", 1);
    make({"/a"}, "y", 7);
    stage.finish(ovstage_query(stage.instance, nullptr, nullptr, 0, &none));
    Found all = found(stage, none);
    EXPECT_EQ(all.paths, (list{"/a", "/a/c", "/b"}));
    EXPECT_EQ(all.attributes, (std::set<std::string>{"x", "y"})); // R53
    EXPECT_EQ(find(stage, {}), (list{"/a", "/a/c", "/b"}));
}

TEST_F(FilterTest, D6_path_order_goes_component_by_component)
{
    const list ordered = {"/",     "/A",   "/A/B", "/A/B/C", "/A/B-", "/A/Ba",    "/A-",
                          "/A-/x", "/A.b", "/AB",  "/B",     "/a",    "/\xc3\xa4"};
    list mixed = ordered;
    std::reverse(mixed.begin(), mixed.end());
    std::swap(mixed[2], mixed[9]);
    make(mixed, "x", 1);
    EXPECT_EQ(find(stage, {}), ordered);
    EXPECT_EQ(find(stage, {{"x", OVSTAGE_FILTER_OP_HAS, {}}}), ordered);
}

TEST_F(FilterTest, R47_the_newest_state_counts_sealed_or_not)
{
    make({"/a", "/b"}, "x", 5);
    stage.finish(stage.seal(5));
    make({"/c"}, "x", 9);
    EXPECT_EQ(find(stage, {{"x", OVSTAGE_FILTER_OP_HAS, {}}}), (list{"/a", "/b", "/c"}));
    remove({"/a"}, {"x"}, 8); // below what /c was written at, above what is sealed
    EXPECT_EQ(find(stage, {{"x", OVSTAGE_FILTER_OP_HAS, {}}}), (list{"/b", "/c"}));
    remove({"/c"}, {"x"}, 8); // an older ordinal does not undo a newer one
    EXPECT_EQ(find(stage, {{"x", OVSTAGE_FILTER_OP_HAS, {}}}), (list{"/b", "/c"}));
    stage.finish(stage.seal(9));
    EXPECT_EQ(find(stage, {{"x", OVSTAGE_FILTER_OP_HAS, {}}}), (list{"/b", "/c"}));
}

TEST_F(FilterTest, R47_what_was_found_stays)
{
    make({"/a", "/b"}, "x", 1);
    ovstage_query_handle_t fixed = query(stage, {{"x", OVSTAGE_FILTER_OP_HAS, {}}});
    EXPECT_EQ(found(stage, fixed).paths, (list{"/a", "/b"}));
    make({"/c"}, "x", 1);
    remove({"/a"}, {}, 2);
    // The list is the query's; /a has no usd-path any more, and no row.
    ovstage_query_result_t result;
    ASSERT_EQ(ovstage_fetch_query_result(stage.instance, fixed, 0, &result), OVSTAGE_OK);
    EXPECT_EQ(result.total_prim_count, 2u);
    EXPECT_EQ(ovstage_release_query_result(stage.instance, &result), OVSTAGE_OK);
    EXPECT_EQ(find(stage, {{"x", OVSTAGE_FILTER_OP_HAS, {}}}), (list{"/b", "/c"}));
}

TEST_F(FilterTest, R48_has_ignores_values_and_sees_deletes)
{
    make({"/a", "/b"}, "x", 1);
    make({"/b", "/c"}, "y", 1);
    EXPECT_EQ(find(stage, {{"x", OVSTAGE_FILTER_OP_HAS, {"never", "mind"}}}), (list{"/a", "/b"}));
    EXPECT_EQ(find(stage, {{"x", OVSTAGE_FILTER_OP_HAS, {}}, {"y", OVSTAGE_FILTER_OP_HAS, {}}}),
              (list{"/b"}));
    EXPECT_EQ(find(stage, {{"unheard-of", OVSTAGE_FILTER_OP_HAS, {}}}), list());
    remove({"/a"}, {"x"}, 2);
    EXPECT_EQ(find(stage, {{"x", OVSTAGE_FILTER_OP_HAS, {}}}), (list{"/b"}));
    EXPECT_EQ(find(stage, {}), (list{"/b", "/c"})); // nothing lives on /a
    remove({"/b"}, {}, 3);
    EXPECT_EQ(find(stage, {{"x", OVSTAGE_FILTER_OP_HAS, {}}}), list());
    EXPECT_EQ(find(stage, {{"y", OVSTAGE_FILTER_OP_HAS, {}}}), (list{"/c"}));
    make({"/a"}, "x", 4);
    EXPECT_EQ(find(stage, {{"x", OVSTAGE_FILTER_OP_HAS, {}}}), (list{"/a"}));
}

TEST_F(FilterTest, D19_an_alias_is_the_same_column)
{
    make({"/a"}, "omni:xform", 1);
    EXPECT_EQ(find(stage, {{"omni:fabric:localMatrix", OVSTAGE_FILTER_OP_HAS, {}}}), (list{"/a"}));
}

TEST_F(FilterTest, R49_paths_exactly_and_by_prefix)
{
    make({"/World", "/World/A", "/World/A/B", "/Worldwide", "/Other"}, "x", 1);
    EXPECT_EQ(find(stage, {{"usd-path", OVSTAGE_FILTER_OP_IN, {"/World/A", "/Other", "/World/A"}}}),
              (list{"/Other", "/World/A"}));
    EXPECT_EQ(find(stage, {{"usd-path", OVSTAGE_FILTER_OP_IN, {"/World/", "World", "", "/Wor"}}}),
              list());
    EXPECT_EQ(find(stage, {{"usd-path", OVSTAGE_FILTER_OP_PREFIX, {"/World"}}}),
              (list{"/World", "/World/A", "/World/A/B", "/Worldwide"}));
    EXPECT_EQ(find(stage, {{"usd-path", OVSTAGE_FILTER_OP_PREFIX, {"/World/"}}}),
              (list{"/World/A", "/World/A/B"}));
    EXPECT_EQ(find(stage, {{"usd-path", OVSTAGE_FILTER_OP_PREFIX, {"/World/A/", "/O"}}}),
              (list{"/Other", "/World/A/B"}));
    EXPECT_EQ(find(stage, {{"usd-path", OVSTAGE_FILTER_OP_PREFIX, {"World", "//"}}}), list());
    EXPECT_EQ(find(stage, {{"usd-path", OVSTAGE_FILTER_OP_PREFIX, {""}}}).size(), 5u);
    EXPECT_EQ(find(stage, {{"usd-path", OVSTAGE_FILTER_OP_PREFIX, {}}}), list());
    EXPECT_EQ(find(stage, {{"usd-path", OVSTAGE_FILTER_OP_HAS, {}}}).size(), 5u); // D26
    EXPECT_EQ(find(stage, {{"usd-path", OVSTAGE_FILTER_OP_CONTAINS, {"wide", "A/B"}}}),
              (list{"/World/A/B", "/Worldwide"}));
    EXPECT_EQ(find(stage, {{"usd-path", OVSTAGE_FILTER_OP_LT, {"/World"}}}), (list{"/Other"}));
    EXPECT_EQ(find(stage, {{"usd-path", OVSTAGE_FILTER_OP_GE, {"/World/A/B"}}}),
              (list{"/World/A/B", "/Worldwide"}));
}

TEST_F(FilterTest, R50_children_of_a_parent_that_exists)
{
    make({"/World", "/World/A", "/World/A/B", "/World/C", "/Lost/D"}, "x", 1);
    EXPECT_EQ(find(stage, {{"usd-parent", OVSTAGE_FILTER_OP_IN, {"/World"}}}),
              (list{"/World/A", "/World/C"}));
    EXPECT_EQ(find(stage, {{"usd-parent", OVSTAGE_FILTER_OP_IN, {"/World/A", "/World"}}}),
              (list{"/World/A", "/World/A/B", "/World/C"}));
    EXPECT_EQ(find(stage, {{"usd-parent", OVSTAGE_FILTER_OP_IN, {"/Lost"}}}), list()); // D13
    EXPECT_EQ(find(stage, {{"usd-parent", OVSTAGE_FILTER_OP_IN, {"/"}}}), list());     // D26
    EXPECT_EQ(find(stage, {{"usd-parent", OVSTAGE_FILTER_OP_HAS, {}}}),
              (list{"/World/A", "/World/A/B", "/World/C"}));
}

TEST_F(FilterTest, D26_the_root_is_nobodys_parent)
{
    make({"/", "/A", "/A/B"}, "x", 1);
    EXPECT_EQ(find(stage, {{"usd-parent", OVSTAGE_FILTER_OP_IN, {"/", "/A"}}}), (list{"/A/B"}));
    EXPECT_EQ(find(stage, {{"usd-parent", OVSTAGE_FILTER_OP_HAS, {}}}), (list{"/A/B"}));
    EXPECT_EQ(find(stage, {{"usd-parent", OVSTAGE_FILTER_OP_PREFIX, {"/"}}}), (list{"/A/B"}));
    EXPECT_EQ(find(stage, {{"usd-children", OVSTAGE_FILTER_OP_CONTAINS, {"/A"}}}), (list{"/"}));
}

TEST_F(FilterTest, R50_parents_of_a_child_that_exists)
{
    make({"/World", "/World/A", "/World/A/B", "/World/C", "/Lost/D"}, "x", 1);
    EXPECT_EQ(find(stage, {{"usd-children", OVSTAGE_FILTER_OP_CONTAINS, {"/World/C", "/Lost/D"}}}),
              (list{"/World"}));
    EXPECT_EQ(find(stage, {{"usd-children", OVSTAGE_FILTER_OP_CONTAINS, {"/World", "/World/"}}}),
              list()); // whole paths, and the root is no prim
    EXPECT_EQ(find(stage, {{"usd-children", OVSTAGE_FILTER_OP_HAS, {}}}),
              (list{"/World", "/World/A"}));
    EXPECT_EQ(find(stage, {{"usd-children", OVSTAGE_FILTER_OP_PREFIX, {"/World/A/"}}}),
              (list{"/World/A"}));
    remove({"/World/C"}, {}, 2);
    EXPECT_EQ(find(stage, {{"usd-children", OVSTAGE_FILTER_OP_CONTAINS, {"/World/C"}}}), list());
}

// Many prims, of which each kind of predicate leads to others; attributes that many, few and none
// of the matches carry.
TEST_F(FilterTest, R46_whichever_predicate_leads)
{
    list all, some;
    for (int k = 0; k < 400; k++)
        all.push_back("/p/" + std::to_string(k));
    for (int k = 0; k < 400; k += 50)
        some.push_back("/p/" + std::to_string(k));
    make(all, "all", 1);
    make(some, "some", 1);
    make({"/q", "/p"}, "other", 1);
    remove({"/p/50"}, {"some"}, 2);
    std::sort(some.begin(), some.end());
    const Where has_all = {"all", OVSTAGE_FILTER_OP_HAS, {}};
    const Where has_some = {"some", OVSTAGE_FILTER_OP_HAS, {}};
    const Where prefix = {"usd-path", OVSTAGE_FILTER_OP_PREFIX, {"/p/1", "/p/3"}};
    const Where parent = {"usd-parent", OVSTAGE_FILTER_OP_IN, {"/p", "/q"}};
    const Where named = {"usd-path", OVSTAGE_FILTER_OP_IN, {"/p/300", "/p/50", "/q", "/p/301"}};
    list left;
    for (const std::string &path : some)
        if (path != "/p/50" && (path[3] == '1' || path[3] == '3'))
            left.push_back(path);
    EXPECT_EQ(find(stage, {has_all, has_some, prefix, parent}), left);
    EXPECT_EQ(find(stage, {parent, prefix, has_some}), left);
    EXPECT_EQ(find(stage, {named, has_all, parent}), (list{"/p/300", "/p/301", "/p/50"}));
    EXPECT_EQ(find(stage, {has_some, named}), (list{"/p/300"}));
    EXPECT_EQ(find(stage, {prefix, has_all}).size(), 222u);
    EXPECT_EQ(found(stage, query(stage, {parent})).attributes,
              (std::set<std::string>{"all", "some"}));
    ovx_token_t other = stage.token("other"), few = stage.token("some");
    EXPECT_EQ(found(stage, query(stage, {parent}, {other, few})).attributes,
              (std::set<std::string>{"some"}));
}

// --- what is refused ----------------------------------------------------------------------------

TEST_F(FilterTest, R51_active_is_not_filtered_by)
{
    ovstage_query_handle_t out = 7;
    for (ovstage_filter_op_t op : {OVSTAGE_FILTER_OP_HAS, OVSTAGE_FILTER_OP_IN}) {
        std::string why = refused(
            submit(stage, {{"x", OVSTAGE_FILTER_OP_HAS, {}}, {"usd-active", op, {"true"}}}, &out),
            OVSTAGE_ERROR_NOT_SUPPORTED);
        EXPECT_NE(why.find("usd-active"), std::string::npos) << why;
        EXPECT_EQ(out, 0u);
        out = 7;
    }
}

TEST_F(FilterTest, R26_calls_that_are_none)
{
    ovstage_query_handle_t out = 7;
    refused(submit(stage, {{"", OVSTAGE_FILTER_OP_HAS, {}}}, &out), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(out, 0u);
    refused(submit(stage, {{"x", static_cast<ovstage_filter_op_t>(8), {}}}, &out),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    const std::string path = "usd-path";
    ovx_string_t no_text{nullptr, 3};
    ovstage_predicate_t predicate{{0, text(path)}, OVSTAGE_FILTER_OP_IN, &no_text, 1};
    ovstage_filter_t filter{&predicate, 1};
    refused(ovstage_query(stage.instance, &filter, nullptr, 0, &out),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    predicate.values = nullptr;
    refused(ovstage_query(stage.instance, &filter, nullptr, 0, &out),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    predicate.op = OVSTAGE_FILTER_OP_HAS; // R48: not looked at
    predicate.values = &no_text;
    stage.finish(ovstage_query(stage.instance, &filter, nullptr, 0, &out));
    refused(ovstage_query(stage.instance, &filter, nullptr, 0, nullptr),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    refused(ovstage_query(stage.instance, &filter, nullptr, 2, &out),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    filter.predicates = nullptr;
    refused(ovstage_query(stage.instance, &filter, nullptr, 0, &out),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    for (ovx_token_t wrong : {ovx_token_t{0}, ovx_token_t{0x7fffffff}})
        refused(ovstage_query(stage.instance, nullptr, &wrong, 1, &out),
                OVSTAGE_ERROR_INVALID_ARGUMENT);
    predicate.attribute = named(0x7fffffff);
    filter = {&predicate, 1};
    refused(ovstage_query(stage.instance, &filter, nullptr, 0, &out),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
}

// --- results ------------------------------------------------------------------------------------

TEST_F(FilterTest, D14_attributes_that_a_match_carries)
{
    make({"/a", "/a/b"}, "x", 1);
    make({"/a"}, "y", 1);
    make({"/c"}, "z", 1);
    ovx_token_t x = stage.token("x"), y = stage.token("y"), z = stage.token("z");
    std::vector<Where> has_x = {{"x", OVSTAGE_FILTER_OP_HAS, {}}};
    EXPECT_EQ(found(stage, query(stage, has_x)).attributes, (std::set<std::string>{"x", "y"}));
    EXPECT_EQ(found(stage, query(stage, has_x, {y, z, y, stage.token("nobody")})).attributes,
              (std::set<std::string>{"y"}));
    EXPECT_EQ(found(stage, query(stage, has_x,
                                 {x, stage.token("usd-path"), stage.token("usd-parent"),
                                  stage.token("usd-children")}))
                  .attributes,
              (std::set<std::string>{"x", "usd-path", "usd-parent", "usd-children"}));
    EXPECT_EQ(found(stage, query(stage, {{"z", OVSTAGE_FILTER_OP_HAS, {}}},
                                 {stage.token("usd-parent"), stage.token("usd-children")}))
                  .attributes,
              std::set<std::string>());
}

TEST_F(FilterTest, R53_D15_results_are_fetched_again_and_outlive_the_query)
{
    make({"/a"}, "x", 1);
    ovstage_query_handle_t one = query(stage, {});
    ovstage_query_result_t first, second;
    ASSERT_EQ(ovstage_fetch_query_result(stage.instance, one, forever, &first), OVSTAGE_OK);
    ASSERT_EQ(ovstage_fetch_query_result(stage.instance, one, 0, &second), OVSTAGE_OK);
    EXPECT_NE(first.query_result_id, second.query_result_id);
    stage.finish(ovstage_release_query(stage.instance, one));
    EXPECT_EQ(first.attributes[0], stage.token("x"));
    EXPECT_EQ(ovstage_release_query_result(stage.instance, &first), OVSTAGE_OK);
    EXPECT_EQ(second.attributes[0], stage.token("x"));
    EXPECT_EQ(ovstage_release_query_result(stage.instance, &second), OVSTAGE_OK);
    EXPECT_EQ(ovstage_release_query_result(stage.instance, &second), OVSTAGE_ERROR_INVALID_HANDLE);
}

// --- pending queries as inputs ------------------------------------------------------------------

// A task at ordinal 3 that holds up the queries accepted behind it.
struct PendingTest : FilterTest {
    PendingTest() : x(stage.token("x"))
    {
        make({"/a", "/b", "/c"}, "x", 1, 10);
        stage.finish(stage.seal(1));
        gate.submit(stage, 3);
        gate.wait_entered();
    }
    // Accepted, and not ready before the gate opens.
    ovstage_query_handle_t pending(const std::vector<Where> &parts)
    {
        ovstage_query_handle_t made = query(stage, parts);
        ovstage_query_result_t result;
        EXPECT_EQ(ovstage_fetch_query_result(stage.instance, made, 0, &result),
                  OVSTAGE_ERROR_TIMEOUT);
        return made;
    }
    ovstage_query_handle_t pending_x()
    {
        return pending({{"x", OVSTAGE_FILTER_OP_HAS, {}}});
    }
    // Of prims that are not there.
    ovstage_query_handle_t pending_none()
    {
        return pending({{"usd-path", OVSTAGE_FILTER_OP_IN, {"/nowhere"}}});
    }
    std::vector<float> newest(const list &paths, uint64_t ordinal)
    {
        ovstage_query_handle_t some = stage.query(paths);
        std::vector<float> out = stage.read(some, x, ordinal);
        stage.finish(ovstage_release_query(stage.instance, some));
        return out;
    }
    ovx_token_t x;
    const std::vector<float> three = {1, 2, 3};
    Gate gate;
};

TEST_F(PendingTest, D23_a_query_sees_what_was_accepted_before_it)
{
    ovstage_query_handle_t more = stage.query({"/d"});
    std::vector<float> one = {1};
    ovstage_enqueue_result_t before = stage.write(more, x, 3, one);
    ovstage_query_handle_t made = pending_x();
    gate.let_go();
    EXPECT_EQ(found(stage, made).paths, (list{"/a", "/b", "/c", "/d"}));
    stage.finish(before);
}

TEST_F(PendingTest, D23_a_query_does_not_wait_for_what_was_accepted_after_it)
{
    gate.let_go();
    stage.finish({OVSTAGE_OK, gate.id});
    Gate later;
    ovstage_query_handle_t made = query(stage, {});
    ovstage_enqueue_result_t behind = later.submit(stage, 4);
    later.wait_entered();
    EXPECT_EQ(found(stage, made).paths, (list{"/a", "/b", "/c"}));
    later.let_go();
    stage.finish(behind);
}

TEST_F(PendingTest, R64_a_read_of_a_pending_query)
{
    ovstage_query_handle_t made = pending_x();
    ovstage_read_handle_t read = 0;
    ovstage_enqueue_result_t result =
        ovstage_read_attributes(stage.instance, made, &x, 1, {0, 1, false}, &read);
    ASSERT_EQ(result.status, OVSTAGE_OK);
    ovstage_read_group_t group;
    EXPECT_EQ(ovstage_fetch_read_next(stage.instance, read, 0, &group), OVSTAGE_ERROR_TIMEOUT);
    stage.finish(ovstage_release_query(stage.instance, made)); // R55: the read still has it
    gate.let_go();
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, forever, &group), OVSTAGE_OK);
    EXPECT_EQ(paths(stage, group.prims.list), (list{"/a", "/b", "/c"}));
    auto rows = Snapshot::rows(group);
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[2].second, std::vector<float>{12});
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    EXPECT_EQ(ovstage_fetch_read_next(stage.instance, read, forever, &group),
              OVSTAGE_ERROR_END_OF_ITERATION);
    stage.finish(result);
    stage.finish(ovstage_release_read(stage.instance, read));
}

TEST_F(PendingTest, R64_a_read_that_fails_with_a_pending_query)
{
    ovstage_query_handle_t made = pending_x(), more = stage.query({"/b"});
    std::vector<float> one = {1};
    ovstage_enqueue_result_t unsealed = stage.write(more, x, 2, one);
    ovstage_read_handle_t read = 0;
    ovstage_enqueue_result_t result =
        ovstage_read_attributes(stage.instance, made, &x, 1, {0, 5, false}, &read);
    ASSERT_EQ(result.status, OVSTAGE_OK);
    stage.finish(unsealed);
    gate.let_go();
    std::string why = failed(stage, result);
    ovstage_read_group_t group;
    EXPECT_EQ(ovstage_fetch_read_next(stage.instance, read, forever, &group),
              OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(last_error(), why);
    stage.finish(ovstage_release_read(stage.instance, read));
}

TEST_F(PendingTest, L7_writes_and_deletes_over_a_pending_query)
{
    ovstage_query_handle_t made = pending_x();
    std::vector<float> values = {1, 2, 3};
    ovstage_enqueue_result_t written = stage.write(made, x, 5, values);
    ovstage_enqueue_result_t sealed = stage.seal(5);
    ovx_string_or_token_t name = named(x);
    ovstage_enqueue_result_t deleted = ovstage_delete_attributes(stage.instance, made, &name, 1, 6);
    ovstage_enqueue_result_t whole = ovstage_delete_attributes(stage.instance, made, nullptr, 0, 7);
    gate.let_go();
    stage.finish(written);
    stage.finish(sealed);
    stage.finish(deleted);
    stage.finish(whole);
    EXPECT_EQ(newest({"/a", "/b", "/c"}, 5), values);
    stage.finish(stage.seal(7));
    EXPECT_EQ(newest({"/a", "/b", "/c"}, 7), std::vector<float>());
}

TEST_F(PendingTest, L7_counts_are_compared_when_the_query_is_known)
{
    ovstage_query_handle_t made = pending_x(), none = pending_none();
    Payload two({1, 2}, 2), all({4, 5, 6}, 3), four({1, 2, 3, 4}, 4), leading({7, 8}, 2),
        masked({7, 8, 9}, 3), mapped({7}, 1);
    uint64_t mask = 0xfd;
    uint32_t map[3] = {0, 0, 0};
    ovstage_enqueue_result_t few = write(stage, made, x, 4, two.data);
    ovstage_enqueue_result_t many = write(stage, made, x, 4, four.data);
    four.data.count = 4;
    ovstage_enqueue_result_t above = write(stage, made, x, 4, four.data);
    ovstage_enqueue_result_t right = write(stage, made, x, 4, all.data);
    leading.data.count = 2;
    ovstage_enqueue_result_t part = write(stage, made, x, 5, leading.data);
    masked.data.count = 3;
    masked.data.mask = &mask;
    ovstage_enqueue_result_t some = write(stage, made, x, 6, masked.data);
    mapped.data.count = 3;
    mapped.data.index_map = map;
    ovstage_enqueue_result_t same = write(stage, made, x, 7, mapped.data);
    map[1] = 9; // it was copied
    mask = 0;
    ovstage_enqueue_result_t nothing = write(stage, none, x, 7, four.data);
    gate.let_go();
    for (ovstage_enqueue_result_t wrong : {few, many, above}) {
        std::string why = failed(stage, wrong);
        EXPECT_NE(why.find("'x'"), std::string::npos) << why;
        EXPECT_NE(why.find(" 3 "), std::string::npos) << why;
    }
    for (ovstage_enqueue_result_t fine : {right, part, some, same, nothing})
        stage.finish(fine);
    stage.finish(stage.seal(7));
    EXPECT_EQ(newest({"/a", "/b", "/c"}, 4), (std::vector<float>{4, 5, 6}));
    EXPECT_EQ(newest({"/a", "/b", "/c"}, 5), (std::vector<float>{7, 8, 6}));
    EXPECT_EQ(newest({"/a", "/b", "/c"}, 6), (std::vector<float>{7, 8, 9}));
    EXPECT_EQ(newest({"/a", "/b", "/c"}, 7), (std::vector<float>{7, 7, 7}));
}

TEST_F(PendingTest, R101_a_wrong_payload_is_told_if_there_are_prims)
{
    ovstage_query_handle_t made = pending_x(), none = pending_none();
    Payload wrong({1, 2, 3}, 3);
    wrong.tensor.device.device_type = static_cast<DLDeviceType>(77);
    ovstage_enqueue_result_t told = write(stage, made, x, 4, wrong.data);
    ovstage_enqueue_result_t untold = write(stage, none, x, 4, wrong.data);
    // Names and floors do not depend on prims.
    refused(write(stage, made, stage.token("usd-path"), 4, wrong.data),
            OVSTAGE_ERROR_NOT_SUPPORTED);
    refused(write(stage, made, x, 1, wrong.data), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    refused(stage.write(made, x, 1, three), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION); // D2
    gate.let_go();
    std::string why = failed(stage, told);
    EXPECT_NE(why.find("77"), std::string::npos) << why;
    stage.finish(untold);
}

TEST_F(PendingTest, R88_managed_tensors_over_a_pending_query)
{
    auto record = std::make_shared<Managed::Record>(), lost = std::make_shared<Managed::Record>(),
         partly = std::make_shared<Managed::Record>();
    ovstage_query_handle_t made = pending_x(), none = pending_none();
    const std::vector<float> values = {1, 2, 3};
    ovstage_write_data_t data;
    std::memset(&data, 0, sizeof(data));
    data.tensor_count = 1;
    const DLManagedTensorVersioned *managed =
        Managed::make(values, 1, DLPACK_FLAG_BITMASK_IS_COPIED, record);
    data.managed_tensors = &managed;
    ovstage_enqueue_result_t kept = write(stage, made, x, 4, data);
    managed = Managed::make(values, 1, DLPACK_FLAG_BITMASK_IS_COPIED, lost);
    ovstage_enqueue_result_t nothing = write(stage, none, x, 4, data);
    managed = Managed::make({9, 9}, 1, DLPACK_FLAG_BITMASK_IS_COPIED, partly);
    data.count = 2;
    ovstage_enqueue_result_t part = write(stage, made, x, 5, data);
    EXPECT_EQ(record->deleted + lost->deleted + partly->deleted, 0);
    gate.let_go();
    stage.finish(kept);
    stage.finish(nothing);
    stage.finish(part);
    EXPECT_EQ(lost->deleted, 1);
    EXPECT_EQ(partly->deleted, 1); // copied (D10)
    stage.finish(stage.seal(5));
    EXPECT_EQ(newest({"/a", "/b", "/c"}, 4), values);
    EXPECT_EQ(newest({"/a", "/b", "/c"}, 5), (std::vector<float>{9, 9, 3}));
    stage.destroy();
    EXPECT_EQ(record->deleted, 1);
}

TEST_F(PendingTest, R106_insert_over_a_pending_query)
{
    ovstage_query_handle_t made = pending_x();
    ovstage_enqueue_result_t inserted =
        stage.write(made, stage.token("y"), 4, three, OVSTAGE_PRIM_MODE_INSERT);
    gate.let_go();
    EXPECT_NE(failed(stage, inserted).find("/a"), std::string::npos);
}

TEST_F(PendingTest, L7_a_map_of_a_pending_query)
{
    ovstage_query_handle_t made = pending_x(), none = pending_none();
    ovstage_map_desc_t desc;
    std::memset(&desc, 0, sizeof(desc));
    desc.attribute = named(x); // a zero dtype: the schema is found when the query is known
    ovstage_map_handle_t map = 0, empty = 0, wrong = 0;
    ovstage_enqueue_result_t mapped =
        ovstage_map_attribute(stage.instance, made, &desc, 4, nullptr, 0, &map);
    ovstage_enqueue_result_t mapped_none =
        ovstage_map_attribute(stage.instance, none, &desc, 4, nullptr, 0, &empty);
    desc.semantic = static_cast<ovstage_attribute_semantic_t>(77);
    desc.dtype = f32();
    ovstage_enqueue_result_t mapped_wrong =
        ovstage_map_attribute(stage.instance, made, &desc, 4, nullptr, 0, &wrong);
    ovstage_map_group_t group;
    EXPECT_EQ(ovstage_fetch_map_next(stage.instance, map, 0, &group), OVSTAGE_ERROR_TIMEOUT);
    gate.let_go();
    EXPECT_NE(failed(stage, mapped_wrong).find("77"), std::string::npos);
    ASSERT_EQ(ovstage_fetch_map_next(stage.instance, map, forever, &group), OVSTAGE_OK);
    ASSERT_EQ(group.prims.count, 3u);
    auto *rows = static_cast<float *>(group.data.tensors[0].data);
    for (int k = 0; k < 3; k++)
        rows[k] = static_cast<float>(40 + k);
    stage.finish(ovstage_unmap_attribute(stage.instance, map, {0, 0}));
    EXPECT_EQ(ovstage_fetch_map_next(stage.instance, empty, forever, &group),
              OVSTAGE_ERROR_END_OF_ITERATION);
    stage.finish(ovstage_unmap_attribute(stage.instance, empty, {0, 0}));
    EXPECT_EQ(ovstage_unmap_attribute(stage.instance, wrong, {0, 0}).status, OVSTAGE_OK);
    stage.finish(mapped);
    stage.finish(mapped_none);
    stage.finish(stage.seal(4));
    EXPECT_EQ(newest({"/a", "/b", "/c"}, 4), (std::vector<float>{40, 41, 42}));
}

TEST_F(PendingTest, R14_handles_are_inputs_before_their_ops_have_run)
{
    ovstage_query_handle_t made = pending_x();
    ovstage_read_handle_t read = 0;
    ovstage_ordinal_query_handle_t floor = 0;
    ovstage_map_handle_t map = 0;
    ovstage_map_desc_t desc{};
    desc.attribute = named(x);
    desc.dtype = f32();
    std::vector<ovstage_enqueue_result_t> ops = {
        ovstage_read_attributes(stage.instance, made, &x, 1, {0, 1, false}, &read),
        ovstage_map_attribute(stage.instance, made, &desc, 3, nullptr, 0, &map),
        ovstage_unmap_attribute(stage.instance, map, {0, 0}),
        ovstage_release_read(stage.instance, read),
        ovstage_get_attribute_write_floor(stage.instance, named(x), &floor),
        ovstage_release_ordinal_query(stage.instance, floor),
        stage.write(made, x, 4, three),
        ovstage_release_query(stage.instance, made),
    };
    gate.let_go();
    for (const ovstage_enqueue_result_t &op : ops)
        stage.finish(op);
    stage.finish(stage.seal(4));
    EXPECT_EQ(newest({"/a", "/b", "/c"}, 4), three);
}

TEST_F(PendingTest, D20_destroy_drops_pending_queries_and_what_uses_them)
{
    ovstage_query_handle_t made = pending_x();
    ovstage_read_handle_t read = 0;
    EXPECT_EQ(stage.write(made, x, 4, three).status, OVSTAGE_OK);
    EXPECT_EQ(ovstage_read_attributes(stage.instance, made, &x, 1, {0, 1, false}, &read).status,
              OVSTAGE_OK);
    std::thread opener([this] { gate.let_go(); });
    stage.destroy();
    opener.join();
}

} // namespace
