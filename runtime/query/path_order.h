/* The order of paths: component by component, by their bytes (D6). Since no component has a slash
 * in it, that is the order of the texts, if a slash comes before every other byte.
 *
 * Threads: pure functions; texts of a dictionary never change. */
#ifndef FR_RUNTIME_QUERY_PATH_ORDER_H
#define FR_RUNTIME_QUERY_PATH_ORDER_H

#include "runtime/dictionary/dictionary.h"

/* Below 0, 0, above 0: as a comes before b, is b, comes behind it. */
int fr_path_compare(ovx_string_t a, ovx_string_t b);
/* Paths of the dictionary into path order; scratch has room for as many. */
void fr_paths_sort(const fr_dictionary *dictionary, uint32_t *paths, size_t count,
                   uint32_t *scratch);
/* Two of them that are in path order, into one. */
void fr_paths_join(const fr_dictionary *dictionary, const uint32_t *a, size_t a_count,
                   const uint32_t *b, size_t b_count, uint32_t *out);

#endif
