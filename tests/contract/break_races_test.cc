// Many threads do everything at once, wrong things too: for the sanitizers, and every column must
// end as its last writer left it.
#include <atomic>
#include <thread>

#include "tests/support/columns.h"

namespace
{

using namespace client;

constexpr unsigned threads = 4;
constexpr unsigned rounds = 60;

class Storm
{
  public:
    explicit Storm(uint32_t workers) : stage(workers)
    {
        for (unsigned t = 0; t < threads; t++)
            own.push_back(stage.token("race:" + std::to_string(t)));
        shared = stage.token("race:shared");
        query = stage.query(prims);
    }

    void run()
    {
        std::vector<std::thread> team;
        for (unsigned t = 0; t < threads; t++)
            team.emplace_back([this, t] { work(t); });
        for (auto &thread : team)
            thread.join();
        stage.finish(stage.seal(threads * rounds + 1));
        for (unsigned t = 0; t < threads; t++)
            EXPECT_EQ(stage.read(query, own[t], threads * rounds + 1),
                      ramp(prims, static_cast<float>(t * 1000 + rounds - 1)));
    }

  private:
    static constexpr size_t prims = 70;

    // Waits if it was accepted. Answers whether it was.
    bool settle(ovstage_enqueue_result_t result)
    {
        if (result.status != OVSTAGE_OK) {
            EXPECT_EQ(result.op_index, 0u);
            return false;
        }
        EXPECT_EQ(ovstage_wait_op(stage.instance, result.op_index, forever, nullptr), OVSTAGE_OK);
        EXPECT_EQ(ovstage_release_op(stage.instance, result.op_index), OVSTAGE_OK);
        return true;
    }

    void work(unsigned t)
    {
        ovstage_instance_t *it = stage.instance;
        ovstage_query_handle_t mine = stage.query(prims);
        std::vector<float> values, other = ramp(prims);
        uint64_t stale_group = 0;
        for (unsigned r = 0; r < rounds; r++) {
            uint64_t ordinal = r * threads + t + 1;
            values = ramp(prims, static_cast<float>(t * 1000 + r));
            ovstage_enqueue_result_t written =
                stage.write(r % 2 ? query : mine, own[t], ordinal, values);
            EXPECT_EQ(written.status, OVSTAGE_OK) << last_error();
            // Refused when another thread has sealed it.
            ovstage_enqueue_result_t contended = stage.write(mine, shared, ordinal, other);
            ovstage_enqueue_result_t sealed =
                stage.seal(ordinal, OVSTAGE_SCOPE_INCLUDE,
                           r % 3 ? std::vector<ovx_token_t>{own[t]}
                                 : std::vector<ovx_token_t>{own[t], shared, shared});
            read(t, ordinal, r, &stale_group);
            task_of(ordinal + threads * rounds);
            switch (r % 4) {
            case 0:
                (void)flyrail_run(it, 2, nullptr);
                break;
            case 1:
                EXPECT_EQ(flyrail_parallel_for(
                              it, 100, 7, [](uint64_t, uint64_t, void *) {}, nullptr),
                          OVSTAGE_OK);
                break;
            case 2:
                (void)flyrail_trace_start(it, 8);
                (void)flyrail_trace_span(it, "x", r, 0, 1);
                break;
            default:
                (void)flyrail_trace_stop(it);
                (void)flyrail_trace_write(
                    it, FLYRAIL_TRACE_SVG, [](const char *, size_t, void *) { return true; },
                    nullptr);
                (void)stage.statistics();
                break;
            }
            settle(contended);
            EXPECT_TRUE(settle(written));
            EXPECT_TRUE(settle(sealed));
            EXPECT_EQ(flyrail_wait_floor(it, own[t], ordinal, forever), OVSTAGE_OK);
            if (r % 8 == 7) {
                settle(ovstage_release_query(it, mine));
                mine = stage.query(prims);
            }
        }
        settle(ovstage_release_query(it, mine));
    }

