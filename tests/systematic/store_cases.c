#include "tests/systematic/store_cases.h"

#include <ovstage/ovstage_api/ovstage_api_types.h>

#include "scheduler/os.h"
#include "tests/support/countdown.h"
#include "tests/systematic/store_cases_bed.h"
#include "tests/systematic/systematic.h"

static fr_countdown written;

/* --- the head --------------------------------------------------------------------------------- */

static void read_heads(void *unused)
{
    (void)unused;
    for (uint32_t turn = 0; turn < 3; turn++) {
        store_group *group;
        int status = store_read(store_bed.world, 0, store_bed.all, 5, &group);
        fr_systematic_check(status == OVSTAGE_OK || status == OVSTAGE_ERROR_OUT_OF_RANGE,
                            "a read failed");
        for (uint32_t k = 0; group && k < STORE_BED_PRIMS; k++) {
            const store_row *row = store_group_row(group, k);
            fr_systematic_check(row && store_row_is_whole(row) && row->value == 0 &&
                                    row->ordinal == 5,
                                "a reader got rows of something else");
        }
        if (group)
            store_group_release(store_bed.world, group);
    }
}

static void replace_heads(void *unused)
{
    (void)unused;
    store_bed_write(0, store_bed.all, 6);
    (void)store_world_seal_one(store_bed.world, 0, 6);
    store_bed_write(1, store_bed.all, 2); /* in the record of what was the head */
}

void body_store_head(void *unused)
{
    (void)unused;
    fr_os_thread reader, sealer;
    store_bed_set_up(0);
    store_bed_write(0, store_bed.all, 5);
    store_bed_write(1, store_bed.all, 1);
    (void)store_world_seal(store_bed.world, 1);
    (void)store_world_seal_one(store_bed.world, 0, 5);
    (void)fr_os_current->thread_start(&reader, read_heads, NULL, "reader");
    (void)fr_os_current->thread_start(&sealer, replace_heads, NULL, "sealer");
    fr_os_current->thread_join(&reader);
    fr_os_current->thread_join(&sealer);
    store_bed_take_down();
}

/* --- a seal ----------------------------------------------------------------------------------- */

static const uint32_t some[3] = {2, 4, 9}; /* the last is new */

static void write_two(void *unused)
{
    (void)unused;
    store_query *query = store_query_create(store_bed.world, some, 3);
    store_bed_write(0, query, 2);
    store_bed_write(0, query, 2);
    store_query_destroy(store_bed.world, query);
    fr_countdown_arrive(&written);
}

static void write_three(void *unused)
{
    (void)unused;
    store_bed_write(0, store_bed.all, 3);
    store_query *query = store_query_create(store_bed.world, some, 3);
    store_bed_write(0, query, 3);
    store_query_destroy(store_bed.world, query);
}

static void seal_two(void *unused)
{
    (void)unused;
    fr_countdown_wait(&written);
    (void)store_world_seal(store_bed.world, 2);
}

/* By the state of 1 or of 2, never a mixture, and nothing of 3. */
static void read_states(void *unused)
{
    (void)unused;
    store_group *group;
    uint64_t floor = store_world_floor(store_bed.world);
    int status = store_read(store_bed.world, 0, store_bed.all, floor, &group);
    fr_systematic_check(status == OVSTAGE_OK, "a read failed");
    for (uint32_t k = 0; group && k < STORE_BED_PRIMS; k++) {
        const store_row *row = store_group_row(group, k);
        uint64_t expected =
            floor == 2 && (store_bed_prims[k] == 2 || store_bed_prims[k] == 4) ? 2 : 1;
        fr_systematic_check(row && store_row_is_whole(row) && row->ordinal == expected,
                            "a reader got rows of another moment");
    }
    if (group)
        store_group_release(store_bed.world, group);
}

