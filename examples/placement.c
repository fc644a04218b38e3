/* Frames on a CUDA device, as an engine makes them that is built without the toolkit: one stream
 * produces rows, the stage takes them over and hands them out, another stream consumes them.
 * Streams wait for each other by events; the host, one frame ahead, waits for the consumer alone.
 * What each wait is for: docs/placement.md. */
#include <dlfcn.h>
#include <string.h>

#include <ovstage/ovstage_api/experimental/ovstage_placement_extension.h>

#include "examples/example.h"

enum { BODIES = 4, FRAMES = 3, DEVICE = 0 };

typedef struct cuda_stream *cuda_stream;
typedef struct cuda_event *cuda_event;

/* What a frame needs of the driver; each call answers 0 when all is well. */
typedef struct cuda_driver {
    int (*init)(unsigned int flags);
    int (*find_device)(int *device, int index);
    int (*retain_context)(void **context, int device);
    int (*release_context)(int device);
    int (*set_context)(void *context);
    int (*make_stream)(cuda_stream *stream, unsigned int flags, int priority);
    int (*end_stream)(cuda_stream stream);
    int (*make_event)(cuda_event *event, unsigned int flags);
    int (*end_event)(cuda_event event);
    int (*synchronize)(cuda_event event);
    int (*record)(cuda_event event, cuda_stream stream);
    int (*wait)(cuda_stream stream, cuda_event event, unsigned int flags);
    int (*allocate)(uint64_t *address, size_t size_bytes);
    int (*release)(uint64_t address);
    int (*fill)(uint64_t address, unsigned int value, size_t count, cuda_stream stream);
    int (*download)(void *to, uint64_t from, size_t size_bytes, cuda_stream stream);
} cuda_driver;

static void cuda_must(int result, const char *call)
{
    if (result == 0)
        return;
    fprintf(stderr, "%s answered %d\n", call, result);
    exit(1);
}

/* The names are those of the binary interface, which cuda.h hides behind macros. */
static void cuda_open(cuda_driver *cuda)
{
    const struct {
        const char *name;
        void *call;
    } calls[] = {
        {"cuInit", &cuda->init},
        {"cuDeviceGet", &cuda->find_device},
        {"cuDevicePrimaryCtxRetain", &cuda->retain_context},
        {"cuDevicePrimaryCtxRelease_v2", &cuda->release_context},
        {"cuCtxSetCurrent", &cuda->set_context},
        {"cuStreamCreateWithPriority", &cuda->make_stream},
        {"cuStreamDestroy_v2", &cuda->end_stream},
        {"cuEventCreate", &cuda->make_event},
        {"cuEventDestroy_v2", &cuda->end_event},
        {"cuEventSynchronize", &cuda->synchronize},
        {"cuEventRecord", &cuda->record},
        {"cuStreamWaitEvent", &cuda->wait},
        {"cuMemAlloc_v2", &cuda->allocate},
        {"cuMemFree_v2", &cuda->release},
        {"cuMemsetD32Async", &cuda->fill},
        {"cuMemcpyDtoHAsync_v2", &cuda->download},
    };
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *found = library ? dlsym(library, calls[i].name) : NULL;
        cuda_must(found ? 0 : -1, calls[i].name);
        memcpy(calls[i].call, &found, sizeof(found));
    }
    cuda_must(cuda->init(0), "cuInit");
}

/* What a frame shows, as long as the consumer is at it. */
typedef struct shown {
    ovstage_read_group_t group;
    float heights[BODIES];
    cuda_event consumed;
} shown;

typedef struct engine {
    ovstage_instance_t *stage;
    ovstage_query_handle_t bodies;
    ovx_token_t height;
    cuda_driver cuda;
    int device;
    uint64_t source; /* BODIES floats on the device, used in each frame */
    cuda_stream producer, consumer;
    cuda_event produced, written, readable;
    shown shown[2]; /* by turns */
} engine;

static void engine_open(engine *self)
{
    const ovx_string_t paths[BODIES] = {
        literal_to_ovx_string("/World/B0"), literal_to_ovx_string("/World/B1"),
        literal_to_ovx_string("/World/B2"), literal_to_ovx_string("/World/B3")};
    const unsigned int waits_for_nobody = 1, without_times = 2;
    cuda_driver *cuda = &self->cuda;
    void *context;
    self->bodies = example_query(self->stage, paths, BODIES);
    self->height = example_token(self->stage, literal_to_ovx_string("height"));
    cuda_open(cuda);
    /* The primary context is the one that the stage uses. */
    cuda_must(cuda->find_device(&self->device, DEVICE), "cuDeviceGet");
    cuda_must(cuda->retain_context(&context, self->device), "cuDevicePrimaryCtxRetain");
    cuda_must(cuda->set_context(context), "cuCtxSetCurrent");
    cuda_must(cuda->make_stream(&self->producer, waits_for_nobody, 0), "the producer's stream");
    cuda_must(cuda->make_stream(&self->consumer, waits_for_nobody, 0), "the consumer's stream");
    cuda_must(cuda->make_event(&self->produced, without_times), "cuEventCreate");
    cuda_must(cuda->make_event(&self->written, without_times), "cuEventCreate");
    cuda_must(cuda->make_event(&self->readable, without_times), "cuEventCreate");
    for (int i = 0; i < 2; i++)
        cuda_must(cuda->make_event(&self->shown[i].consumed, without_times), "cuEventCreate");
    cuda_must(cuda->allocate(&self->source, BODIES * sizeof(float)), "cuMemAlloc");
}

