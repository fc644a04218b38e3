// What the library does with placements so far: generated programs keep to it.
#ifndef FR_TESTS_MODEL_PLACED_H
#define FR_TESTS_MODEL_PLACED_H

#include <vector>

#include "tests/model/program.h"

namespace model
{

// Columns may lie on so many devices.
constexpr int placed_devices = 2;

// The attribute's values may lie on a device.
bool may_lie_on_device(int attribute);
// The stage itself looks at its values: they may come from devices, and lie on the host.
bool is_looked_at(const EntryStep &entry);
// A device may hold them.
bool may_be_placed(const Schema &schema);
bool is_home_device(const Program &program, int attribute);
// A write goes to the device of the attribute of its first entry, with the entries for which this
// is so.
bool may_go_together(const Program &program, const EntryStep &first, const EntryStep &entry);
// These can be read on a device.
bool may_be_read_on_device(const std::vector<int> &names);

} // namespace model

#endif
