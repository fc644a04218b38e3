/* Sorting of positions, each with a number: position << 32 | number.
 *
 * Threads: no state. Progress: linear in how many there are. Memory: the caller's. */
#ifndef FR_RUNTIME_STORE_POSITION_SORT_H
#define FR_RUNTIME_STORE_POSITION_SORT_H

#include <stdbool.h>
#include <stdint.h>

/* Each is above the one before it. */
bool fr_positions_ascend(const uint32_t *positions, uint32_t count);
/* By position, then number if those with one position came in that order. `other` has as much room;
 * what is in it afterwards is of no use. */
void fr_positions_sort(uint64_t *pairs, uint64_t *other, uint32_t count);

#endif
