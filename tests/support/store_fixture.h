// A store of its own for each test, with queries that go with it. C++ only.
#ifndef FR_TESTS_SUPPORT_STORE_FIXTURE_H
#define FR_TESTS_SUPPORT_STORE_FIXTURE_H

#include <gtest/gtest.h>

#include <vector>

#include <ovstage/ovstage.h>

#include "tests/support/store_world.h"

class Store : public ::testing::Test
{
  protected:
    void SetUp() override
    {
        heap = fr_test_heap_create();
        Open({2, 0, 0});
    }
    void TearDown() override
    {
        Close();
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u) << "bytes that nobody gave back";
    }
    void Open(store_world_options options)
    {
        Close();
        world = store_world_create(heap, &options);
        ASSERT_NE(world, nullptr);
    }
    void Close()
    {
        for (store_query *query : queries)
            store_query_destroy(world, query);
        queries.clear();
        if (world)
            store_world_destroy(world);
        world = nullptr;
    }
    store_query *Query(const std::vector<uint32_t> &prims)
    {
        queries.push_back(
            store_query_create(world, prims.data(), static_cast<uint32_t>(prims.size())));
        EXPECT_NE(queries.back(), nullptr);
        return queries.back();
    }
    int Write(store_query *query, uint64_t ordinal, uint32_t value, const uint64_t *mask = nullptr)
    {
        return store_write(world, 0, query, ordinal, value, mask, 0, false);
    }
    store_group *Read(store_query *query, uint64_t ordinal)
    {
        store_group *group;
        EXPECT_EQ(store_read(world, 0, query, ordinal, &group), OVSTAGE_OK);
        return group;
    }
    int ReadStatus(store_query *query, uint64_t ordinal)
    {
        store_group *group;
        int status = store_read(world, 0, query, ordinal, &group);
        if (group)
            store_group_release(world, group);
        return status;
    }
    // The values of positions 0 to count - 1; -1: absent, -2: torn or somebody else's.
    static std::vector<int64_t> Values(const store_group *group, const std::vector<uint32_t> &prims)
    {
        std::vector<int64_t> values;
        for (uint32_t k = 0; k < prims.size(); k++) {
            const store_row *row = store_group_row(group, k);
            if (!row)
                values.push_back(-1);
            else
                values.push_back(
                    store_row_is_whole(row) && row->prim == prims[k] ? int64_t{row->value} : -2);
        }
        return values;
    }
    std::vector<int64_t> ReadValues(const std::vector<uint32_t> &prims, uint64_t ordinal)
    {
        store_group *group = Read(Query(prims), ordinal);
        if (!group)
            return {};
        std::vector<int64_t> values = Values(group, prims);
        store_group_release(world, group);
        return values;
    }
    store_figures Figures()
    {
        store_figures figures;
        store_world_figures(world, &figures);
        return figures;
    }

    fr_test_heap *heap = nullptr;
    store_world *world = nullptr;
    std::vector<store_query *> queries;
};

#endif
