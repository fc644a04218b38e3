// What a program leaves behind: the memory, the handles, and the end.
#include "tests/contract/fuzz_cases.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace fuzz
{

namespace
{

// More than this is never there for one allocation: payloads may claim any size.
constexpr size_t largest_bytes = size_t(32) << 20;

thread_local const char *running_call = "";
std::mutex program_lock;
std::string &program_text()
{
    static auto *text = new std::string;
    return *text;
}

// Lives as long as the process: the dictionary does, then, and so do handles of another instance.
class Keeper
{
  public:
    Keeper()
    {
        flyrail_config_t config{};
        config.struct_size = sizeof(config);
        demand(flyrail_get_default_config(&config) == OVSTAGE_OK, "there are defaults");
        config.worker_count = 0;
        demand(flyrail_create_instance(nullptr, &config, &instance) == OVSTAGE_OK, "a keeper");
        demand(ovstage_query_from_path_list(instance, 0, &query) != OVSTAGE_OK, "no list");
        path_dictionary_instance_t *dictionary = ovstage_get_path_dictionary(instance);
        ovx_primpath_list_t list = 0;
        demand(path_dictionary_create_path_list_from_paths(dictionary, nullptr, 0, &list).status ==
                   OVX_API_SUCCESS,
               "an empty list");
        demand(ovstage_query_from_path_list(instance, list, &query) == OVSTAGE_OK, "a query");
    }
    ovstage_instance_t *instance = nullptr;
    ovstage_query_handle_t query = 0;
};

Keeper &keeper()
{
    static auto *kept = new Keeper;
    return *kept;
}

const char *const texts[] = {"/A",     "/A/B",         "/A/B/C", "/A/B/D", "/A/E",       "/F",
                             "/F/G",   "/F/G/H/I/J/K", "/",      "/A2",    "/L/M",       "/L/N",
                             "/L/N/O", "/P/0",         "/P/1",   "/P/2",   "/P/\xff\xfe"};

} // namespace

void running(const char *call)
{
    running_call = call;
}

void program(const std::string &how)
{
    std::lock_guard<std::mutex> guard(program_lock);
    program_text() = how;
}

void demand(bool holds, const char *what, uint64_t value)
{
    if (holds)
        return;
    const ovx_string_t error = ovstage_get_last_error();
    std::lock_guard<std::mutex> guard(program_lock);
    std::fprintf(stderr, "not so: %s (%llu; %.*s)\nin: %s of %s\n", what,
                 static_cast<unsigned long long>(value), static_cast<int>(error.length),
                 error.ptr ? error.ptr : "", running_call, program_text().c_str());
    std::fflush(stderr);
    std::abort();
}

uint64_t Bytes::number()
{
    const uint8_t how = byte();
    if (how < 160)
        return how % 20;
    if (how < 200)
        return byte();
    const uint64_t edge = how % 5 == 0 ? 0 : uint64_t(1) << (byte() % 64);
    return edge + (byte() % 5) - 2;
}

std::vector<uint8_t> Bytes::piece(size_t most)
{
    const size_t left = static_cast<size_t>(end_ - at_);
    const size_t count = std::min<size_t>(std::min<size_t>(byte(), most), left ? left - 1 : 0);
    std::vector<uint8_t> taken(at_, at_ + count);
    at_ += count;
    return taken;
}

void *Heap::allocate(size_t size_bytes, size_t alignment_bytes)
{
    const uint64_t call = calls_.fetch_add(1) + 1, fail_at = fail_at_.load();
    if (fail_at && (call == fail_at || (call > fail_at && ever_after_.load()))) {
        failed_ = true;
        return nullptr;
    }
    void *memory = nullptr;
    if (size_bytes > largest_bytes || posix_memalign(&memory, alignment_bytes, size_bytes))
        return nullptr;
    live_bytes += static_cast<int64_t>(size_bytes);
    return memory;
}

void Heap::release(void *memory, size_t size_bytes)
{
    live_bytes -= static_cast<int64_t>(size_bytes);
    std::free(memory);
}

void Heap::fail(uint64_t k, bool ever_after)
{
    fail_at_ = 0;
    calls_ = 0;
    ever_after_ = ever_after;
    fail_at_ = k;
}

World::World(const Way &way, Bytes *settings) : way_(way)
{
    flyrail_config_t config{};
    config.struct_size = sizeof(config);
    demand(flyrail_get_default_config(&config) == OVSTAGE_OK, "there are defaults");
    config.worker_count = way.workers;
    config.own_pool = true;
    config.spin_ns = 1000;
    config.allocator.allocate = [](size_t size_bytes, size_t alignment_bytes, void *user) {
        return static_cast<Heap *>(user)->allocate(size_bytes, alignment_bytes);
    };
    config.allocator.release = [](void *memory, size_t size_bytes, void *user) {
        static_cast<Heap *>(user)->release(memory, size_bytes);
    };
    config.allocator.user = &heap;
    const uint8_t limits = settings->byte();
    config.adopt_managed = limits & 1;
    config.caller_runs = !(limits & 2);
    if (limits & 4)
        config.history_versions = limits >> 5;
    if (limits & 8)
        config.history_limit_bytes = settings->number();
    if (limits & 16)
        config.cache_limit_bytes = settings->number();
    if (settings->once_in(8))
        config.op_limit = 1 + settings->byte();
    if (settings->once_in(8))
        config.pending_limit_bytes = 1 + uint64_t(64) * settings->byte();

    path_dictionary_instance_t *names = ovstage_get_path_dictionary(keeper().instance);
    for (const char *text : texts) {
        ovx_string_t string{text, std::strlen(text)};
        ovx_primpath_t path = 0;
        demand(path_dictionary_create_paths_from_strings(names, &string, 1, &path).status ==
                   OVX_API_SUCCESS,
               "a path");
        paths.push_back(path);
    }
    for (size_t i = 0; i < 80; i++) {
        const std::string text = "/Q/" + std::to_string(i);
        ovx_string_t string{text.data(), text.size()};
        ovx_primpath_t path = 0;
        demand(path_dictionary_create_paths_from_strings(names, &string, 1, &path).status ==
                   OVX_API_SUCCESS,
               "a path");
        paths.push_back(path);
    }
    for (size_t i = 0; i < attribute_count; i++) {
        ovx_string_t string{attributes[i].name, std::strlen(attributes[i].name)};
        ovx_token_t token = 0;
        demand(path_dictionary_create_tokens_from_strings(names, &string, 1, &token).status ==
                   OVX_API_SUCCESS,
               "a token");
        tokens.push_back(token);
    }
    heap.fail(way.fails_at, way.fails_ever_after);
    const ovstage_api_status_t status = flyrail_create_instance(nullptr, &config, &instance);
    demand(status == OVSTAGE_OK || (way.fails_at && status == OVSTAGE_ERROR_OUT_OF_MEMORY),
           "an instance", status);
    demand((status == OVSTAGE_OK) == (instance != nullptr), "an instance or none");
    if (instance)
        dictionary = ovstage_get_path_dictionary(instance);
}

World::~World()
{
    heap.fail(0, false);
    if (instance && way_.tidies_up)
        end();
    dying = true;
    if (instance) {
        demand(ovstage_destroy_instance(instance) == OVSTAGE_OK, "destroyed");
        flyrail_statistics_t now{};
        now.struct_size = sizeof(now);
        demand(flyrail_get_statistics(instance, &now) == OVSTAGE_ERROR_INVALID_ARGUMENT,
               "a dead instance is told");
        demand(ovstage_destroy_instance(instance) == OVSTAGE_ERROR_INVALID_ARGUMENT,
               "a dead instance is not destroyed");
    }
    for (; initialized > 0; initialized--)
        demand(ovstage_shutdown() == OVSTAGE_OK, "shut down");
    demand(ovstage_shutdown() == OVSTAGE_ERROR_INVALID_ARGUMENT, "shut down once too often");
    demand(managed == 0, "every deleter ran", static_cast<uint64_t>(managed.load()));
    demand(heap.live_bytes == 0, "memory is back", static_cast<uint64_t>(heap.live_bytes.load()));
    path_dictionary_instance_t *names = ovstage_get_path_dictionary(keeper().instance);
    for (const auto &[list, count] : live_[static_cast<size_t>(Kind::list)])
        for (int i = 0; i < count; i++)
            demand(path_dictionary_release_path_list_reference(names, list).status ==
                       OVX_API_SUCCESS,
                   "a list outlives the instance");
}

template <typename T> bool World::take(std::deque<T> &from, T *out)
{
    std::lock_guard<std::mutex> guard(lock_);
    if (from.empty())
        return false;
    *out = from.front();
    from.pop_front();
    return true;
}

bool World::take(Group *out)
{
    return take(groups_, out);
}
bool World::take(Map *out)
{
    return take(maps_, out);
}
bool World::take(ovstage_query_result_t *out)
{
    return take(results_, out);
}
bool World::take(ovstage_hierarchy_result_t *out)
{
    return take(relatives_, out);
}
void World::put(const Group &group)
{
    std::lock_guard<std::mutex> guard(lock_);
    groups_.push_back(group);
}
void World::put(const Map &map)
{
    std::lock_guard<std::mutex> guard(lock_);
    maps_.push_back(map);
}
void World::put(const ovstage_query_result_t &result)
{
    std::lock_guard<std::mutex> guard(lock_);
    results_.push_back(result);
}
void World::put(const ovstage_hierarchy_result_t &result)
{
    std::lock_guard<std::mutex> guard(lock_);
    relatives_.push_back(result);
}

void World::made(Kind kind, uint64_t handle, uint32_t count)
{
    demand(handle != 0, "a handle is not 0");
    std::lock_guard<std::mutex> guard(lock_);
    const size_t k = static_cast<size_t>(kind);
    const int now = ++live_[k][handle];
    // 0: another thread guessed it, and gave it back already.
    demand(now == 0 || now == 1, "a handle is not used again", handle);
    if (recent_[k].size() < 12)
        recent_[k].push_back(handle);
    else
        recent_[k][handle % 12] = handle;
    if (kind == Kind::query)
        counts_[handle] = count;
}

void World::gone(Kind kind, uint64_t handle)
{
    std::lock_guard<std::mutex> guard(lock_);
    const int now = --live_[static_cast<size_t>(kind)][handle];
    demand(now == 0 || now == -1, "one release succeeds", handle);
}

bool World::claim(uint64_t list)
{
    std::lock_guard<std::mutex> guard(lock_);
    int &count = live_[static_cast<size_t>(Kind::list)][list];
    if (count < 1)
        return false;
    count--;
    return true;
}

uint64_t World::handle(Kind kind, uint32_t number)
{
    std::lock_guard<std::mutex> guard(lock_);
    const auto &of = recent_[static_cast<size_t>(kind)];
    return of.empty() ? 0 : of[number % of.size()];
}

uint32_t World::count_of(uint64_t query)
{
    std::lock_guard<std::mutex> guard(lock_);
    const auto found = counts_.find(query);
    return found == counts_.end() ? 0 : found->second;
}

Work *World::keep(std::vector<uint8_t> bytes, ovstage_api_status_t status)
{
    std::lock_guard<std::mutex> guard(lock_);
    work_.push_back(Work{this, std::move(bytes), status});
    return &work_.back();
}

// One that is live still, or 0.
uint64_t World::ending(Kind kind)
{
    std::lock_guard<std::mutex> guard(lock_);
    for (const auto &[handle, count] : live_[static_cast<size_t>(kind)]) {
        demand(count == 0 || count == 1, "as many releases as handles", handle);
        if (count == 1)
            return handle;
    }
    return 0;
}

void World::end_handles(Client *client)
{
    while (uint64_t read = ending(Kind::read))
        demand(client->gone(ovstage_release_read(instance, read), Kind::read, read), "read");
    while (uint64_t query = ending(Kind::query))
        demand(client->gone(ovstage_release_query(instance, query), Kind::query, query), "query");
    while (uint64_t asked = ending(Kind::ordinal))
        demand(client->gone(ovstage_release_ordinal_query(instance, asked), Kind::ordinal, asked),
               "ordinal query");
    while (uint64_t asked = ending(Kind::hierarchy))
        demand(client->gone(ovstage_release_hierarchy(instance, asked), Kind::hierarchy, asked),
               "lookup");
    while (uint64_t snapshot = ending(Kind::snapshot)) {
        demand(flyrail_snapshot_close(instance, snapshot) == OVSTAGE_OK, "snapshot");
        gone(Kind::snapshot, snapshot);
    }
    while (uint64_t event = ending(Kind::event)) {
        demand(flyrail_event_close(instance, event) == OVSTAGE_OK, "event");
        gone(Kind::event, event);
    }
}

// When nothing is pending: what runs makes handles, and releases some.
void World::end_ops(Client *client)
{
    flyrail_statistics_t now{};
    now.struct_size = sizeof(now);
    // An op is complete before it is counted.
    do {
        std::this_thread::yield();
        demand(client->ok(flyrail_run(instance, 0, nullptr)), "the rest runs");
        demand(client->ok(flyrail_get_statistics(instance, &now)), "statistics");
    } while (now.ops_pending || now.ops_completed < now.ops_accepted);
    while (uint64_t op = ending(Kind::op)) {
        ovstage_op_wait_result_t outcome;
        demand(client->ok(ovstage_wait_op(instance, op, OVSTAGE_TIMEOUT_INFINITE, &outcome)),
               "an op ends");
        for (size_t i = 0; i < outcome.error_op_id_count; i++)
            client->text_of(ovstage_get_last_op_error(instance, outcome.error_op_ids[i]));
        demand(client->ok(ovstage_release_op(instance, op)), "an op is released");
        gone(Kind::op, op);
    }
}

void World::end()
{
    Client client(this, Bytes(nullptr, 0), 0);
    end_ops(&client);
    Map map;
    while (take(&map))
        client.ok(ovstage_unmap_attribute(instance, map.handle, {}));
    (void)flyrail_trace_stop(instance);
    end_handles(&client);
    Group group;
    while (take(&group)) {
        uint64_t sum = 0;
        demand(client.show(group.group, &sum) && sum == group.sum, "a group stays as it was");
        demand(client.ok(ovstage_release_group(instance, &group.group)), "group");
    }
    ovstage_query_result_t result;
    while (take(&result))
        demand(client.ok(ovstage_release_query_result(instance, &result)), "result");
    ovstage_hierarchy_result_t relatives;
    while (take(&relatives))
        demand(client.ok(ovstage_release_hierarchy_result(instance, &relatives)), "relatives");
    end_ops(&client);
    flyrail_statistics_t now{};
    now.struct_size = sizeof(now);
    demand(client.ok(flyrail_get_statistics(instance, &now)), "statistics");
    demand(now.pins == 0, "no pins", now.pins);
    demand(now.ops_unreleased == 0, "no ids", now.ops_unreleased);
    demand(now.snapshots_open == 0, "no snapshots", now.snapshots_open);
}

namespace
{

void run_client(World *world, const uint8_t *bytes, size_t count)
{
    Client(world, Bytes(bytes, count), 0).run();
}

} // namespace

bool run(const uint8_t *bytes, size_t count, const Way &way)
{
    Bytes settings(bytes, std::min<size_t>(count, 4));
    World world(way, &settings);
    if (!world.instance)
        return world.heap.failed();
    const size_t from = std::min<size_t>(count, 4), left = count - from;
    std::thread lent, other;
    if (way.lends_a_thread)
        lent = std::thread([&world] {
            const ovstage_api_status_t status =
                flyrail_worker_run(world.instance, &world.stop_lending);
            demand(status == OVSTAGE_OK || status == OVSTAGE_ERROR_OUT_OF_MEMORY, "lent", status);
        });
    const size_t own = way.two_clients ? left / 2 : left;
    if (way.two_clients)
        other = std::thread([&] { run_client(&world, bytes + from + own, left - own); });
    run_client(&world, bytes + from, own);
    if (way.two_clients)
        other.join();
    const bool failed = world.heap.failed();
    world.heap.fail(0, false);
    if (way.lends_a_thread) {
        demand(flyrail_worker_stop(world.instance, &world.stop_lending) == OVSTAGE_OK, "stopped");
        lent.join();
    }
    return failed;
}

} // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    fuzz::Bytes settings(bytes, count);
    const uint8_t how = settings.byte();
    fuzz::Way way;
    way.workers = how & 1 ? 2 : 0;
    way.two_clients = (how & 6) == 6;
    way.lends_a_thread = (how & 24) == 24;
    way.tidies_up = (how & 96) != 96;
    way.fails_at = how & 128 ? 1 + settings.byte() : 0;
    way.fails_ever_after = settings.once_in(4);
    fuzz::run(bytes + (count ? 1 : 0), count ? count - 1 : 0, way);
    return 0;
}
