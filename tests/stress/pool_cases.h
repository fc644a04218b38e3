#ifndef FR_TESTS_STRESS_POOL_CASES_H
#define FR_TESTS_STRESS_POOL_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

/* NULL, or what does not hold. */
const char *stress_burst(void);
const char *stress_push_and_wait(void);
const char *stress_push_and_wait_asleep(void);
const char *stress_tree(void);
const char *stress_lent(void);
const char *stress_lives(void);
const char *stress_jobs(void);

#ifdef __cplusplus
}
#endif

#endif
