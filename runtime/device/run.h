/* One op at work on one device: the stream it uses, the waits, and the fence behind its work.
 *
 * begin enters the device and takes a stream. Each payload that is read or written is named first,
 * which makes the stream wait for what it must; record puts the fence behind all of it and enters
 * it with all payloads that were named; end gives back what was taken for the work, as soon as the
 * device is done with it, and leaves.
 *
 * Threads: one. */
#ifndef FR_RUNTIME_DEVICE_RUN_H
#define FR_RUNTIME_DEVICE_RUN_H

#include "runtime/device/staging.h"
#include "runtime/device/wait_for.h"

#define FR_DEVICE_RUN_FEW 4u

/* Why a payload is named. What is not named is not waited for, and may be another payload's before
 * the work is over, which no test of the host alone would see: so each of these has a mutation. */
typedef enum fr_use {
    /* Read: */
    FR_USE_AS_IT_LIES,         /* rows of a part, on the way to the host */
    FR_USE_BROUGHT,            /* rows of a part, or what they were put together in, elsewhere */
    FR_USE_GATHER_BASE,        /* all rows of a state */
    FR_USE_GATHER_CHANGE,      /* and what lies over them */
    FR_USE_ELEMENTS,           /* of arrays, which are gathered */
    FR_USE_FILTERED,           /* values that a filter looks at */
    FR_USE_CLONE_SOURCE,       /* rows that a clone puts together */
    FR_USE_CLONED,             /* and makes copies of */
    FR_USE_MAPPED,             /* a session's buffer, of which rows are copied */
    FR_USE_MAPPED_TO_HOST,     /* the same, to the host */
    FR_USE_ROWS_ELSEWHERE,     /* what a write has put together on another device */
    FR_USE_ELEMENTS_ELSEWHERE, /* the same of arrays */
    FR_USE_ELEMENTS_MAPPED,    /* a session's, from another device */
    FR_USE_TARGET_ELEMENTS_MAPPED, /* a session's, which stay where they are */
    FR_USE_WRITTEN_BEFORE,         /* by the ordinal, which a copy takes the place of */
    FR_USE_NEW_KEYS,               /* the same of keys that have no place yet */
    FR_USE_LAID_OUT,               /* which a seal gives their places */
    FR_USE_OLDER_STATE,            /* whose rows are saved before its payload is used again */
    FR_USE_FOLDED,                 /* a head, and what is folded into it */
    /* Written: */
    FR_USE_GATHERED,           /* rows that a read wants otherwise than they lie */
    FR_USE_GATHERED_ELSEWHERE, /* the same, where they lie */
    FR_USE_CLONE_TOGETHER,     /* rows that copies are made of */
    FR_USE_ROWS_TOGETHER,      /* by a write, on another device */
    FR_USE_ELEMENTS_TOGETHER,  /* the same of arrays */
    FR_USE_TARGET,             /* by a write */
    FR_USE_TARGET_ELEMENTS,    /* the same of arrays */
    FR_USE_TARGET_MAPPED,      /* a session's buffer, which becomes a version as it is */
    FR_USE_MAP_CLEARED,        /* a session's buffer */
    FR_USE_SAVED,              /* of an older state */
    FR_USE_NEXT_HEAD,          /* by a fold */
    FR_USE_TEMPORARY,
} fr_use;

typedef struct fr_device_use {
    fr_placed *placed;
    bool writes;
} fr_device_use;

typedef struct fr_device_run {
    fr_opened *opened;
    fr_device_entry entry;
    fr_device_stream stream;
    fr_own_stream *own; /* NULL: `stream` is a client's */
    fr_fence *done;     /* what record will record; then it is recorded */
    bool recorded;
    bool put;      /* work is in the stream */
    bool all_busy; /* begin failed, for there was no stream of its kind */
    fr_device_use *uses, few[FR_DEVICE_RUN_FEW];
    uint32_t use_count, use_capacity;
    fr_staged *staged;      /* that the work reads */
    fr_staged *homeward;    /* that it writes, and that the caller gives */
    fr_placed *temporaries; /* that nobody else knows */
} fr_device_run;

/* client_stream 0: one of ours, for the work of that lane. dep: what comes before all of it, or
 * NULL. False: the fault says why, and nothing is held. */
