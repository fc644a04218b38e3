// The binary interface: every size, offset, value and slot as C and as C++ sees it, the idioms that
// C++ clients use, and the inline functions, which must call their own slot with their own
// arguments.

#include <gtest/gtest.h>

#include <cstring>
#include <type_traits>

#include "tests/unit/abi_cases.h"

namespace
{

TEST(Abi, FactsHoldInC)
{
    size_t count = 0;
    const abi_fact *facts = abi_facts_of_c(&count);
    EXPECT_GT(count, 300u);
    for (size_t i = 0; i < count; i++)
        EXPECT_EQ(facts[i].actual, facts[i].expected) << facts[i].text;
}

TEST(Abi, FactsHoldInCxx)
{
    const abi_fact facts[] = {
#include "tests/unit/abi_cases_facts.h"
    };
    for (const abi_fact &fact : facts)
        EXPECT_EQ(fact.actual, fact.expected) << fact.text;
}

TEST(Abi, HelpersHoldInC)
{
    EXPECT_TRUE(abi_helpers_hold_in_c());
}

TEST(Abi, WrappersCallTheirSlots)
{
    EXPECT_TRUE(abi_wrappers_call_their_slots());
}

TEST(Abi, CxxIdiomsCompile)
{
    const ovx_token_t token = 7;
    const ovx_string_or_token_t name = ovx_string_or_token_t{token, {}};
    EXPECT_EQ(name.token, 7u);
    EXPECT_TRUE(is_ovx_string_empty(&name.string));

    float values[9] = {};
    int64_t shape[1] = {3}, strides[1] = {1};
    const DLTensor tensor = DLTensor{values, {kDLCPU, 0}, 1, {kDLFloat, 32, 3}, shape, strides, 0};
    EXPECT_EQ(tensor.dtype.lanes, 3);
    EXPECT_EQ((DLDataType{kDLFloat, 32, 3}).bits, 32);
    EXPECT_EQ(ovstage_cuda_sync_t{}.stream, 0u);

    ovstage_config_entry_t entries[2] = {
        ovstage_config_entry_runtime_default_hierarchy_computation_model(
            OVSTAGE_HIERARCHY_COMPUTATION_MODEL_CPU_INCREMENTAL),
        ovstage_config_entry_binary_package_root_path(literal_to_ovx_string("/opt")),
    };
    ovstage_config_t config = {entries, 2};
    EXPECT_EQ(config.entry_count, 2u);

    const char *text = "abc";
    const ovx_string_t string = ovx_string_t{text, 3};
    EXPECT_EQ(string.length, 3u);
    const ovx_string_t literal = literal_to_ovx_string("omni:xform");
    EXPECT_EQ(literal.length, 10u);

    const ovstage_ordinal_t ordinal = 9;
    const ovstage_ordinal_range_t range = {0, ordinal, false};
    EXPECT_EQ(range.end_ordinal, 9u);

    ovstage_write_data_t data{};
    data.tensors = &tensor;
    data.tensor_count = 1;
    EXPECT_FALSE(data.is_array);
    ovstage_placement_t placement = OVSTAGE_PLACEMENT_INIT;
    placement.device = {kDLCUDA, 1};
    EXPECT_EQ(placement.stream, 0u);
}

TEST(Abi, TypesAreWhatClientsAssume)
{
    static_assert(std::is_same<ovstage_mask_t, const uint64_t *>::value, "");
    static_assert(std::is_same<decltype(ovstage_write_data_t::managed_tensors),
                               const DLManagedTensorVersioned *const *>::value,
                  "");
    static_assert(std::is_same<decltype(path_dictionary_instance_t::vtable),
                               path_dictionary_vtable_t *>::value,
                  "not const");
    static_assert(
        std::is_same<decltype(ovstage_instance_t::vtable), const ovstage_vtable_t *>::value, "");
    static_assert(std::is_same<ovstage_log_callback_t, void (*)(ovstage_log_severity_t, double,
                                                                ovx_string_t, void *)>::value,
                  "");
    static_assert(std::is_trivial<ovstage_read_group_t>::value &&
                      std::is_standard_layout<ovstage_read_group_t>::value,
                  "");
    static_assert(std::is_same<decltype(&ovstage_clone),
                               ovstage_enqueue_result_t (*)(ovstage_instance_t *, ovx_string_t,
                                                            const ovx_string_t *, size_t,
                                                            ovstage_ordinal_t)>::value,
                  "");
    static_assert(OVSTAGE_TIMEOUT_INFINITE == UINT64_MAX, "");
    EXPECT_STREQ(OVSTAGE_PLACEMENT_EXTENSION_NAME, "ovstage.placement");
    EXPECT_STREQ(OVX_CONFIG_EXECUTABLE_DIR_TOKEN, "${executable_dir}");
}

// A stage whose table has the slots that the placement wrappers use.
struct Placement : testing::Test {
    static ovstage_placement_extension_v1_t extension;
    static const void *found;
    static ovstage_api_status_t lookup_status;
    static int lookups, plain_calls, placed_calls;
    static ovstage_query_handle_t plain_query;
    static const ovstage_placement_t *placed_by;

