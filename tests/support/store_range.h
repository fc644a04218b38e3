// Prims in a row, for the tests of the store.
#ifndef FR_TESTS_SUPPORT_STORE_RANGE_H
#define FR_TESTS_SUPPORT_STORE_RANGE_H

#include <cstdint>
#include <numeric>
#include <vector>

inline std::vector<uint32_t> range(uint32_t first, uint32_t count)
{
    std::vector<uint32_t> prims(count);
    std::iota(prims.begin(), prims.end(), first);
    return prims;
}

#endif
