/* Handles of the path dictionary, the result type of its functions and small helpers for text. */
#ifndef OVX_TYPES_H
#define OVX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ovx/string_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An interned prim path. Equal paths have equal handles as long as the dictionary lives (R157). */
typedef uint64_t ovx_primpath_t;

/* A counted reference to an immutable list of prim paths; every creation makes a new handle (R159).
 */
typedef uint64_t ovx_primpath_list_t;

/* The value of each kind that names nothing. */
#define OVX_INVALID_TOKEN ((ovx_token_t)0)
#define OVX_INVALID_PRIMPATH ((ovx_primpath_t)0)
#define OVX_INVALID_PRIMPATH_LIST ((ovx_primpath_list_t)0)

/* A prim path given either way: a path handle that is not 0 wins. */
typedef struct ovx_string_or_prim_path_t {
    ovx_primpath_t path;
    ovx_string_t string;
} ovx_string_or_prim_path_t;

typedef enum ovx_api_status_t { OVX_API_SUCCESS = 0, OVX_API_ERROR = 1 } ovx_api_status_t;

/* What a function of the path dictionary answers. `error` is {NULL, 0} after a success; after an
 * error it is a text that the caller gives back once with release_error (R164). */
typedef struct ovx_api_result_t {
    ovx_api_status_t status;
    ovx_string_t error;
} ovx_api_result_t;

/* An ovx_string_t from a string literal, without its NUL. Anything else than a literal does not
 * compile: the empty literals around it join only with literals. The text has static lifetime. */
#ifdef __cplusplus
#define literal_to_ovx_string(lit) \
    ovx_string_t \
    { \
        "" lit "", sizeof("" lit "") - 1u \
    }
#else
#define literal_to_ovx_string(lit) ((ovx_string_t){"" lit "", sizeof("" lit "") - 1u})
#endif

/* True for NULL, for a NULL pointer inside and for length 0. */
static inline bool is_ovx_string_empty(const ovx_string_t *string)
{
    return string == NULL || string->ptr == NULL || string->length == 0;
}

#ifdef __cplusplus
}
#endif

#endif