    static ovstage_api_status_t lookup(ovstage_context_t *, const char *name, const void **out)
    {
        lookups++;
        if (std::strcmp(name, OVSTAGE_PLACEMENT_EXTENSION_NAME) != 0)
            return OVSTAGE_ERROR_NOT_FOUND;
        *out = found;
        return lookup_status;
    }
    static ovstage_enqueue_result_t plain(ovstage_query_handle_t query)
    {
        plain_calls++;
        plain_query = query;
        return {OVSTAGE_OK, 1};
    }
    static ovstage_enqueue_result_t placed(const ovstage_placement_t *placement)
    {
        placed_calls++;
        placed_by = placement;
        return {OVSTAGE_OK, 2};
    }

    Placement()
    {
        table.query_extension = lookup;
        table.write_attribute = [](ovstage_context_t *, ovstage_query_handle_t q,
                                   ovx_string_or_token_t, ovstage_ordinal_t, ovstage_write_data_t,
                                   ovstage_prim_mode_t) { return plain(q); };
        table.write_attributes = [](ovstage_context_t *, ovstage_query_handle_t q,
                                    const ovstage_attribute_write_t *, size_t, ovstage_ordinal_t,
                                    ovstage_prim_mode_t) { return plain(q); };
        table.read_attributes = [](ovstage_context_t *, ovstage_query_handle_t q,
                                   const ovx_token_t *, size_t, ovstage_ordinal_range_t,
                                   ovstage_read_handle_t *) { return plain(q); };
        table.map_attribute = [](ovstage_context_t *, ovstage_query_handle_t q,
                                 const ovstage_map_desc_t *, ovstage_ordinal_t, const size_t *,
                                 size_t, ovstage_map_handle_t *) { return plain(q); };
        extension.version = 1;
        extension.table_size = sizeof(extension);
        extension.write_attribute = [](ovstage_context_t *, ovstage_query_handle_t,
                                       ovx_string_or_token_t, ovstage_ordinal_t,
                                       ovstage_write_data_t, ovstage_prim_mode_t,
                                       const ovstage_placement_t *p) { return placed(p); };
        extension.write_attributes = [](ovstage_context_t *, ovstage_query_handle_t,
                                        const ovstage_attribute_write_t *, size_t,
                                        ovstage_ordinal_t, ovstage_prim_mode_t,
                                        const ovstage_placement_t *p) { return placed(p); };
        extension.read_attributes = [](ovstage_context_t *, ovstage_query_handle_t,
                                       const ovx_token_t *, size_t, ovstage_ordinal_range_t,
                                       const ovstage_placement_t *p,
                                       ovstage_read_handle_t *) { return placed(p); };
        extension.map_attribute = [](ovstage_context_t *, ovstage_query_handle_t,
                                     const ovstage_map_desc_t *, ovstage_ordinal_t, const size_t *,
                                     size_t, const ovstage_placement_t *p,
                                     ovstage_map_handle_t *) { return placed(p); };
        found = &extension;
        lookup_status = OVSTAGE_OK;
        lookups = plain_calls = placed_calls = 0;
        plain_query = 0;
        placed_by = nullptr;
    }

    // The four calls on query 5. Returns the first status that differs from `expected`, or that.
    ovstage_api_status_t all(const ovstage_placement_t *placement, ovstage_api_status_t expected)
    {
        const ovstage_enqueue_result_t results[] = {
            ovstage_write_attribute_on_device(&instance, 5, {1, {}}, 1, data,
                                              OVSTAGE_PRIM_MODE_UPSERT, placement),
            ovstage_write_attributes_on_device(&instance, 5, &write, 1, 1, OVSTAGE_PRIM_MODE_UPSERT,
                                               placement),
            ovstage_read_attributes_on_device(&instance, 5, nullptr, 0, {0, 1, false}, placement,
                                              &handle),
            ovstage_map_attribute_on_device(&instance, 5, nullptr, 1, nullptr, 0, placement,
                                            &handle),
        };
        for (const auto &result : results) {
            if (result.status != expected)
                return result.status;
            EXPECT_EQ(result.op_index != OVSTAGE_INVALID_OP_ID, expected == OVSTAGE_OK);
        }
        return expected;
    }

