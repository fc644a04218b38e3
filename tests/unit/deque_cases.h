#ifndef FR_TESTS_UNIT_DEQUE_CASES_H
#define FR_TESTS_UNIT_DEQUE_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

/* NULL, or what does not hold. */
const char *deque_ends(void);
const char *deque_growth(void);
const char *deque_batches(void);
const char *deque_without_memory(void);
const char *deque_memory_bound(void);

const char *intake_order(void);
const char *intake_sort(void);

#ifdef __cplusplus
}
#endif

#endif
