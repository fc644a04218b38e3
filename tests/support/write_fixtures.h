// Stages for tests about writes.
#ifndef FR_TESTS_SUPPORT_WRITE_FIXTURES_H
#define FR_TESTS_SUPPORT_WRITE_FIXTURES_H

#include "tests/support/columns.h"

namespace client
{

// A query of three prims, two attributes, and batches of writes.
class BatchFixture : public ::testing::Test
{
  protected:
    using Values = std::vector<float>;

    Stage stage{2};
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t a = stage.token("a"), b = stage.token("b");
    Values one = ramp(3, 10), two = ramp(3, 20), three = ramp(3, 30);

    Values at(ovx_token_t attribute, uint64_t ordinal)
    {
        return stage.read(query, attribute, ordinal);
    }
    ovstage_enqueue_result_t batch(const std::vector<ovstage_attribute_write_t> &writes,
                                   uint64_t ordinal,
                                   ovstage_prim_mode_t mode = OVSTAGE_PRIM_MODE_UPSERT)
    {
        return ovstage_write_attributes(stage.instance, query, writes.data(), writes.size(),
                                        ordinal, mode);
    }
};

// A query of four prims and one attribute, whose payloads are written, sealed and read back.
class PayloadFixture : public ::testing::Test
{
  protected:
    using Values = std::vector<float>;

    Stage stage{2};
    ovstage_query_handle_t query = stage.query(4);
    ovx_token_t attribute = stage.token("points");
    uint64_t ordinal = 1;

    std::string refuse(const ovstage_write_data_t &data,
                       ovstage_api_status_t status = OVSTAGE_ERROR_INVALID_ARGUMENT)
    {
        return refused(write(stage, query, attribute, ordinal, data), status);
    }
    // Writes, seals and reads back all positions; a position without a value is empty.
    std::vector<Values> round_trip(const ovstage_write_data_t &data)
    {
        stage.finish(write(stage, query, attribute, ordinal, data));
        return sealed();
    }
    std::vector<Values> sealed()
    {
        stage.finish(stage.seal(ordinal));
        std::vector<Values> values(4);
        Snapshot snapshot(stage, query, {attribute}, ordinal);
        EXPECT_EQ(snapshot.status, OVSTAGE_OK) << last_error();
        for (const auto &group : snapshot.groups) {
            for (const auto &[position, row] : Snapshot::rows(group))
                values[position] = row;
        }
        ordinal++;
        return values;
    }
};

} // namespace client

#endif
