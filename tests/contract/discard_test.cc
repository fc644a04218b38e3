// flyrail_discard: an open ordinal taken back.
#include <random>
#include <thread>

#include "tests/support/arrays.h"
#include "tests/support/filters.h"
#include "tests/support/heap.h"
#include "tests/support/maps.h"

using namespace client;

namespace
{

class DiscardTest : public MapTest
{
  protected:
    void discard(uint64_t ordinal)
    {
        stage.finish(flyrail_discard(stage.instance, ordinal));
    }
    void erase(ovstage_query_handle_t of, uint64_t ordinal)
    {
        ovx_string_or_token_t name = named(attribute);
        stage.finish(ovstage_delete_attributes(stage.instance, of, &name, 1, ordinal));
    }
    ovstage_enqueue_result_t write_existing(ovstage_query_handle_t of, uint64_t ordinal,
                                            const Values &values)
    {
        existing = std::make_unique<Payload>(values, static_cast<int64_t>(values.size()));
        ovstage_attribute_write_t one{named(attribute), existing->data};
        return flyrail_write_attributes(stage.instance, of, &one, 1, ordinal,
                                        FLYRAIL_WRITE_KEYS_EXIST);
    }
    std::unique_ptr<Payload> existing;
    ovstage_enqueue_result_t insert(ovstage_query_handle_t of, uint64_t ordinal,
                                    const Values &values)
    {
        return stage.write(of, attribute, ordinal, values, OVSTAGE_PRIM_MODE_INSERT);
    }
};

TEST_F(DiscardTest, what_was_written_is_gone)
{
    write(1, ramp(4));
    stage.finish(stage.seal(1));
    ovstage_query_handle_t some = stage.query({"/P/2", "/Q"}), fresh = stage.query({"/R"});
    Values two{20, 30}, one{40};
    stage.finish(stage.write(some, attribute, 5, two));
    stage.finish(stage.write(fresh, attribute, 5, one));
    write(6, ramp(4, 60));
    discard(5);
    EXPECT_EQ(sealed(5), ramp(4));
    EXPECT_EQ(stage.read(some, attribute, 5), (Values{2}));
    EXPECT_EQ(stage.read(fresh, attribute, 5), Values());
    EXPECT_EQ(sealed(6), ramp(4, 60));
    EXPECT_EQ(stage.statistics().pending_bytes, 0u);
    EXPECT_EQ(stage.statistics().versions_open, 0u);
}

TEST_F(DiscardTest, whole_columns_and_deletes_too)
{
    write(1, ramp(4));
    stage.finish(stage.seal(1));
    write(3, ramp(4, 30)); // all rows
    erase(stage.query({"/P/1"}), 3);
    stage.finish(ovstage_delete_attributes(stage.instance, stage.query({"/P/2"}), nullptr, 0, 3));
    discard(3);
    EXPECT_EQ(sealed(3), ramp(4));
    Snapshot changes(stage, query, {attribute}, ovstage_ordinal_range_t{2, 3, true});
    EXPECT_EQ(changes.status, OVSTAGE_OK);
    EXPECT_TRUE(changes.groups.empty());
}

TEST_F(DiscardTest, the_ordinal_may_be_written_anew)
{
    write(2, ramp(4));
    discard(2);
    discard(2);                   // nothing is left
    Payload wide(ramp(12), 4, 3); // with another schema
    stage.finish(client::write(stage, query, attribute, 2, wide.data));
    discard(2);
    Values values = ramp(4, 7);
    stage.finish(insert(query, 2, values)); // none of the prims is there
    std::string why = refused(insert(query, 2, values), OVSTAGE_ERROR_PRIM_NOT_FOUND);
    EXPECT_NE(why.find("/P/0"), std::string::npos) << why;
    EXPECT_EQ(sealed(2), values);
}

TEST_F(DiscardTest, who_else_made_a_prim_still_did)
{
    Values one{1};
    ovstage_query_handle_t prim = stage.query({"/A"});
    stage.finish(stage.write(prim, attribute, 5, one));
    stage.finish(stage.write(prim, attribute, 7, one)); // 5 made it, as far as that is written down
    discard(5);
    stage.finish(insert(prim, 5, one)); // it does not exist at 5
    discard(5);
    refused(insert(prim, 7, one), OVSTAGE_ERROR_PRIM_NOT_FOUND);
    stage.finish(stage.seal(6));
    EXPECT_EQ(find(stage, {{"points", OVSTAGE_FILTER_OP_HAS, {}}}),
              (std::vector<std::string>{"/A"}));
    discard(7);
    EXPECT_EQ(find(stage, {{"points", OVSTAGE_FILTER_OP_HAS, {}}}), std::vector<std::string>());
    stage.finish(insert(prim, 7, one));
}

// L3: by acceptance, whatever runs when.
TEST_F(DiscardTest, L3_ops_before_it_are_judged_by_what_it_takes_away)
{
    Values one{1}, again{2};
    ovstage_query_handle_t prim = stage.query({"/A"});
    stage.finish(stage.write(prim, attribute, 5, one));
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 8);
    ovstage_enqueue_result_t before = write_existing(prim, 8, again);
    ovstage_enqueue_result_t gone = flyrail_discard(stage.instance, 5);
    ovstage_enqueue_result_t after = insert(prim, 6, again);
    gate.wait_entered();
    EXPECT_EQ(flyrail_run(stage.instance, 0, nullptr), OVSTAGE_OK); // whatever can run
    EXPECT_EQ(flyrail_wait_all(stage.instance, &gone.op_index, 1, 0), OVSTAGE_ERROR_TIMEOUT);
    gate.let_go();
    stage.finish(held);
    stage.finish(before); // the prim was there
    stage.finish(gone);
    stage.finish(after); // and is not any more
    stage.finish(stage.seal(8));
    EXPECT_EQ(stage.read(prim, attribute, 5), Values());
    EXPECT_EQ(stage.read(prim, attribute, 6), again);
}

