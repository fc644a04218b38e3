#include "runtime/dictionary/paths.h"

#include "runtime/dictionary/hash.h"

#include <string.h>

bool fr_paths_init(fr_paths *paths, const fr_allocator *allocator)
{
    const bool tokens = fr_intern_init(&paths->tokens, allocator);
    const ovx_string_t root = {"/", 1};
    const fr_intern_entry like = {0};
    fr_fault fault;
    uint32_t number;
    return fr_intern_init(&paths->paths, allocator) && tokens &&
           fr_intern_add(&paths->paths, root, fr_hash_text(root.ptr, root.length), &like, &number,
                         &fault);
}

void fr_paths_destroy(fr_paths *paths)
{
    fr_intern_destroy(&paths->tokens);
    fr_intern_destroy(&paths->paths);
}

/* What holds for every text (R158, R26), but for a NUL in it. */
static bool check_text(ovx_string_t text, uint64_t limit, fr_fault *fault)
{
    if (text.ptr == NULL && text.length != 0)
        return fr_fault_set(fault, FR_FAULT_NULL, text.length, 0);
    if (text.length == 0)
        return fr_fault_set(fault, FR_FAULT_EMPTY, 0, 0);
    if (text.length > limit)
        return fr_fault_set(fault, FR_FAULT_LONG, text.length, limit);
    return true;
}

static bool check_nul(ovx_string_t text, fr_fault *fault)
{
    const char *nul = (const char *)memchr(text.ptr, '\0', text.length);
    return !nul || fr_fault_set(fault, FR_FAULT_NUL, (uint64_t)(nul - text.ptr), text.length);
}

bool fr_paths_token(fr_paths *paths, ovx_string_t text, uint32_t *out, fr_fault *fault)
{
    const fr_intern_entry like = {0};
    *out = 0;
    if (!check_text(text, FR_TOKEN_LIMIT_BYTES, fault))
        return false;
    const uint32_t hash = fr_hash_text(text.ptr, text.length);
    *out = fr_intern_find(&paths->tokens, text, hash);
    if (*out != 0)
        return true; /* what is in there has been checked */
    return check_nul(text, fault) && fr_intern_add(&paths->tokens, text, hash, &like, out, fault);
}

static bool is_dots(const char *element, size_t length)
{
    return (length == 1 && element[0] == '.') ||
           (length == 2 && element[0] == '.' && element[1] == '.');
}

/* Writes a text's canonical form to `canonical`, which has room for a byte more than the text, and
 * sets *length. */
static bool canonicalize(ovx_string_t text, char *canonical, size_t *length, fr_fault *fault)
{
    size_t used = 0, depth = 0;
    for (size_t at = 0; at < text.length;) {
        if (text.ptr[at] == '/') {
            at++;
            continue;
        }
        const char *element = text.ptr + at;
        const char *slash = (const char *)memchr(element, '/', text.length - at);
        const size_t bytes = slash ? (size_t)(slash - element) : text.length - at;
        if (is_dots(element, bytes))
            return fr_fault_set(fault, FR_FAULT_DOTS, at, 0);
        if (++depth > FR_PATH_LIMIT_DEPTH)
            return fr_fault_set(fault, FR_FAULT_DEEP, 0, FR_PATH_LIMIT_DEPTH);
        canonical[used] = '/';
        memcpy(canonical + used + 1, element, bytes);
        used += bytes + 1;
        at += bytes;
    }
    if (used == 0)
        canonical[used++] = '/';
    *length = used;
    return true;
}

/* The length of the parent's text. */
static size_t parent_length(const char *text, size_t length)
{
    while (text[length - 1] != '/')
        length--;
    return length == 1 ? 1 : length - 1;
}

/* Interns a canonical path and its ancestors: from the longest that is known down. */
static bool intern_chain(fr_paths *paths, ovx_string_t text, uint32_t *out, fr_fault *fault)
{
    ovx_string_t known = text;
    do {
        known.length = parent_length(text.ptr, known.length);
        *out = fr_intern_find(&paths->paths, known, fr_hash_text(known.ptr, known.length));
    } while (*out == 0); /* ends at the root */
    while (known.length < text.length) {
        const size_t begin = known.length == 1 ? 1 : known.length + 1;
        const char *slash = (const char *)memchr(text.ptr + begin, '/', text.length - begin);
        const size_t end = slash ? (size_t)(slash - text.ptr) : text.length;
        const ovx_string_t element = {text.ptr + begin, end - begin};
        fr_intern_entry like = {0};
        like.parent = *out;
        like.depth = fr_intern_at(&paths->paths, *out)->depth + 1;
        known.length = end;
        if (!fr_paths_token(paths, element, &like.token, fault) ||
            !fr_intern_add(&paths->paths, known, fr_hash_text(known.ptr, end), &like, out, fault)) {
            *out = 0;
            return false;
        }
    }
    return true;
}

/* A long path's scratch memory comes from the heap. */
#define FR_PATH_SCRATCH_BYTES 512

