// The fixture of tests about hostile arguments: what is refused is refused with a text, and the
// stage
// works afterwards.
#ifndef FR_TESTS_SUPPORT_HOSTILE_H
#define FR_TESTS_SUPPORT_HOSTILE_H

#include "tests/support/columns.h"

namespace client
{

class Hostile : public testing::Test
{
  protected:
    // Refused with this status, id 0, and a text.
    static void refused(ovstage_enqueue_result_t result, ovstage_api_status_t status)
    {
        EXPECT_EQ(result.status, status) << last_error();
        EXPECT_EQ(result.op_index, OVSTAGE_INVALID_OP_ID);
        EXPECT_NE(last_error(), "");
    }
    static void refused(ovstage_api_status_t result, ovstage_api_status_t status)
    {
        EXPECT_EQ(result, status) << last_error();
        EXPECT_NE(last_error(), "");
    }

    // The stage still does its work, on ordinals of its own.
    void works()
    {
        ordinal++;
        ovx_token_t name = stage.token("still:works");
        ovstage_query_handle_t query = stage.query(3);
        std::vector<float> values = ramp(3, static_cast<float>(ordinal));
        stage.finish(stage.write(query, name, ordinal, values));
        stage.finish(stage.seal(ordinal, OVSTAGE_SCOPE_INCLUDE, {name}));
        EXPECT_EQ(stage.read(query, name, ordinal), values);
        stage.finish(ovstage_release_query(stage.instance, query));
    }

    // Every handle and id that is none of this instance's live ones.
    std::vector<uint64_t> no_handles()
    {
        std::vector<uint64_t> wrong = {0,
                                       1,
                                       2,
                                       0xdead,
                                       UINT64_MAX,
                                       UINT64_MAX - 1,
                                       INT64_MAX,
                                       uint64_t(1) << 63,
                                       0x0000ffffffffffff};
        ovstage_query_handle_t foreign = other.query(2);
        wrong.push_back(foreign);
        ovstage_query_handle_t own = stage.query(1);
        for (unsigned bit = 0; bit < 64; bit++)
            wrong.push_back(own ^ uint64_t(1) << bit);
        stage.finish(ovstage_release_query(stage.instance, own));
        wrong.push_back(own);
        return wrong;
    }

    ovstage_read_handle_t open_read(ovstage_query_handle_t query, ovx_token_t name, uint64_t at)
    {
        ovstage_read_handle_t read = 0;
        stage.finish(ovstage_read_attributes(stage.instance, query, &name, 1,
                                             ovstage_ordinal_range_t{0, at, false}, &read));
        return read;
    }

    Stage stage{1}, other{1};
    uint64_t ordinal = 1000;
};

} // namespace client

#endif
