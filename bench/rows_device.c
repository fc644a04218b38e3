/* Columns on a device, beside the driver's own copies of the same bytes. */
#include <ovstage/ovstage_api/experimental/ovstage_placement_extension.h>

#include "bench/bench_clock.h"
#include "bench/device.h"
#include "bench/stage.h"

/* ---- what the driver's calls cost ---- */
typedef struct calls_state {
    const bench_device *device;
    fr_cu_stream stream, other;
    fr_cu_event event;
    fr_cu_device_ptr memory;
    uint32_t repeats;
} calls_state;

enum { RECORD, WAIT, QUERY, FILL, COPY, ROUND_TRIP };

static void *open_calls(const bench_options *options)
{
    calls_state *self = bench_allocate(sizeof(*self));
    self->device = device_here();
    self->stream = device_stream();
    self->other = device_stream();
    self->event = device_event();
    self->memory = device_memory(2 * sizeof(uint32_t));
    self->repeats = options->quick ? 20 : 500;
    return self;
}

static void close_calls(void *state)
{
    calls_state *self = state;
    const fr_cuda_driver *cu = self->device->cu;
    device_finish(self->stream);
    device_finish(self->other);
    device_free(self->memory);
    device_check(cu->cuEventDestroy(self->event), "cuEventDestroy");
    device_check(cu->cuStreamDestroy(self->stream), "cuStreamDestroy");
    device_check(cu->cuStreamDestroy(self->other), "cuStreamDestroy");
    bench_free(self);
}

static fr_cu_result make_call(const calls_state *self, int variant)
{
    const fr_cuda_driver *cu = self->device->cu;
    fr_cu_result result = FR_CU_SUCCESS;
    switch (variant) {
    case RECORD:
        return cu->cuEventRecord(self->event, self->stream);
    case WAIT:
        return cu->cuStreamWaitEvent(self->other, self->event, 0);
    case QUERY:
        result = cu->cuEventQuery(self->event);
        return result == FR_CU_ERROR_NOT_READY ? FR_CU_SUCCESS : result;
    case FILL:
        return cu->cuMemsetD32Async(self->memory, 1, 1, self->stream);
    case COPY:
        return cu->cuMemcpyDtoDAsync(self->memory + sizeof(uint32_t), self->memory,
                                     sizeof(uint32_t), self->stream);
    default: /* the least work, and its end seen by the host */
        result = cu->cuMemsetD32Async(self->memory, 1, 1, self->stream);
        return result == FR_CU_SUCCESS ? cu->cuStreamSynchronize(self->stream) : result;
    }
}

static double measure_call(void *state, int variant)
{
    calls_state *self = state;
    device_check(make_call(self, FILL), "cuMemsetD32Async");
    device_check(make_call(self, RECORD), "cuEventRecord");
    device_finish(self->stream);
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++)
        device_check(make_call(self, variant), "a call that is measured");
    double passed_ns = (double)(clock_ns() - start_ns);
    device_finish(self->stream);
    device_finish(self->other);
    return passed_ns / 1000 / self->repeats;
}

/* ---- a column, and as much memory everywhere ---- */
typedef struct column_state {
    const bench_device *device;
    bench_stage stage;
    ovstage_query_handle_t query, part;
    ovx_token_t attribute;
    int64_t shape, part_shape;
    DLDataType type;
    size_t size_bytes, part_bytes;
    fr_cu_stream stream;
    fr_cu_event event;
    fr_cu_device_ptr source, target;
    char *host, *pinned;
    uint32_t repeats;
} column_state;

/* Rows `from` is of: the device's memory, or the host's. event NULL: complete when it is done. */
static ovstage_op_id_t write_rows(column_state *self, ovstage_query_handle_t query, int64_t rows,
                                  const void *from, bool is_on_device, fr_cu_event event)
{
    DLTensor tensor = {
        .data = (void *)(uintptr_t)from,
        .device = {is_on_device ? kDLCUDA : kDLCPU, 0},
        .ndim = 1,
        .dtype = self->type,
        .shape = &rows,
    };
    const ovstage_write_data_t data = {.tensors = &tensor, .tensor_count = 1};
    const ovstage_placement_t place = {{kDLCUDA, 0}, 0, (uintptr_t)event};
    return stage_take(ovstage_write_attribute_on_device(
                          self->stage.instance, query,
                          (ovx_string_or_token_t){.token = self->attribute}, ++self->stage.ordinal,
                          data, OVSTAGE_PRIM_MODE_UPSERT, &place),
                      "write_attribute_on_device");
}

static void publish(column_state *self, const void *from, bool is_on_device)
{
    stage_finish(&self->stage,
                 write_rows(self, self->query, self->shape, from, is_on_device, NULL));
    stage_finish(&self->stage, stage_seal(&self->stage, self->stage.ordinal));
}

