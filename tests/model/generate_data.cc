#include <algorithm>
#include <cstring>
#include <sstream>

#include "tests/model/generate.h"
#include "tests/model/placed.h"

namespace model
{

const Schema Generator::schemas[schema_count] = {
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
    {kDLUInt, 64, 1, OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING},
    {kDLFloat, 64, 16, OVSTAGE_SEMANTIC_FRAME},
    {kDLFloat, 32, 4, OVSTAGE_SEMANTIC_QUATERNION},
    {kDLUInt, 8, 1, OVSTAGE_SEMANTIC_STRING, true},
    {kDLFloat, 32, 3, OVSTAGE_SEMANTIC_POINT, true},
    {kDLUInt, 64, 1, OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID, true},
    {kDLInt, 32, 1, OVSTAGE_SEMANTIC_NONE, true},
    {kDLFloat, 32, 1, OVSTAGE_SEMANTIC_NONE, true},
    {kDLUInt, 64, 2, OVSTAGE_SEMANTIC_CONNECTION_PATH_ID, true},
    {kDLUInt, 64, 1, OVSTAGE_SEMANTIC_TOKEN_ID, true},
    {kDLUInt, 64, 2, OVSTAGE_SEMANTIC_ASSET_PATH_ID, true},
    {kDLUInt, 64, 1, OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING, true},
    {kDLFloat, 64, 1, OVSTAGE_SEMANTIC_TIME_CODE, true},
    {kDLFloat, 32, 2, OVSTAGE_SEMANTIC_TEXTURE_COORDINATE, true},
    {kDLFloat, 32, 3, OVSTAGE_SEMANTIC_NORMAL, true},
};

// Of what is reserved or computed mostly the one that it must have.
Schema Generator::some_schema(int attribute)
{
    if (attribute >= type_attribute) {
        Schema schema = schemas[chance(4) ? static_cast<int>(below(schema_count))
                                : attribute == schemas_attribute ? tokens
                                                                 : one_token];
        if (chance(40))
            schema.semantic = OVSTAGE_SEMANTIC_NONE;
        return schema;
    }
    uint32_t index = static_cast<uint32_t>(schema_of_[static_cast<size_t>(attribute)]);
    if (is_home_device(program_, attribute))
        return schemas[index];
    if (!single_schema_ && chance(12))
        index = below(schema_count);
    Schema schema = schemas[index];
    if (chance(single_schema_ ? 15 : 5))
        schema.semantic = OVSTAGE_SEMANTIC_NONE;
    return schema;
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
    const size_t element = entry.schema.bits / 8u;
    // Which bits a product with one that is no number has is not said anywhere.
    const bool small = small_values_ || (computes_ && entry.schema.lanes == 16);
    uint64_t value = 0;
    for (size_t at = 0; at + element <= entry.payload.size(); at += element) {
        if (at == 0 || !small || chance(50)) // else all lanes are seldom one value
            value = small ? small_value(entry.schema) : random_();
        std::memcpy(&entry.payload[at], &value, element);
    }
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

// The bits of one that predicates may find.
uint64_t Generator::small_value(const Schema &schema)
{
    const int value = static_cast<int>(below(7)) - 2;
    uint64_t bits = 0;
    if (schema.semantic == OVSTAGE_SEMANTIC_STRING)
        return 'a' + below(3);
    if (meaning_of(schema) != Meaning::numbers)
        return below(word_count + 3);
    if (schema.code == kDLBool)
        return below(2);
    if (schema.code == kDLUInt || schema.code == kDLInt)
        return static_cast<uint64_t>(schema.code == kDLUInt ? below(7) : value);
    const float single = static_cast<float>(value) / 2;
    const double wide = value;
    if (schema.bits == 32)
        std::memcpy(&bits, &single, sizeof(single));
    else
        std::memcpy(&bits, &wide, sizeof(wide));
    return bits;
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

// Mostly one that a column of the schema can have.
Wanted Generator::wanted(const Schema &schema)
{
    Wanted wanted;
    if (chance(3)) {
        wanted.text = chance(50) ? "true" : "none";
        wanted.is_word = wanted.text == "true";
        if (wanted.is_word)
            wanted.numbers = {1};
        return wanted;
    }
    if (schema.semantic == OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID ||
        (schema.semantic == OVSTAGE_SEMANTIC_CONNECTION_PATH_ID && chance(50))) {
        wanted.text = path_of(static_cast<int>(below(static_cast<uint32_t>(program_.prim_count))));
        return wanted;
    }
    if (schema.code == kDLUInt && schema.semantic != OVSTAGE_SEMANTIC_NONE && chance(90)) {
        wanted.text = chance(10) ? "" : words[below(word_count)];
        return wanted;
    }
    const bool each = schema.lanes > 1 && chance(40), brackets = chance(30);
    for (uint32_t lane = 0; lane < (each ? schema.lanes : 1u); lane++) {
        const int value = schema.code == kDLBool || schema.code == kDLUInt
                              ? static_cast<int>(below(schema.code == kDLBool ? 2 : 7))
                              : static_cast<int>(below(7)) - 2;
        const bool half = schema.code == kDLFloat && schema.bits == 32;
        wanted.numbers.push_back(half ? value / 2.0 : value);
        std::ostringstream text;
        if (schema.code != kDLFloat && value >= 0 && chance(10))
            text << "0x";
        text << wanted.numbers.back();
        wanted.text += (lane == 0 ? "" : chance(50) ? ", " : " ") + text.str();
    }
    if (brackets)
        wanted.text = "(" + wanted.text + ")";
    return wanted;
}

// About paths, and parts of some.
Predicate Generator::computed_predicate()
{
    Predicate predicate;
    predicate.name = some_computed_name();
    predicate.op = static_cast<ovstage_filter_op_t>(below(OVSTAGE_FILTER_OP_GE + 1));
    for (uint32_t n = chance(90) ? 1 + below(3) : 0; n > 0; n--) {
        Wanted wanted;
        wanted.text = path_of(static_cast<int>(below(static_cast<uint32_t>(program_.prim_count))));
        if (chance(30))
            wanted.text += "/c" + std::to_string(below(3)); // what clones make
        if (chance(predicate.op == OVSTAGE_FILTER_OP_IN ? 5 : 50))
            wanted.text.resize(below(static_cast<uint32_t>(wanted.text.size()) + 1));
        predicate.values.push_back(wanted);
    }
    return predicate;
}

Predicate Generator::predicate()
{
    static const ovstage_filter_op_t operators[] = {
        OVSTAGE_FILTER_OP_HAS,      OVSTAGE_FILTER_OP_IN, OVSTAGE_FILTER_OP_IN,
        OVSTAGE_FILTER_OP_CONTAINS, OVSTAGE_FILTER_OP_LT, OVSTAGE_FILTER_OP_LE,
        OVSTAGE_FILTER_OP_GT,       OVSTAGE_FILTER_OP_GE};
    if (reserved_ && chance(30))
        return computed_predicate();
    Predicate predicate;
    predicate.name = some_name();
    const Schema &schema =
        schemas[schema_of_[static_cast<size_t>(names[predicate.name].attribute)]];
    predicate.op = operators[below(8)];
    if (chance(schema.semantic == OVSTAGE_SEMANTIC_NONE ? 3 : 15))
        predicate.op = OVSTAGE_FILTER_OP_PREFIX;
    for (uint32_t n = chance(90) ? 1 + below(2) : below(4); n > 0; n--)
        predicate.values.push_back(wanted(schema));
    return predicate;
}

} // namespace model
