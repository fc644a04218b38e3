#include "runtime/device/streams.h"

#include "runtime/device/devices.h"

#define FR_STREAMS_PER_SLAB 16

void fr_streams_init(fr_opened *opened, const fr_allocator *allocator)
{
    fr_slabs_open(&opened->streams.records, allocator, sizeof(fr_own_stream), FR_STREAMS_PER_SLAB);
}

static void fr_streams_end(fr_opened *opened, fr_own_stream *list)
{
    for (; list; list = list->next)
        if (!list->ended)
            opened->devices->table->stream_end(list->stream);
}

void fr_streams_destroy(fr_opened *opened)
{
    fr_streams_end(opened, opened->streams.work);
    fr_streams_end(opened, opened->streams.gates);
    fr_slabs_close(&opened->streams.records, NULL);
}

/* With the lock held: one of the lane's own, else one without work, else NULL. */
static fr_own_stream *fr_streams_find_in(fr_own_stream *list, uint64_t lane)
{
    fr_own_stream *found = NULL;
    for (fr_own_stream *stream = list; stream; stream = stream->next) {
        if (stream->taken)
            continue;
        if (!stream->pending.first)
            found = stream;
        else if (stream->lane == lane)
            return stream;
    }
#ifdef FR_MUTATE_DEVICE_STREAM_OF_ANOTHER_LANE
    if (!found && list && !list->taken)
        found = list;
#endif
    return found;
}

static bool fr_stream_is_stalled(const fr_own_stream *stream)
{
    return stream->kind == FR_STREAM_STALLED && !stream->ended &&
           (stream->taken || stream->pending.first);
}

/* With the lock held. */
static uint32_t fr_streams_count_stalled(const fr_opened *opened)
{
    uint32_t stalled = 0;
    for (const fr_own_stream *stream = opened->streams.work; stream; stream = stream->next)
        stalled += fr_stream_is_stalled(stream);
    return stalled;
}

fr_fence *fr_streams_lane_stalled_by(const fr_opened *opened, uint64_t lane)
{
    fr_fence *last = NULL;
    for (const fr_own_stream *stream = opened->streams.work; stream && !last; stream = stream->next)
        if (stream->lane == lane && fr_stream_is_stalled(stream))
            last = stream->pending.last;
    if (last)
        fr_fence_retain(last);
    return last;
}

/* The spare ones are left to work that waits for nobody, or it would find none when they are
 * stalled as well. */
bool fr_streams_may_be(const fr_opened *opened, const fr_own_stream *stream, fr_stream_kind kind)
{
#ifdef FR_MUTATE_DEVICE_SPARES_STALL
    return true;
#endif
    return kind != FR_STREAM_STALLED || fr_stream_is_stalled(stream) ||
           fr_streams_count_stalled(opened) < FR_STREAMS_MAX;
}

void fr_stream_become(fr_own_stream *stream, fr_stream_kind kind, uint64_t lane)
{
    if (!fr_stream_is_stalled(stream))
        stream->kind = kind;
    stream->taken = true;
    stream->lane = lane;
}

/* With the lock held: NULL when there is none. */
static fr_own_stream *fr_streams_find(const fr_opened *opened, fr_stream_kind kind, uint64_t lane)
{
    const fr_streams *streams = &opened->streams;
    fr_own_stream *list = kind == FR_STREAM_GATE ? streams->gates : streams->work;
    fr_own_stream *found = fr_streams_find_in(list, lane);
    return found && fr_streams_may_be(opened, found, kind) ? found : NULL;
}

/* With the lock held. Those that are being made count as not stalled. */
static bool fr_streams_has_spare(const fr_opened *opened)
{
#ifdef FR_MUTATE_DEVICE_SPARES_ARE_COUNTED
    return true;
#endif
    return opened->streams.work_count - fr_streams_count_stalled(opened) >= FR_STREAMS_SPARE;
}

static bool fr_streams_may_make_more(const fr_opened *opened, fr_stream_kind kind)
{
#ifdef FR_MUTATE_DEVICE_NO_SPARE_STREAMS
    return kind == FR_STREAM_GATE || opened->streams.work_count < FR_STREAMS_MAX;
#endif
    return kind == FR_STREAM_GATE || opened->streams.work_count < fr_streams_limit(kind) ||
           (kind == FR_STREAM_WORK && !fr_streams_has_spare(opened));
}

