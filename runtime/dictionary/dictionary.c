#include "runtime/dictionary/hash.h"
#include "runtime/dictionary/state.h"

#include <string.h>

/* The process's dictionary. */
static struct {
    fr_mutex lock;
    fr_dictionary *current;   /* NULL: no instance */
    uint64_t last_generation; /* of list handles, of all dictionaries so far */
} process;

static fr_dictionary *dictionary_create(const fr_allocator *allocator)
{
    fr_dictionary *dictionary = (fr_dictionary *)fr_memory_allocate_zero(
        allocator, sizeof(fr_dictionary), FR_CACHE_LINE_BYTES);
    if (!dictionary)
        return NULL;
    dictionary->allocator = *allocator;
    dictionary->references = 1;
    /* Clients get a table that is not const and that nobody may write to. */
    dictionary->instance.vtable = (path_dictionary_vtable_t *)(uintptr_t)&fr_dictionary_table;
    dictionary->instance.context = (path_dictionary_context_t *)dictionary;
    fr_lists_init(&dictionary->lists, &dictionary->allocator, 0);
    if (fr_paths_init(&dictionary->paths, &dictionary->allocator))
        return dictionary;
    fr_paths_destroy(&dictionary->paths);
    fr_memory_release(allocator, dictionary, sizeof(fr_dictionary));
    return NULL;
}

static void dictionary_destroy(fr_dictionary *dictionary)
{
    const fr_allocator allocator = dictionary->allocator;
    fr_lists_destroy(&dictionary->lists);
    fr_paths_destroy(&dictionary->paths);
    fr_memory_release(&allocator, dictionary, sizeof(fr_dictionary));
}

/* Under the lock. */
static fr_dictionary *take_current(void)
{
    if (process.current)
        process.current->references++;
    return process.current;
}

fr_dictionary *fr_dictionary_acquire(const fr_allocator *allocator)
{
    fr_mutex_lock(&process.lock);
    fr_dictionary *dictionary = take_current();
    fr_mutex_unlock(&process.lock);
    if (dictionary)
        return dictionary;

    fr_dictionary *made = dictionary_create(allocator);
    fr_mutex_lock(&process.lock);
    dictionary = take_current();
    if (!dictionary && made) {
        /* Handles of an earlier dictionary stay unknown. Half of the generations are left to each
         * slot at least. */
        if (process.last_generation > FR_LIST_GENERATION_MAX / 2)
            process.last_generation = 0;
        fr_lists_init(&made->lists, &made->allocator, process.last_generation);
        process.current = dictionary = made;
        made = NULL;
    }
    fr_mutex_unlock(&process.lock);
    if (made)
        dictionary_destroy(made); /* somebody else's was first */
    return dictionary;
}

void fr_dictionary_release(fr_dictionary *dictionary)
{
    if (!dictionary)
        return;
    fr_mutex_lock(&process.lock);
    const bool last = --dictionary->references == 0;
    if (last) {
        process.current = NULL;
        process.last_generation = dictionary->lists.last_generation;
    }
    fr_mutex_unlock(&process.lock);
    if (last)
        dictionary_destroy(dictionary);
}

path_dictionary_instance_t *fr_dictionary_instance(fr_dictionary *dictionary)
{
    return &dictionary->instance;
}

/* ---- Tokens and paths ---- */

bool fr_dictionary_token_known(const fr_dictionary *dictionary, ovx_token_t token)
{
    return fr_intern_known(&dictionary->paths.tokens, token);
}

static uint32_t text_find(const fr_intern *intern, ovx_string_t text)
{
    return text.length > 0 ? fr_intern_find(intern, text, fr_hash_text(text.ptr, text.length)) : 0;
}

ovx_token_t fr_dictionary_token_find(const fr_dictionary *dictionary, ovx_string_t text)
{
    return text_find(&dictionary->paths.tokens, text);
}

ovx_string_t fr_dictionary_token_text(const fr_dictionary *dictionary, ovx_token_t token)
{
    return fr_intern_text(&dictionary->paths.tokens, token);
}

ovstage_api_status_t fr_dictionary_token_intern(fr_dictionary *dictionary, ovx_string_t text,
                                                ovx_token_t *out)
{
    fr_fault fault = {FR_FAULT_NONE, 0, 0};
    uint32_t number;
    (void)fr_paths_token(&dictionary->paths, text, &number, &fault);
    *out = number;
    return fr_fault_status(&fault);
}

uint32_t fr_dictionary_path_count(const fr_dictionary *dictionary)
{
    return fr_chunks_count(&dictionary->paths.paths.entries);
}

bool fr_dictionary_path_known(const fr_dictionary *dictionary, ovx_primpath_t path)
{
    return fr_intern_known(&dictionary->paths.paths, path);
}

ovx_primpath_t fr_dictionary_path_find(const fr_dictionary *dictionary, ovx_string_t text)
{
    return text_find(&dictionary->paths.paths, text);
}

ovx_string_t fr_dictionary_path_text(const fr_dictionary *dictionary, ovx_primpath_t path)
{
    return fr_intern_text(&dictionary->paths.paths, path);
}

ovx_primpath_t fr_dictionary_path_parent(const fr_dictionary *dictionary, ovx_primpath_t path)
{
    const fr_intern *paths = &dictionary->paths.paths;
    return fr_intern_known(paths, path) ? fr_intern_at(paths, (uint32_t)path)->parent : 0;
}

bool fr_dictionary_path_intern(fr_dictionary *dictionary, ovx_string_t text, ovx_primpath_t *out,
                               fr_fault *fault)
{
    uint32_t number = 0;
    const bool done = fr_paths_path(&dictionary->paths, text, &number, fault);
    *out = number;
    return done;
}

