#include "tests/model/placed.h"

#include <algorithm>

namespace model
{

bool may_lie_on_device(int attribute)
{
    return attribute < local_attribute;
}

bool is_looked_at(const EntryStep &entry)
{
    const int attribute = names[entry.name].attribute;
    return attribute < recorded_attribute_count &&
           (attribute >= local_attribute || !may_be_placed(entry.schema));
}

bool may_be_placed(const Schema &schema)
{
    const Meaning meaning = meaning_of(schema);
    return meaning != Meaning::paths && meaning != Meaning::path_tokens;
}

bool is_home_device(const Program &program, int attribute)
{
    const auto number = static_cast<size_t>(attribute);
    return number < program.homes.size() && program.homes[number] >= 0;
}

namespace
{

int home_of(const Program &program, int attribute)
{
    return is_home_device(program, attribute) ? program.homes[static_cast<size_t>(attribute)] : -1;
}

} // namespace

bool may_go_together(const Program &program, const EntryStep &first, const EntryStep &entry)
{
    return home_of(program, names[first.name].attribute) ==
           home_of(program, names[entry.name].attribute);
}

bool may_be_read_on_device(const std::vector<int> &some)
{
    return std::none_of(some.begin(), some.end(), is_computed);
}

} // namespace model
