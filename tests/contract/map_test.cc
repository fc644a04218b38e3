// Map sessions over fixed-size columns: R117-R123, R127, L2, L3, D2, D16, D25.
#include <thread>

#include "tests/support/bounded.h"
#include "tests/support/maps.h"

using namespace client;

namespace
{

TEST_F(MapTest, R117_map_fetch_fill_unmap)
{
    Map map(stage, query, description(attribute), 1);
    map.fill(ramp(4, 10));
    EXPECT_EQ(map.fetch(), OVSTAGE_ERROR_END_OF_ITERATION);
    stage.finish(map.unmap());
    map.expect_ended();
    stage.finish(map.opened);
    EXPECT_EQ(sealed(1), ramp(4, 10));
}

TEST_F(MapTest, R117_a_group_may_be_committed_before_the_end)
{
    Map map(stage, query, description(attribute), 1);
    map.fill(ramp(4, 10));
    stage.finish(map.unmap_group());
    EXPECT_EQ(sealed(1), ramp(4, 10)); // the session still being open
    EXPECT_EQ(map.fetch(), OVSTAGE_ERROR_END_OF_ITERATION);
    stage.finish(map.unmap()); // with nothing left to commit no floor matters
    map.expect_ended();
    EXPECT_EQ(stage.read(query, attribute, 1), ramp(4, 10));
}

TEST_F(MapTest, R119_the_group_is_canonical)
{
    write(1, ramp(4));
    stage.finish(stage.seal(1));
    Map map(stage, query, description(attribute, none), 2);
    ASSERT_EQ(map.fetch(), OVSTAGE_OK) << last_error();
    const ovstage_map_group_t &group = map.group;
    Snapshot snapshot(stage, query, {attribute}, 1);
    ASSERT_EQ(snapshot.groups.size(), 1u);
    EXPECT_EQ(group.prims.list, snapshot.groups[0].prims.list);
    EXPECT_EQ(group.prims.offset, 0u);
    EXPECT_EQ(group.prims.count, 4u);
    EXPECT_EQ(group.prims.index_map, nullptr);
    EXPECT_EQ(group.data.count, 4u);
    EXPECT_EQ(group.data.index_map, nullptr);
    EXPECT_EQ(group.data.mask, nullptr);
    ASSERT_EQ(group.data.tensor_count, 1u);
    const DLTensor &tensor = group.data.tensors[0];
    EXPECT_EQ(tensor.ndim, 1);
    EXPECT_EQ(tensor.shape[0], 4);
    EXPECT_EQ(tensor.strides, nullptr);
    EXPECT_EQ(tensor.byte_offset, 0u);
    EXPECT_EQ(tensor.device.device_type, kDLCPU);
    EXPECT_EQ(tensor.dtype.code, kDLFloat);
    EXPECT_EQ(tensor.dtype.bits, 32);
    EXPECT_EQ(tensor.dtype.lanes, 1);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data) % 64, 0u);
    EXPECT_EQ(group.meta.attribute_write_floor_ordinal, 1u);
    EXPECT_EQ(group.meta.layout_generation, snapshot.groups[0].meta.layout_generation);
    stage.finish(map.unmap());
}

TEST_F(MapTest, D16_the_buffer_is_zero_whatever_lay_there)
{
    for (uint64_t ordinal = 1; ordinal < 20; ordinal++) {
        Map map(stage, query, description(attribute, f32(3)), ordinal);
        ASSERT_EQ(map.fetch(), OVSTAGE_OK) << last_error();
        for (size_t i = 0; i < 12; i++) {
            ASSERT_EQ(map.values()[i], 0.0f);
            map.values()[i] = 5;
        }
        stage.finish(map.unmap());
        stage.finish(stage.seal(ordinal));
    }
}

TEST_F(MapTest, R122_unmap_commits_what_the_buffer_holds)
{
    write(1, ramp(4, 7));
    Map map(stage, query, description(attribute), 2);
    ASSERT_EQ(map.fetch(), OVSTAGE_OK);
    map.values()[2] = 3;
    stage.finish(map.unmap());
    EXPECT_EQ(sealed(2), (Values{0, 0, 3, 0}));
}

