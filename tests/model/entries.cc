// What steps that write say to the model, and what is wrong with them.
#include <algorithm>

#include "tests/model/runner_parts.h"

namespace model
{

namespace
{

template <typename Item> void repeat(std::vector<Item> &items, size_t count)
{
    const size_t given = items.size();
    items.resize(count);
    for (size_t i = given; given > 0 && i < count; i++)
        items[i] = items[i - given];
}

// Whether an entry has other rows than are written; of a packed one all elements count.
bool is_misfit(const EntryStep &entry, size_t count)
{
    if (entry.count != 0)
        return entry.count > count;
    if (entry.packed)
        return entry.rows > 0 && entry.rows * size_t{entry.lengths[0]} % count != 0;
    return entry.rows != count;
}

// Packed elements are as many rows as are written (R98).
EntryStep cut_for(const EntryStep &given, size_t count)
{
    EntryStep entry = given;
    const uint32_t elements = entry.rows > 0 ? entry.rows * entry.lengths[0] : 0;
    entry.rows = static_cast<uint32_t>(count);
    entry.lengths.assign(count, elements / entry.rows);
    return entry;
}

// Some position is none of the query's.
bool is_outside(const Step &step, const std::vector<int> &prims)
{
    return step.by_rows && addressed(step, prims).size() != step.positions.size();
}

bool is_sound(const Step &step)
{
    return std::all_of(step.entries.begin(), step.entries.end(),
                       [](const EntryStep &entry) { return entry.defect == Defect::none; });
}

void refuse_defects(const Step &step, std::set<ovstage_api_status_t> &statuses)
{
    for (const EntryStep &entry : step.entries) {
        if (entry.defect == Defect::sub_byte || entry.defect == Defect::cuda_device ||
            entry.defect == Defect::too_wide)
            statuses.insert(OVSTAGE_ERROR_NOT_SUPPORTED);
        else if (entry.defect != Defect::none)
            statuses.insert(OVSTAGE_ERROR_INVALID_ARGUMENT);
    }
}

} // namespace

void EntryStep::fit(uint32_t to)
{
    const uint32_t from = count ? count : rows;
    if (!fits || to == 0 || from == 0)
        return;
    count = count ? to : 0;
    repeat(mask, has_mask ? (to + 63) / 64 : 0);
    repeat(map, has_map ? to : 0);
    uint32_t wanted = to;
    if (has_map) // of which a packed payload has no rows that are not named
        wanted = packed ? 1 + *std::max_element(map.begin(), map.end()) : rows;
    while (rows < wanted) {
        const std::vector<size_t> starts = row_starts();
        const uint32_t row = rows % from;
        for (size_t i = starts[row]; i < starts[row + 1]; i++)
            payload.push_back(payload[i]);
        if (schema.is_array)
            lengths.push_back(lengths[row]);
        rows++;
    }
    payload.resize(row_starts()[wanted]);
    rows = wanted;
    lengths.resize(schema.is_array ? wanted : 0);
    packed |= schema.is_array && rows < 2;
}

Step fitted(const Step &step, size_t count)
{
    Step fitting = step;
    for (EntryStep &entry : fitting.entries) {
        if (step.what == Do::map && entry.fits && entry.schema.is_array)
            entry.lengths.empty() ? entry.lengths.resize(count) : repeat(entry.lengths, count);
        else if (step.what == Do::write)
            entry.fit(static_cast<uint32_t>(count));
    }
    return fitting;
}

bool fits_a_query(const Step &step)
{
    return std::any_of(step.entries.begin(), step.entries.end(),
                       [](const EntryStep &entry) { return entry.fits; });
}

Entry entry_of_map(const Step &step, const std::vector<int> &prims)
{
    Entry entry;
    entry.attribute = names[step.entries[0].name].attribute;
    entry.schema = step.finds_schema ? step.entries[0].schema
                                     : stored(step.entries[0].name, step.entries[0].schema);
    entry.looked_at = !prims.empty();
    for (int prim : prims)
        entry.rows[prim];
    return entry;
}

bool is_unfit(const Step &map, const std::vector<int> &prims)
{
    const EntryStep &entry = map.entries[0];
    return !prims.empty() && !map.finds_schema && !is_storable(entry.name, entry.schema);
}

bool has_other_sizes(const Step &map, size_t count)
{
    const EntryStep &entry = map.entries[0];
    return entry.schema.is_array && entry.lengths.size() != count;
}

std::vector<Entry> entries_of(const Step &step, const std::vector<int> &of_query, bool by_filter)
{
    const std::vector<int> prims = addressed(step, of_query);
    std::vector<Entry> entries;
    for (const EntryStep &given : step.entries) {
        Entry entry;
        entry.attribute = names[given.name].attribute;
        entry.schema = stored(given.name, given.schema);
        // How many prims a filter finds may not be known yet.
        entry.looked_at = by_filter && !(step.by_rows && step.positions.empty()) ? is_sound(step)
                                                                                 : !prims.empty();
        if (given.defect == Defect::none && !prims.empty() && !is_outside(step, of_query) &&
            !is_misfit(given, prims.size())) {
            const bool cut = given.packed && given.count == 0 && given.rows != prims.size();
            const EntryStep recut = cut ? cut_for(given, prims.size()) : EntryStep();
            const EntryStep &has = cut ? recut : given;
            const std::vector<size_t> starts = has.row_starts();
            for (auto [element, row] : elements_of(has, prims.size())) {
                auto first = has.payload.begin() + static_cast<std::ptrdiff_t>(starts[row]);
                auto end = has.payload.begin() + static_cast<std::ptrdiff_t>(starts[row + 1]);
                entry.rows[prims[element]] = Bytes(first, end);
            }
        }
        entries.push_back(entry);
    }
    return entries;
}

std::set<ovstage_api_status_t> refusals_without_prims(const Step &step)
{
    std::set<ovstage_api_status_t> statuses;
    std::set<int> attributes;
    if (is_unsupported(step))
        statuses.insert(OVSTAGE_ERROR_NOT_SUPPORTED);
    for (const EntryStep &entry : step.entries) {
        if (!attributes.insert(names[entry.name].attribute).second)
            statuses.insert(OVSTAGE_ERROR_INVALID_ARGUMENT);
    }
    if (step.by_rows && !step.positions.empty())
        refuse_defects(step, statuses);
    return statuses;
}

std::set<ovstage_api_status_t> refusals(const Step &step, const std::vector<int> &of_query)
{
    const std::vector<int> prims = addressed(step, of_query);
    std::set<ovstage_api_status_t> statuses = refusals_without_prims(step);
    if (is_outside(step, of_query))
        statuses.insert(OVSTAGE_ERROR_INVALID_ARGUMENT);
    if (prims.empty())
        return statuses;
    refuse_defects(step, statuses);
    for (const EntryStep &entry : step.entries) {
        if (is_misfit(entry, prims.size()) || !is_storable(entry.name, entry.schema))
            statuses.insert(OVSTAGE_ERROR_INVALID_ARGUMENT);
    }
    return statuses;
}

} // namespace model
