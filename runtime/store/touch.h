/* What open ordinals have made, so that a seal visits that and nothing else: per column the
 * versions and unplaced rows themselves, by their ordinal. Who makes one puts it on a stack; only
 * what a seal finds there and does not seal is put in order.
 *
 * Word map of `newest`: 0, or the address of the entry that came last. Pushed to by who makes one,
 * emptied as a whole by who holds `sorting`.
 *
 * Threads: add from any; the others one at a time, by a lock that no write waits for. Invariants:
 * with `sorting` held and the stack empty, all that was added before is in its column's tree.
 * Progress: add is lock-free. A seal looks at each column that has something open, and takes what
 * it seals; what it leaves it looks at once. Memory bound: none of its own, so neither a write nor
 * a seal can fail here. */
#ifndef FR_RUNTIME_STORE_TOUCH_H
#define FR_RUNTIME_STORE_TOUCH_H

#include "runtime/floor/floor.h"
#include "scheduler/ordinal_tree.h"
#include "scheduler/os.h"
#include "scheduler/tally.h"

struct fr_column;
struct fr_segment;

/* Part of each open version and of each unplaced record. */
typedef struct fr_touched {
    fr_ordinal_node node;
    struct fr_touched *next; /* on the stack, or in what was taken */
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
    FR_ALIGNED_LINE _Atomic(fr_touched *) newest;
    FR_ALIGNED_LINE fr_mutex sorting;
    struct fr_column *columns; /* whose trees have something; the last one leads to itself */
    fr_tally versions;         /* open ones */
    fr_tally unplaced;         /* records of unplaced rows that are open */
} fr_touches;

/* Its column and segment are set. */
void fr_touch_add(fr_touches *touches, fr_touched *touched, uint64_t ordinal);
/* Takes out what the ordinal has made of a column, and adds it to the front of the list. */
void fr_touches_take_back(fr_touches *touches, struct fr_column *column, uint64_t ordinal,
                          fr_touched **taken);
/* Takes out everything whose ordinal is at or below its attribute's floor in the record. */
fr_touched *fr_touches_take(fr_touches *touches, const fr_floor_record *record);

#endif
