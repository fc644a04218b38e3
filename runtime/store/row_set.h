/* A set of rows with an order: rows in the order first added, with a small hash from row to place;
 * or, above 1/8 of the segment's rows, a bitmap (then a row's place is the row itself and the
 * payload is dense).
 *
 * Used for the coverage of partial versions (row = row of the segment) and, never as a bitmap, for
 * unplaced rows (row = prim index).
 *
 * Threads: one writer at a time; frozen once its ordinal is sealed.
 * Invariants: a row has one place, which stays the same until the set becomes a bitmap.
 * Memory bound: list form 4 bytes a row and at most 16 for the hash, bitmap form 1 bit a row of the
 * universe. */
#ifndef FR_RUNTIME_STORE_ROW_SET_H
#define FR_RUNTIME_STORE_ROW_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/memory.h"

#define FR_ROW_SET_NONE UINT32_MAX
/* Below this many rows a walk over the list is faster than a hash. */
#define FR_ROW_SET_WALKED 8u
/* So many need no memory of their own: most writes of few rows are of one. */
#define FR_ROW_SET_FEW 2u

typedef struct fr_row_set {
    const fr_allocator *allocator;
    uint32_t universe; /* rows of the segment; 0: unbounded, never a bitmap */
    uint32_t count;
    uint32_t capacity; /* of rows; in bitmap form: that of the list which it was */
    uint32_t hash_capacity;
    uint32_t *rows;   /* list form: in the order added, `few` or longer; NULL in bitmap form */
    uint32_t *hash;   /* list form: places + 1, open addressing; made when count passes 8 */
    uint64_t *bitmap; /* bitmap form */
    uint32_t few[FR_ROW_SET_FEW];
} fr_row_set;

/* Where it is, it stays. */
void fr_row_set_init(fr_row_set *set, const fr_allocator *allocator, uint32_t universe);
void fr_row_set_destroy(fr_row_set *set);

/* Whether a reserve of `more` rows will turn the list into a bitmap, so that the caller can get the
 * dense payload first. */
bool fr_row_set_turns_bitmap(const fr_row_set *set, uint32_t more);

/* Memory that a set is about to take, then what it had before. */
typedef struct fr_row_set_room {
    bool made; /* there is something to install */
    uint32_t *rows, *hash;
    uint32_t capacity, hash_capacity;
    uint64_t *bitmap;
} fr_row_set_room;

/* Growing in three steps, so that only the second needs the lock under which others look into the
 * set: prepare makes arrays that are filled already; install puts them in place of the set's, which
 * are in the room then; release gives them back. Prepare reads nothing that an index made meanwhile
 * changes; `indexed`: fr_row_set_is_indexed, as it was seen under that lock. A list that turns into
 * a bitmap leaves its rows in the room. False without memory, or with more rows than a set can
 * hold: nothing changed. */
bool fr_row_set_prepare(const fr_row_set *set, bool indexed, uint32_t more, fr_row_set_room *room);
void fr_row_set_install(fr_row_set *set, fr_row_set_room *room);
void fr_row_set_room_release(const fr_row_set *set, fr_row_set_room *room);

/* The three at once, for sets that nobody else sees. *became_bitmap, *old_rows and *old_count tell
 * of a list that turned into a bitmap: the caller rearranges the payload, and gives the rows back
 * with fr_row_set_release_old. They may be NULL when the universe is 0. */
bool fr_row_set_reserve(fr_row_set *set, uint32_t more, bool *became_bitmap, uint32_t **old_rows,
                        uint32_t *old_count);
/* Fills an empty set with distinct rows, so many that it stays a list, without the hash: lookups
 * walk the list until it is indexed. False without memory: nothing changed. */
bool fr_row_set_assign(fr_row_set *set, const uint32_t *rows, uint32_t count);
/* Whether lookups need not walk the list. */
static inline bool fr_row_set_is_indexed(const fr_row_set *set)
{
    return set->bitmap || set->hash || set->capacity <= FR_ROW_SET_WALKED;
}
/* An index beside a list that is as it is until it has one: begin takes the memory, whatever the
 * set is by now; add enters rows [first, end) of the list, under the lock under which others look
 * into the set; install, under it too, makes it the set's, unless it has one by now. */
bool fr_row_set_begin_index(const fr_allocator *allocator, uint32_t capacity,
                            fr_row_set_room *room);
void fr_row_set_add_index(const fr_row_set *set, fr_row_set_room *room, uint32_t first,
                          uint32_t end);
void fr_row_set_install_index(fr_row_set *set, fr_row_set_room *room);
/* Empty again, a list; its memory is kept. */
void fr_row_set_clear(fr_row_set *set, uint32_t universe);
void fr_row_set_release_old(const fr_row_set *set, uint32_t *old_rows); /* NULL is fine */

/* Reserved before; row is below the universe. The row's place; *added tells whether it is new. */
uint32_t fr_row_set_add(fr_row_set *set, uint32_t row, bool *added);

/* Reserved before, in a list: distinct rows that are not in, behind the others. */
void fr_row_set_append(fr_row_set *set, const uint32_t *rows, uint32_t count);

/* FR_ROW_SET_NONE when it is not in. */
uint32_t fr_row_set_place(const fr_row_set *set, uint32_t row);

/* What a row adds to the fingerprint of a list: lists of the same rows have equal sums, in whatever
 * order; of others nearly all have not. */
static inline uint32_t fr_row_set_fingerprint(uint32_t row)
{
    uint32_t mixed = row * UINT32_C(0x9e3779b1);
    return (mixed ^ mixed >> 15) * UINT32_C(0x85ebca77);
}

/* Whether two lists of one universe have the same rows, in whatever order. In a bitmap of so many
 * bytes, of a part of the universe at a time; reads nothing of a set that others may add to it (an
 * index). */
size_t fr_row_set_window_bytes(uint32_t universe);
bool fr_row_set_same_rows(const fr_row_set *set, const fr_row_set *other, uint64_t *window);

static inline bool fr_row_set_is_bitmap(const fr_row_set *set)
{
    return set->bitmap != NULL;
}

/* Of memory that it has besides itself. */
size_t fr_row_set_bytes(const fr_row_set *set);
/* The same without the index: reads nothing of it. */
size_t fr_row_set_rows_bytes(const fr_row_set *set);

#endif
