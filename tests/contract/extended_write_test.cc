// flyrail_write_rows and flyrail_write_attributes: rows of a query by number, and writes that
// demand what is there.
#include <random>
#include <thread>

#include "tests/support/arrays.h"
#include "tests/support/bounded.h"
#include "tests/support/filters.h"
#include "tests/support/heap.h"
#include "tests/support/maps.h"

using namespace client;

namespace
{

using Positions = std::vector<uint32_t>;

ovstage_enqueue_result_t write_rows(const Stage &stage, ovstage_query_handle_t query,
                                    ovx_token_t attribute, uint64_t ordinal, const Positions &rows,
                                    const ovstage_write_data_t &data,
                                    flyrail_write_mode_t mode = FLYRAIL_WRITE_UPSERT)
{
    return flyrail_write_rows(stage.instance, query, named(attribute), ordinal, rows.data(),
                              rows.size(), data, mode);
}

ovstage_enqueue_result_t write_mode(const Stage &stage, ovstage_query_handle_t query,
                                    const std::vector<ovx_token_t> &attributes, uint64_t ordinal,
                                    const ovstage_write_data_t &data, flyrail_write_mode_t mode)
{
    std::vector<ovstage_attribute_write_t> writes;
    for (ovx_token_t attribute : attributes)
        writes.push_back({named(attribute), data});
    return flyrail_write_attributes(stage.instance, query, writes.data(), writes.size(), ordinal,
                                    mode);
}

class RowsTest : public MapTest
{
  protected:
    void rows(ovstage_query_handle_t of, uint64_t ordinal, const Positions &at, const Values &with)
    {
        Payload payload(with, static_cast<int64_t>(with.size()));
        stage.finish(write_rows(stage, of, attribute, ordinal, at, payload.data));
    }
};

TEST_F(RowsTest, some_rows_of_a_query)
{
    write(1, ramp(4));
    rows(query, 2, {2, 0}, {20, 30});
    EXPECT_EQ(sealed(2), (Values{30, 1, 20, 3}));
    EXPECT_EQ(stage.read(query, attribute, 1), ramp(4));
    rows(query, 3, {1}, {9});
    rows(query, 3, {0, 1, 2, 3}, {5, 6, 7, 8});
    rows(query, 3, {3}, {4});
    EXPECT_EQ(sealed(3), (Values{5, 6, 7, 4}));
}

TEST_F(RowsTest, new_prims_by_number)
{
    rows(query, 1, {3, 1}, {30, 10});
    stage.finish(stage.seal(1));
    EXPECT_EQ(stage.read(stage.query({"/P/1", "/P/3"}), attribute, 1), (Values{10, 30}));
    EXPECT_EQ(stage.read(stage.query({"/P/0", "/P/2"}), attribute, 1), Values());
    EXPECT_EQ(stage.statistics().prims, 2u);
}

TEST_F(RowsTest, D6_of_one_that_comes_twice_the_last_counts)
{
    write(1, ramp(4));
    rows(query, 2, {2, 0, 2, 2}, {1, 2, 3, 4});
    EXPECT_EQ(sealed(2), (Values{2, 1, 4, 3}));
    ovstage_query_handle_t twice = stage.query({"/P/1", "/P/0", "/P/1"}); // and of a path
    rows(twice, 3, {0, 2}, {7, 8});
    rows(twice, 3, {2, 0, 1}, {70, 80, 90});
    EXPECT_EQ(sealed(3), (Values{90, 80, 4, 3}));
}

TEST_F(RowsTest, data_counts_rows_as_a_write_counts_prims)
{
    write(1, ramp(4));
    const uint32_t index_map[3] = {1, 1, 0};
    Payload two(Values{10, 20}, 2);
    two.data.index_map = index_map;
    two.data.count = 3;
    stage.finish(write_rows(stage, query, attribute, 2, {0, 1, 3}, two.data));
    EXPECT_EQ(sealed(2), (Values{20, 20, 2, 10}));
    uint64_t mask = 5;
    Payload three(Values{7, 8, 9}, 3);
    three.data.mask = &mask;
    three.data.count = 3;
    stage.finish(write_rows(stage, query, attribute, 3, {3, 2, 1}, three.data));
    EXPECT_EQ(sealed(3), (Values{20, 9, 2, 7}));
    Payload leading(Values{5, 6}, 2); // count: the leading two of them
    leading.data.count = 2;
    stage.finish(write_rows(stage, query, attribute, 4, {2, 0, 1}, leading.data));
    EXPECT_EQ(sealed(4), (Values{6, 9, 5, 7}));
    Payload wrong(ramp(4), 4);
    refused(write_rows(stage, query, attribute, 5, {2, 0, 1}, wrong.data),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    wrong.data.count = 4;
    refused(write_rows(stage, query, attribute, 5, {2, 0, 1}, wrong.data),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
}

TEST_F(RowsTest, arrays_and_managed_tensors)
{
    ovx_token_t name = stage.token("arrays");
    RowPayload<float> all({{1}, {2, 2}, {}, {4}}, f32()), some({{7, 7}, {}}, f32());
    stage.finish(client::write(stage, query, name, 1, all.data));
    stage.finish(write_rows(stage, query, name, 2, {3, 0}, some.data));
    stage.finish(stage.seal(2));
    Snapshot snapshot(stage, query, {name}, 2);
    ASSERT_EQ(snapshot.groups.size(), 1u);
    std::map<uint32_t, std::vector<float>> wanted{{0, {}}, {1, {2, 2}}, {2, {}}, {3, {7, 7}}};
    EXPECT_EQ(array_rows<float>(snapshot.groups[0]), wanted);
    for (bool good : {true, false}) {
        auto record = std::make_shared<Managed::Record>();
        const DLManagedTensorVersioned *tensor =
            Managed::make({5, 6}, 1, DLPACK_FLAG_BITMASK_IS_COPIED, record);
        ovstage_write_data_t data;
        std::memset(&data, 0, sizeof(data));
        data.managed_tensors = &tensor;
        data.tensor_count = 1;
        ovstage_enqueue_result_t result =
            write_rows(stage, query, attribute, 3, {1, good ? 2u : 4u}, data);
        EXPECT_EQ(result.status, good ? OVSTAGE_OK : OVSTAGE_ERROR_INVALID_ARGUMENT);
        if (good)
            stage.finish(result);
        else
            EXPECT_EQ(record->deleted, 1);
    }
    stage.finish(stage.seal(3));
    EXPECT_EQ(stage.read(stage.query({"/P/1", "/P/2"}), attribute, 3), (Values{5, 6}));
}

TEST_F(RowsTest, no_rows)
{
    Payload nothing(Values{}, 0);
    stage.finish(write_rows(stage, query, attribute, 1, {}, nothing.data));
    ovstage_query_handle_t empty = stage.query(std::vector<std::string>{});
    stage.finish(write_rows(stage, empty, attribute, 1, {}, nothing.data));
    refused(write_rows(stage, empty, attribute, 1, {0}, nothing.data),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    stage.finish(stage.seal(1));
    refused(write_rows(stage, query, attribute, 1, {}, nothing.data),
            OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(stage.statistics().prims, 0u);
}

TEST_F(RowsTest, wrong_arguments)
{
    Payload one(Values{1}, 1), two(Values{1, 2}, 2);
    std::string why = refused(write_rows(stage, query, attribute, 1, {3, 4}, two.data),
                              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(why.find("rows[1] = 4"), std::string::npos) << why;
    EXPECT_NE(why.find("4 prims"), std::string::npos) << why;
    refused(write_rows(stage, query, attribute, 1, {UINT32_MAX}, one.data),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    for (size_t count : {size_t{1}, SIZE_MAX})
        refused(flyrail_write_rows(stage.instance, query, named(attribute), 1, nullptr, count,
                                   one.data, FLYRAIL_WRITE_UPSERT),
                OVSTAGE_ERROR_INVALID_ARGUMENT);
    for (int mode : {-1, 4, 99}) {
        why = refused(write_rows(stage, query, attribute, 1, {1}, one.data,
                                 static_cast<flyrail_write_mode_t>(mode)),
                      OVSTAGE_ERROR_INVALID_ARGUMENT);
        EXPECT_NE(why.find(std::to_string(mode)), std::string::npos) << why;
        refused(write_mode(stage, query, {attribute}, 1, one.data,
                           static_cast<flyrail_write_mode_t>(mode)),
                OVSTAGE_ERROR_INVALID_ARGUMENT);
    }
    // Those of the interface's own calls stay two.
    for (int mode : {2, 3})
        refused(stage.write(query, attribute, 1, ramp(4), static_cast<ovstage_prim_mode_t>(mode)),
                OVSTAGE_ERROR_INVALID_ARGUMENT);
    refused(write_rows(stage, 7, attribute, 1, {1}, one.data), OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(flyrail_write_rows(nullptr, query, named(attribute), 1, nullptr, 0, one.data,
                                 FLYRAIL_WRITE_UPSERT)
                  .status,
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    refused(write_mode(stage, query, {}, 1, one.data, FLYRAIL_WRITE_UPSERT),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    refused(write_mode(stage, query, {attribute, attribute}, 1, Payload(ramp(4), 4).data,
                       FLYRAIL_WRITE_UPSERT),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(stage.statistics().prims, 0u);
}

TEST_F(RowsTest, D9_the_rows_are_copied)
{
    write(1, ramp(4));
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 2);
    Positions at{2, 3};
    Payload payload(Values{20, 30}, 2);
    ovstage_enqueue_result_t wrote = write_rows(stage, query, attribute, 2, at, payload.data);
    at[0] = at[1] = 0;
    gate.let_go();
    stage.finish(held);
    stage.finish(wrote);
    EXPECT_EQ(sealed(2), (Values{0, 1, 20, 30}));
}

// What a query that is not ready turns out to have is looked at when the op runs.
TEST_F(RowsTest, L7_over_a_query_that_is_not_ready)
{
    write(1, ramp(4));
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 2);
    ovstage_query_handle_t pending = client::query(stage, {{"points", OVSTAGE_FILTER_OP_HAS, {}}});
    ovstage_query_handle_t nobody = client::query(stage, {{"nothing", OVSTAGE_FILTER_OP_HAS, {}}});
    Payload two(Values{20, 30}, 2), four(ramp(4, 40), 4);
    ovstage_write_data_t leading = two.data; // of three rows
    leading.count = 2;
    refused(write_rows(stage, pending, attribute, 2, {0}, two.data),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    ovstage_enqueue_result_t good = write_rows(stage, pending, attribute, 2, {3, 1}, two.data),
                             outside = write_rows(stage, pending, attribute, 2, {0, 4}, two.data),
                             none = write_rows(stage, nobody, attribute, 2, {0, 1}, two.data),
                             behind = write_rows(stage, pending, attribute, 2, {0, 1, 9}, leading),
                             keys = write_mode(stage, pending, {stage.token("other")}, 2, four.data,
                                               FLYRAIL_WRITE_KEYS_EXIST),
                             prims = write_mode(stage, pending, {stage.token("other")}, 2,
                                                four.data, FLYRAIL_WRITE_PRIMS_EXIST);
    gate.let_go();
    stage.finish(held);
    stage.finish(good);
    std::string why = failed(stage, outside);
    EXPECT_NE(why.find("rows[1] = 4"), std::string::npos) << why;
    why = failed(stage, behind);
    EXPECT_NE(why.find("rows[2] = 9"), std::string::npos) << why;
    why = refused(write_rows(stage, pending, attribute, 3, {0, 1, 9}, leading),
                  OVSTAGE_ERROR_INVALID_ARGUMENT); // it is ready now
    EXPECT_NE(why.find("rows[2] = 9"), std::string::npos) << why;
    failed(stage, none);
    failed(stage, keys);
    stage.finish(prims);
    EXPECT_EQ(sealed(2), (Values{0, 30, 2, 20}));
    EXPECT_EQ(stage.read(query, stage.token("other"), 2), ramp(4, 40));
}

// Against what the same values by a query of the paths do, for queries that are bound, are not, lie
// in several segments, have keys without a place, or stand in another order.
TEST(Rows, as_a_write_of_the_same_paths)
{
    for (uint32_t workers : {0u, 1u, 4u}) {
        Stage stage(workers);
        constexpr uint32_t prims = 3000;
        std::mt19937 random(7);
        ovx_token_t x = stage.token("x"), y = stage.token("y");
        std::vector<std::string> paths;
        for (uint32_t p = 0; p < prims; p++)
            paths.push_back("/P/" + std::to_string(p));
        std::vector<std::string> turned(paths.rbegin(), paths.rend());
        ovstage_query_handle_t straight = stage.query(paths), backwards = stage.query(turned);
        for (uint64_t ordinal = 1; ordinal < 12; ordinal++) {
            uint32_t half = ordinal < 4 ? prims / 3 : prims; // the others have no place at first
            for (int write = 0; write < 5; write++) {
                bool turn = random() % 3 == 0;
                size_t count = write == 0 ? half : 1 + random() % (write == 1 ? 400 : 20);
                Positions at(count);
                for (auto &row : at)
                    row = static_cast<uint32_t>(random() % half);
                if (write == 0)
                    for (uint32_t k = 0; k < half; k++)
                        at[k] = k;
                else if (random() % 2)
                    std::sort(at.begin(), at.end());
                if (random() % 2)
                    at.erase(std::unique(at.begin(), at.end()), at.end());
                Values values = ramp(at.size(), static_cast<float>(random() % 10000));
                Payload payload(values, static_cast<int64_t>(at.size()));
                std::vector<std::string> named_paths;
                for (uint32_t row : at)
                    named_paths.push_back(turn ? turned[row] : paths[row]);
                ovstage_query_handle_t same = stage.query(named_paths);
                ovstage_enqueue_result_t first =
                    write_rows(stage, turn ? backwards : straight, x, ordinal, at, payload.data);
                ovstage_enqueue_result_t second = stage.write(same, y, ordinal, values);
                stage.finish(first);
                stage.finish(second);
                stage.finish(ovstage_release_query(stage.instance, same));
            }
            if (ordinal % 3 != 0) { // else the next ordinal finds this one open
                stage.finish(stage.seal(ordinal));
                ASSERT_EQ(stage.read(straight, x, ordinal), stage.read(straight, y, ordinal));
            }
        }
    }
}

// --- what must be there --------------------------------------------------------------------------

class DemandTest : public MapTest
{
  protected:
    ovx_token_t other = stage.token("other");
    ovstage_query_handle_t more = stage.query({"/P/1", "/Q", "/P/2"});
    Payload three{ramp(3, 50), 3};
    Payload four{ramp(4, 70), 4};
};

TEST_F(DemandTest, prims_that_do_not_exist)
{
    std::string why =
        refused(write_mode(stage, query, {attribute}, 1, four.data, FLYRAIL_WRITE_PRIMS_EXIST),
                OVSTAGE_ERROR_PRIM_NOT_FOUND);
    EXPECT_NE(why.find("/P/0"), std::string::npos) << why;
    write(1, ramp(4));
    stage.finish(write_mode(stage, query, {other}, 1, four.data, FLYRAIL_WRITE_PRIMS_EXIST));
    why = refused(write_mode(stage, more, {attribute}, 1, three.data, FLYRAIL_WRITE_PRIMS_EXIST),
                  OVSTAGE_ERROR_PRIM_NOT_FOUND);
    EXPECT_NE(why.find("/Q"), std::string::npos) << why;
    EXPECT_EQ(sealed(1), ramp(4)); // nothing was written
    EXPECT_EQ(stage.read(query, other, 1), ramp(4, 70));
    EXPECT_EQ(stage.statistics().prims, 4u);
}

TEST_F(DemandTest, keys_that_are_not_there)
{
    write(1, ramp(4));
    std::string why = refused(
        write_mode(stage, query, {attribute, other}, 2, four.data, FLYRAIL_WRITE_KEYS_EXIST),
        OVSTAGE_ERROR_NOT_FOUND);
    EXPECT_NE(why.find("other"), std::string::npos) << why;
    EXPECT_NE(why.find("/P/0"), std::string::npos) << why;
    refused(write_mode(stage, more, {attribute}, 2, three.data, FLYRAIL_WRITE_KEYS_EXIST),
            OVSTAGE_ERROR_NOT_FOUND);
    stage.finish(write_mode(stage, query, {attribute}, 2, four.data, FLYRAIL_WRITE_KEYS_EXIST));
    EXPECT_EQ(sealed(2), ramp(4, 70));
    ovx_string_or_token_t name = named(attribute);
    stage.finish(ovstage_delete_attributes(stage.instance, stage.query({"/P/2"}), &name, 1, 3));
    why = refused(write_mode(stage, query, {attribute}, 4, four.data, FLYRAIL_WRITE_KEYS_EXIST),
                  OVSTAGE_ERROR_NOT_FOUND);
    EXPECT_NE(why.find("/P/2"), std::string::npos) << why;
    // Of a prim without any other attribute nothing is left.
    refused(write_mode(stage, query, {other}, 4, four.data, FLYRAIL_WRITE_PRIMS_EXIST),
            OVSTAGE_ERROR_PRIM_NOT_FOUND);
}

TEST_F(DemandTest, only_what_is_addressed)
{
    write(1, ramp(4));
    uint64_t mask = 5; // /P/1 and /P/2
    three.data.mask = &mask;
    three.data.count = 3;
    stage.finish(write_mode(stage, more, {attribute}, 2, three.data, FLYRAIL_WRITE_KEYS_EXIST));
    stage.finish(write_mode(stage, more, {other}, 2, three.data, FLYRAIL_WRITE_PRIMS_EXIST));
    Payload two(Values{1, 2}, 2);
    stage.finish(write_rows(stage, more, attribute, 2, {2, 0}, two.data, FLYRAIL_WRITE_KEYS_EXIST));
    refused(write_rows(stage, more, attribute, 2, {2, 1}, two.data, FLYRAIL_WRITE_PRIMS_EXIST),
            OVSTAGE_ERROR_PRIM_NOT_FOUND);
    refused(write_rows(stage, more, attribute, 2, {2, 1}, two.data, FLYRAIL_WRITE_INSERT),
            OVSTAGE_ERROR_PRIM_NOT_FOUND);
    EXPECT_EQ(sealed(2), (Values{0, 2, 1, 3}));
}

TEST_F(DemandTest, by_ordinal)
{
    write(5, ramp(4));
    refused(write_mode(stage, query, {attribute}, 4, four.data, FLYRAIL_WRITE_PRIMS_EXIST),
            OVSTAGE_ERROR_PRIM_NOT_FOUND);
    refused(write_mode(stage, query, {attribute}, 4, four.data, FLYRAIL_WRITE_KEYS_EXIST),
            OVSTAGE_ERROR_NOT_FOUND);
    stage.finish(write_mode(stage, query, {attribute}, 5, four.data, FLYRAIL_WRITE_KEYS_EXIST));
    EXPECT_EQ(sealed(5), ramp(4, 70));
}

// L3: by what was accepted before, though it is pending; not by what comes later.
TEST_F(DemandTest, L3_by_what_was_accepted_before)
{
    for (flyrail_write_mode_t mode : {FLYRAIL_WRITE_PRIMS_EXIST, FLYRAIL_WRITE_KEYS_EXIST}) {
        bool keys = mode == FLYRAIL_WRITE_KEYS_EXIST;
        uint64_t at = keys ? 20 : 1;
        ovstage_query_handle_t fresh = stage.query({keys ? "/K" : "/A"});
        Payload one(Values{1}, 1), again(Values{2}, 1);
        Gate gate;
        ovstage_enqueue_result_t held = gate.submit(stage, at);
        ovstage_enqueue_result_t early = write_mode(stage, fresh, {attribute}, at, one.data, mode);
        ovstage_enqueue_result_t made = client::write(stage, fresh, attribute, at, one.data);
        ovstage_enqueue_result_t late =
            write_mode(stage, fresh, {attribute}, at + 1, again.data, mode);
        ovx_string_or_token_t name = named(attribute);
        ovstage_enqueue_result_t gone =
            ovstage_delete_attributes(stage.instance, fresh, &name, 1, at + 2);
        ovstage_enqueue_result_t after =
            write_mode(stage, fresh, {attribute}, at + 3, again.data, mode);
        // A prim that a pending delete takes away may be inserted.
        ovstage_enqueue_result_t inserted =
            write_mode(stage, fresh, {attribute}, at + 4, one.data, FLYRAIL_WRITE_INSERT);
        gate.let_go();
        EXPECT_NE(failed(stage, early).find(keys ? "/K" : "/A"), std::string::npos);
        stage.finish(held);
        stage.finish(made);
        stage.finish(late);
        stage.finish(gone);
        failed(stage, after);
        stage.finish(inserted);
        stage.finish(stage.seal(at + 4));
        EXPECT_EQ(stage.read(fresh, attribute, at + 1), (Values{2}));
        EXPECT_EQ(stage.read(fresh, attribute, at + 4), (Values{1}));
    }
}

TEST_F(DemandTest, L3_an_insert_sees_a_delete_that_is_pending)
{
    write(1, ramp(4));
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 2);
    ovstage_enqueue_result_t gone = ovstage_delete_attributes(stage.instance, query, nullptr, 0, 2);
    Values fresh = ramp(4, 9);
    ovstage_enqueue_result_t made =
        stage.write(query, attribute, 3, fresh, OVSTAGE_PRIM_MODE_INSERT);
    const auto inserts =
        description(attribute, f32(), OVSTAGE_SEMANTIC_NONE, OVSTAGE_PRIM_MODE_INSERT);
    Map map(stage, query, inserts, 2);
    gate.let_go();
    stage.finish(held);
    stage.finish(gone);
    stage.finish(made);
    stage.finish(map.opened);
    stage.finish(map.unmap());
    EXPECT_EQ(sealed(3), fresh);
}

TEST(Demands, memory_that_runs_out)
{
    for (uint64_t k = 1;; k++) {
        fr_test_heap *heap = fr_test_heap_create();
        const fr_allocator *allocator = fr_test_heap_allocator(heap);
        flyrail_config_t made = config(0);
        made.allocator.allocate = allocator->allocate;
        made.allocator.release = allocator->release;
        made.allocator.user = allocator->user;
        bool reached;
        {
            Stage stage(made);
            ovstage_query_handle_t query = stage.query(300);
            ovx_token_t attribute = stage.token("x");
            Values values = ramp(300), some = ramp(30, 1000);
            stage.finish(stage.write(query, attribute, 1, values));
            stage.finish(stage.seal(1));
            Payload payload(some, 30);
            Positions at(30);
            fr_test_heap_fail(heap, k, false);
            for (uint64_t ordinal = 2; ordinal < 6; ordinal++) {
                for (uint32_t r = 0; r < 30; r++)
                    at[r] = ordinal % 2 ? 10 * r : 299 - 9 * r;
                ovstage_enqueue_result_t result =
                    write_rows(stage, query, attribute, ordinal, at, payload.data,
                               ordinal > 3 ? FLYRAIL_WRITE_KEYS_EXIST : FLYRAIL_WRITE_UPSERT);
                bool done = result.status == OVSTAGE_OK;
                if (done) {
                    ovstage_op_wait_result_t outcome{};
                    EXPECT_EQ(ovstage_wait_op(stage.instance, result.op_index, forever, &outcome),
                              OVSTAGE_OK);
                    done = outcome.error_op_id_count == 0;
                    EXPECT_EQ(ovstage_release_op(stage.instance, result.op_index), OVSTAGE_OK);
                } else {
                    EXPECT_EQ(result.status, OVSTAGE_ERROR_OUT_OF_MEMORY) << last_error();
                }
                for (uint32_t r = 0; done && r < 30; r++)
                    values[at[r]] = some[r];
            }
            reached = fr_test_heap_calls(heap) >= k;
            fr_test_heap_fail(heap, 0, false);
            stage.finish(stage.seal(6));
            EXPECT_EQ(stage.read(query, attribute, 6), values) << k;
        }
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
        if (!reached) {
            EXPECT_GT(k, 8u);
            return;
        }
    }
}

} // namespace
