// Thousands of cycles of everything that a stage is used for: what is kept for each op, query,
// read, ordinal, attribute or worker is given back or has a bound, so memory is flat after a
// warm-up.
#include <dirent.h>

#include <deque>
#include <random>

#include "tests/support/columns.h"
#include "tests/support/heap.h"

using namespace client;

namespace
{

// The library's constants shrink under sanitizers: a handle's place is then used a few times only,
// and its table grows.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool handles_wear_out = true;
#elif defined(__has_feature)
constexpr bool handles_wear_out =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool handles_wear_out = false;
#endif

// Of op records, some of which are made together, in bytes: as many more may be under way at once.
constexpr uint64_t op_slack = handles_wear_out ? 16384 : 65536;
constexpr size_t prims = 64, columns = 8;

uint64_t open_descriptors()
{
    uint64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

// The largest of each figure, in a window of cycles.
struct Most {
    uint64_t live = 0, payload = 0, history = 0, cache = 0, tables = 0, ops = 0, versions = 0,
             lanes = 0, descriptors = 0;

    void take(uint64_t live_bytes, const flyrail_statistics_t &now)
    {
        descriptors = std::max(descriptors, open_descriptors());
        live = std::max(live, live_bytes);
        payload = std::max(payload, now.payload_bytes + now.pooled_bytes);
        history = std::max(history, now.history_bytes);
        cache = std::max(cache, now.cache_bytes);
        tables = std::max(tables, now.table_bytes);
        ops = std::max(ops, now.op_bytes);
        versions = std::max(versions, now.versions_open + now.versions_sealed);
        lanes = std::max(lanes, now.lanes_open);
    }
};

// Values written, read and held, and what goes with that.
class Values
{
  public:
    // How many cycles, and of these how many until it has to be flat, in the most of so many.
    static constexpr uint64_t cycles = 10000, warm = 6000, window = 1000;

    explicit Values(const Stage &on) : stage(on)
    {
        for (size_t k = 0; k < columns; k++)
            names.push_back(stage.token("column " + std::to_string(k)));
        all = stage.query(prims);
    }

    void run(uint64_t number)
    {
        ordinal = number + 1;
        write_whole(number);
        write_list(number);
        write_batch(number);
        tasks();
        stage.finish(stage.seal(ordinal, OVSTAGE_SCOPE_INCLUDE, {names[number % columns]}));
        stage.finish(stage.seal(ordinal));
        EXPECT_EQ(stage.floor(names[number % columns]), ordinal);
        hold(number);
        while (held.size() > number % 6)
            let_go();
        while (queries.size() > number % 4) {
            stage.finish(ovstage_release_query(stage.instance, queries.front()));
            queries.pop_front();
        }
    }
    void end()
    {
        while (!held.empty())
            let_go();
        for (ovstage_query_handle_t query : queries)
            stage.finish(ovstage_release_query(stage.instance, query));
        queries.clear();
    }

  private:
    // A read whose groups are looked at later, when newer moments are sealed.
    struct Held {
        ovstage_read_handle_t read = 0;
        std::vector<ovstage_read_group_t> groups;
    };

    void write_whole(uint64_t number)
    {
        std::vector<float> values(prims, static_cast<float>(ordinal));
        stage.finish(stage.write(all, names[number % columns], ordinal, values));
        // Part of it again, and of what is open above.
        values.resize(1 + number % 5);
        stage.finish(stage.write(query(number, values.size()), names[number % columns],
                                 ordinal + number % 2, values));
    }
    // By a list of its own each time.
    void write_list(uint64_t number)
    {
        std::vector<float> values(5 + number % 13, static_cast<float>(ordinal));
        ovstage_query_handle_t some = query(7 * number, values.size());
        ovx_token_t name = names[(number + 3) % columns];
        stage.finish(stage.write(some, name, ordinal, values));
        if (number > 8) {
            EXPECT_FALSE(stage.read(some, name, ordinal - 1).empty());
        }
    }
    void write_batch(uint64_t number)
    {
        Payload first(ramp(prims), static_cast<int64_t>(prims)),
            second(ramp(prims), static_cast<int64_t>(prims));
        std::vector<ovstage_attribute_write_t> writes = {
            {named(names[(number + 1) % columns]), first.data},
            {named(names[(number + 5) % columns]), second.data}};
        stage.finish(ovstage_write_attributes(stage.instance, all, writes.data(), writes.size(),
                                              ordinal + 1 + number % 3, OVSTAGE_PRIM_MODE_UPSERT));
    }
    void tasks()
    {
        auto nothing = [](const flyrail_task_context_t *, void *) { return OVSTAGE_OK; };
        ovstage_enqueue_result_t free = task(stage, 0, nothing, nullptr);
        stage.finish(task(stage, ordinal, nothing, nullptr, {free.op_index}));
        stage.finish(free);
        EXPECT_EQ(flyrail_parallel_for(
                      stage.instance, 100, 10, [](uint64_t, uint64_t, void *) {}, nullptr),
                  OVSTAGE_OK);
    }
    void hold(uint64_t number)
    {
        Held made;
        ovstage_query_handle_t from = number % 2 ? all : queries.back();
        ovstage_enqueue_result_t result =
            ovstage_read_attributes(stage.instance, from, names.data(), columns,
                                    ovstage_ordinal_range_t{0, ordinal, false}, &made.read);
        stage.finish(result);
        ovstage_read_group_t group;
        while (ovstage_fetch_read_next(stage.instance, made.read, forever, &group) == OVSTAGE_OK)
            made.groups.push_back(group);
        EXPECT_GE(made.groups.size(), 1u);
        held.push_back(made);
    }
    void let_go()
    {
        Held &oldest = held.front();
        for (ovstage_read_group_t &group : oldest.groups)
            EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        stage.finish(ovstage_release_read(stage.instance, oldest.read));
        held.pop_front();
    }
    ovstage_query_handle_t query(uint64_t from, size_t count)
    {
        std::vector<std::string> paths;
        for (size_t k = 0; k < count; k++)
            paths.push_back("/P/" + std::to_string((from + 11 * k) % prims));
        queries.push_back(stage.query(paths));
        return queries.back();
    }

    const Stage &stage;
    std::vector<ovx_token_t> names;
    ovstage_query_handle_t all = 0;
    uint64_t ordinal = 0;
    std::deque<ovstage_query_handle_t> queries;
    std::deque<Held> held;
};

// Prims and keys that come and go, moments that are kept, and all that is opened and closed.
class Structure
{
  public:
    static constexpr uint64_t cycles = 360, warm = 240, window = 120;

    explicit Structure(const Stage &on) : stage(on), value(stage.token("value"))
    {
        world = stage.token("omni:fabric:worldMatrix");
        source = stage.query({"/S", "/S/a", "/S/a/b"});
        const std::vector<double> matrices(3 * 16, 1.0);
        Payload local(matrices, f64(16), {3});
        stage.finish(write(stage, source, stage.token("omni:xform"), 1, local.data));
        stage.finish(write(stage, source, world, 1, local.data));
        stage.finish(stage.write(source, value, 1, ramp(3)));
    }
    void run(uint64_t number)
    {
        ordinal = number + 2;
        take_back();
        replace_prims(number);
        copy_subtree(number);
        fill(number);
        find(number);
        told();
        stage.finish(stage.seal(ordinal));
        stage.finish(ovstage_compute_hierarchy(
            stage.instance, OVSTAGE_HIERARCHY_COMPUTATION_MODEL_CPU_INCREMENTAL, ordinal, ordinal));
        look_back(number);
        keep(number);
    }
    void end()
    {
        for (flyrail_snapshot_t snapshot : snapshots)
            EXPECT_EQ(flyrail_snapshot_close(stage.instance, snapshot), OVSTAGE_OK);
        snapshots.clear();
    }

  private:
    std::vector<std::string> names(uint64_t number) const
    {
        std::vector<std::string> paths;
        for (uint64_t k = 0; k < 3; k++)
            paths.push_back("/N/" + std::to_string((3 * number + k) % 30));
        return paths;
    }
    std::vector<std::string> copy(uint64_t number) const
    {
        const std::string root = "/T/" + std::to_string(number % 6);
        return {root, root + "/a", root + "/a/b"};
    }
    void drop(ovstage_query_handle_t query) const
    {
        stage.finish(ovstage_release_query(stage.instance, query));
    }
    void remove(const std::vector<std::string> &paths) const
    {
        ovstage_query_handle_t gone = stage.query(paths);
        stage.finish(ovstage_delete_attributes(stage.instance, gone, nullptr, 0, ordinal));
        drop(gone);
    }
    void take_back() const
    {
        ovstage_query_handle_t query = stage.query({"/D"});
        stage.finish(stage.write(query, value, ordinal, ramp(1)));
        stage.finish(flyrail_discard(stage.instance, ordinal));
        drop(query);
    }
    void replace_prims(uint64_t number) const
    {
        ovstage_query_handle_t made = stage.query(names(number));
        stage.finish(stage.write(made, value, ordinal, ramp(3), OVSTAGE_PRIM_MODE_INSERT));
        drop(made);
        if (number >= 5)
            remove(names(number - 5));
    }
    void copy_subtree(uint64_t number) const
    {
        const std::string from = "/S", to = copy(number)[0];
        const ovx_string_t target = text(to);
        stage.finish(ovstage_clone(stage.instance, text(from), &target, 1, ordinal));
        if (number >= 3)
            remove(copy(number - 3));
    }
    void fill(uint64_t number) const
    {
        const ovstage_map_desc_t desc{named(value), f32(), OVSTAGE_SEMANTIC_NONE,
                                      OVSTAGE_PRIM_MODE_UPSERT};
        ovstage_map_handle_t map = 0;
        ovstage_query_handle_t query = stage.query(1 + number % 5);
        stage.finish(
            ovstage_map_attribute(stage.instance, query, &desc, ordinal, nullptr, 0, &map));
        ovstage_map_group_t group;
        while (ovstage_fetch_map_next(stage.instance, map, forever, &group) == OVSTAGE_OK)
            std::memset(group.data.tensors[0].data, 0, group.data.count * sizeof(float));
        stage.finish(ovstage_unmap_attribute(stage.instance, map, {}));
        drop(query);
    }
    void find(uint64_t number) const
    {
        const std::string prefix = number % 2 ? "/N/" : "/T/";
        const ovx_string_t of = text(prefix);
        const ovstage_predicate_t predicate{named(stage.token("usd-path")),
                                            OVSTAGE_FILTER_OP_PREFIX, &of, 1};
        const ovstage_filter_t filter{&predicate, 1};
        ovstage_query_handle_t query = 0;
        stage.finish(ovstage_query(stage.instance, &filter, nullptr, 0, &query));
        ovstage_query_result_t result;
        EXPECT_EQ(ovstage_fetch_query_result(stage.instance, query, forever, &result), OVSTAGE_OK);
        EXPECT_GE(result.total_prim_count, number % 2 ? 3u : 1u);
        EXPECT_EQ(ovstage_release_query_result(stage.instance, &result), OVSTAGE_OK);
        drop(query);
    }
    void told() const
    {
        flyrail_event_t event = 0;
        int descriptor = -1;
        EXPECT_EQ(flyrail_event_open(stage.instance, &event, &descriptor), OVSTAGE_OK);
        EXPECT_EQ(flyrail_event_on_floor(stage.instance, event, value, ordinal + 2), OVSTAGE_OK);
        EXPECT_EQ(flyrail_event_close(stage.instance, event), OVSTAGE_OK);
    }
    void look(ovstage_enqueue_result_t result, ovstage_read_handle_t read) const
    {
        stage.finish(result);
        ovstage_read_group_t group;
        while (ovstage_fetch_read_next(stage.instance, read, forever, &group) == OVSTAGE_OK)
            EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        stage.finish(ovstage_release_read(stage.instance, read));
    }
    // A reader of changes that is some moments late.
    void look_back(uint64_t number) const
    {
        if (number < 20 || number % 3)
            return;
        ovstage_query_handle_t query = stage.query(names(number));
        ovstage_read_handle_t read = 0;
        const ovx_token_t both[2] = {value, world};
        ovstage_enqueue_result_t result =
            ovstage_read_attributes(stage.instance, query, both, 2,
                                    ovstage_ordinal_range_t{ordinal - 4, ordinal - 1, true}, &read);
        look(result, read);
        drop(query);
    }
    void keep(uint64_t number)
    {
        flyrail_snapshot_desc_t desc{};
        desc.struct_size = sizeof(desc);
        desc.newest = true;
        flyrail_snapshot_t snapshot = 0;
        EXPECT_EQ(flyrail_snapshot_open(stage.instance, &desc, &snapshot, nullptr), OVSTAGE_OK);
        snapshots.push_back(snapshot);
        if (snapshots.size() <= number % 5)
            return;
        ovstage_read_handle_t read = 0;
        ovstage_enqueue_result_t result =
            flyrail_snapshot_read(stage.instance, snapshots.front(), source, &value, 1, &read);
        look(result, read);
        EXPECT_EQ(flyrail_snapshot_close(stage.instance, snapshots.front()), OVSTAGE_OK);
        snapshots.pop_front();
    }

    const Stage &stage;
    ovx_token_t value, world = 0;
    ovstage_query_handle_t source = 0;
    uint64_t ordinal = 0;
    std::deque<flyrail_snapshot_t> snapshots;
};

// A few prims that others overlap are made or deleted at each ordinal: each is a change of some
// rows of several layouts.
class Overlapping
{
  public:
    static constexpr uint64_t warm = 2500, cycles = handles_wear_out ? warm + 500 : 12000,
                              window = 500;

    explicit Overlapping(const Stage &on) : stage(on), value(stage.token("value"))
    {
    }
    void run(uint64_t number)
    {
        const uint64_t ordinal = number + 1;
        const size_t first = random() % world;
        std::vector<std::string> paths;
        for (size_t k = 0; k < values.size(); k++)
            paths.push_back("/P/" + std::to_string((first + k) % world));
        ovstage_query_handle_t some = stage.query(paths);
        if (random() % 2)
            stage.finish(stage.write(some, value, ordinal, values));
        else
            stage.finish(ovstage_delete_attributes(stage.instance, some, nullptr, 0, ordinal));
        stage.finish(stage.seal(ordinal));
        stage.finish(ovstage_release_query(stage.instance, some));
    }
    void end()
    {
    }

  private:
    static constexpr size_t world = 256;
    const Stage &stage;
    const ovx_token_t value;
    const std::vector<float> values = ramp(5);
    std::mt19937 random{1};
};

// slack: records that are used again keep the room of the largest use, which comes to each in time;
// and what the timing of threads may make of it.
template <typename Cycle> void stays_flat(uint32_t workers, double slack)
{
    fr_test_heap *heap = fr_test_heap_create();
    const fr_allocator *allocator = fr_test_heap_allocator(heap);
    flyrail_config_t made = config(workers);
    made.allocator = {allocator->allocate, allocator->release, allocator->user};
    made.cache_limit_bytes = 64u << 10;
    {
        Stage stage(made);
        Cycle cycle(stage);
        Most early, late;
        for (uint64_t number = 0; number < Cycle::cycles && !testing::Test::HasFailure();
             number++) {
            cycle.run(number);
            flyrail_statistics_t now = stage.statistics();
            EXPECT_LE(now.cache_bytes, made.cache_limit_bytes);
            if (number >= Cycle::warm - Cycle::window && number < Cycle::warm)
                early.take(fr_test_heap_live_bytes(heap), now);
            if (number >= Cycle::cycles - Cycle::window)
                late.take(fr_test_heap_live_bytes(heap), now);
        }
        auto flat = [slack](uint64_t before, uint64_t after) {
            return static_cast<double>(after) <= static_cast<double>(before) * slack;
        };
        // How many ops are under way at once is a matter of timing, and a worker keeps some
        // records.
        const uint64_t ops_more = workers > 0 ? op_slack : 0;
        if (!handles_wear_out) {
            EXPECT_PRED2(flat, early.live + ops_more, late.live);
        }
        EXPECT_PRED2(flat, early.payload, late.payload);
        EXPECT_PRED2(flat, early.history, late.history);
        // Bounded by its limit, of which it has little here; what is in it differs by moments.
        EXPECT_PRED2(flat, early.cache + made.cache_limit_bytes / 16, late.cache);
        EXPECT_PRED2(flat, early.tables, late.tables);
        EXPECT_PRED2(flat, early.ops + ops_more, late.ops);
        EXPECT_PRED2(flat, early.versions, late.versions);
        // A worker may be late to leave the lane of an op that is complete.
        EXPECT_PRED2(flat, early.lanes + workers, late.lanes);
        EXPECT_EQ(early.descriptors, late.descriptors);
        cycle.end();
        // An op is complete before it is counted.
        EXPECT_EQ(flyrail_wait_room(stage.instance, made.op_limit, 0, forever), OVSTAGE_OK);
        flyrail_statistics_t now = stage.statistics();
        EXPECT_EQ(now.ops_unreleased, 0u);
        EXPECT_EQ(now.pins, 0u);
        EXPECT_EQ(now.ops_pending, 0u);
    }
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
}

TEST(FlatMemory, without_workers)
{
    stays_flat<Values>(0, 1.02);
}

TEST(FlatMemory, with_workers)
{
    stays_flat<Values>(2, 1.1);
}

TEST(FlatMemory, what_comes_and_goes)
{
    stays_flat<Structure>(0, 1.02);
}

TEST(FlatMemory, what_overlaps)
{
    stays_flat<Overlapping>(0, 1.1);
}

} // namespace
