// Computing world transforms: many nodes, and programs against a sequential reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/composer.h"
#include "tests/support/heap.h"

namespace
{

using namespace client;

class Compute : public testing::TestWithParam<uint32_t>
{
  protected:
    Composer it{GetParam()};
    Stage &stage{it.stage};
};

INSTANTIATE_TEST_SUITE_P(Workers, Compute, testing::Values(0u, 3u));

// --- many nodes ----------------------------------------------------------------------------------

// A root, `wide` prims below it, and a chain of `deep` below each tenth of them.
Scene many(size_t wide, size_t deep)
{
    std::mt19937 random(11);
    std::uniform_real_distribution<double> element(-1, 1);
    Scene scene;
    auto add = [&](const std::string &path) {
        Matrix matrix;
        for (double &value : matrix)
            value = element(random);
        scene.locals[path] = matrix;
    };
    add("/R");
    for (size_t i = 0; i < wide; i++) {
        std::string path = "/R/" + std::to_string(i);
        add(path);
        for (size_t d = 0; i % 10 == 0 && d < deep; d++)
            add(path += "/c");
    }
    return scene;
}

TEST_P(Compute, L11_many_nodes_give_the_same_bits_with_any_number_of_workers)
{
    Scene scene = many(3000, 5);
    Paths all;
    for (const auto &[path, matrix] : scene.locals)
        all.push_back(path);
    it.locals(scene.locals, 1);
    it.seed(all, 1);
    stage.finish(stage.seal(1));
    it.compute(1, 1);
    EXPECT_EQ(it.at(all, 1), expected(scene, all));
    // A few leaves, then what is above most.
    for (const std::string &path :
         {std::string("/R/7"), std::string("/R/10/c/c"), std::string("/R")}) {
        uint64_t ordinal = stage.floor() + 1;
        scene.locals[path] = scale(static_cast<double>(ordinal));
        it.locals({{path, scene.locals[path]}}, ordinal);
        stage.finish(stage.seal(ordinal));
        it.compute(ordinal, ordinal);
        EXPECT_EQ(it.at(all, ordinal), expected(scene, all));
        size_t below = 0;
        for (const std::string &other : all)
            below += other == path || other.rfind(path + "/", 0) == 0;
        EXPECT_EQ(it.changed(all, ordinal, ordinal).size(), below);
    }
}

// --- beside others -------------------------------------------------------------------------------

// One local above everything, so that at any moment all worlds are the same, whichever they are;
// their rows lie in many segments, since they were made at many moments.
class Flock
{
  public:
    static constexpr uint64_t moments = 24, prims_each = 3;

    explicit Flock(uint32_t workers) : it(config_of(workers))
    {
        for (uint64_t moment = 1; moment <= moments; moment++) {
            Paths some;
            for (uint64_t k = 0; k < prims_each; k++)
                some.push_back("/R/" + std::to_string(moment) + "_" + std::to_string(k));
            all.insert(all.end(), some.begin(), some.end());
            it.seed(some, moment, 0);
            it.stage.finish(it.stage.seal(moment));
        }
        move(moments + 1);
        query = it.stage.query(all);
    }
    static flyrail_config_t config_of(uint32_t workers)
    {
        flyrail_config_t made = config(workers);
        made.history_versions = 1000; // whoever is slow finds its moment still
        return made;
    }
    // Composes, and composes late what was before; now and then at the same ordinal again.
    void move(uint64_t ordinal)
    {
        it.locals({{"/R", marked(static_cast<double>(ordinal))}}, ordinal);
        it.stage.finish(it.stage.seal(ordinal));
        it.compute(ordinal, ordinal);
        newest = ordinal;
        if (ordinal % 3 == 0)
            it.compute(ordinal - 1, ordinal);
        if (ordinal % 5 == 0)
            it.compute(ordinal, ordinal - 1);
    }
    // The value that all rows have.
    double look(const Snapshot &snapshot) const
    {
        Worlds rows;
        for (const ovstage_read_group_t &group : snapshot.groups)
            Composer::add_rows(group, all, &rows);
        EXPECT_EQ(rows.size(), all.size());
        for (const auto &[path, matrix] : rows)
            EXPECT_EQ(matrix, rows.begin()->second) << path;
        return rows.empty() ? 0 : rows.begin()->second[0];
    }
    // Reads this moment and the one before, and holds on to it for a while.
    void watch(const std::atomic<bool> &stop)
    {
        std::vector<std::pair<std::unique_ptr<Snapshot>, double>> held;
        while (!stop && !testing::Test::HasFailure()) {
            uint64_t ordinal = newest - held.size() % 2;
            auto snapshot = std::make_unique<Snapshot>(it.stage, query,
                                                       std::vector<ovx_token_t>{it.world}, ordinal);
            ASSERT_EQ(snapshot->status, OVSTAGE_OK) << last_error();
            double value = look(*snapshot);
            held.emplace_back(std::move(snapshot), value);
            if (held.size() > 5) {
                ASSERT_EQ(look(*held.front().first), held.front().second);
                held.erase(held.begin());
            }
        }
    }

