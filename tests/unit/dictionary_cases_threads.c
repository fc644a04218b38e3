/* What the threads of dictionary_test.cc do. */
#include "tests/unit/dictionary_cases.h"

#include "runtime/dictionary/state.h"

#include <stdlib.h>
#include <string.h>

struct dictionary_meeting {
    uint32_t threads;
    _Atomic uint32_t arrived;
    _Atomic uint64_t shown; /* a list's handle */
};

dictionary_meeting *dictionary_meeting_create(uint32_t threads)
{
    dictionary_meeting *meeting = (dictionary_meeting *)calloc(1, sizeof(*meeting));
    if (meeting)
        meeting->threads = threads;
    return meeting;
}

void dictionary_meeting_destroy(dictionary_meeting *meeting)
{
    free(meeting);
}

static void meet(dictionary_meeting *meeting)
{
    fr_add_relaxed(&meeting->arrived, 1);
    while (fr_load_relaxed(&meeting->arrived) < meeting->threads)
        fr_os_current->yield();
}

/* A walk comes to the path, and through paths that are known alone. */
static bool walk_finds(const fr_dictionary *dictionary, ovx_primpath_t root, ovx_primpath_t path)
{
    ovx_primpath_t at = root;
    while (at != 0 && at != path && fr_dictionary_path_known(dictionary, at))
        at = fr_dictionary_path_next(dictionary, root, at);
    return at == path;
}

uint32_t dictionary_thread_interns(fr_dictionary *dictionary, dictionary_meeting *meeting,
                                   uint32_t thread, const ovx_string_t *texts, uint32_t count,
                                   ovx_primpath_t *paths)
{
    path_dictionary_instance_t *client = fr_dictionary_instance(dictionary);
    uint32_t wrong = 0;
    meet(meeting);
    for (uint32_t n = 0; n < count; n++) {
        const uint32_t i = thread % 2 ? count - 1 - n : (n + thread * 100) % count;
        const ovx_api_result_t result =
            path_dictionary_create_paths_from_strings(client, &texts[i], 1, &paths[i]);
        const ovx_string_t text = fr_dictionary_path_text(dictionary, paths[i]);
        wrong += result.status != OVX_API_SUCCESS;
        wrong += text.length != texts[i].length || memcmp(text.ptr, texts[i].ptr, text.length) != 0;
        const ovx_primpath_t parent = fr_dictionary_path_parent(dictionary, paths[i]);
        wrong += !fr_dictionary_path_known(dictionary, parent);
        wrong += n % 16 == 0 && !walk_finds(dictionary, parent, paths[i]);
    }
    return wrong;
}

/* Uses a list that may be gone at any moment, but not while it is held. */
static uint32_t use_list(fr_dictionary *dictionary, ovx_primpath_list_t handle,
                         const ovx_primpath_t *paths)
{
    const fr_path_list *held = fr_dictionary_list_acquire(dictionary, handle), *shared = NULL;
    if (!held)
        return 0;
    const size_t count = held->count;
    uint32_t wrong = held->handle != handle || count < 1 || count > 3 ||
                     held->paths[count - 1] != paths[count - 1];
    wrong += fr_dictionary_list_share(dictionary, held, &shared) != OVSTAGE_OK;
    fr_dictionary_list_release(held);
    wrong += !shared || shared->count != count || shared->paths[count - 1] != paths[count - 1];
    fr_dictionary_list_release(shared);
    return wrong;
}

static bool good(path_dictionary_instance_t *client, ovx_api_result_t result)
{
    path_dictionary_release_error(client, result.error);
    return result.status == OVX_API_SUCCESS;
}

uint32_t dictionary_thread_lists(fr_dictionary *dictionary, dictionary_meeting *meeting,
                                 uint32_t thread, const ovx_primpath_t *paths, uint32_t rounds)
{
    path_dictionary_instance_t *client = fr_dictionary_instance(dictionary);
    uint32_t wrong = 0;
    meet(meeting);
    for (uint32_t i = 0; i < rounds; i++) {
        ovx_primpath_list_t mine = 0;
        wrong += !good(client, path_dictionary_create_path_list_from_paths(
                                   client, paths, 1 + (i + thread) % 3, &mine));
        const ovx_primpath_list_t other = fr_exchange_relaxed(&meeting->shown, mine);
        wrong += use_list(dictionary, other, paths);
        const bool added = good(client, path_dictionary_add_path_list_reference(client, other));
        const bool released =
            good(client, path_dictionary_release_path_list_reference(client, other));
        wrong += released != added;
        wrong += !good(client, path_dictionary_release_path_list_reference(client, mine));
    }
    return wrong;
}
