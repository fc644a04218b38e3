// Texts of errors name the value, the limit, and the attribute and the prim where there is one.
#include "tests/support/arrays.h"
#include "tests/support/bounded.h"
#include "tests/support/maps.h"

using namespace client;

namespace
{

std::string hex(uint64_t id)
{
    char text[32];
    std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(id));
    return text;
}

class ErrorText : public MapTest
{
  protected:
    // Refused, or failed when it ran: with that text, in which each of the parts is.
    void expect(ovstage_enqueue_result_t result, const std::vector<std::string> &parts)
    {
        std::string text = last_error();
        if (result.status == OVSTAGE_OK) {
            ovstage_op_wait_result_t outcome;
            ASSERT_EQ(ovstage_wait_op(stage.instance, result.op_index, forever, &outcome),
                      OVSTAGE_OK);
            ASSERT_GT(outcome.error_op_id_count, 0u) << parts[0];
            text = client::text(ovstage_get_last_op_error(stage.instance, result.op_index));
        }
        expect_in(text, parts);
    }
    void expect(ovstage_api_status_t status, const std::vector<std::string> &parts)
    {
        EXPECT_NE(status, OVSTAGE_OK);
        expect_in(last_error(), parts);
    }
    static void expect_in(const std::string &text, const std::vector<std::string> &parts)
    {
        for (const std::string &part : parts)
            EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
    }
    ovstage_enqueue_result_t read(ovx_token_t token, uint64_t start, uint64_t end)
    {
        ovstage_read_handle_t handle = 0;
        return ovstage_read_attributes(stage.instance, query, &token, 1,
                                       ovstage_ordinal_range_t{start, end, start != 0}, &handle);
    }
    // A query over what there is, that is not known before the gate is let go.
    ovstage_query_handle_t all()
    {
        ovstage_query_handle_t found = 0;
        EXPECT_EQ(ovstage_query(stage.instance, nullptr, nullptr, 0, &found).status, OVSTAGE_OK);
        return found;
    }
    void put_arrays(ovx_token_t token)
    {
        stage.finish(client::write(stage, query, token, 1, rows.data));
    }

    RowPayload<float> rows{Rows<float>{{1, 2}, {3}, {4}, {}}, f32()};
    ovx_token_t lists = stage.token("lists");
};

TEST_F(ErrorText, another_schema)
{
    const std::vector<std::string> parts = {"'lists'", "'/P/0'",
                                            "another schema, float32 x1, an array, NONE",
                                            "float32 x1, of fixed size, NONE"};
    put_arrays(lists);
    expect(stage.write(query, lists, 1, ramp(4)), parts);
    Map map(stage, query, description(lists), 1);
    expect(map.opened, parts);
    // Found when the op runs.
    Gate gate;
    gate.submit(stage, 1);
    gate.wait_entered();
    ovx_token_t late = stage.token("late");
    Values values = ramp(4), more = ramp(4);
    ovstage_enqueue_result_t first = client::write(stage, query, late, 1, rows.data);
    ovstage_enqueue_result_t second = stage.write(query, late, 1, values);
    gate.let_go();
    stage.finish(first);
    expect(second, {"'late'", "'/P/0'", parts[2], parts[3]});
    // By a zero dtype.
    stage.finish(stage.write(stage.query({"/Q"}), late, 1, Values{1}));
    ovstage_query_handle_t both = stage.query({"/P/0", "/Q"});
    Map any(stage, both, description(late, none), 1, {1, 1});
    expect(any.opened, {"'late'", "'/Q'", parts[3], "ambiguous"});
}

TEST_F(ErrorText, reads)
{
    write(1, ramp(4));
    stage.finish(stage.seal(1));
    stage.finish(stage.write(stage.query({"/P/2"}), attribute, 3, Values{5}));
    expect(read(attribute, 0, 4),
           {"'points'", "'/P/2'", "at ordinal 3", "read's 4", "write floor is 1"});
    stage.finish(stage.write(query, lists, 3, ramp(4))); // no seal has made it visible
    expect(read(lists, 0, 3), {"'lists'", "'/P/0'", "at ordinal 3", "write floor is 1"});
    stage.finish(ovstage_delete_attributes(stage.instance, stage.query({"/P/3"}), nullptr, 0, 4));
    stage.finish(flyrail_discard(stage.instance, 3));
    expect(read(attribute, 0, 4), {"'points'", "'/P/3'", "at ordinal 4"});
    for (uint64_t ordinal = 5; ordinal < 12; ordinal++) {
        write(ordinal, ramp(4));
        stage.finish(stage.seal(ordinal));
    }
    expect(read(attribute, 0, 6),
           {"'points'", "ordinal 6", "write floor is 11", "2 values (history_versions)",
            std::to_string(config().history_limit_bytes) + " bytes (history_limit_bytes)"});
}

