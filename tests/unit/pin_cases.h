/* The pin word, for C++, which cannot include runtime/store/pin.h. */
#ifndef FR_TESTS_UNIT_PIN_CASES_H
#define FR_TESTS_UNIT_PIN_CASES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One word, by name of the call. */
void pin_case_init(void);
bool pin_case_take(void);
bool pin_case_drop(void);
bool pin_case_exclusive(void);
bool pin_case_exclusive_end(void);
bool pin_case_kill(void);
uint32_t pin_case_count(void);

#ifdef __cplusplus
}
#endif

#endif