    Composer it;
    Paths all;
    ovstage_query_handle_t query = 0;
    std::atomic<uint64_t> newest{0};
};

TEST(ComputeBeside, L4_L11_reads_see_a_computation_whole_or_not_at_all)
{
    Flock flock(2);
    std::atomic<bool> stop{false};
    std::vector<std::thread> readers;
    for (int reader = 0; reader < 2; reader++)
        readers.emplace_back([&] { flock.watch(stop); });
    // Others write at open ordinals far above, to new prims and to some that are composed.
    std::thread writer([&] {
        for (uint64_t ordinal = 100000; !stop; ordinal++) {
            std::string name = "/R/x" + std::to_string(ordinal % 50);
            flock.it.seed({name, flock.all[ordinal % flock.all.size()]}, ordinal % 40 + 100000);
        }
    });
    for (uint64_t k = 0; k < 60 && !HasFailure(); k++)
        flock.move(flock.newest + 1);
    stop = true;
    writer.join();
    for (std::thread &reader : readers)
        reader.join();
}

// --- programs against a sequential reference -----------------------------------------------------

// One column by everything that was ever accepted for it, judged by ordinal, then by acceptance.
template <typename Value> class History
{
  public:
    void put(const std::string &path, uint64_t ordinal, std::optional<Value> value)
    {
        auto &events = of[path];
        auto place = events.end();
        while (place != events.begin() && std::prev(place)->first > ordinal)
            --place;
        events.insert(place, {ordinal, value});
    }
    // The newest event at or below the ordinal.
    const std::pair<uint64_t, std::optional<Value>> *at(const std::string &path,
                                                        uint64_t ordinal) const
    {
        auto found = of.find(path);
        const std::pair<uint64_t, std::optional<Value>> *newest = nullptr;
        if (found != of.end())
            for (const auto &event : found->second)
                newest = event.first <= ordinal ? &event : newest;
        return newest && newest->second ? newest : nullptr;
    }

  private:
    std::map<std::string, std::vector<std::pair<uint64_t, std::optional<Value>>>> of;
};

class Program
{
  public:
    // The heap may be NULL: memory does not fail then.
    Program(uint32_t workers, uint32_t seed, fr_test_heap *from = nullptr)
        : it(config_of(workers, from)), heap(from), random(seed)
    {
        for (const char *a : {"/a", "/b", "/c"}) {
            pool.push_back(a);
            for (const char *b : {"/d", "/e", "/f"}) {
                pool.push_back(pool.back().substr(0, 2) + b);
                for (const char *c : {"/g", "/h"})
                    pool.push_back(std::string(a) + b + c);
            }
        }
    }

    // Some computations with the k-th allocation failing, after some steps. Returns how many
    // allocations they ask for.
    uint64_t fail(uint64_t k, bool ever_after)
    {
        run(60, false);
        fr_test_heap_fail(heap, k, ever_after);
        const std::pair<uint64_t, uint64_t> runs[] = {
            {floor, floor}, {floor - 1, floor - 1}, {floor - 1, floor}, {floor, floor + 1}};
        for (const auto &[input, output] : runs)
            compute(input, output);
        uint64_t asked = fr_test_heap_calls(heap);
        fr_test_heap_fail(heap, 0, 0);
        check();
        run(2);
        return asked;
    }
    void run(int steps, bool checks = true)
    {
        for (int step = 0; step < steps && !testing::Test::HasFailure(); step++) {
            switch (random() % 8) {
            case 0:
            case 1:
                write_locals();
                break;
            case 2:
                write_resets();
                break;
            case 3:
                seed_worlds();
                break;
            case 4:
                remove();
                break;
            case 5:
                floor += random() % 2;
                note("seal", floor, {});
                it.stage.finish(it.stage.seal(floor));
                break;
            default:
                compute();
            }
            if (checks)
                check();
        }
        held.clear();
    }