static void take(column_state *self, const ovstage_placement_t *placement)
{
    ovstage_read_handle_t read = 0;
    ovstage_read_group_t group;
    stage_finish(&self->stage,
                 stage_take(ovstage_read_attributes_on_device(
                                self->stage.instance, self->query, &self->attribute, 1,
                                (ovstage_ordinal_range_t){.end_ordinal = self->stage.ordinal},
                                placement, &read),
                            "read_attributes_on_device"));
    if (ovstage_fetch_read_next(self->stage.instance, read, OVSTAGE_TIMEOUT_INFINITE, &group) !=
        OVSTAGE_OK)
        bench_die("a read has no group");
    stage_let_go(&self->stage, &group);
    stage_finish(&self->stage,
                 stage_take(ovstage_release_read(self->stage.instance, read), "release_read"));
}

static void *open_column(const bench_options *options, uint32_t rows, DLDataType type,
                         uint32_t repeats)
{
    enum { PART = 200, WARM = 4 };
    column_state *self = bench_allocate(sizeof(*self));
    self->device = device_here();
    self->shape = rows;
    self->type = type;
    self->size_bytes = (size_t)rows * type.bits / 8 * type.lanes;
    self->part_shape = rows / PART;
    self->part_bytes = (size_t)self->part_shape * (self->size_bytes / rows);
    self->repeats = options->quick ? 2 : repeats;
    self->stream = device_stream();
    self->event = device_event();
    self->source = device_memory(self->size_bytes);
    self->target = device_memory(self->size_bytes);
    self->host = bench_allocate_payload(self->size_bytes);
    self->pinned = device_pinned(self->size_bytes);
    device_check(self->device->cu->cuMemcpyHtoDAsync(self->source, self->pinned, self->size_bytes,
                                                     self->stream),
                 "cuMemcpyHtoDAsync");
    device_finish(self->stream);
    stage_open(&self->stage, options->worker_count, true);
    self->attribute = stage_token(&self->stage, "bench:column");
    ovx_primpath_t *paths = stage_paths(&self->stage, "/Device/P", 0, rows);
    self->query = stage_query(&self->stage, paths, rows);
    for (int64_t k = 0; k < self->part_shape; k++)
        paths[k] = paths[k * PART];
    self->part = stage_query(&self->stage, paths, (size_t)self->part_shape);
    bench_free(paths);
    for (int i = 0; i < WARM; i++)
        publish(self, (const void *)(uintptr_t)self->source, true);
    return self;
}

static void *open_large(const bench_options *options)
{
    const DLDataType float16 = {kDLFloat, 32, 16};
    return open_column(options, options->quick ? 1000 : 1000000, float16, 10);
}

static void *open_small(const bench_options *options)
{
    return open_column(options, options->quick ? 200 : 4096, stage_float3,
                       options->quick ? 2 : 400);
}

static void close_column(void *state)
{
    column_state *self = state;
    stage_release_query(&self->stage, self->part);
    stage_release_query(&self->stage, self->query);
    stage_close(&self->stage);
    device_finish(self->stream);
    device_free(self->source);
    device_free(self->target);
    device_free_pinned(self->pinned);
    device_check(self->device->cu->cuEventDestroy(self->event), "cuEventDestroy");
    device_check(self->device->cu->cuStreamDestroy(self->stream), "cuStreamDestroy");
    bench_free_payload(self->host, self->size_bytes);
    bench_free(self);
}

static double gigabytes_per_second(size_t size_bytes, uint32_t repeats, uint64_t passed_ns)
{
    return (double)size_bytes * repeats / (double)passed_ns;
}

/* ---- throughput ---- */
enum { ON_DEVICE, FROM_HOST };
enum { BY_STAGE, BY_DRIVER };

static double measure_write(void *state, int variant)
{
    column_state *self = state;
    const void *from = variant == ON_DEVICE ? (const void *)(uintptr_t)self->source : self->host;
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++)
        publish(self, from, variant == ON_DEVICE);
    return gigabytes_per_second(self->size_bytes, self->repeats, clock_ns() - start_ns);
}

enum { DEVICE_TO_DEVICE, PAGEABLE_UP, PINNED_UP, PAGEABLE_DOWN, PINNED_DOWN };

