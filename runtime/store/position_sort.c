#include "runtime/store/position_sort.h"

#include <string.h>

/* Up to here by insertion. */
#define FR_POSITIONS_FEW 48u
#define FR_POSITIONS_DIGIT_BITS 8u
#define FR_POSITIONS_DIGITS (1u << FR_POSITIONS_DIGIT_BITS)

bool fr_positions_ascend(const uint32_t *positions, uint32_t count)
{
    bool ascend = true;
    for (uint32_t k = 1; k < count && ascend; k++)
        ascend = positions[k - 1] < positions[k];
    return ascend;
}

static void fr_positions_insert(uint64_t *pairs, uint32_t count)
{
    for (uint32_t k = 1; k < count; k++) {
        uint64_t pair = pairs[k];
        uint32_t at = k;
        for (; at > 0 && pairs[at - 1] > pair; at--)
            pairs[at] = pairs[at - 1];
        pairs[at] = pair;
    }
}

/* One digit of the positions; those that are alike in it stay in their order. */
static void fr_positions_pass(const uint64_t *from, uint64_t *to, uint32_t count, uint32_t shift)
{
    uint32_t starts[FR_POSITIONS_DIGITS] = {0};
    for (uint32_t k = 0; k < count; k++)
        starts[from[k] >> shift & (FR_POSITIONS_DIGITS - 1)]++;
    uint32_t start = 0;
    for (uint32_t digit = 0; digit < FR_POSITIONS_DIGITS; digit++) {
        uint32_t more = starts[digit];
        starts[digit] = start;
        start += more;
    }
    for (uint32_t k = 0; k < count; k++)
        to[starts[from[k] >> shift & (FR_POSITIONS_DIGITS - 1)]++] = from[k];
}

void fr_positions_sort(uint64_t *pairs, uint64_t *other, uint32_t count)
{
    if (count <= FR_POSITIONS_FEW) {
        fr_positions_insert(pairs, count);
        return;
    }
    uint64_t highest = 0;
    for (uint32_t k = 0; k < count; k++)
        highest = pairs[k] > highest ? pairs[k] : highest;
    uint64_t *from = pairs, *to = other;
    for (uint32_t shift = 32; shift < 64 && highest >> shift; shift += FR_POSITIONS_DIGIT_BITS) {
        fr_positions_pass(from, to, count, shift);
        uint64_t *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != pairs)
        memcpy(pairs, from, count * sizeof(*pairs));
}