  private:
    static flyrail_config_t config_of(uint32_t workers, fr_test_heap *heap)
    {
        flyrail_config_t made = config(workers);
        if (heap) {
            const fr_allocator *allocator = fr_test_heap_allocator(heap);
            made.allocator.allocate = allocator->allocate;
            made.allocator.release = allocator->release;
            made.allocator.user = allocator->user;
        }
        made.history_versions = 16; // so that no moment that is looked at is gone
        return made;
    }
    Paths some()
    {
        std::shuffle(pool.begin(), pool.end(), random);
        return Paths(pool.begin(), pool.begin() + 1 + random() % (random() % 4 ? 4 : pool.size()));
    }
    template <typename Rows> static Paths keys(const Rows &rows)
    {
        Paths paths;
        for (const auto &row : rows)
            paths.push_back(row.first);
        return paths;
    }
    void note(const std::string &what, uint64_t ordinal, const Paths &paths)
    {
        log += "\n" + what + " " + std::to_string(ordinal);
        for (const std::string &path : paths)
            log += " " + path;
    }
    uint64_t open()
    {
        return floor + 1 + random() % 3;
    }
    Matrix any()
    {
        switch (random() % 3) {
        case 0:
            return translation(static_cast<double>(random() % 3), random() % 2);
        case 1:
            return scale(1.0 + static_cast<double>(random() % 2));
        default:
            return marked(static_cast<double>(random() % 3));
        }
    }

    void write_locals()
    {
        uint64_t ordinal = open();
        Worlds rows;
        for (const std::string &path : some())
            rows[path] = any();
        note("locals", ordinal, keys(rows));
        it.locals(rows, ordinal);
        for (const auto &[path, matrix] : rows)
            locals.put(path, ordinal, matrix);
    }
    void write_resets()
    {
        uint64_t ordinal = open();
        std::map<std::string, bool> rows;
        for (const std::string &path : some())
            rows[path] = random() % 3 == 0;
        note("resets", ordinal, keys(rows));
        it.resets(rows, ordinal);
        for (const auto &[path, value] : rows)
            resets.put(path, ordinal, value);
    }
    void seed_worlds()
    {
        uint64_t ordinal = open();
        double value = -1.0 - static_cast<double>(random() % 2);
        Paths paths = some();
        note("seed", ordinal, paths);
        it.seed(paths, ordinal, value);
        for (const std::string &path : paths)
            worlds.put(path, ordinal, marked(value));
    }
    void remove()
    {
        uint64_t ordinal = open();
        Paths paths = some();
        paths.resize(1 + paths.size() / 4);
        bool whole = random() % 3 == 0, world = random() % 2;
        note(whole ? "delete" : world ? "delete worlds" : "delete locals", ordinal, paths);
        it.remove(whole   ? std::vector<ovx_token_t>{}
                  : world ? std::vector<ovx_token_t>{it.world}
                          : std::vector<ovx_token_t>{it.local, it.reset},
                  paths, ordinal);
        for (const std::string &path : paths) {
            if (whole || world)
                worlds.put(path, ordinal, std::nullopt);
            if (whole || !world)
                locals.put(path, ordinal, std::nullopt);
            if (whole || !world)
                resets.put(path, ordinal, std::nullopt);
        }
    }
    uint64_t recent(uint64_t from)
    {
        uint64_t back = random() % 4;
        return from > back ? from - back : 0;
    }
    void compute()
    {
        uint64_t input = recent(floor);
        compute(input, random() % 2 ? input : recent(floor + 2));
    }
    // Whether it was done: else there was no memory, and nothing happened.
    bool computed(uint64_t input, uint64_t output)
    {
        ovstage_enqueue_result_t result = it.submit(input, output);
        if (result.status != OVSTAGE_OK) {
            EXPECT_EQ(result.status, OVSTAGE_ERROR_OUT_OF_MEMORY) << last_error();
            return false;
        }
        ovstage_op_wait_result_t outcome;
        EXPECT_EQ(ovstage_wait_op(it.stage.instance, result.op_index, forever, &outcome),
                  OVSTAGE_OK);
        if (outcome.error_op_id_count > 0) {
            std::string why = text(ovstage_get_last_op_error(it.stage.instance, result.op_index));
            EXPECT_NE(why.find("memory"), std::string::npos) << why;
        }
        EXPECT_EQ(ovstage_release_op(it.stage.instance, result.op_index), OVSTAGE_OK);
        return outcome.error_op_id_count == 0;
    }
    void compute(uint64_t input, uint64_t output)
    {
        note("compute " + std::to_string(input) + " to", output, {});
        bool done = computed(input, output);
        EXPECT_TRUE(done || heap);
        if (!done)
            return;
        Scene scene;
        for (const std::string &path : pool) {
            if (auto local = locals.at(path, input))
                scene.locals[path] = *local->second;
            if (auto reset = resets.at(path, input))
                scene.resets[path] = *reset->second;
        }
        for (const std::string &path : pool) {
            auto there = worlds.at(path, output);
            // At an open ordinal rows that are not sealed are written, whatever they hold.
            bool unsealed = there && there->first > floor && output > floor;
            if (there && (unsealed || *there->second != scene.world(path)))
                worlds.put(path, output, scene.world(path));
        }
    }

