// Several client threads on one stage. What they saw is compared afterwards: acceptance is one
// total order, and the ids of the ops tell it.
#ifndef FR_TESTS_MODEL_CONCURRENT_H
#define FR_TESTS_MODEL_CONCURRENT_H

#include <optional>
#include <string>

#include "tests/model/runner.h"

namespace model
{

// Thread t of `threads` takes the steps t, t + threads, ... of the program, but those of one slot
// that filters fill are all one thread's. What differed, or nothing. done: raised by the ops that
// were accepted.
std::optional<std::string> run_concurrently(const Program &program, uint32_t workers,
                                            uint32_t threads, Done *done = nullptr);

} // namespace model

#endif