static double measure_copy(void *state, int variant)
{
    column_state *self = state;
    const fr_cuda_driver *cu = self->device->cu;
    size_t size_bytes = self->size_bytes;
    fr_cu_result result = FR_CU_SUCCESS;
    char *host = variant == PINNED_UP || variant == PINNED_DOWN ? self->pinned : self->host;
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++) {
        if (variant == DEVICE_TO_DEVICE)
            result = cu->cuMemcpyDtoDAsync(self->target, self->source, size_bytes, self->stream);
        else if (variant == PAGEABLE_UP || variant == PINNED_UP)
            result = cu->cuMemcpyHtoDAsync(self->target, host, size_bytes, self->stream);
        else
            result = cu->cuMemcpyDtoHAsync(host, self->source, size_bytes, self->stream);
        device_check(result, "a copy");
        device_finish(self->stream);
    }
    return gigabytes_per_second(size_bytes, self->repeats, clock_ns() - start_ns);
}

/* Of rows that nobody brought to the host before; the writes between do not count. */
static double measure_read_on_host(void *state, int variant)
{
    (void)variant;
    column_state *self = state;
    uint64_t passed_ns = 0;
    for (uint32_t i = 0; i < self->repeats; i++) {
        publish(self, (const void *)(uintptr_t)self->source, true);
        uint64_t start_ns = clock_ns();
        take(self, NULL);
        passed_ns += clock_ns() - start_ns;
    }
    return gigabytes_per_second(self->size_bytes, self->repeats, passed_ns);
}

/* An ordinal for each write, all of them submitted and sealed before the device is waited for. In
 * nanoseconds. */
static uint64_t write_ahead(column_state *self)
{
    enum { MOST = 400 };
    ovstage_op_id_t ops[MOST];
    if (self->repeats > MOST)
        bench_die("%u writes ahead, more than %d", self->repeats, MOST);
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++)
        ops[i] = write_rows(self, self->query, self->shape, (const void *)(uintptr_t)self->source,
                            true, self->event);
    stage_finish(&self->stage, stage_seal(&self->stage, self->stage.ordinal));
    for (uint32_t i = 0; i < self->repeats; i++)
        stage_finish(&self->stage, ops[i]);
    device_check(self->device->cu->cuEventSynchronize(self->event), "cuEventSynchronize");
    return clock_ns() - start_ns;
}

static uint64_t copy_ahead(column_state *self)
{
    const fr_cuda_driver *cu = self->device->cu;
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++) {
        device_check(
            cu->cuMemcpyDtoDAsync(self->target, self->source, self->size_bytes, self->stream),
            "cuMemcpyDtoDAsync");
        device_check(cu->cuEventRecord(self->event, self->stream), "cuEventRecord");
    }
    device_check(cu->cuEventSynchronize(self->event), "cuEventSynchronize");
    return clock_ns() - start_ns;
}

static double measure_ahead(void *state, int variant)
{
    column_state *self = state;
    uint64_t passed_ns = variant == BY_STAGE ? write_ahead(self) : copy_ahead(self);
    return gigabytes_per_second(self->size_bytes, self->repeats, passed_ns);
}

static double measure_ordinals(void *state, int variant)
{
    column_state *self = state;
    uint64_t passed_ns = variant == BY_STAGE ? write_ahead(self) : copy_ahead(self);
    return self->repeats * 1e9 / (double)passed_ns;
}

/* ---- latency ---- */
static double microseconds(uint64_t start_ns, uint32_t repeats)
{
    return (double)(clock_ns() - start_ns) / 1000 / repeats;
}

static double measure_read_on_device(void *state, int variant)
{
    (void)variant;
    column_state *self = state;
    const ovstage_placement_t place = {{kDLCUDA, 0}, 0, 0};
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++)
        take(self, &place);
    return microseconds(start_ns, self->repeats);
}

/* A 200th of the rows. */
static double measure_part(void *state, int variant)
{
    (void)variant;
    column_state *self = state;
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++) {
        stage_finish(&self->stage, write_rows(self, self->part, self->part_shape,
                                              (const void *)(uintptr_t)self->source, true, NULL));
        stage_finish(&self->stage, stage_seal(&self->stage, self->stage.ordinal));
    }
    return microseconds(start_ns, self->repeats);
}

static double measure_part_copy(void *state, int variant)
{
    (void)variant;
    column_state *self = state;
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++) {
        device_check(self->device->cu->cuMemcpyDtoDAsync(self->target, self->source,
                                                         self->part_bytes, self->stream),
                     "cuMemcpyDtoDAsync");
        device_finish(self->stream);
    }
    return microseconds(start_ns, self->repeats);
}

