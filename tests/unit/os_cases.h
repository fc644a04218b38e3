#ifndef FR_TESTS_UNIT_OS_CASES_H
#define FR_TESTS_UNIT_OS_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

/* NULL, or what does not hold. */
const char *os_futex(void);
const char *os_threads(void);
const char *os_clock(void);
const char *os_mutex(void);
const char *os_pin(void);

/* group_list and mount_root as in scheduler/cpu_count.h. */
unsigned cpu_quota(const char *group_list, const char *mount_root);
/* What fr_os_linux answers on a thread that may run on so many CPUs; 0 when the mask cannot be set.
 */
unsigned cpu_count_with_mask(unsigned cpus);

#ifdef __cplusplus
}
#endif

#endif
