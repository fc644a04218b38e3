/* Checks of texts before they are interned. */
#ifndef PATH_DICTIONARY_HELPER_H
#define PATH_DICTIONARY_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "path_dictionary_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* True if one of the text's length bytes is NUL. False for NULL, for a NULL pointer inside and for
 * an empty text. */
static inline bool ovx_string_contains_embedded_nul(const ovx_string_t *string)
{
    if (string == NULL || string->ptr == NULL || string->length == 0)
        return false;
    return memchr(string->ptr, '\0', string->length) != NULL;
}

/* True if the text claims a length but points nowhere, which is invalid everywhere (R26). False for
 * NULL. */
static inline bool ovx_string_has_null_data(const ovx_string_t *string)
{
    return string != NULL && string->ptr == NULL && string->length != 0;
}

#ifdef __cplusplus
}
#endif

#endif
