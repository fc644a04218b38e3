#include <algorithm>

#include "tests/model/runner_parts.h"

namespace model
{

namespace
{

bool is_below(const std::string &path, const std::string &root)
{
    return path == root || path.compare(0, root.size() + 1, root + "/") == 0;
}

} // namespace

// Paths that point into the source point into the copy (R134).
Bytes Client::redirected(const Value &value, const std::string &source, const std::string &target)
{
    const auto semantic = value.schema.semantic;
    Bytes bytes = value.bytes;
    if (semantic != OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID &&
        semantic != OVSTAGE_SEMANTIC_CONNECTION_PATH_ID)
        return bytes;
    for (size_t at = 0; at < bytes.size(); at += value.schema.width()) {
        uint64_t id;
        std::memcpy(&id, &bytes[at], sizeof(id));
        const auto text = text_of_path(id);
        if (!text || !is_below(*text, source))
            continue;
        id = paths[static_cast<size_t>(prim_of(target + text->substr(source.size())))];
        std::memcpy(&bytes[at], &id, sizeof(id));
    }
    return bytes;
}

const std::string &Runner::text_of(int prim) const
{
    return client_.path_texts[static_cast<size_t>(prim)];
}

// --- clones ---

void Client::name_copies(const Step &step, Copies &copies) const
{
    copies.source = static_cast<int>(step.pick) % program.prim_count;
    copies.root = path_of(copies.source);
    for (uint32_t number : step.deps) {
        std::string target = "/c" + std::to_string(number % 3);
        if (number % 2)
            target = path_of(static_cast<int>(number / 6) % program.prim_count) + target;
        if (std::find(copies.targets.begin(), copies.targets.end(), target) == copies.targets.end())
            copies.targets.push_back(target);
    }
}

Copies Client::copies_of(const Step &step, const Model &model)
{
    Copies copies;
    name_copies(step, copies);
    for (int prim = 0; prim < static_cast<int>(paths.size()); prim++) {
        if (is_below(path_texts[static_cast<size_t>(prim)], copies.root) &&
            model.exists(prim, step.ordinal))
            copies.subtree.push_back(prim);
    }
    for (const std::string &target : copies.targets) {
        copies.prims.emplace_back();
        for (int prim : copies.subtree) {
            const std::string text = path_texts[static_cast<size_t>(prim)];
            copies.prims.back().push_back(prim_of(target + text.substr(copies.root.size())));
        }
    }
    return copies;
}

ovstage_enqueue_result_t Client::clone(const Copies &copies, Ordinal ordinal) const
{
    std::vector<ovx_string_t> texts;
    for (const std::string &target : copies.targets)
        texts.push_back({target.data(), target.size()});
    return ovstage_clone(instance, {copies.root.data(), copies.root.size()}, texts.data(),
                         texts.size(), ordinal);
}

void Runner::clone(const Step &step)
{
    const Copies copies = client_.copies_of(step, model_);
    const Verdict verdict =
        model_.judge_clone(copies.source, copies.subtree, copies.prims, step.ordinal);
    const ovstage_enqueue_result_t result = client_.clone(copies, step.ordinal);
    if (is_full(result.status))
        return;
    const Op &op = accepted(result, verdict.status != OVSTAGE_OK);
    model_.accept_clone(
        verdict, copies.subtree, copies.prims, step.ordinal,
        [&](const Value &value, size_t copy) {
            return client_.redirected(value, copies.root, copies.targets[copy]);
        },
        op.number);
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
            got.insert(client_.find_prim(std::string(text.ptr, text.length)));
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
