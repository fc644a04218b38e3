/* Path texts and their elements. A path is interned by its canonical text: a slash before each
 * element and none behind, the root being "/". */
#ifndef FR_RUNTIME_DICTIONARY_PATHS_H
#define FR_RUNTIME_DICTIONARY_PATHS_H

#include "runtime/dictionary/intern.h"

/* A path's ancestors are interned with it, each with its whole text, so its length and its depth
 * are bounded: otherwise a text of a megabyte could cost a hundred gigabytes. */
#define FR_PATH_LIMIT_BYTES 65535u
#define FR_PATH_LIMIT_DEPTH 1024u
#define FR_TOKEN_LIMIT_BYTES ((1u << 30) - 1)

#define FR_PATH_ROOT 1u

typedef struct fr_paths {
    fr_intern tokens;
    fr_intern paths;
} fr_paths;

/* All zero is a fine start. False without memory. Destroy also after a failed init. */
bool fr_paths_init(fr_paths *paths, const fr_allocator *allocator);
void fr_paths_destroy(fr_paths *paths);

bool fr_paths_token(fr_paths *paths, ovx_string_t text, uint32_t *out, fr_fault *fault);

/* Any text that stands for a path: the leading slash may be missing, slashes may be doubled or
 * trail (D18). */
bool fr_paths_path(fr_paths *paths, ovx_string_t text, uint32_t *out, fr_fault *fault);

/* The path of these elements, none of them for the root. */
bool fr_paths_path_of_tokens(fr_paths *paths, const ovx_token_t *tokens, size_t count,
                             uint32_t *out, fr_fault *fault);

/* The path of a known one's elements and one more, which is a known token and an element of some
 * path. */
bool fr_paths_below(fr_paths *paths, uint32_t parent, uint32_t token, uint32_t *out,
                    fr_fault *fault);

#endif
