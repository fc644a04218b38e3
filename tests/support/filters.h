// Filter queries for tests: predicates by their parts, and what a query found.
#ifndef FR_TESTS_SUPPORT_FILTERS_H
#define FR_TESTS_SUPPORT_FILTERS_H

#include <deque>
#include <set>

#include "tests/support/columns.h"

namespace client
{

// One predicate; the name as a text.
struct Where {
    std::string name;
    ovstage_filter_op_t op;
    std::vector<std::string> values;
};

// A filter and all that it points to. Gone with the object: the library has copied it (D9).
class Filter
{
  public:
    Filter(const std::vector<Where> &parts) : tests(parts)
    {
        for (const Where &test : tests) {
            values.emplace_back();
            for (const std::string &value : test.values)
                values.back().push_back(text(value));
            predicates.push_back(ovstage_predicate_t{ovx_string_or_token_t{0, text(test.name)},
                                                     test.op, values.back().data(),
                                                     values.back().size()});
        }
        filter = ovstage_filter_t{predicates.data(), predicates.size()};
    }
    Filter(const Filter &) = delete;
    Filter &operator=(const Filter &) = delete;

    std::vector<Where> tests;
    std::deque<std::vector<ovx_string_t>> values;
    std::vector<ovstage_predicate_t> predicates;
    ovstage_filter_t filter;
};

inline ovstage_enqueue_result_t submit(const Stage &stage, const std::vector<Where> &parts,
                                       ovstage_query_handle_t *out,
                                       const std::vector<ovx_token_t> &attributes = {})
{
    Filter filter(parts);
    return ovstage_query(stage.instance, &filter.filter, attributes.data(), attributes.size(), out);
}

// An accepted query; its op is released, which does not matter to it.
inline ovstage_query_handle_t query(const Stage &stage, const std::vector<Where> &parts,
                                    const std::vector<ovx_token_t> &attributes = {})
{
    ovstage_query_handle_t made = 0;
    ovstage_enqueue_result_t result = submit(stage, parts, &made, attributes);
    EXPECT_EQ(result.status, OVSTAGE_OK) << last_error();
    EXPECT_NE(result.op_index, 0u);
    EXPECT_NE(made, 0u);
    EXPECT_EQ(ovstage_release_op(stage.instance, result.op_index), OVSTAGE_OK);
    return made;
}

inline std::vector<std::string> paths(const Stage &stage, ovx_primpath_list_t list)
{
    size_t count = 0, got = 0;
    EXPECT_EQ(path_dictionary_get_num_paths_from_path_list(stage.dictionary, list, &count).status,
              OVX_API_SUCCESS);
    std::vector<ovx_primpath_t> all(count);
    EXPECT_EQ(
        path_dictionary_get_paths_from_path_list(stage.dictionary, list, 0, count, all.data(), &got)
            .status,
        OVX_API_SUCCESS);
    std::vector<std::string> out;
    for (ovx_primpath_t path : all) {
        std::vector<ovx_token_t> tokens(1100);
        ovx_token_t *first = nullptr;
        size_t depth = 0, done = 0;
        EXPECT_EQ(path_dictionary_get_tokens_from_paths(stage.dictionary, &path, 1, tokens.data(),
                                                        tokens.size(), &first, &depth, &done)
                      .status,
                  OVX_API_SUCCESS);
        std::string whole;
        for (size_t k = 0; k < depth; k++) {
            ovx_string_t part;
            path_dictionary_get_strings_from_tokens(stage.dictionary, first + k, 1, &part);
            whole += "/" + text(part);
        }
        out.push_back(whole.empty() ? "/" : whole);
    }
    return out;
}

// A column of its own, written to the query's prims at `ordinal` and sealed, tells the list: groups
// name it. Destroys nothing but leaves that column.
struct Found {
    std::vector<std::string> paths;
    std::set<std::string> attributes;
};

inline Found found(const Stage &stage, ovstage_query_handle_t query)
{
    Found out;
    ovstage_query_result_t result;
    std::memset(&result, 0xff, sizeof(result));
    EXPECT_EQ(ovstage_fetch_query_result(stage.instance, query, forever, &result), OVSTAGE_OK)
        << last_error();
    EXPECT_EQ(result.all_handle, query);
    for (size_t k = 0; k < result.attribute_count; k++) {
        ovx_string_t name;
        path_dictionary_get_strings_from_tokens(stage.dictionary, &result.attributes[k], 1, &name);
        EXPECT_TRUE(out.attributes.insert(text(name)).second) << "R53: distinct";
    }
    ovx_token_t path = stage.token("usd-path");
    ovstage_read_handle_t read = 0;
    ovstage_enqueue_result_t enqueued = ovstage_read_attributes(
        stage.instance, query, &path, 1, ovstage_ordinal_range_t{0, 0, false}, &read);
    EXPECT_EQ(enqueued.status, OVSTAGE_OK) << last_error();
    ovstage_read_group_t group;
    while (ovstage_fetch_read_next(stage.instance, read, forever, &group) == OVSTAGE_OK) {
        out.paths = paths(stage, group.prims.list);
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    }
    EXPECT_EQ(out.paths.size(), result.total_prim_count);
    stage.finish(enqueued);
    stage.finish(ovstage_release_read(stage.instance, read));
    EXPECT_EQ(ovstage_release_query_result(stage.instance, &result), OVSTAGE_OK);
    return out;
}

// The paths that a filter finds.
inline std::vector<std::string> find(const Stage &stage, const std::vector<Where> &parts)
{
    ovstage_query_handle_t made = query(stage, parts);
    std::vector<std::string> out = found(stage, made).paths;
    stage.finish(ovstage_release_query(stage.instance, made));
    return out;
}

} // namespace client

#endif
