// Runs a program on the real library beside the model and compares every status and every sealed
// snapshot, byte for byte.
#ifndef FR_TESTS_MODEL_RUNNER_H
#define FR_TESTS_MODEL_RUNNER_H

#include <optional>
#include <string>

#include "tests/model/program.h"

namespace model
{

struct Done {
    uint64_t ops = 0;   // that were accepted
    uint64_t moves = 0; // at least so often the library has put keys of several segments into one
};

// What differed, or nothing. done: raised by what was done.
std::optional<std::string> run(const Program &program, uint32_t workers, Done *done = nullptr);

} // namespace model

#endif