    void read(unsigned t, uint64_t ordinal, unsigned r, uint64_t *stale_group)
    {
        ovstage_instance_t *it = stage.instance;
        ovx_token_t names[2] = {own[t], own[(t + 1) % threads]};
        ovstage_read_handle_t handle = 0;
        ovstage_enqueue_result_t result = ovstage_read_attributes(
            it, query, names, 1 + r % 2, ovstage_ordinal_range_t{0, ordinal, false}, &handle);
        if (result.status != OVSTAGE_OK)
            return; // the neighbour's change at or below it is not sealed, or is gone
        ovstage_read_group_t group;
        while (ovstage_fetch_read_next(it, handle, forever, &group) == OVSTAGE_OK) {
            if (group.attribute == own[t]) {
                const float *rows = static_cast<const float *>(group.data.tensors[0].data);
                EXPECT_EQ(rows[0], static_cast<float>(t * 1000 + r));
            }
            (void)ovstage_release_query(it, *stale_group);
            EXPECT_EQ(ovstage_release_group(it, &group), OVSTAGE_OK);
            *stale_group = group.read_group_id;
            EXPECT_EQ(ovstage_release_group(it, &group), OVSTAGE_ERROR_INVALID_HANDLE);
        }
        EXPECT_TRUE(settle(ovstage_release_read(it, handle)));
        settle(result);
    }

    void task_of(uint64_t ordinal)
    {
        ovstage_op_id_t first = task(stage, 0, nullptr, nullptr).op_index;
        EXPECT_NE(first, 0u);
        ovstage_enqueue_result_t second =
            task(stage, ordinal,
                 [](const flyrail_task_context_t *context, void *user) {
                     ovstage_op_id_t awaited = *static_cast<ovstage_op_id_t *>(user);
                     EXPECT_EQ(ovstage_wait_op(context->instance, awaited, forever, nullptr),
                               OVSTAGE_OK);
                     EXPECT_EQ(ovstage_wait_op(context->instance, context->op_id, forever, nullptr),
                               OVSTAGE_ERROR_INVALID_ARGUMENT);
                     return OVSTAGE_OK;
                 },
                 &first, {first});
        EXPECT_TRUE(settle(second));
        EXPECT_EQ(ovstage_release_op(stage.instance, first), OVSTAGE_OK);
    }

    Stage stage;
    std::vector<ovx_token_t> own;
    ovx_token_t shared;
    ovstage_query_handle_t query;
};

TEST(Races, everything_at_once_without_workers)
{
    Storm(0).run();
}

TEST(Races, everything_at_once_with_workers)
{
    Storm(2).run();
}

// One handle of each kind, many threads that release it: one of them is the one.
TEST(Races, one_release_of_many_succeeds)
{
    Stage stage(1);
    ovx_token_t name = stage.token("a");
    std::vector<float> values = ramp(4);
    ovstage_query_handle_t query = stage.query(4);
    stage.finish(stage.write(query, name, 1, values));
    stage.finish(stage.seal(1));
    for (int round = 0; round < 50; round++) {
        ovstage_query_handle_t target = stage.query(4);
        ovstage_read_handle_t read = 0;
        ovstage_enqueue_result_t op = ovstage_read_attributes(
            stage.instance, target, &name, 1, ovstage_ordinal_range_t{0, 1, false}, &read);
        ovstage_read_group_t group;
        ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, forever, &group), OVSTAGE_OK);
        ovstage_query_result_t result;
        ASSERT_EQ(ovstage_fetch_query_result(stage.instance, target, forever, &result), OVSTAGE_OK);
        std::atomic<int> queries{0}, reads{0}, groups{0}, results{0}, ops{0};
        std::vector<std::thread> team;
        for (unsigned t = 0; t < threads; t++)
            team.emplace_back([&] {
                ovstage_instance_t *it = stage.instance;
                queries += ovstage_release_query(it, target).status == OVSTAGE_OK;
                reads += ovstage_release_read(it, read).status == OVSTAGE_OK;
                groups += ovstage_release_group(it, &group) == OVSTAGE_OK;
                results += ovstage_release_query_result(it, &result) == OVSTAGE_OK;
                ops += ovstage_release_op(it, op.op_index) == OVSTAGE_OK;
            });
        for (auto &thread : team)
            thread.join();
        EXPECT_EQ(queries + reads + groups + results + ops, 5);
    }
    EXPECT_EQ(stage.statistics().pins, 0u);
}

