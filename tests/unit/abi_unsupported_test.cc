// Exported functions that the library does not implement: they link, a caller's mistake comes
// first, and each says what is missing. Out values are empty.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <ovstage/ovalign.h>
#include <ovstage/ovstage.h>

namespace
{

struct Unsupported : testing::Test {
    Unsupported()
    {
        EXPECT_EQ(ovstage_create_instance(nullptr, &instance), OVSTAGE_OK);
    }
    ~Unsupported() override
    {
        EXPECT_EQ(ovstage_destroy_instance(instance), OVSTAGE_OK);
    }
    static std::string last_error()
    {
        const ovx_string_t text = ovstage_get_last_error();
        return text.ptr ? std::string(text.ptr, text.length) : "";
    }
    template <class Result> static ovstage_api_status_t of(const Result &result)
    {
        EXPECT_EQ(result.op_index, OVSTAGE_INVALID_OP_ID);
        return result.status;
    }
    static ovstage_api_status_t of(ovstage_api_status_t status)
    {
        return status;
    }
    // NULL is INVALID_ARGUMENT (D8), the instance gets `expected`, both with a text.
    template <class Call> void expect(Call call, ovstage_api_status_t expected)
    {
        EXPECT_EQ(of(call(static_cast<ovstage_instance_t *>(nullptr))),
                  OVSTAGE_ERROR_INVALID_ARGUMENT);
        EXPECT_NE(last_error(), "");
        EXPECT_EQ(of(call(instance)), expected);
        EXPECT_NE(last_error(), "");
    }

    ovstage_instance_t *instance = nullptr;
    const ovx_string_t text = literal_to_ovx_string("/a");
    uint64_t out = 7;
};

TEST_F(Unsupported, R11_no_scene_description)
{
    expect([&](ovstage_instance_t *it) { return ovstage_get_usd_stage_id(it, &out); },
           OVSTAGE_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(out, 0u);
    expect([&](ovstage_instance_t *it) { return ovstage_get_usd_stage_id(it, nullptr); },
           OVSTAGE_ERROR_INVALID_ARGUMENT);
}

TEST_F(Unsupported, Population)
{
    using Call = std::function<ovstage_population_enqueue_result_t(ovstage_instance_t *)>;
    const std::vector<Call> calls = {
        [&](auto *it) { return ovstage_population_open_usd_from_file(it, text, 1); },
        [&](auto *it) { return ovstage_population_open_usd_from_string(it, text, 1); },
        [&](auto *it) {
            return ovstage_population_open_usd_from_file_with_desc(it, text, 1, nullptr);
        },
        [&](auto *it) {
            return ovstage_population_open_usd_from_string_with_desc(it, text, 1, nullptr);
        },
        [&](auto *it) { return ovstage_population_add_usd_reference_from_file(it, text, text, 1); },
        [&](auto *it) {
            return ovstage_population_add_usd_reference_from_string(it, text, text, 1);
        },
        [&](auto *it) { return ovstage_population_remove_usd_reference(it, text, 1); },
        [&](auto *it) { return ovstage_population_reset_usd(it, 1); },
        [&](auto *it) { return ovstage_population_apply_usd_time(it, 1.0, 1); },
        [&](auto *it) { return ovstage_population_apply_usd_changes(it, 1); },
    };
    for (const Call &call : calls)
        expect(call, OVSTAGE_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(std::string(ovstage_population_get_last_error().ptr), last_error());

    ovstage_op_wait_result_t result;
    std::memset(&result, 5, sizeof(result));
    expect([&](auto *it) { return ovstage_population_wait_op(it, 5, 0, &result); },
           OVSTAGE_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(result.error_op_id_count, 0u);
    EXPECT_EQ(ovstage_population_get_last_op_error(5).ptr, nullptr);
    EXPECT_EQ(ovstage_population_register_usd_schemas(&text, 1), OVSTAGE_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(ovstage_population_register_usd_schemas(nullptr, 1), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(ovstage_population_untyped_type_name().length, 0u);
}

} // namespace
