/* Cases over runtime/store/attributes.h, which C++ cannot include. */
#ifndef FR_TESTS_UNIT_ATTRIBUTES_CASES_H
#define FR_TESTS_UNIT_ATTRIBUTES_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fr_allocator;
typedef struct fr_attributes fr_attributes;
typedef struct fr_attribute fr_attribute;

fr_attributes *attributes_case_open(const struct fr_allocator *allocator, uint64_t alias_from,
                                    uint64_t alias_to);
void attributes_case_close(fr_attributes *attributes);
fr_attribute *attributes_case_find(const fr_attributes *attributes, uint64_t token);
fr_attribute *attributes_case_enter(fr_attributes *attributes, uint64_t token);
fr_attribute *attributes_case_at(const fr_attributes *attributes, uint32_t index);
uint32_t attributes_case_count(const fr_attributes *attributes);
size_t attributes_case_bytes(const fr_attributes *attributes);
uint64_t attributes_case_token(const fr_attribute *attribute);
uint32_t attributes_case_index(const fr_attribute *attribute);
/* Whether everything else in it is zero. */
bool attributes_case_is_fresh(const fr_attribute *attribute);

#ifdef __cplusplus
}
#endif

#endif
