/* Results of the dictionary's functions. An error's text is a copy on the heap, which the client
 * gives back; where there is none to be had, a static text. */
#ifndef FR_RUNTIME_DICTIONARY_ERRORS_H
#define FR_RUNTIME_DICTIONARY_ERRORS_H

#include "runtime/dictionary/fault.h"
#include "scheduler/memory.h"

ovx_api_result_t fr_result_success(void);

/* NULL for the allocator: a static text that says that there is no dictionary. */
ovx_api_result_t fr_result_error(const fr_allocator *allocator, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "name[position] " and what the fault says; "out of memory" for that. */
ovx_api_result_t fr_result_fault(const fr_allocator *allocator, const char *name, size_t position,
                                 const fr_fault *fault);

/* Of a text that came with an error, static ones and {NULL, 0} included. */
void fr_result_release(const fr_allocator *allocator, ovx_string_t error);

#endif
