#include <algorithm>

#include "tests/model/runner_parts.h"

namespace model
{

namespace
{

std::string parent_text(const std::string &path)
{
    return path.substr(0, path.rfind('/'));
}

bool is_below(const std::string &path, const std::string &root)
{
    return path == root || path.compare(0, root.size() + 1, root + "/") == 0;
}

// Component by component (D6).
bool is_before(const std::string &a, const std::string &b)
{
    const auto rank = [](char c) { return c == '/' ? 0 : static_cast<uint8_t>(c) + 1; };
    return std::lexicographical_compare(
        a.begin(), a.end(), b.begin(), b.end(),
        [&](char left, char right) { return rank(left) < rank(right); });
}

} // namespace

const std::string &Runner::text_of(int prim) const
{
    return client_.path_texts[static_cast<size_t>(prim)];
}

int Runner::find_prim(const std::string &text) const
{
    const auto found = client_.prim_by_path.find(text);
    return found == client_.prim_by_path.end() ? -1 : found->second;
}

// --- clones ---

void Runner::clone(const Step &step)
{
    const int source = static_cast<int>(step.pick) % program_.prim_count;
    const std::string root = text_of(source);
    std::vector<std::string> targets;
    for (uint32_t number : step.deps) {
        std::string target = "/c" + std::to_string(number % 3);
        if (number % 2)
            target = path_of(static_cast<int>(number / 6) % program_.prim_count) + target;
        if (std::find(targets.begin(), targets.end(), target) == targets.end())
            targets.push_back(target);
    }
    std::vector<int> subtree;
    for (int prim = 0; prim < static_cast<int>(client_.paths.size()); prim++) {
        if (is_below(text_of(prim), root) && model_.exists(prim, step.ordinal))
            subtree.push_back(prim);
    }
    std::vector<std::vector<int>> copies(targets.size());
    for (int prim : subtree) {
        for (size_t t = 0; t < targets.size(); t++)
            copies[t].push_back(client_.prim_of(targets[t] + text_of(prim).substr(root.size())));
    }
    const Verdict verdict = model_.judge_clone(source, subtree, copies, step.ordinal);
    std::vector<ovx_string_t> texts;
    for (const std::string &target : targets)
        texts.push_back({target.data(), target.size()});
    const ovstage_enqueue_result_t result = ovstage_clone(
        client_.instance, {root.data(), root.size()}, texts.data(), texts.size(), step.ordinal);
    if (is_full(result.status))
        return;
    const Op &op = accepted(result, verdict.status != OVSTAGE_OK);
    model_.accept_clone(verdict, subtree, copies, step.ordinal, op.number);
}

// --- filters ---

namespace
{

// A predicate of a filter step; `named`: the path that it is about.
struct Kind {
    const char *name; // nullptr: of the step's attribute
    ovstage_filter_op_t op;
};
const Kind filter_kinds[] = {
    {nullptr, OVSTAGE_FILTER_OP_HAS}, // none at all
    {nullptr, OVSTAGE_FILTER_OP_HAS},     {"usd-path", OVSTAGE_FILTER_OP_PREFIX},
    {"usd-parent", OVSTAGE_FILTER_OP_IN}, {"usd-children", OVSTAGE_FILTER_OP_CONTAINS},
    {"usd-path", OVSTAGE_FILTER_OP_IN},
};

} // namespace

bool Runner::matches(const Step &step, int prim, const std::string &named) const
{
    const auto exists = [&](int other) { return other >= 0 && model_.exists(other, UINT64_MAX); };
    if (!exists(prim))
        return false;
    const int other = find_prim(named);
    switch (step.pick % 6) {
    case 0:
        return true;
    case 1:
        return model_.at(names[step.names[0]].attribute, prim, UINT64_MAX).has_value();
    case 2:
        return text_of(prim).compare(0, named.size(), named) == 0;
    case 3:
        return exists(other) && parent_text(text_of(prim)) == named;
    case 4:
        return exists(other) && parent_text(named) == text_of(prim);
    default:
        return prim == other;
    }
}

// The prims of a query, told by a column that each prim has.
std::vector<int> Runner::listed(ovstage_query_handle_t query)
{
    std::vector<int> prims;
    const ovx_string_t text = literal_to_ovx_string("usd-path");
    ovx_token_t token = 0;
    path_dictionary_create_tokens_from_strings(client_.dictionary, &text, 1, &token);
    ovstage_read_handle_t read = 0;
    accepted(ovstage_read_attributes(client_.instance, query, &token, 1, {}, &read), false);
    ovstage_read_group_t group;
    while (ovstage_fetch_read_next(client_.instance, read, OVSTAGE_TIMEOUT_INFINITE, &group) ==
           OVSTAGE_OK) {
        const auto *paths = static_cast<const uint64_t *>(group.data.tensors[0].data);
        for (uint32_t i = 0; i < group.prims.count; i++) {
            const auto found = std::find(client_.paths.begin(), client_.paths.end(), paths[i]);
            prims.push_back(static_cast<int>(found - client_.paths.begin()));
        }
        if (ovstage_release_group(client_.instance, &group) != OVSTAGE_OK)
            fail("release_group: ", last_error());
    }
    if (ovstage_release_read(client_.instance, read).status != OVSTAGE_OK)
        fail("release_read: ", last_error());
    return prims;
}

// It sees all that was accepted before it (D23), and is waited for before anything else is.
void Runner::filter(const Step &step)
{
    const Kind &kind = filter_kinds[step.pick % 6];
    const std::string named = path_of(static_cast<int>(step.pick / 6) % program_.prim_count);
    const ovx_string_t value = {named.data(), named.size()};
    ovstage_predicate_t predicate{};
    predicate.attribute.string = view(kind.name ? kind.name : names[step.names[0]].text);
    predicate.op = kind.op;
    predicate.values = &value;
    predicate.value_count = 1;
    const ovstage_filter_t filter{&predicate, step.pick % 6 == 0 ? size_t{0} : size_t{1}};
    ovstage_query_handle_t query = 0;
    const auto result = ovstage_query(client_.instance, &filter, nullptr, 0, &query);
    if (is_full(result.status))
        return;
    std::vector<int> wanted;
    for (int prim = 0; prim < static_cast<int>(client_.paths.size()); prim++) {
        if (matches(step, prim, named))
            wanted.push_back(prim);
    }
    std::sort(wanted.begin(), wanted.end(),
              [&](int a, int b) { return is_before(text_of(a), text_of(b)); });
    const bool was_quiet = quiet_;
    wait(accepted(result, false));
    check_found(query, wanted);
    quiet_ = was_quiet;
    const auto slot = static_cast<size_t>(-1 - step.query);
    if (ovstage_release_query(client_.instance, client_.found[slot]).status != OVSTAGE_OK)
        fail("release_query: ", last_error());
    client_.found[slot] = query;
    client_.found_prims[slot] = wanted;
}

void Runner::check_found(ovstage_query_handle_t query, const std::vector<int> &wanted)
{
    ovstage_query_result_t found{};
    if (ovstage_fetch_query_result(client_.instance, query, OVSTAGE_TIMEOUT_INFINITE, &found) !=
        OVSTAGE_OK)
        fail("fetch_query_result: ", last_error());
    std::set<int> attributes, reported;
    for (int prim : wanted) {
        for (int a = 0; a < attribute_count; a++) {
            if (model_.at(a, prim, UINT64_MAX))
                attributes.insert(a); // D14
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
    if (program_.settings.op_limit == 0 && listed(query) != wanted)
        fail("a filter finds other prims, or in another order");
}

// --- hierarchy lookups ---

std::vector<int> Runner::related(int prim, uint32_t relation) const
{
    std::vector<int> prims;
    const std::string &text = text_of(prim);
    for (int other = 0; other < static_cast<int>(client_.paths.size()); other++) {
        const std::string &others = text_of(other);
        const bool is_related = relation == OVSTAGE_HIERARCHY_PARENT ? others == parent_text(text)
                                : relation == OVSTAGE_HIERARCHY_CHILDREN
                                    ? parent_text(others) == text
                                    : other != prim && parent_text(others) == parent_text(text);
        if (is_related && model_.exists_sealed(other))
            prims.push_back(other);
    }
    return prims;
}

void Runner::lookup(const Step &step)
{
    const std::vector<int> &prims = client_.prims_of(step);
    const uint32_t relation = step.pick % 3;
    std::vector<ovx_primpath_t> paths;
    for (int prim : prims)
        paths.push_back(client_.paths[static_cast<size_t>(prim)]);
    ovx_primpath_list_t list = 0;
    path_dictionary_create_path_list_from_paths(client_.dictionary, paths.data(), paths.size(),
                                                &list);
    ovstage_hierarchy_handle_t handle = 0;
    const auto result = ovstage_get_hierarchy(
        client_.instance, list, 1, static_cast<ovstage_hierarchy_relation_t>(relation), &handle);
    path_dictionary_release_path_list_reference(client_.dictionary, list);
    if (is_full(result.status))
        return;
    const bool was_quiet = quiet_;
    wait(accepted(result, false));
    quiet_ = was_quiet;
    ovstage_hierarchy_result_t found{};
    if (ovstage_fetch_hierarchy_result(client_.instance, handle, &found) != OVSTAGE_OK)
        fail("fetch_hierarchy_result: ", last_error());
    if (found.input_count != prims.size())
        fail("a lookup of ", prims.size(), " prims has ", found.input_count, " items");
    for (size_t i = 0; was_quiet && i < prims.size(); i++) { // else it goes by what has run
        const bool exists = model_.exists_sealed(prims[i]);
        const ovstage_hierarchy_item_t &item = found.items[i];
        std::set<int> wanted, got;
        for (int other : exists ? related(prims[i], relation) : std::vector<int>())
            wanted.insert(other);
        for (size_t p = 0; p < item.path_count; p++) {
            const ovx_string_t text = found.paths[item.path_offset + p].string;
            got.insert(find_prim(std::string(text.ptr, text.length)));
        }
        if (item.status != (exists ? OVSTAGE_OK : OVSTAGE_ERROR_NOT_FOUND) || got != wanted ||
            got.size() != item.path_count)
            fail("relation ", relation, " of '", text_of(prims[i]), "' has status ", item.status,
                 " and ", item.path_count, " paths, must be ", wanted.size());
    }
    if (ovstage_release_hierarchy_result(client_.instance, &found) != OVSTAGE_OK ||
        ovstage_release_hierarchy(client_.instance, handle).status != OVSTAGE_OK)
        fail("release of a lookup: ", last_error());
}

} // namespace model
