#include "tests/systematic/floor_watch_cases.h"

#include "runtime/floor/floors.h"
#include "scheduler/os.h"
#include "tests/systematic/systematic.h"

#define WATCHERS 2u
#define FLOORS 3u

typedef struct watch {
    uint64_t ordinal;
    _Atomic uint32_t told, let_go;
} watch;

static fr_floors *floors;
static watch watches[WATCHERS][FLOORS];
static _Atomic uint32_t next_watcher;
static bool forgets;

static void reached(void *user)
{
    watch *it = user;
    fr_systematic_check(fr_floors_executed(floors, NULL) >= it->ordinal,
                        "a floor was told that is not reached");
    (void)fr_add_relaxed(&it->told, 1);
}

static void forgotten(void *user)
{
    watch *it = user;
    (void)fr_add_relaxed(&it->let_go, 1);
}

static fr_floor_record *take(void *record)
{
    return record;
}

static void publish(void *unused)
{
    (void)unused;
    for (uint64_t ordinal = 1; ordinal <= FLOORS; ordinal++) {
        fr_floor_change change = {.ordinal = ordinal};
        fr_floor_fold fold = {NULL, NULL};
        fr_floor_record *record = fr_floor_records_reserve(floors->records, 0);
        fr_floor_records_publish(floors->records, &change, take, record, &fold);
        fr_floor_watches_look(floors);
        while (fold.published)
            fr_floor_records_fold_next(floors->records, &fold);
    }
}

static void look_out(void *unused)
{
    (void)unused;
    watch *mine = watches[fr_add_relaxed(&next_watcher, 1)];
    for (uint32_t k = 0; k < FLOORS; k++) {
        mine[k].ordinal = FLOORS - k;
        fr_systematic_check(fr_floor_watch_add(floors, NULL, mine[k].ordinal, reached, forgotten,
                                               &mine[k]) == OVSTAGE_OK,
                            "a floor could not be looked out for");
        if (forgets && k == 1)
            fr_floor_watches_forget(floors, &mine[k]);
    }
}

static void run_watches(bool some_forget)
{
    fr_os_thread threads[WATCHERS + 1];
    forgets = some_forget;
    fr_store_relaxed(&next_watcher, 0);
    for (uint32_t w = 0; w < WATCHERS; w++)
        for (uint32_t k = 0; k < FLOORS; k++) {
            fr_store_relaxed(&watches[w][k].told, 0);
            fr_store_relaxed(&watches[w][k].let_go, 0);
        }
    floors = fr_floors_create(&fr_allocator_default, NULL);
    for (uint32_t t = 0; t <= WATCHERS; t++)
        (void)fr_os_current->thread_start(&threads[t], t == 0 ? publish : look_out, NULL, "one");
    for (uint32_t t = 0; t <= WATCHERS; t++)
        fr_os_current->thread_join(&threads[t]);
    for (uint32_t w = 0; w < WATCHERS; w++)
        for (uint32_t k = 0; k < FLOORS; k++) {
            uint32_t told = fr_load_relaxed(&watches[w][k].told);
            uint32_t let_go = fr_load_relaxed(&watches[w][k].let_go);
            fr_systematic_check(told + let_go == 1, "who looked out for a floor was not told once");
            fr_systematic_check(let_go == 0 || (forgets && k == 1),
                                "who looked out for a floor was forgotten");
        }
    fr_floors_destroy(floors);
}

void body_watches(void *unused)
{
    (void)unused;
    run_watches(false);
}

void body_watches_forgotten(void *unused)
{
    (void)unused;
    run_watches(true);
}