    // By path: the first element and the translation of what is there and what should be.
    static std::string differences(const Worlds &there, const Worlds &wanted)
    {
        auto show = [](const Worlds &rows, const std::string &path) {
            auto found = rows.find(path);
            if (found == rows.end())
                return std::string(" none");
            const Matrix &matrix = found->second;
            return " " + std::to_string(matrix[0]) + "/" + std::to_string(matrix[12]) + "/" +
                   std::to_string(matrix[13]);
        };
        Worlds both = there;
        both.insert(wanted.begin(), wanted.end());
        std::string out;
        for (const auto &[path, matrix] : both)
            if (there.count(path) != wanted.count(path) ||
                there.find(path)->second != wanted.find(path)->second)
                out += "\n" + path + show(there, path) + show(wanted, path);
        return out;
    }
    Worlds expect_at(uint64_t ordinal, uint64_t start = 0)
    {
        Worlds rows;
        for (const std::string &path : pool)
            if (auto event = worlds.at(path, ordinal); event && event->first >= start)
                rows[path] = *event->second;
        return rows;
    }
    struct Held {
        Paths paths;
        Worlds expected;
        Snapshot snapshot;
        Held(const Composer &it, const Paths &of, uint64_t ordinal, const Worlds &rows)
            : paths(of), expected(rows), snapshot(it.stage, it.stage.query(of), {it.world}, ordinal)
        {
        }
        ~Held()
        {
            Worlds rows;
            for (const ovstage_read_group_t &group : snapshot.groups)
                Composer::add_rows(group, paths, &rows);
            EXPECT_EQ(rows, expected);
        }
    };
    void check()
    {
        for (uint64_t ordinal = recent(floor); ordinal <= floor; ordinal++) {
            ASSERT_EQ(differences(it.at(pool, ordinal), expect_at(ordinal)), "")
                << "at " << ordinal << " of " << floor << log;
            for (uint64_t start = 1; start <= ordinal; start++)
                ASSERT_EQ(differences(it.changed(pool, start, ordinal), expect_at(ordinal, start)),
                          "")
                    << start << " to " << ordinal << " of " << floor << log;
        }
        if (random() % 6 == 0 && floor > 0) {
            uint64_t ordinal = recent(floor);
            held.push_back(std::make_unique<Held>(it, pool, ordinal, expect_at(ordinal)));
        }
        if (held.size() > 3)
            held.erase(held.begin() + static_cast<long>(random() % held.size()));
    }

    Composer it;
    fr_test_heap *heap;
    std::mt19937 random;
    Paths pool;
    uint64_t floor = 0;
    std::string log; // what was done, for failures
    History<Matrix> locals, worlds;
    History<bool> resets;
    std::vector<std::unique_ptr<Held>> held;
};

TEST_P(Compute, L3_L5_L11_programs_equal_a_sequential_reference)
{
    for (uint32_t seed = 1; seed <= 2 && !HasFailure(); seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Program(GetParam(), seed).run(120);
    }
}

// Returns how many allocations the computations ask for.
uint64_t fail(uint32_t seed, uint64_t k, bool ever_after)
{
    SCOPED_TRACE("seed " + std::to_string(seed) + ", allocation " + std::to_string(k));
    fr_test_heap *heap = fr_test_heap_create();
    uint64_t asked = Program(0, seed, heap).fail(k, ever_after);
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    return asked;
}

TEST(ComputeMemory, the_kth_allocation_fails)
{
    uint64_t asked = fail(1, 0, false);
    ASSERT_GT(asked, 20u);
    for (uint64_t k = 1; k <= asked + 1 && !HasFailure(); k++)
        fail(1, k, k % 4 == 0);
}

} // namespace