void body_store_seal(void *unused)
{
    (void)unused;
    static void (*const bodies[])(void *) = {write_two, write_three, seal_two, read_states};
    fr_os_thread threads[4];
    store_bed_set_up(1);
    fr_countdown_set(&written, 1);
    store_bed_write(0, store_bed.all, 1);
    (void)store_world_seal(store_bed.world, 1);
    for (uint32_t k = 0; k < 4; k++)
        (void)fr_os_current->thread_start(&threads[k], bodies[k], NULL, "store");
    for (uint32_t k = 0; k < 4; k++)
        fr_os_current->thread_join(&threads[k]);
    read_states(NULL);
    (void)store_world_seal(store_bed.world, 3);
    store_query *query = store_query_create(store_bed.world, some, 3);
    store_group *group;
    fr_systematic_check(store_read(store_bed.world, 0, query, 3, &group) == OVSTAGE_OK,
                        "a read failed");
    for (uint32_t k = 0; group && k < 3; k++)
        fr_systematic_check(store_group_row(group, k) && store_group_row(group, k)->ordinal == 3,
                            "a write is lost");
    if (group)
        store_group_release(store_bed.world, group);
    store_query_destroy(store_bed.world, query);
    store_bed_take_down();
}

/* --- an older state --------------------------------------------------------------------------- */

static void read_older(void *unused)
{
    (void)unused;
    store_group *group;
    fr_systematic_check(store_read(store_bed.world, 0, store_bed.all, 1, &group) == OVSTAGE_OK,
                        "a read failed");
    for (uint32_t k = 0; group && k < STORE_BED_PRIMS; k++) {
        const store_row *row = store_group_row(group, k);
        fr_systematic_check(row && store_row_is_whole(row) && row->ordinal == 1,
                            "an older state has changed");
    }
    if (group)
        store_group_release(store_bed.world, group);
}

static void seal_over_held_head(void *query)
{
    store_bed_write(0, query, 3);
    (void)store_world_seal(store_bed.world, 3);
}

void body_store_older(void *unused)
{
    (void)unused;
    fr_os_thread reader, sealer;
    store_group *first, *head;
    store_bed_set_up(2);
    store_query *query = store_query_create(store_bed.world, some, 2);
    store_bed_write(0, store_bed.all, 1);
    (void)store_world_seal(store_bed.world, 1);
    fr_systematic_check(store_read(store_bed.world, 0, store_bed.all, 1, &first) == OVSTAGE_OK,
                        "a read failed");
    store_bed_write(0, query, 2);
    (void)store_world_seal(store_bed.world, 2);
    store_group_release(store_bed.world, first);
    fr_systematic_check(store_read(store_bed.world, 0, store_bed.all, 2, &head) == OVSTAGE_OK,
                        "a read failed");
    (void)fr_os_current->thread_start(&reader, read_older, NULL, "reader");
    (void)fr_os_current->thread_start(&sealer, seal_over_held_head, query, "sealer");
    fr_os_current->thread_join(&reader);
    fr_os_current->thread_join(&sealer);
    read_older(NULL);
    store_group_release(store_bed.world, head);
    store_query_destroy(store_bed.world, query);
    store_bed_take_down();
}

/* --- older values ----------------------------------------------------------------------------- */

static store_query *before_four, *from_four;

/* 2 was written at 2 and 3 and then no more; 4 at all ordinals from 4 on. */
static void read_values(void *unused)
{
    (void)unused;
    store_group *group;
    fr_systematic_check(store_read(store_bed.world, 0, before_four, 2, &group) == OVSTAGE_OK,
                        "a value of a key's newest is gone");
    for (uint32_t k = 0; group && k < 3; k++)
        fr_systematic_check(store_group_row(group, k) && store_group_row(group, k)->ordinal ==
                                                             (store_bed_prims[k] == 2 ? 2 : 1),
                            "an older value is another one");
    if (group)
        store_group_release(store_bed.world, group);
    const uint64_t floor = store_world_floor(store_bed.world), moments[3] = {4, floor - 1, floor};
    for (uint32_t k = 0; k < 3; k++) {
        int status = store_read(store_bed.world, 0, from_four, moments[k], &group);
        fr_systematic_check(status == OVSTAGE_OK || status == OVSTAGE_ERROR_OUT_OF_RANGE,
                            "a read failed");
        const store_row *row = group ? store_group_row(group, 0) : NULL;
        fr_systematic_check(!group || moments[k] < 4 ||
                                (row && store_row_is_whole(row) && row->ordinal == moments[k]),
                            "an older value is of another moment");
        if (group)
            store_group_release(store_bed.world, group);
    }
}

static void seal_further(void *query)
{
    for (uint64_t ordinal = 5; ordinal <= 8; ordinal++) {
        store_bed_write(0, query, ordinal);
        (void)store_world_seal(store_bed.world, ordinal);
    }
}

