/* Re-homing: keys that were made by different seals, and so lie in many small segments, but are
 * written by the same seals again and again, move into one new segment.
 *
 * Which: segments that the same seals have folded several times in a row and that are at rest:
 * nothing of them is open, unfolded or about to be written. They must have few rows, no arrays,
 * and states that can lie side by side. World transforms stay: they are computed at ordinals that
 * are sealed, which needs the states of then, and below the lowest of a new segment there is none.
 * From the newest of their oldest states on each state that any of them has becomes one of all;
 * who has one below that, has no other until above it, so that this one is what the lowest state
 * of all shows. So what keys were at each moment, and in each range, they are. It is not done
 * while somebody is to be judged who must not see all that is sealed.
 *
 * Protocol (a seal, under the seals' lock, after it has folded):
 *   1. the new segment is made beside what there is, with all its states and its log; may fail;
 *   2. each old segment is retired under its lock, unless somebody has claimed it or has a version
 *      in it that is not sealed: then those that are go back, and nothing has happened;
 *   3. the new one is entered, retired as well, and the places of the keys are changed;
 *   4. fr_column.rehomed goes up, which refuses bindings, and then fr_attribute.derived; only then
 *      is the new one not retired any more;
 *   5. the old segments are emptied.
 *
 * Who holds a segment, or a row of it, from one lock to the next, and what he does:
 *   - A writer claims it, under its lock, with the look whether its ordinal has a version there
 *     (target.h). From then on the claim, and then the version that it links, keep the rows where
 *     they are. If it is retired he lets go of all that he has claimed, waits for the seal and
 *     looks his rows up again; he holds no lock, and no seal waits for a claim.
 *   - A reader, by a binding of before or by one that has some keys in the old ones and some in the
 *     new one, finds all as it was until step 5, since nothing can be written to either. What he
 *     has pinned stays as it is. If he found a segment emptied he sees that `derived` went up, as
 *     with rows that were derived meanwhile (derive.h), and reads again.
 *   - Who reads before step 4 was done by a binding of before does not look into the new segment:
 *     a write there that was complete before his read began would escape him. So there is none.
 *   - A judgement, a clone, and a filter by value look at one row at a time, by its place: again
 *     if `rehomed` went up meanwhile (judge.c), or if it did and nothing was found (current.c,
 *     latest.c). Judgements that must not see all that is sealed are over (fr_late_any): of ops
 *     that began an ordinal in the old segments the new one knows the last.
 *   - A walk over keys meets those of a segment that was emptied again in one behind (keys.h).
 *   - Rows without a place, marks, tombstones and archived values know prims, and no segment. Open
 *     versions, what is to be folded, and a seal that has yet to lay rows out keep the segment.
 *   - What a seal keeps in lists of its own: the log's entries change to the new segment
 *     (fr_change_log_take_places), history lets go of the old ones.
 *
 * Invariants
 *   - A segment with an unsealed version, or one that is claimed, is not retired; one that is
 *     retired gets no version but from the seal. One that was emptied stays so, retired, and in the
 *     column's list, since pointers to it may be held for any time; its rows and creations stay.
 *   - Who sees a segment emptied sees both counters as they are since (its lock, or its head).
 *   - Of each key its creation, the ordinals that are kept of those that wrote it, with the one
 *     before each, and its values at all moments from `lowest` on are as they were; below that the
 *     lowest state shows what they were.
 *   - Users see nothing of it: no generation of the layout is counted.
 *
 * Threads: seals only. Progress: in proportion to the rows that move, their kept states and what is
 * logged of them, once: what moved lies in a segment of 16 or more rows, so none moves more than a
 * few times. No lock but the seals' is held for more than FR_ROWS_A_LOCK steps. Memory: the new
 * segment, before the old ones are let go of; of each of those a record stays. */
#ifndef FR_RUNTIME_STORE_REHOME_H
#define FR_RUNTIME_STORE_REHOME_H

#include "runtime/store/column.h"

/* A segment that was just folded. */
void fr_rehome_note(fr_store *store, fr_segment *segment);
/* At the end of a seal: of those that were noted. */
void fr_rehome_noted(fr_store *store);

/* --- what moves (rehome_make.c) --------------------------------------------------------------- */
/* States that are kept, and ordinals that are logged, of what moves: with more it stays. */
#define FR_REHOME_STATES 8u
#define FR_REHOME_ORDINALS 256u

typedef struct fr_rehome_part {
    fr_segment *segment;
    uint32_t first;               /* row of the new segment that its first one becomes */
    const uint64_t *row_ordinals; /* the segment's, which a writer may make at any time */
} fr_rehome_part;

/* What became of one ordinal. */
typedef struct fr_rehome_ordinal {
    uint64_t ordinal;
    fr_segment *owner; /* the first part that has it logged; NULL: none has */
    uint64_t began;
    uint64_t previous; /* of the first row that it wrote */
    uint32_t rows;
    fr_change *change; /* of those rows; NULL while all ordinals wrote all rows */
} fr_rehome_ordinal;

typedef struct fr_rehome {
    fr_store *store;
    fr_column *column;
    fr_rehome_part *parts;
    uint32_t count, room, row_count;
    uint64_t lowest;  /* the newest of the oldest states */
    uint64_t second;  /* the oldest of the second oldest */
    uint32_t longest; /* the most states that a part has */
    uint64_t states[FR_REHOME_STATES];
    uint32_t state_count;
    bool is_uniform; /* each ordinal wrote all rows, and so did the one before */
    fr_rehome_ordinal *ordinals;
    uint32_t ordinal_count;
    fr_segment *segment; /* the new one */
} fr_rehome;

/* Makes the segment of the parts, which nobody sees yet. False without memory, or when they cannot
 * lie side by side: nothing happened. */
bool fr_rehome_make(fr_rehome *rehome);
/* Nothing of what was made is wanted; but for `made` it is what the segment has by now. */
void fr_rehome_release(fr_rehome *rehome, bool made);

#endif
