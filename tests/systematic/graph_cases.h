/* Bodies for the graph: lanes, hand-over, seals, edges, waits, the life of ids and records. */
#ifndef FR_TESTS_SYSTEMATIC_GRAPH_CASES_H
#define FR_TESTS_SYSTEMATIC_GRAPH_CASES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct graph_shape {
    uint32_t workers;
    uint32_t threads; /* at most 4 */
    uint32_t ops;     /* of each thread; at most 16 */
} graph_shape;

/* All threads submit to one ordinal, and wait for their last op. */
void body_one_lane(void *shape);
/* Who has waited for its ops finds nothing of theirs pending. */
void body_settled(void *shape);
/* An ordinal each; each thread waits for an op of the next one, so that lanes change hands. */
void body_hand_over(void *shape);
/* Threads write at ordinals of their own while others seal them. */
void body_seal(void *shape);
/* Each op needs the newest ones of the other threads. */
void body_edges(void *shape);
void body_wait_ahead(void *shape);
/* Ops wait for ops of the other lanes from inside: cycles are refused, and everything ends. */
void body_wait_inside(void *shape);
/* Ops wait for room from inside: who could never have it is refused, and everything ends. */
void body_room(void *shape);
/* A part of an op waits for room on another thread, while the op waits itself. */
void body_room_beside(void *shape);
/* What has a token already is run by waits for conditions too, wherever the token lies. */
void body_out_of_sight(void *shape);
void body_blocked_out_of_sight(void *shape);
/* Ids are released before, while and after their ops complete, and others look at them. */
void body_release(void *shape);
/* Waits for any, waits with timeouts, polls. */
void body_wait_many(void *shape);
/* Threads wait for a number of completed ops. */
void body_condition(void *shape);
/* Ops that go on by themselves, and helpers. */
void body_split(void *shape);
/* Destroy while ops run and wait. */
void body_destroy(void *shape);
/* The random load of the stress test, small. */
void body_load(void *shape);

/* Ops whose work goes on after them, and is ended by other threads; seals. graph_cases_reports.c */
void body_reports(void *shape);
/* Ops that park, and are resumed by other threads at any moment. graph_cases_parks.c */
void body_parks(void *shape);
/* An op waits inside for room that only those can make. */
void body_parks_and_room(void *shape);

#ifdef __cplusplus
}
#endif

#endif
