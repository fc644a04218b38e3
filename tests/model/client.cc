#include <flyrail/flyrail.h>

#include "tests/model/runner_parts.h"

namespace model
{

Client::Client(const Program &of, uint32_t workers, Devices *with) : program(of), devices(with)
{
    flyrail_config_t config{};
    config.struct_size = sizeof(config);
    if (flyrail_get_default_config(&config) != OVSTAGE_OK)
        fail("no default configuration: ", last_error());
    config.worker_count = workers;
    config.pending_limit_bytes = uint64_t{1} << 30;
    const Settings &settings = of.settings;
    config.history_versions = settings.history_versions;
    config.history_limit_bytes = settings.history_bytes ? config.history_limit_bytes : 0;
    config.adopt_managed = settings.adopt_managed;
    config.cache_limit_bytes = settings.caches ? config.cache_limit_bytes : 0;
    config.own_pool = settings.own_pool;
    config.op_limit = settings.op_limit ? settings.op_limit : config.op_limit;
    if (flyrail_create_instance(nullptr, &config, &instance) != OVSTAGE_OK)
        fail("no instance: ", last_error());
    dictionary = ovstage_get_path_dictionary(instance);
    for (const Name &name : names) {
        ovx_string_t text = view(name.text);
        ovx_token_t token = 0;
        if (path_dictionary_create_tokens_from_strings(dictionary, &text, 1, &token).status)
            fail("no token");
        tokens.push_back(token);
    }
    for (int prim = 0; prim < program.prim_count; prim++)
        prim_of(path_of(prim));
    for (Step &step : program.steps) {
        for (EntryStep &entry : step.entries)
            intern(entry);
    }
    queries.resize(program.queries.size());
    for (size_t q = 0; q < program.queries.size(); q++)
        make_query(q);
    for (int slot = 0; slot < filter_slots; slot++)
        found.push_back(list_query({}));
    found_prims.resize(filter_slots);
}

int Client::prim_of(const std::string &text)
{
    const auto known = prim_by_path.find(text);
    if (known != prim_by_path.end())
        return known->second;
    const ovx_string_t string = {text.data(), text.size()};
    ovx_primpath_t path = 0;
    if (path_dictionary_create_paths_from_strings(dictionary, &string, 1, &path).status)
        fail("no path");
    paths.push_back(path);
    path_texts.push_back(text);
    const int prim = static_cast<int>(paths.size()) - 1;
    prim_by_id_[path] = prim;
    enter_child(prim);
    return prim_by_path[text] = prim;
}

int Client::prim_of(ovx_primpath_t path)
{
    const auto known = prim_by_id_.find(path);
    return known == prim_by_id_.end() ? prim_of(*text_of_path(path)) : known->second;
}

int Client::find_prim(const std::string &text) const
{
    const auto known = prim_by_path.find(text);
    return known == prim_by_path.end() ? -1 : known->second;
}

uint64_t Client::path_id(uint64_t symbol) const
{
    const uint64_t known = static_cast<uint64_t>(program.prim_count);
    const uint64_t number = symbol % (known + 2);
    return number == 0 ? 0 : number <= known ? paths[number - 1] : nobodys_id;
}

uint64_t Client::token_id(uint64_t symbol) const
{
    const uint64_t number = symbol % (word_count + 2);
    if (number == 0 || number > word_count)
        return number == 0 ? 0 : nobodys_id;
    const ovx_string_t text = view(words[number - 1]);
    ovx_token_t token = 0;
    if (path_dictionary_create_tokens_from_strings(dictionary, &text, 1, &token).status)
        fail("no token");
    return token;
}

// Tokens too. Some are the numbers of paths as well, which nothing may take them for.
uint64_t Client::expression_id(uint64_t symbol) const
{
    constexpr uint64_t kinds = word_count + 3;
    return symbol % kinds == kinds - 1 ? paths[symbol / kinds % paths.size()] : token_id(symbol);
}

void Client::intern(EntryStep &entry) const
{
    const Schema schema = stored(entry.name, entry.schema);
    const Meaning meaning = meaning_of(schema);
    if (meaning == Meaning::numbers || meaning == Meaning::text)
        return;
    for (size_t at = 0; at < entry.payload.size(); at += sizeof(uint64_t)) {
        uint64_t value;
        std::memcpy(&value, &entry.payload[at], sizeof(value));
        const bool is_path = meaning == Meaning::paths ||
                             (meaning == Meaning::path_tokens && at % (2 * sizeof(value)) == 0);
        value = is_path                                                      ? path_id(value)
                : schema.semantic == OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING ? expression_id(value)
                                                                             : token_id(value);
        std::memcpy(&entry.payload[at], &value, sizeof(value));
    }
}

std::optional<std::string> Client::text_of_token(uint64_t id) const
{
    ovx_string_t text{};
    const ovx_api_result_t result =
        path_dictionary_get_strings_from_tokens(dictionary, &id, 1, &text);
    if (result.status) {
        path_dictionary_release_error(dictionary, result.error);
        return std::nullopt;
    }
    return std::string(text.ptr, text.length);
}

std::optional<std::string> Client::text_of_path(uint64_t id) const
{
    ovx_token_t tokens_of_path[64], *first = nullptr;
    size_t count = 0, processed = 0;
    const ovx_api_result_t result = path_dictionary_get_tokens_from_paths(
        dictionary, &id, 1, tokens_of_path, 64, &first, &count, &processed);
    if (result.status) {
        path_dictionary_release_error(dictionary, result.error);
        return std::nullopt;
    }
    std::string text;
    for (size_t k = 0; k < count; k++)
        text += "/" + *text_of_token(first[k]);
    return text.empty() ? "/" : text;
}

Client::~Client()
{
    if (instance)
        ovstage_destroy_instance(instance);
}

ovstage_api_status_t Client::destroy()
{
    ovstage_api_status_t status = ovstage_destroy_instance(instance);
    instance = nullptr;
    return status;
}

ovstage_query_handle_t Client::list_query(const std::vector<int> &of) const
{
    const std::vector<ovx_primpath_t> list = paths_of(of);
    ovx_primpath_list_t handle = 0;
    if (path_dictionary_create_path_list_from_paths(dictionary, list.data(), list.size(), &handle)
            .status)
        fail("no path list");
    ovstage_query_handle_t query = 0;
    const ovstage_api_status_t status = ovstage_query_from_path_list(instance, handle, &query);
    if (status != OVSTAGE_OK)
        fail("query_from_path_list: ", status, " ", last_error());
    path_dictionary_release_path_list_reference(dictionary, handle);
    return query;
}

void Client::make_query(size_t index)
{
    queries[index] = list_query(program.queries[index]);
}

ovstage_enqueue_result_t Client::write(const Step &step, ovstage_query_handle_t query, Op &op,
                                       std::string &text) const
{
    std::vector<ovstage_attribute_write_t> writes;
    for (const EntryStep &entry : step.entries) {
        op.payloads.push_back(std::make_unique<Payload>(entry, devices));
        ovx_string_or_token_t name = {tokens[static_cast<size_t>(entry.name)], {}};
        if (entry.rows % 2)
            name = {0, view(names[entry.name].text)};
        writes.push_back({name, op.payloads.back()->data()});
        for (const auto &fate : op.payloads.back()->fates())
            op.fates.emplace_back(fate, entry.owner == Owner::managed_copied ||
                                            program.settings.adopt_managed ||
                                            (entry.origin.on_device && step.placing.event >= 0));
    }
    const auto mode = static_cast<ovstage_prim_mode_t>(step.mode);
    ovstage_enqueue_result_t result;
    op.placing = step.placing;
    if (step.placing.is_given) {
        const ovstage_placement_t placement = devices->placement(step.placing);
        result =
            writes.size() == 1 && step.ordinal % 2
                ? ovstage_write_attribute_on_device(instance, query, writes[0].attribute,
                                                    step.ordinal, writes[0].data, mode, &placement)
                : ovstage_write_attributes_on_device(instance, query, writes.data(), writes.size(),
                                                     step.ordinal, mode, &placement);
    } else if (step.by_rows) {
        std::vector<uint32_t> rows = step.positions;
        result = flyrail_write_rows(instance, query, writes[0].attribute, step.ordinal, rows.data(),
                                    rows.size(), writes[0].data, step.mode);
        std::fill(rows.begin(), rows.end(), 0xFFFFFFFFu); // D9
    } else if (step.mode > FLYRAIL_WRITE_INSERT || step.ordinal % 8 == 0) {
        result = flyrail_write_attributes(instance, query, writes.data(), writes.size(),
                                          step.ordinal, step.mode);
    } else {
        result = writes.size() == 1 ? ovstage_write_attribute(instance, query, writes[0].attribute,
                                                              step.ordinal, writes[0].data, mode)
                                    : ovstage_write_attributes(instance, query, writes.data(),
                                                               writes.size(), step.ordinal, mode);
    }
    text = last_error();
    for (auto &payload : op.payloads)
        payload->scribble_arguments();
    return result;
}

ovstage_enqueue_result_t Client::remove(const Step &step, ovstage_query_handle_t query) const
{
    std::vector<ovx_string_or_token_t> attributes;
    for (int name : step.names) {
        if (step.ordinal % 2)
            attributes.push_back({0, view(names[name].text)});
        else
            attributes.push_back({tokens[static_cast<size_t>(name)], {}});
    }
    const auto result = ovstage_delete_attributes(instance, query, attributes.data(),
                                                  attributes.size(), step.ordinal);
    std::fill(attributes.begin(), attributes.end(), ovx_string_or_token_t{77, {}}); // D9
    return result;
}

ovstage_enqueue_result_t Client::advance(const Step &step) const
{
    std::vector<ovx_token_t> named;
    for (int name : step.names)
        named.push_back(tokens[static_cast<size_t>(name)]);
    const ovstage_write_floor_desc_t desc{step.ordinal, step.scope, named.data(), named.size()};
    return ovstage_advance_write_floor(instance, &desc);
}

std::vector<ovx_token_t> Client::tokens_of(const Step &step) const
{
    std::vector<ovx_token_t> some;
    for (int name : step.names)
        some.push_back(tokens[static_cast<size_t>(name)]);
    return some;
}

ovstage_enqueue_result_t Client::read(const Step &step, ovstage_read_handle_t *handle) const
{
    const std::vector<ovx_token_t> asked = tokens_of(step);
    const ovstage_ordinal_range_t range = {step.start, step.ordinal, step.is_range};
    const ovstage_query_handle_t query = query_of(step);
    if (!step.placing.is_given)
        return ovstage_read_attributes(instance, query, asked.data(), asked.size(), range, handle);
    const ovstage_placement_t placement = devices->placement(step.placing);
    return ovstage_read_attributes_on_device(instance, query, asked.data(), asked.size(), range,
                                             &placement, handle);
}

ovstage_enqueue_result_t Client::read(const Step &step, flyrail_snapshot_t snapshot,
                                      ovstage_read_handle_t *handle) const
{
    const std::vector<ovx_token_t> asked = tokens_of(step);
    return flyrail_snapshot_read(instance, snapshot, query_of(step), asked.data(), asked.size(),
                                 handle);
}

std::vector<ovx_primpath_t> Client::paths_of(const std::vector<int> &prims) const
{
    std::vector<ovx_primpath_t> list;
    for (int prim : prims)
        list.push_back(paths[static_cast<size_t>(prim)]);
    return list;
}

std::vector<Row> rows_of(const ovstage_read_group_t &group)
{
    std::vector<Row> rows;
    for (uint32_t i = 0; i < group.prims.count; i++) {
        if (group.is_delete) {
            rows.push_back({0, nullptr, 0});
            continue;
        }
        const DLTensor &tensor = group.data.tensors[group.is_array ? i : 0];
        const size_t width = size_t{tensor.dtype.lanes} * tensor.dtype.bits / 8;
        const auto *first = static_cast<const uint8_t *>(tensor.data);
        if (group.is_array)
            rows.push_back({0, first, static_cast<size_t>(tensor.shape[0]) * width});
        else
            rows.push_back({0, first + i * width, width});
    }
    return rows;
}

bool lies_on_device(const ovstage_read_group_t &group)
{
    return group.data.tensor_count > 0 && group.data.tensors[0].device.device_type == kDLCUDA;
}

Bytes bytes_of(const ovstage_read_group_t &group)
{
    Bytes bytes;
    for (const Row &row : rows_of(group))
        bytes.insert(bytes.end(), row.data, row.data + row.size);
    return bytes;
}

namespace
{

bool is_where(const DLDevice &device, const Placing &placing)
{
    if (!placing.is_given)
        return device.device_type == kDLCPU;
    return device.device_type == kDLCUDA && device.device_id == placing.device;
}

Schema schema_of_canonical(const ovstage_read_group_t &group, const Placing &placing)
{
    if (!group.data.tensors ||
        group.data.tensor_count != (group.is_array ? group.prims.count : 1) ||
        group.data.index_map || group.data.mask || group.data.cuda_sync.stream ||
        group.data.cuda_sync.wait_event)
        fail("a group that is no plain value group");
    const DLDataType type = group.data.tensors[0].dtype;
    if (group.data.count != group.prims.count)
        fail("a group whose counts are not its prims'");
    for (uint32_t t = 0; t < group.data.tensor_count; t++) {
        const DLTensor &tensor = group.data.tensors[t];
        if (tensor.ndim != 1 || (!group.is_array && tensor.shape[0] < group.prims.count) ||
            tensor.strides || !is_where(tensor.device, placing) || tensor.byte_offset != 0 ||
            tensor.dtype.code != type.code || tensor.dtype.bits != type.bits ||
            tensor.dtype.lanes != type.lanes)
            fail("a group whose tensor ", t, " is not canonical");
    }
    return {type.code, type.bits, type.lanes, group.semantic, group.is_array};
}

// R70.
Schema schema_of_tombstones(const ovstage_read_group_t &group)
{
    if (group.data.tensors || group.data.tensor_count != 0 || group.data.count != 0 ||
        group.data.index_map || group.data.mask)
        fail("a group of tombstones with data");
    return {0, 0, 0, group.semantic, group.is_array};
}

} // namespace

std::vector<Row> Client::rows_of(const ovstage_read_group_t &group,
                                 const std::vector<ovx_primpath_t> &query, Schema &schema,
                                 const Placing &placing) const
{
    if (group.read_group_id == 0 || group.prims.count == 0)
        fail("a group without an id, or without prims");
    schema = group.is_delete ? schema_of_tombstones(group) : schema_of_canonical(group, placing);
    std::vector<ovx_primpath_t> list(query.size());
    size_t listed = 0;
    if (path_dictionary_get_paths_from_path_list(dictionary, group.prims.list, 0, list.size(),
                                                 list.data(), &listed)
            .status ||
        listed != list.size())
        fail("the group's list cannot be resolved");
    std::vector<Row> rows = model::rows_of(group);
    for (uint32_t i = 0; i < group.prims.count; i++) {
        uint32_t position =
            group.prims.index_map ? group.prims.index_map[i] : group.prims.offset + i;
        if (position >= query.size())
            fail("position ", position, " is outside the query");
        if (list[position] != query[position])
            fail("position ", position, " of the list is another prim");
        if (i > 0 && position <= rows[i - 1].position)
            fail("position ", position, " comes after ", rows[i - 1].position);
        rows[i].position = position;
    }
    if (group.prims.count == query.size() && (group.prims.index_map || group.prims.offset != 0 ||
                                              (!group.is_delete && !group.is_array &&
                                               group.data.tensors[0].shape[0] != group.data.count)))
        fail("a group of all prims is not the query's list (R72, R78)");
    return rows;
}

std::set<int> attributes_of(const Step &step)
{
    std::set<int> attributes;
    for (int name : step.names)
        attributes.insert(names[name].attribute);
    return attributes;
}

} // namespace model
