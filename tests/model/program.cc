#include "tests/model/program.h"

#include <algorithm>
#include <random>
#include <sstream>

namespace model
{

const Name names[name_count] = {
    {"a", 0}, {"b", 1}, {"c", 2}, {"d", 3}, {"omni:xform", 4}, {"omni:fabric:localMatrix", 4},
};

std::string path_of(int prim)
{
    return (prim < 3 ? "" : path_of(prim / 3 - 1)) + "/p" + std::to_string(prim);
}

namespace
{

class Generator
{
  public:
    explicit Generator(uint64_t seed) : random_(seed)
    {
        program_.seed = seed;
    }
    Program make();

  private:
    std::mt19937_64 random_;
    Program program_;
    Ordinal now_ = 1;            // ordinals are taken around it
    std::vector<int> schema_of_; // usual schema of each attribute
    bool single_schema_ = false, deletes_ = false, maps_ = false, structure_ = false;

    uint32_t below(uint32_t limit)
    {
        return static_cast<uint32_t>(random_() % limit);
    }
    bool chance(uint32_t percent)
    {
        return below(100) < percent;
    }
    Ordinal some_ordinal();
    Schema some_schema(int attribute);
    void add_query();
    EntryStep entry(int name, size_t query_count);
    void fill(EntryStep &entry);
    void spoil(EntryStep &entry, size_t query_count);
    Settings settings();
    Step write();
    Step remove();
    Step map();
    Step session();
    Step structure();
    int some_query();
    Step advance();
    Step read();
    Step task();
    Step other();
};

const Schema schemas[] = {
    {kDLFloat, 32, 1, OVSTAGE_SEMANTIC_NONE},
    {kDLFloat, 32, 3, OVSTAGE_SEMANTIC_POINT},
    {kDLInt, 8, 1, OVSTAGE_SEMANTIC_NONE},
    {kDLUInt, 64, 1, OVSTAGE_SEMANTIC_TOKEN_ID},
    {kDLFloat, 64, 16, OVSTAGE_SEMANTIC_MATRIX},
    {kDLUInt, 8, 5, OVSTAGE_SEMANTIC_NONE},
    {kDLFloat, 32, 4, OVSTAGE_SEMANTIC_COLOR},
    {kDLUInt, 64, 2, OVSTAGE_SEMANTIC_ASSET_PATH_ID},
    {kDLFloat, 32, 3, OVSTAGE_SEMANTIC_VECTOR},
    {kDLFloat, 32, 3, OVSTAGE_SEMANTIC_NONE},
    {kDLBool, 8, 1, OVSTAGE_SEMANTIC_NONE},
    {kDLFloat, 64, 1, OVSTAGE_SEMANTIC_TIME_CODE},
    {kDLUInt, 8, 1, OVSTAGE_SEMANTIC_STRING, true},
    {kDLFloat, 32, 3, OVSTAGE_SEMANTIC_POINT, true},
    {kDLUInt, 64, 1, OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID, true},
    {kDLInt, 32, 1, OVSTAGE_SEMANTIC_NONE, true},
    {kDLFloat, 32, 1, OVSTAGE_SEMANTIC_NONE, true},
};
constexpr uint32_t schema_count = sizeof(schemas) / sizeof(schemas[0]);

// Mostly a few ordinals ahead, in odd order; sometimes far behind.
Ordinal Generator::some_ordinal()
{
    if (chance(5))
        return below(static_cast<uint32_t>(now_) + 1);
    return now_ + below(5);
}

Schema Generator::some_schema(int attribute)
{
    uint32_t index = static_cast<uint32_t>(schema_of_[static_cast<size_t>(attribute)]);
    if (!single_schema_ && chance(12))
        index = below(schema_count);
    Schema schema = schemas[index];
    if (chance(single_schema_ ? 15 : 5))
        schema.semantic = OVSTAGE_SEMANTIC_NONE;
    return schema;
}

void Generator::add_query()
{
    std::vector<int> prims;
    switch (below(5)) {
    case 0: // all, in order
        for (int prim = 0; prim < program_.prim_count; prim++)
            prims.push_back(prim);
        break;
    case 1: // a part, in order
        for (int prim = 0; prim < program_.prim_count; prim++) {
            if (chance(50))
                prims.push_back(prim);
        }
        break;
    case 2: // one
        prims.push_back(static_cast<int>(below(static_cast<uint32_t>(program_.prim_count))));
        break;
    default: { // anything, twice too
        uint32_t count = below(static_cast<uint32_t>(program_.prim_count) + 4);
        for (uint32_t i = 0; i < count; i++)
            prims.push_back(static_cast<int>(below(static_cast<uint32_t>(program_.prim_count))));
        break;
    }
    }
    program_.queries.push_back(prims);
}

// Whose prims the program knows, or what a filter has found.
int Generator::some_query()
{
    if (structure_ && chance(20))
        return -1 - static_cast<int>(below(filter_slots));
    return static_cast<int>(below(static_cast<uint32_t>(program_.queries.size())));
}

void Generator::spoil(EntryStep &entry, size_t query_count)
{
    entry.defect = static_cast<Defect>(1 + below(static_cast<uint32_t>(Defect::last_defect) - 1));
    if (entry.defect == Defect::no_tensor || entry.defect == Defect::two_tensors)
        entry.owner = Owner::client; // nothing is handed over
    if (entry.defect == Defect::both_tensors)
        entry.owner = Owner::managed;
    if (entry.defect == Defect::too_few_rows && (entry.has_map || entry.rows == 0))
        entry.defect = Defect::negative_shape;
    // Of one tensor that is all rows some make other rows that are sound; some are none for arrays.
    const bool array = entry.schema.is_array;
    if (array && (entry.defect == Defect::too_few_rows || entry.defect == Defect::two_tensors ||
                  entry.defect == Defect::role_of_arrays ||
                  (entry.packed && entry.defect == Defect::map_out_of_range)))
        entry.defect = Defect::no_role;
    // A defect that needs room has to have it.
    if (entry.defect == Defect::map_out_of_range && query_count > 0) {
        entry.has_map = true;
        entry.has_mask = false;
        entry.mask.clear();
        entry.count = static_cast<uint32_t>(query_count);
        entry.map.assign(entry.count, 0);
        entry.map[below(entry.count)] = entry.rows + below(3);
    }
}

// The rows, and how they lie. One tensor is always packed, as many rows as its map names.
void Generator::fill(EntryStep &entry)
{
    size_t width = entry.schema.width();
    if (entry.schema.is_array) {
        entry.packed = entry.rows < 2 || chance(40);
        if (entry.packed && entry.has_map)
            entry.rows = 1 + *std::max_element(entry.map.begin(), entry.map.end());
        const uint32_t most = chance(90) ? 5 : chance(80) ? 60 : 3000 / (1 + entry.rows) + 1;
        const uint32_t common = below(most);
        for (uint32_t row = 0; row < entry.rows; row++)
            entry.lengths.push_back(entry.packed ? common : below(most));
    }
    entry.payload.resize(entry.row_starts().back());
    for (auto &byte : entry.payload)
        byte = static_cast<uint8_t>(random_());
    if (chance(50))
        entry.layout = static_cast<Layout>(below(static_cast<uint32_t>(Layout::last_layout)));
    if (entry.layout != Layout::repeated)
        return;
    if (entry.schema.is_array && !entry.packed) {
        entry.layout = Layout::gaps;
        return;
    }
    if (entry.schema.is_array)
        width *= entry.lengths.empty() ? 0 : entry.lengths[0];
    for (size_t i = width; i < entry.payload.size(); i++)
        entry.payload[i] = entry.payload[i - width];
}

EntryStep Generator::entry(int name, size_t query_count)
{
    EntryStep entry;
    entry.name = name;
    entry.schema = some_schema(names[name].attribute);
    auto all = static_cast<uint32_t>(query_count);
    uint32_t kind = below(10);
    uint32_t count = all;
    if (kind < 4 && all > 0) {
        count = chance(50) ? all : 1 + below(all);
        entry.count = count;
    }
    entry.rows = count;
    if (kind < 2 && entry.count > 0) {
        entry.has_map = true;
        entry.rows = 1 + below(count + 2);
        for (uint32_t i = 0; i < count; i++)
            entry.map.push_back(below(entry.rows));
    } else if (kind < 4 && entry.count > 0 && chance(70)) {
        entry.has_mask = true;
        for (uint32_t word = 0; word < (count + 63) / 64; word++)
            entry.mask.push_back(random_());
    }
    fill(entry);
    if (chance(20))
        entry.offset_bytes = chance(50) ? 64 * below(3) : below(20);
    if (chance(10))
        entry.device = chance(50) ? kDLCUDAHost : kDLCUDAManaged;
    if (chance(25))
        entry.owner = chance(50) ? Owner::managed : Owner::managed_copied;
    if (chance(4))
        spoil(entry, query_count);
    return entry;
}

Step Generator::write()
{
    Step step;
    step.what = Do::write;
    step.query = static_cast<int>(below(static_cast<uint32_t>(program_.queries.size())));
    size_t query_count = program_.queries[static_cast<size_t>(step.query)].size();
    step.ordinal = some_ordinal();
    step.insert = chance(10);
    std::vector<int> chosen;
    uint32_t entries = chance(70) ? 1 : 1 + below(4);
    for (uint32_t e = 0; e < entries; e++) {
        int name = static_cast<int>(below(name_count));
        bool taken = false;
        for (int other : chosen)
            taken = taken || names[other].attribute == names[name].attribute;
        // Now and then one column is named twice, which must be refused.
        if (taken && !chance(10))
            continue;
        chosen.push_back(name);
        step.entries.push_back(entry(name, query_count));
    }
    return step;
}

Step Generator::remove()
{
    Step step;
    step.what = Do::remove;
    step.query = some_query();
    step.ordinal = some_ordinal();
    if (chance(30))
        return step;
    for (uint32_t n = 1 + below(3); n > 0; n--)
        step.names.push_back(static_cast<int>(below(name_count)));
    return step;
}

Step Generator::map()
{
    Step step;
    step.what = Do::map;
    step.query = some_query();
    step.ordinal = some_ordinal();
    step.insert = chance(10);
    step.finds_schema = chance(30);
    EntryStep entry;
    entry.name = static_cast<int>(below(name_count));
    entry.schema = some_schema(names[entry.name].attribute);
    if (step.query < 0 && entry.schema.is_array) // that would need as many lengths
        step.query = 0;
    const size_t prims =
        step.query < 0 ? 0 : program_.queries[static_cast<size_t>(step.query)].size();
    for (size_t p = 0; entry.schema.is_array && p < prims; p++)
        entry.lengths.push_back(below(chance(90) ? 4 : 40));
    step.entries.push_back(entry);
    return step;
}

// What is done with one that is open.
Step Generator::session()
{
    Step step;
    static const Do kinds[] = {Do::fill, Do::fill, Do::commit, Do::unmap};
    step.what = kinds[below(4)];
    step.pick = below(1000);
    return step;
}

Step Generator::structure()
{
    Step step;
    static const Do kinds[] = {Do::clone, Do::filter, Do::filter, Do::lookup};
    step.what = kinds[below(4)];
    step.pick = below(1000);
    step.query = step.what == Do::filter ? -1 - static_cast<int>(below(filter_slots)) : 0;
    if (step.what == Do::filter)
        step.names.push_back(static_cast<int>(below(name_count)));
    if (step.what == Do::lookup)
        step.query = static_cast<int>(below(static_cast<uint32_t>(program_.queries.size())));
    if (step.what != Do::clone)
        return step;
    step.ordinal = some_ordinal();
    for (uint32_t target = 1 + below(2); target > 0; target--)
        step.deps.push_back(below(1000));
    return step;
}

Step Generator::advance()
{
    Step step;
    step.what = Do::advance;
    step.ordinal = chance(80) ? now_ + below(4) : some_ordinal();
    uint32_t kind = below(10);
    if (kind < 6) {
        step.scope = OVSTAGE_SCOPE_ALL;
    } else {
        step.scope = kind < 9 ? OVSTAGE_SCOPE_INCLUDE : OVSTAGE_SCOPE_EXCLUDE;
        for (uint32_t n = below(4); n > 0; n--)
            step.names.push_back(static_cast<int>(below(name_count)));
        if (step.scope == OVSTAGE_SCOPE_INCLUDE && step.names.empty())
            step.names.push_back(0);
    }
    if (step.ordinal > 0)
        now_ = std::max(now_, step.ordinal - below(2) + (chance(40) ? 1 : 0));
    return step;
}

Step Generator::read()
{
    Step step;
    step.what = Do::read;
    step.query = some_query();
    uint32_t back = below(6);
    step.ordinal = chance(20) ? now_ + 2 : now_ > back ? now_ - back : now_;
    if (chance(10))
        step.ordinal = below(static_cast<uint32_t>(now_) + 1);
    step.is_range = chance(40);
    if (step.is_range) {
        const uint32_t wide = chance(70) ? below(4) : below(40);
        step.start = step.ordinal > wide ? step.ordinal - wide : 0;
    }
    for (uint32_t n = 1 + below(chance(60) ? 1 : 4); n > 0; n--) {
        int name = static_cast<int>(below(name_count));
        bool taken = false;
        for (int other : step.names)
            taken = taken || other == name;
        if (!taken)
            step.names.push_back(name);
    }
    step.hold = chance(40);
    step.later = chance(25);
    step.release_read_first = chance(30);
    step.pick = below(1000);
    return step;
}

Step Generator::task()
{
    Step step;
    step.what = Do::task;
    step.ordered = chance(60);
    step.ordinal = some_ordinal();
    step.work = static_cast<Work>(below(static_cast<uint32_t>(Work::last_work)));
    // With a full queue and no workers a submission itself runs what is queued.
    if (step.work == Work::holds && program_.settings.op_limit != 0)
        step.work = Work::runs;
    for (uint32_t d = below(3); d > 0; d--)
        step.deps.push_back(below(1000));
    return step;
}

Step Generator::other()
{
    Step step;
    static const Do kinds[] = {Do::wait,      Do::wait,       Do::poll,   Do::wait_all,
                               Do::check,     Do::check,      Do::fetch,  Do::floor,
                               Do::new_query, Do::wait_floor, Do::release};
    step.what = kinds[below(sizeof(kinds) / sizeof(kinds[0]))];
    step.pick = below(1000);
    step.query = static_cast<int>(below(static_cast<uint32_t>(program_.queries.size())));
    if (chance(70))
        step.names.push_back(static_cast<int>(below(name_count)));
    return step;
}

// Mostly as they are by default.
Settings Generator::settings()
{
    Settings settings;
    if (chance(15))
        settings.history_versions = below(5);
    settings.history_bytes = !chance(5);
    settings.adopt_managed = chance(20);
    settings.caches = !chance(15);
    settings.own_pool = chance(3);
    if (chance(5))
        settings.op_limit = 1 + below(6);
    return settings;
}

Program Generator::make()
{
    program_.settings = settings();
    // Mostly few prims; now and then enough for payloads that several threads copy.
    const bool large = chance(2);
    program_.prim_count = 1 + static_cast<int>(below(chance(80) ? 8 : 200)) + (large ? 2000 : 0);
    single_schema_ = chance(60);
    deletes_ = chance(60);
    maps_ = chance(40);
    structure_ = chance(40);
    for (int a = 0; a < attribute_count; a++)
        schema_of_.push_back(a == 4 ? 4 : static_cast<int>(below(schema_count)));
    for (uint32_t q = 2 + below(4); q > 0; q--)
        add_query();
    uint32_t length = 8 + below(large ? 12 : 50);
    for (uint32_t s = 0; s < length; s++) {
        uint32_t kind = below(100);
        program_.steps.push_back(kind < 10 && deletes_     ? remove()
                                 : kind < 16 && maps_      ? map()
                                 : kind < 25 && maps_      ? session()
                                 : kind < 32 && structure_ ? structure()
                                 : kind < 47               ? write()
                                 : kind < 62               ? advance()
                                 : kind < 80               ? read()
                                 : kind < 84               ? task()
                                                           : other());
    }
    return program_;
}

const char *do_name(Do what)
{
    static const char *const text[] = {
        "write",   "remove",   "map",        "fill",  "commit", "unmap", "clone",
        "filter",  "lookup",   "advance",    "read",  "task",   "wait",  "poll",
        "release", "wait_all", "wait_floor", "check", "fetch",  "floor", "new_query"};
    return text[static_cast<int>(what)];
}

} // namespace

Program generate(uint64_t seed)
{
    return Generator(seed).make();
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
        what == Do::new_query || what == Do::filter || what == Do::lookup)
        out << " query " << query;
    if (what == Do::write || what == Do::remove || what == Do::map || what == Do::clone ||
        what == Do::advance || what == Do::read || ordered)
        out << " ordinal " << ordinal;
    if (is_range)
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
    if (insert)
        out << " INSERT";
    if (finds_schema)
        out << " zero dtype";
    if (what == Do::read)
        out << (hold ? " hold" : "") << (later ? " later" : "")
            << (release_read_first ? " release-read-first" : "");
    for (const EntryStep &entry : entries) {
        out << "\n      '" << model::names[entry.name].text << "' " << entry.schema.text()
            << " count " << entry.count << " rows " << entry.rows << " layout " << int(entry.layout)
            << " offset " << entry.offset_bytes << " device " << int(entry.device) << " owner "
            << int(entry.owner) << " defect " << int(entry.defect);
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
    if (what == Do::wait || what == Do::poll || what == Do::check || what == Do::fetch ||
        what == Do::wait_floor || what == Do::wait_all || what == Do::release || what == Do::fill ||
        what == Do::commit || what == Do::unmap || what == Do::clone || what == Do::filter ||
        what == Do::lookup)
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
