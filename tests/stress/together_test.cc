// Every call beside every other one, for the sanitizers; at the end all must be as the order of
// acceptance says (L3).
//
// FR_TOGETHER_SEED: from this one on. FR_TOGETHER_RUNS: so many, and each is told. FR_TEST_LONG:
// more.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <thread>

#include "tests/support/together.h"

namespace
{

using namespace together;

constexpr uint32_t threads = 3;

class Drawn : public Together
{
  public:
    using Together::Together;
    void run()
    {
        using Call = void (Drawn::*)();
        static const Call calls[] = {
            &Drawn::write_some, &Drawn::write_some,  &Drawn::write_all,   &Drawn::write_fresh,
            &Drawn::write_rows, &Drawn::write_array, &Drawn::write_other, &Drawn::insert,
            &Drawn::map,        &Drawn::remove,      &Drawn::discard,     &Drawn::clone,
            &Drawn::compute,    &Drawn::seal,        &Drawn::seal,        &Drawn::seal_one,
            &Drawn::read,       &Drawn::read,        &Drawn::range,       &Drawn::let_go,
            &Drawn::filter,     &Drawn::filter,      &Drawn::snapshot,    &Drawn::look_up,
            &Drawn::task,       &Drawn::wait_for,    &Drawn::watch,       &Drawn::tell,
            &Drawn::spell};
        for (uint32_t step = 0; step < steps; step++) {
            (this->*calls[pick(sizeof(calls) / sizeof(calls[0]))])();
            while (pending.size() > 12)
                settle();
        }
        while (!pending.empty())
            settle();
        for (Held &group : held)
            give_back(group);
        EXPECT_EQ(ovstage_release_query(stage.instance, list).status, OVSTAGE_OK);
    }