bool fr_streams_any_for(const fr_opened *opened, fr_stream_kind kind, uint64_t lane)
{
    return fr_streams_find(opened, kind, lane) || fr_streams_may_make_more(opened, kind);
}

static fr_own_stream *fr_streams_find_any(fr_opened *opened, fr_stream_kind kind, uint64_t lane)
{
    fr_mutex_lock(&opened->lock);
    fr_own_stream *found = fr_streams_find(opened, kind, lane);
    if (found)
        fr_stream_become(found, kind, lane);
    fr_mutex_unlock(&opened->lock);
    return found;
}

/* The record of a stream that was discarded, when nothing refers to it as that. It stays in its
 * list, through which others look; and a fence that is pending says by it in which stream it is. */
static fr_own_stream *fr_streams_take_ended(fr_opened *opened, fr_own_stream *const *list)
{
    fr_mutex_lock(&opened->lock);
    fr_own_stream *found = *list;
    while (found && (!found->ended || found->pending.first))
        found = found->next;
    if (found)
        found->ended = false;
    fr_mutex_unlock(&opened->lock);
    return found;
}

static fr_own_stream *fr_streams_make(fr_opened *opened, fr_stream_kind kind, uint64_t lane,
                                      fr_device_fault *fault)
{
    fr_streams *streams = &opened->streams;
    fr_own_stream **list = kind == FR_STREAM_GATE ? &streams->gates : &streams->work;
    fr_device_stream stream;
    fr_own_stream *ended = fr_streams_take_ended(opened, list);
    fr_own_stream *made = ended ? ended : fr_slabs_get(&streams->records);
    if (!made) {
        fr_device_fault_memory(fault, sizeof(*made));
        return NULL;
    }
    bool enough = opened->devices->table->stream_make(opened->device, &stream, fault);
    if (!enough) {
        fr_opened_note(opened, fault);
        if (!ended) {
            fr_slabs_put(&streams->records, made);
            return NULL;
        }
    }
    fr_mutex_lock(&opened->lock);
    if (!ended) {
        made->pending = (fr_fence_queue){NULL, NULL};
        made->next = *list;
        *list = made;
    }
    made->stream = stream;
    made->lane = lane;
    made->kind = kind;
    made->taken = true;
    made->ended = !enough;
    fr_mutex_unlock(&opened->lock);
    return enough ? made : NULL;
}

/* With the lock held: one more is counted before it is made. */
static bool fr_streams_count_more(fr_opened *opened, fr_stream_kind kind)
{
    uint32_t *count =
        kind == FR_STREAM_GATE ? &opened->streams.gate_count : &opened->streams.work_count;
    bool may = fr_streams_may_make_more(opened, kind);
    *count += may;
    return may;
}

static bool fr_streams_may_make(fr_opened *opened, fr_stream_kind kind)
{
    fr_mutex_lock(&opened->lock);
    bool may = fr_streams_count_more(opened, kind);
    fr_mutex_unlock(&opened->lock);
    return may;
}

/* One that is counted. NULL: the fault says why. */
static fr_own_stream *fr_streams_make_counted(fr_opened *opened, fr_stream_kind kind, uint64_t lane,
                                              fr_device_fault *fault)
{
    fr_own_stream *made = fr_streams_make(opened, kind, lane, fault);
    if (made)
        return made;
    fr_mutex_lock(&opened->lock);
    (kind == FR_STREAM_GATE ? &opened->streams.gate_count : &opened->streams.work_count)[0]--;
    fr_mutex_unlock(&opened->lock);
#ifndef FR_MUTATE_DEVICE_UNMADE_TELLS_NOBODY
    if (kind != FR_STREAM_GATE)
        fr_stream_waits_wake_all(opened); /* who waits since it was counted may make one */
#endif
    return NULL;
}

/* A stream is stalled from now on: if that leaves too few, and somebody is parked who waits for
 * nobody, there is one more, which giving it back gives to him. */
