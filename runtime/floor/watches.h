/* Who wants to be told when an executed floor is at or above an ordinal, without a waiting thread.
 *
 * Threads: every function from any thread; `reached` is called without locks, by who publishes a
 * floor or by who adds a watch too late. Progress: a publication looks at one word while there are
 * none, else at each of at most FR_FLOOR_WATCHES. Memory: a block each.
 *
 * A watch is linked, then the floor is looked at, under the records' lock; a publication takes that
 * lock, then looks for watches. So one of the two sees the other. */
#ifndef FR_RUNTIME_FLOOR_WATCHES_H
#define FR_RUNTIME_FLOOR_WATCHES_H

#include "runtime/api/stage.h"

#define FR_FLOOR_WATCHES 4096u

typedef struct fr_floor_watch fr_floor_watch;

typedef struct fr_floor_watches {
    fr_mutex lock; /* guards the list; count is written under it */
    fr_floor_watch *first;
    _Atomic uint32_t count;
} fr_floor_watches;

/* attribute NULL: the global floor. reached is called once, unless it is forgotten; forgotten
 * instead then. OUT_OF_MEMORY, or OUT_OF_RANGE: there are FR_FLOOR_WATCHES. */
ovstage_api_status_t fr_floor_watch_add(fr_floors *floors, const fr_attribute *attribute,
                                        uint64_t ordinal, void (*reached)(void *user),
                                        void (*forgotten)(void *user), void *user);
/* Those of one user; NULL: all. */
void fr_floor_watches_forget(fr_floors *floors, const void *user);
/* A floor was published. */
void fr_floor_watches_look(fr_floors *floors);

#endif
