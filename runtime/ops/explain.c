/* flyrail_explain: why an op is not done, as a text for people. */
#include "runtime/api/handles.h"
#include "runtime/map/map.h"
#include "runtime/ops/ops.h"

#include <stdarg.h>
#include <stdio.h>

/* Of a longer chain so many of its first steps are told, and so many of its last ones: the last one
 * is what the first waits for in the end. */
#define FR_EXPLAIN_FIRST 8u
#define FR_EXPLAIN_LAST 8u
/* Steps that are looked at. Ops wait in no cycle, but what the chain was put together from may have
 * changed meanwhile. */
#define FR_EXPLAIN_STEPS 1048576u
#define FR_EXPLAIN_MAPS 4

/* As snprintf's: what does not fit is counted all the same. */
typedef struct fr_explain_text {
    char *text;
    size_t capacity, length;
} fr_explain_text;

__attribute__((format(printf, 2, 3))) static void fr_explain_say(fr_explain_text *out,
                                                                 const char *format, ...)
{
    va_list arguments;
    size_t room = out->length < out->capacity ? out->capacity - out->length : 0;
    va_start(arguments, format);
    int more = vsnprintf(room > 0 ? out->text + out->length : NULL, room, format, arguments);
    va_end(arguments);
    out->length += more > 0 ? (size_t)more : 0;
}

/* --- the chain -------------------------------------------------------------------------------- */

static const char *fr_explain_name(const fr_op *op, const char *type_name)
{
    return type_name == fr_task_op_type.name ? fr_task_name(op) : NULL;
}

static void fr_explain_who(fr_explain_text *out, const fr_explanation *step)
{
    fr_explain_say(out, "operation 0x%llx", (unsigned long long)step->id);
    if (step->type_name)
        fr_explain_say(out, " (%s", step->type_name);
    if (step->name)
        fr_explain_say(out, " '%s'", step->name);
    if (step->has_ordinal)
        fr_explain_say(out, ", ordinal %llu", (unsigned long long)step->ordinal);
    fr_explain_say(out, "%s: ", step->type_name ? ")" : "");
}

static void fr_explain_nobody(fr_explain_text *out, const fr_stage *stage, bool is_large)
{
    fr_pool_statistics pool;
    fr_pool_statistics_read(stage->pool, &pool);
    if (pool.worker_count == 0)
        fr_explain_say(out,
                       "it can run, and there are no workers: it does when somebody waits%s, polls "
                       "or calls flyrail_run\n",
                       is_large ? " without a timeout" : "");
    else
        fr_explain_say(out,
                       "it can run, and no thread has come to it yet: of %u workers %u sleep\n",
                       pool.worker_count, pool.sleeping_count);
}

static void fr_explain_step(fr_explain_text *out, const fr_stage *stage, const fr_explanation *step)
{
    unsigned long long next = step->next_id;
    fr_explain_who(out, step);
    switch (step->why) {
    case FR_WHY_BEHIND:
        fr_explain_say(out, "0x%llx comes before it at its ordinal\n", next);
        break;
    case FR_WHY_PRODUCER:
        fr_explain_say(out, "it waits for 0x%llx\n", next);
        break;
    case FR_WHY_RUNNING:
        fr_explain_say(out, "a thread is running it\n");
        break;
    case FR_WHY_ELSEWHERE:
        fr_explain_say(out, "it waits for %s\n", step->what);
        break;
    case FR_WHY_WAITS_INSIDE:
        fr_explain_say(out, "a thread is running it, and waits inside it for ");
        if (next != 0)
            fr_explain_say(out, "0x%llx\n", next);
        else
            fr_explain_say(out, "%s\n", step->what);
        break;
    case FR_WHY_NOBODY:
        fr_explain_nobody(out, stage, step->is_large);
        break;
    default:
        fr_explain_say(out, "it is complete\n");
        break;
    }
}

