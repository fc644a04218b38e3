#include <algorithm>

#include "tests/model/runner_parts.h"

namespace model
{

namespace
{

// A predicate of a filter step; `named`: the path that it is about.
struct Kind {
    const char *name; // nullptr: none at all
    ovstage_filter_op_t op;
};
const Kind filter_kinds[] = {
    {nullptr, OVSTAGE_FILTER_OP_HAS},
    {"usd-path", OVSTAGE_FILTER_OP_HAS},
    {"usd-path", OVSTAGE_FILTER_OP_PREFIX},
    {"usd-parent", OVSTAGE_FILTER_OP_IN},
    {"usd-children", OVSTAGE_FILTER_OP_CONTAINS},
    {"usd-path", OVSTAGE_FILTER_OP_IN},
};

} // namespace

bool Client::matches(const Step &step, const Model &model, int prim) const
{
    const auto exists = [&](int other) { return other >= 0 && model.exists(other, UINT64_MAX); };
    if (!exists(prim))
        return false;
    const Texts texts = {[&](uint64_t id) { return text_of_token(id); },
                         [&](uint64_t id) { return text_of_path(id); }};
    for (const Predicate &predicate : step.predicates) {
        if (is_computed(predicate.name)) {
            if (!holds_computed(predicate, prim, exists))
                return false;
            continue;
        }
        const auto value = model.at(names[predicate.name].attribute, prim, UINT64_MAX);
        if (!value || !holds(*value, predicate, texts))
            return false;
    }
    const std::string named = named_by(step), &text = path_texts[static_cast<size_t>(prim)];
    switch (step.pick % 6) {
    case 2:
        return text.compare(0, named.size(), named) == 0;
    case 3:
        return exists(find_prim(named)) && parent_text(text) == named;
    case 4:
        return exists(find_prim(named)) && parent_text(named) == text;
    case 5:
        return text == named;
    default:
        return true;
    }
}

std::vector<int> Client::matching(const Step &step, const Model &model) const
{
    std::vector<int> prims;
    for (int prim = 0; prim < static_cast<int>(paths.size()); prim++) {
        if (matches(step, model, prim))
            prims.push_back(prim);
    }
    std::sort(prims.begin(), prims.end(), [&](int a, int b) {
        return is_before(path_texts[static_cast<size_t>(a)], path_texts[static_cast<size_t>(b)]);
    });
    return prims;
}

namespace
{

// Of the schemas that keys of a predicate's attribute have or had.
bool any_value(const Step &filter,
               const std::function<bool(const Predicate &predicate, const Wanted &wanted)> &is_so)
{
    for (const Predicate &predicate : filter.predicates) {
        for (const Wanted &wanted : predicate.values) {
            if (predicate.op != OVSTAGE_FILTER_OP_HAS && is_so(predicate, wanted))
                return true;
        }
    }
    return false;
}

} // namespace

bool may_be_refused(const Step &filter, const Model &model)
{
    return any_value(filter, [&](const Predicate &predicate, const Wanted &wanted) {
        const int attribute = names[predicate.name].attribute;
        const auto fits = [&](const Schema &schema) {
            return can_have(schema, predicate.op, wanted);
        };
        const std::set<Schema> schemas = model.schemas_ever(attribute);
        return !std::all_of(schemas.begin(), schemas.end(), fits) &&
               !model.is_any_alive(attribute, fits);
    });
}

bool must_be_refused(const Step &filter, const Model &model)
{
    return any_value(filter, [&](const Predicate &predicate, const Wanted &wanted) {
        const int attribute = names[predicate.name].attribute;
        const std::set<Schema> schemas = model.schemas_ever(attribute);
        return model.is_any_alive(attribute, [](const Schema &) { return true; }) &&
               std::none_of(schemas.begin(), schemas.end(), [&](const Schema &schema) {
                   return can_have(schema, predicate.op, wanted);
               });
    });
}

ovstage_api_status_t Client::list(ovstage_query_handle_t query, std::vector<ovx_primpath_t> &out,
                                  ovstage_op_id_t *op) const
{
    const ovx_string_t text = literal_to_ovx_string("usd-path");
    ovx_token_t token = 0;
    path_dictionary_create_tokens_from_strings(dictionary, &text, 1, &token);
    ovstage_read_handle_t read = 0;
    const ovstage_enqueue_result_t result =
        ovstage_read_attributes(instance, query, &token, 1, {}, &read);
    if (result.status != OVSTAGE_OK)
        return result.status;
    *op = result.op_index;
    ovstage_read_group_t group;
    ovstage_api_status_t status;
    while ((status = ovstage_fetch_read_next(instance, read, OVSTAGE_TIMEOUT_INFINITE, &group)) ==
           OVSTAGE_OK) {
        const auto *listed = static_cast<const uint64_t *>(group.data.tensors[0].data);
        out.insert(out.end(), listed, listed + group.prims.count);
        if (ovstage_release_group(instance, &group) != OVSTAGE_OK)
            fail("release_group: ", last_error());
    }
    if (status != OVSTAGE_ERROR_END_OF_ITERATION)
        fail("the paths of a query cannot be read: ", status, " ", last_error());
    if (ovstage_release_read(instance, read).status != OVSTAGE_OK)
        fail("release_read: ", last_error());
    return OVSTAGE_OK;
}

size_t Client::count_of(ovstage_query_handle_t query) const
{
    ovstage_query_result_t result{};
    if (ovstage_fetch_query_result(instance, query, OVSTAGE_TIMEOUT_INFINITE, &result) !=
            OVSTAGE_OK ||
        ovstage_release_query_result(instance, &result) != OVSTAGE_OK)
        fail("fetch_query_result: ", last_error());
    return result.total_prim_count;
}

ovstage_enqueue_result_t Client::filter(const Step &step, const std::string &named,
                                        ovstage_query_handle_t *query) const
{
    const Kind &kind = filter_kinds[step.pick % 6];
    std::vector<ovstage_predicate_t> predicates;
    std::vector<std::vector<ovx_string_t>> values;
    if (kind.name) {
        values.push_back({{named.data(), named.size()}});
        predicates.push_back({{0, view(kind.name)}, kind.op, nullptr, 0});
    }
    for (const Predicate &predicate : step.predicates) {
        values.emplace_back();
        for (const Wanted &wanted : predicate.values)
            values.back().push_back({wanted.text.data(), wanted.text.size()});
        predicates.push_back(
            {{tokens[static_cast<size_t>(predicate.name)], {}}, predicate.op, nullptr, 0});
    }
    for (size_t k = 0; k < predicates.size(); k++) {
        predicates[k].values = values[k].data();
        predicates[k].value_count = values[k].size();
    }
    std::vector<ovx_token_t> reported;
    for (int name : step.names)
        reported.push_back(tokens[static_cast<size_t>(name)]);
    const ovstage_filter_t filter{predicates.data(), predicates.size()};
    return ovstage_query(instance, &filter, reported.data(), reported.size(), query);
}

// It sees all that was accepted before it (D23). One of which it is not known whether it fails is
// waited for before anything else is.
void Runner::filter(const Step &step)
{
    ovstage_query_handle_t query = 0;
    const auto result = client_.filter(step, client_.named_by(step), &query);
    if (is_full(result.status))
        return;
    if (is_unsupported(step)) {
        check_unsupported(result, false);
        return;
    }
    const std::vector<int> wanted = client_.matching(step, model_);
    const bool was_quiet = quiet_, must_fail = must_be_refused(step, model_);
    Op &op = accepted(result, false);
    op.on_device = std::any_of(step.predicates.begin(), step.predicates.end(),
                               [&](const Predicate &predicate) {
                                   return is_home_device(program_, names[predicate.name].attribute);
                               });
    op.may_fail = may_be_refused(step, model_);
    if (step.later && op.may_fail == must_fail) {
        op.fails = must_fail;
        op.may_fail = false;
        findings_.push_back({&op, &step, {}});
        keep_found(step, query, op, must_fail ? std::vector<int>() : wanted);
        return;
    }
    wait(op);
    if (!op.fails && must_fail)
        fail("a filter for what no column can have succeeded");
    if (!op.fails)
        check_found(step, query, wanted);
    quiet_ = was_quiet;
    if (!op.fails)
        keep_found(step, query, op, wanted);
    else if (ovstage_release_query(client_.instance, query).status != OVSTAGE_OK)
        fail("release_query: ", last_error());
}

void Runner::check_found(const Step &step, ovstage_query_handle_t query,
                         const std::vector<int> &wanted)
{
    ovstage_query_result_t found{};
    if (ovstage_fetch_query_result(client_.instance, query, OVSTAGE_TIMEOUT_INFINITE, &found) !=
        OVSTAGE_OK)
        fail("fetch_query_result: ", last_error());
    std::set<int> attributes, reported;
    for (int prim : wanted) {
        for (int a = 0; a < attribute_count; a++) {
            const bool asked = step.names.empty() || attributes_of(step).count(a) != 0;
            if (asked && model_.lives(a, prim, UINT64_MAX))
                attributes.insert(a); // D14
        }
        for (int name : step.names) {
            if (is_computed(name) &&
                client_.holds_computed({name, OVSTAGE_FILTER_OP_HAS, {}}, prim,
                                       [&](int other) { return model_.exists(other, UINT64_MAX); }))
                attributes.insert(names[name].attribute);
        }
    }
    for (size_t k = 0; k < found.attribute_count; k++) {
        const auto at =
            std::find(client_.tokens.begin(), client_.tokens.end(), found.attributes[k]);
        reported.insert(names[at - client_.tokens.begin()].attribute);
    }
    if (found.total_prim_count != wanted.size())
        fail("a filter finds ", found.total_prim_count, " prims, must be ", wanted.size());
    if (reported != attributes)
        fail("a filter reports ", reported.size(), " attributes, must be ", attributes.size());
    if (ovstage_release_query_result(client_.instance, &found) != OVSTAGE_OK)
        fail("release_query_result: ", last_error());
    std::vector<ovx_primpath_t> listed;
    ovstage_op_id_t op = 0;
    const ovstage_api_status_t status = client_.list(query, listed, &op);
    if (is_full(status))
        return;
    accepted({status, op}, false);
    if (listed != client_.paths_of(wanted))
        fail("a filter finds other prims, or in another order");
}

} // namespace model
