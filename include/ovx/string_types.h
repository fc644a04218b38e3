/* Text and interned text, as they cross the interface. */
#ifndef OVX_STRING_TYPES_H
#define OVX_STRING_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* UTF-8 text as pointer and byte count. What a caller passes in need not end with a NUL and is
 * compared by length and bytes; NULL with a length is invalid. What the library hands out ends with
 * a NUL at ptr[length] if it is not empty (R26). */
typedef struct ovx_string_t {
    const char *ptr;
    size_t length; /* bytes, without a NUL */
} ovx_string_t;

/* A text interned in the path dictionary. Equal texts have equal tokens as long as the dictionary
 * lives (R157). 0 is no token; where a value is expected it stands for the empty text. */
typedef uint64_t ovx_token_t;

/* A name given either way: a token that is not 0 wins, and the text is then not looked at.
 * Initialized in this order: { token, { ptr, length } }. */
typedef struct ovx_string_or_token_t {
    ovx_token_t token;
    ovx_string_t string;
} ovx_string_or_token_t;

#ifdef __cplusplus
}
#endif

#endif
