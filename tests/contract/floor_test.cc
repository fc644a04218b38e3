// Write floors: R31 to R33, R36 to R42, D1, D2, D15 and the waits for them.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/bounded.h"
#include "tests/support/columns.h"
#include "tests/support/looks.h"

namespace
{

using namespace client;

struct Floor : testing::TestWithParam<uint32_t> {
    Floor() : stage(GetParam())
    {
    }
    // Makes attributes known by an accepted op.
    void know(const std::vector<ovx_token_t> &attributes)
    {
        stage.finish(stage.seal(0, OVSTAGE_SCOPE_INCLUDE, attributes));
    }
    void include(uint64_t ordinal, const std::vector<ovx_token_t> &attributes)
    {
        stage.finish(stage.seal(ordinal, OVSTAGE_SCOPE_INCLUDE, attributes));
    }
    void exclude(uint64_t ordinal, const std::vector<ovx_token_t> &attributes)
    {
        stage.finish(stage.seal(ordinal, OVSTAGE_SCOPE_EXCLUDE, attributes));
    }
    Stage stage;
};

INSTANTIATE_TEST_SUITE_P(Workers, Floor, testing::Values(0u, 2u));

TEST_P(Floor, R32_every_floor_starts_at_0)
{
    EXPECT_EQ(stage.floor(), 0u);
    EXPECT_EQ(stage.floor(stage.token("x")), 0u);
}

TEST_P(Floor, R31_any_ordinal)
{
    for (uint64_t ordinal : {UINT64_C(1), UINT64_C(77), UINT64_MAX - 1, UINT64_MAX}) {
        stage.finish(stage.seal(ordinal));
        EXPECT_EQ(stage.floor(), ordinal);
    }
}

TEST_P(Floor, R33_ordinal_0_is_never_writable)
{
    flyrail_task_desc_t desc;
    std::memset(&desc, 0, sizeof(desc));
    desc.struct_size = sizeof(desc);
    desc.ordered = true;
    EXPECT_EQ(flyrail_submit_task(stage.instance, &desc).status,
              OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_NE(last_error().find("0"), std::string::npos) << last_error();
    desc.ordinal = 1;
    stage.finish(flyrail_submit_task(stage.instance, &desc));
}

TEST_P(Floor, R37_scope_all)
{
    ovx_token_t x = stage.token("x"), y = stage.token("y");
    know({x});
    stage.finish(stage.seal(4));
    EXPECT_EQ(stage.floor(), 4u);
    EXPECT_EQ(stage.floor(x), 4u);
    EXPECT_EQ(stage.floor(y), 4u) << "D1: first known later: base";
}

TEST_P(Floor, R37_scope_include)
{
    ovx_token_t x = stage.token("x"), y = stage.token("y"), z = stage.token("z");
    know({x, y, z});
    include(5, {x, y});
    EXPECT_EQ(stage.floor(x), 5u);
    EXPECT_EQ(stage.floor(y), 5u);
    EXPECT_EQ(stage.floor(z), 0u);
    EXPECT_EQ(stage.floor(), 0u);
    include(7, {z, z, z}); // D1: duplicates are harmless
    EXPECT_EQ(stage.floor(), 5u);
    stage.finish(stage.seal(9, OVSTAGE_SCOPE_INCLUDE, {}));
    EXPECT_EQ(stage.floor(), 5u);
}

TEST_P(Floor, R37_scope_exclude)
{
    ovx_token_t x = stage.token("x"), y = stage.token("y"), z = stage.token("z");
    know({x, y});
    exclude(5, {y});
    EXPECT_EQ(stage.floor(x), 5u);
    EXPECT_EQ(stage.floor(y), 0u);
    EXPECT_EQ(stage.floor(z), 0u) << "D1: not known then, and base is not raised";
    know({z});
    EXPECT_EQ(stage.floor(z), 0u);
    exclude(6, {});
    for (ovx_token_t token : {x, y, z})
        EXPECT_EQ(stage.floor(token), 6u) << "D1: nothing named: like ALL";
    exclude(8, {x, stage.token("never named by an op")});
    EXPECT_EQ(stage.floor(x), 6u);
    EXPECT_EQ(stage.floor(y), 8u);
    EXPECT_EQ(stage.floor(stage.token("never named by an op")), 6u);
}

TEST_P(Floor, R38_floors_only_rise)
{
    ovx_token_t x = stage.token("x");
    stage.finish(stage.seal(10));
    stage.finish(stage.seal(10));
    stage.finish(stage.seal(3));
    include(9, {x});
    exclude(2, {x});
    EXPECT_EQ(stage.floor(), 10u);
    EXPECT_EQ(stage.floor(x), 10u);
}

TEST_P(Floor, R40_the_global_floor_is_the_least_of_known_attributes)
{
    ovx_token_t x = stage.token("x"), y = stage.token("y"), z = stage.token("z");
    include(5, {x});
    EXPECT_EQ(stage.floor(), 5u);
    include(8, {y});
    EXPECT_EQ(stage.floor(), 5u);
    include(9, {x});
    EXPECT_EQ(stage.floor(), 8u);
    know({z}); // D1: it can fall
    EXPECT_EQ(stage.floor(), 0u);
    stage.finish(stage.seal(8));
    EXPECT_EQ(stage.floor(), 8u);
    EXPECT_EQ(stage.floor(x), 9u);
}

TEST_P(Floor, R40_by_name)
{
    ovx_token_t x = stage.token("x");
    include(5, {x});
    ovstage_ordinal_query_handle_t handle = 0;
    ovx_string_or_token_t name{0, literal_to_ovx_string("x")};
    stage.finish(ovstage_get_attribute_write_floor(stage.instance, name, &handle));
    uint64_t ordinal = 0;
    EXPECT_EQ(ovstage_fetch_ordinal(stage.instance, handle, 0, &ordinal), OVSTAGE_OK);
    EXPECT_EQ(ordinal, 5u);
    stage.finish(ovstage_release_ordinal_query(stage.instance, handle));
}

TEST_P(Floor, D1_bad_names)
{
    ovx_token_t x = stage.token("x");
    for (ovstage_scope_t scope : {OVSTAGE_SCOPE_INCLUDE, OVSTAGE_SCOPE_EXCLUDE}) {
        for (ovx_token_t bad : {ovx_token_t{0}, x + 1000000, UINT64_MAX}) {
            ovstage_enqueue_result_t result = stage.seal(3, scope, {x, bad});
            EXPECT_EQ(result.status, OVSTAGE_ERROR_INVALID_ARGUMENT) << bad;
            EXPECT_EQ(result.op_index, 0u);
            EXPECT_NE(last_error(), "");
        }
        ovstage_write_floor_desc_t desc{3, scope, nullptr, 2};
        EXPECT_EQ(ovstage_advance_write_floor(stage.instance, &desc).status,
                  OVSTAGE_ERROR_INVALID_ARGUMENT);
    }
    ovstage_write_floor_desc_t desc{3, static_cast<ovstage_scope_t>(3), nullptr, 0};
    EXPECT_EQ(ovstage_advance_write_floor(stage.instance, &desc).status,
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(stage.floor(x), 0u);
    EXPECT_EQ(stage.floor(), 0u);

    ovstage_ordinal_query_handle_t handle = 1;
    for (ovx_string_or_token_t name :
         {ovx_string_or_token_t{x + 1000000, {}}, ovx_string_or_token_t{0, {nullptr, 4}},
          ovx_string_or_token_t{0, {"a\0b", 3}}}) {
        EXPECT_EQ(ovstage_get_attribute_write_floor(stage.instance, name, &handle).status,
                  OVSTAGE_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(handle, 0u);
    }
    EXPECT_EQ(ovstage_get_attribute_write_floor(stage.instance, {}, nullptr).status,
              OVSTAGE_ERROR_INVALID_ARGUMENT);
}

TEST_P(Floor, D19_an_alias_is_the_same_attribute)
{
    ovx_token_t xform = stage.token("omni:xform"), local = stage.token("omni:fabric:localMatrix");
    include(5, {xform});
    EXPECT_EQ(stage.floor(local), 5u);
    include(7, {local});
    EXPECT_EQ(stage.floor(xform), 7u);
    exclude(9, {xform});
    EXPECT_EQ(stage.floor(local), 7u);
    EXPECT_EQ(stage.floor(), 7u);
}

TEST_P(Floor, D2_a_seal_counts_from_its_acceptance)
{
    ovstage_enqueue_result_t seal = stage.seal(5);
    EXPECT_EQ(task(stage, 5, nullptr, nullptr).status, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(task(stage, 4, nullptr, nullptr).status, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_NE(last_error().find("5"), std::string::npos) << last_error();
    stage.finish(task(stage, 6, nullptr, nullptr));
    stage.finish(seal);
}

TEST_P(Floor, R41_D15_ordinal_queries)
{
    ovstage_ordinal_query_handle_t handle = 0;
    ovstage_enqueue_result_t result =
        ovstage_get_attribute_write_floor(stage.instance, {}, &handle);
    ASSERT_EQ(result.status, OVSTAGE_OK);
    EXPECT_NE(handle, 0u);
    uint64_t ordinal = 1;
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(ovstage_fetch_ordinal(stage.instance, handle, forever, &ordinal), OVSTAGE_OK);
        EXPECT_EQ(ordinal, 0u);
    }
    EXPECT_EQ(ovstage_fetch_ordinal(stage.instance, handle, forever, nullptr),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    stage.finish(ovstage_release_ordinal_query(stage.instance, handle));
    EXPECT_EQ(ovstage_release_ordinal_query(stage.instance, handle).status,
              OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(ovstage_fetch_ordinal(stage.instance, handle, 0, &ordinal),
              OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(ovstage_fetch_ordinal(stage.instance, 0, 0, &ordinal), OVSTAGE_ERROR_INVALID_HANDLE);
    ovstage_query_handle_t query = stage.query(1);
    EXPECT_EQ(ovstage_fetch_ordinal(stage.instance, query, 0, &ordinal),
              OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_NE(last_error().find("kind"), std::string::npos) << last_error();
    stage.finish(ovstage_release_query(stage.instance, query));
}

TEST_P(Floor, R42_oldest_preserved_ordinal)
{
    ovstage_ordinal_query_handle_t handle = 0;
    stage.finish(ovstage_get_oldest_preserved_ordinal(stage.instance, &handle));
    uint64_t ordinal = 9;
    EXPECT_EQ(ovstage_fetch_ordinal(stage.instance, handle, forever, &ordinal), OVSTAGE_OK);
    EXPECT_EQ(ordinal, 0u) << "L6: nothing was merged";
    stage.finish(ovstage_release_ordinal_query(stage.instance, handle));
    EXPECT_EQ(ovstage_get_oldest_preserved_ordinal(stage.instance, nullptr).status,
              OVSTAGE_ERROR_INVALID_ARGUMENT);
}

TEST_P(Floor, wait_floor)
{
    ovx_token_t x = stage.token("x");
    EXPECT_EQ(flyrail_wait_floor(stage.instance, 0, 0, 0), OVSTAGE_OK);
    EXPECT_EQ(flyrail_wait_floor(stage.instance, 0, 4, 0), OVSTAGE_ERROR_TIMEOUT);
    EXPECT_EQ(flyrail_wait_floor(stage.instance, 0, 4, 1000), OVSTAGE_ERROR_TIMEOUT);
    ASSERT_EQ(stage.seal(4).status, OVSTAGE_OK);
    EXPECT_EQ(flyrail_wait_floor(stage.instance, 0, 4, forever), OVSTAGE_OK);
    ASSERT_EQ(stage.seal(6, OVSTAGE_SCOPE_INCLUDE, {x}).status, OVSTAGE_OK);
    EXPECT_EQ(flyrail_wait_floor(stage.instance, x, 6, forever), OVSTAGE_OK);
    EXPECT_EQ(flyrail_wait_floor(stage.instance, x, 7, 0), OVSTAGE_ERROR_TIMEOUT);
    EXPECT_EQ(flyrail_wait_floor(stage.instance, x + 1000000, 1, 0),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
}

// Who waits for the global floor looks for the attribute that holds it back: it is found again
// where it was, and the next one is not far.
TEST_P(Floor, wait_floor_beside_many_attributes_looks_at_few)
{
    const size_t count = 2000, slow = 1500, turns = 100;
    std::vector<ovx_token_t> tokens;
    for (size_t k = 0; k < count; k++)
        tokens.push_back(stage.token("a" + std::to_string(k)));
    include(1, tokens);
    exclude(9, {tokens[slow], tokens[slow + 1]});
    EXPECT_EQ(flyrail_wait_floor(stage.instance, 0, 9, 0), OVSTAGE_ERROR_TIMEOUT);
    const uint64_t before = fr_test_looks();
    for (size_t turn = 0; turn < turns; turn++)
        EXPECT_EQ(flyrail_wait_floor(stage.instance, 0, 9, 0), OVSTAGE_ERROR_TIMEOUT);
    include(9, {tokens[slow]});
    for (size_t turn = 0; turn < turns; turn++)
        EXPECT_EQ(flyrail_wait_floor(stage.instance, 0, 9, 0), OVSTAGE_ERROR_TIMEOUT);
    EXPECT_LE(fr_test_looks() - before, 16 * turns);
    // One that comes before it.
    EXPECT_EQ(flyrail_wait_floor(stage.instance, 0, 10, 0), OVSTAGE_ERROR_TIMEOUT);
    exclude(11, {tokens[3]});
    EXPECT_EQ(flyrail_wait_floor(stage.instance, 0, 10, 0), OVSTAGE_ERROR_TIMEOUT);
    ASSERT_EQ(stage.seal(11, OVSTAGE_SCOPE_INCLUDE, {tokens[3]}).status, OVSTAGE_OK);
    EXPECT_EQ(flyrail_wait_floor(stage.instance, 0, 11, forever), OVSTAGE_OK);
}

// Far ahead of what is sealed: each read finds the seal that it waits for among very many that are
// pending, by what it needs.
TEST(FloorOrder, reads_behind_many_pending_seals_look_at_few)
{
    Stage stage(0);
    const uint64_t count = 1000;
    ovx_token_t value = stage.token("value"), other = stage.token("other");
    ovstage_query_handle_t query = stage.query(1);
    std::vector<ovstage_enqueue_result_t> ops;
    std::vector<std::vector<float>> values;
    for (uint64_t k = 1; k <= count; k++)
        values.push_back({static_cast<float>(k)});
    for (uint64_t k = 1; k <= count; k++) {
        ops.push_back(stage.write(query, value, k, values[k - 1]));
        ops.push_back(k % 2 ? stage.seal(k)
                            : stage.seal(k, OVSTAGE_SCOPE_INCLUDE, {k % 4 ? value : other}));
    }
    const uint64_t before = fr_test_looks();
    std::vector<ovstage_read_handle_t> reads(count + 1);
    for (uint64_t k = 1; k <= count - 2; k++)
        ops.push_back(ovstage_read_attributes(stage.instance, query, &value, 1,
                                              ovstage_ordinal_range_t{0, k, false}, &reads[k]));
    EXPECT_LE(fr_test_looks() - before, 200 * count);
    for (const auto &op : ops)
        stage.finish(op);
    for (uint64_t k = 1; k <= count - 2; k++) {
        ovstage_read_group_t group;
        ASSERT_EQ(ovstage_fetch_read_next(stage.instance, reads[k], forever, &group), OVSTAGE_OK);
        EXPECT_EQ(*static_cast<const float *>(group.data.tensors[0].data), static_cast<float>(k));
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        stage.finish(ovstage_release_read(stage.instance, reads[k]));
    }
    stage.finish(ovstage_release_query(stage.instance, query));
}

TEST_P(Floor, many_attributes_grow_the_records_of_pending_advances)
{
    // Pending scoped advances own records that become too small as more attributes are sealed by
    // themselves.
    std::vector<ovx_token_t> tokens;
    std::vector<ovstage_enqueue_result_t> seals;
    for (int i = 0; i < 70; i++) {
        tokens.push_back(stage.token("a" + std::to_string(i)));
        seals.push_back(stage.seal(static_cast<uint64_t>(i) + 1, OVSTAGE_SCOPE_INCLUDE, tokens));
        if (i % 10 == 0)
            seals.push_back(stage.seal(static_cast<uint64_t>(i) / 2));
    }
    for (const auto &seal : seals)
        stage.finish(seal);
    for (ovx_token_t token : tokens)
        EXPECT_EQ(stage.floor(token), 70u);
    EXPECT_EQ(stage.floor(), 70u);
}

// --- what waits for what -------------------------------------------------------------------------

bool pending(const Stage &stage, const ovstage_enqueue_result_t &op)
{
    EXPECT_EQ(op.status, OVSTAGE_OK) << last_error();
    return ovstage_wait_op(stage.instance, op.op_index, 0, nullptr) == OVSTAGE_ERROR_TIMEOUT;
}

TEST(FloorOrder, R36_an_advance_waits_for_what_is_at_or_below_it)
{
    Stage stage(3);
    Gate low, high;
    low.submit(stage, 4);
    high.submit(stage, 6);
    ovstage_enqueue_result_t below = stage.seal(3), at = stage.seal(4);
    stage.finish(below); // the gates are above it
    EXPECT_EQ(stage.floor(), 3u);
    EXPECT_TRUE(pending(stage, at));
    low.let_go();
    stage.finish(at); // the higher gate does not hold it
    EXPECT_EQ(stage.floor(), 4u);
    ovstage_enqueue_result_t all = stage.seal(9);
    EXPECT_TRUE(pending(stage, all));
    EXPECT_EQ(stage.floor(), 4u);
    high.let_go();
    stage.finish(all);
    EXPECT_EQ(stage.floor(), 9u);
}

TEST(FloorOrder, R36_what_is_accepted_later_does_not_hold_it)
{
    Stage stage(2);
    ovstage_enqueue_result_t seal = stage.seal(4);
    Gate gate;
    gate.submit(stage, 5);
    stage.finish(seal);
    EXPECT_EQ(stage.floor(), 4u);
}

TEST(FloorOrder, D2_an_advance_that_raises_nothing_waits_for_those_that_cover_it)
{
    Stage stage(2);
    ovx_token_t x = stage.token("x");
    Gate gate;
    gate.submit(stage, 50);
    stage.finish(stage.seal(10));
    ovstage_enqueue_result_t covering = stage.seal(100);
    EXPECT_TRUE(pending(stage, covering));
    ovstage_enqueue_result_t covered = stage.seal(20);
    ovstage_enqueue_result_t scoped = stage.seal(20, OVSTAGE_SCOPE_INCLUDE, {x});
    EXPECT_TRUE(pending(stage, covered));
    EXPECT_TRUE(pending(stage, scoped));
    gate.let_go();
    stage.finish(covered);
    EXPECT_EQ(stage.floor(), 100u);
    stage.finish(covering);
    stage.finish(scoped);
}

TEST(FloorOrder, scoped_advances_of_other_attributes_do_not_wait_for_each_other)
{
    Stage stage(2);
    ovx_token_t x = stage.token("x"), y = stage.token("y");
    Gate gate;
    gate.submit(stage, 50); // like a write of everything
    ovstage_enqueue_result_t high = stage.seal(60, OVSTAGE_SCOPE_INCLUDE, {x});
    EXPECT_TRUE(pending(stage, high));
    // R36: what is above it does not delay it, an advance neither.
    stage.finish(stage.seal(40, OVSTAGE_SCOPE_INCLUDE, {y}));
    EXPECT_EQ(stage.floor(y), 40u);
    stage.finish(stage.seal(5));
    EXPECT_EQ(stage.floor(), 5u);
    gate.let_go();
    stage.finish(high);
    EXPECT_EQ(stage.floor(x), 60u);
}

TEST(FloorOrder, wait_floor_is_woken)
{
    Stage stage(2);
    Gate gate;
    gate.submit(stage, 4);
    ovstage_enqueue_result_t seal = stage.seal(4);
    std::atomic<bool> begun{false};
    std::thread waiter([&] {
        begun = true;
        EXPECT_EQ(flyrail_wait_floor(stage.instance, 0, 4, forever), OVSTAGE_OK);
        EXPECT_EQ(stage.floor(), 4u);
    });
    while (!begun)
        std::this_thread::yield();
    gate.let_go();
    waiter.join();
    stage.finish(seal);
}

TEST(FloorOrder, many_threads_seal_at_once)
{
    Stage stage(2);
    std::vector<ovx_token_t> tokens;
    for (int i = 0; i < 6; i++)
        tokens.push_back(stage.token("a" + std::to_string(i)));
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; t++)
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            for (uint64_t i = 1; i <= 100; i++) {
                ovstage_enqueue_result_t seal;
                if (random() % 3 == 0) {
                    seal = stage.seal(i);
                } else {
                    std::vector<ovx_token_t> some;
                    for (ovx_token_t token : tokens)
                        if (random() % 2)
                            some.push_back(token);
                    seal = stage.seal(
                        i, random() % 2 ? OVSTAGE_SCOPE_INCLUDE : OVSTAGE_SCOPE_EXCLUDE, some);
                }
                ovstage_enqueue_result_t work = task(stage, 1000 + i, nullptr, nullptr);
                stage.finish(seal);
                stage.finish(work);
            }
            stage.finish(stage.seal(100));
        });
    uint64_t last = 0;
    for (int i = 0; i < 200;
         i++) { // SCOPE_ALL alone raises it for good; attributes are all known early
        uint64_t floor = stage.floor(tokens[0]);
        EXPECT_GE(floor, last);
        last = floor;
    }
    for (auto &thread : threads)
        thread.join();
    EXPECT_EQ(stage.floor(), 100u);
}

// The allocation of room for so many attributes, or one more, waits, once it is armed.
struct HeldRoom {
    static constexpr size_t attributes = 1001;
    std::atomic<bool> armed{false};
    Event entered, open;
    static void *allocate(size_t size_bytes, size_t alignment_bytes, void *user)
    {
        auto *self = static_cast<HeldRoom *>(user);
        const size_t count = size_bytes / sizeof(uint32_t);
        if (count >= attributes && count <= attributes + 1 && self->armed.exchange(false)) {
            self->entered.set();
            self->open.wait();
        }
        void *memory = nullptr;
        return posix_memalign(&memory, alignment_bytes, size_bytes) == 0 ? memory : nullptr;
    }
    static void release(void *memory, size_t, void *)
    {
        std::free(memory);
    }
};

// Its first write is accepted while the advance that leaves it out is on its way.
TEST(FloorOnItsWay, D1_an_excluded_attribute_may_become_known_meanwhile)
{
    HeldRoom room;
    flyrail_config_t made = config(1);
    made.allocator = {HeldRoom::allocate, HeldRoom::release, &room};
    Stage stage(made);
    const ovstage_query_handle_t query = stage.query(1);
    std::vector<ovx_token_t> known;
    for (size_t k = 0; k < HeldRoom::attributes; k++)
        known.push_back(stage.token("known" + std::to_string(k)));
    for (ovx_token_t token : known)
        stage.finish(stage.write(query, token, 9, {1}));
    const ovx_token_t excluded = stage.token("excluded");
    room.armed = true;
    std::thread advance([&] { stage.finish(stage.seal(5, OVSTAGE_SCOPE_EXCLUDE, {excluded})); });
    EXPECT_TRUE(room.entered.wait_for(hang_deadline));
    stage.finish(stage.write(query, excluded, 3, {2}));
    room.open.set();
    advance.join();
    EXPECT_EQ(stage.floor(excluded), 0u);
    EXPECT_EQ(stage.floor(known[0]), 5u);
    stage.finish(stage.write(query, excluded, 4, {3}));
}

} // namespace
