#ifndef FR_TESTS_UNIT_IDLE_CASES_H
#define FR_TESTS_UNIT_IDLE_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

/* NULL, or what does not hold. Each runs on a table of the operating system that counts wakes. */
const char *idle_burst(void);
const char *idle_search_limit(void);
const char *idle_cancel(void);
const char *idle_last_searcher(void);
const char *idle_counts(void);

#ifdef __cplusplus
}
#endif

#endif
