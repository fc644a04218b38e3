/* The twelve functions that clients call: they check arguments, the work is done elsewhere. */
#include "runtime/api/process.h"
#include "runtime/dictionary/errors.h"
#include "runtime/dictionary/state.h"

#include <ovx/path_dictionary/path_dictionary_vtable.h>

#include <inttypes.h>
#include <string.h>

/* Results of a call are written to the client's array only when all of it has succeeded. Up to this
 * many are collected on the stack. */
#define FR_TABLE_STACK 128

/* NULL in a forked child, where a lock may be held for ever by a thread that is not there. */
static fr_dictionary *dictionary_of(path_dictionary_context_t *context)
{
    return fr_process_forked() ? NULL : (fr_dictionary *)context;
}

static const fr_allocator *allocator_of(const fr_dictionary *dictionary)
{
    return dictionary ? &dictionary->allocator : NULL;
}

/* What all functions over arrays refuse. */
static bool arrays_given(size_t count, const void *in, const void *out)
{
    return count == 0 || (in != NULL && out != NULL);
}

static ovx_api_result_t null_array(const fr_dictionary *dictionary, const char *what, size_t count)
{
    return fr_result_error(allocator_of(dictionary), "%s is NULL, with a count of %zu", what,
                           count);
}

typedef bool (*fr_text_fn)(fr_paths *paths, ovx_string_t text, uint32_t *out, fr_fault *fault);

/* Interns `count` texts into `numbers`. */
static bool intern_all(fr_dictionary *dictionary, fr_text_fn intern, const ovx_string_t *texts,
                       size_t count, uint64_t *numbers, size_t *position, fr_fault *fault)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t number;
        if (!intern(&dictionary->paths, texts[i], &number, fault)) {
            *position = i;
            return false;
        }
        numbers[i] = number;
    }
    return true;
}

/* The client's own array if it is small enough to be written at once, else scratch memory of the
 * size of the array; NULL without memory. */
static uint64_t *results_take(const fr_dictionary *dictionary, uint64_t *stack, size_t count)
{
    if (count <= FR_TABLE_STACK)
        return stack;
    if (count > SIZE_MAX / 2 / sizeof(uint64_t))
        return NULL;
    return (uint64_t *)fr_memory_allocate(&dictionary->allocator, count * sizeof(uint64_t), 16);
}

static void results_give(const fr_dictionary *dictionary, uint64_t *stack, uint64_t *results,
                         size_t count)
{
    if (results != stack)
        fr_memory_release(&dictionary->allocator, results, count * sizeof(uint64_t));
}

static ovx_api_result_t create_from_texts(path_dictionary_context_t *context, fr_text_fn intern,
                                          const ovx_string_t *texts, size_t count, uint64_t *out)
{
    fr_dictionary *dictionary = dictionary_of(context);
    uint64_t stack[FR_TABLE_STACK];
    fr_fault fault = {FR_FAULT_MEMORY, 0, 0};
    size_t position = 0;
    if (!dictionary || !arrays_given(count, texts, out))
        return null_array(dictionary, texts ? "out" : "strings", count);
    uint64_t *results = results_take(dictionary, stack, count);
    if (!results)
        return fr_result_fault(&dictionary->allocator, "strings", 0, &fault);
    const bool done = intern_all(dictionary, intern, texts, count, results, &position, &fault);
    if (done && count != 0)
        memcpy(out, results, count * sizeof(uint64_t));
    results_give(dictionary, stack, results, count);
    return done ? fr_result_success()
                : fr_result_fault(&dictionary->allocator, "strings", position, &fault);
}

static ovx_api_result_t create_tokens_from_strings(path_dictionary_context_t *context,
                                                   const ovx_string_t *strings, size_t n,
                                                   ovx_token_t *out)
{
    return create_from_texts(context, fr_paths_token, strings, n, out);
}

static ovx_api_result_t create_paths_from_strings(path_dictionary_context_t *context,
                                                  const ovx_string_t *strings, size_t n,
                                                  ovx_primpath_t *out)
{
    return create_from_texts(context, fr_paths_path, strings, n, out);
}

