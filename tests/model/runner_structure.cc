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

ovstage_hierarchy_relation_t relation_of(const Step &lookup)
{
    return static_cast<ovstage_hierarchy_relation_t>(lookup.pick % 3);
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
    Verdict verdict = model_.judge_clone(copies.source, copies.subtree, copies.prims, step.ordinal);
    const ovstage_enqueue_result_t result = client_.clone(copies, step.ordinal);
    if (is_full(result.status))
        return;
    Op &op = accepted(result, verdict.status != OVSTAGE_OK);
    op.on_device = copies_there(copies, step.ordinal); // it may wait for a stream
    model_.accept_clone(
        verdict, copies.subtree, copies.prims, step.ordinal,
        [&](const Value &value, size_t copy) {
            return client_.redirected(value, copies.root, copies.targets[copy]);
        },
        op.number);
}

void Runner::structure(const Step &step)
{
    if (step.what == Do::clone)
        clone(step);
    else if (step.what == Do::filter)
        filter(step);
    else if (step.what == Do::lookup)
        lookup(step);
    else
        compute(step);
}

// --- hierarchy lookups ---

std::vector<int> Client::related(const Step &lookup, int prim) const
{
    std::vector<int> prims;
    const std::string &text = path_texts[static_cast<size_t>(prim)];
    for (int other = 0; other < static_cast<int>(paths.size()); other++) {
        const std::string &others = path_texts[static_cast<size_t>(other)];
        const bool is_related = relation_of(lookup) == OVSTAGE_HIERARCHY_PARENT
                                    ? others == parent_text(text)
                                : relation_of(lookup) == OVSTAGE_HIERARCHY_CHILDREN
                                    ? parent_text(others) == text
                                    : other != prim && parent_text(others) == parent_text(text);
        if (is_related)
            prims.push_back(other);
    }
    return prims;
}

ovstage_enqueue_result_t Client::lookup(const Step &step, const std::vector<ovx_primpath_t> &of,
                                        ovstage_hierarchy_handle_t *handle) const
{
    ovx_primpath_list_t list = 0;
    if (path_dictionary_create_path_list_from_paths(dictionary, of.data(), of.size(), &list).status)
        fail("no path list");
    const auto result = ovstage_get_hierarchy(instance, list, 1, relation_of(step), handle);
    path_dictionary_release_path_list_reference(dictionary, list);
    return result;
}

std::vector<Related> Client::looked_up(ovstage_hierarchy_handle_t handle, size_t count) const
{
    std::vector<Related> items;
    ovstage_hierarchy_result_t result{};
    if (ovstage_fetch_hierarchy_result(instance, handle, &result) != OVSTAGE_OK)
        fail("fetch_hierarchy_result: ", last_error());
    if (result.input_count != count)
        fail("a lookup of ", count, " prims has ", result.input_count, " items");
    for (size_t i = 0; i < count; i++) {
        const ovstage_hierarchy_item_t &item = result.items[i];
        items.push_back({item.status, {}});
        for (size_t p = 0; p < item.path_count; p++) {
            const ovx_string_t text = result.paths[item.path_offset + p].string;
            items.back().paths.emplace_back(text.ptr, text.length);
        }
    }
    if (ovstage_release_hierarchy_result(instance, &result) != OVSTAGE_OK ||
        ovstage_release_hierarchy(instance, handle).status != OVSTAGE_OK)
        fail("release of a lookup: ", last_error());
    return items;
}

void Runner::lookup(const Step &step)
{
    const std::vector<int> &prims = client_.prims_of(step);
    ovstage_hierarchy_handle_t handle = 0;
    const auto result = client_.lookup(step, client_.paths_of(prims), &handle);
    if (is_full(result.status))
        return;
    const bool was_quiet = quiet_;
    wait(accepted(result, false));
    quiet_ = was_quiet;
    const std::vector<Related> items = client_.looked_up(handle, prims.size());
    for (size_t i = 0; was_quiet && i < prims.size(); i++) { // else it goes by what has run
        const bool exists = model_.exists_sealed(prims[i]);
        std::set<int> wanted, got;
        for (int other : exists ? client_.related(step, prims[i]) : std::vector<int>()) {
            if (model_.exists_sealed(other))
                wanted.insert(other);
        }
        for (const std::string &path : items[i].paths)
            got.insert(client_.find_prim(path));
        if (items[i].status != (exists ? OVSTAGE_OK : OVSTAGE_ERROR_NOT_FOUND) || got != wanted ||
            got.size() != items[i].paths.size())
            fail("'", text_of(prims[i]), "' has status ", items[i].status, " and ",
                 items[i].paths.size(), " paths, must be ", wanted.size());
    }
}

} // namespace model