TEST_F(ErrorText, writes)
{
    write(1, ramp(4));
    stage.finish(stage.seal(1));
    std::string floor = "write floor 1 of attribute 'points'";
    expect(stage.write(query, attribute, 1, ramp(4)), {"ordinal 1", floor});
    expect(stage.write(query, attribute, 2, ramp(3)), {"'points'", "3 rows", "4 elements"});
    expect(stage.write(query, attribute, 2, ramp(4), OVSTAGE_PRIM_MODE_INSERT),
           {"ordinal 2", "'/P/0'"});
    Payload wrong(ramp(4), 4);
    wrong.data.semantic = static_cast<ovstage_attribute_semantic_t>(99);
    expect(client::write(stage, query, attribute, 2, wrong.data), {"'points'", "99", "0..15"});
    expect(client::write(stage, query, stage.token("usd-path"), 2, Payload(ramp(4), 4).data),
           {"usd-path"});
    Values one = {1};
    expect(stage.write(all(), attribute, 2, one), {"'points'", "1 rows", "4 elements"});
    Payload two(ramp(2), 2);
    expect(flyrail_write_rows(stage.instance, query, named(attribute), 2, nullptr, 2, two.data,
                              FLYRAIL_WRITE_UPSERT),
           {"rows is NULL", "row_count is 2"});
    const uint32_t outside[2] = {0, 4};
    expect(flyrail_write_rows(stage.instance, query, named(attribute), 2, outside, 2, two.data,
                              FLYRAIL_WRITE_UPSERT),
           {"rows[1] = 4", "4 prims"});
    expect(ovstage_write_attributes(stage.instance, query, nullptr, 3, 2, OVSTAGE_PRIM_MODE_UPSERT),
           {"writes is NULL", "3", "65535"});
    expect(flyrail_discard(stage.instance, 1), {"ordinal 1", "write floor 1"});
}

TEST_F(ErrorText, operations_by_their_ids)
{
    flyrail_task_desc_t desc;
    std::memset(&desc, 0, sizeof(desc));
    desc.struct_size = sizeof(desc);
    desc.name = "cook";
    desc.fn = [](const flyrail_task_context_t *, void *) {
        return static_cast<ovstage_api_status_t>(OVSTAGE_ERROR_OUT_OF_RANGE);
    };
    ovstage_enqueue_result_t fails = flyrail_submit_task(stage.instance, &desc);
    expect(fails, {"task 'cook'", "'out of range' (13)"});
    ovstage_enqueue_result_t with = task(stage, 0, nullptr, nullptr, {fails.op_index});
    expect(with, {"operation " + hex(fails.op_index)});
    ASSERT_EQ(ovstage_release_op(stage.instance, with.op_index), OVSTAGE_OK);
    expect(ovstage_release_op(stage.instance, with.op_index), {"operation " + hex(with.op_index)});
    expect(flyrail_wait_all(stage.instance, &with.op_index, 1, 0),
           {"operation " + hex(with.op_index)});
    ovstage_op_wait_result_t outcome;
    expect(ovstage_wait_op(stage.instance, with.op_index, 0, &outcome),
           {"operation " + hex(with.op_index)});
    expect(task(stage, 0, nullptr, nullptr, {with.op_index}), {"deps[0] = " + hex(with.op_index)});
    Body body;
    body.run = [&](const flyrail_task_context_t *context) {
        ovstage_api_status_t status =
            ovstage_wait_op(stage.instance, context->op_id, forever, &outcome);
        expect(status, {"operation " + hex(context->op_id)});
        return OVSTAGE_OK;
    };
    stage.finish(task(stage, 0, Body::call, &body));
}

TEST_F(ErrorText, room)
{
    flyrail_config_t small = config(0);
    small.pending_limit_bytes = 128;
    small.op_limit = 2;
    Stage tight(small);
    ovstage_query_handle_t some = tight.query(16);
    Values values = ramp(16), many = ramp(64);
    tight.finish(tight.write(some, tight.token("a"), 1, values));
    ovstage_enqueue_result_t second = tight.write(some, tight.token("a"), 2, values);
    tight.finish(second);
    expect(tight.write(some, tight.token("a"), 3, values),
           {"128 bytes are unsealed", "64 more", "limit is 128 (pending_limit_bytes)", "seals"});
    expect(tight.write(tight.query(64), tight.token("b"), 3, many), {"256 more", "never fit"});
    flyrail_config_t refused = config(0);
    ovstage_instance_t *instance = nullptr;
    refused.pending_limit_bytes = 0;
    expect(flyrail_create_instance(nullptr, &refused, &instance),
           {"pending_limit_bytes is 0", "at least 1"});
    refused = config(0);
    refused.op_limit = 0;
    expect(flyrail_create_instance(nullptr, &refused, &instance), {"op_limit is 0", "at least 1"});
    refused = config(1025);
    expect(flyrail_create_instance(nullptr, &refused, &instance), {"1025", "1024"});
}

TEST_F(ErrorText, what_else_has_limits)
{
    ovstage_query_handle_t found = 0;
    expect(ovstage_query(stage.instance, nullptr, nullptr, 2, &found), {"attrs is NULL", "2"});
    ovstage_filter_t filter;
    std::memset(&filter, 0, sizeof(filter));
    filter.count = 3;
    expect(ovstage_query(stage.instance, &filter, nullptr, 0, &found), {"predicates is NULL", "3"});
    flyrail_snapshot_desc_t desc;
    std::memset(&desc, 0, sizeof(desc));
    desc.struct_size = sizeof(desc);
    desc.ordinal = 7;
    flyrail_snapshot_t snapshot = 0;
    expect(flyrail_snapshot_open(stage.instance, &desc, &snapshot, nullptr),
           {"ordinal 7", "write floor is 0", "of all attributes"});
    desc.attributes = &attribute;
    desc.attribute_count = 1;
    expect(flyrail_snapshot_open(stage.instance, &desc, &snapshot, nullptr),
           {"ordinal 7", "write floor is 0", "the least of the attributes'"});
    expect(read(attribute, 5, 3), {"start_ordinal 5", "end_ordinal 3"});
    expect(flyrail_wait_room(stage.instance, 2000000, 0, 0), {"2000000", "1000000"});
}

} // namespace
