#include "tests/unit/lane_cases.h"

#include <string.h>

#include "scheduler/lane_map.h"
#include "tests/support/check.h"

static fr_lane lane;
static fr_op ops[8];

static void reset(void)
{
    memset(&lane, 0, sizeof(lane));
    memset(ops, 0, sizeof(ops));
}

static uint64_t word(void)
{
    return fr_load_relaxed(&lane.word);
}

const char *lane_join_and_drain(void)
{
    reset();
    FR_CHECK(!fr_lane_claim(&lane)); /* nothing to run */
    FR_CHECK(fr_lane_join(&lane, &ops[0], 1));
    FR_CHECK(!fr_lane_join(&lane, &ops[1], 4)); /* its token is out */
    FR_CHECK(word() == (2 * FR_LANE_ONE | FR_LANE_TOKEN) && lane.filter == 5);
    FR_CHECK(fr_load_relaxed(&lane.first) == &ops[0] &&
             fr_load_relaxed(&ops[0].place.in_lane.next) == &ops[1]);
    FR_CHECK(fr_lane_claim(&lane));
    FR_CHECK(!fr_lane_claim(&lane));
    FR_CHECK(fr_lane_take_token(&lane, false) == FR_LANE_TOKEN_NOTHING);
    fr_lane_settlement settled = fr_lane_settle(&lane, 1, &ops[0], FR_LANE_GO_ON);
    FR_CHECK(settled.word == (FR_LANE_ONE | FR_LANE_DRAINER));
    FR_CHECK(fr_load_relaxed(&lane.first) == &ops[1]);
    settled = fr_lane_settle(&lane, 1, &ops[1], FR_LANE_GO_ON);
    FR_CHECK(settled.word == FR_LANE_RETIRED); /* left: nobody holds it, it goes on the stack */
    FR_CHECK(fr_lane_join(&lane, &ops[2], 8));
    FR_CHECK(lane.filter == 8); /* the former ops' attributes are gone */
    FR_CHECK(fr_lane_take_token(&lane, true) == FR_LANE_TOKEN_KEEP);
    FR_CHECK(fr_lane_take_token(&lane, false) == FR_LANE_TOKEN_DRAIN);
    FR_CHECK(fr_load_relaxed(&lane.first) == &ops[2]);
    return NULL;
}

const char *lane_join_while_draining(void)
{
    reset();
    (void)fr_lane_join(&lane, &ops[0], 1);
    FR_CHECK(fr_lane_take_token(&lane, false) == FR_LANE_TOKEN_DRAIN);
    FR_CHECK(!fr_lane_join(&lane, &ops[1], 1)); /* its drainer will see it */
    fr_lane_settlement settled = fr_lane_settle(&lane, 1, &ops[0], FR_LANE_GO_ON);
    FR_CHECK(settled.word == (FR_LANE_ONE | FR_LANE_DRAINER));
    settled = fr_lane_settle(&lane, 0, NULL, FR_LANE_LEAVE);
    FR_CHECK(settled.word == (FR_LANE_ONE | FR_LANE_TOKEN)); /* handed on */
    FR_CHECK((settled.before & FR_LANE_TOKEN) == 0);
    FR_CHECK(fr_load_relaxed(&lane.first) == &ops[1]);
    return NULL;
}

const char *lane_blocking(void)
{
    reset();
    (void)fr_lane_join(&lane, &ops[0], 1);
    (void)fr_lane_join(&lane, &ops[1], 1);
    FR_CHECK(fr_lane_take_token(&lane, false) == FR_LANE_TOKEN_DRAIN);
    fr_lane_settlement settled = fr_lane_settle(&lane, 1, &ops[0], FR_LANE_BLOCK);
    FR_CHECK(settled.word == (FR_LANE_ONE | FR_LANE_BLOCKED));
    FR_CHECK(!fr_lane_claim(&lane));
    FR_CHECK(!fr_lane_join(&lane, &ops[2], 1)); /* the last edge will push */
    FR_CHECK((fr_lane_unblock(&lane) & FR_LANE_TOKEN) == 0);
    FR_CHECK(word() == (2 * FR_LANE_ONE | FR_LANE_TOKEN));
    FR_CHECK(fr_lane_claim(&lane));
    return NULL;
}

