// The payload of a write: contract 4.7, D9, D10, one test a rule.
#include "tests/support/write_fixtures.h"

using namespace client;

namespace
{

using Values = std::vector<float>;

class PayloadTest : public PayloadFixture
{
  protected:
    const std::vector<Values> ramp3 = {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}};
};

TEST_F(PayloadTest, R87_exactly_one_of_the_tensor_arrays)
{
    Payload payload(ramp(4), 4);
    auto record = std::make_shared<Managed::Record>();
    payload.data.tensors = nullptr;
    refuse(payload.data);
    const DLManagedTensorVersioned *managed = Managed::make(ramp(4), 1, 0, record);
    payload.data.tensors = &payload.tensor;
    payload.data.managed_tensors = &managed;
    refuse(payload.data);
    EXPECT_EQ(record->deleted, 1);
    payload.data.managed_tensors = nullptr;
    payload.data.tensor_count = 0;
    EXPECT_NE(refuse(payload.data).find("tensor_count"), std::string::npos);
}

TEST_F(PayloadTest, R90_trailing_dimensions_fold)
{
    for (auto shape : {std::vector<int64_t>{4, 3}, {4, 1, 3}, {4, 3, 1}}) {
        Payload payload(ramp(12), f32(), shape);
        EXPECT_EQ(round_trip(payload.data), ramp3);
    }
    Payload payload(ramp(12), 4, 3);
    EXPECT_EQ(round_trip(payload.data), ramp3);
    // Rank is not kept: (4, 4, 4) and (4, 4) x4 are one column.
    attribute = stage.token("matrix");
    Payload nested(ramp(64), f32(), {4, 4, 4});
    Payload lanes(ramp(64), f32(4), {4, 4});
    auto first = round_trip(nested.data);
    EXPECT_EQ(first[1], ramp(16, 16));
    EXPECT_EQ(round_trip(lanes.data), first);
}

TEST_F(PayloadTest, R90_a_fixed_write_has_one_tensor)
{
    Payload payload(ramp(4), 4);
    DLTensor two[2] = {payload.tensor, payload.tensor};
    payload.data.tensors = two;
    payload.data.tensor_count = 2;
    EXPECT_NE(refuse(payload.data).find("2"), std::string::npos);
}

TEST_F(PayloadTest, R91_rows_must_be_the_logical_elements)
{
    Payload flat(ramp(12), f32(), {12});
    std::string why = refuse(flat.data);
    EXPECT_NE(why.find("12"), std::string::npos) << why;
    EXPECT_NE(why.find("4"), std::string::npos) << why;
    Payload fewer(ramp(3), 3);
    refuse(fewer.data);
}

TEST_F(PayloadTest, R92_strides_null_or_compact)
{
    Payload plain(ramp(12), f32(), {4, 3});
    EXPECT_EQ(round_trip(plain.data), ramp3);
    Payload strided(ramp(12), f32(), {4, 3});
    strided.set_strides({3, 1});
    EXPECT_EQ(round_trip(strided.data), ramp3);
    Payload one(ramp(12), f32(3), {4});
    one.set_strides({1});
    EXPECT_EQ(round_trip(one.data), ramp3);
}

TEST_F(PayloadTest, D10_any_strides_and_byte_offset)
{
    // Rows with gaps.
    Payload gaps(ramp(20), f32(), {4, 3});
    gaps.set_strides({5, 1});
    EXPECT_EQ(round_trip(gaps.data),
              (std::vector<Values>{{0, 1, 2}, {5, 6, 7}, {10, 11, 12}, {15, 16, 17}}));
    // Columns first.
    Payload transposed(ramp(12), f32(), {4, 3});
    transposed.set_strides({1, 4});
    EXPECT_EQ(round_trip(transposed.data),
              (std::vector<Values>{{0, 4, 8}, {1, 5, 9}, {2, 6, 10}, {3, 7, 11}}));
    // Backwards, from an offset.
    Payload backwards(ramp(12), f32(), {4, 3});
    backwards.set_strides({-3, 1});
    backwards.tensor.byte_offset = 9 * sizeof(float);
    EXPECT_EQ(round_trip(backwards.data),
              (std::vector<Values>{{9, 10, 11}, {6, 7, 8}, {3, 4, 5}, {0, 1, 2}}));
    // One row for all, one element for all.
    Payload broadcast(ramp(3), f32(), {4, 3});
    broadcast.set_strides({0, 1});
    EXPECT_EQ(round_trip(broadcast.data),
              (std::vector<Values>{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {0, 1, 2}}));
    // A dimension of size 1 is never stepped along.
    Payload single(ramp(12), f32(), {4, 1, 3});
    single.set_strides({3, INT64_MAX, 1});
    EXPECT_EQ(round_trip(single.data), ramp3);
    // byte_offset alone.
    Payload offset(ramp(14), f32(), {4, 3});
    offset.tensor.byte_offset = 2 * sizeof(float);
    EXPECT_EQ(round_trip(offset.data)[0], (Values{2, 3, 4}));
}