TEST_F(DiscardTest, pending_ops_of_the_ordinal_run_before_it)
{
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 3);
    Values first = ramp(4), two{5, 6};
    ovstage_enqueue_result_t before = stage.write(query, attribute, 3, first),
                             gone = flyrail_discard(stage.instance, 3),
                             after = stage.write(stage.query({"/P/0", "/P/1"}), attribute, 3, two),
                             seal = stage.seal(3);
    gate.let_go();
    for (const auto &op : {held, before, gone, after, seal})
        stage.finish(op);
    EXPECT_EQ(stage.read(query, attribute, 3), two);
}

TEST_F(DiscardTest, seals_of_lower_ordinals_do_not_wait_for_it)
{
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 9);
    write(2, ramp(4));
    ovstage_enqueue_result_t gone = flyrail_discard(stage.instance, 5); // behind the gate
    EXPECT_EQ(sealed(3), ramp(4));
    gate.let_go();
    stage.finish(held);
    stage.finish(gone);
}

TEST_F(DiscardTest, only_what_no_seal_covers)
{
    write(3, ramp(4));
    stage.finish(stage.seal(3));
    for (uint64_t ordinal : {0u, 1u, 3u}) {
        std::string why =
            refused(flyrail_discard(stage.instance, ordinal), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
        EXPECT_NE(why.find("floor 3"), std::string::npos) << why;
    }
    stage.finish(stage.seal(6, OVSTAGE_SCOPE_INCLUDE, {stage.token("other")}));
    refused(flyrail_discard(stage.instance, 6), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 7);
    ovstage_enqueue_result_t seal = stage.seal(8); // accepted, not run
    refused(flyrail_discard(stage.instance, 8), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    gate.let_go();
    stage.finish(held);
    stage.finish(seal);
    discard(9);
    discard(UINT64_MAX);
    EXPECT_EQ(flyrail_discard(nullptr, 10).status, OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(stage.read(query, attribute, 8), ramp(4));
}

TEST_F(DiscardTest, arrays_maps_and_groups_that_are_held)
{
    ovx_token_t arrays = stage.token("arrays");
    RowPayload<float> rows({{1}, {2, 2}, {}, {4}}, f32()), others({{5, 5}, {}, {6}, {}}, f32());
    stage.finish(client::write(stage, query, arrays, 1, rows.data));
    stage.finish(stage.seal(1));
    Snapshot held(stage, query, {arrays}, 1);
    Map map(stage, query, description(attribute), 2);
    map.fill(ramp(4, 5));
    stage.finish(client::write(stage, query, arrays, 2, others.data));
    EXPECT_GT(stage.statistics().pending_bytes, 16u);
    discard(2);
    EXPECT_EQ(stage.statistics().pending_bytes, 16u); // the map's
    stage.finish(map.unmap());
    stage.finish(stage.seal(2));
    Snapshot after(stage, query, {arrays}, 2);
    ASSERT_EQ(after.groups.size(), 1u);
    EXPECT_EQ(array_rows<float>(after.groups[0]), array_rows<float>(held.groups[0]));
    EXPECT_EQ(stage.read(query, attribute, 2), ramp(4, 5));
}

// A program with discards leaves behind what it does without what they take back, while seals of
// lower ordinals run.
TEST(Discards, as_if_it_had_never_been)
{
    for (uint32_t workers : {0u, 1u, 4u}) {
        Stage with(workers), without(workers);
        std::mt19937 random(workers + 3);
        ovx_token_t x = with.token("x");
        constexpr uint64_t last = 120;
        std::vector<std::string> paths;
        for (int p = 0; p < 60; p++)
            paths.push_back("/P/" + std::to_string(p));
        std::vector<Values> kept;
        kept.reserve(8 * last);
        for (uint64_t ordinal = 2; ordinal < last; ordinal++) {
            std::vector<ovstage_enqueue_result_t> ops, same;
            bool thrown = random() % 3 == 0;
            for (int round = 0; round < (thrown ? 2 : 1); round++) {
                bool stays = !thrown || round == 1;
                for (int write = 0; write < 3; write++) {
                    size_t first = random() % 50, count = 1 + random() % 10;
                    if (random() % 8 == 0)
                        first = 0, count = 60;
                    std::vector<std::string> names(
                        paths.begin() + static_cast<std::ptrdiff_t>(first),
                        paths.begin() + static_cast<std::ptrdiff_t>(first + count));
                    ovstage_query_handle_t a = with.query(names), b = without.query(names);
                    ovx_string_or_token_t name = named(x);
                    if (random() % 4 == 0) {
                        ops.push_back(
                            ovstage_delete_attributes(with.instance, a, &name, 1, ordinal));
                        if (stays)
                            same.push_back(
                                ovstage_delete_attributes(without.instance, b, &name, 1, ordinal));
                    } else {
                        kept.push_back(ramp(count, static_cast<float>(random() % 1000)));
                        ops.push_back(with.write(a, x, ordinal, kept.back()));
                        if (stays)
                            same.push_back(without.write(b, x, ordinal, kept.back()));
                    }
                    with.finish(ovstage_release_query(with.instance, a));
                    without.finish(ovstage_release_query(without.instance, b));
                }
                if (thrown && round == 0)
                    ops.push_back(flyrail_discard(with.instance, ordinal));
            }
            if (ordinal % 4 == 0) { // two ordinals stay open
                ops.push_back(with.seal(ordinal - 2));
                same.push_back(without.seal(ordinal - 2));
            }
            for (const auto &op : ops)
                with.finish(op);
            for (const auto &op : same)
                without.finish(op);
            if (ordinal % 4 == 0) {
                ovstage_query_handle_t a = with.query(paths), b = without.query(paths);
                ASSERT_EQ(with.read(a, x, ordinal - 2), without.read(b, x, ordinal - 2)) << ordinal;
            }
        }
        with.finish(with.seal(last));
        without.finish(without.seal(last));
        EXPECT_EQ(with.read(with.query(paths), x, last),
                  without.read(without.query(paths), x, last));
        EXPECT_EQ(with.statistics().pending_bytes, 0u);
    }
}

TEST(Discards, while_others_seal_and_read)
{
    Stage stage(4);
    ovstage_query_handle_t query = stage.query(200);
    ovx_token_t x = stage.token("x");
    Values base = ramp(200);
    stage.finish(stage.write(query, x, 1, base));
    stage.finish(stage.seal(1));
    constexpr uint64_t last = 300;
    std::atomic<bool> done{false};
    std::thread reader([&] {
        while (!done) {
            Snapshot snapshot(stage, query, {x}, 1000000); // by what has run: refused, or whole
            if (snapshot.status != OVSTAGE_OK) {
                EXPECT_EQ(snapshot.status, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION) << last_error();
            }
        }
    });
    std::thread sealer([&] {
        for (uint64_t ordinal = 2; ordinal < last; ordinal++) {
            Values some = ramp(200, static_cast<float>(ordinal));
            stage.finish(stage.write(query, x, ordinal, some));
            stage.finish(stage.seal(ordinal));
        }
    });
    Values thrown = ramp(200, 5000);
    ovstage_query_handle_t part = stage.query({"/P/3", "/P/150", "/Q/1"});
    Values three{7, 8, 9};
    for (uint64_t ordinal = 1000; ordinal < 1000 + last; ordinal++) {
        ovstage_enqueue_result_t a = stage.write(query, x, ordinal, thrown),
                                 b = stage.write(part, x, ordinal, three),
                                 c = flyrail_discard(stage.instance, ordinal);
        stage.finish(a);
        stage.finish(b);
        stage.finish(c);
    }
    sealer.join();
    done = true;
    reader.join();
    EXPECT_EQ(stage.read(query, x, last - 1), ramp(200, static_cast<float>(last - 1)));
    EXPECT_EQ(stage.statistics().pending_bytes, 0u);
}

TEST(Discards, memory_that_runs_out)
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
            ovstage_query_handle_t query = stage.query(30), fresh = stage.query({"/Q", "/P/2"});
            ovx_token_t x = stage.token("x");
            Values base = ramp(30), other = ramp(30, 100), two{7, 8};
            stage.finish(stage.write(query, x, 1, base));
            stage.finish(stage.seal(1));
            stage.finish(stage.write(query, x, 3, other));
            stage.finish(stage.write(fresh, x, 3, two));
            other[2] = 8;
            fr_test_heap_fail(heap, k, false);
            ovstage_enqueue_result_t result = flyrail_discard(stage.instance, 3);
            bool gone = result.status == OVSTAGE_OK;
            if (gone) {
                ovstage_op_wait_result_t outcome{};
                EXPECT_EQ(ovstage_wait_op(stage.instance, result.op_index, forever, &outcome),
                          OVSTAGE_OK);
                gone = outcome.error_op_id_count == 0;
            } else {
                EXPECT_EQ(result.status, OVSTAGE_ERROR_OUT_OF_MEMORY) << last_error();
            }
            reached = fr_test_heap_calls(heap) >= k;
            fr_test_heap_fail(heap, 0, false);
            EXPECT_EQ(gone, !reached) << k;
            stage.finish(stage.seal(3));
            EXPECT_EQ(stage.read(query, x, 3), gone ? base : other) << k;
            EXPECT_EQ(stage.statistics().pending_bytes, 0u);
        }
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
        if (!reached)
            return;
    }
}

} // namespace
