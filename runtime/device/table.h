/* What the runtime asks of devices, as one table, so that nothing here knows whose devices they
 * are: cuda/ fills it, and tests fill it with devices of their own.
 *
 * Owns: the types that cross this line. Devices are numbered from 0 as the backend numbers them;
 * such a number, or FR_PLACE_HOST, is a place.
 *
 * Answers: a call that can fail answers false and fills *fault, which says what to answer to whom;
 * it then has done nothing, except where said otherwise. *fault stays as it was after success.
 * Calls that answer nothing cannot fail.
 *
 * Threads: every call may be made from any thread, and for one device from several at once. The
 * order that two threads' calls get in one stream is open. No call waits for work of a device,
 * `open` excepted; that, `pin` and an `allocate` that makes the pool grow may take milliseconds,
 * and any call may wait for another thread's that does. So none is made with an fr_mutex held, nor
 * on a path that must be short.
 *
 * Entering: what has a device, a stream or an event needs its device entered, on the thread that
 * calls: all calls but count, open, close, memory_bytes, kept_bytes, enter, leave and
 * place_of_client. Pairs nest as brackets do, and no code of a client runs between the two. After
 * leave the thread has the context and the capture mode that it had before enter.
 *
 * Ownership: streams and events are values, to be copied freely; who made one ends it once. What
 * is alive when a device is closed is an error of the caller. Client handles stay the client's.
 *
 * Death: after a fault of kind FR_DEVICE_DEAD every call for that device answers that fault,
 * without reaching the driver, and what frees or ends does nothing: the process cannot get back
 * what lies there. `leave` and `close` are made as always. No event is told done any more, not even
 * one that was. */
#ifndef FR_RUNTIME_DEVICE_TABLE_H
#define FR_RUNTIME_DEVICE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FR_PLACE_HOST (-1)
#define FR_STRIDED_DIMS 8

typedef enum fr_device_fault_kind {
    FR_DEVICE_ABSENT,  /* no such device, or none at all */
    FR_DEVICE_MEMORY,  /* not enough of the device's, or of pinned memory */
    FR_DEVICE_REFUSED, /* a client's stream, event or pointer that cannot be used so */
    FR_DEVICE_FAILED,  /* this call; the device can be used on */
    FR_DEVICE_DEAD     /* the device, for the rest of the process */
} fr_device_fault_kind;

typedef struct fr_device_fault {
    fr_device_fault_kind kind;
    int32_t code;   /* the driver's, or 0 */
    char text[160]; /* the call, the value and the limit */
} fr_device_fault;

typedef struct fr_device
    fr_device; /* the backend's; one for each number, shared by all who open it */

typedef struct fr_device_stream {
    fr_device *device;
    uintptr_t handle; /* what a client of the backend calls a stream */
} fr_device_stream;

typedef struct fr_device_event {
    fr_device *device;
    uintptr_t handle;
} fr_device_event;

/* What a thread had before it entered. Lies with the caller, in place until leave. */
typedef struct fr_device_entry {
    fr_device *device;
    bool pushed;
    uint32_t capture_mode;
} fr_device_entry;

typedef enum fr_device_event_state {
    FR_EVENT_PENDING,
    FR_EVENT_DONE, /* also one that was never recorded */
    FR_EVENT_LOST  /* *fault says why: it will never be done */
} fr_device_event_state;

typedef struct fr_address {
    int32_t place;    /* FR_PLACE_HOST: pinned memory */
    uint64_t address; /* of the host: the pointer */
} fr_address;

/* Row i of `count` goes from from + from_row * from_pitch to to + to_row * to_pitch. A row's number
 * is i, or list[i]. All addresses are of the stream's device, lists and mask included, and what
 * lies there is read when the work runs. Lists are aligned to 4 bytes, the mask to 8; rows to
 * nothing, though rows of 16 bytes at addresses and pitches of 16 are the fastest. The two areas do
 * not overlap. A row that is the target of two is one of them, whole or in parts. */
typedef struct fr_row_move {
    uint64_t to, from;
    uint64_t to_pitch, from_pitch; /* from_pitch 0: every row is the one at `from` */
    uint32_t row_bytes, count;
    uint64_t to_rows, from_rows; /* count numbers of 32 bits each, or 0 */
    uint64_t mask;               /* 0, or ceil(count / 64) words: row i moves if bit i % 64 of word
                                    i / 64 is set */
} fr_row_move;

/* Elements of element_bytes, from one shape to the same with other strides, in bytes. Addresses are
 * of the stream's device. A shape with a 0 in it moves nothing; without dims it is one element. The
 * elements of the target do not overlap each other, nor the source. */
typedef struct fr_strided_copy {
    uint64_t to, from;
    uint32_t dims; /* at most FR_STRIDED_DIMS */
    uint32_t element_bytes;
    int64_t shape[FR_STRIDED_DIMS];
    int64_t to_stride[FR_STRIDED_DIMS], from_stride[FR_STRIDED_DIMS];
} fr_strided_copy;

typedef enum fr_pointer_kind {
    FR_POINTER_HOST,   /* memory that the driver does not know */
    FR_POINTER_PINNED, /* the host's, page-locked */
    FR_POINTER_DEVICE,
    FR_POINTER_MANAGED /* moves by itself; `place` is where it was made */
} fr_pointer_kind;

typedef struct fr_pointer {
    fr_pointer_kind kind;
    int32_t place; /* FR_PLACE_HOST for the first two */
} fr_pointer;

