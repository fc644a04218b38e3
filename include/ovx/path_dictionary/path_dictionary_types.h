/* The path dictionary as an object: a function table and a context. The functions themselves need
 * path_dictionary.h. */
#ifndef PATH_DICTIONARY_TYPES_H
#define PATH_DICTIONARY_TYPES_H

#include "../types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct path_dictionary_context_t path_dictionary_context_t;
typedef struct path_dictionary_vtable_t path_dictionary_vtable_t;

/* Handed out by ovstage_get_path_dictionary and owned by the library. Valid while an instance lives
 * (R166, R167). */
typedef struct path_dictionary_instance_t {
    path_dictionary_vtable_t *vtable;
    path_dictionary_context_t *context;
} path_dictionary_instance_t;

#ifdef __cplusplus
}
#endif

#endif