TEST_F(MapTest, D16_what_nobody_fetched_is_not_committed)
{
    write(1, ramp(4, 7));
    Map map(stage, query, description(attribute), 2);
    stage.finish(map.opened);
    refused(map.unmap_group(), OVSTAGE_ERROR_INVALID_HANDLE);
    stage.finish(map.unmap());
    map.expect_ended();
    EXPECT_EQ(sealed(2), ramp(4, 7));
    EXPECT_EQ(stage.statistics().pending_bytes, 0u);
}

TEST_F(MapTest, D16_a_commit_needs_no_copy_where_it_is_a_whole_version)
{
    for (uint64_t ordinal = 1; ordinal < 4; ordinal++) { // without places first, then with
        Map map(stage, query, description(attribute), ordinal);
        map.fill(ramp(4, static_cast<float>(ordinal)));
        const float *mapped = map.values();
        stage.finish(map.unmap());
        stage.finish(stage.seal(ordinal));
        Snapshot snapshot(stage, query, {attribute}, ordinal);
        ASSERT_EQ(snapshot.groups.size(), 1u);
        if (ordinal > 1) {
            EXPECT_EQ(snapshot.groups[0].data.tensors[0].data, mapped);
        }
        EXPECT_EQ(stage.read(query, attribute, ordinal), ramp(4, static_cast<float>(ordinal)));
    }
}

TEST_F(MapTest, R103_a_part_of_the_prims)
{
    ovstage_query_handle_t some = stage.query({"/P/3", "/P/1"});
    write(1, ramp(4));
    stage.finish(stage.seal(1));
    Map map(stage, some, description(attribute), 2);
    map.fill({30, 10});
    stage.finish(map.unmap());
    EXPECT_EQ(sealed(2), (Values{0, 10, 2, 30}));
    Map twice(stage, stage.query({"/P/0", "/P/0"}), description(attribute), 3);
    twice.fill({5, 6}); // D6: the last position counts
    stage.finish(twice.unmap());
    EXPECT_EQ(sealed(3), (Values{6, 10, 2, 30}));
}

TEST_F(MapTest, R103_a_large_part_is_copied_by_many_and_given_back)
{
    constexpr size_t prims = 40000, part = 20000; // cut into chunks
    std::vector<std::string> paths;
    for (size_t i = 0; i < part; i++)
        paths.push_back("/P/" + std::to_string(2 * i + 1));
    ovstage_query_handle_t all = stage.query(prims), odd = stage.query(paths);
    Values values = ramp(prims);
    stage.finish(stage.write(all, attribute, 1, values));
    stage.finish(stage.seal(1));
    uint64_t before = stage.statistics().payload_bytes;
    Map map(stage, odd, description(attribute), 2);
    map.fill(ramp(part, 7));
    EXPECT_GE(stage.statistics().payload_bytes, before + part * sizeof(float));
    stage.finish(map.unmap());
    for (size_t i = 0; i < part; i++)
        values[2 * i + 1] = 7 + static_cast<float>(i);
    stage.finish(stage.seal(2));
    EXPECT_EQ(stage.read(all, attribute, 2), values);
    EXPECT_EQ(stage.statistics().pending_bytes, 0u);
}

TEST_F(MapTest, D19_an_alias_is_the_same_column)
{
    ovx_token_t alias = stage.token("omni:xform"), name = stage.token("omni:fabric:localMatrix");
    stage.finish(stage.write(query, name, 1, ramp(4)));
    Map map(stage, query, description(alias, none), 1);
    map.fill(ramp(4, 10));
    stage.finish(map.unmap());
    stage.finish(stage.seal(1));
    EXPECT_EQ(stage.read(query, name, 1), ramp(4, 10));
}

TEST_F(MapTest, L8_a_session_inside_a_task)
{
    Body body;
    body.run = [&](const flyrail_task_context_t *) {
        Map map(stage, query, description(attribute), 2);
        map.fill(ramp(4, 10));
        stage.finish(map.unmap());
        return OVSTAGE_OK;
    };
    stage.finish(task(stage, 1, Body::call, &body));
    EXPECT_EQ(body.runs, 1);
    EXPECT_EQ(sealed(2), ramp(4, 10));
}

