#include "tests/devices/client.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- The driver. --- */

const char *client_driver_open(client_driver *self)
{
    *self = (client_driver){0};
    if (!fr_cuda_library_open(&self->library))
        return self->library.why;
    self->cu = &self->library.driver;
    self->device_count =
        self->library.device_count < CLIENT_DEVICES ? self->library.device_count : CLIENT_DEVICES;
    for (int device = 0; device < self->device_count; device++)
        if (self->cu->cuDevicePrimaryCtxRetain(&self->contexts[device], device) != FR_CU_SUCCESS)
            return "a device's context cannot be had";
    if (self->cu->cuDeviceGetName(self->name, (int)sizeof(self->name), 0) != FR_CU_SUCCESS)
        return "a device's name cannot be had";
    self->is_simulated = strncmp(self->name, "Simulated", strlen("Simulated")) == 0;
    return NULL;
}

void client_driver_close(client_driver *self)
{
    for (int device = 0; device < self->device_count; device++)
        (void)self->cu->cuDevicePrimaryCtxRelease(device);
    fr_cuda_library_close(&self->library);
}

/* --- Failures. --- */

void client_fail(client *self, const char *format, ...)
{
    if (self->failure[0] != '\0')
        return;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(self->failure, sizeof(self->failure), format, arguments);
    va_end(arguments);
}

bool client_check(client *self, bool holds, const char *file, int line, const char *text)
{
    if (!holds)
        client_fail(self, "%s:%d: %s", file, line, text);
    return holds;
}

static void driver_call(client *self, fr_cu_result result, const char *what)
{
    const char *name = NULL;
    if (result == FR_CU_SUCCESS)
        return;
    (void)self->cu->cuGetErrorName(result, &name);
    client_fail(self, "%s answers %u, %s", what, (unsigned)result, name ? name : "no name");
}

bool client_accepted(client *self, ovstage_api_status_t status, const char *what)
{
    ovx_string_t text = ovstage_get_last_error();
    if (status != OVSTAGE_OK)
        client_fail(self, "%s answers %d: %.*s", what, (int)status, (int)text.length,
                    text.ptr ? text.ptr : "");
    return status == OVSTAGE_OK;
}

/* --- What stalls. --- */

struct client_gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_open;
};

static void wait_at_gate(void *user)
{
    client_gate *gate = user;
    pthread_mutex_lock(&gate->mutex);
    while (!gate->is_open)
        pthread_cond_wait(&gate->changed, &gate->mutex);
    pthread_mutex_unlock(&gate->mutex);
}