bool fr_device_run_begin(fr_device_run *run, fr_opened *opened, uintptr_t client_stream,
                         uint64_t lane, const fr_fence *dep, fr_device_fault *fault);
/* For what cannot park: where all streams are busy, in one more, which goes with the gates. */
bool fr_device_run_begin_any(fr_device_run *run, fr_opened *opened, uint64_t lane,
                             const fr_fence *dep, fr_device_fault *fault);
/* The same with a kind that is known, and where it may be a client's stream. */
bool fr_device_run_begin_any_in(fr_device_run *run, fr_opened *opened, fr_stream_kind kind,
                                uintptr_t client_stream, uint64_t lane, const fr_fence *dep,
                                fr_device_fault *fault);
/* In such a one. */
bool fr_device_run_begin_more(fr_device_run *run, fr_opened *opened, uint64_t lane,
                              const fr_fence *dep, fr_device_fault *fault);
/* The same in a stream of that kind, where it is one of ours. In a gate: waits and records alone.
 */
bool fr_device_run_begin_in(fr_device_run *run, fr_opened *opened, fr_stream_kind kind,
                            uintptr_t client_stream, uint64_t lane, const fr_fence *dep,
                            fr_device_fault *fault);
/* The same, in a stream of ours that the caller has taken: it is the run's, also when it fails. */
bool fr_device_run_begin_given(fr_device_run *run, fr_opened *opened, fr_own_stream *given,
                               const fr_fence *dep, fr_device_fault *fault);
/* In which kind of stream begin does. */
static inline fr_stream_kind fr_device_run_kind(const fr_fence *dep)
{
    return dep && !fr_fence_is_over(dep) ? FR_STREAM_STALLED : FR_STREAM_WORK;
}
/* Each payload once, before work on it. */
bool fr_device_run_reads(fr_device_run *run, fr_placed *placed, fr_use use, fr_device_fault *fault);
bool fr_device_run_writes(fr_device_run *run, fr_placed *placed, fr_use use,
                          fr_device_fault *fault);
/* Within the device. */
bool fr_device_run_copy(fr_device_run *run, uint64_t to, uint64_t from, size_t size_bytes,
                        fr_device_fault *fault);
bool fr_device_run_move(fr_device_run *run, const fr_row_move *move, fr_device_fault *fault);
/* From any device: what keeps the memory there is the caller's. */
bool fr_device_run_copy_from(fr_device_run *run, uint64_t to, fr_address from, size_t size_bytes,
                             fr_device_fault *fault);
/* What lies on another device, or on this one, is named and copied: what it lies in, and the memory
 * of both ends, is held until the copy is over. */
bool fr_device_run_bring(fr_device_run *run, uint64_t to, fr_placed *from, fr_use use,
                         size_t size_bytes, fr_device_fault *fault);
bool fr_device_run_fill(fr_device_run *run, uint64_t to, uint8_t value, size_t size_bytes,
                        fr_device_fault *fault);
/* Memory for what is to be uploaded, which the host fills; then its upload. NULL: the fault says
 * why. */
void *fr_device_run_stage(fr_device_run *run, size_t size_bytes, fr_device_fault *fault);
bool fr_device_run_upload(fr_device_run *run, uint64_t to, const void *staged, size_t size_bytes,
                          fr_device_fault *fault);
/* The other way, into pinned memory that is the caller's from the end of the run on. */
fr_staged *fr_device_run_take_staging(fr_device_run *run, size_t size_bytes,
                                      fr_device_fault *fault);
bool fr_device_run_download(fr_device_run *run, void *staged, uint64_t from, size_t size_bytes,
                            fr_device_fault *fault);
/* Memory of the device for as long as the work goes on, written by it. NULL: the fault says why. */
fr_placed *fr_device_run_temporary(fr_device_run *run, size_t size_bytes, fr_device_fault *fault);
/* The same for memory that is there, of any device, and that nobody else knows any more. */
void fr_device_run_dispose(fr_device_run *run, fr_placed *placed);
/* The fence behind all of it. */
bool fr_device_run_record(fr_device_run *run, fr_device_fault *fault);
/* A client's event, behind all that the stream has. */
bool fr_device_run_available(const fr_device_run *run, uintptr_t event, fr_device_fault *fault);
void fr_device_run_end(fr_device_run *run);

#endif
