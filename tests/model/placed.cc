#include "tests/model/placed.h"

#include <algorithm>

namespace model
{

bool may_lie_on_device(int attribute)
{
    return attribute < local_attribute;
}

bool is_looked_at(int attribute)
{
    return attribute >= local_attribute && attribute < recorded_attribute_count;
}

bool may_be_placed(const Schema &schema)
{
    return !schema.is_array;
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

bool may_be_read_on_device(const std::vector<int> &some, const std::set<int> &arrays)
{
    return std::all_of(some.begin(), some.end(), [&](int name) {
        return !is_computed(name) && arrays.count(names[name].attribute) == 0;
    });
}

} // namespace model