TEST_F(MapTest, R35_one_ordinal_goes_by_the_order_of_commits)
{
    Map first(stage, query, description(attribute), 1);
    Map second(stage, query, description(attribute), 1);
    first.fill(ramp(4, 10));
    second.fill(ramp(4, 20));
    EXPECT_NE(first.values(), second.values());
    stage.finish(second.unmap());
    Values later = ramp(4, 30);
    later[0] = 31;
    stage.finish(stage.write(query, attribute, 1, later));
    stage.finish(first.unmap());
    EXPECT_EQ(sealed(1), ramp(4, 10));
}

TEST_F(MapTest, R35_a_write_after_a_commit_changes_the_version_alone)
{
    Map map(stage, query, description(attribute), 1);
    map.fill(ramp(4, 10));
    stage.finish(map.unmap());
    Values one{99};
    stage.finish(stage.write(stage.query({"/P/2"}), attribute, 1, one));
    stage.finish(stage.write(stage.query({"/P/9"}), attribute, 1, one));
    EXPECT_EQ(sealed(1), (Values{10, 11, 99, 13}));
}

TEST_F(MapTest, L2_an_open_map_holds_nobody_up)
{
    Map map(stage, query, description(attribute), 2);
    map.fill(ramp(4, 10));
    Map again(stage, query, description(attribute), 2);
    write(1, ramp(4, 1));
    write(2, ramp(4, 2));
    write(3, ramp(4, 3));
    EXPECT_EQ(sealed(1), ramp(4, 1));
    stage.finish(map.unmap());
    EXPECT_EQ(sealed(3), ramp(4, 3));
    EXPECT_EQ(stage.read(query, attribute, 2), ramp(4, 10));
    stage.finish(again.unmap());
}

