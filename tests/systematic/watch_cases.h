/* Bodies for work whose end nobody tells: as long as somebody waits or sleeps, somebody looks. */
#ifndef FR_TESTS_SYSTEMATIC_WATCH_CASES_H
#define FR_TESTS_SYSTEMATIC_WATCH_CASES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct watch_shape {
    uint32_t workers;
    uint32_t threads; /* at most 3 */
    uint32_t ops;     /* of each; at most 5 */
    uint32_t lent;    /* threads that are lent meanwhile; at most 1 */
} watch_shape;

/* All threads submit ops with reports, ops that park, and ops that wait for others inside, and wait
 * in all ways. Afterwards nobody looks any more. */
void body_watch_load(void *shape);
/* The worker is kept by an op until work is over that only a look tells of. */
void body_watch_blocked(void *shape);
/* Everybody sleeps before there is anything to look at. */
void body_watch_all_asleep(void *shape);
/* Destroyed with work outstanding, of ops that have run. */
void body_watch_destroy(void *shape);

#ifdef __cplusplus
}
#endif

#endif
