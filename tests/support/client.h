// A small client of the stage, for tests: what most of them do, in a line each. C++ only; the tests
// are the clients that the interface is made for.
#ifndef FR_TESTS_SUPPORT_CLIENT_H
#define FR_TESTS_SUPPORT_CLIENT_H

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include <flyrail/flyrail.h>
#include <ovx/path_dictionary/path_dictionary.h>

namespace client
{

constexpr uint64_t forever = OVSTAGE_TIMEOUT_INFINITE;

inline ovx_string_t text(const std::string &string)
{
    return ovx_string_t{string.data(), string.size()};
}

inline std::string text(ovx_string_t string)
{
    return string.ptr ? std::string(string.ptr, string.length) : std::string();
}

inline std::string last_error()
{
    return text(ovstage_get_last_error());
}

inline flyrail_config_t config(uint32_t workers = FLYRAIL_WORKERS_AUTO)
{
    flyrail_config_t made;
    std::memset(&made, 0, sizeof(made));
    made.struct_size = sizeof(made);
    EXPECT_EQ(flyrail_get_default_config(&made), OVSTAGE_OK);
    made.worker_count = workers;
    made.own_pool = true;
    return made;
}

// An instance and its dictionary. Destroyed with the object, unless `destroy` was called.
class Stage
{
  public:
    explicit Stage(uint32_t workers = 2)
    {
        flyrail_config_t made = config(workers);
        open(&made);
    }
    explicit Stage(const flyrail_config_t &made)
    {
        open(&made);
    }
    Stage(const Stage &) = delete;
    Stage &operator=(const Stage &) = delete;
    ~Stage()
    {
        if (instance)
            destroy();
    }
    void destroy()
    {
        EXPECT_EQ(ovstage_destroy_instance(instance), OVSTAGE_OK);
        instance = nullptr;
    }

    ovx_token_t token(const std::string &name) const
    {
        ovx_token_t made = 0;
        ovx_string_t string = text(name);
        EXPECT_EQ(path_dictionary_create_tokens_from_strings(dictionary, &string, 1, &made).status,
                  OVX_API_SUCCESS);
        return made;
    }
    ovx_primpath_list_t list(const std::vector<std::string> &paths) const
    {
        std::vector<ovx_string_t> strings;
        for (const auto &path : paths)
            strings.push_back(text(path));
        ovx_primpath_list_t made = 0;
        EXPECT_EQ(path_dictionary_create_path_list_from_strings(dictionary, strings.data(),
                                                                strings.size(), &made)
                      .status,
                  OVX_API_SUCCESS);
        return made;
    }
    ovstage_query_handle_t query(const std::vector<std::string> &paths) const
    {
        ovx_primpath_list_t from = list(paths);
        ovstage_query_handle_t made = 0;
        EXPECT_EQ(ovstage_query_from_path_list(instance, from, &made), OVSTAGE_OK) << last_error();
        path_dictionary_release_path_list_reference(dictionary, from);
        return made;
    }
    // Paths /P/0 .. /P/(count - 1).
    ovstage_query_handle_t query(size_t count) const
    {
        std::vector<std::string> paths;
        for (size_t i = 0; i < count; i++)
            paths.push_back("/P/" + std::to_string(i));
        return query(paths);
    }

    // A column of one float for each value. The values must live until the op is complete.
    ovstage_enqueue_result_t write(ovstage_query_handle_t query, ovx_token_t attribute,
                                   uint64_t ordinal, const std::vector<float> &values,
                                   ovstage_prim_mode_t mode = OVSTAGE_PRIM_MODE_UPSERT) const
    {
        int64_t shape[1] = {static_cast<int64_t>(values.size())};
        DLTensor tensor{const_cast<float *>(values.data()),
                        {kDLCPU, 0},
                        1,
                        {kDLFloat, 32, 1},
                        shape,
                        nullptr,
                        0};
        ovstage_write_data_t data;
        std::memset(&data, 0, sizeof(data));
        data.tensors = &tensor;
        data.tensor_count = 1;
        return ovstage_write_attribute(instance, query, ovx_string_or_token_t{attribute, {}},
                                       ordinal, data, mode);
    }
    ovstage_enqueue_result_t seal(uint64_t ordinal) const
    {
        ovstage_write_floor_desc_t desc{ordinal, OVSTAGE_SCOPE_ALL, nullptr, 0};
        return ovstage_advance_write_floor(instance, &desc);
    }
    ovstage_enqueue_result_t seal(uint64_t ordinal, ovstage_scope_t scope,
                                  const std::vector<ovx_token_t> &attributes) const
    {
        ovstage_write_floor_desc_t desc{ordinal, scope, attributes.data(), attributes.size()};
        return ovstage_advance_write_floor(instance, &desc);
    }

