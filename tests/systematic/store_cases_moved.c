#include "tests/systematic/store_cases.h"

#include <ovstage/ovstage_api/ovstage_api_types.h>

#include "scheduler/os.h"
#include "tests/systematic/store_cases_bed.h"
#include "tests/systematic/systematic.h"

/* --- keys that move --------------------------------------------------------------------------- */

static const uint32_t first[3] = {1, 2, 3}, second[3] = {4, 5, 6};

static void write_first(void *unused)
{
    (void)unused;
    store_query *query = store_query_create(store_bed.world, first, 3);
    fr_systematic_check(store_write(store_bed.world, 0, query, 6, 6, NULL, 0, true) == OVSTAGE_OK,
                        "a judged write failed");
    store_query_destroy(store_bed.world, query);
}

static void write_all(void *unused)
{
    (void)unused;
    store_bed_write(0, store_bed.all, 5);
}

static void seal_second(void *unused)
{
    (void)unused;
    (void)store_world_seal(store_bed.world, 2);
}

/* Those that were there, at their first moment. */
static void read_first(void *unused)
{
    (void)unused;
    for (uint32_t turn = 0; turn < 3; turn++) {
        store_group *group;
        int status = store_read(store_bed.world, 0, store_bed.all, 1, &group);
        fr_systematic_check(status == OVSTAGE_OK, "a read failed");
        for (uint32_t k = 0; group && k < STORE_BED_PRIMS; k++) {
            const store_row *row = store_group_row(group, k);
            bool right = k < 3 ? row && store_row_is_whole(row) && row->ordinal == 1 : !row;
            fr_systematic_check(right, "a reader got rows of another moment");
        }
        if (group)
            store_group_release(store_bed.world, group);
    }
}

/* Keys that are there, and others that seal 2 makes. */
static void set_up_keys(void)
{
    store_bed_set_up(2);
    store_query *query = store_query_create(store_bed.world, first, 3);
    store_bed_write(0, query, 1);
    (void)store_world_seal(store_bed.world, 1);
    store_query_destroy(store_bed.world, query);
    query = store_query_create(store_bed.world, second, 3);
    store_bed_write(0, query, 2);
    store_query_destroy(store_bed.world, query);
}

void body_store_moved(void *unused)
{
    (void)unused;
    fr_os_thread reader, sealer;
    set_up_keys();
    (void)fr_os_current->thread_start(&reader, read_first, NULL, "reader");
    (void)fr_os_current->thread_start(&sealer, seal_second, NULL, "sealer");
    fr_os_current->thread_join(&reader);
    fr_os_current->thread_join(&sealer);
    store_bed_take_down();
}

void body_store_rehomed(void *unused)
{
    (void)unused;
    static void (*const bodies[])(void *) = {write_first, write_all, seal_second, read_first};
    fr_os_thread threads[4];
    set_up_keys();
    for (uint32_t k = 0; k < 4; k++)
        (void)fr_os_current->thread_start(&threads[k], bodies[k], NULL, "store");
    for (uint32_t k = 0; k < 4; k++)
        fr_os_current->thread_join(&threads[k]);
    read_first(NULL);
    (void)store_world_seal(store_bed.world, 6);
    store_group *group;
    fr_systematic_check(store_read(store_bed.world, 0, store_bed.all, 6, &group) == OVSTAGE_OK,
                        "a read failed");
    for (uint32_t k = 0; group && k < STORE_BED_PRIMS; k++) {
        const store_row *row = store_group_row(group, k);
        fr_systematic_check(row && store_row_is_whole(row) && row->ordinal == (k < 3 ? 6 : 5),
                            "a write was lost");
    }
    if (group)
        store_group_release(store_bed.world, group);
    store_bed_take_down();
}

/* --- what was complete before a read ---------------------------------------------------------- */

/* So many that it takes a while to change their places. */
#define MANY 60u
static store_query *many, *some_of_many;

static void seal_third(void *unused)
{
    (void)unused;
    (void)store_world_seal(store_bed.world, 3);
}

static void read_many(uint64_t ordinal, int expected)
{
    store_group *group;
    fr_systematic_check(store_read(store_bed.world, 0, many, ordinal, &group) == expected,
                        "a read did not see a write that was complete, or saw one that was not");
    if (group)
        store_group_release(store_bed.world, group);
}

static void write_and_read(void *unused)
{
    (void)unused;
    store_bed_write(0, some_of_many, 6);
    read_many(6, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
}

/* Two segments, which the third seal joins, and a query that remembers them. */
static void set_up_many(void)
{
    uint32_t prims[MANY];
    for (uint32_t k = 0; k < MANY; k++)
        prims[k] = k + 1;
    store_bed_set_up(2);
    many = store_query_create(store_bed.world, prims, MANY);
    some_of_many = store_query_create(store_bed.world, prims, 3); /* whose places change first */
    store_query *others = store_query_create(store_bed.world, prims + MANY / 2, MANY / 2);
    store_query *half = store_query_create(store_bed.world, prims, MANY / 2);
    store_bed_write(0, half, 1);
    (void)store_world_seal(store_bed.world, 1);
    store_bed_write(0, others, 2);
    store_bed_write(0, half, 3); /* keeps those keys where they are until it is sealed */
    (void)store_world_seal(store_bed.world, 2);
    store_query_destroy(store_bed.world, half);
    store_query_destroy(store_bed.world, others);
    read_many(2, OVSTAGE_OK);
}

void body_store_moved_open(void *unused)
{
    (void)unused;
    fr_os_thread writer, sealer;
    set_up_many();
    (void)fr_os_current->thread_start(&sealer, seal_third, NULL, "sealer");
    (void)fr_os_current->thread_start(&writer, write_and_read, NULL, "writer");
    fr_os_current->thread_join(&writer);
    fr_os_current->thread_join(&sealer);
    read_many(3, OVSTAGE_OK);
    store_query_destroy(store_bed.world, many);
    store_query_destroy(store_bed.world, some_of_many);
    store_bed_take_down();
}
