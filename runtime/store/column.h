/* A column: one attribute with one schema. Where its keys lie, its segments, and the rows that have
 * no place yet.
 *
 * Threads: `lock` guards everything but what is atomic or fixed; short
 * sections. Seals alone (one at a time) change where keys lie, and the segments. Memory: segments
 * and places only grow (keys are never forgotten). topology goes up by one, after the change,
 * whenever keys get a place, and rehomed when they get another one: a binding made before is
 * refused by the counter. */
#ifndef FR_RUNTIME_STORE_COLUMN_H
#define FR_RUNTIME_STORE_COLUMN_H

#include "runtime/store/late.h"
#include "runtime/store/locator.h"
#include "runtime/store/marks.h"
#include "runtime/store/segment.h"
#include "runtime/store/store.h"
#include "runtime/store/unplaced.h"

struct fr_column {
    fr_attribute *attribute;
    fr_schema schema;
    uint32_t row_bytes;              /* of a row in the store: a slice for arrays */
    fr_column *next;                 /* the attribute's list; fixed once entered */
    uint32_t number;                 /* among the store's, for marks */
    fr_marks *marks;                 /* the store's */
    fr_late *late;                   /* the store's */
    _Atomic(fr_column *) tombstones; /* tombstones.h; NULL: no key of it was ever deleted */
    fr_column *of;                   /* whose tombstones these are; NULL: of nobody */
    _Atomic uint64_t moves; /* tombstones: up when keys of that column leave, or come back */
    fr_locator dead;        /* tombstones: the keys of that column that seals have found deleted */
    uint64_t burying;       /* entries that it still gets, and has room for; the seals' */
    /* Where its payloads lie, 0: nowhere yet; see below. */
    _Atomic uintptr_t home;
    uint32_t home_claims; /* of writes that are under way; guarded by lock */
    fr_mutex lock;
    fr_locator locator;
    fr_segment **segments;
    uint32_t segment_count, segment_capacity;
    _Atomic uint64_t topology;
    _Atomic uint64_t rehomed; /* up when keys have moved to another segment (rehome.h) */
    fr_unplaced *unplaced, *unplaced_last; /* ascending by ordinal */
    fr_ordinal_tree unplaced_tree;         /* the same, to be found in */
    _Atomic uint64_t lowest_unplaced;      /* ordinal; UINT64_MAX: none */
    fr_column *seal_next;    /* the seal's list of columns to lay out; as fr_segment.seal_next */
    fr_ordinal_tree touched; /* what open ordinals have made; guarded by the touches' `sorting` */
    fr_column *touched_next; /* the list of columns that have some; as seal_next */
    /* The seals' (change_log.h). */
    fr_logged *log_oldest, *log_newest;
    uint64_t log_serial, log_seals; /* the last seal that logged something, and how many did */
    /* rehome.h */
    fr_segment *rehome_segments;
    uint32_t rehome_count;
    fr_column *rehome_next; /* the seal's list of columns that have some */
    uint64_t rehome_after;  /* nothing is tried before so many seals have logged something */
};

/* Word `home`: the first write that is applied decides for all.
 *
 *    63                                         2   1   0
 *   +---------------------------------------------+---+---+
 *   |             fr_opened of a device           | S | H |
 *   +---------------------------------------------+---+---+
 *   field     set by                     cleared by
 *   device    the first claim            the last claim that is given up, unless S is set
 *   H host    the same, in its place     the same
 *   S settled the first write that is    nobody
 *             applied
 */
#define FR_COLUMN_ON_HOST ((uintptr_t)1)
#define FR_COLUMN_SETTLED ((uintptr_t)2)

/* The device that its payloads lie on; NULL: the host. */
static inline struct fr_opened *fr_column_device(const fr_column *column)
{
    /* [column.home.read] pairs [column.home.claim], [column.home.end] : the device is open */
    uintptr_t home = fr_load_acquire(&column->home) & ~FR_COLUMN_SETTLED;
    return home > FR_COLUMN_ON_HOST ? (struct fr_opened *)home : NULL;
}