  private:
    void write_flat(const std::set<uint32_t> &which, ovstage_prim_mode_t mode)
    {
        uint64_t at = ordinal();
        auto payload = floats(which, at);
        ovstage_query_handle_t query =
            which.size() == prims ? on.all : stage.query(named_paths(which));
        Done entry{Done::writes, at, 0, which};
        took(write(stage, query, on.flat, at, payload->data, mode), payload,
             mode == OVSTAGE_PRIM_MODE_UPSERT, &entry);
        if (query != on.all)
            release(query);
    }
    void write_some()
    {
        write_flat(some(1 + pick(12)), OVSTAGE_PRIM_MODE_UPSERT);
    }
    void insert()
    {
        write_flat(some(40), OVSTAGE_PRIM_MODE_INSERT);
    }
    void write_all()
    {
        std::set<uint32_t> which;
        for (uint32_t p = 0; p < prims; p++)
            which.insert(p);
        write_flat(which, OVSTAGE_PRIM_MODE_UPSERT);
    }
    // New rows of what has some, several times at one ordinal.
    void write_fresh()
    {
        uint64_t at = ordinal();
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t count = 1 + pick(20);
            Paths names;
            for (uint32_t n = 0; n < count; n++)
                names.push_back("/n/" + std::to_string(on.fresh++));
            auto payload = std::make_shared<Payload>(
                std::vector<float>(count, static_cast<float>(value_of(at, code - 1))),
                static_cast<int64_t>(count));
            ovstage_query_handle_t query = stage.query(names);
            took(write(stage, query, on.flat, at, payload->data), payload, true);
            release(query);
        }
    }
    void write_rows()
    {
        std::set<uint32_t> which = some(8);
        std::vector<uint32_t> rows(which.begin(), which.end());
        uint64_t at = ordinal();
        auto payload = floats(which, at);
        Done entry{Done::writes, at, 0, which};
        took(flyrail_write_rows(stage.instance, on.all, named(on.flat), at, rows.data(),
                                rows.size(), payload->data, FLYRAIL_WRITE_UPSERT),
             payload, true, &entry);
    }
    void write_array()
    {
        uint64_t at = ordinal();
        std::set<uint32_t> which = some(1 + pick(9));
        Rows<double> rows;
        for (uint32_t p : which)
            rows.push_back(std::vector<double>(1 + p % 5, value_of(at, p)));
        auto payload = std::make_shared<RowPayload<double>>(rows, f64());
        ovstage_query_handle_t query = stage.query(named_paths(which));
        took(write(stage, query, on.array, at, payload->data), payload, true);
        release(query);
    }
    // Types, local and world transforms.
    void write_other()
    {
        uint64_t at = ordinal();
        std::set<uint32_t> which = some(3);
        ovstage_query_handle_t query = stage.query(named_paths(which));
        auto rows = static_cast<int64_t>(which.size());
        if (pick(3) == 0) {
            std::vector<uint64_t> tokens;
            for (uint32_t p : which)
                tokens.push_back(on.kinds[(p + at) % on.kinds.size()]);
            auto payload = std::make_shared<Payload>(tokens, u64(), std::vector<int64_t>{rows});
            payload->data.semantic = OVSTAGE_SEMANTIC_TOKEN_ID;
            took(write(stage, query, on.kind, at, payload->data), payload, true);
        } else {
            std::vector<double> values;
            for (uint32_t p : which) {
                Matrix matrix = translation(value_of(at, p));
                values.insert(values.end(), matrix.begin(), matrix.end());
            }
            auto payload = std::make_shared<Payload>(values, f64(16), std::vector<int64_t>{rows});
            payload->data.semantic = OVSTAGE_SEMANTIC_MATRIX;
            took(write(stage, query, pick(2) ? on.local : on.world, at, payload->data), payload,
                 true);
        }
        release(query);
    }
    void map()
    {
        std::set<uint32_t> which = some(6);
        uint64_t at = ordinal();
        ovstage_map_desc_t desc;
        std::memset(&desc, 0, sizeof(desc));
        desc.attribute = named(on.flat);
        desc.dtype = f32();
        ovstage_query_handle_t query = stage.query(named_paths(which));
        ovstage_map_handle_t handle = 0;
        bool opened =
            took(ovstage_map_attribute(stage.instance, query, &desc, at, nullptr, 0, &handle));
        release(query);
        ovstage_map_group_t group;
        if (!opened)
            return;
        if (ovstage_fetch_map_next(stage.instance, handle, forever, &group) == OVSTAGE_OK) {
            auto *to = static_cast<float *>(group.data.tensors[0].data);
            for (uint32_t p : which)
                *to++ = static_cast<float>(value_of(at, p));
        }
        Done entry{Done::writes, at, 0, which};
        took(ovstage_unmap_attribute(stage.instance, handle, ovstage_cuda_sync_t{}), nullptr, false,
             &entry);
    }
    void remove()
    {
        std::set<uint32_t> which = some(12);
        uint64_t at = ordinal();
        ovx_string_or_token_t names[2] = {named(on.flat), named(on.array)};
        ovstage_query_handle_t query = stage.query(named_paths(which));
        Done entry{Done::deletes, at, 0, which};
        took(ovstage_delete_attributes(stage.instance, query, names, pick(4) ? 2 : 0, at), nullptr,
             false, &entry);
        release(query);
    }
    void discard()
    {
        if (pick(3) != 0)
            return;
        uint64_t at = on.floor.load() + 2 + pick(3);
        Done entry{Done::discards, at, 0, {}};
        took(flyrail_discard(stage.instance, at), nullptr, false, &entry);
    }
    void clone()
    {
        std::string source = "/p/" + std::to_string(pick(5));
        std::string target = "/c/" + std::to_string(on.next_clone++);
        ovx_string_t to = text(target);
        took(ovstage_clone(stage.instance, text(source), &to, 1, ordinal()));
    }
    void compute()
    {
        uint64_t floor = on.floor.load();
        took(
            ovstage_compute_hierarchy(stage.instance, cpu_model, floor - pick(2), floor + pick(2)));
    }

    // --- seals -------------------------------------------------------------------------------
    void seal()
    {
        took(stage.seal(on.floor.fetch_add(1) + 1), nullptr, true);
    }
    void seal_one()
    {
        took(stage.seal(on.floor.load() + 1,
                        pick(2) ? OVSTAGE_SCOPE_INCLUDE : OVSTAGE_SCOPE_EXCLUDE,
                        {pick(2) ? on.array : on.kind}),
             nullptr, true);
    }

