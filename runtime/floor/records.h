/* The executed floors: one current record, replaced by publication, kept as long as somebody reads
 * it.
 *
 * Threads: every function from any thread. Publications are serial (publish lock); readers take a
 * short lock that is never held while a record is built. Invariants: a published record never
 * changes. Every accepted advance that has not run owns a record with room for every attribute that
 * any accepted advance has sealed by itself, so building the next record cannot fail. Folding
 * (fr_floor_records_fold_next) is done by one thread at a time, in the order of publication.
 * Progress: acquire and release are a few instructions under a lock. Memory: a record for each
 * unfinished advance and each one that is read; spare ones are kept for re-use. */
#ifndef FR_RUNTIME_FLOOR_RECORDS_H
#define FR_RUNTIME_FLOOR_RECORDS_H

#include "runtime/floor/floor.h"

typedef struct fr_floor_records fr_floor_records;

/* NULL without memory. */
fr_floor_records *fr_floor_records_create(const fr_allocator *allocator);
void fr_floor_records_destroy(fr_floor_records *records);

const fr_floor_record *fr_floor_records_acquire(fr_floor_records *records);
void fr_floor_records_release(fr_floor_records *records, const fr_floor_record *record);

/* The current record's base, without a lock. A record that is acquired afterwards is as new. */
uint64_t fr_floor_records_base(const fr_floor_records *records);

/* A record to build, with room for own_capacity attributes; NULL without memory. */
fr_floor_record *fr_floor_records_reserve(fr_floor_records *records, uint32_t own_capacity);
/* Gives one back that was not published. */
void fr_floor_records_unreserve(fr_floor_records *records, fr_floor_record *record);

/* Publishes `reserved`, made of the current record and this change, if the change raises anything;
 * else gives it back. take: called under the publish lock to get the record (so that who swaps it
 * for a larger one and who publishes agree). indices: ascending, each once; NULL: base is raised.
 */
typedef struct fr_floor_change {
    uint64_t ordinal;
    const uint32_t *indices;
    uint32_t count;
    /* Called with the record that is about to be published, under the publish lock: what readers
     * must find in its place from that moment on. Not called when nothing is raised. May be NULL.
     */
    void (*prepare)(const fr_floor_record *next, void *user);
    void *prepare_user;
} fr_floor_change;

/* What a thread folds. All zero before the first call; the thread that has `published` folds it,
 * with the record before it, and asks again until there is none. Nobody else folds meanwhile. */
typedef struct fr_floor_fold {
    const fr_floor_record *published, *before;
} fr_floor_fold;

/* The publication enters the fold queue; if nobody folds, *fold gets it at once. */
void fr_floor_records_publish(fr_floor_records *records, const fr_floor_change *change,
                              fr_floor_record *(*take)(void *user), void *user,
                              fr_floor_fold *fold);
/* Ends what *fold holds, and puts the next publication there, or nothing: the queue is empty, or
 * another thread folds and will see it. */
void fr_floor_records_fold_next(fr_floor_records *records, fr_floor_fold *fold);

#endif
