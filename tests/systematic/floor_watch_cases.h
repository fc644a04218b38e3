/* Bodies for those who want to be told when a floor is reached. */
#ifndef FR_TESTS_SYSTEMATIC_FLOOR_WATCH_CASES_H
#define FR_TESTS_SYSTEMATIC_FLOOR_WATCH_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

/* One publishes floors, others look out for each of them: all are told, each once. */
void body_watches(void *unused);
/* The same, and some do not want to know any more: they are told, or let go. */
void body_watches_forgotten(void *unused);

#ifdef __cplusplus
}
#endif

#endif
