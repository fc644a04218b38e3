// Calls that change what is there, and the choice of the next one.
#include "tests/contract/fuzz_cases.h"

#include <algorithm>
#include <cstring>

namespace fuzz
{

void Client::run()
{
    struct Call {
        void (Client::*make)();
        const char *name;
    };
    static const Call calls[] = {
        {&Client::write, "write"},
        {&Client::write, "write"},
        {&Client::write, "write"},
        {&Client::write_batch, "write_batch"},
        {&Client::write_rows, "write_rows"},
        {&Client::seal, "seal"},
        {&Client::seal, "seal"},
        {&Client::query_list, "query_list"},
        {&Client::query_list, "query_list"},
        {&Client::read, "read"},
        {&Client::read, "read"},
        {&Client::read_fetch, "read_fetch"},
        {&Client::read_fetch, "read_fetch"},
        {&Client::group_release, "group_release"},
        {&Client::query_filter, "query_filter"},
        {&Client::remove, "remove"},
        {&Client::clone, "clone"},
        {&Client::map, "map"},
        {&Client::map_fetch, "map_fetch"},
        {&Client::map_commit, "map_commit"},
        {&Client::wait, "wait"},
        {&Client::wait_many, "wait_many"},
        {&Client::wait_for_what_is_there, "wait_for_what_is_there"},
        {&Client::op_release, "op_release"},
        {&Client::task, "task"},
        {&Client::parallel, "parallel"},
        {&Client::run_ops, "run_ops"},
        {&Client::discard, "discard"},
        {&Client::floor_query, "floor_query"},
        {&Client::floor_fetch, "floor_fetch"},
        {&Client::query_fetch, "query_fetch"},
        {&Client::query_release, "query_release"},
        {&Client::read_release, "read_release"},
        {&Client::snapshot_open, "snapshot_open"},
        {&Client::snapshot_read, "snapshot_read"},
        {&Client::snapshot_close, "snapshot_close"},
        {&Client::hierarchy, "hierarchy"},
        {&Client::hierarchy_fetch, "hierarchy_fetch"},
        {&Client::compute, "compute"},
        {&Client::event_open, "event_open"},
        {&Client::event_on, "event_on"},
        {&Client::event_close, "event_close"},
        {&Client::explain, "explain"},
        {&Client::trace, "trace"},
        {&Client::statistics, "statistics"},
        {&Client::align, "align"},
        {&Client::dictionary_names, "dictionary_names"},
        {&Client::dictionary_lists, "dictionary_lists"},
        {&Client::process, "process"},
        {&Client::instance, "instance"},
        {&Client::odds, "odds"},
        {&Client::failing, "failing"},
    };
    if (depth_ == 0)
        for (int i = 0; i < 2; i++)
            query_list();
    while (!bytes_.over()) {
        const Call &call = calls[bytes_.below(sizeof(calls) / sizeof(calls[0]))];
        running(call.name);
        (this->*call.make)();
    }
}

void Client::text_of(ovx_string_t text, uint64_t status)
{
    demand(text.ptr && text.length && text.ptr[text.length] == 0, "a failure has a text", status);
}

bool Client::ok(ovstage_api_status_t status)
{
    if (status == OVSTAGE_OK)
        return true;
    demand(status > OVSTAGE_OK && status <= OVSTAGE_ERROR_OUT_OF_RANGE, "a known status", status);
    if (status != OVSTAGE_ERROR_TIMEOUT && status != OVSTAGE_ERROR_END_OF_ITERATION)
        text_of(ovstage_get_last_error(), status);
    return false;
}

bool Client::ok(ovstage_enqueue_result_t result)
{
    if (!ok(result.status)) {
        demand(result.op_index == 0, "what is refused has no id", result.op_index);
        demand(result.status != OVSTAGE_ERROR_TIMEOUT &&
                   result.status != OVSTAGE_ERROR_END_OF_ITERATION,
               "a submission does not wait", result.status);
        return false;
    }
    demand(result.op_index > last_id_, "ids rise", result.op_index);
    last_id_ = result.op_index;
    world_.made(Kind::op, result.op_index);
    return true;
}

bool Client::made(ovstage_enqueue_result_t result, Kind kind, const uint64_t &handle,
                  uint32_t count)
{
    const bool accepted = ok(result);
    demand(accepted == (handle != 0), "a handle or none", handle);
    if (accepted)
        world_.made(kind, handle, count);
    return accepted;
}

bool Client::gone(ovstage_enqueue_result_t result, Kind kind, uint64_t handle)
{
    const bool accepted = ok(result);
    if (accepted)
        world_.gone(kind, handle);
    return accepted;
}

void Client::write()
{
    const ovstage_query_handle_t query = handle(Kind::query);
    const size_t of = attribute();
    Payload values;
    payload(schema(of), world_.count_of(query), &values);
    const auto mode = static_cast<ovstage_prim_mode_t>(bytes_.once_in(8) ? bytes_.below(3) : 0);
    ok(ovstage_write_attribute(world_.instance, query, name(of), ordinal(), values.data, mode));
    values.spoil();
}

void Client::write_batch()
{
    const ovstage_query_handle_t query = handle(Kind::query);
    const uint32_t count = bytes_.below(5);
    std::vector<Payload> values(count);
    std::vector<ovstage_attribute_write_t> writes;
    for (Payload &value : values) {
        const size_t of = attribute();
        payload(schema(of), world_.count_of(query), &value);
        writes.push_back({name(of), value.data});
        // The same one twice, which goes once.
        if (value.data.managed_tensors && values[0].data.managed_tensors && bytes_.once_in(20)) {
            writes.back().data.managed_tensors = values[0].data.managed_tensors;
            writes.back().data.tensor_count = values[0].data.tensor_count;
            for (const DLManagedTensorVersioned *own : value.managed)
                if (&value != &values[0])
                    forget_managed(own);
        }
    }
    const uint64_t at = ordinal();
    if (bytes_.below(2))
        ok(flyrail_write_attributes(world_.instance, query, writes.data(), writes.size(), at,
                                    static_cast<flyrail_write_mode_t>(bytes_.below(5))));
    else
        ok(ovstage_write_attributes(world_.instance, query, writes.data(), writes.size(), at,
                                    static_cast<ovstage_prim_mode_t>(bytes_.below(2))));
    for (Payload &value : values)
        value.spoil();
}

void Client::write_rows()
{
    const ovstage_query_handle_t query = handle(Kind::query);
    const size_t of = attribute();
    const uint32_t count = world_.count_of(query);
    std::vector<uint32_t> rows(bytes_.below(bytes_.once_in(4) ? 100 : 6));
    for (uint32_t &row : rows)
        row = bytes_.once_in(60) ? static_cast<uint32_t>(bytes_.number())
                                 : bytes_.below(std::max<uint32_t>(count, 1));
    Payload values;
    payload(schema(of), static_cast<uint32_t>(rows.size()), &values);
    ok(flyrail_write_rows(
        world_.instance, query, name(of), ordinal(), bytes_.once_in(60) ? nullptr : rows.data(),
        rows.size(), values.data,
        static_cast<flyrail_write_mode_t>(bytes_.once_in(8) ? bytes_.below(5) : 0)));
    std::fill(rows.begin(), rows.end(), UINT32_MAX);
    values.spoil();
}

void Client::discard()
{
    ok(flyrail_discard(world_.instance, ordinal()));
}

void Client::remove()
{
    std::vector<ovx_string_or_token_t> names(bytes_.below(3));
    for (auto &of : names)
        of = name(attribute());
    ok(ovstage_delete_attributes(world_.instance, handle(Kind::query), names.data(), names.size(),
                                 ordinal()));
}

void Client::clone()
{
    ovx_string_t targets[3];
    const uint32_t count = bytes_.below(4);
    const ovx_string_t source = text();
    for (uint32_t i = 0; i < count; i++)
        targets[i] = text();
    ok(ovstage_clone(world_.instance, source, targets, count, ordinal()));
}

void Client::map()
{
    const ovstage_query_handle_t query = handle(Kind::query);
    const size_t of = attribute();
    const Schema as = schema(of);
    ovstage_map_desc_t desc{name(of), as.dtype, as.semantic,
                            static_cast<ovstage_prim_mode_t>(bytes_.once_in(8))};
    if (bytes_.once_in(4))
        desc.dtype = DLDataType{0, 0, 0};
    std::vector<size_t> sizes;
    if (as.array || bytes_.once_in(20))
        for (uint32_t i = 0; i < world_.count_of(query); i++)
            sizes.push_back(bytes_.once_in(60) ? bytes_.number() : bytes_.below(5));
    if (bytes_.once_in(30))
        sizes.resize(bytes_.below(5));
    ovstage_map_handle_t made = 0;
    const ovstage_enqueue_result_t result =
        ovstage_map_attribute(world_.instance, query, &desc, ordinal(),
                              sizes.empty() ? nullptr : sizes.data(), sizes.size(), &made);
    if (ok(result)) {
        demand(made != 0, "a map");
        Map opened;
        opened.handle = made;
        world_.put(opened);
    } else {
        demand(made == 0, "no map");
    }
}

void Client::map_fetch()
{
    Map map;
    if (!world_.take(&map))
        return;
    ovstage_map_group_t group;
    if (ok(ovstage_fetch_map_next(world_.instance, map.handle, timeout(true), &group))) {
        look(group.prims);
        demand(group.data.count == group.prims.count, "a row for each prim");
        for (uint32_t i = 0; i < group.data.tensor_count; i++) {
            const DLTensor &tensor = group.data.tensors[i];
            const uint64_t size =
                static_cast<uint64_t>(tensor.shape[0]) * tensor.dtype.bits / 8 * tensor.dtype.lanes;
            if (size)
                std::memset(static_cast<uint8_t *>(tensor.data) + tensor.byte_offset,
                            bytes_.byte() % 3, size);
        }
        map.groups.push_back(group);
    }
    world_.put(map);
}

void Client::map_commit()
{
    Map map;
    if (!world_.take(&map)) {
        ok(ovstage_unmap_attribute(world_.instance, handle(Kind::map), {}));
        return;
    }
    const ovstage_cuda_sync_t sync{bytes_.once_in(40), 0};
    if (!map.groups.empty() && bytes_.below(2)) {
        const ovstage_map_group_t group = map.groups.back();
        if (ok(ovstage_unmap_group(world_.instance, map.handle, &group, sync))) {
            map.groups.pop_back();
            demand(!ok(ovstage_unmap_group(world_.instance, map.handle, &group, sync)),
                   "a group is committed once");
        }
        world_.put(map);
        return;
    }
    const ovstage_enqueue_result_t result =
        ovstage_unmap_attribute(world_.instance, map.handle, sync);
    // Refused by a seal it is over, too.
    const bool over = ok(result) || result.status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION;
    if (!over) {
        world_.put(map);
        return;
    }
    world_.made(Kind::map, map.handle);
    if (!map.groups.empty())
        demand(!ok(ovstage_unmap_group(world_.instance, map.handle, &map.groups[0], sync)),
               "the map is over");
}

void Client::seal()
{
    const std::vector<ovx_token_t> some = tokens();
    const uint32_t scope = bytes_.below(8);
    ovstage_write_floor_desc_t desc{ordinal(), OVSTAGE_SCOPE_ALL, nullptr, 0};
    if (scope > 3) {
        desc.scope = scope == 7   ? static_cast<ovstage_scope_t>(bytes_.below(5))
                     : scope == 6 ? OVSTAGE_SCOPE_EXCLUDE
                                  : OVSTAGE_SCOPE_INCLUDE;
        desc.attributes = some.data();
        desc.attribute_count = some.size();
    }
    if (ok(ovstage_advance_write_floor(world_.instance, &desc)) && desc.ordinal < 200)
        base_ = std::max<uint64_t>(base_, desc.ordinal);
}

void Client::compute()
{
    const uint64_t input = ordinal();
    ok(ovstage_compute_hierarchy(world_.instance,
                                 static_cast<ovstage_hierarchy_computation_model_id_t>(
                                     bytes_.below(4) ? 1 : bytes_.below(7)),
                                 input, bytes_.below(2) ? input : ordinal()));
}

// From here on an allocation fails.
void Client::failing()
{
    const uint32_t k = bytes_.byte();
    if (depth_ == 0 && world_.way_.fails_at == 0)
        world_.heap.fail(k > 180 ? 0 : 1 + k / 2, bytes_.once_in(8));
}

} // namespace fuzz