TEST_F(PayloadTest, L9_a_host_source_has_been_read_when_the_op_completes)
{
    Values values = ramp(4, 10);
    Payload payload(values, 4);
    ovstage_enqueue_result_t result = client::write(stage, query, attribute, 1, payload.data);
    stage.finish(result);
    std::fill(payload.bytes.begin(), payload.bytes.end(), uint8_t{0xEE}); // the client's again
    stage.finish(stage.seal(1));
    EXPECT_EQ(stage.read(query, attribute, 1), values);
}

TEST_F(PayloadTest, R93_count_addresses_the_leading_prims)
{
    Payload all(ramp(4), 4);
    round_trip(all.data);
    Payload leading(ramp(2, 100), 2);
    leading.data.count = 2;
    EXPECT_EQ(round_trip(leading.data), (std::vector<Values>{{100}, {101}, {2}, {3}}));
    Payload more(ramp(5), 5);
    more.data.count = 5;
    std::string why = refuse(more.data);
    EXPECT_NE(why.find("5"), std::string::npos) << why;
    EXPECT_NE(why.find("4"), std::string::npos) << why;
}

TEST_F(PayloadTest, R94_index_map_gathers)
{
    Payload payload(ramp(4), 4);
    uint32_t cycle[4] = {1, 2, 3, 0};
    payload.data.index_map = cycle;
    payload.data.count = 4;
    EXPECT_EQ(round_trip(payload.data), (std::vector<Values>{{1}, {2}, {3}, {0}}));
    // Rows may be shared, and more or fewer than elements.
    Payload shared(ramp(2, 50), 2);
    uint32_t same[3] = {1, 1, 0};
    shared.data.index_map = same;
    shared.data.count = 3;
    EXPECT_EQ(round_trip(shared.data), (std::vector<Values>{{51}, {51}, {50}, {0}}));
    Payload many(ramp(100), 100);
    uint32_t far[1] = {99};
    many.data.index_map = far;
    many.data.count = 1;
    EXPECT_EQ(round_trip(many.data)[0], (Values{99}));
}

TEST_F(PayloadTest, R94_index_map_out_of_range_is_named)
{
    Payload payload(ramp(4), 4);
    uint32_t map[4] = {0, 1, 4, 0};
    payload.data.index_map = map;
    payload.data.count = 4;
    std::string why = refuse(payload.data);
    EXPECT_NE(why.find("index_map[2] = 4"), std::string::npos) << why;
    EXPECT_NE(why.find("4 rows"), std::string::npos) << why;
}

TEST_F(PayloadTest, R95_mask_selects_targets)
{
    Payload all(ramp(4), 4);
    round_trip(all.data);
    Payload masked(ramp(4, 10), 4);
    uint64_t mask = 0xA | 0xFFFF0; // bits at and above count are ignored
    masked.data.mask = &mask;
    masked.data.count = 4;
    EXPECT_EQ(round_trip(masked.data), (std::vector<Values>{{0}, {11}, {2}, {13}}));
    uint64_t none = 0xFFFF0;
    masked.data.mask = &none;
    EXPECT_EQ(round_trip(masked.data), (std::vector<Values>{{0}, {11}, {2}, {13}}));
    // The payload still carries a row for each element.
    Payload fewer(ramp(2), 2);
    fewer.data.mask = &mask;
    fewer.data.count = 4;
    refuse(fewer.data);
}

