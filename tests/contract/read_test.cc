// Snapshot reads: contract 4.5 and L4, D4, one test a rule.
#include <cstdlib>
#include <functional>
#include <map>
#include <thread>

#include "tests/support/columns.h"
#include "tests/support/stuck.h"

using namespace client;

namespace
{

using Values = std::vector<float>;

class ReadTest : public ::testing::Test
{
  protected:
    Stage stage{2};
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t a = stage.token("a"), b = stage.token("b");
    Values one = ramp(3, 10), two = ramp(3, 20), three = ramp(3, 30);

    void write_sealed(ovx_token_t attribute, uint64_t ordinal, const Values &values)
    {
        stage.finish(stage.write(query, attribute, ordinal, values));
        stage.finish(stage.seal(ordinal));
    }
    ovstage_enqueue_result_t read(ovstage_query_handle_t of,
                                  const std::vector<ovx_token_t> &attributes,
                                  ovstage_ordinal_range_t range, ovstage_read_handle_t *out)
    {
        return ovstage_read_attributes(stage.instance, of, attributes.data(), attributes.size(),
                                       range, out);
    }
};

TEST_F(ReadTest, R56_reversed_ranges)
{
    ovstage_read_handle_t handle = 77;
    std::string why =
        refused(read(query, {a}, {5, 4, true}, &handle), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(why.find("5"), std::string::npos) << why;
    EXPECT_EQ(handle, 0u);
}

TEST_F(ReadTest, R57_L4_latest_at_or_below)
{
    write_sealed(a, 2, one);
    write_sealed(a, 4, two);
    EXPECT_TRUE(stage.read(query, a, 0).empty());
    EXPECT_TRUE(stage.read(query, a, 1).empty());
    EXPECT_EQ(stage.read(query, a, 2), one);
    EXPECT_EQ(stage.read(query, a, 3), one);
    EXPECT_EQ(stage.read(query, a, 4), two);
    EXPECT_EQ(stage.read(query, a, UINT64_MAX), two);
}

TEST_F(ReadTest, R59_L4_the_floor_gate)
{
    write_sealed(a, 2, one);
    stage.finish(stage.write(query, a, 5, two));
    Snapshot gated(stage, query, {a}, 5);
    EXPECT_EQ(gated.status, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_FALSE(last_error().empty());
    // Unsealed changes above N do not matter.
    EXPECT_EQ(stage.read(query, a, 4), one);
    stage.finish(stage.seal(5));
    EXPECT_EQ(stage.read(query, a, 5), two);
}

TEST_F(ReadTest, R62_only_selected_keys_are_looked_at)
{
    write_sealed(a, 2, one);
    ovstage_query_handle_t elsewhere = stage.query({"/E"});
    stage.finish(stage.write(elsewhere, a, 5, {1}));
    stage.finish(stage.write(query, b, 5, two));
    EXPECT_EQ(stage.read(query, a, 5), one);
    Snapshot both(stage, query, {a, b}, 5);
    EXPECT_EQ(both.status, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
}

TEST_F(ReadTest, R63_what_nobody_has_gives_no_groups)
{
    write_sealed(a, 1, one);
    EXPECT_TRUE(stage.read(query, b, 1).empty());
    EXPECT_TRUE(stage.read(stage.query({"/Nowhere"}), a, 1).empty());
    EXPECT_TRUE(stage.read(stage.query(0), a, 1).empty());
    ovstage_query_handle_t partly = stage.query({"/Nowhere", "/P/2", "/P/0"});
    Snapshot snapshot(stage, partly, {a}, 1);
    ASSERT_EQ(snapshot.groups.size(), 1u);
    EXPECT_EQ(Snapshot::rows(snapshot.groups[0]),
              (std::vector<std::pair<uint32_t, Values>>{{1, {12}}, {2, {10}}}));
}

TEST_F(ReadTest, R64_a_typed_status_from_the_enqueue)
{
    stage.finish(stage.write(query, a, 5, two));
    ovstage_read_handle_t handle = 77;
    refused(read(query, {a}, {0, 5, false}, &handle), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(handle, 0u);
}

TEST_F(ReadTest, L4_a_read_waits_for_the_seal_that_it_needs)
{
    Gate gate;
    auto held = gate.submit(stage, 2);
    auto write = stage.write(query, a, 2, one);
    auto seal = stage.seal(2);
    auto later = stage.write(query, a, 3, two);
    ovstage_read_handle_t handle = 0;
    auto op = read(query, {a}, {0, 2, false}, &handle);
    ASSERT_EQ(op.status, OVSTAGE_OK);
    ovstage_read_group_t group;
    EXPECT_EQ(ovstage_fetch_read_next(stage.instance, handle, 0, &group), OVSTAGE_ERROR_TIMEOUT);
    gate.let_go();
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, handle, forever, &group), OVSTAGE_OK);
    EXPECT_EQ(Snapshot::rows(group)[0].second, (Values{10}));
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    EXPECT_EQ(ovstage_fetch_read_next(stage.instance, handle, forever, &group),
              OVSTAGE_ERROR_END_OF_ITERATION);
    for (auto other : {held, write, seal, later, op})
        stage.finish(other);
    stage.finish(ovstage_release_read(stage.instance, handle));
}

TEST_F(ReadTest, R64_a_late_failure_comes_with_the_fetch)
{
    // One attribute needs a pending seal, the other has an unsealed change above its own floor.
    Gate gate;
    auto held = gate.submit(stage, 2);
    auto first = stage.write(query, a, 2, one);
    stage.finish(stage.write(query, b, 1, two));
    auto seal = stage.seal(2, OVSTAGE_SCOPE_INCLUDE, {a});
    ovstage_read_handle_t handles[2] = {0, 0};
    auto op = read(query, {a, b}, {0, 2, false}, &handles[0]);
    auto other = read(query, {a, b}, {0, 2, false}, &handles[1]);
    ASSERT_EQ(op.status, OVSTAGE_OK);
    ASSERT_EQ(other.status, OVSTAGE_OK);
    gate.let_go();
    // A fetch that has been waiting says OP_FAILED, one that comes afterwards the status itself.
    EXPECT_FALSE(failed(stage, op).empty());
    ovstage_read_group_t group;
    EXPECT_EQ(ovstage_fetch_read_next(stage.instance, handles[0], forever, &group),
              OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_FALSE(last_error().empty());
    ovstage_api_status_t late =
        ovstage_fetch_read_next(stage.instance, handles[1], forever, &group);
    EXPECT_TRUE(late == OVSTAGE_ERROR_OP_FAILED || late == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    for (auto done : {held, first, seal})
        stage.finish(done);
    for (ovstage_read_handle_t handle : handles)
        stage.finish(ovstage_release_read(stage.instance, handle));
}

TEST_F(ReadTest, L4_a_waiting_read_keeps_its_moment)
{
    write_sealed(a, 1, one);
    Stuck stuck(two);
    auto write_b = write(stage, query, b, 2, stuck.payload.data);
    auto seal_b = stage.seal(2, OVSTAGE_SCOPE_INCLUDE, {b});
    ovstage_read_handle_t handle = 0;
    auto op = read(query, {a, b}, {0, 2, false}, &handle);
    ASSERT_EQ(op.status, OVSTAGE_OK);
    // Far more seals of the other column than history keeps.
    for (uint64_t ordinal = 10; ordinal < 30; ordinal++) {
        stage.finish(stage.write(query, a, ordinal, three));
        stage.finish(stage.seal(ordinal, OVSTAGE_SCOPE_INCLUDE, {a}));
    }
    stuck.let_go();
    std::map<ovx_token_t, Values> got;
    ovstage_read_group_t group;
    while (ovstage_fetch_read_next(stage.instance, handle, forever, &group) == OVSTAGE_OK) {
        for (const auto &row : Snapshot::rows(group))
            got[group.attribute].push_back(row.second[0]);
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    }
    EXPECT_EQ(got[a], one);
    EXPECT_EQ(got[b], two);
    for (auto done : {write_b, seal_b, op})
        stage.finish(done);
    stage.finish(ovstage_release_read(stage.instance, handle));
}

// Lets something happen in the midst of a call, at one of the places where that takes memory.
struct Between {
    std::function<void()> happens;
    std::thread::id thread;
    int left = -1; // allocations of that thread until it happens
    static void *allocate(size_t size, size_t alignment, void *user)
    {
        Between *self = static_cast<Between *>(user);
        if (self->left >= 0 && std::this_thread::get_id() == self->thread && self->left-- == 0)
            self->happens();
        return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    }
    static void release(void *memory, size_t, void *)
    {
        std::free(memory);
    }
};

// In the midst of a read's call, at each place where that takes memory, the seal that it needs is
// accepted, and then a write below that seal runs: it is no reason to refuse the read any more.
TEST(ReadRaces, L4_a_refusal_goes_by_one_moment)
{
    int happened = 0;
    for (int place = 0; place == 0 || happened == place; place++) {
        Between between;
        flyrail_config_t made = config(0);
        made.allocator = {Between::allocate, Between::release, &between};
        Stage stage(made);
        // Of two segments, so that the read has something to make before it comes to the other.
        ovx_token_t names[2] = {stage.token("a"), stage.token("b")};
        Values some = ramp(2), older = ramp(4, 7);
        stage.finish(stage.write(stage.query({"/P/0", "/P/2"}), names[0], 1, some));
        stage.finish(stage.seal(1));
        stage.finish(stage.write(stage.query({"/P/1", "/P/3"}), names[0], 2, some));
        stage.finish(stage.seal(2));
        ovstage_query_handle_t asked = stage.query(4);
        stage.finish(stage.write(asked, names[1], 3, older));
        stage.finish(stage.seal(3));
        ovstage_enqueue_result_t pending =
            stage.write(stage.query({"/P/0", "/P/1"}), names[1], 4, some);
        between.thread = std::this_thread::get_id();
        ovstage_enqueue_result_t seal{};
        between.happens = [&] {
            happened++;
            seal = stage.seal(5);
            stage.finish(pending);
        };
        between.left = place;
        ovstage_read_handle_t read = 0;
        ovstage_enqueue_result_t result = ovstage_read_attributes(
            stage.instance, asked, names, 2, ovstage_ordinal_range_t{0, 5, false}, &read);
        bool in_the_call = between.left < 0;
        between.left = -1;
        ASSERT_EQ(result.status, OVSTAGE_OK) << "place " << place << ": " << last_error();
        ovstage_read_group_t group;
        for (int k = 0; k < 2; k++) {
            ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, forever, &group), OVSTAGE_OK);
            if (group.attribute == names[1]) {
                const DLTensor &tensor = group.data.tensors[0];
                const float *rows = static_cast<const float *>(tensor.data);
                EXPECT_EQ(Values(rows, rows + 4), in_the_call ? (Values{0, 1, 9, 10}) : older);
            }
            EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        }
        stage.finish(result);
        stage.finish(in_the_call ? seal : pending);
    }
    EXPECT_GT(happened, 1);
}

// The same, when the seal takes away what the read selects: it is refused, whatever an earlier look
// said of the names behind the one that is gone.
TEST(ReadRaces, L4_a_read_that_a_seal_overtakes_is_refused_once)
{
    int happened = 0;
    for (int place = 0; place == 0 || happened == place; place++) {
        Between between;
        flyrail_config_t made = config(0);
        made.allocator = {Between::allocate, Between::release, &between};
        made.history_versions = 0;
        Stage stage(made);
        ovx_token_t names[2] = {stage.token("a"), stage.token("b")};
        ovstage_query_handle_t asked = stage.query({"/P/1", "/P/0"});
        for (ovx_token_t name : names)
            stage.finish(stage.write(asked, name, 1, ramp(2)));
        stage.finish(stage.seal(1));
        between.thread = std::this_thread::get_id();
        between.happens = [&] {
            happened++;
            stage.finish(stage.write(asked, names[0], 5, ramp(2, 5)));
            stage.finish(stage.seal(5));
        };
        between.left = place;
        ovstage_read_handle_t read = 77;
        ovstage_enqueue_result_t result = ovstage_read_attributes(
            stage.instance, asked, names, 2, ovstage_ordinal_range_t{0, 3, false}, &read);
        bool in_the_call = between.left < 0;
        between.left = -1;
        ASSERT_EQ(result.status, in_the_call ? OVSTAGE_ERROR_OUT_OF_RANGE : OVSTAGE_OK)
            << "place " << place;
        if (in_the_call)
            continue;
        stage.finish(result);
        stage.finish(ovstage_release_read(stage.instance, read));
    }
    EXPECT_GT(happened, 1);
}

TEST_F(ReadTest, L4_all_columns_of_one_read_are_of_one_moment)
{
    // Two columns that say the same number, sealed together, again and again, while others read the
    // newest.
    write_sealed(a, 1, Values(3, 1));
    stage.finish(stage.write(query, b, 2, Values(3, 2)));
    stage.finish(stage.write(query, a, 2, Values(3, 2)));
    stage.finish(stage.seal(2));
    std::atomic<bool> stop{false};
    std::atomic<int> reads{0};
    std::vector<std::thread> readers;
    for (int r = 0; r < 2; r++) {
        readers.emplace_back([&] {
            while (!stop) {
                uint64_t floor = stage.floor();
                Snapshot snapshot(stage, query, {a, b}, floor);
                if (snapshot.status == OVSTAGE_ERROR_OUT_OF_RANGE)
                    continue; // history ran away meanwhile
                ASSERT_EQ(snapshot.status, OVSTAGE_OK) << last_error();
                ASSERT_EQ(snapshot.groups.size(), 2u);
                float first = Snapshot::rows(snapshot.groups[0])[0].second[0];
                for (const auto &group : snapshot.groups) {
                    for (const auto &row : Snapshot::rows(group))
                        ASSERT_EQ(row.second[0], first);
                }
                ASSERT_EQ(first, static_cast<float>(floor));
                reads++;
            }
        });
    }
    for (uint64_t ordinal = 3; ordinal < 200 || reads < 50; ordinal++) {
        Values values(3, static_cast<float>(ordinal));
        auto first = stage.write(query, a, ordinal, values);
        auto second = stage.write(query, b, ordinal, values);
        stage.finish(stage.seal(ordinal));
        stage.finish(first);
        stage.finish(second);
    }
    stop = true;
    for (auto &reader : readers)
        reader.join();
}

TEST_F(ReadTest, L6_values_that_are_gone)
{
    for (uint64_t ordinal = 1; ordinal <= 10; ordinal++)
        write_sealed(a, ordinal, ramp(3, static_cast<float>(ordinal)));
    for (uint64_t ordinal = 8; ordinal <= 10; ordinal++) // the newest and the two before it
        EXPECT_EQ(stage.read(query, a, ordinal), ramp(3, static_cast<float>(ordinal)));
    Snapshot gone(stage, query, {a}, 3);
    EXPECT_EQ(gone.status, OVSTAGE_ERROR_OUT_OF_RANGE);
    EXPECT_FALSE(last_error().empty());
    EXPECT_TRUE(stage.read(query, a, 0).empty()); // never was
}

TEST_F(ReadTest, L6_the_newest_value_of_a_key_is_never_gone)
{
    // Two of three prims go on and on, the third was written once.
    write_sealed(a, 1, one);
    ovstage_query_handle_t busy = stage.query(2), quiet = stage.query({"/P/2"});
    for (uint64_t ordinal = 2; ordinal <= 12; ordinal++) {
        stage.finish(stage.write(busy, a, ordinal, {1, 2}));
        stage.finish(stage.seal(ordinal));
    }
    EXPECT_EQ(stage.read(quiet, a, 1), (Values{12}));
    EXPECT_EQ(stage.read(quiet, a, 5), (Values{12}));
    Snapshot held(stage, quiet, {a}, 3);
    ASSERT_EQ(held.groups.size(), 1u);
    EXPECT_EQ(held.groups[0].ordinal, 1u);
    Snapshot gone(stage, query, {a}, 3);
    EXPECT_EQ(gone.status, OVSTAGE_ERROR_OUT_OF_RANGE);
}

TEST_F(ReadTest, D4_group_ordinals)
{
    write_sealed(a, 2, one);
    ovstage_query_handle_t first = stage.query(1);
    stage.finish(stage.write(first, a, 5, {7}));
    stage.finish(stage.seal(9));
    Snapshot all(stage, query, {a}, 9);
    EXPECT_EQ(all.groups[0].ordinal, 5u);
    Snapshot before(stage, query, {a}, 4);
    EXPECT_EQ(before.groups[0].ordinal, 2u);
    ovstage_query_handle_t others = stage.query({"/P/1", "/P/2"});
    Snapshot rest(stage, others, {a}, 9);
    EXPECT_EQ(rest.groups[0].ordinal, 2u);
}

TEST_F(ReadTest, R65_end_of_iteration_stays)
{
    write_sealed(a, 1, one);
    Snapshot snapshot(stage, query, {a}, 1);
    ovstage_read_group_t group;
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(ovstage_fetch_read_next(stage.instance, snapshot.handle, 0, &group),
                  OVSTAGE_ERROR_END_OF_ITERATION);
}

TEST_F(ReadTest, R66_R67_R68_groups_stand_alone)
{
    write_sealed(a, 1, one);
    auto snapshot = std::make_unique<Snapshot>(stage, query, std::vector<ovx_token_t>{a}, 1);
    ovstage_read_group_t group = snapshot->groups[0];
    snapshot->groups.clear();
    snapshot->release_read();
    stage.finish(ovstage_release_query(stage.instance, query));
    query = stage.query(3);
    for (uint64_t ordinal = 2; ordinal < 10; ordinal++)
        write_sealed(a, ordinal, two);
    EXPECT_EQ(Snapshot::rows(group)[1].second, (Values{11}));
    std::vector<ovx_primpath_t> paths(3);
    size_t count = 0;
    EXPECT_EQ(path_dictionary_get_paths_from_path_list(stage.dictionary, group.prims.list, 0, 3,
                                                       paths.data(), &count)
                  .status,
              OVX_API_SUCCESS);
    EXPECT_EQ(count, 3u);
    std::thread other(
        [&] { EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK); });
    other.join();
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_ERROR_INVALID_HANDLE);
}

TEST_F(ReadTest, R67_a_read_released_while_it_waits)
{
    Gate gate;
    auto held = gate.submit(stage, 2);
    auto write = stage.write(query, a, 2, one);
    auto seal = stage.seal(2);
    ovstage_read_handle_t handle = 0;
    auto op = read(query, {a}, {0, 2, false}, &handle);
    stage.finish(ovstage_release_read(stage.instance, handle));
    ovstage_read_group_t group;
    EXPECT_EQ(ovstage_fetch_read_next(stage.instance, handle, 0, &group),
              OVSTAGE_ERROR_INVALID_HANDLE);
    gate.let_go();
    for (auto done : {held, write, seal, op})
        stage.finish(done);
}

TEST_F(ReadTest, D7_the_op_of_a_waiting_read_may_be_released)
{
    Gate gate;
    auto held = gate.submit(stage, 2);
    auto write = stage.write(query, a, 2, one);
    auto seal = stage.seal(2);
    ovstage_read_handle_t handle = 0;
    auto op = read(query, {a}, {0, 2, false}, &handle);
    EXPECT_EQ(ovstage_release_op(stage.instance, op.op_index), OVSTAGE_OK);
    ovstage_read_group_t group;
    EXPECT_EQ(ovstage_fetch_read_next(stage.instance, handle, 0, &group), OVSTAGE_ERROR_TIMEOUT);
    EXPECT_EQ(ovstage_fetch_read_next(stage.instance, handle, 1000, &group), OVSTAGE_ERROR_TIMEOUT);
    gate.let_go();
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, handle, forever, &group), OVSTAGE_OK);
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    for (auto done : {held, write, seal})
        stage.finish(done);
    stage.finish(ovstage_release_read(stage.instance, handle));
}