static ovx_api_result_t create_paths_from_tokens(path_dictionary_context_t *context,
                                                 const ovx_token_t *concatenated,
                                                 const size_t *tokens_per_path, size_t num_paths,
                                                 ovx_primpath_t *out)
{
    fr_dictionary *dictionary = dictionary_of(context);
    uint64_t stack[FR_TABLE_STACK];
    fr_fault fault = {FR_FAULT_MEMORY, 0, 0};
    if (!dictionary || !arrays_given(num_paths, tokens_per_path, out))
        return null_array(dictionary, tokens_per_path ? "out" : "tokens_per_path", num_paths);
    uint64_t *results = results_take(dictionary, stack, num_paths);
    if (!results)
        return fr_result_fault(&dictionary->allocator, "paths", 0, &fault);
    size_t position = 0, first = 0;
    for (; position < num_paths; position++) {
        const size_t count = tokens_per_path[position];
        uint32_t number;
        if (count != 0 && !concatenated)
            break;
        if (!fr_paths_path_of_tokens(&dictionary->paths, count ? concatenated + first : NULL, count,
                                     &number, &fault))
            break;
        results[position] = number;
        first += count;
    }
    const bool done = position == num_paths;
    if (done && num_paths != 0)
        memcpy(out, results, num_paths * sizeof(uint64_t));
    results_give(dictionary, stack, results, num_paths);
    if (done)
        return fr_result_success();
    if (!concatenated)
        return null_array(dictionary, "concatenated", tokens_per_path[position]);
    return fr_result_fault(&dictionary->allocator, "paths", position, &fault);
}

static ovx_api_result_t create_path_list_from_paths(path_dictionary_context_t *context,
                                                    const ovx_primpath_t *paths, size_t n,
                                                    ovx_primpath_list_t *out)
{
    fr_dictionary *dictionary = dictionary_of(context);
    fr_fault fault = {FR_FAULT_NONE, 0, 0};
    size_t position = 0;
    if (!dictionary || !arrays_given(n, paths, out) || !out)
        return null_array(dictionary, out ? "paths" : "out", n);
    const fr_path_list *list =
        fr_dictionary_list_open(dictionary, paths, n, true, &position, &fault);
    if (!list)
        return fr_result_fault(&dictionary->allocator, "paths", position, &fault);
    *out = list->handle;
    return fr_result_success();
}

static ovx_api_result_t create_path_list_from_strings(path_dictionary_context_t *context,
                                                      const ovx_string_t *strings, size_t n,
                                                      ovx_primpath_list_t *out)
{
    fr_dictionary *dictionary = dictionary_of(context);
    fr_fault fault = {FR_FAULT_MEMORY, 0, 0};
    size_t position = 0;
    if (!dictionary || !arrays_given(n, strings, out) || !out)
        return null_array(dictionary, out ? "strings" : "out", n);
    fr_lists *lists = &dictionary->lists;
    fr_path_array *array = n != 0 ? fr_lists_array_take(lists, n) : NULL;
    const fr_path_list *list = NULL;
    if ((array || n == 0) && (n == 0 || intern_all(dictionary, fr_paths_path, strings, n,
                                                   array->paths, &position, &fault)))
        list = fr_lists_open(lists, array, n, true, &fault);
    if (list) {
        *out = list->handle;
        return fr_result_success();
    }
    fr_lists_array_give(lists, array);
    return fr_result_fault(&dictionary->allocator, "strings", position, &fault);
}

static ovx_api_result_t unknown_list(const fr_dictionary *dictionary, ovx_primpath_list_t list)
{
    return fr_result_error(allocator_of(dictionary),
                           "path list %" PRIu64 " is not known: never made, or released", list);
}

static ovx_api_result_t add_path_list_reference(path_dictionary_context_t *context,
                                                ovx_primpath_list_t list)
{
    fr_dictionary *dictionary = dictionary_of(context);
    if (!dictionary)
        return unknown_list(NULL, list);
    if (list != OVX_INVALID_PRIMPATH_LIST && !fr_lists_client_add(&dictionary->lists, list))
        return unknown_list(dictionary, list);
    return fr_result_success();
}

static ovx_api_result_t release_path_list_reference(path_dictionary_context_t *context,
                                                    ovx_primpath_list_t list)
{
    fr_dictionary *dictionary = dictionary_of(context);
    if (!dictionary)
        return unknown_list(NULL, list);
    if (list != OVX_INVALID_PRIMPATH_LIST && !fr_lists_client_release(&dictionary->lists, list))
        return unknown_list(dictionary, list);
    return fr_result_success();
}

static ovx_api_result_t get_strings_from_tokens(path_dictionary_context_t *context,
                                                const ovx_token_t *tokens, size_t n,
                                                ovx_string_t *out)
{
    fr_dictionary *dictionary = dictionary_of(context);
    if (!dictionary || !arrays_given(n, tokens, out))
        return null_array(dictionary, tokens ? "out" : "tokens", n);
    const fr_intern *known = &dictionary->paths.tokens;
    for (size_t i = 0; i < n; i++)
        if (tokens[i] != OVX_INVALID_TOKEN && !fr_intern_known(known, tokens[i])) {
            const fr_fault fault = {FR_FAULT_UNKNOWN, tokens[i], 0};
            return fr_result_fault(&dictionary->allocator, "tokens", i, &fault);
        }
    for (size_t i = 0; i < n; i++) {
        const ovx_token_t token = tokens[i];
        const ovx_string_t empty = {"", 0};
        out[i] = token == OVX_INVALID_TOKEN ? empty : fr_intern_text(known, token);
    }
    return fr_result_success();
}

