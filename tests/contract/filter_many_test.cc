// Filters with many values: R46, R49, R50, L10. What is found is what looking at each value of each
// predicate finds, and it takes about as long as there are values and prims, not their product.
#include <cmath>
#include <random>

#include "tests/support/filters.h"

namespace
{

using namespace client;

using list = std::vector<std::string>;
using random = std::mt19937;

bool holds(const std::string &text, ovstage_filter_op_t op, const std::string &value)
{
    switch (op) {
    case OVSTAGE_FILTER_OP_IN:
        return text == value;
    case OVSTAGE_FILTER_OP_CONTAINS:
        return text.find(value) != std::string::npos;
    case OVSTAGE_FILTER_OP_PREFIX:
        return text.compare(0, value.size(), value) == 0;
    case OVSTAGE_FILTER_OP_LT:
        return text < value;
    case OVSTAGE_FILTER_OP_LE:
        return text <= value;
    case OVSTAGE_FILTER_OP_GT:
        return text > value;
    case OVSTAGE_FILTER_OP_GE:
        return text >= value;
    default:
        return true;
    }
}

bool holds(const std::string &text, ovstage_filter_op_t op, const list &values)
{
    return op == OVSTAGE_FILTER_OP_HAS ||
           std::any_of(values.begin(), values.end(),
                       [&](const std::string &value) { return holds(text, op, value); });
}

// Of few letters, so that many are alike or begin with each other; bytes above 127 too.
std::string word(random &draw, size_t longest)
{
    std::string made;
    for (size_t k = draw() % (longest + 1); k > 0; k--)
        made += "ab\xc3\xa9"
                "/"[draw() % 2];
    return made;
}

std::string path(random &draw)
{
    std::string made;
    for (size_t k = 1 + draw() % 3; k > 0; k--)
        made += "/" + word(draw, 2) + "abc"[draw() % 3];
    return made;
}

struct ManyValues : testing::TestWithParam<int> {
    ManyValues() : draw(static_cast<unsigned>(GetParam())), attribute(stage.token("word"))
    {
    }
    list drawn(std::string (*one)(random &), size_t most)
    {
        list made;
        for (size_t k = draw() % (most + 1); k > 0; k--)
            made.push_back(one(draw));
        return made;
    }
    void tokens(const list &paths, const list &words)
    {
        std::vector<uint64_t> ids;
        for (const std::string &text : words)
            ids.push_back(text.empty() ? 0 : stage.token(text));
        Payload payload(ids, u64(), {static_cast<int64_t>(ids.size())});
        payload.data.semantic = OVSTAGE_SEMANTIC_TOKEN_ID;
        stage.finish(write(stage, stage.query(paths), attribute, 1, payload.data));
    }
    Stage stage;
    random draw;
    ovx_token_t attribute;
};

INSTANTIATE_TEST_SUITE_P(Seeds, ManyValues, testing::Range(1, 4));

std::string some_path(random &draw)
{
    switch (draw() % 6) {
    case 0:
        return path(draw) + "/";
    case 1:
        return "/";
    case 2:
        return word(draw, 4);
    default:
        return path(draw);
    }
}

TEST_P(ManyValues, R49_R50_of_paths)
{
    list all = drawn(path, 60);
    all.push_back("/a");
    if (GetParam() % 2)
        all.push_back("/");
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    tokens(all, list(all.size(), "x"));
    auto parent = [&](const std::string &of) {
        std::string above = of.substr(0, of.rfind('/'));
        bool is_there = std::find(all.begin(), all.end(), above) != all.end();
        return is_there ? above : std::string();
    };
    for (int round = 0; round < 40; round++) {
        auto op = static_cast<ovstage_filter_op_t>(draw() % 8);
        list values = drawn(some_path, 30), by_path, by_parent, by_child;
        for (const std::string &of : all) {
            if (holds(of, op, values))
                by_path.push_back(of);
            if (!parent(of).empty() && holds(parent(of), op, values))
                by_parent.push_back(of);
            // An element of an array: CONTAINS wants all of it.
            auto element = op == OVSTAGE_FILTER_OP_CONTAINS ? OVSTAGE_FILTER_OP_IN : op;
            if (std::any_of(all.begin(), all.end(), [&](const std::string &child) {
                    bool below =
                        child != "/" && (of == "/" ? child.rfind('/') == 0 : parent(child) == of);
                    return below && holds(child, element, values);
                }))
                by_child.push_back(of);
        }
        const Where cheap = {"word", OVSTAGE_FILTER_OP_HAS, {}};
        for (const std::string name : {"usd-path", "usd-parent", "usd-children"}) {
            list expected = name == "usd-path"     ? by_path
                            : name == "usd-parent" ? by_parent
                                                   : by_child;
            list found = find(stage, {{name, op, values}});
            std::sort(found.begin(), found.end()); // path order is another one
            EXPECT_EQ(found, expected)
                << name << " " << op << " " << ::testing::PrintToString(values);
            found = find(stage, {cheap, {name, op, values}});
            std::sort(found.begin(), found.end());
            EXPECT_EQ(found, expected)
                << name << " " << op << " " << ::testing::PrintToString(values);
        }
    }
}

std::string some_word(random &draw)
{
    return word(draw, 4);
}

TEST_P(ManyValues, L10_of_tokens)
{
    list all, words;
    for (int k = 100; k < 180; k++) {
        all.push_back("/" + std::to_string(k));
        words.push_back(some_word(draw));
    }
    tokens(all, words);
    for (int round = 0; round < 100; round++) {
        auto op = static_cast<ovstage_filter_op_t>(draw() % 8);
        list values = drawn(some_word, 20), expected;
        for (size_t k = 0; k < all.size(); k++)
            if (holds(words[k], op, values))
                expected.push_back(all[k]);
        EXPECT_EQ(find(stage, {{"word", op, values}}), expected)
            << op << " " << ::testing::PrintToString(values);
    }
}

struct Pair {
    float lanes[2];
};

bool holds(const Pair &pair, ovstage_filter_op_t op, const Pair &value)
{
    bool any = false, all = true;
    for (int k = 0; k < 2; k++) {
        float a = pair.lanes[k], b = value.lanes[k];
        bool one = op == OVSTAGE_FILTER_OP_LT   ? a < b
                   : op == OVSTAGE_FILTER_OP_LE ? a <= b
                   : op == OVSTAGE_FILTER_OP_GT ? a > b
                   : op == OVSTAGE_FILTER_OP_GE ? a >= b
                                                : a == b;
        any |= one;
        all &= one;
    }
    return op == OVSTAGE_FILTER_OP_CONTAINS ? any : all;
}

TEST_P(ManyValues, L10_of_numbers)
{
    const float few[6] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, NAN};
    const char *const texts[6] = {"0", "-0", "1", "-1", "inf", "nan"};
    list all;
    std::vector<Pair> rows;
    for (int k = 100; k < 180; k++) {
        all.push_back("/" + std::to_string(k));
        rows.push_back({{few[draw() % 6], few[draw() % 6]}});
    }
    Payload payload(rows, f32(2), {static_cast<int64_t>(rows.size())});
    stage.finish(write(stage, stage.query(all), stage.token("pair"), 1, payload.data));
    for (int round = 0; round < 100; round++) {
        auto op = static_cast<ovstage_filter_op_t>(1 + draw() % 7);
        if (op == OVSTAGE_FILTER_OP_PREFIX)
            continue;
        list values, expected;
        std::vector<Pair> pairs;
        for (size_t k = draw() % 8; k > 0; k--) {
            size_t a = draw() % 6, b = draw() % 6;
            pairs.push_back({{few[a], few[b]}});
            values.push_back(std::string(texts[a]) +
                             (a == b && k % 2 ? "" : std::string(", ") + texts[b]));
        }
        for (size_t k = 0; k < all.size(); k++)
            if (std::any_of(pairs.begin(), pairs.end(),
                            [&](const Pair &pair) { return holds(rows[k], op, pair); }))
                expected.push_back(all[k]);
        EXPECT_EQ(find(stage, {{"pair", op, values}}), expected)
            << op << " " << ::testing::PrintToString(values);
    }
}

