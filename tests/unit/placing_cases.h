/* Plans of writes to a device, made by the store alone. A text says what is wrong, or NULL. */
#ifndef FR_TESTS_UNIT_PLACING_CASES_H
#define FR_TESTS_UNIT_PLACING_CASES_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes of new keys at two ordinals that are under way at once. */
const char *placing_case_two_writes(bool others, bool first_is_last);
const char *placing_case_after_one_was_given_up(void);
/* Where a column lies. */
const char *placing_case_what_is_given_up_decides_nothing(void);
const char *placing_case_what_is_written_decides(void);
/* A write of new keys, and a seal of some that were written below. */
const char *placing_case_a_seal_meanwhile(bool others);
/* A seal that makes the next state of the payload of an older one. */
const char *placing_case_a_filter_takes_an_older_state(void);

#ifdef __cplusplus
}
#endif

#endif
