// Map sessions over array columns: R117-R122, R126, L2, L9, D9, D16, D25.
#include <thread>

#include "tests/support/arrays.h"
#include "tests/support/heap.h"
#include "tests/support/maps.h"

using namespace client;

namespace
{

using Sizes = std::vector<size_t>;
using Floats = std::map<uint32_t, std::vector<float>>;

// Row r gets the values first + 100 r, first + 100 r + 1, ...
Floats filling(const Sizes &sizes, float first)
{
    Floats rows;
    for (uint32_t r = 0; r < sizes.size(); r++)
        rows[r] = ramp(sizes[r], first + 100.0f * static_cast<float>(r));
    return rows;
}

void put(const Map &map, const Floats &rows)
{
    for (const auto &[row, values] : rows)
        std::copy(values.begin(), values.end(),
                  static_cast<float *>(map.group.data.tensors[row].data));
}

class MapArrayTest : public MapTest
{
  protected:
    Sizes sizes{3, 0, 5, 1};

    Map open(uint64_t ordinal, const Sizes &of, DLDataType dtype = f32())
    {
        return Map(stage, query, description(attribute, dtype), ordinal, of);
    }
    // One whole session.
    void map(uint64_t ordinal, const Sizes &of, float first, bool by_group = false)
    {
        Map session = open(ordinal, of);
        ASSERT_EQ(session.fetch(), OVSTAGE_OK) << last_error();
        put(session, filling(of, first));
        if (by_group)
            stage.finish(session.unmap_group());
        stage.finish(session.unmap());
        session.expect_ended();
    }
    Floats rows(ovstage_query_handle_t of, uint64_t ordinal)
    {
        Snapshot snapshot(stage, of, {attribute}, ordinal);
        EXPECT_LE(snapshot.groups.size(), 1u);
        return snapshot.groups.empty() ? Floats() : array_rows<float>(snapshot.groups[0]);
    }
    Floats sealed_rows(uint64_t ordinal)
    {
        stage.finish(stage.seal(ordinal));
        return rows(query, ordinal);
    }
    std::string refuse_sizes(const ovstage_map_desc_t &desc, const size_t *of, size_t count,
                             ovstage_api_status_t status, uint64_t ordinal = 1)
    {
        ovstage_map_handle_t handle = 7;
        std::string why = refused(
            ovstage_map_attribute(stage.instance, query, &desc, ordinal, of, count, &handle),
            status);
        EXPECT_EQ(handle, 0u);
        return why;
    }
    void write_rows(uint64_t ordinal, const Rows<float> &with)
    {
        RowPayload<float> payload(with, f32());
        stage.finish(client::write(stage, query, attribute, ordinal, payload.data));
    }
};

TEST_F(MapArrayTest, R117_map_fetch_fill_unmap)
{
    map(1, sizes, 10);
    EXPECT_EQ(sealed_rows(1), filling(sizes, 10));
    map(2, {0, 2, 1, 9}, 20, true); // by group, and with other lengths
    EXPECT_EQ(sealed_rows(2), filling({0, 2, 1, 9}, 20));
    EXPECT_EQ(rows(query, 1), filling(sizes, 10));
    EXPECT_EQ(stage.statistics().pending_bytes, 0u);
}

TEST_F(MapArrayTest, R120_one_tensor_a_row_of_so_many_elements)
{
    Map session = open(1, sizes, f32(3));
    stage.finish(session.opened);
    ASSERT_EQ(session.fetch(), OVSTAGE_OK) << last_error();
    const ovstage_map_group_t &group = session.group;
    EXPECT_EQ(group.prims.count, 4u);
    EXPECT_EQ(group.prims.offset, 0u);
    EXPECT_EQ(group.data.count, 4u);
    ASSERT_EQ(group.data.tensor_count, 4u);
    const char *next = static_cast<const char *>(group.data.tensors[0].data);
    for (size_t r = 0; r < sizes.size(); r++) {
        const DLTensor &tensor = group.data.tensors[r];
        EXPECT_EQ(tensor.ndim, 1);
        EXPECT_EQ(tensor.shape[0], static_cast<int64_t>(sizes[r]));
        EXPECT_EQ(tensor.device.device_type, kDLCPU);
        EXPECT_EQ(tensor.dtype.lanes, 3);
        if (sizes[r] > 0) {
            EXPECT_EQ(tensor.data, next); // one after the other
        }
        next += sizes[r] * 12;
    }
    EXPECT_EQ(session.fetch(), OVSTAGE_ERROR_END_OF_ITERATION);
    stage.finish(session.unmap());
    stage.finish(stage.seal(1));
    Snapshot snapshot(stage, query, {attribute}, 1);
    ASSERT_EQ(snapshot.groups.size(), 1u);
    EXPECT_TRUE(snapshot.groups[0].is_array);
    EXPECT_EQ(snapshot.groups[0].data.tensors[2].shape[0], 5);
    EXPECT_EQ(snapshot.groups[0].data.tensors[2].dtype.lanes, 3);
}

TEST_F(MapArrayTest, R120_what_sizes_must_be)
{
    ovstage_map_desc_t desc = description(attribute);
    refuse_sizes(desc, sizes.data(), 3, OVSTAGE_ERROR_INVALID_ARGUMENT);
    refuse_sizes(desc, sizes.data(), 5, OVSTAGE_ERROR_INVALID_ARGUMENT);
    refuse_sizes(desc, sizes.data(), 0, OVSTAGE_ERROR_INVALID_ARGUMENT);
    refuse_sizes(desc, sizes.data(), SIZE_MAX, OVSTAGE_ERROR_INVALID_ARGUMENT);
    refuse_sizes(desc, nullptr, 4, OVSTAGE_ERROR_INVALID_ARGUMENT);
    for (size_t huge : {SIZE_MAX, SIZE_MAX / 4, size_t{1} << 62, (size_t{1} << 48) + 1}) {
        Sizes wrong{1, huge, huge, huge};
        std::string why = refuse_sizes(desc, wrong.data(), 4, OVSTAGE_ERROR_INVALID_ARGUMENT);
        EXPECT_NE(why.find("element_sizes[1]"), std::string::npos) << why;
    }
    Sizes many{1, size_t{1} << 47, size_t{1} << 47, 0};
    std::string why = refuse_sizes(desc, many.data(), 4, OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(why.find("element_sizes[2]"), std::string::npos) << why;
    Sizes large{0, size_t{1} << 46, 0, 0}; // more than may be pending
    refuse_sizes(desc, large.data(), 4, OVSTAGE_ERROR_QUEUE_FULL);
    EXPECT_EQ(stage.statistics().pending_bytes, 0u);
}

TEST_F(MapArrayTest, D9_sizes_are_copied)
{
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 1);
    Sizes passed = sizes;
    Map session = open(1, passed);
    std::fill(passed.begin(), passed.end(), 77u);
    gate.let_go();
    ASSERT_EQ(session.fetch(), OVSTAGE_OK) << last_error();
    put(session, filling(sizes, 10));
    stage.finish(held);
    stage.finish(session.unmap());
    EXPECT_EQ(sealed_rows(1), filling(sizes, 10));
}

TEST_F(MapArrayTest, D16_the_rows_are_zero_whatever_lay_there)
{
    for (uint64_t ordinal = 1; ordinal < 20; ordinal++) {
        Map session = open(ordinal, {3, 1, 4, 2});
        ASSERT_EQ(session.fetch(), OVSTAGE_OK) << last_error();
        for (size_t r = 0; r < 4; r++) {
            auto *values = static_cast<float *>(session.group.data.tensors[r].data);
            for (int64_t k = 0; k < session.group.data.tensors[r].shape[0]; k++) {
                ASSERT_EQ(values[k], 0.0f);
                values[k] = 5;
            }
        }
        stage.finish(session.unmap());
        stage.finish(stage.seal(ordinal));
    }
}

TEST_F(MapArrayTest, R117_no_element_is_copied)
{
    // Without places, with places, of some of the prims, of a path twice.
    ovstage_query_handle_t some = stage.query({"/P/3", "/P/1", "/P/3"});
    for (uint64_t ordinal = 1; ordinal < 6; ordinal++) {
        ovstage_query_handle_t of = ordinal < 4 ? query : some;
        Sizes lengths = ordinal < 4 ? Sizes{20, 30, 40, 50} : Sizes{1, 70, 80};
        Map session(stage, of, description(attribute), ordinal, lengths);
        ASSERT_EQ(session.fetch(), OVSTAGE_OK) << last_error();
        put(session, filling(lengths, static_cast<float>(ordinal)));
        std::vector<const void *> mapped;
        for (size_t r = 0; r < lengths.size(); r++)
            mapped.push_back(session.group.data.tensors[r].data);
        stage.finish(session.unmap());
        stage.finish(stage.seal(ordinal));
        Snapshot snapshot(stage, of, {attribute}, ordinal);
        ASSERT_EQ(snapshot.groups.size(), 1u);
        for (size_t r = 0; r < lengths.size(); r++) {
            size_t last = ordinal < 4 || r != 0 ? r : 2; // D6
            EXPECT_EQ(snapshot.groups[0].data.tensors[r].data, mapped[last]);
        }
    }
    Floats seen = rows(query, 5);
    EXPECT_EQ(seen[0], ramp(20, 3));
    EXPECT_EQ(seen[1], ramp(70, 105));
    EXPECT_EQ(seen[3], ramp(80, 205));
}

TEST_F(MapArrayTest, R120_rows_without_elements)
{
    map(1, {2, 2, 2, 2}, 1);
    Map session = open(2, {0, 0, 0, 0});
    ASSERT_EQ(session.fetch(), OVSTAGE_OK) << last_error();
    EXPECT_EQ(session.group.data.tensor_count, 4u);
    stage.finish(session.unmap());
    EXPECT_EQ(sealed_rows(2), (Floats{{0, {}}, {1, {}}, {2, {}}, {3, {}}}));
    EXPECT_EQ(rows(query, 1), filling({2, 2, 2, 2}, 1));
}

TEST_F(MapArrayTest, R101_a_query_without_prims)
{
    ovstage_query_handle_t empty = stage.query(std::vector<std::string>{});
    ovstage_map_desc_t desc = description(attribute);
    ovstage_map_handle_t handle = 0;
    stage.finish(ovstage_map_attribute(stage.instance, empty, &desc, 1, sizes.data(), 0, &handle));
    ovstage_map_group_t group;
    EXPECT_EQ(ovstage_fetch_map_next(stage.instance, handle, forever, &group),
              OVSTAGE_ERROR_END_OF_ITERATION);
    stage.finish(ovstage_unmap_attribute(stage.instance, handle, {}));
}

TEST_F(MapArrayTest, R118_a_zero_dtype_is_the_one_that_all_have)
{
    refuse_sizes(description(attribute, none), sizes.data(), 4, OVSTAGE_ERROR_INVALID_ARGUMENT);
    write_rows(1, {{1, 2}, {}, {3}, {4}});
    Map session = open(2, sizes, none);
    ASSERT_EQ(session.fetch(), OVSTAGE_OK) << last_error();
    EXPECT_EQ(session.group.data.tensors[0].dtype.bits, 32);
    put(session, filling(sizes, 10));
    stage.finish(session.unmap());
    EXPECT_EQ(sealed_rows(2), filling(sizes, 10));
    // Behind a write that is pending it is known only then.
    Gate gate;
    ovx_token_t other = stage.token("other");
    ovstage_enqueue_result_t held = gate.submit(stage, 3);
    RowPayload<float> payload({{1, 2}, {3, 4}, {}, {5, 6}}, f32(2));
    ovstage_enqueue_result_t wrote = client::write(stage, query, other, 3, payload.data);
    Map later(stage, query, description(other, none), 4, sizes);
    EXPECT_EQ(later.fetch(0), OVSTAGE_ERROR_TIMEOUT);
    gate.let_go();
    ASSERT_EQ(later.fetch(), OVSTAGE_OK) << last_error();
    EXPECT_EQ(later.group.data.tensors[2].dtype.lanes, 2);
    EXPECT_EQ(later.group.data.tensors[2].shape[0], 5);
    stage.finish(held);
    stage.finish(wrote);
    stage.finish(later.unmap());
}

TEST_F(MapArrayTest, R118_kinds_do_not_mix)
{
    ovx_token_t fixed = stage.token("fixed");
    Values values = ramp(4);
    stage.finish(stage.write(query, fixed, 1, values));
    write_rows(1, {{1}, {2}, {}, {3}});
    refuse(description(attribute), OVSTAGE_ERROR_INVALID_ARGUMENT, 2);
    std::string why = refuse(description(attribute, none), OVSTAGE_ERROR_INVALID_ARGUMENT, 2);
    EXPECT_NE(why.find("element_sizes"), std::string::npos) << why;
    for (DLDataType dtype : {f32(), none})
        refuse_sizes(description(fixed, dtype), sizes.data(), 4, OVSTAGE_ERROR_INVALID_ARGUMENT, 2);
    for (DLDataType dtype : {f32(2), f64()})
        refuse_sizes(description(attribute, dtype), sizes.data(), 4, OVSTAGE_ERROR_INVALID_ARGUMENT,
                     2);
    refuse_sizes(description(attribute, f32(), OVSTAGE_SEMANTIC_COLOR), sizes.data(), 4,
                 OVSTAGE_ERROR_INVALID_ARGUMENT, 2);
    EXPECT_EQ(sealed_rows(2), (Floats{{0, {1}}, {1, {2}}, {2, {}}, {3, {3}}}));
    EXPECT_EQ(stage.read(query, fixed, 2), values);
}

TEST_F(MapArrayTest, R109_relationships_and_schemas_are_mapped)
{
    ovx_token_t schemas = stage.token("usd-schemas"), path = stage.token("/P/0");
    Map session(stage, query, description(schemas, u64()), 1, {2, 0, 1, 1});
    ASSERT_EQ(session.fetch(), OVSTAGE_OK) << last_error();
    for (uint32_t r : {0u, 2u, 3u})
        static_cast<uint64_t *>(session.group.data.tensors[r].data)[0] = path;
    stage.finish(session.unmap());
    Map target(stage, query, description(attribute, u64(), OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID),
               1, sizes);
    ASSERT_EQ(target.fetch(), OVSTAGE_OK) << last_error();
    stage.finish(target.unmap());
    stage.finish(stage.seal(1));
    Snapshot snapshot(stage, query, {schemas, attribute}, 1);
    ASSERT_EQ(snapshot.groups.size(), 2u);
    for (const auto &group : snapshot.groups) {
        EXPECT_TRUE(group.is_array);
        EXPECT_EQ(group.semantic, group.attribute == schemas
                                      ? OVSTAGE_SEMANTIC_TOKEN_ID
                                      : OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID);
    }
    refuse_sizes(description(schemas, f32()), sizes.data(), 4, OVSTAGE_ERROR_INVALID_ARGUMENT, 2);
    refuse(description(attribute, u64(), OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID),
           OVSTAGE_ERROR_INVALID_ARGUMENT, 2); // arrays only
    for (const char *name : {"usd-path", "usd-children"})
        refuse_sizes(description(stage.token(name), u64()), sizes.data(), 4,
                     OVSTAGE_ERROR_NOT_SUPPORTED, 2);
}

TEST_F(MapArrayTest, R106_INSERT_is_judged_as_a_write)
{
    const auto inserts =
        description(attribute, f32(), OVSTAGE_SEMANTIC_NONE, OVSTAGE_PRIM_MODE_INSERT);
    Map first(stage, query, inserts, 1, sizes), second(stage, query, inserts, 1, sizes);
    ASSERT_EQ(first.fetch(), OVSTAGE_OK);
    ASSERT_EQ(second.fetch(), OVSTAGE_OK);
    put(first, filling(sizes, 1));
    stage.finish(first.unmap());
    EXPECT_NE(failed(stage, second.unmap()).find("/P/0"), std::string::npos);
    EXPECT_EQ(sealed_rows(1), filling(sizes, 1));
    EXPECT_EQ(stage.statistics().pending_bytes, 0u);
}

TEST_F(MapArrayTest, R35_one_ordinal_goes_by_the_order_of_commits)
{
    Map first = open(1, {2, 2, 2, 2}), second = open(1, sizes);
    ASSERT_EQ(first.fetch(), OVSTAGE_OK);
    ASSERT_EQ(second.fetch(), OVSTAGE_OK);
    put(first, filling({2, 2, 2, 2}, 1));
    put(second, filling(sizes, 50));
    stage.finish(second.unmap());
    write_rows(1, {{9}, {9}, {9}, {9}});
    stage.finish(first.unmap());
    RowPayload<float> one({{7, 7, 7}}, f32());
    stage.finish(client::write(stage, stage.query({"/P/2"}), attribute, 1, one.data));
    Floats wanted = filling({2, 2, 2, 2}, 1);
    wanted[2] = {7, 7, 7};
    EXPECT_EQ(sealed_rows(1), wanted);
}

TEST_F(MapArrayTest, L2_an_open_map_holds_nobody_up)
{
    write_rows(1, {{1}, {2}, {3}, {4}});
    stage.finish(stage.seal(1));
    Snapshot held(stage, query, {attribute}, 1);
    Map session = open(2, sizes);
    ASSERT_EQ(session.fetch(), OVSTAGE_OK);
    put(session, filling(sizes, 10));
    write_rows(2, {{5}, {5}, {5}, {5}});
    write_rows(3, {{6}, {6}, {6}, {6}});
    ovx_string_or_token_t name = named(attribute);
    stage.finish(ovstage_delete_attributes(stage.instance, stage.query({"/P/0"}), &name, 1, 2));
    stage.finish(session.unmap()); // after the delete, so the key is there again
    stage.finish(stage.seal(2));
    EXPECT_EQ(rows(query, 2), filling(sizes, 10));
    EXPECT_EQ(sealed_rows(3), (Floats{{0, {6}}, {1, {6}}, {2, {6}}, {3, {6}}}));
    ASSERT_EQ(held.groups.size(), 1u);
    EXPECT_EQ(array_rows<float>(held.groups[0]), (Floats{{0, {1}}, {1, {2}}, {2, {3}}, {3, {4}}}));
}

TEST_F(MapArrayTest, D16_a_seal_ends_the_session_that_commits_after_it)
{
    write_rows(1, {{1}, {2}, {3}, {4}});
    for (bool group : {false, true}) {
        Map session = open(group ? 4 : 2, sizes);
        ASSERT_EQ(session.fetch(), OVSTAGE_OK);
        put(session, filling(sizes, 10));
        EXPECT_EQ(sealed_rows(group ? 4 : 2), (Floats{{0, {1}}, {1, {2}}, {2, {3}}, {3, {4}}}));
        refused(group ? session.unmap_group() : session.unmap(),
                OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
        session.expect_ended();
        EXPECT_EQ(stage.statistics().pending_bytes, 0u);
    }
}

TEST_F(MapArrayTest, D16_what_nobody_fetched_is_not_committed)
{
    write_rows(1, {{1}, {2}, {3}, {4}});
    Map session = open(2, sizes), foreign = open(2, sizes);
    stage.finish(session.opened);
    ASSERT_EQ(foreign.fetch(), OVSTAGE_OK);
    refused(session.unmap_group(), OVSTAGE_ERROR_INVALID_HANDLE);
    session.group = foreign.group;
    refused(session.unmap_group(), OVSTAGE_ERROR_INVALID_HANDLE);
    stage.finish(session.unmap());
    stage.finish(foreign.unmap_group());
    refused(foreign.unmap_group(), OVSTAGE_ERROR_INVALID_HANDLE); // committed
    stage.finish(foreign.unmap());
    EXPECT_EQ(sealed_rows(2), (Floats{{0, {0, 0, 0}}, {1, {}}, {2, {0, 0, 0, 0, 0}}, {3, {0}}}));
    EXPECT_EQ(stage.statistics().pending_bytes, 0u);
}

TEST_F(MapArrayTest, R126_abandoned_sessions_hold_no_memory)
{
    map(1, sizes, 1);
    stage.finish(stage.seal(1));
    flyrail_statistics_t before = stage.statistics();
    for (int round = 0; round < 50; round++) {
        Map never_fetched = open(2, {500, 500, 500, 500});
        Map fetched = open(2, {500, 500, 500, 500});
        ASSERT_EQ(fetched.fetch(), OVSTAGE_OK);
        EXPECT_GE(stage.statistics().pending_bytes, 8000u);
        stage.finish(never_fetched.unmap());
        Map refused_later = open(2, {500, 500, 500, 500}, f64()); // another schema
        EXPECT_EQ(refused_later.opened.status, OVSTAGE_ERROR_INVALID_ARGUMENT);
        stage.finish(stage.seal(2 + static_cast<uint64_t>(round), OVSTAGE_SCOPE_INCLUDE,
                                {stage.token("unrelated")}));
        stage.finish(fetched.unmap());
    }
    stage.finish(stage.seal(60));
    EXPECT_EQ(stage.statistics().pending_bytes, 0u);
    EXPECT_LE(stage.statistics().payload_bytes, before.payload_bytes + 3 * 8000 * 4);
    Stage gone(1); // D20: sessions go with their instance; sanitizers look for what is left
    Map left(gone, gone.query(2), description(attribute), 1, {4, 5});
    Map kept(gone, gone.query(2), description(attribute), 1, {4, 0});
    ASSERT_EQ(kept.fetch(), OVSTAGE_OK);
    gone.destroy();
}

TEST_F(MapArrayTest, R117_many_prims_are_committed_by_many)
{
    constexpr size_t prims = 20000;
    ovstage_query_handle_t all = stage.query(prims);
    std::vector<std::string> paths;
    for (size_t i = 0; i < prims; i += 2)
        paths.push_back("/P/" + std::to_string(i));
    ovstage_query_handle_t even = stage.query(paths);
    Sizes lengths(prims), half(prims / 2);
    for (size_t i = 0; i < prims; i++)
        lengths[i] = i % 7;
    for (size_t i = 0; i < half.size(); i++)
        half[i] = i % 3;
    Map first(stage, all, description(attribute), 1, lengths);
    ASSERT_EQ(first.fetch(), OVSTAGE_OK);
    put(first, filling(lengths, 1));
    stage.finish(first.unmap());
    stage.finish(stage.seal(1));
    Map second(stage, even, description(attribute, none), 2, half);
    ASSERT_EQ(second.fetch(), OVSTAGE_OK);
    put(second, filling(half, 5));
    stage.finish(second.unmap());
    stage.finish(stage.seal(2));
    Floats wanted = filling(lengths, 1), newer = filling(half, 5);
    EXPECT_EQ(rows(all, 1), wanted);
    for (uint32_t i = 0; i < half.size(); i++)
        wanted[2 * i] = newer[i];
    EXPECT_EQ(rows(all, 2), wanted);
    EXPECT_EQ(stage.statistics().pending_bytes, 0u);
}

TEST_F(MapArrayTest, D25_bytes_count_from_the_map_on)
{
    flyrail_config_t made = config(1);
    made.pending_limit_bytes = 4096;
    Stage small(made);
    ovstage_query_handle_t of = small.query(4);
    Map first(small, of, description(attribute), 2, {512, 0, 0, 0});
    small.finish(first.opened);
    uint64_t slices = 4 * 24; // a pointer, an offset and a count a row
    EXPECT_EQ(small.statistics().pending_bytes, 2048u + slices);
    ovstage_map_desc_t desc = description(attribute);
    ovstage_map_handle_t handle;
    Sizes more{0, 0, 0, 700};
    refused(ovstage_map_attribute(small.instance, of, &desc, 2, more.data(), 4, &handle),
            OVSTAGE_ERROR_QUEUE_FULL);
    ASSERT_EQ(first.fetch(), OVSTAGE_OK);
    small.finish(first.unmap());
    EXPECT_GE(small.statistics().pending_bytes, 2048u);
    small.finish(small.seal(2));
    EXPECT_EQ(small.statistics().pending_bytes, 0u);
}

TEST_F(MapArrayTest, L2_many_threads_map_the_same_prims)
{
    constexpr uint64_t threads = 4, rounds = 40;
    std::vector<std::thread> running;
    for (uint64_t t = 0; t < threads; t++)
        running.emplace_back([&, t] {
            for (uint64_t round = 0; round < rounds; round++) {
                uint64_t ordinal = 1 + round % 8;
                Sizes lengths{t + 1, 0, t + 2, round % 3};
                Map session(stage, query, description(attribute), ordinal, lengths);
                ASSERT_EQ(session.fetch(), OVSTAGE_OK) << last_error();
                put(session, filling(lengths, static_cast<float>(t)));
                stage.finish(session.unmap());
                stage.finish(session.opened);
            }
        });
    for (auto &thread : running)
        thread.join();
    for (uint64_t ordinal = 1; ordinal <= 8; ordinal++) {
        Floats seen = sealed_rows(ordinal);
        ASSERT_EQ(seen.size(), 4u);
        size_t t = seen[0].size() - 1; // one commit's, whole
        Sizes lengths{t + 1, 0, t + 2, seen[3].size()};
        EXPECT_EQ(seen, filling(lengths, static_cast<float>(t)));
    }
    EXPECT_EQ(stage.statistics().pending_bytes, 0u);
}

// What fails for want of memory is given up, and loses nothing.
class Program
{
  public:
    explicit Program(const Stage &on) : stage(&on)
    {
    }
    int failures = 0;

    void run(ovstage_query_handle_t query, ovx_token_t attribute)
    {
        for (uint64_t ordinal = 2; ordinal < 5; ordinal++) {
            Sizes lengths(12, ordinal);
            lengths[ordinal] = 0;
            ovstage_map_desc_t desc = description(attribute, ordinal == 3 ? none : f32());
            ovstage_map_handle_t handle = 0;
            ovstage_enqueue_result_t opened = ovstage_map_attribute(
                stage->instance, query, &desc, ordinal, lengths.data(), lengths.size(), &handle);
            if (!check(opened.status))
                continue;
            finish(opened);
            ovstage_map_group_t group;
            if (check(ovstage_fetch_map_next(stage->instance, handle, forever, &group)) &&
                ordinal % 2 == 0)
                finish(ovstage_unmap_group(stage->instance, handle, &group, {}));
            finish(ovstage_unmap_attribute(stage->instance, handle, {}));
        }
    }

  private:
    bool check(ovstage_api_status_t status)
    {
        if (status == OVSTAGE_OK)
            return true;
        failures++;
        EXPECT_EQ(status, OVSTAGE_ERROR_OUT_OF_MEMORY) << last_error();
        return false;
    }
    void finish(ovstage_enqueue_result_t result)
    {
        if (!check(result.status))
            return;
        ovstage_op_wait_result_t outcome;
        EXPECT_EQ(ovstage_wait_op(stage->instance, result.op_index, forever, &outcome), OVSTAGE_OK);
        failures += outcome.error_op_id_count > 0;
        EXPECT_EQ(ovstage_release_op(stage->instance, result.op_index), OVSTAGE_OK);
    }

    const Stage *stage;
};

// Answers false when the program asked for fewer allocations.
bool run_with_failure(uint32_t workers, uint64_t k, bool ever)
{
    fr_test_heap *heap = fr_test_heap_create();
    const fr_allocator *allocator = fr_test_heap_allocator(heap);
    flyrail_config_t made = config(workers);
    made.allocator.allocate = allocator->allocate;
    made.allocator.release = allocator->release;
    made.allocator.user = allocator->user;
    bool reached;
    {
        Stage stage(made);
        ovx_token_t attribute = stage.token("points");
        ovstage_query_handle_t query = stage.query(12);
        RowPayload<float> first(Rows<float>(12, {1, 2}), f32());
        stage.finish(client::write(stage, query, attribute, 1, first.data));
        stage.finish(stage.seal(1));
        Program program(stage);
        fr_test_heap_fail(heap, k, ever);
        program.run(query, attribute);
        reached = fr_test_heap_calls(heap) >= k;
        fr_test_heap_fail(heap, 0, 0);
        EXPECT_TRUE(reached || program.failures == 0) << k;
        Sizes lengths(12, 3);
        Map session(stage, query, description(attribute), 9, lengths);
        EXPECT_EQ(session.fetch(), OVSTAGE_OK);
        put(session, filling(lengths, 9));
        stage.finish(session.unmap());
        stage.finish(stage.seal(9));
        Snapshot snapshot(stage, query, {attribute}, 9);
        EXPECT_EQ(snapshot.groups.size(), 1u);
        if (!snapshot.groups.empty()) {
            EXPECT_EQ(array_rows<float>(snapshot.groups[0]), filling(lengths, 9)) << k;
        }
    }
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u) << k;
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u) << k;
    return reached;
}

TEST(MapArrayMemory, every_allocation_may_fail)
{
    for (uint32_t workers : {0u, 2u})
        for (bool ever : {false, true}) {
            uint64_t k = 1;
            while (run_with_failure(workers, k, ever)) {
                ASSERT_FALSE(testing::Test::HasFailure()) << "k = " << k;
                k++;
            }
            EXPECT_GT(k, 8u);
        }
}

} // namespace
