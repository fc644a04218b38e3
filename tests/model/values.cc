#include "tests/model/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

namespace model
{

Meaning meaning_of(const Schema &schema)
{
    switch (schema.semantic) {
    case OVSTAGE_SEMANTIC_TOKEN_ID:
    case OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING:
    case OVSTAGE_SEMANTIC_ASSET_PATH_ID:
        return Meaning::tokens;
    case OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID:
        return Meaning::paths;
    case OVSTAGE_SEMANTIC_CONNECTION_PATH_ID:
        return Meaning::path_tokens;
    case OVSTAGE_SEMANTIC_STRING:
        return Meaning::text;
    default:
        return Meaning::numbers;
    }
}

namespace
{

template <typename Left, typename Right>
bool is_ordered(ovstage_filter_op_t op, const Left &left, const Right &right)
{
    switch (op) {
    case OVSTAGE_FILTER_OP_LT:
        return left < right;
    case OVSTAGE_FILTER_OP_LE:
        return left <= right;
    case OVSTAGE_FILTER_OP_GT:
        return left > right;
    case OVSTAGE_FILTER_OP_GE:
        return left >= right;
    default:
        return left == right;
    }
}

// Bytewise. Of the elements of an array CONTAINS wants a whole one.
bool text_holds(const std::string &text, ovstage_filter_op_t op, const std::string &wanted,
                bool is_element)
{
    if (op == OVSTAGE_FILTER_OP_CONTAINS && !is_element)
        return text.find(wanted) != std::string::npos;
    if (op == OVSTAGE_FILTER_OP_PREFIX)
        return text.compare(0, wanted.size(), wanted) == 0;
    return is_ordered(op, text, wanted);
}

template <typename Number> long double number(const uint8_t *bytes)
{
    Number value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
}

// Wide enough for each of the types.
long double number_at(const Schema &schema, const uint8_t *bytes)
{
    switch (schema.code) {
    case kDLFloat:
        return schema.bits == 64 ? number<double>(bytes) : number<float>(bytes);
    case kDLInt:
        return schema.bits == 8    ? number<int8_t>(bytes)
               : schema.bits == 32 ? number<int32_t>(bytes)
                                   : number<int64_t>(bytes);
    case kDLBool:
        return *bytes != 0;
    default:
        return schema.bits == 8    ? number<uint8_t>(bytes)
               : schema.bits == 32 ? number<uint32_t>(bytes)
                                   : number<uint64_t>(bytes);
    }
}

// One number is for all lanes; all of them have to do, for CONTAINS one.
bool numbers_hold(const Schema &schema, const uint8_t *element, ovstage_filter_op_t op,
                  const Wanted &wanted)
{
    uint32_t right = 0;
    for (uint32_t lane = 0; lane < schema.lanes; lane++) {
        double value = wanted.numbers[wanted.numbers.size() == 1 ? 0 : lane];
        if (schema.code == kDLFloat && schema.bits == 32)
            value = static_cast<float>(value);
        right += is_ordered(op, number_at(schema, element + size_t{lane} * schema.bits / 8),
                            static_cast<long double>(value));
    }
    return op == OVSTAGE_FILTER_OP_CONTAINS && !schema.is_array ? right > 0 : right == schema.lanes;
}

bool ids_hold(const Schema &schema, const uint8_t *element, ovstage_filter_op_t op,
              const Wanted &wanted, const Texts &texts)
{
    for (uint32_t lane = 0; lane < schema.lanes; lane++) {
        uint64_t id;
        std::memcpy(&id, element + lane * sizeof(id), sizeof(id));
        const bool is_path = meaning_of(schema) == Meaning::paths ||
                             (meaning_of(schema) == Meaning::path_tokens && lane % 2 == 0);
        const auto text = id == 0   ? std::string()
                          : is_path ? texts.of_path(id)
                                    : texts.of_token(id);
        if (text && text_holds(*text, op, wanted.text, schema.is_array))
            return true;
    }
    return false;
}

bool holds_one(const Value &value, ovstage_filter_op_t op, const Wanted &wanted, const Texts &texts)
{
    const Schema &schema = value.schema;
    if (!can_have(schema, op, wanted))
        return false;
    if (meaning_of(schema) == Meaning::text)
        return text_holds(std::string(value.bytes.begin(), value.bytes.end()), op, wanted.text,
                          false);
    for (size_t at = 0; at < value.bytes.size(); at += schema.width()) {
        if (meaning_of(schema) == Meaning::numbers
                ? numbers_hold(schema, value.bytes.data() + at, op, wanted)
                : ids_hold(schema, value.bytes.data() + at, op, wanted, texts))
            return true;
    }
    return false;
}

} // namespace

bool can_have(const Schema &schema, ovstage_filter_op_t op, const Wanted &wanted)
{
    if (meaning_of(schema) != Meaning::numbers)
        return true;
    if (op == OVSTAGE_FILTER_OP_PREFIX || (wanted.is_word && schema.code != kDLBool) ||
        (wanted.numbers.size() != 1 && wanted.numbers.size() != schema.lanes))
        return false;
    return std::all_of(wanted.numbers.begin(), wanted.numbers.end(), [&](double value) {
        return schema.code == kDLFloat ||
               (std::floor(value) == value && (schema.code != kDLBool || value == 0 || value == 1));
    });
}

bool text_holds(const std::string &text, const Predicate &predicate, bool is_element)
{
    return predicate.op == OVSTAGE_FILTER_OP_HAS ||
           std::any_of(predicate.values.begin(), predicate.values.end(), [&](const Wanted &wanted) {
               return text_holds(text, predicate.op, wanted.text, is_element);
           });
}

bool holds(const Value &value, const Predicate &predicate, const Texts &texts)
{
    return predicate.op == OVSTAGE_FILTER_OP_HAS ||
           std::any_of(predicate.values.begin(), predicate.values.end(), [&](const Wanted &wanted) {
               return holds_one(value, predicate.op, wanted, texts);
           });
}

std::string Predicate::text() const
{
    std::ostringstream out;
    out << " operator " << int(op);
    for (const Wanted &wanted : values)
        out << " \"" << wanted.text << "\"";
    return out.str();
}

} // namespace model