TEST_F(ReadTest, L8_fetches_make_progress_without_workers)
{
    Stage alone(0);
    ovstage_query_handle_t three_prims = alone.query(3);
    ovx_token_t name = alone.token("a");
    auto write = alone.write(three_prims, name, 1, one);
    auto seal = alone.seal(1);
    ovstage_read_handle_t handle = 0;
    ovstage_enqueue_result_t op = ovstage_read_attributes(
        alone.instance, three_prims, &name, 1, ovstage_ordinal_range_t{0, 1, false}, &handle);
    ASSERT_EQ(op.status, OVSTAGE_OK);
    ovstage_read_group_t group;
    ovstage_api_status_t status;
    int polls = 0;
    while ((status = ovstage_fetch_read_next(alone.instance, handle, 0, &group)) ==
           OVSTAGE_ERROR_TIMEOUT)
        ASSERT_LT(++polls, 10);
    ASSERT_EQ(status, OVSTAGE_OK);
    EXPECT_EQ(ovstage_release_group(alone.instance, &group), OVSTAGE_OK);
    for (auto done : {write, seal, op})
        alone.finish(done);
    alone.finish(ovstage_release_read(alone.instance, handle));
}

TEST_F(ReadTest, R86_several_attributes)
{
    stage.finish(stage.write(query, a, 1, one));
    stage.finish(stage.write(query, b, 1, two));
    stage.finish(stage.seal(1));
    Snapshot snapshot(stage, query, {b, a}, 1);
    ASSERT_EQ(snapshot.groups.size(), 2u);
    EXPECT_NE(snapshot.groups[0].attribute, snapshot.groups[1].attribute);
    EXPECT_NE(snapshot.groups[0].read_group_id, snapshot.groups[1].read_group_id);
    // Named twice: its groups come twice.
    Snapshot twice(stage, query, {a, a}, 1);
    EXPECT_EQ(twice.groups.size(), 2u);
}