const char *lane_waiters(void)
{
    reset();
    FR_CHECK(!fr_lane_announce(&lane, 0)); /* nothing to wait for */
    (void)fr_lane_join(&lane, &ops[0], 1);
    FR_CHECK(!fr_lane_announce(&lane, FR_LANE_DRAINER)); /* it may be claimed instead */
    FR_CHECK(fr_lane_announce(&lane, 0));
    FR_CHECK(fr_lane_claim(&lane));
    FR_CHECK(fr_lane_announce(&lane, FR_LANE_DRAINER));
    FR_CHECK(!fr_lane_announce(&lane, FR_LANE_BLOCKED));
    fr_lane_settlement settled = fr_lane_settle(&lane, 0, NULL, FR_LANE_LEAVE);
    FR_CHECK((settled.before & FR_LANE_WAITERS) != 0 && (settled.word & FR_LANE_WAITERS) == 0);
    FR_CHECK(fr_lane_claim(&lane));
    FR_CHECK(fr_lane_announce(&lane, FR_LANE_DRAINER));
    settled = fr_lane_settle(&lane, 0, NULL, FR_LANE_BLOCK);
    FR_CHECK((settled.before & FR_LANE_WAITERS) != 0 && (settled.word & FR_LANE_WAITERS) == 0);
    FR_CHECK(fr_lane_announce(&lane, FR_LANE_BLOCKED));
    FR_CHECK((fr_lane_unblock(&lane) & FR_LANE_WAITERS) != 0);
    FR_CHECK((word() & FR_LANE_WAITERS) == 0);
    return NULL;
}

const char *lane_token_without_work(void)
{
    reset();
    (void)fr_lane_join(&lane, &ops[0], 1);
    FR_CHECK(fr_lane_claim(&lane)); /* by a waiter, while the token is out */
    fr_lane_settlement settled = fr_lane_settle(&lane, 1, &ops[0], FR_LANE_GO_ON);
    /* For the stack, though the token is still out. */
    FR_CHECK(settled.word == (FR_LANE_TOKEN | FR_LANE_RETIRED));
    FR_CHECK((settled.before & FR_LANE_RETIRED) == 0);
    FR_CHECK(fr_lane_take_token(&lane, true) == FR_LANE_TOKEN_NOTHING);
    FR_CHECK(word() == FR_LANE_RETIRED);
    /* Used again, but its op never came to it. */
    fr_store_relaxed(&lane.word, FR_LANE_TOKEN);
    FR_CHECK(fr_lane_take_token(&lane, true) == FR_LANE_TOKEN_RETIRE);
    FR_CHECK(word() == FR_LANE_RETIRED);
    return NULL;
}

/* --- the list --------------------------------------------------------------------------------- */

#define ORDINALS 500u

static fr_lane *insert(fr_lane_map *map, uint64_t ordinal)
{
    if (!fr_lane_map_has_free(map))
        fr_lane_map_add(map, fr_lane_memory_allocate(&fr_allocator_default, NULL, NULL));
    return fr_lane_map_insert(map, ordinal);
}

static const char *check_list(const fr_lane_map *map, uint64_t count)
{
    uint64_t last = 0, seen = 0;
    for (const fr_lane *at = fr_lane_map_first(map); at; at = fr_lane_map_after(at)) {
        FR_CHECK(at->ordinal > last);
        last = at->ordinal;
        seen++;
    }
    FR_CHECK(seen == count && map->lanes_open == count);
    FR_CHECK(map->tails[0] ? map->tails[0]->ordinal == last : count == 0);
    return NULL;
}

const char *lane_map_order(void)
{
    fr_lane_map map;
    memset(&map, 0, sizeof(map));
    fr_lane_map_init(&map);
    for (uint64_t k = 0; k < ORDINALS; k++) {
        uint64_t ordinal = 1 + k * 211 % ORDINALS;
        FR_CHECK(fr_lane_map_find(&map, ordinal) == NULL);
        fr_lane *made = insert(&map, ordinal);
        FR_CHECK(made->ordinal == ordinal);
        FR_CHECK(fr_lane_map_find(&map, ordinal) == made);
    }
    for (uint64_t ordinal = ORDINALS; ordinal > 0; ordinal--)
        FR_CHECK(fr_lane_map_find(&map, ordinal)->ordinal == ordinal);
    FR_CHECK(fr_lane_map_find(&map, ORDINALS + 1) == NULL);
    FR_CHECK(fr_lane_map_find(&map, 0) == NULL);
    const char *wrong = check_list(&map, ORDINALS);
    fr_lane_map_destroy(&map, &fr_allocator_default);
    return wrong;
}

