// Hostile ordinals, scopes, names and payloads.
#include "tests/support/hostile.h"

namespace
{

using namespace client;

using HostilePayload = Hostile;

TEST_F(HostilePayload, enums_out_of_range)
{
    ovstage_instance_t *it = stage.instance;
    const auto bad = OVSTAGE_ERROR_INVALID_ARGUMENT;
    ovstage_query_handle_t query = stage.query(2);
    ovx_token_t name = stage.token("a");
    for (int wrong : {-1, 3, 99, INT32_MAX, INT32_MIN}) {
        ovstage_write_floor_desc_t desc{5, OVSTAGE_SCOPE_ALL, &name, 1};
        std::memcpy(&desc.scope, &wrong, sizeof(wrong));
        refused(ovstage_advance_write_floor(it, &desc), bad);
        Payload payload(ramp(2), 2);
        // As a caller from C passes it: C++ has no such value of the enumeration.
        using WriteAttribute = ovstage_enqueue_result_t (*)(
            ovstage_context_t *, ovstage_query_handle_t, ovx_string_or_token_t, ovstage_ordinal_t,
            ovstage_write_data_t, int);
        auto write = reinterpret_cast<WriteAttribute>(it->vtable->write_attribute);
        refused(write(it->context, query, named(name), 5, payload.data, wrong), bad);
        if (wrong != 3) {
            std::memcpy(&payload.data.semantic, &wrong, sizeof(wrong));
            refused(ovstage_write_attribute(it, query, named(name), 5, payload.data,
                                            OVSTAGE_PRIM_MODE_UPSERT),
                    bad);
        }
        ovstage_query_handle_t out = 0;
        ovstage_predicate_t predicate;
        std::memset(&predicate, 0, sizeof(predicate));
        predicate.attribute = named(name);
        wrong = wrong == 3 ? 8 : wrong;
        std::memcpy(&predicate.op, &wrong, sizeof(wrong));
        ovstage_filter_t filter{&predicate, 1};
        EXPECT_NE(ovstage_query(it, &filter, nullptr, 0, &out).status, OVSTAGE_OK);
    }
    works();
}

TEST_F(HostilePayload, ordinals_at_the_ends)
{
    ovstage_instance_t *it = stage.instance;
    ovx_token_t name = stage.token("a");
    ovstage_query_handle_t query = stage.query(2);
    std::vector<float> first = ramp(2), last = ramp(2, 10);
    refused(stage.write(query, name, 0, first), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    stage.finish(stage.write(query, name, 1, first));
    stage.finish(stage.write(query, name, UINT64_MAX, last));
    EXPECT_EQ(stage.read(query, name, 0), std::vector<float>());
    stage.finish(stage.seal(UINT64_MAX - 1));
    EXPECT_EQ(stage.read(query, name, UINT64_MAX - 1), first);
    stage.finish(stage.seal(UINT64_MAX));
    EXPECT_EQ(stage.read(query, name, UINT64_MAX), last);
    EXPECT_EQ(stage.read(query, name, UINT64_MAX - 1), first);
    stage.finish(stage.seal(UINT64_MAX));
    stage.finish(stage.seal(0));
    EXPECT_EQ(stage.floor(), UINT64_MAX);
    refused(stage.write(query, name, UINT64_MAX, last), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    refused(stage.write(query, stage.token("new"), UINT64_MAX, last),
            OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    refused(task(stage, UINT64_MAX, nullptr, nullptr), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(flyrail_wait_floor(it, 0, UINT64_MAX, forever), OVSTAGE_OK);
    EXPECT_EQ(flyrail_wait_floor(it, name, UINT64_MAX, forever), OVSTAGE_OK);
    ovstage_read_handle_t read = 0;
    refused(ovstage_read_attributes(it, query, &name, 1,
                                    ovstage_ordinal_range_t{UINT64_MAX, 0, true}, &read),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
}

TEST_F(HostilePayload, floors_of_every_scope)
{
    ovstage_instance_t *it = stage.instance;
    const auto bad = OVSTAGE_ERROR_INVALID_ARGUMENT;
    ovx_token_t a = stage.token("a"), b = stage.token("b");
    std::vector<ovx_token_t> doubles(1000, a);
    doubles.push_back(b);
    uint64_t at = 0;
    for (auto scope : {OVSTAGE_SCOPE_INCLUDE, OVSTAGE_SCOPE_EXCLUDE}) {
        for (ovx_token_t wrong : {ovx_token_t(0), UINT64_MAX, ovx_token_t(1) << 40}) {
            refused(stage.seal(++at, scope, {a, wrong}), bad);
            refused(stage.seal(++at, scope, {wrong}), bad);
        }
        ovstage_write_floor_desc_t desc{++at, scope, nullptr, 3};
        refused(ovstage_advance_write_floor(it, &desc), bad);
    }
    EXPECT_EQ(stage.floor(a), 0u);
    EXPECT_EQ(stage.floor(), 0u);
    stage.finish(stage.seal(100, OVSTAGE_SCOPE_INCLUDE, doubles));
    EXPECT_EQ(stage.floor(a), 100u);
    stage.finish(stage.seal(200, OVSTAGE_SCOPE_EXCLUDE, doubles));
    EXPECT_EQ(stage.floor(a), 100u);
    stage.finish(stage.seal(300, OVSTAGE_SCOPE_INCLUDE, {}));
    EXPECT_EQ(stage.floor(), 100u);
    stage.finish(stage.seal(300, OVSTAGE_SCOPE_EXCLUDE, {}));
    EXPECT_EQ(stage.floor(), 300u);
    ovstage_write_floor_desc_t none{1, OVSTAGE_SCOPE_EXCLUDE, nullptr, 0};
    stage.finish(ovstage_advance_write_floor(it, &none));
    ovstage_ordinal_query_handle_t out = 0;
    refused(ovstage_get_attribute_write_floor(it, named(UINT64_MAX), &out), bad);
    refused(ovstage_get_attribute_write_floor(it, ovx_string_or_token_t{0, {nullptr, 4}}, &out),
            bad);
    refused(flyrail_wait_floor(it, UINT64_MAX, 1, 0), bad);
}

TEST_F(HostilePayload, shapes)
{
    ovstage_instance_t *it = stage.instance;
    ovx_token_t name = stage.token("a");
    ovstage_query_handle_t query = stage.query(2);
    const int64_t huge = INT64_MAX, low = INT64_MIN;
    const std::vector<std::vector<int64_t>> shapes = {{huge},
                                                      {low},
                                                      {-1},
                                                      {0},
                                                      {3},
                                                      {2, huge},
                                                      {2, 0},
                                                      {huge, huge},
                                                      {2, -1},
                                                      {huge, 0},
                                                      {2, 2, huge},
                                                      {2, huge, huge},
                                                      {2, 1, 1, 0},
                                                      {2, 256},
                                                      {2, 16, 17},
                                                      {INT64_C(1) << 32, 1},
                                                      {INT64_C(1) << 62, 4},
                                                      {2, INT64_C(1) << 62, 4},
                                                      {2, INT64_C(1) << 32, INT64_C(1) << 32},
                                                      std::vector<int64_t>(9, 1),
                                                      std::vector<int64_t>(64, 2)};
    for (const auto &shape : shapes) {
        for (int strided = 0; strided < 4; strided++) {
            Payload payload(ramp(16), f32(), shape);
            const int64_t stride[] = {0, 1, huge, low};
            if (strided)
                payload.set_strides(std::vector<int64_t>(shape.size(), stride[strided]));
            ovstage_enqueue_result_t result = ovstage_write_attribute(
                it, query, named(name), 5, payload.data, OVSTAGE_PRIM_MODE_UPSERT);
            EXPECT_NE(result.status, OVSTAGE_OK);
            EXPECT_NE(last_error(), "");
        }
    }
    for (int32_t ndim : {0, -1, INT32_MIN, INT32_MAX, 65}) {
        Payload payload(ramp(2), 2);
        payload.tensor.ndim = ndim;
        refused(ovstage_write_attribute(it, query, named(name), 5, payload.data,
                                        OVSTAGE_PRIM_MODE_UPSERT),
                OVSTAGE_ERROR_INVALID_ARGUMENT);
    }
    Payload none(ramp(2), 2);
    none.tensor.shape = nullptr;
    refused(ovstage_write_attribute(it, query, named(name), 5, none.data, OVSTAGE_PRIM_MODE_UPSERT),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    Payload nowhere(ramp(2), 2);
    nowhere.tensor.data = nullptr;
    refused(
        ovstage_write_attribute(it, query, named(name), 5, nowhere.data, OVSTAGE_PRIM_MODE_UPSERT),
        OVSTAGE_ERROR_INVALID_ARGUMENT);
    Payload far(ramp(2), 2);
    far.tensor.byte_offset = UINT64_MAX;
    refused(ovstage_write_attribute(it, query, named(name), 5, far.data, OVSTAGE_PRIM_MODE_UPSERT),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(stage.statistics().keys, 0u);
    works();
}

// Strides that point backwards, rows that overlap, data at odd addresses: all fine (D10).
TEST_F(HostilePayload, strange_but_right_sources)
{
    ovstage_instance_t *it = stage.instance;
    ovx_token_t name = stage.token("a");
    ovstage_query_handle_t query = stage.query(3);
    Payload backwards(ramp(3), 3);
    backwards.set_strides({-1});
    backwards.tensor.byte_offset = 2 * sizeof(float);
    stage.finish(ovstage_write_attribute(it, query, named(name), 1, backwards.data,
                                         OVSTAGE_PRIM_MODE_UPSERT));
    Payload same(ramp(3, 5), 3);
    same.set_strides({0});
    stage.finish(
        ovstage_write_attribute(it, query, named(name), 2, same.data, OVSTAGE_PRIM_MODE_UPSERT));
    Payload odd(ramp(3), 3);
    odd.bytes.insert(odd.bytes.begin(), 1, 0);
    odd.tensor.data = odd.bytes.data();
    odd.tensor.byte_offset = 1;
    stage.finish(
        ovstage_write_attribute(it, query, named(name), 3, odd.data, OVSTAGE_PRIM_MODE_UPSERT));
    // A dimension of one element is never stepped along.
    Payload wild(ramp(3), f32(), {3, 1});
    wild.set_strides({1, INT64_MAX});
    stage.finish(
        ovstage_write_attribute(it, query, named(name), 4, wild.data, OVSTAGE_PRIM_MODE_UPSERT));
    stage.finish(stage.seal(1));
    EXPECT_EQ(stage.read(query, name, 1), (std::vector<float>{2, 1, 0}));
    stage.finish(stage.seal(4));
    EXPECT_EQ(stage.read(query, name, 2), (std::vector<float>{5, 5, 5}));
    EXPECT_EQ(stage.read(query, name, 3), (std::vector<float>{0, 1, 2}));
    EXPECT_EQ(stage.read(query, name, 4), (std::vector<float>{0, 1, 2}));
}

TEST_F(HostilePayload, dtypes)
{
    ovstage_instance_t *it = stage.instance;
    ovstage_query_handle_t query = stage.query(2);
    uint64_t at = 1;
    std::vector<uint8_t> bytes(64 << 10); // of all the writes: only read
    for (unsigned code = 0; code < 256; code += 3)
        for (unsigned bits : {0, 1, 4, 7, 8, 12, 24, 64, 128, 248, 255})
            for (unsigned lanes : {0, 1, 255, 256, 65535}) {
                Payload payload(std::vector<uint8_t>(1),
                                DLDataType{uint8_t(code), uint8_t(bits), uint16_t(lanes)}, {2});
                payload.tensor.data = bytes.data();
                ovx_token_t name = stage.token("dtype" + std::to_string(++at));
                ovstage_enqueue_result_t result = ovstage_write_attribute(
                    it, query, named(name), at, payload.data, OVSTAGE_PRIM_MODE_UPSERT);
                bool fine = code <= 6 && bits % 8 == 0 && bits > 0 && lanes > 0 && lanes < 256 &&
                            (code != kDLBool || bits == 8);
                EXPECT_EQ(result.status == OVSTAGE_OK, fine)
                    << code << " " << bits << " " << lanes << " " << last_error();
            }
    stage.finish(stage.seal(at));
    ordinal = at;
    works();
}

TEST_F(HostilePayload, counts_maps_and_masks)
{
    ovstage_instance_t *it = stage.instance;
    const auto bad = OVSTAGE_ERROR_INVALID_ARGUMENT;
    ovx_token_t name = stage.token("a");
    ovstage_query_handle_t query = stage.query(2);
    uint32_t map[2] = {0, UINT32_MAX};
    uint64_t mask[1] = {UINT64_MAX};
    for (uint32_t count : {3u, 64u, UINT32_MAX}) {
        Payload payload(ramp(2), 2);
        payload.data.count = count;
        refused(ovstage_write_attribute(it, query, named(name), 5, payload.data,
                                        OVSTAGE_PRIM_MODE_UPSERT),
                bad);
        payload.data.index_map = map;
        refused(ovstage_write_attribute(it, query, named(name), 5, payload.data,
                                        OVSTAGE_PRIM_MODE_UPSERT),
                bad);
        payload.data.index_map = nullptr;
        payload.data.mask = mask;
        refused(ovstage_write_attribute(it, query, named(name), 5, payload.data,
                                        OVSTAGE_PRIM_MODE_UPSERT),
                bad);
    }
    Payload payload(ramp(2), 2);
    payload.data.count = 2;
    payload.data.index_map = map;
    refused(
        ovstage_write_attribute(it, query, named(name), 5, payload.data, OVSTAGE_PRIM_MODE_UPSERT),
        bad);
    payload.data.mask = mask;
    refused(
        ovstage_write_attribute(it, query, named(name), 5, payload.data, OVSTAGE_PRIM_MODE_UPSERT),
        bad);
    // More rows than 32 bits count, and a map that stays within what is there.
    map[1] = 1;
    payload.data.mask = nullptr;
    payload.shape[0] = INT64_C(1) << 40;
    stage.finish(
        ovstage_write_attribute(it, query, named(name), 5, payload.data, OVSTAGE_PRIM_MODE_UPSERT));
    for (uint32_t tensors : {0u, 2u, UINT32_MAX}) {
        Payload more(ramp(2), 2);
        more.data.tensor_count = tensors;
        refused(
            ovstage_write_attribute(it, query, named(name), 6, more.data, OVSTAGE_PRIM_MODE_UPSERT),
            bad);
    }
    ovstage_attribute_write_t entry{named(name), payload.data};
    for (size_t count : {size_t(0), SIZE_MAX, SIZE_MAX / 64})
        refused(ovstage_write_attributes(it, query, &entry, count, 6, OVSTAGE_PRIM_MODE_UPSERT),
                bad);
    works();
}

TEST_F(HostilePayload, names)
{
    ovstage_instance_t *it = stage.instance;
    const auto bad = OVSTAGE_ERROR_INVALID_ARGUMENT;
    ovstage_query_handle_t query = stage.query(2), empty = stage.query(0);
    const ovx_string_or_token_t wrong[] = {
        {0, {nullptr, 0}},       {0, {nullptr, 5}},        {0, {"", 0}},     {UINT64_MAX, {}},
        {uint64_t(1) << 40, {}}, {0, {nullptr, SIZE_MAX}}, {0, {"a\0b", 3}},
    };
    for (const ovx_string_or_token_t &name : wrong) {
        Payload payload(ramp(2), 2);
        refused(ovstage_write_attribute(it, query, name, 5, payload.data, OVSTAGE_PRIM_MODE_UPSERT),
                bad);
        refused(ovstage_write_attribute(it, empty, name, 5, payload.data, OVSTAGE_PRIM_MODE_UPSERT),
                bad);
    }
    // A text that is long, and is cut in messages.
    std::string large(100000, 'x');
    Payload payload(ramp(2), 2);
    stage.finish(ovstage_write_attribute(it, query, ovx_string_or_token_t{0, text(large)}, 5,
                                         payload.data, OVSTAGE_PRIM_MODE_UPSERT));
    stage.finish(stage.seal(5));
    refused(ovstage_write_attribute(it, query, ovx_string_or_token_t{0, text(large)}, 5,
                                    payload.data, OVSTAGE_PRIM_MODE_UPSERT),
            OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    ovx_string_t said = ovstage_get_last_error();
    EXPECT_EQ(said.ptr[said.length], '\0');
    EXPECT_EQ(std::strlen(said.ptr), said.length);
    for (ovx_token_t token : {ovx_token_t(0), UINT64_MAX}) {
        ovstage_read_handle_t read = 5;
        refused(ovstage_read_attributes(it, query, &token, 1, ovstage_ordinal_range_t{0, 5, false},
                                        &read),
                bad);
        EXPECT_EQ(read, 0u);
    }
}

} // namespace
