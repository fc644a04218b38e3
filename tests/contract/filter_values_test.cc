// Filters by values: L10, R50, R52, R115, R142, D23.
#include "tests/support/filters.h"

#include <atomic>
#include <limits>
#include <thread>

#include "tests/support/arrays.h"

namespace
{

using namespace client;

using list = std::vector<std::string>;

constexpr ovstage_filter_op_t IN = OVSTAGE_FILTER_OP_IN, CONTAINS = OVSTAGE_FILTER_OP_CONTAINS,
                              PREFIX = OVSTAGE_FILTER_OP_PREFIX, LT = OVSTAGE_FILTER_OP_LT,
                              LE = OVSTAGE_FILTER_OP_LE, GT = OVSTAGE_FILTER_OP_GT,
                              GE = OVSTAGE_FILTER_OP_GE;

struct ValueTest : testing::Test {
    ~ValueTest() override = default;
    // One row for each of /0, /1, ... of any type.
    template <typename T>
    void column(const std::string &name, const std::vector<T> &values, DLDataType dtype,
                uint64_t ordinal = 1, ovstage_attribute_semantic_t semantic = OVSTAGE_SEMANTIC_NONE)
    {
        auto rows = static_cast<int64_t>(values.size() * sizeof(T) * 8 / dtype.bits / dtype.lanes);
        Payload payload(values, dtype, {rows});
        payload.data.semantic = semantic;
        stage.finish(write(stage, prims(static_cast<size_t>(rows)), stage.token(name), ordinal,
                           payload.data));
    }
    // An array a row.
    template <typename T>
    void arrays(const std::string &name, const std::vector<std::vector<T>> &rows, DLDataType dtype,
                uint64_t ordinal = 1, ovstage_attribute_semantic_t semantic = OVSTAGE_SEMANTIC_NONE)
    {
        std::vector<DLTensor> tensors;
        std::vector<int64_t> shapes(rows.size());
        for (size_t k = 0; k < rows.size(); k++) {
            shapes[k] =
                static_cast<int64_t>(rows[k].size() * sizeof(T) * 8 / dtype.bits / dtype.lanes);
            tensors.push_back(DLTensor{
                const_cast<T *>(rows[k].data()), {kDLCPU, 0}, 1, dtype, &shapes[k], nullptr, 0});
        }
        ovstage_write_data_t data;
        std::memset(&data, 0, sizeof(data));
        data.tensors = tensors.data();
        data.tensor_count = static_cast<uint32_t>(tensors.size());
        data.is_array = true;
        data.semantic = semantic;
        stage.finish(write(stage, prims(rows.size()), stage.token(name), ordinal, data));
    }
    ovstage_query_handle_t prims(size_t count)
    {
        list names;
        for (size_t k = 0; k < count; k++)
            names.push_back("/" + std::to_string(k));
        return stage.query(names);
    }
    // "02": /0 and /2.
    std::string where(const std::string &name, ovstage_filter_op_t op, const list &values)
    {
        std::string out;
        for (const std::string &path : find(stage, {{name, op, values}}))
            out += path.substr(1);
        return out;
    }
    std::string fails(const std::string &name, ovstage_filter_op_t op, const list &values)
    {
        ovstage_query_handle_t made = 0;
        ovstage_enqueue_result_t result = submit(stage, {{name, op, values}}, &made);
        std::string why = failed(stage, result);
        ovstage_query_result_t out;
        EXPECT_EQ(ovstage_fetch_query_result(stage.instance, made, forever, &out),
                  OVSTAGE_ERROR_OP_FAILED); // R54
        EXPECT_EQ(last_error(), why);
        EXPECT_NE(why.find("'" + name + "'"), std::string::npos) << why;
        stage.finish(ovstage_release_query(stage.instance, made));
        return why;
    }
    Stage stage;
};

// --- numbers ------------------------------------------------------------------------------------

TEST_F(ValueTest, L10_integers_of_every_width)
{
    column<int8_t>("i8", {-128, -1, 0, 127}, DLDataType{kDLInt, 8, 1});
    column<uint8_t>("u8", {0, 1, 128, 255}, DLDataType{kDLUInt, 8, 1});
    column<int16_t>("i16", {-300, 0, 1, 300}, DLDataType{kDLInt, 16, 1});
    column<uint32_t>("u32", {0, 1, 7, 4000000000u}, DLDataType{kDLUInt, 32, 1});
    column<int64_t>("i64", {INT64_MIN, -1, 0, INT64_MAX}, DLDataType{kDLInt, 64, 1});
    column<uint64_t>("u64", {0, 1, 7, UINT64_MAX}, u64());
    EXPECT_EQ(where("i8", LT, {"0"}), "01");
    EXPECT_EQ(where("i8", IN, {"-128", "127", "300"}), "03");
    EXPECT_EQ(where("u8", GE, {"128"}), "23");
    EXPECT_EQ(where("u8", IN, {"0xfF", "-1"}), "3");
    EXPECT_EQ(where("i16", LE, {"-300"}), "0");
    EXPECT_EQ(where("i16", GT, {"-300"}), "123");
    EXPECT_EQ(where("u32", IN, {"4000000000", "+7"}), "23");
    EXPECT_EQ(where("i64", IN, {"-9223372036854775808", "9223372036854775807"}), "03");
    EXPECT_EQ(where("i64", LT, {"9223372036854775808"}), "0123");
    EXPECT_EQ(where("u64", IN, {"18446744073709551615"}), "3");
    EXPECT_EQ(where("u64", GT, {"-1"}), "0123");
    EXPECT_EQ(where("u64", CONTAINS, {"7"}), "2");
    EXPECT_EQ(where("u64", IN, {}), "");
    for (const char *wrong :
         {"", " ", "x", "1.5", "0x", "-", "1 2", "18446744073709551616", "-9223372036854775809",
          "123456789012345678901234567890123456789012345678901234567890"})
        EXPECT_NE(fails("u64", IN, {"7", wrong}).find("uint64"), std::string::npos);
    EXPECT_NE(fails("u64", PREFIX, {"7"}).find("PREFIX"), std::string::npos);
}

TEST_F(ValueTest, L10_floats_of_every_width)
{
    const float infinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    column<float>("f32", {0.1f, -0.0f, infinity, nan}, f32());
    column<double>("f64", {0.1, 1e300, -1e-320, 5}, f64());
    // 0.1, the highest, the lowest above zero, infinity.
    column<uint16_t>("f16", {0x2e66, 0x7bff, 0x0001, 0x7c00}, DLDataType{kDLFloat, 16, 1});
    column<uint16_t>("bf16", {0x3dcd, 0x7f7f, 0x8001, 0x7fc0}, DLDataType{kDLBfloat, 16, 1});
    EXPECT_EQ(where("f32", IN, {"0.1"}), "0"); // rounded as the column is
    EXPECT_EQ(where("f32", IN, {"0", "inf"}), "12");
    EXPECT_EQ(where("f32", IN, {"nan"}), "");
    EXPECT_EQ(where("f32", LT, {"1e39"}), "01"); // which is infinite there
    EXPECT_EQ(where("f32", LE, {" 1e39 "}), "012");
    EXPECT_EQ(where("f32", GE, {"0.1"}), "02");
    EXPECT_EQ(where("f64", IN, {"0.1", "5.0", "-1e-320"}), "023");
    EXPECT_EQ(where("f64", GT, {"0x1p2"}), "13");
    EXPECT_EQ(where("f16", IN, {"0.1"}), "0");
    EXPECT_EQ(where("f16", IN, {"65504"}), "1");
    EXPECT_EQ(where("f16", IN, {"65519.9"}), "1");
    EXPECT_EQ(where("f16", IN, {"65520"}), "3"); // ties to even: infinite
    EXPECT_EQ(where("f16", IN, {"5.9604644775390625e-8"}), "2");
    EXPECT_EQ(where("f16", IN, {"2.9802322387695335e-8"}), "2"); // above the half of it
    EXPECT_EQ(where("f16", LT, {"2.98023223876953125e-8"}), ""); // the half of it: zero
    EXPECT_EQ(where("bf16", IN, {"0.1"}), "0");
    EXPECT_EQ(where("bf16", LT, {"0"}), "2");
    EXPECT_EQ(where("bf16", GT, {"3e38"}), "1");
    EXPECT_NE(fails("f32", LT, {"1,5 "}).find("float32"), std::string::npos); // two numbers
    EXPECT_NE(fails("f32", LT, {std::string(500, '1')}).find("float32"), std::string::npos);
}

TEST_F(ValueTest, L10_bools)
{
    column<uint8_t>("b", {0, 1, 2}, DLDataType{kDLBool, 8, 1});
    EXPECT_EQ(where("b", IN, {"true"}), "12");
    EXPECT_EQ(where("b", IN, {"0"}), "0");
    EXPECT_EQ(where("b", LT, {"1"}), "0");
    EXPECT_EQ(where("b", IN, {"false", "1"}), "012");
    EXPECT_NE(fails("b", IN, {"2"}).find("bool8"), std::string::npos);
    EXPECT_NE(fails("b", IN, {"yes"}).find("yes"), std::string::npos);
}

TEST_F(ValueTest, L10_several_lanes)
{
    column<float>("v", {0, 0, 0, 1, 2, 3, -1, 2, 9}, f32(3));
    EXPECT_EQ(where("v", IN, {"1 2 3"}), "1");
    EXPECT_EQ(where("v", IN, {"(1, 2, 3)", "[0 0 0]"}), "01");
    EXPECT_EQ(where("v", IN, {"0"}), "0");         // one number stands for all lanes
    EXPECT_EQ(where("v", GE, {"0"}), "01");        // all lanes
    EXPECT_EQ(where("v", LE, {"(1,2,9)"}), "012"); // a box
    EXPECT_EQ(where("v", CONTAINS, {"2"}), "12");  // any lane
    EXPECT_EQ(find(stage, {{"v", GE, {"0,0,0"}}, {"v", LT, {"1 1 1"}}}), (list{"/0"}));
    EXPECT_NE(fails("v", IN, {"1 2"}).find("x3"), std::string::npos);
    fails("v", IN, {"1 2 3 4"});
    fails("v", IN, {"1 2 x"});
}

TEST_F(ValueTest, L10_arrays_have_an_element_that_does)
{
    arrays<int32_t>("a", {{1, 2}, {}, {5, -7}, {9}}, DLDataType{kDLInt, 32, 1});
    EXPECT_EQ(where("a", CONTAINS, {"2", "9"}), "03");
    EXPECT_EQ(where("a", IN, {"5"}), "2");
    EXPECT_EQ(where("a", LT, {"0"}), "2");
    EXPECT_EQ(where("a", GE, {"5"}), "23");
    arrays<float>("p", {{0, 0, 1, 1}, {2, 2}, {0, 1}}, f32(2));
    EXPECT_EQ(where("p", CONTAINS, {"1 1", "0 1"}), "02");
    EXPECT_EQ(where("p", CONTAINS, {"1"}), "0"); // an element, not a lane of one
}

TEST_F(ValueTest, L10_types_without_values)
{
    column<float>("c", {1, 2}, DLDataType{kDLComplex, 64, 1});
    EXPECT_EQ(where("c", OVSTAGE_FILTER_OP_HAS, {}), "0");
    EXPECT_NE(fails("c", IN, {"1"}).find("complex64"), std::string::npos);
}

// --- texts --------------------------------------------------------------------------------------

TEST_F(ValueTest, L10_tokens_by_their_texts)
{
    uint64_t red = stage.token("red"), green = stage.token("green"), rest = stage.token("reddish");
    column<uint64_t>("t", {red, green, rest, 0, UINT64_MAX}, u64(), 1, OVSTAGE_SEMANTIC_TOKEN_ID);
    EXPECT_EQ(where("t", IN, {"red", "green "}), "0");
    EXPECT_EQ(where("t", PREFIX, {"red"}), "02");
    EXPECT_EQ(where("t", CONTAINS, {"e"}), "012");
    EXPECT_EQ(where("t", LT, {"red"}), "13"); // no token is the empty text
    EXPECT_EQ(where("t", GE, {"red"}), "02");
    EXPECT_EQ(where("t", IN, {""}), "3");
    column<uint64_t>("asset", {red, green, 0, rest}, u64(2), 1, OVSTAGE_SEMANTIC_ASSET_PATH_ID);
    EXPECT_EQ(where("asset", IN, {"green", "reddish"}), "01");
}

TEST_F(ValueTest, L10_paths_and_strings)
{
    ovx_primpath_t a = 0, b = 0;
    const std::string texts[2] = {"/World/A", "/World/B"};
    ovx_string_t text_a = text(texts[0]), text_b = text(texts[1]);
    path_dictionary_create_paths_from_strings(stage.dictionary, &text_a, 1, &a);
    path_dictionary_create_paths_from_strings(stage.dictionary, &text_b, 1, &b);
    arrays<uint64_t>("r", {{a}, {a, b}, {}, {b}}, u64(), 1, OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID);
    EXPECT_EQ(where("r", CONTAINS, {"/World/A"}), "01");
    EXPECT_EQ(where("r", PREFIX, {"/World/"}), "013");
    EXPECT_EQ(where("r", CONTAINS, {"/World"}), ""); // whole elements
    uint64_t out = stage.token("outputs:out");
    arrays<uint64_t>("c", {{a, out}, {b, out}}, u64(2), 1, OVSTAGE_SEMANTIC_CONNECTION_PATH_ID);
    EXPECT_EQ(where("c", CONTAINS, {"/World/B"}), "1");
    EXPECT_EQ(where("c", CONTAINS, {"outputs:out"}), "01");
    arrays<char>("s", {{'h', 'e', 'l', 'l', 'o'}, {}, {'h', 'e'}}, u8(), 1,
                 OVSTAGE_SEMANTIC_STRING);
    EXPECT_EQ(where("s", IN, {"hello"}), "0");
    EXPECT_EQ(where("s", CONTAINS, {"ell", "x"}), "0"); // a string is one value
    EXPECT_EQ(where("s", PREFIX, {"he"}), "02");
    EXPECT_EQ(where("s", LT, {"hello"}), "12");
}

TEST_F(ValueTest, R50_R115_types_and_schemas)
{
    uint64_t mesh = stage.token("Mesh"), xform = stage.token("Xform"), api = stage.token("MassAPI"),
             other = stage.token("Mass");
    column<uint64_t>("usd-prim-type", {mesh, xform, mesh, 0}, u64());
    arrays<uint64_t>("usd-schemas", {{api, other}, {other}, {}, {api}}, u64());
    EXPECT_EQ(where("usd-prim-type", IN, {"Mesh"}), "02");
    EXPECT_EQ(where("usd-prim-type", IN, {"Mes", "Xform"}), "1");
    EXPECT_EQ(where("usd-schemas", CONTAINS, {"MassAPI"}), "03");
    EXPECT_EQ(where("usd-schemas", CONTAINS, {"Mass"}), "01");
    EXPECT_EQ(where("usd-schemas", OVSTAGE_FILTER_OP_HAS, {}), "0123");
    // A row replaces the whole set, an empty one clears it (R115).
    arrays<uint64_t>("usd-schemas", {{}, {api}}, u64(), 2);
    column<uint64_t>("usd-prim-type", {xform}, u64(), 2);
    EXPECT_EQ(where("usd-schemas", CONTAINS, {"MassAPI"}), "13");
    EXPECT_EQ(where("usd-prim-type", IN, {"Mesh"}), "2");
    EXPECT_EQ(
        find(stage, {{"usd-prim-type", IN, {"Xform"}}, {"usd-schemas", CONTAINS, {"MassAPI"}}}),
        (list{"/1"}));
    stage.finish(stage.seal(2));
    EXPECT_EQ(where("usd-schemas", CONTAINS, {"MassAPI"}), "13");
    EXPECT_EQ(where("usd-prim-type", IN, {"Xform"}), "01");
}

TEST_F(ValueTest, R50_tokens_are_found_however_they_were_written)
{
    const uint64_t one = stage.token("One"), two = stage.token("Two"), three = stage.token("Three");
    ovx_token_t type = stage.token("usd-prim-type"), schemas = stage.token("usd-schemas");
    // Rows that lie apart, in another order, of which some are written.
    Payload apart(std::vector<uint64_t>{one, 0, two, 0, three, 0}, u64(), {3});
    apart.set_strides({2});
    uint32_t map[3] = {2, 0, 1};
    apart.data.index_map = map;
    apart.data.count = 3;
    stage.finish(write(stage, prims(3), type, 1, apart.data));
    EXPECT_EQ(where("usd-prim-type", IN, {"Three"}), "0");
    EXPECT_EQ(where("usd-prim-type", IN, {"One", "Two"}), "12");
    Payload masked(std::vector<uint64_t>{two, two, two}, u64(), {3});
    uint64_t mask = 1;
    masked.data.mask = &mask;
    masked.data.count = 3;
    stage.finish(write(stage, prims(3), type, 2, masked.data));
    EXPECT_EQ(where("usd-prim-type", IN, {"Two"}), "02");
    EXPECT_EQ(where("usd-prim-type", IN, {"Three"}), "");
    // Packed, each row longer than what is read at a time.
    std::vector<uint64_t> many(2 * 70, one);
    many[69] = two;
    many[139] = three;
    Payload packed(many, u64(), {140});
    packed.data.is_array = true;
    stage.finish(write(stage, prims(2), schemas, 1, packed.data));
    EXPECT_EQ(where("usd-schemas", CONTAINS, {"Two"}), "0");
    EXPECT_EQ(where("usd-schemas", CONTAINS, {"Three"}), "1");
    EXPECT_EQ(where("usd-schemas", CONTAINS, {"One"}), "01");
    // Mapped.
    ovstage_map_desc_t desc;
    std::memset(&desc, 0, sizeof(desc));
    desc.attribute = named(schemas);
    desc.dtype = u64();
    size_t sizes[2] = {0, 1};
    ovstage_map_handle_t mapped = 0;
    ovstage_map_group_t group;
    stage.finish(ovstage_map_attribute(stage.instance, prims(2), &desc, 3, sizes, 2, &mapped));
    ASSERT_EQ(ovstage_fetch_map_next(stage.instance, mapped, forever, &group), OVSTAGE_OK);
    *static_cast<uint64_t *>(group.data.tensors[1].data) = two;
    stage.finish(ovstage_unmap_attribute(stage.instance, mapped, {0, 0}));
    EXPECT_EQ(where("usd-schemas", CONTAINS, {"Two"}), "1");
    EXPECT_EQ(where("usd-schemas", CONTAINS, {"One"}), "");
    // Some rows of the query alone.
    Payload single(std::vector<uint64_t>{three}, u64(), {1});
    const uint32_t second = 1;
    stage.finish(flyrail_write_rows(stage.instance, prims(3), named(type), 3, &second, 1,
                                    single.data, FLYRAIL_WRITE_UPSERT));
    EXPECT_EQ(where("usd-prim-type", IN, {"Three"}), "1");
    // Cloned.
    const std::string source = "/1", target = "/9";
    ovx_string_t to = text(target);
    stage.finish(ovstage_clone(stage.instance, text(source), &to, 1, 4));
    EXPECT_EQ(where("usd-schemas", CONTAINS, {"Two"}), "19");
    EXPECT_EQ(where("usd-prim-type", IN, {"Three"}), "19");
}

// --- which value --------------------------------------------------------------------------------

TEST_F(ValueTest, R47_the_newest_value_by_ordinal_sealed_or_not)
{
    column<float>("x", {1, 2, 3}, f32(), 5);
    EXPECT_EQ(where("x", GE, {"2"}), "12"); // rows without a place
    stage.finish(stage.seal(5));
    EXPECT_EQ(where("x", GE, {"2"}), "12");
    column<float>("x", {9}, f32(), 8); // a part, open
    EXPECT_EQ(where("x", GE, {"2"}), "012");
    column<float>("x", {0, 0, 0}, f32(), 7); // older, though accepted later
    EXPECT_EQ(where("x", GE, {"2"}), "0");
    column<float>("x", {-1}, f32(), 8); // written again where it is
    EXPECT_EQ(where("x", GE, {"0"}), "12");
    stage.finish(stage.seal(7));
    EXPECT_EQ(where("x", GE, {"0"}), "12");
    stage.finish(stage.seal(8)); // folded
    EXPECT_EQ(where("x", GE, {"0"}), "12");
    EXPECT_EQ(where("x", LT, {"0"}), "0");
    for (uint64_t ordinal = 9; ordinal < 20; ordinal++) {
        column<float>("x", {static_cast<float>(ordinal)}, f32(), ordinal);
        if (ordinal % 2 == 0)
            stage.finish(stage.seal(ordinal));
        EXPECT_EQ(where("x", IN, {std::to_string(ordinal)}), "0");
    }
}

TEST_F(ValueTest, R107_columns_of_several_types)
{
    Payload number({7.f}, 1);
    stage.finish(write(stage, stage.query({"/n"}), stage.token("x"), 1, number.data));
    Payload token(std::vector<uint64_t>{stage.token("seven")}, u64(), {1});
    token.data.semantic = OVSTAGE_SEMANTIC_TOKEN_ID;
    stage.finish(write(stage, stage.query({"/t"}), stage.token("x"), 1, token.data));
    EXPECT_EQ(find(stage, {{"x", IN, {"7", "seven"}}}), (list{"/n", "/t"}));
    EXPECT_EQ(find(stage, {{"x", IN, {"seven"}}}), (list{"/t"})); // some column takes it
}

TEST_F(ValueTest, R52_an_attribute_that_nobody_has_has_no_values)
{
    EXPECT_EQ(where("nobody", IN, {"what", "ever"}), "");
    EXPECT_EQ(where("nobody", PREFIX, {"x"}), "");
}

TEST_F(ValueTest, D23_writes_accepted_before_are_seen)
{
    column<float>("x", {1, 2, 3}, f32(), 1);
    Gate gate;
    gate.submit(stage, 4);
    gate.wait_entered();
    Payload payload({5.f, 6.f, 7.f}, 3);
    ovstage_enqueue_result_t written = write(stage, prims(3), stage.token("x"), 4, payload.data);
    ovstage_query_handle_t made = query(stage, {{"x", GT, {"5"}}}, {stage.token("x")});
    gate.let_go();
    EXPECT_EQ(found(stage, made).paths, (list{"/1", "/2"}));
    stage.finish(written);
}

// A computation whose ordinal is sealed when it runs is in no lane.
TEST_F(ValueTest, D23_world_transforms_that_are_being_computed)
{
    std::vector<double> identity(16, 0), moved;
    for (size_t k = 0; k < 16; k += 5)
        identity[k] = 1;
    moved = identity;
    moved[12] = 5;
    column<double>("omni:fabric:worldMatrix", identity, f64(16), 1);
    stage.finish(stage.seal(1));
    Gate gate;
    gate.submit(stage, 3);
    gate.wait_entered();
    Payload payload(moved, f64(16), {1});
    ovstage_enqueue_result_t written =
        write(stage, prims(1), stage.token("omni:xform"), 4, payload.data);
    ovstage_enqueue_result_t sealed = stage.seal(4);
    ovstage_enqueue_result_t computed = ovstage_compute_hierarchy(
        stage.instance, OVSTAGE_HIERARCHY_COMPUTATION_MODEL_DEFAULT_CPU, 4, 4);
    ovstage_query_handle_t made = query(stage, {{"omni:fabric:worldMatrix", CONTAINS, {"5"}}});
    gate.let_go();
    EXPECT_EQ(found(stage, made).paths, (list{"/0"}));
    for (ovstage_enqueue_result_t result : {written, sealed, computed})
        stage.finish(result);
}

// Queries beside writes that go where the rows are: each finds a value that somebody wrote, and
// what it depends on.
TEST_F(ValueTest, R10_queries_beside_writes_in_place)
{
    constexpr int rounds = 150;
    constexpr size_t count = 64;
    column<double>("x", std::vector<double>(count * 4, 0), f64(4), 1);
    ovstage_query_handle_t all = prims(count), some = prims(5);
    ovx_token_t x = stage.token("x");
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        for (int round = 1; !stop; round++) {
            Payload whole(std::vector<double>(count * 4, round), f64(4), {count});
            Payload part(std::vector<double>(5 * 4, round), f64(4), {5});
            uint64_t ordinal = 2 + static_cast<uint64_t>(round / 8);
            stage.finish(write(stage, all, x, ordinal, whole.data));
            stage.finish(write(stage, some, x, ordinal, part.data));
            if (round % 8 == 7)
                stage.finish(stage.seal(ordinal));
        }
    });
    for (int round = 0; round < rounds; round++) {
        // Lanes of one row are written together.
        EXPECT_EQ(find(stage, {{"x", GE, {"0"}}}).size(), count);
        ovstage_query_handle_t torn = query(stage, {{"x", CONTAINS, {"3"}}, {"x", LT, {"3"}}});
        EXPECT_TRUE(found(stage, torn).paths.empty());
        stage.finish(ovstage_release_query(stage.instance, torn));
    }
    stop = true;
    writer.join();
}

} // namespace
