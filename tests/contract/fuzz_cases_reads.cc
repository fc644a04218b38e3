// Calls that look at what is there.
#include "tests/contract/fuzz_cases.h"

#include <algorithm>
#include <cstring>

namespace fuzz
{

namespace
{

uint64_t sum_of(const void *memory, uint64_t count, uint64_t sum)
{
    const uint8_t *at = static_cast<const uint8_t *>(memory);
    for (uint64_t i = 0; i < count; i++)
        sum = (sum ^ at[i]) * UINT64_C(0x100000001b3);
    return sum;
}

uint64_t sum_of(const DLTensor &tensor, uint64_t sum)
{
    demand(tensor.ndim == 1 && tensor.shape && tensor.shape[0] >= 0, "a canonical tensor");
    demand(!tensor.strides || tensor.strides[0] == 1, "a compact tensor");
    const uint64_t size =
        static_cast<uint64_t>(tensor.shape[0]) * tensor.dtype.lanes * tensor.dtype.bits / 8;
    return size ? sum_of(static_cast<const uint8_t *>(tensor.data) + tensor.byte_offset, size, sum)
                : sum;
}

} // namespace

void Client::look(const ovstage_prim_group_t &prims)
{
    size_t count = 0;
    const ovx_api_result_t result =
        path_dictionary_get_num_paths_from_path_list(world_.dictionary, prims.list, &count);
    if (!dictionary_ok(result)) // for want of memory
        return;
    for (uint32_t i = 0; i < prims.count; i++)
        demand((prims.index_map ? prims.index_map[i] : prims.offset + i) < count, "a prim of it");
}

// Looks at all of a group.
bool Client::show(const ovstage_read_group_t &group, uint64_t *sum)
{
    look(group.prims);
    uint64_t now = sum_of(&group.is_array, sizeof(group.is_array), 14695981039346656037u);
    if (group.is_delete) {
        demand(!group.data.tensor_count && !group.data.tensors && !group.data.count, "a tombstone");
        *sum = now;
        return true;
    }
    demand(group.data.count == group.prims.count && group.prims.count, "a row for each prim");
    demand(!group.data.mask, "no mask");
    const uint64_t rows = group.is_array ? group.data.tensor_count
                                         : static_cast<uint64_t>(group.data.tensors[0].shape[0]);
    for (uint32_t i = 0; i < group.data.count; i++)
        demand((group.data.index_map ? group.data.index_map[i] : i) < rows, "a row of it");
    for (uint32_t i = 0; i < group.data.tensor_count; i++)
        now = sum_of(group.data.tensors[i], now);
    *sum = now;
    return true;
}

void Client::floor_query()
{
    ovstage_ordinal_query_handle_t made_handle = 0;
    const ovstage_enqueue_result_t result =
        bytes_.below(3)
            ? ovstage_get_attribute_write_floor(
                  world_.instance,
                  bytes_.below(2) ? name(attribute()) : ovx_string_or_token_t{0, {}}, &made_handle)
            : ovstage_get_oldest_preserved_ordinal(world_.instance, &made_handle);
    made(result, Kind::ordinal, made_handle);
}

void Client::floor_fetch()
{
    const uint64_t asked = handle(Kind::ordinal);
    ovstage_ordinal_t answer = 0;
    ok(ovstage_fetch_ordinal(world_.instance, asked, timeout(true), &answer));
    if (bytes_.below(2))
        gone(ovstage_release_ordinal_query(world_.instance, asked), Kind::ordinal, asked);
}

void Client::query_list()
{
    static const uint8_t sizes[] = {0, 1, 2, 3, 5, 9, 12, 17, 64, 65, 97};
    std::vector<ovx_primpath_t> paths(sizes[bytes_.below(sizeof(sizes))]);
    const uint32_t from = bytes_.below(4) ? 0 : bytes_.byte(),
                   step = bytes_.once_in(8) ? 0 : 1 + bytes_.below(3);
    for (uint32_t i = 0; i < paths.size(); i++)
        paths[i] = world_.paths[(from + i * step) % world_.paths.size()];
    if (!paths.empty() && bytes_.once_in(60))
        paths.back() = bytes_.number();
    ovx_primpath_list_t list = 0;
    if (!dictionary_ok(path_dictionary_create_path_list_from_paths(world_.dictionary, paths.data(),
                                                                   paths.size(), &list)))
        return;
    world_.made(Kind::list, list);
    ovstage_query_handle_t query = 0;
    if (ok(ovstage_query_from_path_list(world_.instance,
                                        bytes_.once_in(60) ? bytes_.number() : list, &query)))
        world_.made(Kind::query, query, static_cast<uint32_t>(paths.size()));
    else
        demand(query == 0, "no query");
    if (bytes_.below(4) && world_.claim(list))
        dictionary_ok(path_dictionary_release_path_list_reference(world_.dictionary, list));
}

void Client::query_filter()
{
    std::vector<ovstage_predicate_t> predicates(bytes_.below(4));
    std::vector<std::vector<ovx_string_t>> values(predicates.size());
    for (size_t i = 0; i < predicates.size(); i++) {
        values[i].resize(bytes_.below(4));
        for (ovx_string_t &value : values[i])
            value = text();
        predicates[i] = {name(bytes_.below(2) ? attribute() : 11 + bytes_.below(8)),
                         static_cast<ovstage_filter_op_t>(bytes_.below(9)), values[i].data(),
                         values[i].size()};
    }
    const ovstage_filter_t filter{predicates.data(), predicates.size()};
    const std::vector<ovx_token_t> reported = tokens();
    const bool none = bytes_.once_in(4);
    ovstage_query_handle_t query = 0;
    made(ovstage_query(world_.instance, none ? nullptr : &filter,
                       bytes_.below(2) ? nullptr : reported.data(), 0, &query),
         Kind::query, query, bytes_.below(20));
    query = 0;
    if (bytes_.once_in(4))
        made(ovstage_query(world_.instance, &filter, reported.data(), reported.size(), &query),
             Kind::query, query, bytes_.below(20));
}

void Client::query_fetch()
{
    ovstage_query_result_t result;
    if (bytes_.below(3) == 0 && world_.take(&result)) {
        demand(ok(ovstage_release_query_result(world_.instance, &result)) || world_.dying,
               "a result");
        demand(!ok(ovstage_release_query_result(world_.instance, &result)), "once");
        return;
    }
    if (ok(ovstage_fetch_query_result(world_.instance, handle(Kind::query), timeout(true),
                                      &result))) {
        uint64_t any = 0;
        for (size_t i = 0; i < result.attribute_count; i++)
            any |= result.attributes[i];
        demand(result.attribute_count == 0 || any, "tokens");
        world_.put(result);
    }
}

void Client::query_release()
{
    const uint64_t query = handle(Kind::query);
    gone(ovstage_release_query(world_.instance, query), Kind::query, query);
}

void Client::read()
{
    const std::vector<ovx_token_t> some = tokens();
    const bool ranged = bytes_.below(3) == 0;
    ovstage_ordinal_range_t range{0, bytes_.below(2) ? base_ : ordinal(), ranged};
    if (ranged)
        range.start_ordinal = bytes_.below(3) ? ordinal() : 0;
    if (ranged && range.start_ordinal > range.end_ordinal && !bytes_.once_in(8))
        std::swap(range.start_ordinal, range.end_ordinal);
    ovstage_read_handle_t read = 0;
    made(ovstage_read_attributes(world_.instance, handle(Kind::query), some.data(), some.size(),
                                 range, &read),
         Kind::read, read);
}

void Client::read_fetch()
{
    ovstage_read_group_t group;
    if (!ok(ovstage_fetch_read_next(world_.instance, handle(Kind::read), timeout(true), &group)))
        return;
    demand(group.read_group_id && group.attribute, "a group has an id and a name");
    Group kept{group, 0};
    show(group, &kept.sum);
    world_.put(kept);
}

void Client::read_release()
{
    const uint64_t read = handle(Kind::read);
    gone(ovstage_release_read(world_.instance, read), Kind::read, read);
}

void Client::group_release()
{
    Group kept;
    if (!world_.take(&kept))
        return;
    uint64_t sum = 0;
    show(kept.group, &sum);
    demand(sum == kept.sum, "a group stays as it was");
    if (bytes_.below(4) == 0) {
        world_.put(kept);
        return;
    }
    demand(ok(ovstage_release_group(world_.instance, &kept.group)) || world_.dying, "a group");
    demand(!ok(ovstage_release_group(world_.instance, &kept.group)), "once");
}

void Client::snapshot_open()
{
    const std::vector<ovx_token_t> some = tokens();
    flyrail_snapshot_desc_t desc{};
    desc.struct_size = bytes_.once_in(60) ? bytes_.byte() : sizeof(desc);
    desc.newest = bytes_.below(2) == 0;
    desc.ordinal = ordinal();
    if (bytes_.below(2)) {
        desc.attributes = some.data();
        desc.attribute_count = some.size();
    }
    flyrail_snapshot_t snapshot = 0;
    ovstage_ordinal_t moment = 0;
    if (ok(flyrail_snapshot_open(world_.instance, &desc, &snapshot, &moment)))
        world_.made(Kind::snapshot, snapshot);
    else
        demand(snapshot == 0, "no snapshot");
}

void Client::snapshot_read()
{
    const std::vector<ovx_token_t> some = tokens();
    ovstage_read_handle_t read = 0;
    made(flyrail_snapshot_read(world_.instance, handle(Kind::snapshot), handle(Kind::query),
                               some.data(), some.size(), &read),
         Kind::read, read);
}

void Client::snapshot_close()
{
    const uint64_t snapshot = handle(Kind::snapshot);
    if (ok(flyrail_snapshot_close(world_.instance, snapshot)))
        world_.gone(Kind::snapshot, snapshot);
}

void Client::hierarchy()
{
    std::vector<ovx_primpath_t> paths(bytes_.below(6));
    for (ovx_primpath_t &path : paths)
        path = world_.paths[bytes_.byte() % world_.paths.size()];
    ovx_primpath_list_t list = 0;
    if (!dictionary_ok(path_dictionary_create_path_list_from_paths(world_.dictionary, paths.data(),
                                                                   paths.size(), &list)))
        return;
    ovstage_hierarchy_handle_t asked = 0;
    made(ovstage_get_hierarchy(world_.instance, bytes_.once_in(30) ? bytes_.number() : list,
                               ordinal(),
                               static_cast<ovstage_hierarchy_relation_t>(bytes_.below(4)), &asked),
         Kind::hierarchy, asked);
    dictionary_ok(path_dictionary_release_path_list_reference(world_.dictionary, list));
}

void Client::hierarchy_fetch()
{
    ovstage_hierarchy_result_t result;
    if (bytes_.below(3) == 0 && world_.take(&result)) {
        demand(ok(ovstage_release_hierarchy_result(world_.instance, &result)) || world_.dying,
               "relatives");
        demand(!ok(ovstage_release_hierarchy_result(world_.instance, &result)), "once");
        return;
    }
    const uint64_t asked = handle(Kind::hierarchy);
    if (ok(ovstage_fetch_hierarchy_result(world_.instance, asked, &result))) {
        for (size_t i = 0; i < result.input_count; i++)
            demand(result.items[i].path_offset + result.items[i].path_count <= result.path_count,
                   "paths of the result");
        for (size_t i = 0; i < result.path_count; i++)
            text_of(result.paths[i].string);
        world_.put(result);
    }
    if (bytes_.below(2))
        gone(ovstage_release_hierarchy(world_.instance, asked), Kind::hierarchy, asked);
}

void Client::align()
{
    std::vector<Group> held(4);
    size_t count = 0;
    while (count < held.size() && world_.take(&held[count]))
        count++;
    std::vector<ovstage_read_group_t> groups;
    for (size_t i = 0; i < count; i++)
        groups.push_back(held[i].group);
    const std::vector<ovx_token_t> some = tokens();
    std::vector<uint32_t> order(bytes_.below(6));
    for (uint32_t &position : order)
        position = bytes_.once_in(20) ? static_cast<uint32_t>(bytes_.number()) : bytes_.below(12);
    ovalign_request_t request{groups.data(),
                              groups.size(),
                              some.data(),
                              some.size(),
                              count && !bytes_.once_in(20) ? groups[0].prims.list : bytes_.number(),
                              bytes_.below(2) ? order.data() : nullptr,
                              0,
                              static_cast<ovalign_device_t>(bytes_.once_in(30))};
    if (request.prim_order)
        request.prim_order_count = order.size();
    ovalign_result_t result;
    if (ovalign_align(&request, &result) == 0) {
        for (size_t a = 0; a < result.attr_count; a++)
            for (size_t g = 0; g < result.attrs[a].group_count; g++) {
                uint64_t sum = 0;
                show(result.attrs[a].groups[g], &sum);
            }
        ovalign_release(&result);
        ovalign_release(&result);
    } else {
        text_of(ovstage_get_last_error());
    }
    for (size_t i = 0; i < count; i++)
        world_.put(held[i]);
}

} // namespace fuzz