    void snapshot()
    {
        flyrail_snapshot_desc_t desc;
        std::memset(&desc, 0, sizeof(desc));
        desc.struct_size = sizeof(desc);
        desc.newest = true;
        desc.attributes = &on.flat;
        desc.attribute_count = 1;
        flyrail_snapshot_t opened = 0;
        ovstage_ordinal_t at = 0;
        ASSERT_EQ(flyrail_snapshot_open(stage.instance, &desc, &opened, &at), OVSTAGE_OK);
        ovstage_query_handle_t query = stage.query(on.keep);
        for (int turn = 0; turn < 2; turn++) {
            ovstage_read_handle_t handle = 0;
            auto result =
                flyrail_snapshot_read(stage.instance, opened, query, &on.flat, 1, &handle);
            EXPECT_EQ(result.status, OVSTAGE_OK) << last_error();
            std::vector<uint32_t> of{0, 1, 2, 3, 4, 5};
            fetch(result, handle, of, 1); // written at 1, and never since
            std::vector<uint32_t> every;
            for (uint32_t p = 0; p < prims; p++)
                every.push_back(p);
            result = flyrail_snapshot_read(stage.instance, opened, on.all, &on.flat, 1, &handle);
            EXPECT_EQ(result.status, OVSTAGE_OK) << last_error();
            fetch(result, handle, every, at);
            if (turn == 0)
                seal();
        }
        release(query);
        EXPECT_EQ(flyrail_snapshot_close(stage.instance, opened), OVSTAGE_OK);
    }

