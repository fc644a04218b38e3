// Predicates on values of columns: what they mean, by the kinds of values that a column has.
#ifndef FR_TESTS_MODEL_VALUES_H
#define FR_TESTS_MODEL_VALUES_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/model/model.h"

namespace model
{

// What the elements of a column stand for.
enum class Meaning { tokens, paths, path_tokens, text, numbers };
Meaning meaning_of(const Schema &schema);

// A value as it is passed, and the numbers that it stands for, if it is made of numbers.
struct Wanted {
    std::string text;
    std::vector<double> numbers;
    bool is_word = false; // true or false: only for a column of those
};

struct Predicate {
    int name = 0;
    ovstage_filter_op_t op = OVSTAGE_FILTER_OP_HAS;
    std::vector<Wanted> values;

    std::string text() const;
};

// What ids stand for; nothing: nobody knows.
struct Texts {
    std::function<std::optional<std::string>(uint64_t)> of_token, of_path;
};

// Whether a column can have such a value at all.
bool can_have(const Schema &schema, ovstage_filter_op_t op, const Wanted &wanted);
// Of a text, which is an element of an array or not: true for one of the values.
bool text_holds(const std::string &text, const Predicate &predicate, bool is_element);
// Of a key that is there: the same.
bool holds(const Value &value, const Predicate &predicate, const Texts &texts);

} // namespace model

#endif