bool fr_dictionary_path_below(fr_dictionary *dictionary, ovx_primpath_t parent, ovx_token_t name,
                              ovx_primpath_t *out, fr_fault *fault)
{
    uint32_t number = 0;
    const bool done =
        fr_paths_below(&dictionary->paths, (uint32_t)parent, (uint32_t)name, &number, fault);
    *out = number;
    return done;
}

ovx_primpath_t fr_dictionary_path_child(const fr_dictionary *dictionary, ovx_primpath_t path)
{
    const fr_intern *paths = &dictionary->paths.paths;
    if (!fr_intern_known(paths, path))
        return 0;
    /* [intern.child.read] pairs [intern.child.publish] : the child's entry is written, and counted
     */
    return fr_load_acquire(&fr_intern_at(paths, (uint32_t)path)->newest_child);
}

ovx_primpath_t fr_dictionary_path_sibling(const fr_dictionary *dictionary, ovx_primpath_t path)
{
    const fr_intern *paths = &dictionary->paths.paths;
    return fr_intern_known(paths, path) ? fr_intern_at(paths, (uint32_t)path)->older_sibling : 0;
}

ovx_primpath_t fr_dictionary_path_next(const fr_dictionary *dictionary, ovx_primpath_t root,
                                       ovx_primpath_t path)
{
    ovx_primpath_t next = fr_dictionary_path_child(dictionary, path);
    for (; next == 0 && path != root && path != 0;
         path = fr_dictionary_path_parent(dictionary, path))
        next = fr_dictionary_path_sibling(dictionary, path);
    return next;
}

uint32_t fr_dictionary_path_depth(const fr_dictionary *dictionary, ovx_primpath_t path)
{
    const fr_intern *paths = &dictionary->paths.paths;
    return fr_intern_known(paths, path) ? fr_intern_at(paths, (uint32_t)path)->depth : 0;
}

ovx_token_t fr_dictionary_path_name(const fr_dictionary *dictionary, ovx_primpath_t path)
{
    const fr_intern *paths = &dictionary->paths.paths;
    return fr_intern_known(paths, path) ? fr_intern_at(paths, (uint32_t)path)->token : 0;
}

/* ---- Lists ---- */

typedef uint64_t fr_path_pair __attribute__((vector_size(16)));

/* Copies paths; false if one of them is not among the `known` first numbers. Each is read once:
 * what is checked is what is kept. */
static bool copy_known(ovx_primpath_t *to, const ovx_primpath_t *paths, size_t count,
                       uint64_t known)
{
    /* The top bit of a difference tells, without a branch a path: of path - 1 for 0, of known -
     * path for one that is too large; a path with the top bit set shows in one of the two. */
    const fr_path_pair one = {1, 1}, limit = {known, known};
    fr_path_pair outside = {0, 0}, pair;
    size_t i = 0;
    for (; i + 2 <= count; i += 2) {
        memcpy(&pair, paths + i, sizeof(pair));
        memcpy(to + i, &pair, sizeof(pair));
        outside |= (pair - one) | (limit - pair);
    }
    if (i < count) {
        pair = (fr_path_pair){paths[i], 1};
        to[i] = pair[0];
        outside[0] |= (pair[0] - 1) | (known - pair[0]);
    }
    return (outside[0] | outside[1]) >> 63 == 0;
}

const fr_path_list *fr_dictionary_list_open(fr_dictionary *dictionary, const ovx_primpath_t *paths,
                                            size_t count, bool client, size_t *position,
                                            fr_fault *fault)
{
    fr_lists *lists = &dictionary->lists;
    fr_path_array *array = NULL;
    if (count != 0) {
        const uint64_t known = fr_chunks_count(&dictionary->paths.paths.entries);
        array = fr_lists_array_take(lists, count);
        if (!array) {
            fr_fault_set(fault, FR_FAULT_MEMORY, 0, 0);
            return NULL;
        }
        if (!copy_known(array->paths, paths, count, known)) {
            size_t i = 0;
            while (array->paths[i] - 1 < known)
                i++;
            *position = i;
            fr_fault_set(fault, FR_FAULT_UNKNOWN, array->paths[i], 0);
            fr_lists_array_give(lists, array);
            return NULL;
        }
    }
    const fr_path_list *list = fr_lists_open(lists, array, count, client, fault);
    if (!list)
        fr_lists_array_give(lists, array);
    return list;
}

const fr_path_list *fr_dictionary_list_acquire(fr_dictionary *dictionary,
                                               ovx_primpath_list_t handle)
{
    return fr_lists_acquire(&dictionary->lists, handle);
}

void fr_dictionary_list_release(const fr_path_list *list)
{
    fr_lists_release(list);
}

ovstage_api_status_t fr_dictionary_list_create_from_paths(fr_dictionary *dictionary,
                                                          const ovx_primpath_t *paths, size_t count,
                                                          const fr_path_list **out)
{
    fr_fault fault = {FR_FAULT_NONE, 0, 0};
    size_t position;
    *out = fr_dictionary_list_open(dictionary, paths, count, false, &position, &fault);
    return fr_fault_status(&fault);
}

ovstage_api_status_t fr_dictionary_list_share(fr_dictionary *dictionary, const fr_path_list *list,
                                              const fr_path_list **out)
{
    fr_fault fault = {FR_FAULT_NONE, 0, 0};
    fr_path_array *array = fr_lists_array_of(list);
    *out = fr_lists_open(&dictionary->lists, array, list->count, false, &fault);
    if (!*out)
        fr_lists_array_give(&dictionary->lists, array);
    return fr_fault_status(&fault);
}
