/* Work whose end nobody tells, under load: threads submit ops with reports and ops that park, and
 * wait in all ways. */
#ifndef FR_TESTS_STRESS_WATCH_CASES_H
#define FR_TESTS_STRESS_WATCH_CASES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct watch_load {
    uint32_t workers;
    uint32_t threads; /* at most 4 */
    uint32_t rounds;
    uint64_t seed;
} watch_load;

/* NULL, or the text of the first check that does not hold. */
const char *watch_run(const watch_load *load);

#ifdef __cplusplus
}
#endif

#endif
