#include "tests/model/program.h"

#include <algorithm>
#include <sstream>

namespace model
{

const Name names[name_count] = {
    {"a", 0},
    {"b", 1},
    {"c", 2},
    {"d", 3},
    {"omni:xform", local_attribute},
    {"omni:fabric:localMatrix", local_attribute},
    {"omni:resetXformStack", reset_attribute},
    {"omni:fabric:worldMatrix", world_attribute},
    {"usd-prim-type", type_attribute},
    {"usd-schemas", schemas_attribute},
    {"usd-path", recorded_attribute_count},
    {"usd-parent", recorded_attribute_count + 1},
    {"usd-children", recorded_attribute_count + 2},
    {"usd-active", recorded_attribute_count + 3},
};

const char *const words[word_count] = {"a", "b", "ab", "abc", "p0", "/p0", "/p0//*"};

std::string path_of(int prim)
{
    return (prim < 3 ? "" : path_of(prim / 3 - 1)) + "/p" + std::to_string(prim);
}

namespace
{

const char *do_name(Do what)
{
    static const char *const text[] = {
        "write", "remove",        "map",           "fill",           "commit",     "unmap",
        "clone", "discard",       "filter",        "lookup",         "compute",    "advance",
        "read",  "open_snapshot", "read_snapshot", "close_snapshot", "oldest",     "task",
        "wait",  "poll",          "release",       "wait_all",       "wait_floor", "check",
        "fetch", "floor",         "new_query",     "stall",          "let_run"};
    return text[static_cast<int>(what)];
}

void tell(std::ostream &out, const EntryStep &entry)
{
    out << "\n      '" << model::names[entry.name].text << "' " << entry.schema.text() << " count "
        << entry.count << " rows " << entry.rows << " layout " << int(entry.layout) << " offset "
        << entry.offset_bytes << " device " << int(entry.device) << " owner " << int(entry.owner)
        << " defect " << int(entry.defect) << (entry.fits ? " fits" : "");
    static const char *const awaits[] = {"", ", told by an event", ", told by both",
                                         ", which the host has waited for"};
    if (entry.origin.on_device)
        out << " on device " << entry.origin.device << " by stream " << entry.origin.stream
            << awaits[static_cast<int>(entry.origin.awaits)]
            << (entry.origin.together ? ", together" : "")
            << (entry.origin.stalls ? ", which stalls" : "");
    if (entry.schema.is_array) {
        out << (entry.packed ? " packed" : "") << " lengths";
        for (uint32_t length : entry.lengths)
            out << " " << length;
    }
    if (entry.has_map) {
        out << " map";
        for (uint32_t row : entry.map)
            out << " " << row;
    }
    if (entry.has_mask)
        out << " mask " << std::hex << entry.mask[0] << std::dec;
}

} // namespace

bool is_storable(int name, const Schema &given)
{
    const Schema wanted = {kDLUInt, 64, 1, OVSTAGE_SEMANTIC_TOKEN_ID, name == schemas_name};
    if (name != type_name && name != schemas_name)
        return true;
    return given.same_storage(wanted) &&
           (given.semantic == wanted.semantic || given.semantic == OVSTAGE_SEMANTIC_NONE);
}

Schema stored(int name, const Schema &given)
{
    Schema schema = given;
    if ((name == type_name || name == schemas_name) && is_storable(name, given))
        schema.semantic = OVSTAGE_SEMANTIC_TOKEN_ID;
    return schema;
}

bool is_unsupported(const Step &step)
{
    const bool reads = step.what == Do::read || step.what == Do::read_snapshot;
    const bool removes = step.what == Do::remove;
    return std::any_of(step.entries.begin(), step.entries.end(),
                       [](const EntryStep &entry) { return is_computed(entry.name); }) ||
           std::any_of(step.predicates.begin(), step.predicates.end(),
                       [](const Predicate &predicate) { return predicate.name == active_name; }) ||
           std::any_of(step.names.begin(), step.names.end(), [&](int name) {
               return (reads && name == active_name) || (removes && is_computed(name));
           });
}

std::vector<std::pair<uint32_t, uint32_t>> elements_of(const EntryStep &entry, size_t query_count)
{
    std::vector<std::pair<uint32_t, uint32_t>> elements;
    uint32_t count = entry.count ? entry.count : static_cast<uint32_t>(query_count);
    for (uint32_t i = 0; i < count; i++) {
        if (entry.has_mask && (entry.mask[i / 64] >> (i % 64) & 1) == 0)
            continue;
        elements.emplace_back(i, entry.has_map ? entry.map[i] : i);
    }
    return elements;
}

std::vector<int> addressed(const Step &step, const std::vector<int> &prims)
{
    if (!step.by_rows)
        return prims;
    std::vector<int> some;
    for (uint32_t position : step.positions) {
        if (position < prims.size())
            some.push_back(prims[position]);
    }
    return some;
}

std::vector<size_t> EntryStep::row_starts() const
{
    std::vector<size_t> starts = {0};
    for (uint32_t row = 0; row < rows; row++)
        starts.push_back(starts.back() +
                         schema.width() * (schema.is_array ? lengths[row] : size_t{1}));
    return starts;
}

std::string Step::text() const
{
    std::ostringstream out;
    out << do_name(what);
    if (what == Do::write || what == Do::remove || what == Do::map || what == Do::read ||
        what == Do::new_query || what == Do::read_snapshot || what == Do::filter ||
        what == Do::lookup)
        out << " query " << query;
    if (what == Do::write || what == Do::remove || what == Do::map || what == Do::clone ||
        what == Do::discard || what == Do::advance || what == Do::read || what == Do::compute ||
        what == Do::open_snapshot || ordered)
        out << " ordinal " << ordinal;
    if (is_range || what == Do::compute)
        out << " from " << start;
    if (what == Do::task) {
        static const char *const works[] = {" nothing", " runs", " fails", " holds"};
        out << works[static_cast<int>(work)];
        for (uint32_t dep : deps)
            out << " after " << dep;
    }
    if (what == Do::clone) {
        for (uint32_t target : deps)
            out << " to " << target;
    }
    if (what == Do::advance)
        out << " scope " << int(scope);
    for (int name : this->names)
        out << " '" << model::names[name].text << "'";
    if (mode != FLYRAIL_WRITE_UPSERT)
        out << " mode " << int(mode);
    if (by_rows) {
        out << " positions";
        for (uint32_t position : positions)
            out << " " << position;
    }
    for (const Predicate &predicate : predicates)
        out << " '" << model::names[predicate.name].text << "'" << predicate.text();
    if (placing.is_given) {
        out << " placed on device " << placing.device;
        if (placing.stream >= 0)
            out << " stream " << placing.stream;
        if (placing.event >= 0)
            out << " event " << placing.event;
    }
    if (finds_schema)
        out << " zero dtype";
    if (what == Do::filter)
        out << (later ? " later" : "");
    if (what == Do::read)
        out << (hold ? " hold" : "") << (later ? " later" : "")
            << (release_read_first ? " release-read-first" : "");
    for (const EntryStep &entry : entries)
        tell(out, entry);
    if (what == Do::wait || what == Do::poll || what == Do::check || what == Do::fetch ||
        what == Do::wait_floor || what == Do::wait_all || what == Do::release || what == Do::fill ||
        what == Do::commit || what == Do::unmap || what == Do::clone || what == Do::filter ||
        what == Do::lookup || what == Do::open_snapshot || what == Do::read_snapshot ||
        what == Do::close_snapshot || what == Do::compute || what == Do::stall ||
        what == Do::let_run)
        out << " pick " << pick;
    return out.str();
}

std::string Settings::text() const
{
    std::ostringstream out;
    out << "history " << history_versions << (history_bytes ? "" : " in no bytes")
        << (adopt_managed ? ", adopts" : "") << (caches ? "" : ", no caches")
        << (own_pool ? ", a pool of its own" : "");
    if (op_limit != 0)
        out << ", at most " << op_limit << " ops";
    return out.str();
}

std::string Program::text() const
{
    std::ostringstream out;
    out << "program of seed " << seed << ", " << prim_count << " prims, " << settings.text()
        << "\n";
    for (size_t a = 0; a < homes.size(); a++) {
        if (homes[a] >= 0)
            out << "  attribute " << a << " on device " << homes[a] << "\n";
    }
    for (size_t q = 0; q < queries.size(); q++) {
        out << "  query " << q << ":";
        for (int prim : queries[q])
            out << " " << prim;
        out << "\n";
    }
    for (size_t s = 0; s < steps.size(); s++)
        out << "  " << s << ": " << steps[s].text() << "\n";
    return out.str();
}

} // namespace model
