#include "runtime/ops/wait_errors.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "runtime/api/callout.h"
#include "scheduler/memory.h"

#define FR_WAIT_ERRORS_MAX 16
#define FR_WAIT_TEXT_BYTES 256 /* of one op, with its NUL; cut when longer */

struct fr_wait_errors {
    ovstage_op_id_t ids[FR_WAIT_ERRORS_MAX]; /* the root cause first, the awaited op last */
    size_t lengths[FR_WAIT_ERRORS_MAX];
    char texts[FR_WAIT_ERRORS_MAX][FR_WAIT_TEXT_BYTES];
};

static _Thread_local fr_waited fr_waited_own;

static pthread_once_t fr_wait_errors_once = PTHREAD_ONCE_INIT;
static pthread_key_t fr_wait_errors_key;
static bool fr_wait_errors_has_key;

static fr_waited *fr_waited_here(void)
{
    fr_callout *callout = fr_callout_innermost();
    return callout ? &callout->waited : &fr_waited_own;
}

void fr_waited_free(fr_waited *waited)
{
    fr_wait_errors *list = waited->list;
    waited->list = NULL;
    waited->count = 0;
    fr_memory_release(&fr_allocator_default, list, sizeof(*list));
}

/* A destructor of the host may wait after this one ran. */
static void fr_wait_errors_release(void *waited)
{
    fr_waited_free(waited);
}

static void fr_wait_errors_make_key(void)
{
    fr_wait_errors_has_key = pthread_key_create(&fr_wait_errors_key, fr_wait_errors_release) == 0;
}

/* The thread's own list goes with the thread. */
static bool fr_wait_errors_set_key(fr_waited *waited)
{
    if (waited != &fr_waited_own)
        return true;
    (void)pthread_once(&fr_wait_errors_once, fr_wait_errors_make_key);
    return fr_wait_errors_has_key && pthread_setspecific(fr_wait_errors_key, waited) == 0;
}

static void fr_wait_errors_make_list(fr_waited *waited)
{
    if (waited->list)
        return;
    fr_wait_errors *list =
        fr_memory_allocate_zero(&fr_allocator_default, sizeof(*list), _Alignof(max_align_t));
    if (list && !fr_wait_errors_set_key(waited)) {
        fr_memory_release(&fr_allocator_default, list, sizeof(*list));
        list = NULL;
    }
    waited->list = list;
}

void fr_wait_errors_forget(void)
{
    fr_waited_here()->count = 0;
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
static void fr_wait_errors_enter(fr_waited *waited, size_t *place, uint64_t id, const char *text,
                                 size_t length)
{
    fr_wait_errors *list = waited->list;
    if (!list) {
        waited->spare_id = id;
        waited->spare_length =
            fr_wait_errors_copy(waited->spare_text, sizeof(waited->spare_text), text, length);
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
    fr_waited *waited = fr_waited_here();
    fr_wait_errors_make_list(waited);
    for (uint64_t id = awaited; id != OVSTAGE_INVALID_OP_ID; id = failure.cause_id) {
        if (!fr_graph_op_failure(graph, id, &failure, text, sizeof(text)))
            break;
        fr_wait_errors_enter(waited, &place, id, text, failure.text.length);
    }
    waited->count = FR_WAIT_ERRORS_MAX - place;
    fr_wait_errors *list = waited->list;
    if (!list || place == 0)
        return;
    memmove(list->ids, list->ids + place, waited->count * sizeof(list->ids[0]));
    memmove(list->lengths, list->lengths + place, waited->count * sizeof(list->lengths[0]));
    memmove(list->texts, list->texts + place, waited->count * sizeof(list->texts[0]));
}

size_t fr_wait_errors_ids(const ovstage_op_id_t **out_ids)
{
    const fr_waited *waited = fr_waited_here();
    *out_ids = NULL;
    if (waited->count > 0)
        *out_ids = waited->list ? waited->list->ids : &waited->spare_id;
    return waited->count;
}

ovx_string_t fr_wait_errors_text(ovstage_op_id_t op_id)
{
    ovx_string_t text = {NULL, 0};
    const fr_waited *waited = fr_waited_here();
    const ovstage_op_id_t *ids;
    size_t count = fr_wait_errors_ids(&ids);
    for (size_t i = 0; i < count; i++)
        if (ids[i] == op_id) {
            text.ptr = waited->list ? waited->list->texts[i] : waited->spare_text;
            text.length = waited->list ? waited->list->lengths[i] : waited->spare_length;
        }
    return text;
}
