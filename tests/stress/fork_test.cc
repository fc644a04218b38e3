// Forks at any moment of a load. A child has one thread, and whatever lock another one held stays
// held in it for ever: so every call must answer there without taking any. The parent goes on.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/columns.h"

namespace
{

using namespace client;

constexpr uint32_t forks = 30, rows = 4000;

// What a child finds, and has to hand over to the calls.
struct Found {
    const Stage *stage;
    ovstage_query_handle_t query;
    ovx_token_t attribute;
    ovx_primpath_list_t list;
    const std::vector<float> *values;
};

// 0, or which call answered something else. Allocates nothing.
int ask_all(const Found &found)
{
    ovstage_instance_t *instance = found.stage->instance, *made = nullptr;
    ovstage_query_handle_t query = 0;
    ovstage_read_handle_t read = 0;
    ovstage_read_group_t group;
    std::memset(&group, 0, sizeof(group));
    group.read_group_id = 1;
    flyrail_task_desc_t nothing;
    std::memset(&nothing, 0, sizeof(nothing));
    nothing.struct_size = sizeof(nothing);
    nothing.fn = [](const flyrail_task_context_t *, void *) { return OVSTAGE_OK; };
    flyrail_statistics_t statistics;
    statistics.struct_size = sizeof(statistics);
    const ovstage_api_status_t answers[] = {
        found.stage->write(found.query, found.attribute, 1000000, *found.values).status,
        found.stage->seal(1000000).status,
        ovstage_read_attributes(instance, found.query, &found.attribute, 1, {0, 1, false}, &read)
            .status,
        ovstage_fetch_read_next(instance, 1, forever, &group),
        ovstage_release_group(instance, &group),
        flyrail_submit_task(instance, &nothing).status,
        ovstage_wait_op(instance, 1, forever, nullptr),
        flyrail_wait_floor(instance, 0, 1000000, forever),
        ovstage_query_from_path_list(instance, found.list, &query),
        ovstage_release_query(instance, found.query).status,
        flyrail_get_statistics(instance, &statistics),
        ovstage_create_instance(nullptr, &made),
        ovstage_initialize(nullptr),
        ovstage_destroy_instance(instance),
        ovstage_shutdown(),
        ovstage_flush_log(forever)};
    int wrong = 0;
    for (ovstage_api_status_t answer : answers) {
        wrong++;
        if (answer != OVSTAGE_ERROR_NOT_SUPPORTED)
            return wrong;
    }
    const ovx_string_t name = literal_to_ovx_string("another");
    ovx_token_t token = 0;
    if (path_dictionary_create_tokens_from_strings(found.stage->dictionary, &name, 1, &token)
            .status == OVX_API_SUCCESS)
        return wrong + 1;
    return ovstage_get_last_error().length > 0 ? 0 : wrong + 2;
}

// In the process that forked: how its child ended.
void expect_a_child_that_was_refused(pid_t child)
{
    ASSERT_GE(child, 0);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "a call hangs: " << status;
    EXPECT_EQ(WEXITSTATUS(status), 0) << "the number of the first wrong answer";
}

pid_t fork_and_ask(const Found &found)
{
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(ask_all(found));
    }
    return child;
}

// Names, writes, seals and reads an attribute of its own, over and over.
class Load
{
  public:
    Load(Stage &stage, uint32_t number)
        : stage_(stage), number_(number), query_(stage.query(rows)), thread_([this] { run(); })
    {
    }
    Load(const Load &) = delete;
    Load &operator=(const Load &) = delete;
    ~Load()
    {
        thread_.join();
        stage_.finish(ovstage_release_query(stage_.instance, query_));
    }

    std::atomic<uint32_t> steps{0};
    static std::atomic<bool> ends;

  private:
    void run()
    {
        for (uint64_t ordinal = 1; !ends; ordinal++, steps++) {
            ovx_token_t attribute = stage_.token("a" + std::to_string(number_));
            (void)stage_.token("fresh" + std::to_string(number_) + "." + std::to_string(ordinal));
            const auto first = static_cast<float>(ordinal);
            const std::vector<float> values = ramp(rows, first);
            ovstage_enqueue_result_t write = stage_.write(query_, attribute, ordinal, values);
            stage_.finish(stage_.seal(ordinal, OVSTAGE_SCOPE_INCLUDE, {attribute}));
            stage_.finish(write);
            EXPECT_EQ(stage_.read(query_, attribute, ordinal), values);
        }
    }

    Stage &stage_;
    const uint32_t number_;
    const ovstage_query_handle_t query_;
    std::thread thread_; // last: begins when all else is there
};

std::atomic<bool> Load::ends;

class Fork : public testing::TestWithParam<uint32_t>
{
};

TEST_P(Fork, a_child_of_any_moment_is_refused_and_the_parent_goes_on)
{
    Stage stage(GetParam());
    const std::vector<float> values = ramp(8);
    const Found found = {&stage, stage.query(8), stage.token("x"), stage.list({"/P/1"}), &values};
    Load::ends = false;
    {
        Load first(stage, 1), second(stage, 2);
        std::mt19937_64 random(GetParam());
        uint32_t seen = 0;
        for (uint32_t k = 0; k < forks; k++) {
            // Now and then the load gets on for a while; else all is as the last child left it.
            for (uint32_t more = static_cast<uint32_t>(random() % 4); more > 0; more--) {
                while (first.steps + second.steps == seen)
                    std::this_thread::yield();
                seen = first.steps + second.steps;
            }
            expect_a_child_that_was_refused(fork_and_ask(found));
        }
        Load::ends = true;
    }
    path_dictionary_release_path_list_reference(stage.dictionary, found.list);
    stage.finish(ovstage_release_query(stage.instance, found.query));
    EXPECT_EQ(stage.statistics().ops_failed, 0u);
}

// The thread that goes on in the child is a worker's, or the one that waits and runs the task.
TEST_P(Fork, a_child_of_a_task_is_refused)
{
    Stage stage(GetParam());
    const std::vector<float> values = ramp(8);
    const Found found = {&stage, stage.query(8), stage.token("x"), stage.list({"/P/1"}), &values};
    const auto fork_in_task = [](const flyrail_task_context_t *, void *user) {
        expect_a_child_that_was_refused(fork_and_ask(*static_cast<const Found *>(user)));
        return OVSTAGE_OK;
    };
    for (uint64_t ordinal = 1; ordinal <= 5; ordinal++) {
        ovstage_enqueue_result_t write = stage.write(found.query, found.attribute, ordinal, values);
        stage.finish(task(stage, ordinal, fork_in_task, const_cast<Found *>(&found)));
        stage.finish(stage.seal(ordinal));
        stage.finish(write);
        EXPECT_EQ(stage.read(found.query, found.attribute, ordinal), values);
    }
    path_dictionary_release_path_list_reference(stage.dictionary, found.list);
    stage.finish(ovstage_release_query(stage.instance, found.query));
}

INSTANTIATE_TEST_SUITE_P(Workers, Fork, testing::Values(0u, 2u));

} // namespace
