// Instances and prototypes: R184.
#include <gtest/gtest.h>

#include "tests/support/client.h"

namespace
{

using namespace client;

void expect_empty_and_release(const Stage &stage, ovx_primpath_list_t list)
{
    size_t count = 1;
    ASSERT_NE(list, OVX_INVALID_PRIMPATH_LIST);
    EXPECT_EQ(path_dictionary_get_num_paths_from_path_list(stage.dictionary, list, &count).status,
              OVX_API_SUCCESS);
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(path_dictionary_release_path_list_reference(stage.dictionary, list).status,
              OVX_API_SUCCESS);
    // One reference: now it is unknown.
    ovx_api_result_t gone = path_dictionary_release_path_list_reference(stage.dictionary, list);
    EXPECT_EQ(gone.status, OVX_API_ERROR);
    path_dictionary_release_error(stage.dictionary, gone.error);
}

TEST(Instancing, R184_a_written_stage_has_no_instances)
{
    Stage stage(0u);
    ovx_string_t text = literal_to_ovx_string("/World/Robot");
    ovx_primpath_t path = 0, root = 7;
    ASSERT_EQ(path_dictionary_create_paths_from_strings(stage.dictionary, &text, 1, &path).status,
              OVX_API_SUCCESS);
    stage.finish(stage.write(stage.query({"/World/Robot"}), stage.token("a"), 1, {1}));
    ovx_primpath_list_t list = 0, other = 0;
    ASSERT_EQ(ovstage_instancing_get_instance_roots(stage.instance, path, &list), OVSTAGE_OK);
    ASSERT_EQ(ovstage_instancing_get_prototype_roots(stage.instance, &other), OVSTAGE_OK);
    EXPECT_NE(list, other); // each a fresh one
    expect_empty_and_release(stage, list);
    expect_empty_and_release(stage, other);
    EXPECT_EQ(ovstage_instancing_get_prototype_root(stage.instance, path, &root),
              OVSTAGE_ERROR_NOT_FOUND);
    EXPECT_EQ(root, 0u);
    EXPECT_NE(last_error().find("/World/Robot"), std::string::npos) << last_error();
}

TEST(Instancing, bad_input_is_told)
{
    Stage stage(0u);
    uint64_t out = 7;
    const auto invalid = OVSTAGE_ERROR_INVALID_ARGUMENT;
    EXPECT_EQ(ovstage_instancing_get_instance_roots(nullptr, 1, &out), invalid);
    EXPECT_EQ(ovstage_instancing_get_prototype_root(nullptr, 1, &out), invalid);
    EXPECT_EQ(ovstage_instancing_get_prototype_roots(nullptr, &out), invalid);
    EXPECT_EQ(out, 0u);
    EXPECT_EQ(ovstage_instancing_get_instance_roots(stage.instance, 1, nullptr), invalid);
    EXPECT_EQ(ovstage_instancing_get_prototype_root(stage.instance, 1, nullptr), invalid);
    EXPECT_EQ(ovstage_instancing_get_prototype_roots(stage.instance, nullptr), invalid);
    for (uint64_t path : {UINT64_C(0), UINT64_C(1) << 40}) {
        EXPECT_EQ(ovstage_instancing_get_instance_roots(stage.instance, path, &out), invalid);
        EXPECT_EQ(ovstage_instancing_get_prototype_root(stage.instance, path, &out), invalid);
        EXPECT_NE(last_error(), "");
    }
}

} // namespace
