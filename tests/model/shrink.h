// Cuts a failing program down to what is needed for it to fail.
#ifndef FR_TESTS_MODEL_SHRINK_H
#define FR_TESTS_MODEL_SHRINK_H

#include <chrono>
#include <functional>

#include "tests/model/program.h"

namespace model
{

// Whether a program fails. One that fails now and then is asked about several times.
using Fails = std::function<bool(const Program &program)>;

// Without steps, entries, positions of queries, names, deps and whatever is special, as long as it
// still fails; the smallest that was found in the time.
Program shrink(const Program &program, const Fails &fails, std::chrono::milliseconds time);

// The program without one position of a query: no write has a row for it.
Program without_position(const Program &program, size_t query, uint32_t position);

} // namespace model

#endif
