/* What an op that is parked says that it waits for. A text says what is wrong, or NULL. */
#ifndef FR_TESTS_UNIT_PARKED_CASES_H
#define FR_TESTS_UNIT_PARKED_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

/* A write whose payload has been let go of. */
const char *parked_case_a_write_reads_nothing(void);

#ifdef __cplusplus
}
#endif

#endif
