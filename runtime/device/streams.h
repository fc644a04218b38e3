/* Our own streams on one device, and gates.
 *
 * A stream carries work of one lane at a time: a lane whose producers are not done must not hold up
 * another one. So a stream with work that is not over is taken by its lane alone, and there are
 * more streams as lanes need them, up to FR_STREAMS_MAX for those that are stalled. A gate carries
 * nothing but the waits of one op for what its source depends on; gates are not limited, since each
 * of many stalled lanes needs its own. An op that finds no stream parks (park.h), does without, or,
 * if it can do neither, has one more with the gates, in a lane of its own (run.h, begin_more).
 *
 * For which kind of work a stream is taken is asked before: by what the work is known to wait for.
 * It may come to wait for more, as for what its lane has put into a client's stream that is
 * stalled. Then the stream turns, and counts as stalled until its work is over. Those that turn are
 * not limited, since their work is under way; but above them there are always FR_STREAMS_SPARE that
 * are not stalled, or that may be made. So no number of stalled lanes holds up one that is not.
 *
 * Threads: all; a stream is in use by one thread at a time, from take to give. Progress: short
 * lock, no call of the table while it is held. Memory: as many streams as were busy at once. */
#ifndef FR_RUNTIME_DEVICE_STREAMS_H
#define FR_RUNTIME_DEVICE_STREAMS_H

#include "runtime/device/fence.h"

#define FR_STREAMS_MAX 32u
/* However many lanes are stalled, those that are not find one of these: it is soon free again. */
#define FR_STREAMS_SPARE 8u

typedef enum fr_stream_kind {
    FR_STREAM_STALLED, /* for work that waits for a producer which is not done */
    FR_STREAM_WORK,    /* for other work: there are FR_STREAMS_SPARE more for it */
    FR_STREAM_GATE,
} fr_stream_kind;

struct fr_own_stream {
    fr_own_stream *next; /* of the device's list */
    fr_device_stream stream;
    fr_fence_queue pending;
    uint64_t lane;       /* whose work it carries */
    fr_stream_kind kind; /* of what it was taken for, or is since it has turned; as long as it is
                            stalled, that. Of one that is taken it is who has it that changes it */
    bool taken;          /* by a thread; or `ended` */
    bool ended;          /* of no use any more: the record is there for another stream */
};

typedef struct fr_streams {
    fr_slabs records;
    fr_own_stream *work, *gates;
    uint32_t work_count, gate_count;
} fr_streams;

/* Reads of an ordinal share streams of their own: what a lane's stream waits for holds up the
 * writes of that lane, and no read of something else. And so what an op of a lane puts into streams
 * of ours piece by piece goes into one. */
static inline uint64_t fr_streams_lane_of_reads(uint64_t ordinal)
{
    return ~ordinal;
}
/* The same of reads that wait themselves: those that do not must not come behind them. */
static inline uint64_t fr_streams_lane_of_stalled_reads(uint64_t ordinal)
{
#ifdef FR_MUTATE_DEVICE_READS_STALL_EACH_OTHER
    return fr_streams_lane_of_reads(ordinal);
#else
    return ~ordinal ^ UINT64_C(1) << 62;
#endif
}
/* Whose a stream of a lane is that has turned: one of reads that do not wait must not be in the way
 * of others any more. */
static inline uint64_t fr_streams_lane_of_turned(uint64_t lane)
{
#ifndef FR_MUTATE_DEVICE_TURNED_READS_STAY
    /* Of lanes of reads alone both bits are set: ordinals in use are lower. */
    if (lane >> 62 == 3)
        return fr_streams_lane_of_stalled_reads(~lane);
#endif
    return lane;
}
/* Seals put in here what waits for no producer: in the lane of an ordinal it would come behind what
 * other columns wait for there. No ordinal in use is as high; one that is shares the streams. */
static inline uint64_t fr_streams_lane_of_seals(uint64_t ordinal)
{
#ifdef FR_MUTATE_DEVICE_SEALS_IN_THE_LANE
    return ordinal;
#else
    (void)ordinal;
    return UINT64_C(1) << 63;
#endif
}

/* A task has a stream of its own: what it puts there may wait for long, and others, which it knows
 * nothing of, must not wait behind it. */
static inline uint64_t fr_streams_lane_of_task(uint64_t op_id)
{
    return (UINT64_C(1) << 63) + 1 + op_id;
}

/* Streams of both kinds of work together, above which no more are made for that kind, but for the
 * spare ones. */
static inline uint32_t fr_streams_limit(fr_stream_kind kind)
{
    return kind == FR_STREAM_STALLED ? FR_STREAMS_MAX : FR_STREAMS_MAX + FR_STREAMS_SPARE;
}

void fr_streams_init(fr_opened *opened, const fr_allocator *allocator);
void fr_streams_destroy(fr_opened *opened); /* entered */

/* For what a lane puts into it. Entered. NULL: the fault says why, or with *all_busy set there
 * are as many as may be, each with another lane's work. */
fr_own_stream *fr_streams_take(fr_opened *opened, fr_stream_kind kind, uint64_t lane,
                               bool *all_busy, fr_device_fault *fault);
/* Whether it is pending, and what it is behind may be stalled: work in a client's stream, of which
 * nothing is known, or in one of ours that is not for work that waits for nobody. */
bool fr_fence_may_stall(const fr_fence *fence);
/* The stream, which is the caller's, waits for the fence now. Entered. */
void fr_streams_turn(fr_opened *opened, fr_own_stream *stream, const fr_fence *fence);
/* Without locks; an op that waits for it is resumed. */
void fr_streams_give(fr_opened *opened, fr_own_stream *stream);
/* Some of its work is over. Calls to be made are put in front of *due. */
void fr_streams_look(fr_opened *opened, fr_own_stream *stream, fr_fence_call **due);
/* In place of give: nobody takes it any more. Entered, without locks. */
void fr_streams_discard(fr_opened *opened, fr_own_stream *stream);

/* With the list lock held, for park.h: whether take would find one or make one; whether one that is
 * free may be of that kind; it is, and taken. */
bool fr_streams_any_for(const fr_opened *opened, fr_stream_kind kind, uint64_t lane);
/* For begin.h: the last that a stalled stream of the lane's has to do: a reference, or NULL. */
fr_fence *fr_streams_lane_stalled_by(const fr_opened *opened, uint64_t lane);
bool fr_streams_may_be(const fr_opened *opened, const fr_own_stream *stream, fr_stream_kind kind);
void fr_stream_become(fr_own_stream *stream, fr_stream_kind kind, uint64_t lane);

#endif
