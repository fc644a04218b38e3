/* The lanes of a graph, by ordinal.
 *
 * A skip list whose nodes are the lanes. Who goes through it takes idle lanes out on the way, so
 * that nobody comes past one of them a second time. Appending behind the highest ordinal, finding
 * the lane that was used last, and removing any take constant time; finding and inserting others
 * O(log n).
 *
 * Word map of `idle`: 0, or the address of the newest lane on the stack of idle lanes. Pushed to by
 * who set a lane's FR_LANE_RETIRED, emptied as a whole under admission.
 *
 * Threads: all under admission but retire, which is for who set FR_LANE_RETIRED, and
 * memory_allocate.
 *
 * Invariants:
 *   A lane is on the stack, in `retiring` or free exactly while FR_LANE_RETIRED is set. One on the
 *   stack that was used again since loses the flag and stays; one that is idle leaves the list, if
 *   it is in it still, and becomes free; it keeps the flag, so that who takes its token does not
 *   put it on the stack.
 *   A lane that is not in the list has no levels. It is found by nobody, so it stays idle.
 *
 * Progress: retire is lock-free; reuse looks at a bounded number of lanes each time.
 *
 * Memory bound: as many lanes as were ever in the list at once; given back at destroy. */
#ifndef FR_SCHEDULER_LANE_MAP_H
#define FR_SCHEDULER_LANE_MAP_H

#include "scheduler/lane.h"

typedef struct fr_lane_map {
    fr_lane *heads[FR_LANE_LEVELS];
    fr_lane *tails[FR_LANE_LEVELS]; /* NULL where the level is empty */
    uint32_t height;                /* levels that were ever used */
    fr_lane *latest;                /* the lane found or made last, or NULL */
    fr_lane *free_lanes, *retiring;
    uint64_t random;
    void *memory;
    uint64_t memory_bytes;
    uint64_t lanes_made, lanes_open, lanes_recycled;
    FR_ALIGNED_LINE _Atomic(fr_lane *) idle;
} fr_lane_map;

void fr_lane_map_init(fr_lane_map *map);
void fr_lane_map_destroy(fr_lane_map *map, const fr_allocator *allocator);

/* The lane of that ordinal; NULL when there is none. */
fr_lane *fr_lane_map_find(fr_lane_map *map, uint64_t ordinal);
static inline bool fr_lane_map_has_free(const fr_lane_map *map)
{
    return map->free_lanes != NULL;
}
/* Uses a free lane for an ordinal that has none. */
fr_lane *fr_lane_map_insert(fr_lane_map *map, uint64_t ordinal);
/* Makes up to `limit` idle lanes free. */
void fr_lane_map_reuse(fr_lane_map *map, uint32_t limit);

/* Without admission: memory for more lanes, NULL when there is none; then, under admission, add. */
void *fr_lane_memory_allocate(const fr_allocator *allocator, fr_graph *graph,
                              void (*run)(fr_runnable *token, fr_worker *worker));
void fr_lane_map_add(fr_lane_map *map, void *memory);

/* By who set FR_LANE_RETIRED. */
void fr_lane_map_retire(fr_lane_map *map, fr_lane *lane);

/* The lanes in order. */
static inline fr_lane *fr_lane_map_first(const fr_lane_map *map)
{
    return map->heads[0];
}
static inline fr_lane *fr_lane_map_after(const fr_lane *lane)
{
    return lane->links[0].next;
}
/* The first one at or above the ordinal, or NULL. */
fr_lane *fr_lane_map_from(fr_lane_map *map, uint64_t ordinal);
/* Takes the lane out of the list if it is idle; false when it is not. */
bool fr_lane_map_drop_idle(fr_lane_map *map, fr_lane *lane);

/* Whether one of all lanes ever made, in use or not, is so. */
bool fr_lane_map_any(const fr_lane_map *map, bool (*is)(const fr_lane *lane));

#endif