/* The device that its rows lie on: of an array these are slices on the host, wherever their
 * elements are. */
static inline struct fr_opened *fr_column_rows_device(const fr_column *column)
{
    return column->schema.is_array ? NULL : fr_column_device(column);
}

/* It does, or a write that is under way brings it there. */
static inline bool fr_column_is_on_host(const fr_column *column)
{
    return (fr_load_relaxed(&column->home) & ~FR_COLUMN_SETTLED) == FR_COLUMN_ON_HOST;
}

typedef enum fr_column_claim {
    FR_COLUMN_REFUSED, /* it lies elsewhere, or a write that is under way brings it there */
    FR_COLUMN_HELD,    /* it lies there */
    FR_COLUMN_CLAIMED, /* until one of the two below, once */
} fr_column_claim;

/* Whether a write whose rows lie on the device (NULL: on the host) may go into it. */
fr_column_claim fr_column_claim_home(fr_column *column, struct fr_opened *device);
void fr_column_settle_home(fr_column *column); /* the write is applied */
void fr_column_give_home_up(fr_column *column);

/* Same storage: type, kind and role. */
bool fr_schema_equal(const fr_schema *a, const fr_schema *b);
/* The same but for the role. */
bool fr_schema_same_layout(const fr_schema *a, const fr_schema *b);

/* Words of 64 bits in each element of an array of paths, of which the first is one; 0: it is none.
 * Clones look at such values, and change them: so they lie on the host. */
uint32_t fr_schema_path_words(const fr_schema *schema);

fr_column *fr_column_first(const fr_attribute *attribute);
/* The attribute's column of this schema, made when it is missing. NULL without memory. */
fr_column *fr_column_enter(fr_store *store, fr_attribute *attribute, const fr_schema *schema);
/* In no list. NULL without memory. */
fr_column *fr_column_make(fr_store *store, fr_attribute *attribute, const fr_schema *schema);
void fr_column_destroy(fr_store *store, fr_column *column);
/* How often keys of it have moved to another segment. What was found in segments that were looked
 * up since the number was the same is right: they had not been emptied. */
static inline uint64_t fr_column_rehomed(const fr_column *column)
{
    /* [column.rehomed.read] pairs [column.rehomed.publish] : the places */
    return fr_load_acquire(&column->rehomed);
}
/* Without the lock, by seals: a longer list of segments if there is no room for one more, else
 * *segments is NULL. False without memory. */
bool fr_column_longer_list(fr_store *store, const fr_column *column, fr_segment ***segments,
                           uint32_t *capacity);
/* A payload with room for so many of its rows. NULL without memory. Of a column on a device: that
 * is entered. */
fr_buffer *fr_column_buffer(const fr_column *column, fr_buffers *buffers, size_t rows);
/* Memory of a device, which is entered. NULL without memory. */
fr_buffer *fr_column_buffer_on(struct fr_opened *device, fr_buffers *buffers, size_t size_bytes);
/* Why a device has refused this thread a buffer since `begin`: much comes between who takes a
 * buffer and who answers for it, and knows of memory alone. end: false, none has. */
void fr_column_begin_refusals(void);
bool fr_column_end_refusals(struct fr_device_fault *out);
/* The same with the rows of another one. */
fr_buffer *fr_column_copy(const fr_column *column, fr_buffers *buffers, const fr_buffer *from,
                          size_t rows);

/* With the lock held: */
fr_unplaced *fr_column_unplaced_at(const fr_column *column,
                                   uint64_t ordinal); /* the newest at or below it */
fr_unplaced *fr_column_unplaced(const fr_column *column, uint64_t ordinal);
void fr_column_unplaced_link(fr_column *column, fr_unplaced *unplaced);
/* The first of the list. */
fr_unplaced *fr_column_unplaced_take(fr_column *column);
void fr_column_unplaced_take_back(fr_column *column, fr_unplaced *unplaced);

#endif