TEST_F(ReadTest, R141_what_cannot_be_read)
{
    ovstage_read_handle_t handle = 0;
    std::string why = refused(read(query, {stage.token("usd-active")}, {0, 1, false}, &handle),
                              OVSTAGE_ERROR_NOT_SUPPORTED);
    EXPECT_NE(why.find("usd-active"), std::string::npos) << why;
}

TEST_F(ReadTest, calls_that_are_none)
{
    ovstage_read_handle_t handle = 0;
    refused(read(query, {0}, {0, 1, false}, &handle), OVSTAGE_ERROR_INVALID_ARGUMENT);
    refused(read(query, {0x7fffffff}, {0, 1, false}, &handle), OVSTAGE_ERROR_INVALID_ARGUMENT);
    refused(read(0, {a}, {0, 1, false}, &handle), OVSTAGE_ERROR_INVALID_HANDLE);
    refused(read(query, {a}, {0, 1, false}, nullptr), OVSTAGE_ERROR_INVALID_ARGUMENT);
    refused(ovstage_read_attributes(stage.instance, query, nullptr, 3, {0, 1, false}, &handle),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    // Nothing asked for: nothing comes.
    Snapshot nothing(stage, query, {}, 1);
    EXPECT_EQ(nothing.status, OVSTAGE_OK);
    EXPECT_TRUE(nothing.groups.empty());
    write_sealed(a, 1, one);
    Snapshot snapshot(stage, query, {a}, 1);
    ovstage_read_group_t group;
    EXPECT_EQ(ovstage_fetch_read_next(stage.instance, snapshot.handle, 0, nullptr),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(ovstage_fetch_read_next(stage.instance, 0, 0, &group), OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(ovstage_fetch_read_next(stage.instance, query, 0, &group),
              OVSTAGE_ERROR_INVALID_HANDLE); // a handle of another kind
    refused(ovstage_release_read(stage.instance, 0), OVSTAGE_ERROR_INVALID_HANDLE);
    refused(ovstage_release_read(stage.instance, query), OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(ovstage_release_group(stage.instance, nullptr), OVSTAGE_ERROR_INVALID_ARGUMENT);
    // Forged, foreign and of another kind.
    group = snapshot.groups[0];
    group.read_group_id = 0;
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_ERROR_INVALID_HANDLE);
    group.read_group_id = snapshot.groups[0].read_group_id + 1;
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_ERROR_INVALID_HANDLE);
    group.read_group_id = snapshot.handle;
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_ERROR_INVALID_HANDLE);
    Stage other(0);
    EXPECT_EQ(ovstage_release_group(other.instance, &snapshot.groups[0]),
              OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(ovstage_fetch_read_next(other.instance, snapshot.handle, 0, &group),
              OVSTAGE_ERROR_INVALID_HANDLE);
    auto release = ovstage_release_read(stage.instance, snapshot.handle);
    stage.finish(release);
    refused(ovstage_release_read(stage.instance, snapshot.handle), OVSTAGE_ERROR_INVALID_HANDLE);
    snapshot.handle = 0;
}

TEST_F(ReadTest, D20_groups_and_reads_left_behind)
{
    write_sealed(a, 1, one);
    ovstage_read_handle_t handle = 0;
    ASSERT_EQ(read(query, {a}, {0, 1, false}, &handle).status, OVSTAGE_OK);
    ovstage_read_group_t group;
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, handle, 0, &group), OVSTAGE_OK);
    ASSERT_EQ(read(query, {a}, {0, 1, false}, &handle).status, OVSTAGE_OK);
    // Nothing is released: a leak checker sees what destroy forgets.
}

} // namespace
