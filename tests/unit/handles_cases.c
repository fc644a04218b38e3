#include "tests/unit/handles_cases.h"

#include "runtime/api/handles.h"
#include "tests/support/heap.h"

#include <pthread.h>
#include <stdlib.h>

struct fr_handles_case {
    fr_handles *handles;
    fr_test_heap *heap;
    uint64_t dropped;
};

fr_handles_case *handles_case_open(fr_test_heap *heap, uint32_t instance_number)
{
    fr_handles_case *it = calloc(1, sizeof(*it));
    if (!it)
        return NULL;
    it->heap = heap;
    it->handles = fr_handles_create(fr_test_heap_allocator(heap), instance_number);
    if (!it->handles) {
        free(it);
        return NULL;
    }
    return it;
}

static void handles_case_drop(fr_handle_kind kind, void *object, void *user)
{
    (void)kind;
    (void)object;
    ((fr_handles_case *)user)->dropped++;
}

uint64_t handles_case_close(fr_handles_case *it)
{
    fr_handles_destroy(it->handles, handles_case_drop, it);
    uint64_t dropped = it->dropped;
    free(it);
    return dropped;
}

uint64_t handles_case_add(fr_handles_case *it, int kind, void *object)
{
    return fr_handles_add(it->handles, (fr_handle_kind)kind, object);
}

uint64_t handles_case_reserve(fr_handles_case *it, int kind)
{
    return fr_handles_reserve(it->handles, (fr_handle_kind)kind);
}

void handles_case_publish(fr_handles_case *it, uint64_t handle, void *object)
{
    fr_handles_publish(it->handles, handle, object);
}

void handles_case_cancel(fr_handles_case *it, uint64_t handle)
{
    fr_handles_cancel(it->handles, handle);
}

void *handles_case_get(fr_handles_case *it, int kind, uint64_t handle)
{
    void *object = NULL;
    return fr_handles_get(it->handles, (fr_handle_kind)kind, handle, NULL, &object) ? object : NULL;
}

void *handles_case_take(fr_handles_case *it, int kind, uint64_t handle)
{
    void *object = NULL;
    return fr_handles_take(it->handles, (fr_handle_kind)kind, handle, &object) ? object : NULL;
}

const char *handles_case_why_not(const fr_handles_case *it, int kind, uint64_t handle)
{
    return fr_handles_why_not(it->handles, (fr_handle_kind)kind, handle);
}

/* --- a race ----------------------------------------------------------------------------------- */

/* An object knows its handle, and whether it was taken. */
typedef struct raced {
    _Atomic uint64_t retained;
    bool taken; /* written after the take, read by who retained it before: never at the same time */
} raced;

typedef struct race {
    fr_handles_case *it;
    _Atomic uint64_t offered; /* the handle to be looked up; UINT64_MAX: the end */
    _Atomic uint64_t wrong;
} race;

static void raced_retain(void *object)
{
    raced *target = object;
    fr_add_relaxed(&target->retained, 1);
    if (target->taken)
        fr_add_relaxed(&target->retained, UINT64_C(1) << 32); /* seen by the other thread */
}

static void *race_look(void *argument)
{
    race *shared = argument;
    uint64_t handle;
    /* [race.look] pairs [race.offer] : the object is whole */
    while ((handle = fr_load_acquire(&shared->offered)) != UINT64_MAX) {
        void *object = NULL;
        if (handle != 0)
            fr_handles_get(shared->it->handles, FR_HANDLE_READ, handle, raced_retain, &object);
        fr_os_current->yield();
    }
    return NULL;
}

uint64_t handles_case_race(fr_handles_case *it, uint32_t rounds)
{
    race shared = {.it = it};
    raced *objects = calloc(rounds, sizeof(*objects));
    pthread_t other;
    if (!objects || pthread_create(&other, NULL, race_look, &shared) != 0) {
        free(objects);
        return UINT64_MAX;
    }
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < rounds; i++) {
        uint64_t handle = fr_handles_add(it->handles, FR_HANDLE_READ, &objects[i]);
        /* [race.offer] pairs [race.look] : after the object */
        fr_store_release(&shared.offered, handle);
        if (i % 4 == 0)
            fr_os_current->yield();
        void *object = NULL;
        if (!fr_handles_take(it->handles, FR_HANDLE_READ, handle, &object) || object != &objects[i])
            wrong++;
        objects[i].taken = true; /* ThreadSanitizer tells when it is retained after this */
    }
    fr_store_release(&shared.offered,
                     UINT64_MAX); /* [race.end] pairs [race.look] : the last word */
    pthread_join(other, NULL);
    for (uint32_t i = 0; i < rounds; i++)
        if (fr_load_relaxed(&objects[i].retained) >> 32 != 0)
            wrong++;
    free(objects);
    return wrong;
}