// A task that runs all the while meets the hook of its beginning at its end.
// Whoever guesses the handle of a read that is being refused finds nothing behind it.
TEST(Races, what_is_refused_never_had_a_handle)
{
    Stage stage(0);
    ovstage_query_handle_t query = stage.query(4);
    ovx_token_t attribute = stage.token("value");
    const ovstage_ordinal_range_t newest{0, 1, false};
    ovstage_read_handle_t known = 0;
    ovstage_enqueue_result_t opened =
        ovstage_read_attributes(stage.instance, query, &attribute, 1, newest, &known);
    stage.finish(opened);
    stage.finish(ovstage_release_read(stage.instance, known));
    stage.finish(stage.write(query, attribute, 1, ramp(4)));
    constexpr int use_shift = 22; // where a handle says how often its place was used
    std::atomic<uint64_t> refused{0};
    std::atomic<bool> ends{false};
    uint64_t found = 0;
    std::thread guesses([&] {
        while (!ends)
            for (uint64_t use : {uint64_t{1}, refused.load(), refused.load() + 1})
                found += ovstage_release_read(stage.instance, known + (use << use_shift)).status ==
                         OVSTAGE_OK;
    });
    for (int k = 0; k < 20000; k++) {
        ovstage_read_handle_t handle = 0;
        EXPECT_EQ(
            ovstage_read_attributes(stage.instance, query, &attribute, 1, newest, &handle).status,
            OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
        refused++;
    }
    ends = true;
    guesses.join();
    EXPECT_EQ(found, 0u);
}

TEST(Races, traces_begin_and_end_under_an_op)
{
    Stage stage(1);
    Gate gate;
    for (int round = 0; round < 5; round++) {
        EXPECT_EQ(flyrail_trace_start(stage.instance, 8), OVSTAGE_OK);
        if (round == 0) {
            gate.submit(stage, 1);
            gate.wait_entered();
        }
        EXPECT_EQ(flyrail_trace_stop(stage.instance), OVSTAGE_OK);
    }
    EXPECT_EQ(flyrail_trace_start(stage.instance, 8), OVSTAGE_OK);
    // From here on nothing orders the end of the task behind the last start.
    std::thread starter([&stage] {
        EXPECT_EQ(flyrail_trace_stop(stage.instance), OVSTAGE_OK);
        EXPECT_EQ(flyrail_trace_start(stage.instance, 8), OVSTAGE_OK);
        EXPECT_EQ(flyrail_trace_stop(stage.instance), OVSTAGE_OK);
        EXPECT_EQ(flyrail_trace_start(stage.instance, 8), OVSTAGE_OK);
    });
    gate.let_go();
    EXPECT_EQ(ovstage_wait_op(stage.instance, gate.id, forever, nullptr), OVSTAGE_OK);
    starter.join();
}

// Instances come and go on many threads, with work left in them, on the process's pool and on their
// own.
TEST(Races, storms_of_instances)
{
    std::vector<std::thread> team;
    for (unsigned t = 0; t < threads; t++)
        team.emplace_back([t] {
            for (unsigned round = 0; round < 12; round++) {
                flyrail_config_t made = config(1);
                made.own_pool = (t + round) % 2 != 0;
                if (round % 3 == 0) {
                    EXPECT_EQ(ovstage_initialize(nullptr), OVSTAGE_OK);
                }
                std::vector<float> values = ramp(5);
                {
                    Stage stage(made);
                    ovx_token_t name = stage.token("storm");
                    ovstage_query_handle_t query = stage.query(5);
                    for (uint64_t n = 1; n < 6; n++) {
                        EXPECT_EQ(stage.write(query, name, n, values).status, OVSTAGE_OK);
                        EXPECT_EQ(stage.seal(n).status, OVSTAGE_OK);
                    }
                    if (round % 2) {
                        EXPECT_EQ(stage.read(query, name, 5), values);
                    }
                }
                if (round % 3 == 0) {
                    EXPECT_EQ(ovstage_shutdown(), OVSTAGE_OK);
                }
            }
        });
    for (auto &thread : team)
        thread.join();
    EXPECT_EQ(ovstage_shutdown(), OVSTAGE_ERROR_INVALID_ARGUMENT);
}

} // namespace