/* Stands for a kernel. It may change the source when `written` is done: the stream waits for it. */
static void engine_produce(const engine *self, uint64_t frame)
{
    const cuda_driver *cuda = &self->cuda;
    if (frame > 1)
        cuda_must(cuda->wait(self->producer, self->written, 0), "cuStreamWaitEvent");
    for (unsigned int i = 0; i < BODIES; i++) {
        float height = (float)(10 * frame + i);
        unsigned int bits;
        memcpy(&bits, &height, sizeof(bits));
        cuda_must(cuda->fill(self->source + i * sizeof(bits), bits, 1, self->producer),
                  "cuMemsetD32Async");
    }
    cuda_must(cuda->record(self->produced, self->producer), "cuEventRecord");
}

/* The op is complete when the device has its work; `written` is recorded behind that then. */
static void engine_write(const engine *self, uint64_t frame)
{
    int64_t count = BODIES;
    DLTensor rows = {.data = (void *)(uintptr_t)self->source,
                     .device = {kDLCUDA, DEVICE},
                     .ndim = 1,
                     .dtype = {kDLFloat, 32, 1},
                     .shape = &count};
    ovstage_write_data_t data = {.tensors = &rows, .tensor_count = 1};
    ovstage_placement_t placement = {rows.device, 0, (uintptr_t)self->written};
    data.cuda_sync.wait_event = (uintptr_t)self->produced;
    ovstage_enqueue_result_t write = ovstage_write_attribute_on_device(
        self->stage, self->bodies, (ovx_string_or_token_t){.token = self->height}, frame, data,
        OVSTAGE_PRIM_MODE_UPSERT, &placement);
    example_finish(self->stage, example_accepted(write, "write_attribute_on_device"));
    example_finish(self->stage, example_seal(self->stage, frame));
}

static void engine_consume(engine *self, uint64_t frame)
{
    const cuda_driver *cuda = &self->cuda;
    shown *to = &self->shown[frame % 2];
    ovstage_placement_t placement = {{kDLCUDA, DEVICE}, 0, (uintptr_t)self->readable};
    ovstage_ordinal_range_t latest = {.end_ordinal = frame};
    ovstage_read_handle_t read;
    ovstage_enqueue_result_t reading = ovstage_read_attributes_on_device(
        self->stage, self->bodies, &self->height, 1, latest, &placement, &read);
    example_finish(self->stage, example_accepted(reading, "read_attributes_on_device"));
    example_must(ovstage_fetch_read_next(self->stage, read, OVSTAGE_TIMEOUT_INFINITE, &to->group) ==
                     OVSTAGE_OK,
                 "fetch_read_next");
    example_forget(self->stage, ovstage_release_read(self->stage, read));
    /* A pointer into the store, no copy. Kernels would come in the place of the download. */
    uint64_t rows = (uintptr_t)to->group.data.tensors[0].data;
    cuda_must(cuda->wait(self->consumer, self->readable, 0), "cuStreamWaitEvent");
    cuda_must(cuda->download(to->heights, rows, sizeof(to->heights), self->consumer),
              "cuMemcpyDtoHAsync");
    cuda_must(cuda->record(to->consumed, self->consumer), "cuEventRecord");
}

/* The stage does not know the consumer's stream: rows that are released may be written at once. */
static void engine_show(const engine *self, uint64_t frame)
{
    const shown *from = &self->shown[frame % 2];
    cuda_must(self->cuda.synchronize(from->consumed), "cuEventSynchronize");
    example_must(ovstage_release_group(self->stage, &from->group) == OVSTAGE_OK, "release_group");
    printf("%llu:", (unsigned long long)frame);
    for (int i = 0; i < BODIES; i++)
        printf(" %g", (double)from->heights[i]);
    printf("\n");
}

/* The stage first: its end waits for what devices still do for it, which may read the source. */
static void engine_close(engine *self)
{
    const cuda_driver *cuda = &self->cuda;
    example_forget(self->stage, ovstage_release_query(self->stage, self->bodies));
    example_must(ovstage_destroy_instance(self->stage) == OVSTAGE_OK, "destroy_instance");
    cuda_must(cuda->release(self->source), "cuMemFree");
    cuda_must(cuda->end_event(self->produced), "cuEventDestroy");
    cuda_must(cuda->end_event(self->written), "cuEventDestroy");
    cuda_must(cuda->end_event(self->readable), "cuEventDestroy");
    for (int i = 0; i < 2; i++)
        cuda_must(cuda->end_event(self->shown[i].consumed), "cuEventDestroy");
    cuda_must(cuda->end_stream(self->producer), "cuStreamDestroy");
    cuda_must(cuda->end_stream(self->consumer), "cuStreamDestroy");
    cuda_must(cuda->release_context(self->device), "cuDevicePrimaryCtxRelease");
}

int main(void)
{
    const ovstage_placement_extension_v1_t *placement;
    engine self = {0};
    example_must(ovstage_create_instance(NULL, &self.stage) == OVSTAGE_OK, "create_instance");
    if (ovstage_query_placement_extension(self.stage, &placement) != OVSTAGE_OK) {
        printf("no CUDA device that the stage can use\n");
        example_must(ovstage_destroy_instance(self.stage) == OVSTAGE_OK, "destroy_instance");
        return 0;
    }
    engine_open(&self);
    for (uint64_t frame = 1; frame <= FRAMES; frame++) {
        engine_produce(&self, frame);
        engine_write(&self, frame);
        engine_consume(&self, frame);
        if (frame > 1)
            engine_show(&self, frame - 1);
    }
    engine_show(&self, FRAMES);
    engine_close(&self);
    return 0;
}