void body_store_values(void *unused)
{
    (void)unused;
    static const uint32_t two = 2;
    fr_os_thread reader, sealer;
    store_bed_set_up(1);
    before_four = store_query_create(store_bed.world, store_bed_prims, 3);
    from_four = store_query_create(store_bed.world, &store_bed_prims[3], 1);
    store_query *only_second = store_query_create(store_bed.world, &two, 1);
    store_bed_write(0, store_bed.all, 1);
    (void)store_world_seal(store_bed.world, 1);
    for (uint64_t ordinal = 2; ordinal <= 4; ordinal++) {
        store_bed_write(0, ordinal < 4 ? only_second : from_four, ordinal);
        (void)store_world_seal(store_bed.world, ordinal);
    }
    (void)fr_os_current->thread_start(&reader, read_values, NULL, "reader");
    (void)fr_os_current->thread_start(&sealer, seal_further, from_four, "sealer");
    fr_os_current->thread_join(&reader);
    fr_os_current->thread_join(&sealer);
    read_values(NULL);
    store_query_destroy(store_bed.world, only_second);
    store_query_destroy(store_bed.world, from_four);
    store_query_destroy(store_bed.world, before_four);
    store_bed_take_down();
}

/* --- deletes ---------------------------------------------------------------------------------- */

static const uint32_t four[1] = {4}, two_and_four[2] = {2, 4};
/* In the order accepted. */
enum { DELETE_2, KEEP_2, JUDGE_FOUR, JUDGE_TWO, LATE_WRITE_3, LATE_DELETE_4, OPS };
static store_op ops[OPS];
static store_query *pair, *only_two, *only_four;
static fr_countdown lane_two, lane_three, lane_four;

static void run_op(int op, int expected)
{
    fr_systematic_check(store_run(store_bed.world, &ops[op]) == expected,
                        "an op was judged by others");
}

static void run_lane_two(void *unused)
{
    (void)unused;
    run_op(DELETE_2, OVSTAGE_OK);
    run_op(KEEP_2, OVSTAGE_OK);
    fr_countdown_arrive(&lane_two);
}

static void run_later(void *unused)
{
    (void)unused;
    run_op(LATE_WRITE_3, OVSTAGE_OK);
    fr_countdown_arrive(&lane_three);
    run_op(LATE_DELETE_4, OVSTAGE_OK);
    fr_countdown_arrive(&lane_four);
}

/* By lane two alone: key 4 is deleted there, and key 2 written again. */
static void run_judged(void *unused)
{
    (void)unused;
    fr_countdown_wait(&lane_two);
    run_op(JUDGE_FOUR, OVSTAGE_OK);
    run_op(JUDGE_TWO, OVSTAGE_ERROR_INVALID_ARGUMENT);
}

static void seal_three_and_four(void *unused)
{
    (void)unused;
    fr_countdown_wait(&lane_two);
    fr_countdown_wait(&lane_three);
    (void)store_world_seal(store_bed.world, 3);
    fr_countdown_wait(&lane_four);
    (void)store_world_seal(store_bed.world, 4);
}

/* The ordinal at which a key was last written by that moment; 0: it is not there. */
static uint64_t state_of(uint32_t prim, uint64_t moment)
{
    if (moment < 3 || (prim != 2 && prim != 4))
        return 1;
    if (prim == 4)
        return moment < 9 ? 3 : 9;
    return moment < 4 ? 2 : 0;
}

static void read_deleted(void *unused)
{
    (void)unused;
    store_group *group;
    uint64_t floor = store_world_floor(store_bed.world);
    fr_systematic_check(store_read(store_bed.world, 0, store_bed.all, floor, &group) == OVSTAGE_OK,
                        "a read failed");
    for (uint32_t k = 0; group && k < STORE_BED_PRIMS; k++) {
        const store_row *row = store_group_row(group, k);
        uint64_t expected = state_of(store_bed_prims[k], floor);
        fr_systematic_check(row ? store_row_is_whole(row) && row->ordinal == expected
                                : expected == 0,
                            "a reader got keys of another moment");
    }
    if (group)
        store_group_release(store_bed.world, group);
}

static void accept_ops(void)
{
    ops[DELETE_2] = (store_op){.ordinal = 2, .query = pair, .deletes = true};
    ops[KEEP_2] = (store_op){.ordinal = 2, .query = only_two};
    ops[JUDGE_FOUR] = (store_op){.ordinal = 9, .query = only_four, .schema = 1, .judged = true};
    ops[JUDGE_TWO] = (store_op){.ordinal = 9, .query = only_two, .schema = 1, .judged = true};
    ops[LATE_WRITE_3] = (store_op){.ordinal = 3, .query = only_four};
    ops[LATE_DELETE_4] = (store_op){.ordinal = 4, .query = only_two, .deletes = true};
    for (int op = 0; op < OPS; op++)
        store_accept(store_bed.world, &ops[op]);
}

