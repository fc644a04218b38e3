// The tree of ordinals against a plain ordered list.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

extern "C" {
#include "scheduler/ordinal_tree.h"
}

namespace
{

constexpr size_t kNodes = 3000;

class OrdinalTree : public ::testing::TestWithParam<int>
{
  protected:
    // One or two rising streams, a falling one, or none at all; with equals.
    uint64_t Next(size_t k)
    {
        switch (GetParam()) {
        case 0:
            return k;
        case 1:
            return k % 2 == 0 ? k : 1000000 - k;
        case 2:
            return 1000000 - k / 3;
        default:
            return random() % 500;
        }
    }

    // The newest entered one at or below it.
    fr_ordinal_node *NaiveAt(uint64_t ordinal) const
    {
        auto above = naive.upper_bound(ordinal);
        return above == naive.begin() ? nullptr : std::prev(above)->second;
    }

    void CheckLooks()
    {
        ASSERT_EQ(fr_ordinal_tree_first(&tree), naive.empty() ? nullptr : naive.begin()->second);
        for (int k = 0; k < 3; k++) {
            uint64_t ordinal = Next(random() % kNodes) + random() % 3;
            ASSERT_EQ(fr_ordinal_tree_at(&tree, ordinal), NaiveAt(ordinal)) << ordinal;
            auto from = naive.lower_bound(ordinal);
            fr_ordinal_node *found = fr_ordinal_tree_from(&tree, ordinal);
            ASSERT_EQ(found, from == naive.end() ? nullptr : from->second);
            if (!found)
                continue;
            ++from;
            ASSERT_EQ(fr_ordinal_tree_next(&tree, found),
                      from == naive.end() ? nullptr : from->second);
        }
    }

    void TakeFirst()
    {
        fr_ordinal_node *first = naive.begin()->second;
        naive.erase(naive.begin());
        ASSERT_EQ(fr_ordinal_tree_take_first(&tree), first);
        first->ordinal = UINT64_MAX; // not to be met any more
    }

    void Remove(size_t k)
    {
        auto equals = naive.equal_range(nodes[k].ordinal);
        for (auto at = equals.first; at != equals.second; ++at) {
            if (at->second != &nodes[k])
                continue;
            naive.erase(at);
            fr_ordinal_tree_remove(&tree, &nodes[k]);
            nodes[k].ordinal = UINT64_MAX;
            return;
        }
    }

    void Cut(uint64_t ordinal)
    {
        auto end = naive.lower_bound(ordinal);
        fr_ordinal_tree_cut(&tree, ordinal);
        for (auto at = naive.begin(); at != end; ++at)
            at->second->ordinal = UINT64_MAX;
        naive.erase(naive.begin(), end);
    }

    // Nodes below it, counted; parents must be the parents, and their order right.
    size_t CheckBelow(const fr_ordinal_node *node, uint64_t low, uint64_t high, size_t depth)
    {
        if (!node)
            return 0;
        deepest = std::max(deepest, depth);
        EXPECT_GE(node->ordinal, low);
        EXPECT_LE(node->ordinal, high);
        EXPECT_TRUE(!node->left || node->left->above == node);
        EXPECT_TRUE(!node->right || node->right->above == node);
        return 1 + CheckBelow(node->left, low, node->ordinal, depth + 1) +
               CheckBelow(node->right, node->ordinal, high, depth + 1);
    }

    std::mt19937 random{12};
    std::vector<fr_ordinal_node> nodes{kNodes};
    std::multimap<uint64_t, fr_ordinal_node *> naive; // equals: in the order of entering
    fr_ordinal_tree tree{};
    size_t deepest = 0;
};

TEST_P(OrdinalTree, EqualsTheNaiveOne)
{
    for (size_t k = 0; k < kNodes; k++) {
        nodes[k].ordinal = Next(k);
        fr_ordinal_node *before = NaiveAt(nodes[k].ordinal);
        ASSERT_EQ(fr_ordinal_tree_insert(&tree, &nodes[k]), before);
        naive.emplace(nodes[k].ordinal, &nodes[k]);
        if (random() % 8 == 0)
            TakeFirst();
        if (random() % 4 == 0)
            Remove(random() % (k + 1));
        if (random() % 64 == 0 && !naive.empty())
            Cut(naive.begin()->first + random() % 3);
        CheckLooks();
    }
    ASSERT_EQ(CheckBelow(tree.root, 0, UINT64_MAX, 1), naive.size());
    while (!naive.empty())
        TakeFirst();
    CheckLooks();
    EXPECT_EQ(tree.root, nullptr);
}

TEST_P(OrdinalTree, StaysFlat)
{
    for (size_t k = 0; k < kNodes; k++) {
        nodes[k].ordinal = Next(k);
        (void)fr_ordinal_tree_insert(&tree, &nodes[k]);
    }
    ASSERT_EQ(CheckBelow(tree.root, 0, UINT64_MAX, 1), kNodes);
    EXPECT_LT(deepest, 60u); // 12 if it were even
}

INSTANTIATE_TEST_SUITE_P(Streams, OrdinalTree, ::testing::Range(0, 4));

} // namespace
