/* A client of ovstage.placement on whichever CUDA driver this machine has, the simulated one
 * included: streams, events, memory and stalls of its own, and the stage in short calls.
 *
 * The stage is used through its public headers alone, and finds the driver by itself. What a call
 * made belongs to the client, which gives all of it back at its end, also after a check that
 * failed. The first thing that goes wrong is kept in `failure`; what follows from it is not.
 *
 * Threads: one for each client. Several may share one stage, which is the first one's. */
#ifndef FR_TESTS_DEVICES_CLIENT_H
#define FR_TESTS_DEVICES_CLIENT_H

#include <flyrail/flyrail.h>
#include <ovstage/ovstage_api/experimental/ovstage_placement_extension.h>
#include <ovx/path_dictionary/path_dictionary.h>

#include "cuda/loader.h"

enum { CLIENT_DEVICES = 2, CLIENT_MOST_THINGS = 4096, CLIENT_MOST_VALUES = 1024 };

typedef struct client_driver {
    fr_cuda_library library;
    const fr_cuda_driver *cu;
    int device_count; /* of those that are used */
    fr_cu_context contexts[CLIENT_DEVICES];
    char name[128]; /* of device 0 */
    bool is_simulated;
} client_driver;

/* NULL, or why there is no CUDA. */
const char *client_driver_open(client_driver *self);
void client_driver_close(client_driver *self);

typedef enum client_kind {
    CLIENT_STREAM,
    CLIENT_EVENT,
    CLIENT_MEMORY,
    CLIENT_PINNED,
    CLIENT_GATE
} client_kind;

typedef struct client_thing {
    client_kind kind;
    int device;
    void *handle;
} client_thing;

typedef struct client {
    const client_driver *driver;
    const fr_cuda_driver *cu;
    ovstage_instance_t *stage;
    path_dictionary_instance_t *dictionary;
    bool owns_stage;
    uint32_t thing_count;
    char failure[1024];                     /* "" while all is well */
    fr_cu_stream consumers[CLIENT_DEVICES]; /* made when first needed */
    client_thing things[CLIENT_MOST_THINGS];
} client;

/* A stage of its own; history_versions as in flyrail_config_t. */
void client_begin(client *self, const client_driver *driver, uint32_t workers,
                  uint32_t history_versions);
/* On the stage of another one, on the calling thread. */
void client_join(client *self, const client *other);
/* Lets go of what stalls, ends the stage if it is its own, then gives everything back. False when
 * anything went wrong since it began. */
bool client_end(client *self);
void client_fail(client *self, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Answers `holds`; if it does not, the text is the failure. */
bool client_check(client *self, bool holds, const char *file, int line, const char *text);
/* Whether the stage's call worked; if it did not, its text is the failure. */
bool client_accepted(client *self, ovstage_api_status_t status, const char *what);
#define CLIENT_CHECK(self, condition) client_check(self, condition, __FILE__, __LINE__, #condition)

/* --- The device's side. --- */
/* What is made, recorded and launched on this thread from here on is of that device. */
void client_use(client *self, int device);
fr_cu_stream client_stream(client *self, int device);
fr_cu_event client_event(client *self, int device);
fr_cu_device_ptr client_memory(client *self, int device, size_t size_bytes);
void *client_pinned(client *self, size_t size_bytes);
/* Floats on a device, and the pinned memory that a producer copies them from. Making memory may
 * wait for the device, so it is made before anything stalls. */
typedef struct client_source {
    int device;
    uint32_t count;
    fr_cu_device_ptr memory;
    float *staged;
} client_source;
client_source client_source_make(client *self, int device, uint32_t count);
/* Float k becomes first + k, on the stream. What it produced before must have been copied. */
void client_produce(client *self, fr_cu_stream stream, const client_source *source, float first);
/* The same, but into other memory of that device. */
void client_produce_into(client *self, fr_cu_stream stream, fr_cu_device_ptr to,
                         const client_source *source, float first);
/* To the host, when the stream's work is done. */
void client_download(client *self, fr_cu_stream stream, void *to, fr_cu_device_ptr from,
                     size_t size_bytes);
void client_record(client *self, fr_cu_event event, fr_cu_stream stream);
void client_wait_event(client *self, fr_cu_stream stream, fr_cu_event event);

/* Work of the stream stalls from here on, until it is let go. */
typedef struct client_gate client_gate;
bool client_can_hold(const client *self);
client_gate *client_hold(client *self, fr_cu_stream stream);
void client_let_go(client_gate *gate);
/* Work of the stream is late by so much. */
void client_delay(client *self, fr_cu_stream stream, uint32_t delay_us);

/* --- The stage's side. --- */
ovx_token_t client_token(client *self, const char *name);
/* Of /P/<number>; numbers NULL: 0 to count - 1. */
ovstage_query_handle_t client_query(client *self, const uint32_t *numbers, uint32_t count);
ovstage_placement_t client_place(int device, fr_cu_stream stream, fr_cu_event event);
/* A compact column of floats, `width` a row. shape must live as long as the tensor. */
DLTensor client_tensor(DLDevice device, const void *memory, int64_t *shape, uint16_t width);
ovstage_enqueue_result_t client_write(client *self, ovstage_query_handle_t query,
                                      ovx_token_t attribute, uint64_t ordinal,
                                      ovstage_write_data_t data,
                                      const ovstage_placement_t *placement);
/* Its floats, one a row, of a producer that is captured in the call. */
ovstage_enqueue_result_t client_write_floats(client *self, ovstage_query_handle_t query,
                                             ovx_token_t attribute, uint64_t ordinal,
                                             const client_source *from, ovstage_cuda_sync_t sync,
                                             const ovstage_placement_t *placement);
/* Waits for an accepted op, which must have worked, and releases it. */
void client_finish(client *self, ovstage_enqueue_result_t result);
/* Not complete. */
bool client_is_pending(client *self, ovstage_enqueue_result_t result);
void client_seal(client *self, uint64_t ordinal);

/* What a read shows: rows of all groups, by position in the query's list. Of one on a device by a
 * consumer that waits for the read's event alone, or for nothing where there is none. */
typedef struct client_shown {
    uint32_t prim_count, value_count;
    uint32_t positions[CLIENT_MOST_VALUES], lengths[CLIENT_MOST_VALUES];
    float values[CLIENT_MOST_VALUES];
} client_shown;
void client_show(client *self, ovstage_query_handle_t query, ovx_token_t attribute,
                 ovstage_ordinal_range_t range, const ovstage_placement_t *placement,
                 client_shown *out);
bool client_same(const client_shown *a, const client_shown *b);
/* The values are first, first + 1, ...: count of them. */
bool client_counts_up(const client_shown *shown, uint32_t count, float first);
/* A read's one group, held until it is released. */
ovstage_read_group_t client_hold_group(client *self, ovstage_query_handle_t query,
                                       ovx_token_t attribute, uint64_t ordinal,
                                       const ovstage_placement_t *placement);
void client_release_group(client *self, const ovstage_read_group_t *group);

#endif
