#include "tests/unit/floors_cases.h"

#include "runtime/floor/records.h"
#include "tests/support/heap.h"

#include <pthread.h>
#include <stdlib.h>

struct fr_floors_case {
    fr_floor_records *records;
    fr_floor_fold fold;
    bool shown; /* the fold was handed to the test */
};

fr_floors_case *floors_case_open(fr_test_heap *heap)
{
    fr_floors_case *it = calloc(1, sizeof(*it));
    if (!it)
        return NULL;
    it->records = fr_floor_records_create(fr_test_heap_allocator(heap));
    if (!it->records) {
        free(it);
        return NULL;
    }
    return it;
}

void floors_case_close(fr_floors_case *it)
{
    uint64_t serials[2];
    while (floors_case_fold(it, serials))
        ;
    fr_floor_records_destroy(it->records);
    free(it);
}

static fr_floor_record *floors_case_take(void *user)
{
    return user;
}

bool floors_case_publish(fr_floors_case *it, uint64_t ordinal, const uint32_t *indices,
                         uint32_t count, uint32_t capacity)
{
    fr_floor_record *record = fr_floor_records_reserve(it->records, capacity);
    if (!record)
        return false;
    fr_floor_change change = {.ordinal = ordinal, .indices = indices, .count = count};
    fr_floor_fold fold = {NULL, NULL};
    fr_floor_records_publish(it->records, &change, floors_case_take, record, &fold);
    if (fold.published) {
        it->fold = fold;
        it->shown = false;
    }
    return true;
}

bool floors_case_fold(fr_floors_case *it, uint64_t out_serials[2])
{
    if (it->fold.published && it->shown)
        fr_floor_records_fold_next(it->records, &it->fold);
    if (!it->fold.published)
        return false;
    it->shown = true;
    out_serials[0] = it->fold.published->serial;
    out_serials[1] = it->fold.before->serial;
    return true;
}

fr_floors_view *floors_case_hold(fr_floors_case *it)
{
    return (fr_floors_view *)(uintptr_t)fr_floor_records_acquire(it->records);
}

static const fr_floor_record *floors_record_of(const fr_floors_view *view)
{
    return (const fr_floor_record *)(const void *)view;
}

void floors_case_let_go(fr_floors_case *it, fr_floors_view *view)
{
    fr_floor_records_release(it->records, floors_record_of(view));
}

uint64_t floors_view_effective(const fr_floors_view *view, uint32_t index)
{
    return fr_floor_effective(floors_record_of(view), index);
}

uint64_t floors_view_base(const fr_floors_view *view)
{
    return floors_record_of(view)->base;
}

uint64_t floors_view_serial(const fr_floors_view *view)
{
    return floors_record_of(view)->serial;
}

uint64_t floors_view_least(const fr_floors_view *view)
{
    return floors_record_of(view)->least_own;
}

uint32_t floors_view_count(const fr_floors_view *view)
{
    return floors_record_of(view)->count;
}

/* --- a race ----------------------------------------------------------------------------------- */

#define RACE_ATTRIBUTES 3

typedef struct race {
    fr_floors_case *it;
    _Atomic uint32_t ended;
    uint64_t wrong; /* the reader's until it is joined */
} race;

static void *race_read(void *argument)
{
    race *shared = argument;
    uint64_t last = 0;
    for (bool more = true; more;) {
        /* [race.ended.look] pairs [race.ended] : no more records after this one */
        more = fr_load_acquire(&shared->ended) == 0;
        const fr_floor_record *record = fr_floor_records_acquire(shared->it->records);
        /* All three are sealed in one publication. */
        uint64_t first = fr_floor_effective(record, 0);
        for (uint32_t i = 1; i < RACE_ATTRIBUTES; i++)
            if (fr_floor_effective(record, i) != first)
                shared->wrong++;
        if (first < last || record->serial < last / 2)
            shared->wrong++;
        last = first;
        fr_floor_records_release(shared->it->records, record);
    }
    return NULL;
}

uint64_t floors_case_race(fr_floors_case *it, uint32_t rounds)
{
    static const uint32_t indices[RACE_ATTRIBUTES] = {0, 1, 2};
    race shared = {.it = it};
    pthread_t reader;
    uint64_t serials[2], missed = 0;
    if (pthread_create(&reader, NULL, race_read, &shared) != 0)
        return UINT64_MAX;
    for (uint32_t i = 1; i <= rounds; i++) {
        bool published =
            i % 3 == 0 ? floors_case_publish(it, i, NULL, 0, RACE_ATTRIBUTES)
                       : floors_case_publish(it, i, indices, RACE_ATTRIBUTES, RACE_ATTRIBUTES);
        missed += !published;
        while (floors_case_fold(it, serials))
            ;
        if (i % 16 == 0)
            fr_os_current->yield();
    }
    /* [race.ended] pairs [race.ended.look] : after the last publication */
    fr_store_release(&shared.ended, 1);
    pthread_join(reader, NULL);
    return shared.wrong + missed;
}
