/* A segment: a fixed list of prims whose rows lie together, and the versions of them.
 *
 * The list of entries goes from the newest ordinal to the oldest; they are in a tree besides, so
 * that nobody walks over those of other ordinals. Entries above the column's effective floor are
 * open (each written by its own lane alone); the others are sealed states.
 * Going down from the newest sealed entry:
 *
 *     PARTIAL ... PARTIAL  FULL  (UNDO | FULL | PARTIAL) ...
 *     \__ not folded yet _/ head  \______ history ________/
 *
 * Threads: `lock` guards the list, spares and history; it is held while sealed rows are swapped in
 * place (fold.c), never while a client's payload is copied. `head` and `lowest_open` are read
 * without it. Seals alone change what is sealed, under it: they read it without.
 *
 * Invariants
 *   head is the newest sealed entry if that is FULL, else NULL; a reader that pins it and finds it
 * still there holds the newest sealed state. An entry depends on newer ones only (UNDO) or is FULL,
 * except for unfolded PARTIALs above the head: so the old end can be cut at any time; what is cut
 * and may still be wanted is in the archive, row by row. The sealed entries are all that there were
 * from the oldest one on. lowest_open is at or below the ordinal of every open entry. */
#ifndef FR_RUNTIME_STORE_SEGMENT_H
#define FR_RUNTIME_STORE_SEGMENT_H

#include "runtime/store/version.h"

typedef struct fr_column fr_column;
typedef struct fr_logged fr_logged;
typedef struct fr_archive fr_archive;

/* Rows that are looked at or entered before the lock is given to somebody else. */
#ifdef FR_SHRINK
#define FR_ROWS_A_LOCK 3u
#else
#define FR_ROWS_A_LOCK 256u
#endif
#define FR_SEGMENT_SPARES 2
#define FR_SPARE_CHANGES 8

typedef struct fr_creation {
    uint64_t ordinal, id; /* which op made the key */
} fr_creation;

/* A version out of the list that was a head, and what its payload must catch up with. Who read it
 * may still hold it: it is of use when they have let go. */
typedef struct fr_spare {
    fr_version *version;
    uint32_t change_count;
    fr_change *changes[FR_SPARE_CHANGES]; /* a reference each */
} fr_spare;

/* How far it was looked for what has replaced an older state. */
typedef struct fr_superseding {
    uint64_t state;   /* its ordinal */
    uint64_t looked;  /* entries up to there were, */
    uint32_t entries; /* so many, */
    uint32_t found;   /* of which so many have all rows that it holds */
} fr_superseding;

struct fr_segment {
    fr_column *column;
    uint32_t index, row_count;
    uint32_t row_room; /* what prims and creations were made for */
    const uint32_t *prims;
    bool consecutive;         /* row r is prim prims[0] + r */
    fr_creation created;      /* of all rows, when creations is NULL */
    fr_creation *creations;   /* else of each */
    uint64_t created_id_last; /* the highest id of an op that made a key */
    uint64_t created_last;    /* the highest creation ordinal: at or above it every row exists */
    fr_mutex lock;
    fr_version *newest;
    fr_version *oldest;
    fr_version *sealed;    /* the newest sealed one that a seal has come to */
    uint64_t sealed_count; /* from that one down */
    fr_ordinal_tree tree;  /* all */
    _Atomic(fr_version *) head;
    _Atomic uint64_t lowest_open; /* UINT64_MAX: none is open */
    /* When rows were last written, up to the state `accounted`: full_ordinal or, if higher,
     * row_ordinals[row] (made with the first PARTIAL). */
    uint64_t accounted, full_ordinal;
    uint64_t *row_ordinals; /* in the buffer, for the sake of its large pages */
    fr_buffer *row_ordinals_buffer;
    _Atomic bool has_row_ordinals;
    /* Versions with lists of rows that lookups walk may be linked, of these ordinals; and how often
     * one was. */
    _Atomic bool has_unindexed;
    uint64_t unindexed_lowest, unindexed_highest, unindexed_links;
    fr_spare spares[FR_SEGMENT_SPARES];
    /* Values of before the oldest entry: row by row (archive.h), NULL: none; and states off the
     * list (whole.h), from the newest on. */
    fr_archive *archive;
    fr_version *whole;
    uint32_t whole_count;
    /* Which rows its ordinals changed (change_log.h); above log_merged exactly. */
    fr_logged *log_newest, *log_oldest;
    fr_ordinal_tree log_tree;
    uint64_t log_merged;
    _Atomic uint64_t log_last; /* the newest ordinal that was accounted for */
    uint32_t dead_count;       /* rows whose keys are deleted; the seals' */
    /* Re-homing (rehome.h). Writers that have no version here yet and are about to link one; and no
     * such writer is let in any more. Guarded by the lock. */
    uint32_t claims;
    bool retired;             /* stays so once the keys have moved */
    _Atomic bool moved;       /* its keys are elsewhere for good, and it has nothing any more */
    uint32_t written_seals;   /* the seals': how many in a row have written it, the last of which */
    uint64_t written_seal;    /* was this one */
    fr_segment *rehome_next;  /* the seal's list of those that may move */
    uint64_t history_bytes;   /* of older states and spares, and the archive */
    uint64_t history_counted; /* of these the store has counted so many */
    uint64_t archive_bytes;   /* and so many are the archive's */
    fr_superseding superseding; /* the seals' (superseded.h): of the oldest entry */
    /* Of an array: bytes of elements that older states had, since it was compacted, and that the
     * head had then. */
    uint64_t replaced_bytes, live_bytes;
    fr_segment *history_older, *history_newer; /* the seals' list of segments that have some */
    uint64_t seal_floor;                       /* of the seal that put it into the list below */
    fr_segment
        *seal_next; /* the seal's list of segments to fold; itself when last, NULL when in none */
};