typedef struct fr_device_table {
    /* --- Devices. --- */
    /* How many there are. The first call loads the driver; no call makes a context. With 0 *fault
     * says why, which is no error for who needs none. */
    uint32_t (*count)(fr_device_fault *fault);
    /* The device, one more time: makes it usable in this process the first time, which takes long.
     * ABSENT: index is not below count. */
    bool (*open)(uint32_t index, fr_device **out, fr_device_fault *fault);
    /* Gives that back. No work of the caller is outstanding, all it allocated, pinned and made is
     * released, and the thread has not entered it. Memory of the pool that nobody uses goes back to
     * the system; the rest may stay with the process, for the next one to open it. */
    void (*close)(fr_device *device);
    uint64_t (*memory_bytes)(const fr_device *device); /* that the device has */
    bool (*enter)(fr_device *device, fr_device_entry *entry, fr_device_fault *fault);
    void (*leave)(fr_device_entry *entry);

    /* --- Memory. --- */
    /* At least 256-byte aligned. It may be used by work that this stream gets later, and by other
     * work that waits for an event recorded after this. MEMORY: there is no more. */
    bool (*allocate)(fr_device_stream stream, size_t size_bytes, uint64_t *out,
                     fr_device_fault *fault);
    /* Once the work that is in the stream by now is done; so the stream has waited for all that
     * uses it. size_bytes is what was asked for. */
    void (*release)(fr_device_stream stream, uint64_t address, size_t size_bytes);
    /* Page-locked memory of the host, which every device can copy from and to while the host does
     * something else. */
    bool (*pin)(fr_device *device, size_t size_bytes, void **out, fr_device_fault *fault);
    /* Nothing uses it any more. It stays with the process, for the next who pins as much there. */
    void (*unpin)(fr_device *device, void *memory, size_t size_bytes);
    /* What so stays, of this device. */
    uint64_t (*kept_bytes)(const fr_device *device);
    /* What a pointer is, whoever allocated it. Nothing is read there. */
    bool (*describe)(fr_device *device, const void *pointer, fr_pointer *out,
                     fr_device_fault *fault);

    /* --- Streams. --- */
    /* Waits for no other stream by itself, nor does any for it. */
    bool (*stream_make)(fr_device *device, fr_device_stream *out, fr_device_fault *fault);
    void (*stream_end)(fr_device_stream stream); /* what is in it still runs */
    /* The device that a client's stream is of; 0, 1, 2: that the calling thread uses. *out
     * FR_PLACE_HOST: that cannot be told, or the thread uses none. Nothing is opened for it, and it
     * needs not be entered. */
    bool (*place_of_client)(uintptr_t stream, int32_t *out, fr_device_fault *fault);
    /* Whether all that it has got is done. False also when that cannot be told. */
    bool (*stream_is_idle)(fr_device_stream stream);
    /* A client's: 1 is the legacy default stream, 2 the per-thread default stream of the calling
     * thread, and for calls on this thread only; else a handle. It is never ended. 0 is not one.
     * REFUSED: it captures a graph, or is not of this device's primary context. */
    bool (*stream_of_client)(fr_device *device, uintptr_t handle, fr_device_stream *out,
                             fr_device_fault *fault);

    /* --- Events: a record is a snapshot of its stream, a wait means the last record so far. --- */
    bool (*event_make)(fr_device *device, fr_device_event *out, fr_device_fault *fault);
    void (*event_end)(fr_device_event event); /* also while it is pending: waits for it stay */
    bool (*record)(fr_device_stream stream, fr_device_event event, fr_device_fault *fault);
    /* The stream's next work runs after the record. The event may be of another device; FAILED:
     * that one is dead. */
    bool (*wait)(fr_device_stream stream, fr_device_event event, fr_device_fault *fault);
    /* LOST only with the device: DEAD. */
    fr_device_event_state (*look)(fr_device_event event, fr_device_fault *fault);
    /* Of a client's event, of any device. LOST with REFUSED: the driver does not know it, or its
     * last record is part of a graph's capture. */
    fr_device_event_state (*look_client)(fr_device *device, uintptr_t event,
                                         fr_device_fault *fault);
    /* REFUSED: the event is not of the stream's device, or the driver does not know it. */
    bool (*record_client)(fr_device_stream stream, uintptr_t event, fr_device_fault *fault);
    /* REFUSED: the driver does not know it, or its last record is part of a graph's capture. After
     * a refusal the stream may be part of that capture: it gets no work any more, and is ended. */
    bool (*wait_client)(fr_device_stream stream, uintptr_t event, fr_device_fault *fault);

    /* --- Work: goes to the end of the stream. Sizes and counts of 0 are nothing to do. --- */
    /* Host to device, the other way, within a device, or from one to another. The stream is of
     * `to`'s device, or of `from`'s where `to` is the host. Any other device is open; FAILED: it is
     * dead. Never host to host. */
    bool (*copy)(fr_device_stream stream, fr_address to, fr_address from, size_t size_bytes,
                 fr_device_fault *fault);
    /* `to` is of the stream's device. */
    bool (*fill)(fr_device_stream stream, uint64_t to, uint8_t value, size_t size_bytes,
                 fr_device_fault *fault);
    bool (*move_rows)(fr_device_stream stream, const fr_row_move *move, fr_device_fault *fault);
    bool (*copy_strided)(fr_device_stream stream, const fr_strided_copy *copy,
                         fr_device_fault *fault);
} fr_device_table;

#ifdef __cplusplus
}
#endif

#endif