bool fr_paths_path(fr_paths *paths, ovx_string_t text, uint32_t *out, fr_fault *fault)
{
    *out = 0;
    if (!check_text(text, FR_PATH_LIMIT_BYTES, fault))
        return false;
    *out = fr_intern_find(&paths->paths, text, fr_hash_text(text.ptr, text.length));
    if (*out != 0)
        return true; /* only canonical texts are in there */
    if (!check_nul(text, fault))
        return false;

    char scratch[FR_PATH_SCRATCH_BYTES], *canonical = scratch;
    const fr_allocator *allocator = paths->paths.allocator;
    if (text.length + 1 > sizeof(scratch)) {
        canonical = (char *)fr_memory_allocate(allocator, text.length + 1, 1);
        if (!canonical)
            return fr_fault_set(fault, FR_FAULT_MEMORY, 0, 0);
    }
    ovx_string_t path = {canonical, 0};
    bool done = canonicalize(text, canonical, &path.length, fault);
    if (done && path.length > FR_PATH_LIMIT_BYTES)
        done = fr_fault_set(fault, FR_FAULT_LONG, path.length, FR_PATH_LIMIT_BYTES);
    if (done) {
        *out = fr_intern_find(&paths->paths, path, fr_hash_text(path.ptr, path.length));
        done = *out != 0 || intern_chain(paths, path, out, fault);
    }
    if (canonical != scratch)
        fr_memory_release(allocator, canonical, text.length + 1);
    return done;
}

/* Checks the elements and sets *length to the length of their path. */
static bool check_elements(const fr_paths *paths, const ovx_token_t *tokens, size_t count,
                           size_t *length, fr_fault *fault)
{
    *length = count == 0 ? 1 : 0;
    if (count > FR_PATH_LIMIT_DEPTH)
        return fr_fault_set(fault, FR_FAULT_DEEP, count, FR_PATH_LIMIT_DEPTH);
    for (size_t i = 0; i < count; i++) {
        const ovx_string_t text = fr_intern_text(&paths->tokens, tokens[i]);
        if (!text.ptr)
            return fr_fault_set(fault, FR_FAULT_UNKNOWN, tokens[i], 0);
        const char *slash = (const char *)memchr(text.ptr, '/', text.length);
        if (slash)
            return fr_fault_set(fault, FR_FAULT_SLASH, (uint64_t)(slash - text.ptr), 0);
        if (is_dots(text.ptr, text.length))
            return fr_fault_set(fault, FR_FAULT_DOTS, *length + 1, 0);
        *length += text.length + 1;
        if (*length > FR_PATH_LIMIT_BYTES)
            return fr_fault_set(fault, FR_FAULT_LONG, *length, FR_PATH_LIMIT_BYTES);
    }
    return true;
}

bool fr_paths_path_of_tokens(fr_paths *paths, const ovx_token_t *tokens, size_t count,
                             uint32_t *out, fr_fault *fault)
{
    char scratch[FR_PATH_SCRATCH_BYTES] = "/", *text = scratch;
    const fr_allocator *allocator = paths->paths.allocator;
    size_t length, used = 0;
    *out = 0;
    if (!check_elements(paths, tokens, count, &length, fault))
        return false;
    if (length > sizeof(scratch)) {
        text = (char *)fr_memory_allocate(allocator, length, 1);
        if (!text)
            return fr_fault_set(fault, FR_FAULT_MEMORY, 0, 0);
    }
    for (size_t i = 0; i < count; i++) {
        const ovx_string_t element = fr_intern_text(&paths->tokens, tokens[i]);
        text[used] = '/';
        if (element.ptr) /* always: the elements were checked */
            memcpy(text + used + 1, element.ptr, element.length);
        used += element.length + 1;
    }
    const ovx_string_t path = {text, length};
    *out = fr_intern_find(&paths->paths, path, fr_hash_text(path.ptr, path.length));
    const bool done = *out != 0 || intern_chain(paths, path, out, fault);
    if (text != scratch)
        fr_memory_release(allocator, text, length);
    return done;
}

bool fr_paths_below(fr_paths *paths, uint32_t parent, uint32_t token, uint32_t *out,
                    fr_fault *fault)
{
    char scratch[FR_PATH_SCRATCH_BYTES], *text = scratch;
    const fr_allocator *allocator = paths->paths.allocator;
    const fr_intern_entry *above = fr_intern_at(&paths->paths, parent);
    const fr_intern_entry *element = fr_intern_at(&paths->tokens, token);
    const size_t before = parent == FR_PATH_ROOT ? 0 : above->length;
    const size_t length = before + 1 + element->length;
    *out = 0;
    if (length > FR_PATH_LIMIT_BYTES)
        return fr_fault_set(fault, FR_FAULT_LONG, length, FR_PATH_LIMIT_BYTES);
    if (above->depth >= FR_PATH_LIMIT_DEPTH)
        return fr_fault_set(fault, FR_FAULT_DEEP, above->depth + 1, FR_PATH_LIMIT_DEPTH);
    if (length > sizeof(scratch)) {
        text = (char *)fr_memory_allocate(allocator, length, 1);
        if (!text)
            return fr_fault_set(fault, FR_FAULT_MEMORY, 0, 0);
    }
    memcpy(text, above->text, before);
    text[before] = '/';
    memcpy(text + before + 1, element->text, element->length);
    const ovx_string_t path = {text, length};
    const uint32_t hash = fr_hash_text(text, length);
    fr_intern_entry like = {0};
    like.parent = parent;
    like.token = token;
    like.depth = above->depth + 1;
    /* Mostly a new one: add looks for it anyway. */
    const bool done = fr_intern_add(&paths->paths, path, hash, &like, out, fault);
    if (text != scratch)
        fr_memory_release(allocator, text, length);
    return done;
}