// The product would be 4 * 10^8.
TEST(ManyValuesAndPrims, R46_as_many_values_as_prims)
{
    constexpr size_t count = 20000;
    Stage stage;
    list all, numbers;
    for (size_t k = 0; k < count; k++) {
        all.push_back("/P/" + std::to_string(k));
        numbers.push_back(std::to_string(k));
    }
    ovx_token_t attribute = stage.token("n");
    std::vector<float> values = ramp(count);
    stage.finish(stage.write(stage.query(all), attribute, 1, values));
    auto found = [&](const std::vector<Where> &parts) {
        ovstage_query_handle_t made = query(stage, parts);
        ovstage_query_result_t result;
        EXPECT_EQ(ovstage_fetch_query_result(stage.instance, made, forever, &result), OVSTAGE_OK);
        stage.finish(ovstage_release_query(stage.instance, made));
        EXPECT_EQ(ovstage_release_query_result(stage.instance, &result), OVSTAGE_OK);
        return result.total_prim_count;
    };
    EXPECT_EQ(found({{"usd-path", OVSTAGE_FILTER_OP_IN, all}}), count);
    EXPECT_EQ(found({{"usd-path", OVSTAGE_FILTER_OP_PREFIX, all}}), count);
    EXPECT_EQ(found({{"usd-parent", OVSTAGE_FILTER_OP_IN, all}}), 0u);
    EXPECT_EQ(found({{"usd-children", OVSTAGE_FILTER_OP_CONTAINS, all}}), 0u);
    EXPECT_EQ(found({{"n", OVSTAGE_FILTER_OP_IN, numbers}}), count);
    std::vector<ovx_token_t> names;
    for (size_t k = 0; k < count; k++)
        names.push_back(stage.token(numbers[k]));
    names.insert(names.end(), names.begin(), names.end());
    ovstage_query_handle_t made = 0;
    stage.finish(ovstage_query(stage.instance, nullptr, names.data(), names.size(), &made));
}

} // namespace
