// World transforms as they follow from local ones (R149 to R151, D13, L11): prim by prim, each time
// from the beginning.
#ifndef FR_TESTS_MODEL_COMPOSE_H
#define FR_TESTS_MODEL_COMPOSE_H

#include <functional>

#include "tests/model/program.h"

namespace model
{

// A prim and all that lie above it, from below; those that were ever named.
using Chain = std::function<std::vector<int>(int prim)>;

// What a computation does when all before it has run.
struct Computed {
    bool must_fail = false;    // for an input or an output that a world transform there needs
    bool may_fail = false;     // or for one that none needs any more, or that is not kept for sure
    std::map<int, Bytes> rows; // by prim: the world transforms that are written
};

// versions: that are kept before the newest.
Computed compute(const Model &model, const Chain &chain, Ordinal input, Ordinal output,
                 uint32_t versions);

} // namespace model

#endif
