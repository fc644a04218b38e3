// Map sessions, for tests: what is mapped, a session and its group, and a stage to map on.
#ifndef FR_TESTS_SUPPORT_MAPS_H
#define FR_TESTS_SUPPORT_MAPS_H

#include "tests/support/columns.h"

namespace client
{

using Values = std::vector<float>;

inline ovstage_map_desc_t description(ovx_token_t attribute, DLDataType dtype = f32(),
                                      ovstage_attribute_semantic_t semantic = OVSTAGE_SEMANTIC_NONE,
                                      ovstage_prim_mode_t mode = OVSTAGE_PRIM_MODE_UPSERT)
{
    ovstage_map_desc_t desc;
    std::memset(&desc, 0, sizeof(desc));
    desc.attribute = named(attribute);
    desc.dtype = dtype;
    desc.semantic = semantic;
    desc.prim_mode = mode;
    return desc;
}

// The schema that the prims have.
constexpr DLDataType none = DLDataType{0, 0, 0};

// A session and what was fetched of it. Nothing of it is ended by itself.
class Map
{
  public:
    // sizes: of an array column, the elements of each row; none: rows of a fixed size.
    Map(const Stage &on, ovstage_query_handle_t query, const ovstage_map_desc_t &desc,
        uint64_t ordinal, const std::vector<size_t> &sizes = {})
        : stage(&on)
    {
        opened =
            ovstage_map_attribute(on.instance, query, &desc, ordinal,
                                  sizes.empty() ? nullptr : sizes.data(), sizes.size(), &handle);
        EXPECT_EQ(handle != 0, opened.status == OVSTAGE_OK);
        EXPECT_EQ(opened.op_index != 0, opened.status == OVSTAGE_OK);
    }
    ovstage_api_status_t fetch(uint64_t timeout = forever)
    {
        return ovstage_fetch_map_next(stage->instance, handle, timeout, &group);
    }
    float *values()
    {
        return static_cast<float *>(group.data.tensors[0].data);
    }
    // Fetches the group and fills it.
    void fill(const Values &with)
    {
        ASSERT_EQ(opened.status, OVSTAGE_OK) << last_error();
        ASSERT_EQ(fetch(), OVSTAGE_OK) << last_error();
        std::copy(with.begin(), with.end(), values());
    }
    ovstage_enqueue_result_t unmap_group()
    {
        return ovstage_unmap_group(stage->instance, handle, &group, ovstage_cuda_sync_t{});
    }
    ovstage_enqueue_result_t unmap()
    {
        return ovstage_unmap_attribute(stage->instance, handle, ovstage_cuda_sync_t{});
    }
    // Whether every call refuses the handle.
    void expect_ended()
    {
        EXPECT_EQ(fetch(0), OVSTAGE_ERROR_INVALID_HANDLE);
        refused(unmap_group(), OVSTAGE_ERROR_INVALID_HANDLE);
        refused(unmap(), OVSTAGE_ERROR_INVALID_HANDLE);
    }

    const Stage *stage;
    ovstage_map_handle_t handle = 0;
    ovstage_enqueue_result_t opened;
    ovstage_map_group_t group{};
};

// A stage with a query of four prims and one attribute.
class MapTest : public ::testing::Test
{
  protected:
    Stage stage{2};
    ovstage_query_handle_t query = stage.query(4);
    ovx_token_t attribute = stage.token("points");

    void write(uint64_t ordinal, const Values &values)
    {
        stage.finish(stage.write(query, attribute, ordinal, values));
    }
    Values sealed(uint64_t ordinal)
    {
        stage.finish(stage.seal(ordinal));
        return stage.read(query, attribute, ordinal);
    }
    std::string refuse(const ovstage_map_desc_t &desc, ovstage_api_status_t status,
                       uint64_t ordinal = 1)
    {
        ovstage_map_handle_t handle = 7;
        std::string why = refused(
            ovstage_map_attribute(stage.instance, query, &desc, ordinal, nullptr, 0, &handle),
            status);
        EXPECT_EQ(handle, 0u);
        return why;
    }
};

} // namespace client

#endif
