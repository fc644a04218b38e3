/* Cases over runtime/api/handles.h, which C++ cannot include. */
#ifndef FR_TESTS_UNIT_HANDLES_CASES_H
#define FR_TESTS_UNIT_HANDLES_CASES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fr_test_heap fr_test_heap;
typedef struct fr_handles_case fr_handles_case;

/* NULL without memory. */
fr_handles_case *handles_case_open(fr_test_heap *heap, uint32_t instance_number);
/* Returns how many handles were live. */
uint64_t handles_case_close(fr_handles_case *it);

uint64_t handles_case_add(fr_handles_case *it, int kind, void *object);
uint64_t handles_case_reserve(fr_handles_case *it, int kind);
void handles_case_publish(fr_handles_case *it, uint64_t handle, void *object);
void handles_case_cancel(fr_handles_case *it, uint64_t handle);
/* The object; NULL when it is not live. */
void *handles_case_get(fr_handles_case *it, int kind, uint64_t handle);
void *handles_case_take(fr_handles_case *it, int kind, uint64_t handle);
const char *handles_case_why_not(const fr_handles_case *it, int kind, uint64_t handle);

/* One thread adds and takes `rounds` handles in turn and offers each to the other, which retains
 * its object again and again: returns how often a retained object had been taken already, or
 * belonged to another handle. */
uint64_t handles_case_race(fr_handles_case *it, uint32_t rounds);

#ifdef __cplusplus
}
#endif

#endif
