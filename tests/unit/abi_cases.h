/* The binary interface as facts: sizes, offsets and values, listed once and checked by a C and by a
 * C++ translation unit, whose compilers need not agree by themselves.
 * The facts are in abi_cases_facts.h. */
#ifndef FR_TESTS_UNIT_ABI_CASES_H
#define FR_TESTS_UNIT_ABI_CASES_H

#include <ovx/path_dictionary/path_dictionary.h>

#include <ovstage/ovalign.h>
#include <ovstage/ovstage.h>
#include <ovstage/ovstage_api/experimental/ovstage_placement_extension.h>

#include <stddef.h>

typedef struct abi_fact {
    const char *text;
    long long actual;
    long long expected;
} abi_fact;

/* For abi_cases_facts.h: entries of an array of abi_fact. */
#define SIZE(type, bytes) {"sizeof(" #type ")", (long long)sizeof(type), bytes},
#define AT(type, member, offset) \
    {"offsetof(" #type ", " #member ")", (long long)offsetof(type, member), offset},
#define VALUE(constant, number) {#constant, (long long)(constant), number},
#define SLOT(number, name) AT(ovstage_vtable_t, name, 8 * (number))

#ifdef __cplusplus
extern "C" {
#endif
/* The facts as the C compiler sees them. */
const abi_fact *abi_facts_of_c(size_t *count);
/* literal_to_ovx_string and the helpers, used from C. */
int abi_helpers_hold_in_c(void);
/* Calls each slot of a table through its inline function; see abi_cases_calls.c. */
int abi_wrappers_call_their_slots(void);
#ifdef __cplusplus
}
#endif

#endif
