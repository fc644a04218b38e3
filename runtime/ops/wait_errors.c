#include "runtime/ops/wait_errors.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "scheduler/memory.h"

#define FR_WAIT_ERRORS_MAX 16
#define FR_WAIT_TEXT_BYTES 256 /* of one op, with its NUL; cut when longer */
#define FR_WAIT_SPARE_TEXT_BYTES 128

typedef struct fr_wait_errors {
    ovstage_op_id_t ids[FR_WAIT_ERRORS_MAX]; /* the root cause first, the awaited op last */
    size_t lengths[FR_WAIT_ERRORS_MAX];
    char texts[FR_WAIT_ERRORS_MAX][FR_WAIT_TEXT_BYTES];
} fr_wait_errors;

static _Thread_local struct {
    fr_wait_errors *list; /* NULL until this thread finds a failed op */
    size_t count;         /* in list, or 1 in spare when there is no list */
    ovstage_op_id_t spare_id;
    size_t spare_length;
    char spare_text[FR_WAIT_SPARE_TEXT_BYTES];
} fr_waited;

static pthread_once_t fr_wait_errors_once = PTHREAD_ONCE_INIT;
static pthread_key_t fr_wait_errors_key;
static bool fr_wait_errors_has_key;

static void fr_wait_errors_release(void *list)
{
    /* A destructor of the host may wait after this one ran. */
    fr_waited.list = NULL;
    fr_waited.count = 0;
    fr_memory_release(&fr_allocator_default, list, sizeof(fr_wait_errors));
}

static void fr_wait_errors_make_key(void)
{
    fr_wait_errors_has_key = pthread_key_create(&fr_wait_errors_key, fr_wait_errors_release) == 0;
}

static bool fr_wait_errors_make_list(void)
{
    if (fr_waited.list)
        return true;
    (void)pthread_once(&fr_wait_errors_once, fr_wait_errors_make_key);
    if (!fr_wait_errors_has_key)
        return false;
    fr_wait_errors *list =
        fr_memory_allocate_zero(&fr_allocator_default, sizeof(*list), _Alignof(max_align_t));
    if (!list)
        return false;
    if (pthread_setspecific(fr_wait_errors_key, list) != 0) {
        fr_memory_release(&fr_allocator_default, list, sizeof(*list));
        return false;
    }
    fr_waited.list = list;
    return true;
}

void fr_wait_errors_forget(void)
{
    fr_waited.count = 0;
}

static size_t fr_wait_errors_copy(char *to, size_t to_bytes, const char *text, size_t length)
{
    if (length >= to_bytes)
        length = to_bytes - 1;
    memcpy(to, text, length);
    to[length] = '\0';
    return length;
}

/* The list is filled from its end, since the root cause comes out last; what does not fit is left
 * out between the two. */
static void fr_wait_errors_enter(size_t *place, uint64_t id, const char *text, size_t length)
{
    fr_wait_errors *list = fr_waited.list;
    if (!list) {
        fr_waited.spare_id = id;
        fr_waited.spare_length =
            fr_wait_errors_copy(fr_waited.spare_text, sizeof(fr_waited.spare_text), text, length);
        *place = FR_WAIT_ERRORS_MAX - 1;
        return;
    }
    if (*place > 0)
        --*place;
    list->ids[*place] = id;
    list->lengths[*place] =
        fr_wait_errors_copy(list->texts[*place], FR_WAIT_TEXT_BYTES, text, length);
}

void fr_wait_errors_collect(fr_graph *graph, ovstage_op_id_t awaited)
{
    char text[FR_WAIT_TEXT_BYTES];
    fr_op_failure failure;
    size_t place = FR_WAIT_ERRORS_MAX;
    (void)fr_wait_errors_make_list();
    for (uint64_t id = awaited; id != OVSTAGE_INVALID_OP_ID; id = failure.cause_id) {
        if (!fr_graph_op_failure(graph, id, &failure, text, sizeof(text)))
            break;
        fr_wait_errors_enter(&place, id, text, failure.text.length);
    }
    fr_waited.count = FR_WAIT_ERRORS_MAX - place;
    fr_wait_errors *list = fr_waited.list;
    if (!list || place == 0)
        return;
    memmove(list->ids, list->ids + place, fr_waited.count * sizeof(list->ids[0]));
    memmove(list->lengths, list->lengths + place, fr_waited.count * sizeof(list->lengths[0]));
    memmove(list->texts, list->texts + place, fr_waited.count * sizeof(list->texts[0]));
}

size_t fr_wait_errors_ids(const ovstage_op_id_t **out_ids)
{
    *out_ids = NULL;
    if (fr_waited.count > 0)
        *out_ids = fr_waited.list ? fr_waited.list->ids : &fr_waited.spare_id;
    return fr_waited.count;
}

ovx_string_t fr_wait_errors_text(ovstage_op_id_t op_id)
{
    ovx_string_t text = {NULL, 0};
    const ovstage_op_id_t *ids;
    size_t count = fr_wait_errors_ids(&ids);
    for (size_t i = 0; i < count; i++)
        if (ids[i] == op_id) {
            text.ptr = fr_waited.list ? fr_waited.list->texts[i] : fr_waited.spare_text;
            text.length = fr_waited.list ? fr_waited.list->lengths[i] : fr_waited.spare_length;
        }
    return text;
}
