// Generated programs on the real library and on the model, with several numbers of workers.
//
// FR_ORACLE_SEED: run this one again, FR_ORACLE_TIMES times. FR_ORACLE_FIRST, FR_ORACLE_COUNT:
// other seeds. FR_ORACLE_WORKERS: with so many workers only. FR_ORACLE_SECONDS: at most that long.
// FR_TEST_LONG: many more.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <flyrail/flyrail.h>

#include "tests/model/concurrent.h"
#include "tests/model/runner.h"
#include "tests/model/shrink.h"

namespace
{

using model::Done;
using model::Program;

uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

const uint32_t worker_counts[] = {0, 1, 2, 4, 8};
constexpr uint32_t clients = 3;

// One way to run programs.
struct Way {
    std::optional<std::string> (*run)(const Program &program, uint32_t workers, Done *done);
    Program (*generate)(uint64_t seed);
    const char *filter;
    uint64_t share_of_the_time; // in percent
    uint64_t programs;
    bool takes_turns; // each program with no workers and with one of the other numbers alone
};

std::optional<std::string> run_with_clients(const Program &program, uint32_t workers, Done *done)
{
    return model::run_concurrently(program, workers, clients, done);
}

const Way one_client = {model::run, model::generate, "*programs*", 50, 15000, false};
const Way several_clients = {run_with_clients, model::generate, "*several*", 30, 6000, false};
// Values on devices, of a simulated driver.
const Way placed = {model::run, model::generate_placed, "*devices*", 20, 4700, true};

// Keeps the process's pool of so many workers alive: programs begin and end much faster than
// threads.
class Pool
{
  public:
    explicit Pool(uint32_t workers)
    {
        flyrail_config_t config{};
        config.struct_size = sizeof(config);
        EXPECT_EQ(flyrail_get_default_config(&config), OVSTAGE_OK);
        config.worker_count = workers;
        EXPECT_EQ(flyrail_create_instance(nullptr, &config, &instance_), OVSTAGE_OK);
    }
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;
    ~Pool()
    {
        ovstage_destroy_instance(instance_);
    }

  private:
    ovstage_instance_t *instance_ = nullptr;
};

// Says which program hangs, and ends the test: from outside it could not be told.
class Watchdog
{
  public:
    Watchdog() : thread_([this] { watch(); })
    {
    }
    Watchdog(const Watchdog &) = delete;
    Watchdog &operator=(const Watchdog &) = delete;
    ~Watchdog()
    {
        begin("");
        thread_.join();
    }
    // What runs from now on; nothing: the end.
    void begin(const std::string &what)
    {
        std::lock_guard<std::mutex> guard(lock_);
        ended_ = what.empty();
        what_ = what;
        turn_++;
        if (ended_)
            changed_.notify_all();
    }

  private:
    static constexpr std::chrono::seconds limit_{120};
    std::mutex lock_;
    std::condition_variable changed_;
    bool ended_ = false;
    std::string what_;
    uint64_t turn_ = 0;
    std::thread thread_; // last: begins when all else is there