/* Writes a known path's tokens, root first, if there is room for them. */
static bool split_path(const fr_paths *paths, uint32_t path, ovx_token_t *buffer, size_t room,
                       size_t *count)
{
    const fr_intern_entry *entry = fr_intern_at(&paths->paths, path);
    *count = entry->depth;
    if (entry->depth > room)
        return false;
    for (size_t i = entry->depth; i-- > 0; entry = fr_intern_at(&paths->paths, entry->parent))
        buffer[i] = entry->token;
    return true;
}

static ovx_api_result_t get_tokens_from_paths(path_dictionary_context_t *context,
                                              const ovx_primpath_t *paths, size_t num_paths,
                                              ovx_token_t *buffer, size_t buffer_size,
                                              ovx_token_t **out_tokens_per_path,
                                              size_t *out_num_tokens_per_path,
                                              size_t *out_num_paths_processed)
{
    fr_dictionary *dictionary = dictionary_of(context);
    if (!dictionary || !out_num_paths_processed)
        return null_array(dictionary, "out_num_paths_processed", num_paths);
    *out_num_paths_processed = 0;
    if (!arrays_given(num_paths, paths, out_tokens_per_path))
        return null_array(dictionary, paths ? "out_tokens_per_path" : "paths", num_paths);
    if (!arrays_given(num_paths, paths, out_num_tokens_per_path))
        return null_array(dictionary, "out_num_tokens_per_path", num_paths);
    if (!buffer && buffer_size != 0)
        return null_array(dictionary, "buffer", buffer_size);
    for (size_t i = 0; i < num_paths; i++)
        if (!fr_intern_known(&dictionary->paths.paths, paths[i])) {
            const fr_fault fault = {FR_FAULT_UNKNOWN, paths[i], 0};
            return fr_result_fault(&dictionary->allocator, "paths", i, &fault);
        }
    size_t done = 0, used = 0, count;
    for (; done < num_paths; done++, used += count) {
        ovx_token_t *begin = buffer ? buffer + used : NULL;
        if (!split_path(&dictionary->paths, (uint32_t)paths[done], begin, buffer_size - used,
                        &count))
            break;
        out_tokens_per_path[done] = begin;
        out_num_tokens_per_path[done] = count;
    }
    *out_num_paths_processed = done;
    return fr_result_success();
}

static ovx_api_result_t get_num_paths_from_path_list(path_dictionary_context_t *context,
                                                     ovx_primpath_list_t handle, size_t *out)
{
    fr_dictionary *dictionary = dictionary_of(context);
    if (!dictionary || !out)
        return null_array(dictionary, "out", 1);
    const fr_path_list *list = fr_lists_acquire(&dictionary->lists, handle);
    if (!list)
        return unknown_list(dictionary, handle);
    *out = list->count;
    fr_lists_release(list);
    return fr_result_success();
}

static ovx_api_result_t get_paths_from_path_list(path_dictionary_context_t *context,
                                                 ovx_primpath_list_t handle, size_t start_offset,
                                                 size_t max_paths, ovx_primpath_t *out,
                                                 size_t *out_num)
{
    fr_dictionary *dictionary = dictionary_of(context);
    if (!dictionary || !out_num || (!out && max_paths != 0))
        return null_array(dictionary, out_num ? "out" : "out_num", max_paths);
    const fr_path_list *list = fr_lists_acquire(&dictionary->lists, handle);
    if (!list)
        return unknown_list(dictionary, handle);
    const size_t count = list->count;
    if (start_offset > count) {
        fr_lists_release(list);
        return fr_result_error(&dictionary->allocator,
                               "start_offset %zu is behind the list's %zu paths", start_offset,
                               count);
    }
    const size_t copied = count - start_offset < max_paths ? count - start_offset : max_paths;
    if (copied != 0)
        memcpy(out, list->paths + start_offset, copied * sizeof(*out));
    *out_num = copied;
    fr_lists_release(list);
    return fr_result_success();
}

static void release_error(path_dictionary_context_t *context, ovx_string_t error)
{
    fr_result_release(allocator_of(dictionary_of(context)), error);
}

const path_dictionary_vtable_t fr_dictionary_table = {
    .create_tokens_from_strings = create_tokens_from_strings,
    .create_paths_from_tokens = create_paths_from_tokens,
    .create_paths_from_strings = create_paths_from_strings,
    .create_path_list_from_paths = create_path_list_from_paths,
    .create_path_list_from_strings = create_path_list_from_strings,
    .add_path_list_reference = add_path_list_reference,
    .release_path_list_reference = release_path_list_reference,
    .get_strings_from_tokens = get_strings_from_tokens,
    .get_tokens_from_paths = get_tokens_from_paths,
    .get_num_paths_from_path_list = get_num_paths_from_path_list,
    .get_paths_from_path_list = get_paths_from_path_list,
    .release_error = release_error,
};