static void fr_explain_chain(fr_explain_text *out, fr_stage *stage, uint64_t id)
{
    fr_explanation last[FR_EXPLAIN_LAST]; /* step k at k % FR_EXPLAIN_LAST */
    uint32_t count = 0;
    while (id != 0 && count < FR_EXPLAIN_STEPS) {
        fr_explanation *step = &last[count % FR_EXPLAIN_LAST];
        fr_graph_explain(stage->graph, id, fr_explain_name, step);
        if (count < FR_EXPLAIN_FIRST)
            fr_explain_step(out, stage, step);
        count++;
        id = step->next_id;
    }
    uint32_t next = count < FR_EXPLAIN_FIRST ? count : FR_EXPLAIN_FIRST;
    if (count > FR_EXPLAIN_FIRST + FR_EXPLAIN_LAST) {
        next = count - FR_EXPLAIN_LAST;
        fr_explain_say(out, ".. and so on: %u steps are left out ..\n", next - FR_EXPLAIN_FIRST);
    }
    for (; next < count; next++)
        fr_explain_step(out, stage, &last[next % FR_EXPLAIN_LAST]);
    if (id != 0)
        fr_explain_say(out, "and so on: no more than %u steps are looked at\n", FR_EXPLAIN_STEPS);
}

/* --- maps ------------------------------------------------------------------------------------- */

typedef struct fr_explain_maps {
    uint64_t ordinals[FR_EXPLAIN_MAPS];
    uint32_t count;
} fr_explain_maps;

static void fr_explain_map(void *object, void *user)
{
    const fr_map *map = object;
    fr_explain_maps *maps = user;
    if (maps->count < FR_EXPLAIN_MAPS)
        maps->ordinals[maps->count] = map->ordinal;
    maps->count++;
}

static void fr_explain_open_maps(fr_explain_text *out, const fr_stage *stage)
{
    fr_explain_maps maps = {.count = 0};
    fr_handles_each(stage->handles, FR_HANDLE_MAP, fr_explain_map, &maps);
    if (maps.count == 0)
        return;
    fr_explain_say(out, "maps that are open: %u, at ordinal", maps.count);
    for (uint32_t k = 0; k < maps.count && k < FR_EXPLAIN_MAPS; k++)
        fr_explain_say(out, "%s %llu", k ? "," : "", (unsigned long long)maps.ordinals[k]);
    fr_explain_say(out, "%s; they hold nobody up\n", maps.count > FR_EXPLAIN_MAPS ? ", .." : "");
}

/* --- the call --------------------------------------------------------------------------------- */

static void fr_explain_failure(fr_explain_text *out, fr_stage *stage, uint64_t id)
{
    char buffer[256];
    fr_op_failure failure;
    if (!fr_graph_op_failure(stage->graph, id, &failure, buffer, sizeof(buffer)))
        return;
    fr_explain_say(out, "operation 0x%llx: it failed: %.*s\n", (unsigned long long)id,
                   (int)failure.text.length, failure.text.ptr ? failure.text.ptr : "");
    if (failure.cause_id != 0)
        fr_explain_say(out, "its cause is operation 0x%llx\n",
                       (unsigned long long)failure.cause_id);
}

ovstage_api_status_t flyrail_explain(ovstage_instance_t *instance, ovstage_op_id_t op_id,
                                     char *text, size_t text_bytes, size_t *out_length)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status == OVSTAGE_OK && !text && text_bytes > 0)
        status = fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "text is NULL, text_bytes is %zu",
                              text_bytes);
    if (status != OVSTAGE_OK)
        return status;
    fr_op_state state = fr_graph_op_state(stage->graph, op_id);
    if (state == FR_OP_UNKNOWN)
        return fr_error_set(OVSTAGE_ERROR_INVALID_HANDLE,
                            "operation 0x%llx is not of this instance, or released",
                            (unsigned long long)op_id);
    fr_explain_text out = {text, text_bytes, 0};
    if (text_bytes > 0)
        text[0] = 0;
    if (state == FR_OP_FAILED)
        fr_explain_failure(&out, stage, op_id);
    else
        fr_explain_chain(&out, stage, op_id);
    if (state == FR_OP_PENDING)
        fr_explain_open_maps(&out, stage);
    if (out_length)
        *out_length = out.length;
    return OVSTAGE_OK;
}