    void watch()
    {
        std::unique_lock<std::mutex> guard(lock_);
        for (uint64_t seen = 0; !ended_; seen = turn_) {
            changed_.wait_for(guard, limit_, [this] { return ended_; });
            if (!ended_ && seen == turn_ && !what_.empty()) {
                std::cerr << what_ << " has not ended after " << limit_.count() << " s\n";
                std::abort();
            }
        }
    }
};

// True when the library did what the model says. Otherwise the failure is told with the smallest
// program found that shows it.
bool agrees(const Way &way, const Program &program, uint32_t workers, Watchdog &watchdog,
            Done *done)
{
    const uint64_t seed = program.seed;
    std::ostringstream rerun;
    rerun << "again: bazel test //tests/oracle:oracle_test --test_filter=" << way.filter
          << " --test_env=FR_ORACLE_SEED=" << seed << " --test_env=FR_ORACLE_WORKERS=" << workers;
    watchdog.begin(rerun.str());
    auto failure = way.run(program, workers, done);
    if (!failure)
        return true;
    const bool repeats = workers == 0 && &way != &several_clients;
    std::string why = *failure;
    auto fails = [&](const Program &part) {
        for (int i = repeats ? 1 : 20; i > 0; i--) {
            watchdog.begin(rerun.str());
            if (auto again = way.run(part, workers, nullptr)) {
                why = *again;
                return true;
            }
        }
        return false;
    };
    const Program shorter = model::shrink(program, fails, std::chrono::seconds(15));
    ADD_FAILURE() << "seed " << seed << " with " << workers << " workers: " << *failure
                  << "\ncut down to: " << shorter.text() << why << "\n"
                  << rerun.str() << (repeats ? "" : " --test_env=FR_ORACLE_TIMES=1000");
    return false;
}

void run_one_again(const Way &way)
{
    const Program program = way.generate(number_from("FR_ORACLE_SEED", 1));
    Done done;
    Watchdog watchdog;
    for (uint32_t workers : worker_counts) {
        const Pool pool(workers);
        for (uint64_t i = number_from("FR_ORACLE_TIMES", 1); i > 0; i--) {
            if (number_from("FR_ORACLE_WORKERS", workers) == workers &&
                !agrees(way, program, workers, watchdog, &done))
                break;
        }
    }
}

// FR_ORACLE_WORKERS=n, or all, or 0 and another one in turn.
bool is_turn_of(const Way &way, uint32_t workers, uint64_t batch)
{
    if (std::getenv("FR_ORACLE_WORKERS"))
        return number_from("FR_ORACLE_WORKERS", workers) == workers;
    const bool takes_turns = way.takes_turns && !std::getenv("FR_TEST_LONG");
    return !takes_turns || workers == 0 ||
           workers == worker_counts[1 + batch % (std::size(worker_counts) - 1)];
}

void run_programs(const Way &way)
{
    unsetenv("FLYRAIL_WORKERS");
    if (std::getenv("FR_ORACLE_SEED")) {
        run_one_again(way);
        return;
    }
    const bool is_long = std::getenv("FR_TEST_LONG") != nullptr;
    const uint64_t first = number_from("FR_ORACLE_FIRST", 1);
    const uint64_t count = number_from("FR_ORACLE_COUNT", is_long ? 1000000 : way.programs);
    const uint64_t seconds = number_from("FR_ORACLE_SECONDS", is_long ? 1200 : 300);
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::milliseconds(seconds * 10 * way.share_of_the_time);
    Watchdog watchdog;
    int failures = 0;
    Done done;
    uint64_t seed = first;
    // A slow build (a sanitizer's) runs fewer programs, but never none.
    do {
        const uint64_t batch = std::min<uint64_t>(count - (seed - first), 20);
        std::vector<Program> programs;
        for (uint64_t i = 0; i < batch; i++)
            programs.push_back(way.generate(seed + i));
        for (uint32_t workers : worker_counts) {
            if (!is_turn_of(way, workers, seed / 20))
                continue;
            const Pool pool(workers);
            for (const Program &program : programs)
                failures += agrees(way, program, workers, watchdog, &done) ? 0 : 1;
        }
        seed += batch;
    } while (seed < first + count && failures < 3 && std::chrono::steady_clock::now() < end);
    std::ostringstream ran;
    const char *only = std::getenv("FR_ORACLE_WORKERS");
    const char *all = way.takes_turns && !is_long ? "0 and 1, 2, 4 or 8" : "0, 1, 2, 4 and 8";
    ran << seed - first << " programs, each with " << (only ? only : all) << " workers and "
        << (&way == &several_clients ? clients : 1) << " client threads; " << done.ops
        << " ops; seeds " << first << " to " << seed - 1;
    if (done.moves > 0)
        ran << "; keys were put together " << done.moves << " times";
    std::cout << ran.str() << "\n";
    testing::Test::RecordProperty("ran", ran.str());
}

TEST(Oracle, programs_do_what_the_model_says)
{
    run_programs(one_client);
}

TEST(Oracle, values_lie_on_devices)
{
    run_programs(placed);
}

TEST(Oracle, several_clients_see_one_order)
{
    run_programs(several_clients);
}

// Generated ones reach it, so that what is read before, meanwhile and afterwards is compared.
TEST(Oracle, keys_that_were_made_one_by_one_are_put_together)
{
    constexpr uint64_t programs = 6;
    Done done;
    uint64_t found = 0;
    for (uint64_t seed = 1; found < programs; seed++) {
        const Program program = model::generate(seed);
        if (program.queries.size() <= 16) // only these name each prim by itself
            continue;
        found++;
        for (uint32_t workers : {0u, 2u}) {
            auto failure = model::run(program, workers, &done);
            ASSERT_FALSE(failure) << "seed " << seed << ": " << *failure << "\n" << program.text();
        }
    }
    EXPECT_GE(done.moves, programs);
}

// Cutting must leave programs that the model and the library agree on, or it would find failures
// of its own making.
TEST(Oracle, parts_of_programs_do_what_the_model_says)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        Program program = model::generate(seed);
        if (program.prim_count > 300)
            continue;
        for (size_t q = 0; q < program.queries.size(); q++) {
            while (!program.queries[q].empty()) {
                auto last = static_cast<uint32_t>(program.queries[q].size()) - 1;
                program = model::without_position(program, q, last / 2);
                auto failure = model::run(program, 0);
                ASSERT_FALSE(failure) << "seed " << seed << ": " << *failure << "\n"
                                      << program.text();
            }
        }
    }
}

