#include "runtime/query/path_order.h"

#include <string.h>

static int fr_path_rank(char byte)
{
    return byte == '/' ? -1 : (unsigned char)byte;
}

int fr_path_compare(ovx_string_t a, ovx_string_t b)
{
    size_t shorter = a.length < b.length ? a.length : b.length, at = 0;
    /* Paths mostly begin with the same ancestors. */
    while (at + 8 <= shorter && memcmp(a.ptr + at, b.ptr + at, 8) == 0)
        at += 8;
    while (at < shorter && a.ptr[at] == b.ptr[at])
        at++;
    if (at < shorter)
        return fr_path_rank(a.ptr[at]) - fr_path_rank(b.ptr[at]);
    return (a.length > b.length) - (a.length < b.length);
}

static bool fr_paths_ascend(const fr_dictionary *dictionary, uint32_t a, uint32_t b)
{
    return fr_path_compare(fr_dictionary_path_text(dictionary, a),
                           fr_dictionary_path_text(dictionary, b)) <= 0;
}

void fr_paths_join(const fr_dictionary *dictionary, const uint32_t *a, size_t a_count,
                   const uint32_t *b, size_t b_count, uint32_t *out)
{
    size_t count = a_count + b_count, next_a = 0, next_b = 0;
    for (size_t k = 0; k < count; k++) {
        if (next_b == b_count ||
            (next_a < a_count && fr_paths_ascend(dictionary, a[next_a], b[next_b])))
            out[k] = a[next_a++];
        else
            out[k] = b[next_b++];
    }
}

/* Bottom up; runs that follow each other in order are joined by a copy, so sorted paths cost a
 * comparison a run. */
void fr_paths_sort(const fr_dictionary *dictionary, uint32_t *paths, size_t count,
                   uint32_t *scratch)
{
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t first = 0; first + width < count; first += 2 * width) {
            size_t size = count - first < 2 * width ? count - first : 2 * width;
            uint32_t *run = paths + first;
            if (fr_paths_ascend(dictionary, run[width - 1], run[width]))
                continue;
            memcpy(scratch, run, size * sizeof(*run));
            fr_paths_join(dictionary, scratch, width, scratch + width, size - width, run);
        }
    }
}
