// Lists of rows that are written again and again, in no order: which order the store keeps them in
// shows nowhere.
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "tests/support/columns.h"

using namespace client;

namespace
{

using Values = std::vector<float>;
using Rows = std::vector<std::pair<uint32_t, Values>>;

constexpr uint32_t kPrims = 2304;
constexpr uint32_t kListed = 280; // so many that the order is worth it, and fewer than an eighth

class RowOrder : public ::testing::TestWithParam<uint32_t>
{
  protected:
    Stage stage{GetParam()};
    ovx_token_t attribute = stage.token("x");
    std::vector<uint32_t> listed; // prims, in the order of the query that writes them
    std::map<uint32_t, float> expected;
    ovstage_query_handle_t all = 0, some = 0;

    static std::vector<std::string> paths(const std::vector<uint32_t> &prims)
    {
        std::vector<std::string> out;
        for (uint32_t prim : prims)
            out.push_back("/P/" + std::to_string(prim));
        return out;
    }
    void SetUp() override
    {
        std::vector<uint32_t> prims(kPrims);
        std::iota(prims.begin(), prims.end(), 0u);
        all = stage.query(paths(prims));
        stage.finish(stage.write(all, attribute, 1, Values(kPrims, 0)));
        stage.finish(stage.seal(1));
        for (uint32_t prim : prims)
            expected[prim] = 0;
        std::mt19937 random(7);
        std::shuffle(prims.begin(), prims.end(), random);
        listed.assign(prims.begin(), prims.begin() + kListed);
        some = stage.query(paths(listed));
    }
    // Values of the ordinal, in the order of the list.
    Values values_of(uint64_t ordinal)
    {
        Values values;
        for (uint32_t k = 0; k < kListed; k++)
            values.push_back(expected[listed[k]] = static_cast<float>(ordinal * 1000 + k));
        return values;
    }
    void write_and_seal(uint64_t ordinal)
    {
        Values values = values_of(ordinal);
        stage.finish(stage.write(some, attribute, ordinal, values));
        stage.finish(stage.seal(ordinal));
    }
    // What the range read of the ordinal must give of a query over these prims.
    Rows changed(const std::vector<uint32_t> &prims)
    {
        std::vector<bool> is_listed(kPrims);
        for (uint32_t prim : listed)
            is_listed[prim] = true;
        Rows rows;
        for (uint32_t k = 0; k < prims.size(); k++)
            if (is_listed[prims[k]])
                rows.emplace_back(k, Values{expected[prims[k]]});
        return rows;
    }
    void check_range(const std::vector<uint32_t> &prims, uint64_t ordinal)
    {
        ovstage_query_handle_t query = stage.query(paths(prims));
        for (int times = 0; times < 2; times++) {
            Snapshot read(stage, query, {attribute}, {ordinal, ordinal, true});
            ASSERT_EQ(read.status, OVSTAGE_OK) << last_error();
            ASSERT_EQ(read.groups.size(), 1u);
            EXPECT_EQ(Snapshot::rows(read.groups[0]), changed(prims));
        }
        stage.finish(ovstage_release_query(stage.instance, query));
    }
    void check_values(uint64_t ordinal)
    {
        Values values = stage.read(all, attribute, ordinal);
        ASSERT_EQ(values.size(), kPrims);
        for (uint32_t prim = 0; prim < kPrims; prim++)
            ASSERT_EQ(values[prim], expected[prim]) << prim;
        values = stage.read(some, attribute, ordinal);
        ASSERT_EQ(values.size(), kListed);
        for (uint32_t k = 0; k < kListed; k++)
            ASSERT_EQ(values[k], expected[listed[k]]) << k;
    }
};

INSTANTIATE_TEST_SUITE_P(Workers, RowOrder, ::testing::Values(0u, 2u));

TEST_P(RowOrder, every_row_gets_its_value_each_time)
{
    for (uint64_t ordinal = 2; ordinal < 9; ordinal++) {
        write_and_seal(ordinal);
        check_values(ordinal);
    }
}

TEST_P(RowOrder, what_changed_comes_in_the_order_of_the_query_that_asks)
{
    std::vector<uint32_t> prims(kPrims);
    std::iota(prims.begin(), prims.end(), 0u);
    std::vector<uint32_t> backwards(prims.rbegin(), prims.rend()), shuffled = prims, half, mixed;
    std::mt19937 random(8);
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    for (uint32_t prim = 0; prim < kPrims; prim += 2)
        half.push_back(kPrims - 1 - prim);
    // Ascending but for its ends.
    mixed = prims;
    std::swap(mixed.front(), mixed.back());
    for (uint64_t ordinal = 2; ordinal < 9; ordinal++) {
        write_and_seal(ordinal);
        if (ordinal != 2 && ordinal != 8) // before it is worth it, and after
            continue;
        for (const auto &asked : {prims, backwards, shuffled, half, mixed})
            check_range(asked, ordinal);
    }
}

// Beside a head that is read.
TEST_P(RowOrder, a_moment_before_is_as_it_was)
{
    for (uint64_t ordinal = 2; ordinal < 9; ordinal++) {
        write_and_seal(ordinal);
        const std::map<uint32_t, float> before = expected;
        Snapshot held(stage, all, {attribute}, {0, ordinal, false});
        ASSERT_EQ(held.status, OVSTAGE_OK) << last_error();
        ASSERT_EQ(held.groups.size(), 1u);
        write_and_seal(++ordinal);
        check_values(ordinal);
        const std::map<uint32_t, float> now = std::exchange(expected, before);
        for (const auto &[prim, values] : Snapshot::rows(held.groups[0]))
            ASSERT_EQ(values, Values{before.at(prim)}) << prim;
        check_values(ordinal - 1);
        expected = now;
    }
}

// Several payloads of one list at several ordinals, written at the same time.
TEST_P(RowOrder, open_ordinals_have_their_own)
{
    for (uint64_t ordinal = 2; ordinal < 8; ordinal++)
        write_and_seal(ordinal);
    std::vector<Values> payloads;
    std::vector<ovstage_enqueue_result_t> ops;
    for (uint64_t ordinal = 20; ordinal < 24; ordinal++)
        payloads.push_back(values_of(ordinal));
    for (uint64_t ordinal = 20; ordinal < 24; ordinal++)
        ops.push_back(stage.write(some, attribute, ordinal, payloads[ordinal - 20]));
    for (const auto &op : ops)
        stage.finish(op);
    for (uint64_t ordinal = 20; ordinal < 24; ordinal++) {
        stage.finish(stage.seal(ordinal));
        values_of(ordinal);
        check_values(ordinal);
    }
}

} // namespace
