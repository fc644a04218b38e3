// Columns that are computed from which prims there are: usd-path, usd-parent and usd-children
// (R140, D13), as read and as filtered by.
#include <algorithm>

#include "tests/model/concurrent_parts.h"

namespace model
{

bool is_before(const std::string &a, const std::string &b)
{
    const auto rank = [](char c) { return c == '/' ? 0 : static_cast<uint8_t>(c) + 1; };
    return std::lexicographical_compare(
        a.begin(), a.end(), b.begin(), b.end(),
        [&](char left, char right) { return rank(left) < rank(right); });
}

std::vector<int> Client::computed_of(int name, int prim) const
{
    const std::string &text = path_texts[static_cast<size_t>(prim)];
    if (name == path_name)
        return {prim};
    if (name == parent_name) {
        const int parent = find_prim(parent_text(text));
        return parent < 0 ? std::vector<int>() : std::vector<int>{parent};
    }
    const auto children = children_by_path_.find(text);
    return children == children_by_path_.end() ? std::vector<int>() : children->second;
}

void Client::enter_child(int prim)
{
    const std::string &text = path_texts[static_cast<size_t>(prim)];
    std::vector<int> &siblings = children_by_path_[parent_text(text)];
    siblings.insert(std::upper_bound(siblings.begin(), siblings.end(), prim,
                                     [&](int a, int b) {
                                         return is_before(path_texts[static_cast<size_t>(a)],
                                                          path_texts[static_cast<size_t>(b)]);
                                     }),
                    prim);
}

bool Client::holds_computed(const Predicate &predicate, int prim, const Exists &exists) const
{
    const std::vector<int> others = computed_of(predicate.name, prim);
    return std::any_of(others.begin(), others.end(), [&](int other) {
        return exists(other) && text_holds(path_texts[static_cast<size_t>(other)], predicate,
                                           predicate.name == children_name);
    });
}

// Of the prims that may be in a row, in order: those that must be are, and no others.
static bool is_right(const std::vector<ovx_primpath_t> &row,
                     const std::vector<std::pair<ovx_primpath_t, Known>> &possible)
{
    size_t next = 0;
    for (auto [path, known] : possible) {
        if (next < row.size() && row[next] == path && known != Known::gone)
            next++;
        else if (known == Known::there)
            return false;
    }
    return next == row.size();
}

void Client::check_computed(int name, const std::vector<int> &prims, const ComputedRows &rows,
                            const std::function<Known(int prim)> &known) const
{
    for (uint32_t position = 0; position < prims.size(); position++) {
        const int prim = prims[position];
        std::vector<std::pair<ovx_primpath_t, Known>> possible;
        for (int other : computed_of(name, prim))
            possible.emplace_back(paths[static_cast<size_t>(other)], known(other));
        const auto seen = rows.find(position);
        const bool is_absent = seen == rows.end();
        const auto row = is_absent ? std::vector<ovx_primpath_t>() : seen->second;
        if (!is_absent && (row.empty() || known(prim) == Known::gone))
            fail("'", names[name].text, "' of position ", position, " must be absent");
        // Of a prim that may be gone, nothing has to be there.
        const bool may_be_absent = is_absent && known(prim) != Known::there;
        if (!may_be_absent && !is_right(row, possible))
            fail("'", names[name].text, "' of position ", position, " has ", row.size(),
                 " paths of ", possible.size(), " that are possible, and not the right ones");
    }
}

std::vector<ovx_primpath_t> ids_of(const uint8_t *data, size_t size)
{
    std::vector<ovx_primpath_t> ids(size / sizeof(ovx_primpath_t));
    if (size > 0)
        std::memcpy(ids.data(), data, size);
    return ids;
}

bool is_schema_of_computed(int name, const Schema &schema)
{
    return schema.same_storage({kDLUInt, 64, 1, OVSTAGE_SEMANTIC_NONE, name == children_name});
}

// --- one client ---

// Not floor-gated: what is complete counts, and what is not may.
void Runner::check_computed_group(const Expectation &expectation, size_t n,
                                  const ovstage_read_group_t &group, Seen &seen) const
{
    const int name = expectation.names[n];
    Schema schema;
    for (const Row &row : client_.rows_of(group, client_.paths_of(expectation.prims), schema)) {
        if (!seen.computed[name].emplace(row.position, ids_of(row.data, row.size)).second)
            fail("'", names[name].text, "' of position ", row.position, " comes twice");
    }
    if (expectation.start || group.is_delete || !is_schema_of_computed(name, schema))
        fail("a group of '", names[name].text, "' of schema ", schema.text(),
             expectation.start ? " in a range" : "");
    const Ordinal floor = group.meta.attribute_write_floor_ordinal;
    const Ordinal most =
        expectation.settled ? expectation.floors[n].second : model_.floor(names[name].attribute);
    if (group.ordinal != expectation.ordinal || floor < expectation.floors[n].first || floor > most)
        fail("a group of '", names[name].text, "' says ordinal ", group.ordinal, " and floor ",
             floor, ", must be ", expectation.ordinal, " and ", expectation.floors[n].first, "..",
             most);
}

void Runner::check_computed(const Expectation &expectation, const Seen &seen) const
{
    const auto known = [&](int prim) {
        const bool is_settled =
            quiet_ || model_.is_settled(prim, [&](size_t op) { return ops_[op]->waited; });
        return !is_settled                       ? Known::maybe
               : model_.exists(prim, UINT64_MAX) ? Known::there
                                                 : Known::gone;
    };
    for (int name : expectation.names) {
        const auto rows = seen.computed.find(name);
        if (is_computed(name) && !expectation.start)
            client_.check_computed(name, expectation.prims,
                                   rows == seen.computed.end() ? ComputedRows() : rows->second,
                                   known);
    }
}

void Runner::check_unsupported(ovstage_enqueue_result_t result, bool is_sealed) const
{
    if ((result.status != OVSTAGE_ERROR_NOT_SUPPORTED &&
         !(is_sealed && result.status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION)) ||
        result.op_index != 0 || last_error().empty())
        fail("what there is not: ", result.status, " op ", result.op_index, " (", last_error(),
             ")");
}

// --- several clients ---

// What was accepted before the read was judged and not before that of which it is known that it had
// run may be seen, or not; what was accepted since, as well.
void Judge::open_computed(const Event &event)
{
    if (event.status != OVSTAGE_OK || event.from == 0 || event.until == 0)
        return;
    OpenFilter open{&event, {}, {}};
    for (int prim = 0; prim < static_cast<int>(client_.paths.size()); prim++) {
        if (model_.exists(prim, UINT64_MAX))
            open.wanted.insert(prim);
        const auto touched = touched_at_.find(prim);
        if (touched != touched_at_.end() && touched->second > event.from)
            open.touched.insert(prim);
    }
    computed_reads_.push_back(open);
}

void Judge::check_computed(const OpenFilter &open)
{
    const Event &event = *open.event;
    const std::vector<int> &asked = event.step->names;
    const std::vector<int> prims = prims_of(event);
    for (size_t n = 0; n < asked.size(); n++) {
        ComputedRows rows;
        for (const auto &[key, seen] : event.rows) {
            if (!is_computed(asked[n]) || key.first != static_cast<int>(n))
                continue;
            if (seen.is_delete || event.step->is_range ||
                !is_schema_of_computed(asked[n], seen.schema))
                fail("a row of '", names[asked[n]].text, "' has schema ", seen.schema.text(), ": ",
                     event.step->text());
            rows[key.second] = ids_of(seen.bytes.data(), seen.bytes.size());
        }
        if (!is_computed(asked[n]) || event.step->is_range)
            continue;
        client_.check_computed(asked[n], prims, rows, [&](int prim) {
            return open.touched.count(prim) != 0  ? Known::maybe
                   : open.wanted.count(prim) != 0 ? Known::there
                                                  : Known::gone;
        });
    }
}

// A predicate of a filter looks at a prim besides the one that it is about, and that may have
// changed meanwhile.
bool Judge::is_unsure(const OpenFilter &filter, int prim) const
{
    const std::vector<Predicate> &predicates = filter.event->step->predicates;
    return std::any_of(predicates.begin(), predicates.end(), [&](const Predicate &predicate) {
        if (!is_computed(predicate.name))
            return false;
        const std::vector<int> others = client_.computed_of(predicate.name, prim);
        return std::any_of(others.begin(), others.end(),
                           [&](int other) { return filter.touched.count(other) != 0; });
    });
}

} // namespace model