static void fr_streams_replace(fr_opened *opened)
{
#ifdef FR_MUTATE_DEVICE_TURNED_TELLS_NOBODY
    return;
#endif
    fr_device_fault fault;
    fr_mutex_lock(&opened->lock);
    bool makes = fr_stream_waits_any(opened, FR_STREAM_WORK) &&
                 fr_streams_count_more(opened, FR_STREAM_WORK);
    fr_mutex_unlock(&opened->lock);
    fr_own_stream *made = makes ? fr_streams_make_counted(opened, FR_STREAM_WORK, 0, &fault) : NULL;
    if (made)
        fr_streams_give(opened, made);
}

fr_own_stream *fr_streams_take(fr_opened *opened, fr_stream_kind kind, uint64_t lane,
                               bool *all_busy, fr_device_fault *fault)
{
    *all_busy = false;
    fr_own_stream *taken = fr_streams_find_any(opened, kind, lane);
    if (!taken && !fr_streams_may_make(opened, kind)) {
        *all_busy = true;
        return NULL;
    }
    if (!taken)
        taken = fr_streams_make_counted(opened, kind, lane, fault);
#ifndef FR_MUTATE_DEVICE_MADE_TELLS_NOBODY
    if (taken && kind == FR_STREAM_STALLED) /* until then it counted as one that is not */
        fr_streams_replace(opened);
#endif
    return taken;
}

/* --- turning ---------------------------------------------------------------------------------- */

bool fr_fence_may_stall(const fr_fence *fence)
{
    fr_opened *opened = fence->opened;
    fr_mutex_lock(&opened->lock);
    bool may = !fr_fence_is_over(fence); /* changes under the lock; so its stream is what it was */
#ifdef FR_MUTATE_DEVICE_CLIENTS_NEVER_STALL
    may = may && fence->stream;
#endif
#ifdef FR_MUTATE_DEVICE_STALLED_STALLS_NOBODY
    may = may && !fence->stream;
#endif
    may = may && (!fence->stream || fence->stream->kind != FR_STREAM_WORK);
    fr_mutex_unlock(&opened->lock);
    return may;
}

void fr_streams_turn(fr_opened *opened, fr_own_stream *stream, const fr_fence *fence)
{
#ifdef FR_MUTATE_DEVICE_NEVER_TURNS
    return;
#endif
    if (stream->kind != FR_STREAM_WORK || !fr_fence_may_stall(fence))
        return;
    fr_mutex_lock(&opened->lock);
    stream->kind = FR_STREAM_STALLED;
    stream->lane = fr_streams_lane_of_turned(stream->lane);
    fr_mutex_unlock(&opened->lock);
    fr_streams_replace(opened);
}

/* --- the end ---------------------------------------------------------------------------------- */

void fr_streams_give(fr_opened *opened, fr_own_stream *stream)
{
    fr_mutex_lock(&opened->lock);
    stream->taken = false;
    fr_stream_given given = {NULL, NULL};
#ifndef FR_MUTATE_DEVICE_GIVE_TELLS_NOBODY
    given = fr_stream_waits_give(opened, stream);
#endif
    fr_mutex_unlock(&opened->lock);
    if (fr_stream_given_resumes(given))
        fr_stream_wait_resume(given.wait);
}

void fr_streams_look(fr_opened *opened, fr_own_stream *stream, fr_fence_call **due)
{
#ifdef FR_MUTATE_DEVICE_LOOK_GIVES_NOTHING
    return;
#endif
    fr_mutex_lock(&opened->lock);
    fr_stream_given given = fr_stream_waits_give(opened, stream);
    fr_mutex_unlock(&opened->lock);
    if (!fr_stream_given_resumes(given))
        return;
    given.wait->given.next = *due;
    *due = &given.wait->given;
}

void fr_streams_discard(fr_opened *opened, fr_own_stream *stream)
{
    opened->devices->table->stream_end(stream->stream);
    fr_mutex_lock(&opened->lock);
    bool was_gate =
        stream->kind == FR_STREAM_GATE; /* another thread may use the record from here on */
    stream->ended = true;               /* and taken */
    opened->streams.gate_count -= was_gate;
    opened->streams.work_count -= !was_gate;
    fr_mutex_unlock(&opened->lock);
#ifndef FR_MUTATE_DEVICE_DISCARD_TELLS_NOBODY
    if (!was_gate)
        fr_stream_waits_wake_all(opened);
#endif
}