void client_let_go(client_gate *gate)
{
    if (!gate)
        return;
    pthread_mutex_lock(&gate->mutex);
    gate->is_open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void be_late(void *user)
{
    uint64_t until_ns = now_ns() + (uintptr_t)user * 1000;
    while (now_ns() < until_ns)
        ;
}

/* --- What the client has made. --- */

static void keep(client *self, client_kind kind, int device, void *handle)
{
    if (!handle)
        return;
    if (self->thing_count == CLIENT_MOST_THINGS)
        client_fail(self, "more than %d things of one client", CLIENT_MOST_THINGS);
    else
        self->things[self->thing_count++] = (client_thing){kind, device, handle};
}

void client_use(client *self, int device)
{
    driver_call(self, self->cu->cuCtxSetCurrent(self->driver->contexts[device]), "cuCtxSetCurrent");
}

fr_cu_stream client_stream(client *self, int device)
{
    fr_cu_stream stream = NULL;
    client_use(self, device);
    driver_call(self, self->cu->cuStreamCreateWithPriority(&stream, FR_CU_STREAM_NON_BLOCKING, 0),
                "cuStreamCreateWithPriority");
    keep(self, CLIENT_STREAM, device, stream);
    return stream;
}

fr_cu_event client_event(client *self, int device)
{
    fr_cu_event event = NULL;
    client_use(self, device);
    driver_call(self, self->cu->cuEventCreate(&event, FR_CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    keep(self, CLIENT_EVENT, device, event);
    return event;
}

fr_cu_device_ptr client_memory(client *self, int device, size_t size_bytes)
{
    fr_cu_device_ptr address = 0;
    client_use(self, device);
    driver_call(self, self->cu->cuMemAlloc(&address, size_bytes), "cuMemAlloc");
    keep(self, CLIENT_MEMORY, device, (void *)(uintptr_t)address);
    return address;
}

void *client_pinned(client *self, size_t size_bytes)
{
    void *memory = NULL;
    driver_call(self, self->cu->cuMemHostAlloc(&memory, size_bytes, FR_CU_MEMHOSTALLOC_PORTABLE),
                "cuMemHostAlloc");
    keep(self, CLIENT_PINNED, 0, memory);
    if (memory)
        memset(memory, 0, size_bytes);
    return memory;
}

client_source client_source_make(client *self, int device, uint32_t count)
{
    size_t size_bytes = count * sizeof(float);
    client_source source = {device, count, client_memory(self, device, size_bytes), NULL};
    source.staged = client_pinned(self, size_bytes);
    return source;
}

void client_produce_into(client *self, fr_cu_stream stream, fr_cu_device_ptr to,
                         const client_source *source, float first)
{
    if (!source->staged || !to)
        return;
    for (uint32_t k = 0; k < source->count; k++)
        source->staged[k] = first + (float)k;
    client_use(self, source->device);
    driver_call(
        self,
        self->cu->cuMemcpyHtoDAsync(to, source->staged, source->count * sizeof(float), stream),
        "cuMemcpyHtoDAsync");
}

void client_produce(client *self, fr_cu_stream stream, const client_source *source, float first)
{
    client_produce_into(self, stream, source->memory, source, first);
}

void client_download(client *self, fr_cu_stream stream, void *to, fr_cu_device_ptr from,
                     size_t size_bytes)
{
    driver_call(self, self->cu->cuMemcpyDtoHAsync(to, from, size_bytes, stream),
                "cuMemcpyDtoHAsync");
    driver_call(self, self->cu->cuStreamSynchronize(stream), "cuStreamSynchronize");
}

void client_record(client *self, fr_cu_event event, fr_cu_stream stream)
{
    driver_call(self, self->cu->cuEventRecord(event, stream), "cuEventRecord");
}

void client_wait_event(client *self, fr_cu_stream stream, fr_cu_event event)
{
    driver_call(self, self->cu->cuStreamWaitEvent(stream, event, 0), "cuStreamWaitEvent");
}

bool client_can_hold(const client *self)
{
    return self->cu->cuLaunchHostFunc != NULL;
}

client_gate *client_hold(client *self, fr_cu_stream stream)
{
    client_gate *gate = calloc(1, sizeof(*gate));
    if (!gate) {
        client_fail(self, "no memory");
        return NULL;
    }
    pthread_mutex_init(&gate->mutex, NULL);
    pthread_cond_init(&gate->changed, NULL);
    keep(self, CLIENT_GATE, 0, gate);
    driver_call(self, self->cu->cuLaunchHostFunc(stream, wait_at_gate, gate), "cuLaunchHostFunc");
    return gate;
}

void client_delay(client *self, fr_cu_stream stream, uint32_t delay_us)
{
    driver_call(self, self->cu->cuLaunchHostFunc(stream, be_late, (void *)(uintptr_t)delay_us),
                "cuLaunchHostFunc");
}

/* --- Beginning and end. --- */

static void start(client *self, const client_driver *driver)
{
    self->driver = driver;
    self->cu = driver->cu;
    self->thing_count = 0;
    self->failure[0] = '\0';
    for (int device = 0; device < CLIENT_DEVICES; device++)
        self->consumers[device] = NULL;
    client_use(self, 0);
}

/* What the stage makes at the first use of a device may wait for the device, so that is over before
 * anything stalls. The rows are of a moment that nobody seals. */
static void use_first(client *self, int device)
{
    const float value = 0;
    int64_t count = 1;
    char name[32];
    (void)snprintf(name, sizeof(name), "first use of device %d", device);
    DLTensor tensor = client_tensor((DLDevice){kDLCPU, 0}, &value, &count, 1);
    const ovstage_write_data_t data = {.tensors = &tensor, .tensor_count = 1};
    const ovstage_placement_t place = client_place(device, NULL, NULL);
    client_finish(self, client_write(self, client_query(self, NULL, 1), client_token(self, name),
                                     UINT64_MAX / 2, data, &place));
}

void client_begin(client *self, const client_driver *driver, uint32_t workers,
                  uint32_t history_versions)
{
    flyrail_config_t config = {.struct_size = sizeof(config)};
    start(self, driver);
    self->owns_stage = true;
    client_accepted(self, flyrail_get_default_config(&config), "flyrail_get_default_config");
    config.worker_count = workers;
    config.own_pool = true;
    config.history_versions = history_versions;
    client_accepted(self, flyrail_create_instance(NULL, &config, &self->stage),
                    "flyrail_create_instance");
    self->dictionary = self->stage ? ovstage_get_path_dictionary(self->stage) : NULL;
    for (int device = 0; device < driver->device_count && self->dictionary; device++)
        use_first(self, device);
}

void client_join(client *self, const client *other)
{
    start(self, other->driver);
    self->owns_stage = false;
    self->stage = other->stage;
    self->dictionary = other->dictionary;
}

static void give_back(client *self, const client_thing *thing)
{
    const fr_cuda_driver *cu = self->cu;
    client_gate *gate = thing->handle;
    switch (thing->kind) {
    case CLIENT_STREAM:
        driver_call(self, cu->cuStreamDestroy(thing->handle), "cuStreamDestroy");
        break;
    case CLIENT_EVENT:
        driver_call(self, cu->cuEventDestroy(thing->handle), "cuEventDestroy");
        break;
    case CLIENT_MEMORY:
        driver_call(self, cu->cuMemFree((uintptr_t)thing->handle), "cuMemFree");
        break;
    case CLIENT_PINNED:
        driver_call(self, cu->cuMemFreeHost(thing->handle), "cuMemFreeHost");
        break;
    case CLIENT_GATE:
        pthread_cond_destroy(&gate->changed);
        pthread_mutex_destroy(&gate->mutex);
        free(gate);
        break;
    }
}

bool client_end(client *self)
{
    for (uint32_t i = 0; i < self->thing_count; i++)
        if (self->things[i].kind == CLIENT_GATE)
            client_let_go(self->things[i].handle);
    if (self->owns_stage && self->stage)
        client_accepted(self, ovstage_destroy_instance(self->stage), "ovstage_destroy_instance");
    self->stage = NULL;
    for (int device = 0; device < self->driver->device_count; device++) {
        client_use(self, device);
        driver_call(self, self->cu->cuCtxSynchronize(), "cuCtxSynchronize");
    }
    for (uint32_t i = self->thing_count; i-- > 0;) {
        client_use(self, self->things[i].device);
        give_back(self, &self->things[i]);
    }
    self->thing_count = 0;
    driver_call(self, self->cu->cuCtxSetCurrent(NULL), "cuCtxSetCurrent");
    return self->failure[0] == '\0';
}