/* Written, sealed and read with events, and consumed; the host waits at the end of each frame. */
static double measure_frame(void *state, int variant)
{
    column_state *self = state;
    const fr_cuda_driver *cu = self->device->cu;
    const ovstage_placement_t place = {{kDLCUDA, 0}, 0, (uintptr_t)self->event};
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++) {
        if (variant == BY_STAGE) {
            stage_finish(&self->stage,
                         write_rows(self, self->query, self->shape,
                                    (const void *)(uintptr_t)self->source, true, self->event));
            stage_finish(&self->stage, stage_seal(&self->stage, self->stage.ordinal));
            take(self, &place);
        } else {
            device_check(
                cu->cuMemcpyDtoDAsync(self->target, self->source, self->size_bytes, self->stream),
                "cuMemcpyDtoDAsync");
            device_check(cu->cuEventRecord(self->event, self->stream), "cuEventRecord");
        }
        device_check(cu->cuEventSynchronize(self->event), "cuEventSynchronize");
    }
    return microseconds(start_ns, self->repeats);
}

static const bench_row rows[] = {
    {
        .name = "driver-calls",
        .what = "calls of the driver alone",
        .unit = "us",
        .open = open_calls,
        .close = close_calls,
        .contenders = {BENCH_YARDSTICK("cuEventRecord", measure_call, RECORD),
                       BENCH_YARDSTICK("cuStreamWaitEvent", measure_call, WAIT),
                       BENCH_YARDSTICK("cuEventQuery", measure_call, QUERY),
                       BENCH_YARDSTICK("cuMemsetD32Async of 4 bytes", measure_call, FILL),
                       BENCH_YARDSTICK("cuMemcpyDtoDAsync of 4 bytes", measure_call, COPY),
                       BENCH_YARDSTICK("one of these, waited for", measure_call, ROUND_TRIP)},
    },
    {
        .name = "device-write",
        .what = "a full column of 1 M x 64 bytes of a device, written there and sealed",
        .unit = "GB/s",
        .open = open_large,
        .close = close_column,
        .contenders = {BENCH_OURS("flyrail", measure_write, ON_DEVICE),
                       BENCH_YARDSTICK("cuMemcpyDtoDAsync", measure_copy, DEVICE_TO_DEVICE),
                       BENCH_OURS("flyrail, 10 ordinals ahead", measure_ahead, BY_STAGE),
                       BENCH_YARDSTICK("cuMemcpyDtoDAsync, 10 ahead", measure_ahead, BY_DRIVER)},
    },
    {
        .name = "device-up",
        .what = "the same, of the host, to a device",
        .unit = "GB/s",
        .open = open_large,
        .close = close_column,
        .contenders = {BENCH_OURS("flyrail, pageable", measure_write, FROM_HOST),
                       BENCH_YARDSTICK("cuMemcpyHtoDAsync, pageable", measure_copy, PAGEABLE_UP),
                       BENCH_YARDSTICK("cuMemcpyHtoDAsync, pinned", measure_copy, PINNED_UP)},
    },
    {
        .name = "device-down",
        .what = "the same, read on the host",
        .unit = "GB/s",
        .open = open_large,
        .close = close_column,
        .contenders = {BENCH_OURS("flyrail", measure_read_on_host, 0),
                       BENCH_YARDSTICK("cuMemcpyDtoHAsync, pageable", measure_copy, PAGEABLE_DOWN),
                       BENCH_YARDSTICK("cuMemcpyDtoHAsync, pinned", measure_copy, PINNED_DOWN)},
    },
    {
        .name = "device-read",
        .what = "a column of 1 M rows read where it lies, its group fetched and let go",
        .unit = "us",
        .open = open_large,
        .close = close_column,
        .contenders = {BENCH_OURS("flyrail", measure_read_on_device, 0)},
    },
    {
        .name = "device-part",
        .what = "0.5 % of 1 M rows written and sealed",
        .unit = "us",
        .open = open_large,
        .close = close_column,
        .contenders = {BENCH_OURS("flyrail", measure_part, 0),
                       BENCH_YARDSTICK("cuMemcpyDtoDAsync, compact", measure_part_copy, 0)},
    },
    {
        .name = "device-ordinals",
        .what = "writes of 4,096 x 12 bytes at an ordinal each, all submitted, then waited for",
        .unit = "/s",
        .open = open_small,
        .close = close_column,
        .contenders = {BENCH_OURS("flyrail", measure_ordinals, BY_STAGE),
                       BENCH_YARDSTICK("cuMemcpyDtoDAsync and record", measure_ordinals,
                                       BY_DRIVER)},
    },
    {
        .name = "device-frame",
        .what = "4,096 x 12 bytes written, sealed, read with events, and waited for by the host",
        .unit = "us",
        .open = open_small,
        .close = close_column,
        .contenders = {BENCH_OURS("flyrail", measure_frame, BY_STAGE),
                       BENCH_YARDSTICK("cuMemcpyDtoDAsync and record", measure_frame, BY_DRIVER)},
    },
};

const bench_theme bench_theme_device = {"device", rows, sizeof(rows) / sizeof(rows[0])};