static void make_idle(fr_lane_map *map, fr_lane *idle)
{
    fr_store_relaxed(&idle->word, FR_LANE_RETIRED);
    fr_lane_map_retire(map, idle);
}

const char *lane_map_reuse(void)
{
    fr_lane_map map;
    memset(&map, 0, sizeof(map));
    fr_lane_map_init(&map);
    for (uint64_t ordinal = 1; ordinal <= ORDINALS; ordinal++)
        (void)insert(&map, ordinal);
    /* All but every fifth become idle, from the middle on; some of them are used again before. */
    for (uint64_t k = 0; k < ORDINALS; k++) {
        uint64_t ordinal = 1 + (k * 211 + 250) % ORDINALS;
        if (ordinal % 5 != 0)
            make_idle(&map, fr_lane_map_find(&map, ordinal));
    }
    for (uint64_t ordinal = 7; ordinal <= ORDINALS; ordinal += 35)
        if (ordinal % 5 != 0)
            (void)fr_lane_join(fr_lane_map_find(&map, ordinal), &ops[0], 1);
    uint64_t used = 0;
    for (uint64_t ordinal = 7; ordinal <= ORDINALS; ordinal += 35)
        used += ordinal % 5 != 0;
    fr_lane_map_reuse(&map, 10);
    FR_CHECK(map.lanes_open >= ORDINALS - 10 && map.lanes_open < ORDINALS);
    fr_lane_map_reuse(&map, ORDINALS);
    FR_CHECK(!map.retiring);
    const char *wrong = check_list(&map, ORDINALS / 5 + used);
    for (uint64_t ordinal = 1; !wrong && ordinal <= ORDINALS; ordinal++) {
        bool stays = ordinal % 5 == 0 || ordinal % 35 == 7;
        FR_CHECK((fr_lane_map_find(&map, ordinal) != NULL) == stays);
    }
    fr_lane_map_destroy(&map, &fr_allocator_default);
    return wrong;
}

/* Lanes whose tokens nobody has come to are used again, and their tokens are those of the new
 * ordinals. */
const char *lane_map_reuse_before_token(void)
{
    fr_lane_map map;
    memset(&map, 0, sizeof(map));
    fr_lane_map_init(&map);
    fr_lane *first = NULL;
    for (uint64_t ordinal = 1; ordinal <= ORDINALS; ordinal++) {
        fr_lane *used = insert(&map, ordinal);
        bool pushes = fr_lane_join(used, &ops[0], 1);
        if (!first) {
            FR_CHECK(pushes && used->token.order == 1);
            first = used;
        }
        FR_CHECK(used == first && pushes == (ordinal == 1));
        FR_CHECK(fr_lane_claim(used));
        fr_lane_settlement settled = fr_lane_settle(used, 1, &ops[0], FR_LANE_GO_ON);
        FR_CHECK(settled.word == (FR_LANE_TOKEN | FR_LANE_RETIRED));
        fr_lane_map_retire(&map, used);
        fr_lane_map_reuse(&map, 4);
        FR_CHECK(map.lanes_open == 0 && map.free_lanes == used);
    }
    /* Free, and its token is taken: it stays free. */
    FR_CHECK(fr_lane_take_token(first, false) == FR_LANE_TOKEN_NOTHING);
    FR_CHECK(fr_load_relaxed(&first->word) == FR_LANE_RETIRED);
    /* Taken into use, and its token is taken before it has an op: it goes on the stack in use. */
    fr_store_relaxed(&first->word, FR_LANE_RETIRED | FR_LANE_TOKEN);
    FR_CHECK(fr_lane_map_insert(&map, 7) == first);
    FR_CHECK(fr_lane_take_token(first, false) == FR_LANE_TOKEN_RETIRE);
    fr_lane_map_retire(&map, first);
    FR_CHECK(fr_lane_join(first, &ops[0], 1) && first->token.order == 7);
    fr_lane_map_reuse(&map, 4);
    FR_CHECK(map.lanes_open == 1 && fr_lane_map_find(&map, 7) == first);
    FR_CHECK(!fr_lane_map_drop_idle(&map, first));
    fr_lane_map_destroy(&map, &fr_allocator_default);
    return NULL;
}
