/* The dictionary's inside, for C++ bodies. */
#ifndef FR_TESTS_UNIT_DICTIONARY_CASES_H
#define FR_TESTS_UNIT_DICTIONARY_CASES_H

#include <ovx/path_dictionary/path_dictionary.h>

#include <ovstage/ovstage_api/ovstage_api_types.h>

#include "tests/support/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fr_dictionary fr_dictionary;
typedef struct dictionary_list dictionary_list; /* an fr_path_list */

fr_dictionary *dictionary_open(const fr_test_heap *heap); /* NULL without memory */
void dictionary_close(fr_dictionary *dictionary);
path_dictionary_instance_t *dictionary_client(fr_dictionary *dictionary);

bool dictionary_token_known(const fr_dictionary *dictionary, ovx_token_t token);
ovx_string_t dictionary_token_text(const fr_dictionary *dictionary, ovx_token_t token);
ovstage_api_status_t dictionary_token_intern(fr_dictionary *dictionary, ovx_string_t text,
                                             ovx_token_t *out);
bool dictionary_path_known(const fr_dictionary *dictionary, ovx_primpath_t path);
ovx_string_t dictionary_path_text(const fr_dictionary *dictionary, ovx_primpath_t path);
ovx_primpath_t dictionary_path_parent(const fr_dictionary *dictionary, ovx_primpath_t path);
ovx_primpath_t dictionary_path_child(const fr_dictionary *dictionary, ovx_primpath_t path);
ovx_primpath_t dictionary_path_sibling(const fr_dictionary *dictionary, ovx_primpath_t path);
ovx_primpath_t dictionary_path_next(const fr_dictionary *dictionary, ovx_primpath_t root,
                                    ovx_primpath_t path);
uint32_t dictionary_path_depth(const fr_dictionary *dictionary, ovx_primpath_t path);
ovx_token_t dictionary_path_name(const fr_dictionary *dictionary, ovx_primpath_t path);

const dictionary_list *dictionary_list_acquire(fr_dictionary *dictionary,
                                               ovx_primpath_list_t handle);
void dictionary_list_release(const dictionary_list *list);
ovstage_api_status_t dictionary_list_create(fr_dictionary *dictionary, const ovx_primpath_t *paths,
                                            size_t count, const dictionary_list **out);
ovstage_api_status_t dictionary_list_share(fr_dictionary *dictionary, const dictionary_list *list,
                                           const dictionary_list **out);
ovx_primpath_list_t dictionary_list_handle(const dictionary_list *list);
size_t dictionary_list_count(const dictionary_list *list);
const ovx_primpath_t *dictionary_list_paths(const dictionary_list *list);

/* Lets the numbers run out early: what is known stays, `more` new ones are left of each kind. */
void dictionary_limit(fr_dictionary *dictionary, uint32_t more_tokens, uint32_t more_paths,
                      uint32_t more_lists);
/* As if the slot of a list that is not live had been used until its last generation. */
void dictionary_wear_out(fr_dictionary *dictionary, ovx_primpath_list_t handle);
uint64_t dictionary_generation_of(ovx_primpath_list_t handle);

uint32_t dictionary_hash(const char *text, size_t length);

/* What each of several threads does at the same time, once all are there; answers the number of
 * things that went wrong. Nothing but relaxed accesses joins the threads, so that only the
 * dictionary's own order hands anything on. */
typedef struct dictionary_meeting dictionary_meeting;
dictionary_meeting *dictionary_meeting_create(uint32_t threads);
void dictionary_meeting_destroy(dictionary_meeting *meeting);

/* Interns count texts, each in an order of its own, into paths, and looks for each in the walk from
 * its parent. */
uint32_t dictionary_thread_interns(fr_dictionary *dictionary, dictionary_meeting *meeting,
                                   uint32_t thread, const ovx_string_t *texts, uint32_t count,
                                   ovx_primpath_t *paths);
/* Makes lists of the first 1, 2 or 3 of three paths, shows their handles to the others, and uses
 * what the others show, which may be gone. */
uint32_t dictionary_thread_lists(fr_dictionary *dictionary, dictionary_meeting *meeting,
                                 uint32_t thread, const ovx_primpath_t *paths, uint32_t rounds);

#ifdef __cplusplus
}
#endif

#endif