/* Rows at 1, and the ops accepted. */
static void set_up_ops(void)
{
    store_bed_set_up(4);
    pair = store_query_create(store_bed.world, two_and_four, 2);
    only_two = store_query_create(store_bed.world, two_and_four, 1);
    only_four = store_query_create(store_bed.world, four, 1);
    fr_countdown_set(&lane_two, 1);
    fr_countdown_set(&lane_three, 1);
    fr_countdown_set(&lane_four, 1);
    store_bed_write(0, store_bed.all, 1);
    (void)store_world_seal(store_bed.world, 1);
    accept_ops();
}

static void take_down_ops(void)
{
    store_query_destroy(store_bed.world, pair);
    store_query_destroy(store_bed.world, only_two);
    store_query_destroy(store_bed.world, only_four);
    store_bed_take_down();
}

void body_store_deletes(void *unused)
{
    (void)unused;
    static void (*const bodies[])(void *) = {run_lane_two, run_later, run_judged,
                                             seal_three_and_four, read_deleted};
    fr_os_thread threads[5];
    set_up_ops();
    for (uint32_t k = 0; k < 5; k++)
        (void)fr_os_current->thread_start(&threads[k], bodies[k], NULL, "store");
    for (uint32_t k = 0; k < 5; k++)
        fr_os_current->thread_join(&threads[k]);
    read_deleted(NULL);
    (void)store_world_seal(store_bed.world, 9);
    read_deleted(NULL);
    take_down_ops();
}

static void run_judged_four(void *unused)
{
    (void)unused;
    run_op(JUDGE_FOUR, OVSTAGE_OK);
}

static void run_late_write(void *unused)
{
    (void)unused;
    run_op(LATE_WRITE_3, OVSTAGE_OK);
}

void body_store_late(void *unused)
{
    (void)unused;
    fr_os_thread judged, late;
    set_up_ops();
    run_lane_two(NULL);
    (void)fr_os_current->thread_start(&judged, run_judged_four, NULL, "judged");
    (void)fr_os_current->thread_start(&late, run_late_write, NULL, "late");
    fr_os_current->thread_join(&judged);
    fr_os_current->thread_join(&late);
    run_op(JUDGE_TWO, OVSTAGE_ERROR_INVALID_ARGUMENT);
    run_op(LATE_DELETE_4, OVSTAGE_OK);
    take_down_ops();
}

/* What it is to be judged by may be gone, and then it is not judged by what is left. */
static void run_judged_or_lost(void *unused)
{
    (void)unused;
    int status = store_run(store_bed.world, &ops[JUDGE_FOUR]);
    fr_systematic_check(status == OVSTAGE_OK || status == OVSTAGE_ERROR_OUT_OF_MEMORY,
                        "an op was judged by what was lost");
}

static void seal_without_memory(void *unused)
{
    (void)unused;
    /* Some of the first would be for what a seal must have. */
    fr_test_heap_fail(store_bed.heap, 18 + fr_systematic_random(5), false);
    (void)store_world_seal(store_bed.world, 3);
    fr_test_heap_fail(store_bed.heap, 0, false);
}

void body_store_lost(void *unused)
{
    (void)unused;
    fr_os_thread judged, sealer;
    set_up_ops();
    run_lane_two(NULL);
    run_op(LATE_WRITE_3, OVSTAGE_OK);
    (void)fr_os_current->thread_start(&judged, run_judged_or_lost, NULL, "judged");
    (void)fr_os_current->thread_start(&sealer, seal_without_memory, NULL, "sealer");
    fr_os_current->thread_join(&judged);
    fr_os_current->thread_join(&sealer);
    take_down_ops();
}

/* --- marks ------------------------------------------------------------------------------------ */

static void look_for_deleted(void *unused)
{
    (void)unused;
    for (uint32_t turn = 0; turn < 3; turn++)
        fr_systematic_check(!store_exists(store_bed.world, four[0], 9),
                            "a deleted prim was there again");
}