TEST_F(PayloadTest, R95_mask_reads_just_the_words_it_needs)
{
    ovstage_query_handle_t many = stage.query(65);
    Payload payload(ramp(65), 65);
    // Two words and not a third: a sanitizer sees it.
    std::vector<uint64_t> mask = {~uint64_t{0}, 0};
    mask.shrink_to_fit();
    payload.data.mask = mask.data();
    payload.data.count = 65;
    stage.finish(write(stage, many, attribute, 1, payload.data));
    stage.finish(stage.seal(1));
    EXPECT_EQ(stage.read(many, attribute, 1), ramp(64));
}

TEST_F(PayloadTest, R96_index_map_and_mask_exclude_each_other_and_need_a_count)
{
    Payload payload(ramp(4), 4);
    uint32_t map[4] = {0, 1, 2, 3};
    uint64_t mask = 0xF;
    payload.data.count = 4;
    payload.data.index_map = map;
    payload.data.mask = &mask;
    refuse(payload.data);
    payload.data.count = 0;
    payload.data.mask = nullptr;
    EXPECT_NE(refuse(payload.data).find("index_map"), std::string::npos);
    payload.data.index_map = nullptr;
    payload.data.mask = &mask;
    EXPECT_NE(refuse(payload.data).find("mask"), std::string::npos);
}

TEST_F(PayloadTest, R100_lanes_up_to_255)
{
    Payload most(std::vector<uint8_t>(4 * 255, 7), u8(), {4, 255});
    stage.finish(write(stage, query, attribute, 1, most.data));
    Payload wide(std::vector<uint8_t>(4 * 256, 7), u8(), {4, 256});
    EXPECT_NE(refuse(wide.data, OVSTAGE_ERROR_NOT_SUPPORTED).find("256"), std::string::npos);
    Payload huge(ramp(4), f32(), {4, INT64_MAX, INT64_MAX});
    refuse(huge.data, OVSTAGE_ERROR_NOT_SUPPORTED);
}

TEST_F(PayloadTest, R100_dtypes_that_cannot_be_stored)
{
    Payload payload(ramp(4), 4);
    for (DLDataType dtype :
         {DLDataType{kDLFloat, 4, 1}, DLDataType{kDLUInt, 1, 1}, DLDataType{kDLInt, 12, 1},
          DLDataType{kDLBool, 16, 1}, DLDataType{77, 8, 1}}) {
        payload.tensor.dtype = dtype;
        refuse(payload.data, OVSTAGE_ERROR_NOT_SUPPORTED);
    }
    for (DLDataType dtype : {DLDataType{kDLFloat, 0, 1}, DLDataType{kDLFloat, 32, 0}}) {
        payload.tensor.dtype = dtype;
        refuse(payload.data);
    }
}