    ovstage_vtable_t table{};
    ovstage_instance_t instance{&table, nullptr};
    ovstage_write_data_t data{};
    ovstage_attribute_write_t write{};
    ovstage_placement_t here = OVSTAGE_PLACEMENT_INIT;
    uint64_t handle = 44;
};
ovstage_placement_extension_v1_t Placement::extension;
const void *Placement::found;
ovstage_api_status_t Placement::lookup_status;
int Placement::lookups, Placement::plain_calls, Placement::placed_calls;
ovstage_query_handle_t Placement::plain_query;
const ovstage_placement_t *Placement::placed_by;

TEST_F(Placement, R176_null_placement_is_the_plain_call)
{
    EXPECT_EQ(all(nullptr, OVSTAGE_OK), OVSTAGE_OK);
    EXPECT_EQ(plain_calls, 4);
    EXPECT_EQ(plain_query, 5u);
    EXPECT_EQ(placed_calls, 0);
    EXPECT_EQ(lookups, 0);
}

TEST_F(Placement, WrappersDispatchToTheTable)
{
    EXPECT_EQ(all(&here, OVSTAGE_OK), OVSTAGE_OK);
    EXPECT_EQ(placed_calls, 4);
    EXPECT_EQ(plain_calls, 0);
    EXPECT_EQ(placed_by, &here);
}

TEST_F(Placement, R175_missing_or_incompatible_is_not_found)
{
    const ovstage_placement_extension_v1_t *out = &extension;
    lookup_status = OVSTAGE_ERROR_NOT_FOUND;
    EXPECT_EQ(ovstage_query_placement_extension(&instance, &out), OVSTAGE_ERROR_NOT_FOUND);
    EXPECT_EQ(out, nullptr);
    EXPECT_EQ(all(&here, OVSTAGE_ERROR_NOT_FOUND), OVSTAGE_ERROR_NOT_FOUND);
    EXPECT_EQ(handle, 0u);

    lookup_status = OVSTAGE_OK;
    extension.version = 2;
    EXPECT_EQ(ovstage_query_placement_extension(&instance, &out), OVSTAGE_ERROR_NOT_FOUND);
    extension.version = 1;
    extension.table_size = sizeof(extension) - 1;
    EXPECT_EQ(ovstage_query_placement_extension(&instance, &out), OVSTAGE_ERROR_NOT_FOUND);
    extension.table_size = sizeof(extension) + 8;
    EXPECT_EQ(ovstage_query_placement_extension(&instance, &out), OVSTAGE_OK);
    EXPECT_EQ(out, &extension);
    found = nullptr;
    EXPECT_EQ(ovstage_query_placement_extension(&instance, &out), OVSTAGE_ERROR_NOT_FOUND);
    EXPECT_EQ(ovstage_query_placement_extension(&instance, nullptr),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(ovstage_query_placement_extension(nullptr, &out), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(placed_calls, 0);
}

TEST_F(Placement, R88_a_refused_write_still_hands_managed_tensors_over)
{
    const DLManagedTensorVersioned *managed[1] = {nullptr};
    lookup_status = OVSTAGE_ERROR_NOT_FOUND;
    const auto without = ovstage_write_attribute_on_device(&instance, 5, {1, {}}, 1, data,
                                                           OVSTAGE_PRIM_MODE_UPSERT, &here);
    EXPECT_EQ(without.status, OVSTAGE_ERROR_NOT_FOUND);
    EXPECT_EQ(plain_calls, 0);
    data.managed_tensors = managed;
    data.tensor_count = 1;
    const auto with = ovstage_write_attribute_on_device(&instance, 5, {1, {}}, 1, data,
                                                        OVSTAGE_PRIM_MODE_UPSERT, &here);
    EXPECT_EQ(with.status, OVSTAGE_ERROR_NOT_FOUND);
    EXPECT_EQ(plain_calls, 1);
    EXPECT_EQ(plain_query, OVSTAGE_INVALID_QUERY_HANDLE);
    ovstage_write_attributes_on_device(&instance, 5, &write, 1, 1, OVSTAGE_PRIM_MODE_UPSERT, &here);
    EXPECT_EQ(plain_calls, 2);
    EXPECT_EQ(plain_query, OVSTAGE_INVALID_QUERY_HANDLE);
}

} // namespace
