/* The dictionary's parts, for the files of this folder and for its tests. */
#ifndef FR_RUNTIME_DICTIONARY_STATE_H
#define FR_RUNTIME_DICTIONARY_STATE_H

#include "runtime/dictionary/dictionary.h"
#include "runtime/dictionary/lists.h"
#include "runtime/dictionary/paths.h"

struct fr_dictionary {
    fr_paths paths;
    fr_lists lists;
    fr_allocator allocator;
    path_dictionary_instance_t instance; /* handed to clients; its context is the dictionary */
    uint64_t references;                 /* instances; under the process's lock */
};

/* A new list of known paths, with one reference: a client's, or the library's. NULL with *fault
 * set; for an unknown path it holds its value, and *position its place. */
const fr_path_list *fr_dictionary_list_open(fr_dictionary *dictionary, const ovx_primpath_t *paths,
                                            size_t count, bool client, size_t *position,
                                            fr_fault *fault);

/* table.c: the twelve functions; the context is the dictionary. */
extern const path_dictionary_vtable_t fr_dictionary_table;

#endif