    // --- queries -----------------------------------------------------------------------------
    void filter()
    {
        std::string low = std::to_string(static_cast<int64_t>(value_of(on.floor.load(), 0)));
        const std::vector<std::vector<Where>> every = {
            {{"flat", OVSTAGE_FILTER_OP_HAS, {}}},
            {{"flat", OVSTAGE_FILTER_OP_GE, {low}}},
            {{"array", OVSTAGE_FILTER_OP_LT, {low}}, {"flat", OVSTAGE_FILTER_OP_HAS, {}}},
            {{"usd-path", OVSTAGE_FILTER_OP_PREFIX, {"/p/1", "/n/1"}}},
            {{"usd-path", OVSTAGE_FILTER_OP_HAS, {}}},
            {{"usd-path", OVSTAGE_FILTER_OP_IN, {on.paths[1], on.paths[2], "/none"}},
             {"flat", OVSTAGE_FILTER_OP_LE, {low}}},
            {{"usd-parent", OVSTAGE_FILTER_OP_IN, {"/p/2"}}},
            {{"usd-children", OVSTAGE_FILTER_OP_CONTAINS, {on.paths[3]}}},
            {{"usd-prim-type", OVSTAGE_FILTER_OP_IN, {"Mesh", "Scope"}}},
            {{"usd-prim-type", OVSTAGE_FILTER_OP_PREFIX, {"M"}}}};
        uint32_t which = pick(every.size());
        ovstage_query_handle_t query = 0;
        std::vector<ovx_token_t> asked;
        if (pick(2))
            asked.push_back(on.flat);
        if (!took(submit(stage, every[which], &query, asked), nullptr, true))
            return;
        ovstage_query_result_t result;
        EXPECT_EQ(ovstage_fetch_query_result(stage.instance, query, forever, &result), OVSTAGE_OK);
        if (which == 0) {
            EXPECT_GE(result.total_prim_count, kept);
        }
        if (which == 5) {
            EXPECT_LE(result.total_prim_count, 2u);
        }
        EXPECT_EQ(ovstage_release_query_result(stage.instance, &result), OVSTAGE_OK);
        ovx_token_t names[2] = {on.flat, stage.token("usd-path")};
        ovstage_read_handle_t handle = 0;
        auto read =
            ovstage_read_attributes(stage.instance, query, names, 2,
                                    ovstage_ordinal_range_t{0, on.floor.load(), false}, &handle);
        ovstage_read_group_t group;
        if (took(read)) {
            while (ovstage_fetch_read_next(stage.instance, handle, forever, &group) == OVSTAGE_OK)
                held.push_back({group, sum_of(group)});
            EXPECT_EQ(ovstage_release_read(stage.instance, handle).status, OVSTAGE_OK);
        }
        release(query);
    }
    void look_up()
    {
        ovstage_hierarchy_handle_t handle = 0;
        ovx_primpath_list_t of =
            stage.list({on.paths[pick(prims)], "/p/" + std::to_string(pick(5))});
        auto relation = static_cast<ovstage_hierarchy_relation_t>(pick(3));
        bool accepted =
            took(ovstage_get_hierarchy(stage.instance, of, on.floor.load(), relation, &handle));
        path_dictionary_release_path_list_reference(stage.dictionary, of);
        if (!accepted)
            return;
        settle_all();
        ovstage_hierarchy_result_t result;
        if (ovstage_fetch_hierarchy_result(stage.instance, handle, &result) == OVSTAGE_OK) {
            EXPECT_EQ(ovstage_release_hierarchy_result(stage.instance, &result), OVSTAGE_OK);
        }
        EXPECT_EQ(ovstage_release_hierarchy(stage.instance, handle).status, OVSTAGE_OK);
    }
    // --- tasks and waits ---------------------------------------------------------------------
    static ovstage_api_status_t work(const flyrail_task_context_t *context, void *user)
    {
        auto *cells = static_cast<std::atomic<uint32_t> *>(user);
        auto body = [](uint64_t begin, uint64_t end, void *to) {
            *static_cast<std::atomic<uint32_t> *>(to) += static_cast<uint32_t>(end - begin);
        };
        for (int turn = 0; turn < 2; turn++)
            if (flyrail_parallel_for(context->instance, 50, 7, body, cells) != OVSTAGE_OK)
                return OVSTAGE_ERROR_OUT_OF_MEMORY;
        return *cells == 100 ? OVSTAGE_OK : OVSTAGE_ERROR_INTERNAL;
    }
    void task()
    {
        auto cells = std::make_shared<std::atomic<uint32_t>>(0);
        std::vector<ovstage_op_id_t> deps;
        if (!pending.empty() && pick(2) && pending.back().must_work)
            deps.push_back(pending.back().id);
        took(client::task(stage, pick(2) ? ordinal() : 0, work, cells.get(), deps), cells);
    }
    void wait_for()
    {
        std::vector<ovstage_op_id_t> ids;
        for (const Pending &op : pending)
            ids.push_back(op.id);
        uint32_t which = pick(5);
        if (which == 0)
            EXPECT_EQ(flyrail_wait_all(stage.instance, ids.data(), ids.size(), forever),
                      OVSTAGE_OK);
        else if (which == 1 && !ids.empty())
            EXPECT_EQ(flyrail_wait_any(stage.instance, ids.data(), ids.size(), forever, nullptr),
                      OVSTAGE_OK);
        else if (which == 2)
            (void)flyrail_wait_floor(stage.instance, on.flat, on.floor.load(), 1000);
        else if (which == 3)
            EXPECT_EQ(flyrail_wait_room(stage.instance, 1, 1, forever), OVSTAGE_OK);
        else
            (void)flyrail_run(stage.instance, 2, nullptr);
    }
    void watch()
    {
        flyrail_event_t event = 0;
        int descriptor = -1;
        ASSERT_EQ(flyrail_event_open(stage.instance, &event, &descriptor), OVSTAGE_OK);
        EXPECT_EQ(flyrail_event_on_floor(stage.instance, event, on.flat, on.floor.load() + 1),
                  OVSTAGE_OK);
        if (!pending.empty())
            took(flyrail_event_on_ops(stage.instance, event, &pending.back().id, 1), nullptr, true);
        EXPECT_EQ(flyrail_event_close(stage.instance, event), OVSTAGE_OK);
    }
    void tell()
    {
        char why[256];
        (void)stage.statistics();
        if (!pending.empty()) {
            EXPECT_EQ(flyrail_explain(stage.instance, pending[pick(pending.size())].id, why,
                                      sizeof(why), nullptr),
                      OVSTAGE_OK);
        }
        ovstage_ordinal_query_handle_t handle = 0;
        took(pick(2) ? ovstage_get_oldest_preserved_ordinal(stage.instance, &handle)
                     : ovstage_get_attribute_write_floor(stage.instance, named(on.flat), &handle));
        ovstage_ordinal_t at = 0;
        EXPECT_EQ(ovstage_fetch_ordinal(stage.instance, handle, forever, &at), OVSTAGE_OK);
        EXPECT_EQ(ovstage_release_ordinal_query(stage.instance, handle).status, OVSTAGE_OK);
        if (pick(3) == 0)
            (void)flyrail_trace_start(stage.instance, 16);
        else
            (void)flyrail_trace_stop(stage.instance);
        (void)flyrail_trace_span(stage.instance, "told", 1, 1, 2);
    }
    // Names, lists, and a query that is parked and taken again.
    void spell()
    {
        std::string name = "/p/" + std::to_string(pick(1000));
        (void)stage.token(name.substr(3));
        ovx_primpath_list_t of = stage.list({name, on.paths[0]});
        path_dictionary_release_path_list_reference(stage.dictionary, of);
        release(list);
        list = stage.query(on.keep);
    }

