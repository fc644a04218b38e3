#ifndef FR_TESTS_STRESS_DEQUE_CASES_H
#define FR_TESTS_STRESS_DEQUE_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

/* NULL, or what does not hold. */
const char *stress_smoke(void);
const char *stress_steal_while_push(void);
const char *stress_growth(void);
const char *stress_stampede(void);
const char *stress_exactly_once(void);
const char *stress_no_starvation(void);
const char *stress_intake(void);

#ifdef __cplusplus
}
#endif

#endif
