/* The path dictionary: names and prim paths as numbers, and lists of paths. One for the process,
 * shared by its instances: the first to acquire it makes it, the last to release it destroys it
 * (R167).
 *
 * A token is a dense number from 1; so is a prim path, and the store uses a path's number as the
 * prim's index: both fit into 32 bits. Path 1 is the root. Whoever has a path has its ancestors
 * too: they are interned with it. Tokens, paths and their texts live as long as the dictionary.
 *
 * Threads: everything from any thread, at any time between acquire and release.
 * Progress: what takes a number or a handle is lock-free; looking a known text up is lock-free;
 * a new text takes one short lock, under which nothing is allocated.
 * Memory bound: grows with the texts interned, never shrinks. A path costs its text, 32 bytes and
 * 11 to 43 bytes of index. Free list arrays are kept up to FR_LIST_RETAINED_BYTES. */
#ifndef FR_RUNTIME_DICTIONARY_DICTIONARY_H
#define FR_RUNTIME_DICTIONARY_DICTIONARY_H

#include <ovstage/ovstage_api/ovstage_api_types.h>

#include "runtime/dictionary/fault.h"
#include "scheduler/memory.h"

typedef struct fr_dictionary fr_dictionary;

/* An immutable list of paths. */
typedef struct fr_path_list {
    const ovx_primpath_t *paths; /* count paths; NULL when there are none */
    size_t count;
    ovx_primpath_list_t handle; /* what clients call it */
} fr_path_list;

/* The process's dictionary, with a reference. NULL without memory. The allocator is copied by the
 * first; its hooks and its user must serve until the last reference of any instance is released. */
fr_dictionary *fr_dictionary_acquire(const fr_allocator *allocator);
void fr_dictionary_release(fr_dictionary *dictionary); /* NULL is fine */

/* What clients get: the table of twelve functions over this dictionary. */
path_dictionary_instance_t *fr_dictionary_instance(fr_dictionary *dictionary);

/* ---- Tokens ---- */

bool fr_dictionary_token_known(const fr_dictionary *dictionary, ovx_token_t token); /* 0 is not */
/* The token with this text; 0 when it is not known. Interns nothing. */
ovx_token_t fr_dictionary_token_find(const fr_dictionary *dictionary, ovx_string_t text);
/* {NULL, 0} for a token that is not known. */
ovx_string_t fr_dictionary_token_text(const fr_dictionary *dictionary, ovx_token_t token);
/* INVALID_ARGUMENT: empty, longer than 1 GiB, a NUL in it, or NULL with a length. OUT_OF_MEMORY: no
 * memory or no more numbers. *out is 0 unless OK. Sets no error text. */
ovstage_api_status_t fr_dictionary_token_intern(fr_dictionary *dictionary, ovx_string_t text,
                                                ovx_token_t *out);

/* ---- Paths ---- */

/* Paths that are known: numbers 1 to that. */
uint32_t fr_dictionary_path_count(const fr_dictionary *dictionary);
bool fr_dictionary_path_known(const fr_dictionary *dictionary, ovx_primpath_t path); /* 0 is not */
/* The path with this canonical text, byte for byte; 0 when it is not known. Interns nothing. */
ovx_primpath_t fr_dictionary_path_find(const fr_dictionary *dictionary, ovx_string_t text);
/* A text that stands for a path (D18). False with *fault set: as the client's functions. */
bool fr_dictionary_path_intern(fr_dictionary *dictionary, ovx_string_t text, ovx_primpath_t *out,
                               fr_fault *fault);
/* The path of one more element, of which both are known. */
bool fr_dictionary_path_below(fr_dictionary *dictionary, ovx_primpath_t parent, ovx_token_t name,
                              ovx_primpath_t *out, fr_fault *fault);
/* The canonical text; {NULL, 0} for a path that is not known. */
ovx_string_t fr_dictionary_path_text(const fr_dictionary *dictionary, ovx_primpath_t path);
/* 0 for the root and for a path that is not known. */
ovx_primpath_t fr_dictionary_path_parent(const fr_dictionary *dictionary, ovx_primpath_t path);

/* The children of a path by its text, known so far, the newest first: whether prims exist there is
 * a question to the store. A walk sees each child that was known when it began, perhaps later ones.
 * 0: there is none, or the path is not known. Lock-free; a step is constant time. */
ovx_primpath_t fr_dictionary_path_child(const fr_dictionary *dictionary, ovx_primpath_t path);
ovx_primpath_t fr_dictionary_path_sibling(const fr_dictionary *dictionary, ovx_primpath_t path);
/* The known path after `path` in a walk through `root` and all below it, each before its children,
 * that begins with the root; 0: that was the last one. No memory, and no bound on the depth. */
ovx_primpath_t fr_dictionary_path_next(const fr_dictionary *dictionary, ovx_primpath_t root,
                                       ovx_primpath_t path);
/* The number of elements; 0 for the root and for a path that is not known. */
uint32_t fr_dictionary_path_depth(const fr_dictionary *dictionary, ovx_primpath_t path);
/* The path's last element; 0 for the root and for a path that is not known. */
ovx_token_t fr_dictionary_path_name(const fr_dictionary *dictionary, ovx_primpath_t path);

/* ---- Lists ---- */

/* The list behind a client's handle, with a reference of the library's own: clients cannot release
 * it, however often they try. NULL for 0 and for a handle that is not live. Lock-free. */
const fr_path_list *fr_dictionary_list_acquire(fr_dictionary *dictionary,
                                               ovx_primpath_list_t handle);
/* Gives a reference of acquire, create or share back. NULL is fine. */
void fr_dictionary_list_release(const fr_path_list *list);
/* A new list with a handle of its own and one reference of the library's. Clients may add
 * references to the handle, and it then outlives this one. INVALID_ARGUMENT: an unknown path.
 * OUT_OF_MEMORY: no memory or no more handles. *out is NULL unless OK. Sets no error text. */
ovstage_api_status_t fr_dictionary_list_create_from_paths(fr_dictionary *dictionary,
                                                          const ovx_primpath_t *paths, size_t count,
                                                          const fr_path_list **out);
/* The same with the paths of another list, which are not copied: constant time. For a query made
 * from a client's list, whose groups name a handle of the query's own (R45). */
ovstage_api_status_t fr_dictionary_list_share(fr_dictionary *dictionary, const fr_path_list *list,
                                              const fr_path_list **out);

#endif
