/* Bodies for the pool: pushing, sleeping, stealing, lending, jobs. */
#ifndef FR_TESTS_SYSTEMATIC_POOL_CASES_H
#define FR_TESTS_SYSTEMATIC_POOL_CASES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pool_shape {
    uint32_t workers;
    uint32_t pushers; /* threads that push, besides the body itself; at most 3 */
    uint32_t tokens;  /* of each pusher; at most 8 */
    uint32_t rounds;  /* push all, wait for all */
} pool_shape;

void body_push_and_wait(void *shape);
/* A token pushes another one from its worker, and does not end before that one has begun: two
 * workers are needed. */
void body_two_meet(void *shape);
/* The same, pushed by two threads from outside. */
void body_two_meet_from_outside(void *shape);
/* The same, among tokens that are found to be without work. */
void body_two_meet_without_work(void *shape);
/* Threads are lent and leave again while tokens run and are pushed; a last one sleeps until it is
 * stopped. */
void body_lend(void *shape);
/* Destroy, with and without a start before, with sleeping and with searching workers. */
void body_create_and_destroy(void *shape);

typedef struct job_shape {
    uint32_t workers;
    uint32_t chunks;
    uint32_t rounds;  /* jobs one after the other in the same memory, each begun as soon as the one
                         before was released */
    uint32_t helpers; /* threads that help whatever job is there; at most 2 */
} job_shape;

void body_jobs(void *shape);

#ifdef __cplusplus
}
#endif

#endif
