#ifndef FR_TESTS_UNIT_MEMORY_CASES_H
#define FR_TESTS_UNIT_MEMORY_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

/* NULL, or what does not hold. */
const char *memory_allocates(void);
const char *memory_grows(void);
const char *memory_fails(void);

#ifdef __cplusplus
}
#endif

#endif