static inline fr_creation fr_segment_creation(const fr_segment *segment, uint32_t row)
{
    return segment->creations ? segment->creations[row] : segment->created;
}

/* Without rows. NULL without memory. */
fr_segment *fr_segment_create(const fr_allocator *allocator, fr_column *column);
/* Once, before anybody else sees it: takes over the arrays, which have room for `room` rows.
 * creations NULL: all were made by `uniform`. */
void fr_segment_set_rows(fr_segment *segment, const uint32_t *prims, fr_creation *creations,
                         uint32_t count, uint32_t room, fr_creation uniform);
void fr_segment_destroy(const fr_allocator *allocator, fr_versions *versions, fr_segment *segment);

/* All with the lock held: */
/* An open one. */
void fr_segment_take_back(fr_segment *segment, fr_version *version);
void fr_segment_link(fr_segment *segment,
                     fr_version *version); /* an open one, into its place by ordinal */
/* A sealed entry by another of its ordinal. */
void fr_segment_replace(fr_segment *segment, fr_version *version, fr_version *by);
/* Takes all sealed entries below `last` out: the newest of them, which leads to the others; or
 * NULL. */
fr_version *fr_segment_cut(fr_segment *segment, fr_version *last);
/* Some of the entries at or below the floor are sealed from now on. True when there are more. */
bool fr_segment_close(fr_segment *segment, uint64_t floor);
/* The lowest open one, or NULL. */
fr_version *fr_segment_first_open(const fr_segment *segment);
fr_version *fr_segment_find(const fr_segment *segment,
                            uint64_t ordinal); /* the entry of exactly this ordinal, or NULL */
fr_version *fr_segment_state(const fr_segment *segment,
                             uint64_t ordinal); /* the newest entry at or below it */
/* After entries were closed and folded: publishes head and lowest_open. */
void fr_segment_refresh(fr_segment *segment);
/* Makes row_ordinals if there are none; takes the lock. False without memory. */
bool fr_segment_row_ordinals(fr_buffers *buffers, fr_segment *segment);
/* Empties the slot; what was in it is the caller's, and no history any more. */
fr_version *fr_segment_spare_take(fr_spare *spare);
/* During a seal: what an entry or a spare counts for as history. */
void fr_segment_count(fr_segment *segment, fr_version *version, uint64_t history_bytes);

/* With the lock held: lookups in the list of rows of a version that is linked would walk it. */
void fr_segment_note_unindexed(fr_segment *segment, const fr_version *version);
/* Indexes the lists of rows of all versions in it, of which it is known that lookups would walk
 * them. Takes the lock, in pieces. Without memory some stay as they are: slower to look up. */
void fr_segment_index(fr_segment *segment);
/* The same of one change, which somebody holds. False without memory. */
bool fr_segment_index_change(fr_segment *segment, fr_change *change);

#endif