    // Waits for an accepted op, expects that it did not fail, and releases it.
    void finish(ovstage_enqueue_result_t result) const
    {
        ASSERT_EQ(result.status, OVSTAGE_OK) << last_error();
        ovstage_op_wait_result_t outcome;
        ASSERT_EQ(ovstage_wait_op(instance, result.op_index, forever, &outcome), OVSTAGE_OK)
            << last_error();
        EXPECT_EQ(outcome.error_op_id_count, 0u)
            << (outcome.error_op_id_count
                    ? text(ovstage_get_last_op_error(instance, outcome.error_op_ids[0]))
                    : "");
        EXPECT_EQ(ovstage_release_op(instance, result.op_index), OVSTAGE_OK) << last_error();
    }

    // The values of one column that latest(ordinal) shows, as one group in query order; empty
    // without one.
    std::vector<float> read(ovstage_query_handle_t query, ovx_token_t attribute,
                            uint64_t ordinal) const
    {
        std::vector<float> values;
        ovstage_read_handle_t read = 0;
        ovstage_enqueue_result_t result = ovstage_read_attributes(
            instance, query, &attribute, 1, ovstage_ordinal_range_t{0, ordinal, false}, &read);
        EXPECT_EQ(result.status, OVSTAGE_OK) << last_error();
        if (result.status != OVSTAGE_OK)
            return values;
        ovstage_read_group_t group;
        ovstage_api_status_t status;
        while ((status = ovstage_fetch_read_next(instance, read, forever, &group)) == OVSTAGE_OK) {
            const DLTensor &tensor = group.data.tensors[0];
            const char *base = static_cast<const char *>(tensor.data) + tensor.byte_offset;
            for (uint32_t i = 0; i < group.data.count; i++) {
                float value;
                uint32_t row = group.data.index_map ? group.data.index_map[i] : i;
                std::memcpy(&value, base + row * sizeof(value), sizeof(value));
                values.push_back(value);
            }
            EXPECT_EQ(ovstage_release_group(instance, &group), OVSTAGE_OK) << last_error();
        }
        EXPECT_EQ(status, OVSTAGE_ERROR_END_OF_ITERATION) << last_error();
        finish(result);
        finish(ovstage_release_read(instance, read));
        return values;
    }

    // The executed floor of an attribute; token 0: the global one.
    uint64_t floor(ovx_token_t attribute = 0) const
    {
        ovstage_ordinal_query_handle_t handle = 0;
        ovstage_enqueue_result_t result = ovstage_get_attribute_write_floor(
            instance, ovx_string_or_token_t{attribute, {}}, &handle);
        EXPECT_EQ(result.status, OVSTAGE_OK) << last_error();
        uint64_t ordinal = UINT64_MAX;
        EXPECT_EQ(ovstage_fetch_ordinal(instance, handle, forever, &ordinal), OVSTAGE_OK);
        finish(result);
        finish(ovstage_release_ordinal_query(instance, handle));
        return ordinal;
    }

    flyrail_statistics_t statistics() const
    {
        flyrail_statistics_t out;
        std::memset(&out, 0, sizeof(out));
        out.struct_size = sizeof(out);
        EXPECT_EQ(flyrail_get_statistics(instance, &out), OVSTAGE_OK) << last_error();
        return out;
    }

