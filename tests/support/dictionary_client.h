/* The process's path dictionary without an instance, for C++ bodies. */
#ifndef FR_TESTS_SUPPORT_DICTIONARY_CLIENT_H
#define FR_TESTS_SUPPORT_DICTIONARY_CLIENT_H

#include <ovx/path_dictionary/path_dictionary.h>

#include "tests/support/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NULL without memory. Each one is closed. */
path_dictionary_instance_t *fr_test_dictionary_open(const fr_test_heap *heap);
void fr_test_dictionary_close(path_dictionary_instance_t *dictionary);

#ifdef __cplusplus
}
#endif

#endif
