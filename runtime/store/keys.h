/* Walking over the keys of an attribute: the prims that have, or once had, a row in one of its
 * columns, whatever they are now. Some come more than once.
 *
 * Threads: any. Invariants: a key that was written before the walk began is met: rows without a
 * place are walked first, and a seal that gives them one puts them into a segment behind. Progress:
 * short locks, a few hundred rows at a time. Memory: none. */
#ifndef FR_RUNTIME_STORE_KEYS_H
#define FR_RUNTIME_STORE_KEYS_H

#include "runtime/store/column.h"

#define FR_KEYS_SOME 256u

/* All zero but for the column at the beginning: fr_column_first of the attribute. */
typedef struct fr_key_walk {
    fr_column *column;
    bool placed; /* the rows without a place have been walked */
    uint64_t ordinal;
    uint32_t segment, row; /* the next one; row of the segment, or of the record at `ordinal` */
} fr_key_walk;

/* 0: that was all. */
uint32_t fr_keys_some(fr_key_walk *walk, uint32_t some[FR_KEYS_SOME]);
/* About how many there are; SIZE_MAX: that takes too long to say. */
size_t fr_keys_about(const fr_attribute *attribute);

/* What is sealed by the floor has its place, so that the layout's generation tells of it. False
 * without memory. */
bool fr_keys_settle(fr_store *store, const fr_attribute *attribute, uint64_t floor);
/* Whether keys at or below the ordinal may have been written or deleted, and are not sealed. */
bool fr_keys_are_open(fr_store *store, const fr_attribute *attribute, uint64_t ordinal);
/* Whether some of these have no place yet. */
bool fr_keys_have_unplaced(const fr_attribute *attribute, uint64_t ordinal);

#endif