TEST_F(PayloadTest, R101_a_query_without_prims_looks_at_no_payload)
{
    ovstage_query_handle_t empty = stage.query(0);
    auto record = std::make_shared<Managed::Record>();
    const DLManagedTensorVersioned *managed = Managed::make(ramp(4), 1, 0, record);
    Payload payload(ramp(4), 4);
    payload.data.tensors = nullptr;
    payload.data.managed_tensors = &managed;
    stage.finish(write(stage, empty, attribute, 1, payload.data));
    EXPECT_EQ(record->deleted, 1);
    Payload nonsense(ramp(1), 1);
    nonsense.tensor.ndim = -5;
    nonsense.data.count = 99;
    stage.finish(write(stage, empty, attribute, 1, nonsense.data));
    ovstage_write_data_t nothing;
    std::memset(&nothing, 0, sizeof(nothing));
    stage.finish(write(stage, empty, attribute, 1, nothing));
    // Names and floors are.
    stage.finish(stage.seal(3));
    refused(write(stage, empty, attribute, 3, nothing), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    refused(write(stage, empty, 0, 4, nothing), OVSTAGE_ERROR_INVALID_ARGUMENT);
    refused(write(stage, empty, stage.token("usd-path"), 4, nothing), OVSTAGE_ERROR_NOT_SUPPORTED);
}

TEST_F(PayloadTest, R102_cuda_without_a_device)
{
    Payload payload(ramp(4), 4);
    payload.tensor.device = DLDevice{kDLCUDA, 0};
    EXPECT_NE(refuse(payload.data, OVSTAGE_ERROR_NOT_SUPPORTED).find("CUDA"), std::string::npos);
    payload.tensor.device = DLDevice{kDLCPU, 0};
    payload.data.cuda_sync.stream = 1;
    refuse(payload.data, OVSTAGE_ERROR_NOT_SUPPORTED);
    payload.data.cuda_sync = ovstage_cuda_sync_t{0, 77};
    refuse(payload.data, OVSTAGE_ERROR_NOT_SUPPORTED);
}

TEST_F(PayloadTest, D10_host_readable_devices)
{
    for (auto type : {kDLCPU, kDLCUDAHost, kDLCUDAManaged}) {
        Payload payload(ramp(4), 4);
        payload.tensor.device.device_type = type;
        EXPECT_EQ(round_trip(payload.data)[3], (Values{3}));
    }
    Payload payload(ramp(4), 4);
    payload.tensor.device.device_type = kDLMetal;
    EXPECT_NE(refuse(payload.data).find("8"), std::string::npos);
}

TEST_F(PayloadTest, R103_a_subset_write_leaves_the_others)
{
    Payload all(ramp(12), 4, 3);
    round_trip(all.data);
    ovstage_query_handle_t part = stage.query({"/P/2", "/P/0"});
    Payload some({50, 51, 52, 60, 61, 62}, 2, 3);
    stage.finish(write(stage, part, attribute, ordinal, some.data));
    EXPECT_EQ(sealed(), (std::vector<Values>{{60, 61, 62}, {3, 4, 5}, {50, 51, 52}, {9, 10, 11}}));
}

TEST_F(PayloadTest, R104_no_name_broadcasts)
{
    attribute = stage.token("usd-prim-type");
    Payload one(std::vector<uint64_t>{1}, u64(), {1});
    refuse(one.data);
    Payload four(std::vector<uint64_t>{1, 2, 3, 4}, u64(), {4});
    stage.finish(write(stage, query, attribute, 1, four.data));
}

TEST_F(PayloadTest, R109_what_semantics_demand)
{
    struct Case {
        ovstage_attribute_semantic_t semantic;
        const char *name;
        DLDataType good;
        bool array_only;
    };
    const Case cases[] = {
        {OVSTAGE_SEMANTIC_TOKEN_ID, "TOKEN_ID", u64(1), false},
        {OVSTAGE_SEMANTIC_ASSET_PATH_ID, "ASSET_PATH_ID", u64(2), false},
        {OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING, "PATH_EXPRESSION_STRING", u64(1), false},
        {OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID, "RELATIONSHIP_PATH_ID", u64(1), true},
        {OVSTAGE_SEMANTIC_CONNECTION_PATH_ID, "CONNECTION_PATH_ID", u64(2), true},
        {OVSTAGE_SEMANTIC_STRING, "STRING", u8(1), true},
    };
    for (const Case &one : cases) {
        SCOPED_TRACE(one.name);
        attribute = stage.token(std::string("of ") + one.name);
        Payload bad(std::vector<uint64_t>(12, 1), DLDataType{kDLInt, 64, 3}, {4});
        bad.data.semantic = one.semantic;
        EXPECT_NE(refuse(bad.data).find(one.name), std::string::npos) << last_error();
        Payload good(std::vector<uint64_t>(8, 1), one.good, {4});
        good.data.semantic = one.semantic;
        if (one.array_only)
            EXPECT_NE(refuse(good.data).find(one.name), std::string::npos) << last_error();
        else
            stage.finish(write(stage, query, attribute, ordinal, good.data));
    }
    // The pair may come as a trailing dimension.
    attribute = stage.token("folded asset");
    Payload folded(std::vector<uint64_t>(8, 1), u64(), {4, 2});
    folded.data.semantic = OVSTAGE_SEMANTIC_ASSET_PATH_ID;
    stage.finish(write(stage, query, attribute, ordinal, folded.data));
    for (auto semantic : {OVSTAGE_SEMANTIC_POINT, OVSTAGE_SEMANTIC_VECTOR, OVSTAGE_SEMANTIC_NORMAL,
                          OVSTAGE_SEMANTIC_COLOR, OVSTAGE_SEMANTIC_QUATERNION,
                          OVSTAGE_SEMANTIC_MATRIX, OVSTAGE_SEMANTIC_FRAME,
                          OVSTAGE_SEMANTIC_TEXTURE_COORDINATE, OVSTAGE_SEMANTIC_TIME_CODE}) {
        attribute = stage.token("numeric " + std::to_string(int(semantic)));
        Payload numeric(std::vector<int16_t>(4, 1), DLDataType{kDLInt, 16, 1}, {4});
        numeric.data.semantic = semantic;
        stage.finish(write(stage, query, attribute, ordinal, numeric.data));
        numeric.tensor.dtype = DLDataType{kDLBool, 8, 1};
        refuse(numeric.data);
    }
    Payload unknown(ramp(4), 4);
    unknown.data.semantic = static_cast<ovstage_attribute_semantic_t>(16);
    EXPECT_NE(refuse(unknown.data).find("16"), std::string::npos);
}

TEST_F(PayloadTest, shapes_that_are_none)
{
    Payload payload(ramp(4), f32(), {4, 1});
    payload.tensor.ndim = 0;
    refuse(payload.data);
    payload.tensor.ndim = -1;
    refuse(payload.data);
    payload.tensor.ndim = 1000000;
    refuse(payload.data);
    payload.tensor.ndim = 2;
    payload.shape[1] = -1;
    EXPECT_NE(refuse(payload.data).find("shape[1] = -1"), std::string::npos);
    payload.shape[1] = 0;
    refuse(payload.data);
    payload.shape[1] = 1;
    payload.tensor.shape = nullptr;
    refuse(payload.data);
    payload.tensor.shape = payload.shape.data();
    payload.tensor.data = nullptr;
    EXPECT_NE(refuse(payload.data).find("NULL"), std::string::npos);
    payload.tensor.data = payload.bytes.data();
    payload.tensor.byte_offset = UINT64_MAX;
    refuse(payload.data);
    payload.tensor.byte_offset = 0;
    payload.set_strides({INT64_MAX / 2, 1});
    refuse(payload.data);
    payload.set_strides({INT64_MIN, 1});
    refuse(payload.data);
}

TEST_F(PayloadTest, D9_arguments_are_copied_rows_are_not)
{
    // Several ops: with one worker held up the write runs late.
    Gate gate;
    Stage slow(1);
    ovstage_query_handle_t four = slow.query(4);
    ovx_token_t name = slow.token("points");
    ovstage_enqueue_result_t held = gate.submit(slow, 0);
    gate.wait_entered();
    Payload mapped(ramp(20), f32(), {4, 3});
    mapped.set_strides({5, 1});
    uint32_t map[4] = {3, 2, 1, 0};
    mapped.data.index_map = map;
    mapped.data.count = 4;
    auto first = write(slow, four, name, 1, mapped.data);
    Payload masked(ramp(12, 100), 4, 3);
    uint64_t mask = 1;
    masked.data.mask = &mask;
    masked.data.count = 4;
    auto second = write(slow, four, name, 2, masked.data);
    std::fill(std::begin(map), std::end(map), 77u);
    mask = ~uint64_t{0};
    mapped.shape.assign(2, -1);
    mapped.strides.assign(2, -1);
    mapped.tensor = DLTensor{};
    masked.tensor = DLTensor{};
    masked.shape.assign(1, -1);
    gate.let_go();
    slow.finish(held);
    slow.finish(first);
    slow.finish(second);
    slow.finish(slow.seal(2));
    Snapshot snapshot(slow, four, {name}, 2);
    ASSERT_EQ(snapshot.groups.size(), 1u);
    const auto rows = Snapshot::rows(snapshot.groups[0]);
    EXPECT_EQ(rows[0].second, (Values{100, 101, 102}));
    EXPECT_EQ(rows[1].second, (Values{10, 11, 12}));
    EXPECT_EQ(rows[2].second, (Values{5, 6, 7}));
    EXPECT_EQ(rows[3].second, (Values{0, 1, 2}));
}

} // namespace