    ovstage_instance_t *instance = nullptr;
    path_dictionary_instance_t *dictionary = nullptr;

  private:
    void open(const flyrail_config_t *made)
    {
        EXPECT_EQ(flyrail_create_instance(nullptr, made, &instance), OVSTAGE_OK) << last_error();
        if (instance)
            dictionary = ovstage_get_path_dictionary(instance);
    }
};

// A task that waits, when it runs, until the test lets it go: what is submitted behind it stays
// pending without a sleep or a guess. Takes up one worker, as soon as one is free: two gates on one
// worker run in any order, unless the first has been entered before the second is submitted.
// Without workers nothing runs by itself: no gate is needed.
class Gate
{
  public:
    // At ordinal 0: a free task. `then`: its status.
    ovstage_enqueue_result_t submit(const Stage &stage, uint64_t ordinal,
                                    const std::vector<ovstage_op_id_t> &deps = {},
                                    ovstage_api_status_t then = OVSTAGE_OK)
    {
        ovstage_enqueue_result_t result = try_submit(stage, ordinal, deps, then);
        EXPECT_EQ(result.status, OVSTAGE_OK) << last_error();
        return result;
    }
    // May be refused, where others seal.
    ovstage_enqueue_result_t try_submit(const Stage &stage, uint64_t ordinal,
                                        const std::vector<ovstage_op_id_t> &deps = {},
                                        ovstage_api_status_t then = OVSTAGE_OK)
    {
        state->status = then;
        flyrail_task_desc_t desc;
        std::memset(&desc, 0, sizeof(desc));
        desc.struct_size = sizeof(desc);
        desc.ordered = ordinal != 0;
        desc.ordinal = ordinal;
        desc.fn = run;
        desc.user = state;
        desc.deps = deps.data();
        desc.dep_count = deps.size();
        ovstage_enqueue_result_t result = flyrail_submit_task(stage.instance, &desc);
        id = result.op_index;
        return result;
    }
    void let_go()
    {
        std::lock_guard<std::mutex> lock(state->mutex);
        state->open = true;
        state->changed.notify_all();
    }
    // Until the task runs.
    void wait_entered()
    {
        std::unique_lock<std::mutex> lock(state->mutex);
        state->changed.wait(lock, [this] { return state->entered; });
    }
    Gate() = default;
    Gate(const Gate &) = delete;
    Gate &operator=(const Gate &) = delete;
    ~Gate()
    {
        let_go();
    }

    ovstage_op_id_t id = 0;

  private:
    // The task's own: it may begin, or look once more, when the gate is gone.
    struct State {
        std::mutex mutex;
        std::condition_variable changed;
        bool entered = false, open = false;
        ovstage_api_status_t status = OVSTAGE_OK;
    };
    // Kept to the end of the program, since nobody knows which task never runs.
    static State *keep()
    {
        static std::mutex mutex;
        static auto *const all = new std::deque<State>;
        std::lock_guard<std::mutex> lock(mutex);
        return &all->emplace_back();
    }
    static ovstage_api_status_t run(const flyrail_task_context_t *, void *user)
    {
        State *state = static_cast<State *>(user);
        std::unique_lock<std::mutex> lock(state->mutex);
        state->entered = true;
        state->changed.notify_all();
        state->changed.wait(lock, [state] { return state->open; });
        return state->status;
    }

    State *const state = keep();
};

// A task by its description's parts.
inline ovstage_enqueue_result_t task(const Stage &stage, uint64_t ordinal, flyrail_task_fn fn,
                                     void *user, const std::vector<ovstage_op_id_t> &deps = {})
{
    flyrail_task_desc_t desc;
    std::memset(&desc, 0, sizeof(desc));
    desc.struct_size = sizeof(desc);
    desc.ordered = ordinal != 0;
    desc.ordinal = ordinal;
    desc.fn = fn;
    desc.user = user;
    desc.deps = deps.data();
    desc.dep_count = deps.size();
    return flyrail_submit_task(stage.instance, &desc);
}

} // namespace client

#endif
