// Runs a program on the real library beside the model and compares every status and every sealed
// snapshot, byte for byte.
#ifndef FR_TESTS_MODEL_RUNNER_H
#define FR_TESTS_MODEL_RUNNER_H

#include <optional>
#include <string>

#include "tests/model/program.h"

namespace model
{

// What differed, or nothing. ops: raised by how many were accepted.
std::optional<std::string> run(const Program &program, uint32_t workers, uint64_t *ops = nullptr);

} // namespace model

#endif