TEST_F(MapTest, D16_a_seal_ends_the_session_that_commits_after_it)
{
    for (bool group : {false, true}) {
        uint64_t ordinal = group ? 4 : 2;
        Map map(stage, query, description(attribute), ordinal);
        map.fill(ramp(4, 10));
        stage.finish(map.opened);
        write(ordinal - 1, ramp(4, 1));
        EXPECT_EQ(sealed(ordinal), ramp(4, 1)); // not held back
        std::string why =
            refused(group ? map.unmap_group() : map.unmap(), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
        EXPECT_NE(why.find(std::to_string(ordinal)), std::string::npos) << why;
        map.expect_ended();
        EXPECT_EQ(stage.read(query, attribute, ordinal), ramp(4, 1));
        EXPECT_EQ(stage.statistics().pending_bytes, 0u);
    }
}

TEST_F(MapTest, D2_a_seal_counts_from_its_acceptance)
{
    Map map(stage, query, description(attribute), 2);
    map.fill(ramp(4, 10));
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 1);
    ovstage_enqueue_result_t seal = stage.seal(2); // pending behind the gate
    refused(map.unmap(), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    gate.let_go();
    stage.finish(held);
    stage.finish(seal);
    map.expect_ended();
}

TEST_F(MapTest, R33_map_at_a_sealed_ordinal)
{
    stage.finish(stage.seal(3));
    std::string why = refuse(description(attribute), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, 3);
    EXPECT_NE(why.find("floor 3"), std::string::npos) << why;
    refuse(description(attribute), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, 0);
    // A seal of others does not matter.
    stage.finish(stage.seal(9, OVSTAGE_SCOPE_INCLUDE, {stage.token("other")}));
    Map map(stage, query, description(attribute), 4);
    map.fill(ramp(4));
    stage.finish(map.unmap());
    EXPECT_EQ(sealed(4), ramp(4));
    refuse(description(stage.token("other")), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, 9);
}

TEST_F(MapTest, R118_what_a_dtype_must_be)
{
    refuse(description(attribute, none), OVSTAGE_ERROR_INVALID_ARGUMENT); // new
    refuse(description(attribute, DLDataType{kDLFloat, 32, 0}), OVSTAGE_ERROR_INVALID_ARGUMENT);
    refuse(description(attribute, DLDataType{kDLFloat, 4, 1}), OVSTAGE_ERROR_NOT_SUPPORTED);
    refuse(description(attribute, DLDataType{kDLFloat, 32, 256}), OVSTAGE_ERROR_NOT_SUPPORTED);
    refuse(description(attribute, f32(), OVSTAGE_SEMANTIC_TOKEN_ID),
           OVSTAGE_ERROR_INVALID_ARGUMENT);
    refuse(description(attribute, u8(), OVSTAGE_SEMANTIC_STRING), OVSTAGE_ERROR_INVALID_ARGUMENT);
    for (DLDataType dtype : {f32(), none})
        refuse(description(attribute, dtype, static_cast<ovstage_attribute_semantic_t>(99)),
               OVSTAGE_ERROR_INVALID_ARGUMENT);
    refuse(
        description(attribute, f32(), OVSTAGE_SEMANTIC_NONE, static_cast<ovstage_prim_mode_t>(7)),
        OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(stage.statistics().pending_bytes, 0u);
    // A refused map names nothing (D1).
    stage.finish(stage.seal(5));
    EXPECT_EQ(stage.floor(), 5u);
}

TEST_F(MapTest, R118_a_zero_dtype_is_the_one_that_all_have)
{
    Payload wide(ramp(6), 2, 3);
    wide.data.semantic = OVSTAGE_SEMANTIC_POINT;
    stage.finish(client::write(stage, stage.query({"/P/1", "/P/2"}), attribute, 1, wide.data));
    Map map(stage, query, description(attribute, none), 2);
    map.fill(ramp(12));
    EXPECT_EQ(map.group.data.tensors[0].dtype.lanes, 3);
    stage.finish(map.unmap());
    stage.finish(stage.seal(2));
    Snapshot snapshot(stage, query, {attribute}, 2);
    ASSERT_EQ(snapshot.groups.size(), 1u);
    EXPECT_EQ(snapshot.groups[0].semantic, OVSTAGE_SEMANTIC_POINT); // D11
    EXPECT_EQ(Snapshot::rows(snapshot.groups[0])[3].second, (Values{9, 10, 11}));
    refuse(description(attribute, none, OVSTAGE_SEMANTIC_COLOR), OVSTAGE_ERROR_INVALID_ARGUMENT, 3);
    Map same(stage, query, description(attribute, none, OVSTAGE_SEMANTIC_POINT), 3);
    stage.finish(same.opened);
    // Keys of other prims do not count.
    ovstage_query_handle_t others = stage.query({"/Q"});
    ovstage_map_desc_t desc = description(attribute, none);
    ovstage_map_handle_t handle;
    refused(ovstage_map_attribute(stage.instance, others, &desc, 3, nullptr, 0, &handle),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
}

TEST_F(MapTest, R118_a_zero_dtype_that_is_ambiguous)
{
    Payload first(ramp(2), 2), second(std::vector<double>{1, 2}, f64(), {2});
    stage.finish(client::write(stage, stage.query({"/P/0", "/P/1"}), attribute, 1, first.data));
    stage.finish(client::write(stage, stage.query({"/P/2", "/P/3"}), attribute, 1, second.data));
    std::string why = refuse(description(attribute, none), OVSTAGE_ERROR_INVALID_ARGUMENT, 2);
    EXPECT_NE(why.find("/P/2"), std::string::npos) << why;
    Map left(stage, stage.query({"/P/1", "/P/7"}), description(attribute, none), 2);
    ASSERT_EQ(left.fetch(), OVSTAGE_OK) << last_error();
    EXPECT_EQ(left.group.data.tensors[0].dtype.bits, 32);
    Map right(stage, stage.query({"/P/3"}), description(attribute, none), 2);
    ASSERT_EQ(right.fetch(), OVSTAGE_OK) << last_error();
    EXPECT_EQ(right.group.data.tensors[0].dtype.bits, 64);
    stage.finish(left.unmap());
    stage.finish(right.unmap());
}

TEST_F(MapTest, R118_a_schema_that_would_change)
{
    write(1, ramp(4));
    for (DLDataType dtype : {f32(2), f64(), DLDataType{kDLInt, 32, 1}})
        refuse(description(attribute, dtype), OVSTAGE_ERROR_INVALID_ARGUMENT, 2);
    refuse(description(attribute, f32(), OVSTAGE_SEMANTIC_COLOR), OVSTAGE_ERROR_INVALID_ARGUMENT,
           2);
    Map other(stage, stage.query({"/Q"}), description(attribute, f64()), 2); // another prim
    EXPECT_EQ(other.opened.status, OVSTAGE_OK) << last_error();
    stage.finish(other.unmap());
}

TEST_F(MapTest, R118_a_deleted_attribute_is_new_again)
{
    write(1, ramp(4));
    ovx_string_or_token_t name = named(attribute);
    stage.finish(ovstage_delete_attributes(stage.instance, query, &name, 1, 2));
    refuse(description(attribute, none), OVSTAGE_ERROR_INVALID_ARGUMENT, 2);
    Map old(stage, query, description(attribute, none), 1); // below the delete it is there
    old.fill(ramp(4, 5));
    Map fresh(stage, query, description(attribute, f32(2)), 3);
    fresh.fill(ramp(8));
    stage.finish(fresh.unmap());
    stage.finish(old.unmap());
    EXPECT_EQ(sealed(1), ramp(4, 5));
    stage.finish(stage.seal(3));
    Snapshot snapshot(stage, query, {attribute}, 3);
    ASSERT_EQ(snapshot.groups.size(), 1u);
    EXPECT_EQ(snapshot.groups[0].data.tensors[0].dtype.lanes, 2);
    EXPECT_EQ(Snapshot::rows(snapshot.groups[0])[3].second, (Values{6, 7}));
}

TEST_F(MapTest, L3_a_zero_dtype_waits_for_the_writes_before_it)
{
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 1);
    Values values = ramp(4);
    ovstage_enqueue_result_t write = stage.write(query, attribute, 1, values);
    Map map(stage, query, description(attribute, none), 2);
    Map nobody(stage, query, description(stage.token("nothing"), none), 2);
    ASSERT_EQ(map.opened.status, OVSTAGE_OK) << last_error();
    EXPECT_EQ(map.fetch(0), OVSTAGE_ERROR_TIMEOUT);
    EXPECT_EQ(map.fetch(1000), OVSTAGE_ERROR_TIMEOUT);
    gate.let_go();
    map.fill(ramp(4, 5));
    stage.finish(held);
    stage.finish(write);
    stage.finish(map.unmap());
    EXPECT_EQ(sealed(2), ramp(4, 5));
    // Of what waits behind the gate too it is known only then that nobody wrote it.
    ASSERT_EQ(nobody.opened.status, OVSTAGE_OK) << last_error();
    failed(stage, nobody.opened);
    EXPECT_EQ(nobody.fetch(), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("dtype"), std::string::npos) << last_error();
    failed(stage, nobody.unmap()); // D17; R126: it ends all the same
    nobody.expect_ended();
}

TEST_F(MapTest, R106_INSERT_is_judged_as_a_write)
{
    const auto inserts =
        description(attribute, f32(), OVSTAGE_SEMANTIC_NONE, OVSTAGE_PRIM_MODE_INSERT);
    Map first(stage, query, inserts, 1);
    Map second(stage, query, inserts, 1);
    first.fill(ramp(4, 10));
    second.fill(ramp(4, 20));
    stage.finish(first.unmap());
    std::string why = failed(stage, second.unmap()); // the prims are the first one's by now
    EXPECT_NE(why.find("/P/0"), std::string::npos) << why;
    second.expect_ended();
    refuse(inserts, OVSTAGE_ERROR_PRIM_NOT_FOUND, 1);
    EXPECT_EQ(sealed(1), ramp(4, 10));
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 2);
    Values one{1};
    ovstage_query_handle_t fresh = stage.query({"/Q"});
    ovstage_enqueue_result_t write = stage.write(fresh, attribute, 2, one);
    Map late(stage, fresh, inserts, 2); // the write is pending: told by the op
    ASSERT_EQ(late.opened.status, OVSTAGE_OK);
    gate.let_go();
    EXPECT_NE(failed(stage, late.opened).find("/Q"), std::string::npos);
    EXPECT_EQ(late.fetch(), OVSTAGE_ERROR_PRIM_NOT_FOUND);
    EXPECT_EQ(ovstage_release_op(stage.instance, late.opened.op_index), OVSTAGE_OK);
    EXPECT_NE(failed(stage, late.unmap()).find("/Q"), std::string::npos);
    stage.finish(held);
    stage.finish(write);
}

TEST_F(MapTest, D11_a_commit_whose_schema_others_have_entered_meanwhile)
{
    Map map(stage, query, description(attribute), 2);
    map.fill(ramp(4));
    Payload wide(ramp(12), 4, 3);
    stage.finish(client::write(stage, query, attribute, 1, wide.data));
    failed(stage, map.unmap());
    map.expect_ended();
    stage.finish(stage.seal(2));
    Snapshot snapshot(stage, query, {attribute}, 2);
    ASSERT_EQ(snapshot.groups.size(), 1u);
    EXPECT_EQ(snapshot.groups[0].data.tensors[0].dtype.lanes, 3);
}

TEST_F(MapTest, R116_reserved_names)
{
    for (const char *name : {"usd-path", "usd-parent", "usd-children", "usd-active"})
        for (DLDataType dtype : {u64(), none})
            refuse(description(stage.token(name), dtype), OVSTAGE_ERROR_NOT_SUPPORTED);
    ovx_token_t type = stage.token("usd-prim-type");
    refuse(description(type, f32()), OVSTAGE_ERROR_INVALID_ARGUMENT);
    refuse(description(stage.token("usd-schemas"), u64()), OVSTAGE_ERROR_INVALID_ARGUMENT);
    Map map(stage, query, description(type, u64()), 1);
    ASSERT_EQ(map.fetch(), OVSTAGE_OK) << last_error();
    stage.finish(map.unmap());
    stage.finish(stage.seal(1));
    Snapshot snapshot(stage, query, {type}, 1);
    ASSERT_EQ(snapshot.groups.size(), 1u);
    EXPECT_EQ(snapshot.groups[0].semantic, OVSTAGE_SEMANTIC_TOKEN_ID);
}

TEST_F(MapTest, R124_a_layout_that_changes_meanwhile_does_not_matter)
{
    write(1, ramp(4));
    Map map(stage, query, description(attribute, none), 5);
    map.fill(ramp(4, 50));
    const uint64_t generation = map.group.meta.layout_generation;
    Values more{7, 8};
    stage.finish(stage.write(stage.query({"/P/9", "/P/8"}), attribute, 2, more));
    ovx_string_or_token_t name = named(attribute);
    stage.finish(ovstage_delete_attributes(stage.instance, stage.query({"/P/1"}), &name, 1, 3));
    stage.finish(stage.seal(4));
    Snapshot between(stage, query, {attribute}, 4);
    ASSERT_EQ(between.groups.size(), 1u);
    EXPECT_GT(between.groups[0].meta.layout_generation, generation);
    stage.finish(map.unmap()); // a commit writes to prims, wherever they lie by then
    EXPECT_EQ(sealed(5), ramp(4, 50));
}

TEST_F(MapTest, R127_what_a_fetch_answers)
{
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 1);
    Map map(stage, query, description(attribute), 1);
    Map wrong(stage, query, description(stage.token("nothing"), none), 1);
    ASSERT_EQ(wrong.opened.status, OVSTAGE_OK) << last_error();
    EXPECT_EQ(map.fetch(0), OVSTAGE_ERROR_TIMEOUT);
    ovstage_api_status_t waited = OVSTAGE_OK;
    std::thread waits([&] { waited = wrong.fetch(); });
    gate.let_go();
    waits.join();
    // The producer's own status, unless the fetch itself had waited for it.
    EXPECT_TRUE(waited == OVSTAGE_ERROR_OP_FAILED || waited == OVSTAGE_ERROR_INVALID_ARGUMENT)
        << waited;
    EXPECT_EQ(wrong.fetch(), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(map.fetch(), OVSTAGE_OK) << last_error();
    EXPECT_EQ(map.fetch(), OVSTAGE_ERROR_END_OF_ITERATION);
    EXPECT_EQ(ovstage_fetch_map_next(stage.instance, map.handle, 0, nullptr),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    stage.finish(held);
    stage.finish(map.unmap());
    failed(stage, wrong.unmap());
    map.expect_ended(); // R127: stale after the unmap
    wrong.expect_ended();
}

TEST_F(MapTest, R123_a_stream_is_not_supported)
{
    Map map(stage, query, description(attribute), 1);
    map.fill(ramp(4));
    ovstage_cuda_sync_t sync{};
    sync.wait_event = 5;
    refused(ovstage_unmap_group(stage.instance, map.handle, &map.group, sync),
            OVSTAGE_ERROR_NOT_SUPPORTED);
    refused(ovstage_unmap_attribute(stage.instance, map.handle, sync), OVSTAGE_ERROR_NOT_SUPPORTED);
    stage.finish(map.unmap()); // nothing was lost
    EXPECT_EQ(sealed(1), ramp(4));
}

TEST_F(MapTest, R101_a_query_without_prims)
{
    ovstage_query_handle_t empty = stage.query(std::vector<std::string>{});
    Map map(stage, empty, description(attribute, none), 1);
    ASSERT_EQ(map.opened.status, OVSTAGE_OK) << last_error();
    EXPECT_EQ(map.fetch(), OVSTAGE_ERROR_END_OF_ITERATION);
    stage.finish(map.unmap());
    map.expect_ended();
    ovstage_map_desc_t desc = description(stage.token("usd-path"), none);
    ovstage_map_handle_t handle;
    refused(ovstage_map_attribute(stage.instance, empty, &desc, 1, nullptr, 0, &handle),
            OVSTAGE_ERROR_NOT_SUPPORTED);
}

TEST_F(MapTest, D25_bytes_count_from_the_map_on_and_commits_are_never_refused)
{
    flyrail_config_t made = config(1);
    made.pending_limit_bytes = 4096;
    made.op_limit = 4;
    Stage small(made);
    ovstage_query_handle_t all = small.query(512); // half of the limit
    Map first(small, all, description(attribute), 2);
    first.fill(ramp(512));
    small.finish(first.opened);
    EXPECT_EQ(small.statistics().pending_bytes, 2048u);
    EXPECT_GE(small.statistics().payload_bytes, 2048u);
    Map second(small, all, description(attribute), 2);
    second.fill(ramp(512, 1));
    small.finish(second.opened);
    ovstage_map_desc_t desc = description(attribute);
    ovstage_map_handle_t handle;
    refused(ovstage_map_attribute(small.instance, all, &desc, 2, nullptr, 0, &handle),
            OVSTAGE_ERROR_QUEUE_FULL);
    // An op is complete before it is counted.
    EXPECT_EQ(flyrail_wait_room(small.instance, made.op_limit, 0, forever), OVSTAGE_OK);
    Gate gate; // and a queue that is full of ops
    std::vector<ovstage_enqueue_result_t> ops{gate.submit(small, 1)};
    while (ops.size() < 4)
        ops.push_back(small.seal(1));
    EXPECT_EQ(small.statistics().ops_pending, 4u);
    ovstage_enqueue_result_t commit = first.unmap_group(), end = first.unmap(),
                             whole = second.unmap();
    gate.let_go();
    for (const auto &op : ops)
        small.finish(op);
    small.finish(commit);
    small.finish(end);
    small.finish(whole);
    small.finish(small.seal(2));
    EXPECT_EQ(small.read(all, attribute, 2), ramp(512, 1));
    EXPECT_EQ(small.statistics().pending_bytes, 0u);
}

TEST_F(MapTest, L8_fetches_make_progress_without_workers)
{
    Stage alone(0);
    ovstage_query_handle_t all = alone.query(4);
    Map map(alone, all, description(attribute), 1);
    while (map.fetch(0) == OVSTAGE_ERROR_TIMEOUT) {
    }
    std::copy_n(ramp(4).data(), 4, map.values());
    alone.finish(map.unmap());
    alone.finish(alone.seal(1));
    EXPECT_EQ(alone.read(all, attribute, 1), ramp(4));
}

} // namespace
