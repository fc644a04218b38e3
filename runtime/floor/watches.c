#include "runtime/floor/watches.h"

#include "runtime/floor/floors.h"

struct fr_floor_watch {
    fr_floor_watch *next;
    const fr_attribute *attribute;
    uint64_t ordinal;
    void (*reached)(void *user);
    void (*forgotten)(void *user);
    void *user;
};

/* By one published state; NULL: none, all are looked for that are a user's. */
typedef struct fr_floor_reached {
    const fr_floor_record *record;
    uint64_t global;
} fr_floor_reached;

static bool fr_floor_watch_goes(const fr_floor_watch *watch, const fr_floor_reached *reached,
                                const void *user)
{
    if (!reached)
        return !user || watch->user == user;
    uint64_t floor = watch->attribute ? fr_floor_effective(reached->record, watch->attribute->index)
                                      : reached->global;
    return floor >= watch->ordinal;
}

/* With the lock held: a list of those that go. */
static fr_floor_watch *fr_floor_watches_take(fr_floors *floors, const fr_floor_reached *reached,
                                             const void *user)
{
    fr_floor_watches *watches = &floors->watches;
    fr_floor_watch *taken = NULL;
    uint32_t count = fr_load_relaxed(&watches->count);
    for (fr_floor_watch **link = &watches->first; *link;) {
        fr_floor_watch *watch = *link;
        if (!fr_floor_watch_goes(watch, reached, user)) {
            link = &watch->next;
            continue;
        }
        *link = watch->next;
        watch->next = taken;
        taken = watch;
        count--;
    }
    fr_store_relaxed(&watches->count, count);
    return taken;
}

static void fr_floor_watches_end(fr_floors *floors, fr_floor_watch *taken, bool reached)
{
    while (taken) {
        fr_floor_watch *watch = taken;
        taken = watch->next;
        if (reached)
            watch->reached(watch->user);
        else
            watch->forgotten(watch->user);
        fr_memory_release(floors->allocator, watch, sizeof(*watch));
    }
}

void fr_floor_watches_look(fr_floors *floors)
{
    if (fr_load_relaxed(&floors->watches.count) == 0)
        return;
    fr_floor_reached reached = {fr_floors_record_acquire(floors), fr_floors_executed(floors, NULL)};
    fr_mutex_lock(&floors->watches.lock);
    fr_floor_watch *taken = fr_floor_watches_take(floors, &reached, NULL);
    fr_mutex_unlock(&floors->watches.lock);
    fr_floors_record_release(floors, reached.record);
    fr_floor_watches_end(floors, taken, true);
}

void fr_floor_watches_forget(fr_floors *floors, const void *user)
{
    fr_mutex_lock(&floors->watches.lock);
    fr_floor_watch *taken = fr_floor_watches_take(floors, NULL, user);
    fr_mutex_unlock(&floors->watches.lock);
    fr_floor_watches_end(floors, taken, false);
}

ovstage_api_status_t fr_floor_watch_add(fr_floors *floors, const fr_attribute *attribute,
                                        uint64_t ordinal, void (*reached)(void *user),
                                        void (*forgotten)(void *user), void *user)
{
    fr_floor_watches *watches = &floors->watches;
    if (fr_floors_executed(floors, attribute) >= ordinal) {
        reached(user);
        return OVSTAGE_OK;
    }
    fr_floor_watch *watch = fr_memory_allocate(floors->allocator, sizeof(*watch), 16);
    if (!watch)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    *watch = (fr_floor_watch){NULL, attribute, ordinal, reached, forgotten, user};
    fr_mutex_lock(&watches->lock);
    uint32_t count = fr_load_relaxed(&watches->count);
    bool fits = count < FR_FLOOR_WATCHES;
    if (fits) {
        watch->next = watches->first;
        watches->first = watch;
        fr_store_relaxed(&watches->count, count + 1);
    }
    fr_mutex_unlock(&watches->lock);
    if (fits) {
#ifndef FR_MUTATE_WATCH_LOOKS_BEFORE_IT_IS_LINKED
        if (fr_floors_executed(floors, attribute) >= ordinal)
            fr_floor_watches_look(floors);
#endif
        return OVSTAGE_OK;
    }
    fr_memory_release(floors->allocator, watch, sizeof(*watch));
    return OVSTAGE_ERROR_OUT_OF_RANGE;
}
