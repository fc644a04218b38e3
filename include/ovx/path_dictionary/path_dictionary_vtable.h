/* The twelve functions of the path dictionary.
 *
 * The dictionary interns attribute names and other texts as tokens and prim paths as path handles,
 * and keeps lists of paths. Tokens and paths live as long as the dictionary and are never freed
 * singly; equal input gives equal handles, and a success never gives 0 (R157). Lists are immutable
 * and counted (R159). All instances of a process share one dictionary, which goes with the last of
 * them (R167).
 *
 * Threads: every function may be called from any thread at any time while an instance lives (R165).
 * All are synchronous.
 *
 * Errors: OVX_API_ERROR with a text that names the value and the limit; give the text back with
 * release_error. A function that fails has changed none of the caller's buffers, unless it says
 * otherwise. Texts that were valid and came before the bad one in an array may stay interned. A
 * NULL array with a count, a NULL out pointer or a NULL context: OVX_API_ERROR.
 *
 * (R.., D.. and L.. are the numbers of the contract's rules; tests are named after them.) */
#ifndef PATH_DICTIONARY_VTABLE_H
#define PATH_DICTIONARY_VTABLE_H

#include "path_dictionary_types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct path_dictionary_vtable_t {
    /* Interns n texts. out: n tokens, in order. Any bytes but NUL; an empty text or one with a NUL
     * in it is an error (R158). The texts are copied. n = 0 does nothing. */
    ovx_api_result_t (*create_tokens_from_strings)(path_dictionary_context_t *context,
                                                   const ovx_string_t *strings, size_t n,
                                                   ovx_token_t *out);

    /* Interns num_paths paths given by their elements from the root down. tokens_per_path:
     * num_paths counts; concatenated: as many tokens as they add up to, path after path. A count of
     * 0 is the root path. out: num_paths path handles. An unknown token, or one whose text cannot
     * be a path element (it has a slash, or is . or ..), is an error (D18). */
    ovx_api_result_t (*create_paths_from_tokens)(path_dictionary_context_t *context,
                                                 const ovx_token_t *concatenated,
                                                 const size_t *tokens_per_path, size_t num_paths,
                                                 ovx_primpath_t *out);

    /* Interns n path texts, out: n path handles. "/" is the root (R162). A text without a leading
     * slash gets one; doubled and trailing slashes are folded; an element . or .. is an error
     * (D18), as is an empty text or a NUL in it (R158). */
    ovx_api_result_t (*create_paths_from_strings)(path_dictionary_context_t *context,
                                                  const ovx_string_t *strings, size_t n,
                                                  ovx_primpath_t *out);

    /* Makes a list of n paths in the given order; a path may occur more than once. out: a new
     * handle with one reference, which the caller gives back with release_path_list_reference. n =
     * 0, also with NULL, makes an empty list (R158). The array is copied. An unknown path is an
     * error (D18). */
    ovx_api_result_t (*create_path_list_from_paths)(path_dictionary_context_t *context,
                                                    const ovx_primpath_t *paths, size_t n,
                                                    ovx_primpath_list_t *out);

    /* The same from path texts, which are interned as by create_paths_from_strings. */
    ovx_api_result_t (*create_path_list_from_strings)(path_dictionary_context_t *context,
                                                      const ovx_string_t *strings, size_t n,
                                                      ovx_primpath_list_t *out);

    /* Adds a reference. 0 is a success and does nothing; any other unknown handle is an error
     * (R159). */
    ovx_api_result_t (*add_path_list_reference)(path_dictionary_context_t *context,
                                                ovx_primpath_list_t list);

    /* Gives one reference back; with the last one the handle is unknown for ever. 0 is a success
     * and does nothing (R159). The list's paths stay valid (R163). */
    ovx_api_result_t (*release_path_list_reference)(path_dictionary_context_t *context,
                                                    ovx_primpath_list_t list);

    /* Texts of n tokens. out: n texts that belong to the dictionary, live as long as it does and
     * are never freed by the caller. Token 0 gives the empty text (R160); another unknown token is
     * an error (D18). */
    ovx_api_result_t (*get_strings_from_tokens)(path_dictionary_context_t *context,
                                                const ovx_token_t *tokens, size_t n,
                                                ovx_string_t *out);

    /* Splits paths into tokens, as many paths from the front as the buffer holds (R161).
     * buffer: room for buffer_size tokens; may be NULL if buffer_size is 0.
     * out_tokens_per_path: num_paths pointers into buffer, where each path's tokens begin.
     * out_num_tokens_per_path: num_paths counts. out_num_paths_processed: how many paths fitted;
     * entries behind are left alone. Too small for the first path: a success with 0 processed
     * (D26), so grow the buffer and call again. The root is a processed path with 0 tokens. A path
     * that is 0 or unknown: an error, 0 processed, buffers untouched. */
    ovx_api_result_t (*get_tokens_from_paths)(path_dictionary_context_t *context,
                                              const ovx_primpath_t *paths, size_t num_paths,
                                              ovx_token_t *buffer, size_t buffer_size,
                                              ovx_token_t **out_tokens_per_path,
                                              size_t *out_num_tokens_per_path,
                                              size_t *out_num_paths_processed);

    /* How many paths a list has. An unknown handle, 0 included, is an error. */
    ovx_api_result_t (*get_num_paths_from_path_list)(path_dictionary_context_t *context,
                                                     ovx_primpath_list_t list, size_t *out);

    /* Copies up to max_paths paths from position start_offset on; *out_num says how many. At the
     * list's end: a success with 0 (D26); behind it: an error. out may be NULL if max_paths is 0.
     * The path handles outlive the list (R163). */
    ovx_api_result_t (*get_paths_from_path_list)(path_dictionary_context_t *context,
                                                 ovx_primpath_list_t list, size_t start_offset,
                                                 size_t max_paths, ovx_primpath_t *out,
                                                 size_t *out_num);

    /* Frees the text of a failed call, once. {NULL, 0} is fine. Not for texts of tokens (R164). */
    void (*release_error)(path_dictionary_context_t *context, ovx_string_t error);
};

#ifdef __cplusplus
}
#endif

#endif
