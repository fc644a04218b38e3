// Array columns: what a write may pass and what is refused. Contract 4.7, one test a rule.
#include "tests/support/arrays.h"

using namespace client;

namespace
{

using Floats = std::map<uint32_t, std::vector<float>>;

// A stage with a query of four prims and one attribute.
class ArrayPayloadTest : public ::testing::Test
{
  protected:
    Stage stage{2};
    ovstage_query_handle_t query = stage.query(4);
    ovx_token_t attribute = stage.token("points");
    uint64_t ordinal = 1;

    std::string refuse(const ovstage_write_data_t &data,
                       ovstage_api_status_t status = OVSTAGE_ERROR_INVALID_ARGUMENT)
    {
        return refused(write(stage, query, attribute, ordinal, data), status);
    }
    Floats round_trip(const ovstage_write_data_t &data)
    {
        stage.finish(write(stage, query, attribute, ordinal, data));
        return sealed();
    }
    Floats sealed()
    {
        stage.finish(stage.seal(ordinal));
        Floats values;
        Snapshot snapshot(stage, query, {attribute}, ordinal);
        EXPECT_EQ(snapshot.status, OVSTAGE_OK) << last_error();
        EXPECT_LE(snapshot.groups.size(), 1u);
        for (const auto &group : snapshot.groups)
            values = array_rows<float>(group);
        ordinal++;
        return values;
    }
};

TEST_F(ArrayPayloadTest, R89_is_array_alone_says_it)
{
    Payload packed(ramp(8), f32(), {8});
    packed.data.is_array = true;
    EXPECT_EQ(round_trip(packed.data),
              (Floats{{0, {0, 1}}, {1, {2, 3}}, {2, {4, 5}}, {3, {6, 7}}}));
    // The same tensor shape is a fixed-size row elsewhere, and does not agree with the array.
    Payload fixed(ramp(4), 4);
    refuse(fixed.data);
    attribute = stage.token("fixed");
    stage.finish(write(stage, query, attribute, ordinal, fixed.data));
    packed.data.count = 4;
    refuse(packed.data);
}

TEST_F(ArrayPayloadTest, R97_one_tensor_a_row_of_any_length)
{
    RowPayload<float> rows({{1}, {}, {2, 3, 4}, {5, 6}}, f32());
    EXPECT_EQ(round_trip(rows.data), (Floats{{0, {1}}, {1, {}}, {2, {2, 3, 4}}, {3, {5, 6}}}));
    rows.data.tensor_count = 3;
    std::string why = refuse(rows.data);
    EXPECT_NE(why.find("tensor_count = 3"), std::string::npos) << why;
    EXPECT_NE(why.find("4"), std::string::npos) << why;
    rows.data.count = 3;
    EXPECT_EQ(round_trip(rows.data)[3], (std::vector<float>{5, 6}));
}

TEST_F(ArrayPayloadTest, R97_lanes_are_the_width_of_an_element)
{
    RowPayload<float> rows({{1, 2, 3}, {}, {4, 5, 6, 7, 8, 9}, {0, 0, 0}}, f32(3));
    EXPECT_EQ(round_trip(rows.data)[2], (std::vector<float>{4, 5, 6, 7, 8, 9}));
    Snapshot snapshot(stage, query, {attribute}, 1);
    ASSERT_EQ(snapshot.groups.size(), 1u);
    EXPECT_EQ(snapshot.groups[0].data.tensors[2].shape[0], 2);
    EXPECT_EQ(snapshot.groups[0].data.tensors[2].dtype.lanes, 3);
}

TEST_F(ArrayPayloadTest, R97_all_tensors_are_of_one_type)
{
    RowPayload<float> rows({{1}, {2}, {3}, {4}}, f32());
    rows.tensors[2].dtype = DLDataType{kDLInt, 32, 1};
    EXPECT_NE(refuse(rows.data).find("tensor 2"), std::string::npos);
}

TEST_F(ArrayPayloadTest, R98_packed_rows_divide_evenly)
{
    Payload packed(ramp(10), f32(), {10});
    packed.data.is_array = true;
    std::string why = refuse(packed.data);
    EXPECT_NE(why.find("10"), std::string::npos) << why;
    EXPECT_NE(why.find("4"), std::string::npos) << why;
    packed.data.count = 2;
    EXPECT_EQ(round_trip(packed.data), (Floats{{0, {0, 1, 2, 3, 4}}, {1, {5, 6, 7, 8, 9}}}));
    // Eight bytes a row would be enough, but not whole elements.
    Payload wide(ramp(18), f32(3), {6});
    wide.data.is_array = true;
    attribute = stage.token("wide");
    refuse(wide.data);
}

TEST_F(ArrayPayloadTest, R98_the_rows_of_a_map_are_as_many_as_it_names)
{
    Payload packed(ramp(6), f32(), {6});
    packed.data.is_array = true;
    const uint32_t map[4] = {2, 0, 2, 1};
    packed.data.index_map = map;
    packed.data.count = 4;
    EXPECT_EQ(round_trip(packed.data),
              (Floats{{0, {4, 5}}, {1, {0, 1}}, {2, {4, 5}}, {3, {2, 3}}}));
    const uint32_t first[4] = {0, 0, 0, 0};
    packed.data.index_map = first;
    EXPECT_EQ(round_trip(packed.data)[3], ramp(6));
    const uint32_t high[4] = {0, 1, 2, UINT32_MAX};
    packed.data.index_map = high;
    refuse(packed.data);
    const uint32_t uneven[4] = {0, 1, 2, 3};
    packed.data.index_map = uneven;
    EXPECT_NE(refuse(packed.data).find("index_map"), std::string::npos);
}

TEST_F(ArrayPayloadTest, R98_a_packed_payload_without_elements_empties_the_rows)
{
    RowPayload<float> rows({{1}, {2}, {3}, {4}}, f32());
    (void)round_trip(rows.data);
    Payload none(std::vector<float>(), f32(), {0});
    none.data.is_array = true;
    EXPECT_EQ(round_trip(none.data), (Floats{{0, {}}, {1, {}}, {2, {}}, {3, {}}}));
    const uint32_t map[2] = {UINT32_MAX, 7};
    none.data.index_map = map;
    none.data.count = 2;
    none.tensor.data = nullptr;
    EXPECT_EQ(round_trip(none.data)[1], std::vector<float>());
}

TEST_F(ArrayPayloadTest, R98_one_tensor_for_one_prim_is_its_row)
{
    query = stage.query(1);
    Payload row(ramp(7), f32(), {7});
    row.data.is_array = true;
    EXPECT_EQ(round_trip(row.data), (Floats{{0, ramp(7)}}));
    Payload shorter(ramp(2, 9), f32(), {2});
    shorter.data.is_array = true;
    EXPECT_EQ(round_trip(shorter.data), (Floats{{0, {9, 10}}}));
}

TEST_F(ArrayPayloadTest, R94_R97_a_map_names_tensors)
{
    RowPayload<float> rows({{1}, {2, 2}, {3, 3, 3}}, f32());
    const uint32_t map[4] = {2, 1, 2, 0};
    rows.data.index_map = map;
    rows.data.count = 4;
    EXPECT_EQ(round_trip(rows.data),
              (Floats{{0, {3, 3, 3}}, {1, {2, 2}}, {2, {3, 3, 3}}, {3, {1}}}));
    const uint32_t outside[4] = {2, 1, 3, 0};
    rows.data.index_map = outside;
    std::string why = refuse(rows.data);
    EXPECT_NE(why.find("index_map[2] = 3"), std::string::npos) << why;
}

TEST_F(ArrayPayloadTest, R95_R103_a_mask_leaves_the_others_as_they_are)
{
    RowPayload<float> rows({{1}, {2, 2}, {}, {4}}, f32());
    (void)round_trip(rows.data);
    RowPayload<float> others({{9}, {8, 8, 8}, {7}, {6}}, f32());
    uint64_t mask = 0xF6; // prims 1 and 2; what is above is no prim
    others.data.mask = &mask;
    others.data.count = 4;
    EXPECT_EQ(round_trip(others.data), (Floats{{0, {1}}, {1, {8, 8, 8}}, {2, {7}}, {3, {4}}}));
    Payload packed(ramp(8), f32(), {8});
    packed.data.is_array = true;
    packed.data.mask = &mask;
    packed.data.count = 4;
    EXPECT_EQ(round_trip(packed.data), (Floats{{0, {1}}, {1, {2, 3}}, {2, {4, 5}}, {3, {4}}}));
    // Each element has its row, selected or not.
    others.data.tensor_count = 2;
    refuse(others.data);
}

TEST_F(ArrayPayloadTest, R99_trailing_dimensions_are_elements)
{
    Payload points(ramp(24), f32(), {8, 3});
    points.data.is_array = true;
    Floats values = round_trip(points.data);
    EXPECT_EQ(values[1], ramp(6, 6));
    Snapshot snapshot(stage, query, {attribute}, 1);
    ASSERT_EQ(snapshot.groups.size(), 1u);
    EXPECT_EQ(snapshot.groups[0].data.tensors[1].shape[0], 6);
    EXPECT_EQ(snapshot.groups[0].data.tensors[1].dtype.lanes, 1);
}

TEST_F(ArrayPayloadTest, D10_any_strides_and_byte_offset)
{
    Payload transposed(ramp(8), f32(), {2, 4});
    transposed.set_strides({1, 2});
    transposed.data.is_array = true;
    EXPECT_EQ(round_trip(transposed.data),
              (Floats{{0, {0, 2}}, {1, {4, 6}}, {2, {1, 3}}, {3, {5, 7}}}));
    Payload backwards(ramp(8), f32(), {8});
    backwards.set_strides({-1});
    backwards.tensor.byte_offset = 7 * sizeof(float);
    backwards.data.is_array = true;
    EXPECT_EQ(round_trip(backwards.data)[0], (std::vector<float>{7, 6}));
    RowPayload<float> rows({{1, 2, 3}, {4, 5}, {6}, {}}, f32());
    int64_t two = 2;
    rows.tensors[0].strides = &two;
    rows.shapes[0] = 2;
    rows.tensors[1].byte_offset = sizeof(float);
    rows.shapes[1] = 1;
    EXPECT_EQ(round_trip(rows.data), (Floats{{0, {1, 3}}, {1, {5}}, {2, {6}}, {3, {}}}));
    // More dimensions than a fixed-size row can have, no two of which join.
    std::vector<int64_t> shape(12, 2), strides(12);
    for (size_t d = 0; d < strides.size(); d++)
        strides[d] = int64_t{1} << d;
    Payload deep(ramp(4096), f32(), shape);
    deep.set_strides(strides);
    deep.data.is_array = true;
    Floats values = round_trip(deep.data);
    for (size_t k = 0; k < 4096; k++) {
        size_t mirrored = 0;
        for (size_t bit = 0; bit < 12; bit++)
            mirrored |= (k >> bit & 1) << (11 - bit);
        ASSERT_EQ(values[static_cast<uint32_t>(k / 1024)][k % 1024], static_cast<float>(mirrored));
    }
}

TEST_F(ArrayPayloadTest, R87_R100_tensors_that_cannot_be)
{
    RowPayload<float> rows({{1}, {2}, {3}, {4}}, f32());
    rows.tensors[1].shape = nullptr;
    refuse(rows.data);
    rows.tensors[1].shape = &rows.shapes[1];
    rows.shapes[1] = -1;
    EXPECT_NE(refuse(rows.data).find("-1"), std::string::npos);
    rows.shapes[1] = INT64_MAX / 2;
    refuse(rows.data);
    rows.shapes[1] = 1;
    rows.tensors[1].data = nullptr;
    refuse(rows.data);
    rows.shapes[1] = 0;
    EXPECT_EQ(round_trip(rows.data)[1], std::vector<float>());
    rows.tensors[3].device = {kDLVulkan, 0};
    refuse(rows.data);
    rows.tensors[3].device = {kDLCUDA, 0};
    refuse(rows.data, OVSTAGE_ERROR_NOT_SUPPORTED);
    attribute = stage.token("wide");
    Payload wide(ramp(256 * 4), f32(256), {4});
    wide.data.is_array = true;
    EXPECT_NE(refuse(wide.data, OVSTAGE_ERROR_NOT_SUPPORTED).find("255"), std::string::npos);
    std::vector<int64_t> huge(5, INT64_C(1) << 40);
    Payload overflowing(ramp(4), f32(), huge);
    overflowing.data.is_array = true;
    refuse(overflowing.data);
    rows.data.tensor_count = 0;
    refuse(rows.data);
}

TEST_F(ArrayPayloadTest, R101_without_prims_nothing_is_looked_at)
{
    query = stage.query(std::vector<std::string>());
    RowPayload<float> rows({{1}, {2}}, f32());
    rows.tensors[1].shape = nullptr;
    stage.finish(write(stage, query, attribute, 1, rows.data));
}

TEST_F(ArrayPayloadTest, R109_roles_that_only_arrays_have)
{
    struct Demand {
        const char *name;
        ovstage_attribute_semantic_t semantic;
        DLDataType dtype;
    };
    const Demand demands[] = {{"targets", OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID, u64()},
                              {"inputs", OVSTAGE_SEMANTIC_CONNECTION_PATH_ID, u64(2)},
                              {"text", OVSTAGE_SEMANTIC_STRING, u8()},
                              {"assets", OVSTAGE_SEMANTIC_ASSET_PATH_ID, u64(2)},
                              {"tokens", OVSTAGE_SEMANTIC_TOKEN_ID, u64()},
                              {"expressions", OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING, u64()}};
    for (const Demand &demand : demands) {
        SCOPED_TRACE(demand.name);
        attribute = stage.token(demand.name);
        Payload wrong(std::vector<uint64_t>(24, 1), u64(3), {8});
        wrong.data.is_array = true;
        wrong.data.semantic = demand.semantic;
        refuse(wrong.data);
        Payload right(std::vector<uint64_t>(16, 1), demand.dtype, {8});
        right.data.is_array = true;
        right.data.semantic = demand.semantic;
        stage.finish(write(stage, query, attribute, ordinal, right.data));
        stage.finish(stage.seal(ordinal));
        Snapshot snapshot(stage, query, {attribute}, ordinal++);
        ASSERT_EQ(snapshot.groups.size(), 1u);
        EXPECT_EQ(snapshot.groups[0].semantic, demand.semantic);
        EXPECT_EQ(snapshot.groups[0].data.tensors[3].shape[0], 2);
    }
}

TEST_F(ArrayPayloadTest, R115_schemas_are_sets_of_tokens)
{
    attribute = stage.token("usd-schemas");
    RowPayload<uint64_t> sets({{11, 12}, {}, {13}, {14, 15, 16}}, u64());
    stage.finish(write(stage, query, attribute, 1, sets.data));
    stage.finish(stage.seal(1));
    RowPayload<uint64_t> cleared({{}, {21}}, u64());
    cleared.data.count = 2;
    cleared.data.semantic = OVSTAGE_SEMANTIC_TOKEN_ID;
    stage.finish(write(stage, query, attribute, 2, cleared.data));
    stage.finish(stage.seal(2));
    Snapshot snapshot(stage, query, {attribute}, 2);
    ASSERT_EQ(snapshot.groups.size(), 1u);
    EXPECT_EQ(snapshot.groups[0].semantic, OVSTAGE_SEMANTIC_TOKEN_ID);
    EXPECT_EQ(array_rows<uint64_t>(snapshot.groups[0]),
              (std::map<uint32_t, std::vector<uint64_t>>{
                  {0, {}}, {1, {21}}, {2, {13}}, {3, {14, 15, 16}}}));
    Payload pairs(std::vector<uint64_t>(8, 1), u64(2), {4});
    pairs.data.is_array = true;
    ordinal = 3;
    EXPECT_NE(refuse(pairs.data).find("usd-schemas"), std::string::npos);
    Payload role(std::vector<uint64_t>(4, 1), u64(), {4});
    role.data.is_array = true;
    role.data.semantic = OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING;
    refuse(role.data);
}

TEST_F(ArrayPayloadTest, D9_all_but_the_elements_is_copied_by_the_call)
{
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 1);
    gate.wait_entered();
    auto rows =
        std::make_unique<RowPayload<float>>(Rows<float>{{1, 2, 3, 4}, {5, 6}, {7}, {8}}, f32());
    std::vector<int64_t> two = {2};
    rows->shapes[0] = 2;
    rows->tensors[0].strides = two.data();
    std::vector<uint32_t> map = {3, 2, 1, 0};
    rows->data.index_map = map.data();
    rows->data.count = 4;
    ovstage_enqueue_result_t wrote = write(stage, query, attribute, 1, rows->data);
    std::fill(map.begin(), map.end(), 77u);
    std::fill(two.begin(), two.end(), -5);
    std::fill(rows->shapes.begin(), rows->shapes.end(), -1);
    std::fill(rows->tensors.begin(), rows->tensors.end(), DLTensor{});
    gate.let_go();
    stage.finish(held);
    stage.finish(wrote);
    rows.reset();
    EXPECT_EQ(sealed(), (Floats{{0, {8}}, {1, {7}}, {2, {5, 6}}, {3, {1, 3}}}));
}

} // namespace
