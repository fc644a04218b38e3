// Calls about ops and waits, names, and the process.
#include "tests/contract/fuzz_cases.h"

#include <algorithm>
#include <cstring>

namespace fuzz
{

bool Client::dictionary_ok(ovx_api_result_t result)
{
    if (result.status == OVX_API_SUCCESS)
        return true;
    text_of(result.error);
    path_dictionary_release_error(world_.dictionary, result.error);
    return false;
}

void Client::wait()
{
    ovstage_op_wait_result_t outcome{};
    const bool told = !bytes_.once_in(8);
    if (!ok(ovstage_wait_op(world_.instance, handle(Kind::op), timeout(true),
                            told ? &outcome : nullptr)))
        return;
    for (size_t i = 0; i < outcome.error_op_id_count; i++)
        text_of(ovstage_get_last_op_error(world_.instance, outcome.error_op_ids[i]));
    (void)ovstage_get_last_op_error(world_.instance, bytes_.number());
}

void Client::wait_many()
{
    const std::vector<ovstage_op_id_t> awaited = ops();
    size_t which = 0;
    if (bytes_.below(2))
        ok(flyrail_wait_all(world_.instance, awaited.data(), awaited.size(), timeout(true)));
    else if (ok(flyrail_wait_any(world_.instance, awaited.data(), awaited.size(), timeout(true),
                                 &which)))
        demand(which < awaited.size(), "one of them", which);
}

// What may never come is not waited for without an end.
void Client::wait_for_what_is_there()
{
    if (bytes_.below(2))
        ok(flyrail_wait_floor(world_.instance, bytes_.below(2) ? token() : 0, ordinal(),
                              timeout(false)));
    else
        ok(flyrail_wait_room(world_.instance, bytes_.number(), bytes_.number(), timeout(false)));
}

void Client::op_release()
{
    const uint64_t op = handle(Kind::op);
    if (ok(ovstage_release_op(world_.instance, op)))
        world_.gone(Kind::op, op);
}

void Client::task()
{
    const std::vector<ovstage_op_id_t> deps = ops();
    flyrail_task_desc_t desc{};
    desc.struct_size = bytes_.once_in(60) ? bytes_.byte() : sizeof(desc);
    desc.ordered = bytes_.below(2) == 0;
    desc.ordinal = ordinal();
    desc.deps = deps.data();
    desc.dep_count = deps.size();
    desc.name = bytes_.below(2) ? "fuzz" : nullptr;
    if (bytes_.below(4)) {
        const auto status = static_cast<ovstage_api_status_t>(bytes_.below(4)   ? 0
                                                              : bytes_.below(4) ? bytes_.below(15)
                                                                                : bytes_.number());
        desc.user = world_.keep(depth_ < 2 ? bytes_.piece(30) : std::vector<uint8_t>(), status);
        const uint32_t depth = depth_;
        using Run = ovstage_api_status_t (*)(const flyrail_task_context_t *, void *);
        static constexpr Run outer = [](const flyrail_task_context_t *, void *user) {
            Work *work = static_cast<Work *>(user);
            Client(work->world, Bytes(work->bytes.data(), work->bytes.size()), 1).run();
            return work->status;
        };
        static constexpr Run inner = [](const flyrail_task_context_t *, void *user) {
            Work *work = static_cast<Work *>(user);
            Client(work->world, Bytes(work->bytes.data(), work->bytes.size()), 2).run();
            return work->status;
        };
        desc.fn = depth == 0 ? outer : inner;
    }
    ok(flyrail_submit_task(world_.instance, &desc));
}

void Client::parallel()
{
    std::atomic<uint64_t> sum{0};
    const uint64_t count = bytes_.once_in(4) ? bytes_.byte() * 10u : bytes_.below(5);
    const auto add = [](uint64_t begin, uint64_t end, void *user) {
        *static_cast<std::atomic<uint64_t> *>(user) += end - begin;
    };
    void (*const body)(uint64_t, uint64_t, void *) = add;
    const bool all = ok(flyrail_parallel_for(world_.instance, count, bytes_.number(),
                                             bytes_.once_in(40) ? nullptr : body, &sum));
    demand(sum == (all ? count : 0), "each once", sum);
}

void Client::run_ops()
{
    uint64_t ran = 0;
    ok(flyrail_run(world_.instance, bytes_.below(8), bytes_.below(2) ? &ran : nullptr));
}

void Client::event_open()
{
    flyrail_event_t event = 0;
    int descriptor = -1;
    if (ok(flyrail_event_open(world_.instance, &event, &descriptor)))
        world_.made(Kind::event, event);
    else
        demand(event == 0, "no event");
}

void Client::event_on()
{
    const std::vector<ovstage_op_id_t> awaited = ops();
    if (bytes_.below(2))
        ok(flyrail_event_on_ops(world_.instance, handle(Kind::event), awaited.data(),
                                awaited.size()));
    else
        ok(flyrail_event_on_floor(world_.instance, handle(Kind::event), token(), ordinal()));
}

void Client::event_close()
{
    const uint64_t event = handle(Kind::event);
    if (ok(flyrail_event_close(world_.instance, event)))
        world_.gone(Kind::event, event);
}

void Client::explain()
{
    std::vector<char> text(bytes_.once_in(4) ? bytes_.byte() : 400, 'x');
    size_t length = 0;
    if (ok(flyrail_explain(world_.instance, handle(Kind::op), text.data(), text.size(), &length)) &&
        !text.empty())
        demand(std::strlen(text.data()) == std::min(length, text.size() - 1), "a text", length);
}

void Client::trace()
{
    switch (bytes_.below(5)) {
    case 0:
        ok(flyrail_trace_start(world_.instance, static_cast<uint32_t>(bytes_.number() % 1000)));
        break;
    case 1:
        ok(flyrail_trace_stop(world_.instance));
        break;
    case 2:
        ok(flyrail_trace_span(world_.instance, bytes_.once_in(20) ? nullptr : "span",
                              bytes_.number(), bytes_.number(), bytes_.number()));
        break;
    default: {
        uint32_t left = bytes_.byte();
        ok(flyrail_trace_write(
            world_.instance, static_cast<flyrail_trace_format_t>(bytes_.below(3)),
            [](const char *, size_t, void *user) {
                uint32_t *pieces = static_cast<uint32_t *>(user);
                return *pieces == 0 || --*pieces != 0;
            },
            &left));
        break;
    }
    }
}

void Client::statistics()
{
    flyrail_statistics_t now{};
    now.struct_size = bytes_.once_in(8) ? bytes_.byte() : sizeof(now);
    if (ok(flyrail_get_statistics(world_.instance, &now)))
        demand(now.pins < 1u << 20 && now.pending_bytes < UINT64_C(1) << 50 &&
                   now.keys < 1u << 20 && now.prims < 1u << 20 && now.payload_bytes < 1u << 30,
               "counts do not fall below 0");
}

void Client::dictionary_names()
{
    ovx_string_t strings[3];
    const uint32_t count = bytes_.below(4);
    for (uint32_t i = 0; i < count; i++)
        strings[i] = text();
    ovx_primpath_t paths[3] = {};
    ovx_token_t names[3] = {};
    if (bytes_.below(2))
        dictionary_ok(
            path_dictionary_create_paths_from_strings(world_.dictionary, strings, count, paths));
    else
        dictionary_ok(
            path_dictionary_create_tokens_from_strings(world_.dictionary, strings, count, names));
    const size_t lengths[2] = {bytes_.below(3), bytes_.below(2)};
    ovx_token_t elements[3] = {token(), token(), token()};
    dictionary_ok(
        path_dictionary_create_paths_from_tokens(world_.dictionary, elements, lengths, 2, paths));
    ovx_string_t texts[3];
    if (dictionary_ok(
            path_dictionary_get_strings_from_tokens(world_.dictionary, elements, 3, texts)))
        for (size_t i = 0; i < 3; i++)
            demand(!texts[i].length || texts[i].ptr[texts[i].length] == 0, "a token's text");
    const ovx_primpath_t some[2] = {world_.paths[bytes_.byte() % world_.paths.size()],
                                    bytes_.once_in(8) ? bytes_.number() : world_.paths[2]};
    ovx_token_t buffer[8], *parts[2];
    size_t numbers[2], processed = 0;
    dictionary_ok(path_dictionary_get_tokens_from_paths(
        world_.dictionary, some, 2, buffer, bytes_.below(9), parts, numbers, &processed));
    demand(processed <= 2, "paths");
}

void Client::dictionary_lists()
{
    const uint64_t list =
        bytes_.once_in(8) ? bytes_.number() : world_.handle(Kind::list, bytes_.byte());
    size_t count = 0, got = 0;
    switch (bytes_.below(4)) {
    case 0:
        if (world_.claim(list))
            dictionary_ok(path_dictionary_release_path_list_reference(world_.dictionary, list));
        break;
    case 1:
        // Only while it is somebody's: it may be gone at any time, which is told.
        if (dictionary_ok(path_dictionary_add_path_list_reference(world_.dictionary, list)) && list)
            dictionary_ok(path_dictionary_release_path_list_reference(world_.dictionary, list));
        break;
    case 2: {
        ovx_string_t strings[2] = {text(), text()};
        ovx_primpath_list_t made_list = 0;
        if (dictionary_ok(path_dictionary_create_path_list_from_strings(
                world_.dictionary, strings, bytes_.below(3), &made_list)))
            world_.made(Kind::list, made_list);
        break;
    }
    default:
        dictionary_ok(
            path_dictionary_get_num_paths_from_path_list(world_.dictionary, list, &count));
        ovx_primpath_t paths[4];
        if (dictionary_ok(path_dictionary_get_paths_from_path_list(
                world_.dictionary, list, bytes_.number(), bytes_.below(5), paths, &got)))
            demand(got <= 4, "paths", got);
        break;
    }
}

void Client::process()
{
    ovstage_config_entry_t entries[2] = {};
    for (auto &entry : entries) {
        entry.key_type = static_cast<ovstage_config_key_type_t>(bytes_.below(8));
        entry.key.uint64_key = static_cast<ovstage_config_uint64_t>(bytes_.below(3));
        entry.value.uint_value = bytes_.below(6);
    }
    const ovstage_config_t config{entries, bytes_.below(3)};
    switch (bytes_.below(4)) {
    case 0:
        if (ok(ovstage_initialize(bytes_.below(2) ? &config : nullptr)))
            world_.initialized++;
        break;
    case 1:
        // One that this program has taken.
        if (world_.initialized.fetch_sub(1) > 0)
            demand(ok(ovstage_shutdown()), "shut down");
        else
            world_.initialized++;
        break;
    case 2: {
        ovx_string_t filter = text();
        filter.length = std::min<size_t>(filter.length, 300);
        const ovstage_log_callback_t hear = [](ovstage_log_severity_t, double, ovx_string_t,
                                               void *) {};
        ok(ovstage_set_log_callback(
            static_cast<ovstage_log_severity_t>(static_cast<int>(bytes_.below(6)) - 2),
            bytes_.below(2) ? &filter : nullptr, bytes_.below(2) ? hear : nullptr, nullptr));
        break;
    }
    default:
        ok(ovstage_flush_log(timeout(false)));
        break;
    }
}

void Client::instance()
{
    flyrail_config_t config{};
    config.struct_size = sizeof(config);
    demand(ok(flyrail_get_default_config(&config)), "defaults");
    config.worker_count = bytes_.once_in(8) ? static_cast<uint32_t>(bytes_.number() | 2048) : 0;
    config.struct_size = bytes_.once_in(8) ? bytes_.byte() : config.struct_size;
    config.op_limit = bytes_.number();
    config.history_versions = bytes_.byte();
    ovstage_instance_t *other = nullptr;
    const ovstage_instance_desc_t desc{bytes_.below(2) ? "fuzz" : nullptr};
    if (ok(flyrail_create_instance(bytes_.below(2) ? &desc : nullptr, &config, &other))) {
        // What is another's is refused.
        demand(!ok(ovstage_release_op(other, world_.handle(Kind::op, bytes_.byte()))), "foreign");
        demand(!ok(ovstage_release_query(other, world_.handle(Kind::query, bytes_.byte()))),
               "foreign");
        demand(ok(ovstage_destroy_instance(other)), "destroyed");
    } else {
        demand(other == nullptr, "no instance");
    }
}

void Client::odds()
{
    uint64_t number = 0;
    ovx_primpath_t path = 0;
    ovx_primpath_list_t list = 0;
    const void *table = nullptr;
    const ovstage_hierarchy_computation_model_desc_t *models = nullptr;
    size_t count = 0;
    switch (bytes_.below(7)) {
    case 0:
        ok(ovstage_get_usd_stage_id(world_.instance, &number));
        break;
    case 1:
        ok(ovstage_instancing_get_prototype_root(world_.instance, world_.paths[0], &path));
        break;
    case 2:
        if (ok(bytes_.below(2) ? ovstage_instancing_get_prototype_roots(world_.instance, &list)
                               : ovstage_instancing_get_instance_roots(world_.instance,
                                                                       world_.paths[1], &list)))
            world_.made(Kind::list, list);
        break;
    case 3:
        ok(ovstage_query_extension(world_.instance, "ovstage.placement", &table));
        break;
    case 4:
        if (ok(ovstage_get_hierarchy_computation_models(world_.instance, &models, &count)))
            demand(models && count, "models");
        break;
    case 5:
        if (depth_)
            demand(!ok(ovstage_destroy_instance(world_.instance)), "not from inside");
        break;
    default:
        demand(ovstage_get_error_string(world_.instance,
                                        static_cast<ovstage_api_status_t>(bytes_.byte())),
               "a name");
        break;
    }
}

} // namespace fuzz