    ovstage_query_handle_t list = stage.query(on.keep);
};

// The newest value of each prim by all that was accepted; 0: none.
std::map<uint32_t, uint64_t> newest(const std::vector<std::unique_ptr<Drawn>> &clients)
{
    std::vector<Done> all;
    for (const auto &client : clients)
        for (const Done &entry : client->done)
            if (!entry.failed)
                all.push_back(entry);
    std::sort(all.begin(), all.end(), [](const Done &a, const Done &b) {
        return a.ordinal != b.ordinal ? a.ordinal < b.ordinal : a.id < b.id;
    });
    std::map<uint32_t, uint64_t> at;
    for (size_t k = 0; k < all.size(); k++) {
        bool taken_back = false;
        for (size_t later = k + 1; later < all.size() && all[later].ordinal == all[k].ordinal;
             later++)
            taken_back = taken_back || all[later].what == Done::discards;
        for (uint32_t prim : all[k].which)
            if (!taken_back)
                at[prim] = all[k].what == Done::writes ? all[k].ordinal : 0;
    }
    return at;
}

void run(uint64_t seed)
{
    Shared on(static_cast<uint32_t>(seed % 3));
    Stage &stage = on.stage;
    std::vector<float> ones;
    for (uint32_t k = 0; k < kept; k++)
        ones.push_back(static_cast<float>(value_of(1, k)));
    stage.finish(stage.write(stage.query(on.keep), on.flat, 1, ones));
    stage.finish(stage.seal(1));
    std::vector<std::unique_ptr<Drawn>> clients;
    for (uint32_t t = 0; t < threads; t++)
        clients.push_back(std::make_unique<Drawn>(on, seed * threads + t));
    uint32_t until = 0;
    std::thread lent([&] { EXPECT_EQ(flyrail_worker_run(stage.instance, &until), OVSTAGE_OK); });
    std::vector<std::thread> team;
    for (auto &client : clients)
        team.emplace_back([&client] { client->run(); });
    for (auto &thread : team)
        thread.join();
    EXPECT_EQ(flyrail_worker_stop(stage.instance, &until), OVSTAGE_OK);
    lent.join();
    uint64_t last = on.floor.load() + 10;
    stage.finish(stage.seal(last));
    std::map<uint32_t, uint64_t> expected = newest(clients);
    Snapshot snapshot(stage, on.all, {on.flat}, last);
    std::map<uint32_t, uint64_t> found;
    for (const ovstage_read_group_t &group : snapshot.groups)
        for (const auto &[prim, values] : Snapshot::rows(group))
            found[prim] = static_cast<uint64_t>(values[0]) / code;
    for (uint32_t prim = 0; prim < prims; prim++)
        EXPECT_EQ(found[prim], expected[prim]) << "prim " << prim;
    snapshot.release();
    EXPECT_EQ(stage.statistics().pins, 0u);
}

uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

TEST(Together, EveryCallBesideEveryOther)
{
    uint64_t first = number_from("FR_TOGETHER_SEED", 1);
    uint64_t runs = number_from("FR_TOGETHER_RUNS", std::getenv("FR_TEST_LONG") ? 300 : 3);
    for (uint64_t seed = first; seed < first + runs && !HasFailure(); seed++) {
        if (std::getenv("FR_TOGETHER_RUNS"))
            std::cout << "seed " << seed << std::endl;
        SCOPED_TRACE("FR_TOGETHER_SEED=" + std::to_string(seed));
        run(seed);
    }
}

} // namespace
