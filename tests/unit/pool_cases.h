#ifndef FR_TESTS_UNIT_POOL_CASES_H
#define FR_TESTS_UNIT_POOL_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

/* NULL, or what does not hold. */
const char *pool_without_workers(void);
const char *pool_destroy_runs_tokens(void);
const char *pool_lend_some(void);
const char *pool_nothing_starves(void);
const char *pool_give_back(void);
const char *pool_lend_inside(void);
const char *pool_lend_limit(void);
const char *pool_thread_starts_fail(void);
const char *pool_no_memory(void);
const char *pool_hooks(void);
const char *pool_idle_costs_nothing(void);

const char *job_counts(void);
const char *job_released_is_left_alone(void);

#ifdef __cplusplus
}
#endif

#endif
