/* What open ordinals have made, so that a seal visits that and nothing else: per column the
 * versions and unplaced rows themselves, by their ordinal.
 *
 * Threads: one short lock. Progress: a seal looks at each column that has something open, and takes
 * what it seals; no step walks over other ordinals. Memory bound: none of its own, so neither a
 * write nor a seal can fail here. */
#ifndef FR_RUNTIME_STORE_TOUCH_H
#define FR_RUNTIME_STORE_TOUCH_H

#include "runtime/floor/floor.h"
#include "runtime/store/ordinal_tree.h"
#include "scheduler/os.h"

struct fr_column;
struct fr_segment;

/* Part of each open version and of each unplaced record. */
typedef struct fr_touched {
    fr_ordinal_node node;
    struct fr_touched *next; /* in what was taken */
    struct fr_column *column;
    struct fr_segment *segment;  /* NULL: unplaced rows */
    uint64_t pending_bytes;      /* of its payload, counted as unsealed until it is taken */
    struct fr_pending *elements; /* of arrays: the same of the payloads that its rows refer to */
    /* An op writes where it is, or gives rows places in it: set under the lock of its segment or
     * column by who found it there, cleared by that op when all is written. Who looks at open rows
     * under that lock (latest.h) leaves it alone as long. */
    _Atomic bool writing;
} fr_touched;

typedef struct fr_touches {
    fr_mutex lock;
    uint64_t versions;         /* open ones, unplaced rows left out */
    struct fr_column *columns; /* those that have something; the last one leads to itself */
} fr_touches;

/* Its column and segment are set. */
void fr_touch_add(fr_touches *touches, fr_touched *touched, uint64_t ordinal);
/* Takes out what the ordinal has made of a column, and adds it to the front of the list. */
void fr_touches_take_back(fr_touches *touches, struct fr_column *column, uint64_t ordinal,
                          fr_touched **taken);
/* Takes out everything whose ordinal is at or below its attribute's floor in the record; one seal
 * at a time. Lets go of the lock now and then. */
fr_touched *fr_touches_take(fr_touches *touches, const fr_floor_record *record);

#endif