static void delete_another(void *unused)
{
    (void)unused;
    store_op op = {.ordinal = 2, .attribute = 1, .query = store_bed.all, .deletes = true};
    store_accept(store_bed.world, &op);
    fr_systematic_check(store_run(store_bed.world, &op) == OVSTAGE_OK, "a delete failed");
}

static void seal_the_first(void *unused)
{
    (void)unused;
    (void)store_world_seal_one(store_bed.world, 0, 2);
}

void body_store_marks(void *unused)
{
    (void)unused;
    static void (*const bodies[])(void *) = {look_for_deleted, delete_another, seal_the_first};
    fr_os_thread threads[3];
    store_bed_set_up(1);
    only_four = store_query_create(store_bed.world, four, 1);
    store_bed_write(0, store_bed.all, 1);
    store_query *others = store_query_create(store_bed.world, store_bed_prims, 3);
    store_bed_write(1, others, 1);
    (void)store_world_seal(store_bed.world, 1);
    store_op op = {.ordinal = 2, .query = only_four, .deletes = true};
    store_accept(store_bed.world, &op);
    fr_systematic_check(store_run(store_bed.world, &op) == OVSTAGE_OK, "a delete failed");
    for (uint32_t k = 0; k < 3; k++)
        (void)fr_os_current->thread_start(&threads[k], bodies[k], NULL, "store");
    for (uint32_t k = 0; k < 3; k++)
        fr_os_current->thread_join(&threads[k]);
    (void)store_world_seal(store_bed.world, 2);
    look_for_deleted(NULL);
    store_group *group;
    fr_systematic_check(store_read(store_bed.world, 1, store_bed.all, 2, &group) == OVSTAGE_OK,
                        "a read failed");
    for (uint32_t k = 0; group && k < STORE_BED_PRIMS; k++)
        fr_systematic_check(!store_group_row(group, k), "a delete is lost");
    if (group)
        store_group_release(store_bed.world, group);
    store_query_destroy(store_bed.world, others);
    store_query_destroy(store_bed.world, only_four);
    store_bed_take_down();
}

/* --- derived rows ----------------------------------------------------------------------------- */

/* All of them, or none. */
static void read_derived(void *ordinal)
{
    for (uint32_t turn = 0; turn < 2; turn++) {
        store_group *group;
        fr_systematic_check(store_read(store_bed.world, 0, store_bed.all,
                                       *(const uint64_t *)ordinal, &group) == OVSTAGE_OK,
                            "a read failed");
        const store_row *first = group ? store_group_row(group, 0) : NULL;
        for (uint32_t k = 0; first && k < STORE_BED_PRIMS; k++) {
            const store_row *row = store_group_row(group, k);
            fr_systematic_check(row && store_row_is_whole(row) && row->value == first->value,
                                "a reader got some of what was derived");
        }
        if (group)
            store_group_release(store_bed.world, group);
    }
}

static void derive_all(void *ordinal)
{
    uint64_t at = *(const uint64_t *)ordinal;
    fr_systematic_check(store_derive(store_bed.world, 0, store_bed.all, at, 7) == OVSTAGE_OK,
                        "nothing was derived");
    fr_systematic_check(store_derive(store_bed.world, 0, store_bed.all, at, 8) == OVSTAGE_OK,
                        "nothing was derived");
}

/* Rows of two segments; late at 2, and then at the same ordinal again. */
void body_store_derived(void *unused)
{
    (void)unused;
    static uint64_t two = 2;
    fr_os_thread reader, deriver;
    store_bed_set_up(2);
    store_query *query = store_query_create(store_bed.world, store_bed_prims, STORE_BED_PRIMS / 2);
    store_query *others = store_query_create(store_bed.world, store_bed_prims + STORE_BED_PRIMS / 2,
                                             STORE_BED_PRIMS / 2);
    store_bed_write(0, query, 1);
    (void)store_world_seal(store_bed.world, 1);
    store_bed_write(0, others, 2);
    store_bed_write(0, query, 9); /* is not sealed: keeps those keys apart from the others */
    (void)store_world_seal(store_bed.world, 3);
    (void)fr_os_current->thread_start(&reader, read_derived, &two, "reader");
    (void)fr_os_current->thread_start(&deriver, derive_all, &two, "deriver");
    fr_os_current->thread_join(&reader);
    fr_os_current->thread_join(&deriver);
    read_derived(&two);
    store_query_destroy(store_bed.world, others);
    store_query_destroy(store_bed.world, query);
    store_bed_take_down();
}