TEST(Oracle, a_failing_program_is_cut_to_what_it_needs)
{
    // As if inserting prim 2 failed, once something was sealed.
    const auto fails = [](const Program &program) {
        bool sealed = false;
        for (const model::Step &step : program.steps) {
            sealed |= step.what == model::Do::advance;
            if (step.what != model::Do::write || step.mode != FLYRAIL_WRITE_INSERT || !sealed ||
                step.query < 0)
                continue;
            const std::vector<int> prims =
                model::addressed(step, program.queries[static_cast<size_t>(step.query)]);
            for (const model::EntryStep &entry : step.entries) {
                for (auto [element, row] : model::elements_of(entry, prims.size())) {
                    if (row < entry.rows && prims[element] == 2)
                        return true;
                }
            }
        }
        return false;
    };
    int cut = 0;
    for (uint64_t seed = 1; seed <= 250; seed++) {
        const Program program = model::generate(seed);
        if (program.prim_count > 300 || !fails(program))
            continue;
        const Program shorter = model::shrink(program, fails, std::chrono::seconds(60));
        cut++;
        ASSERT_TRUE(fails(shorter));
        ASSERT_EQ(shorter.steps.size(), 2u) << shorter.text();
        EXPECT_EQ(shorter.steps[0].what, model::Do::advance);
        EXPECT_EQ(shorter.steps[1].entries.size(), 1u) << shorter.text();
        ASSERT_EQ(shorter.queries.size(), 1u) << shorter.text();
        EXPECT_EQ(shorter.queries[0], std::vector<int>{2}) << shorter.text();
        EXPECT_EQ(shorter.prim_count, 3);
    }
    EXPECT_GT(cut, 20);
}

TEST(Oracle, what_uses_a_pending_query_is_cut_to_its_filter_and_itself)
{
    // As if what is written over a filter that nobody waited for was lost.
    const auto fails = [](const Program &program) {
        std::set<int> pending;
        for (const model::Step &step : program.steps) {
            if (step.what == model::Do::filter && step.later)
                pending.insert(step.query);
            if (step.what == model::Do::write && pending.count(step.query) != 0)
                return true;
        }
        return false;
    };
    int cut = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        const Program program = model::generate(seed);
        if (program.prim_count > 300 || !fails(program))
            continue;
        const Program shorter = model::shrink(program, fails, std::chrono::seconds(60));
        cut++;
        ASSERT_TRUE(fails(shorter));
        ASSERT_EQ(shorter.steps.size(), 2u) << shorter.text();
        EXPECT_EQ(shorter.steps[1].entries.size(), 1u) << shorter.text();
        EXPECT_FALSE(shorter.steps[1].entries[0].fits) << shorter.text();
        EXPECT_NE(shorter.text().find(" later"), std::string::npos) << shorter.text();
    }
    EXPECT_GT(cut, 3);
}

} // namespace
