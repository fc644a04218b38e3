/* The device that is measured on: the first of this machine's CUDA driver. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include "bench/bench.h"
#include "cuda/loader.h"

typedef struct bench_device {
    fr_cuda_library library;
    const fr_cuda_driver *cu;
    fr_cu_context context;
    char name[128];
    bool is_simulated; /* its figures mean nothing */
} bench_device;

/* Opened once, and current on the thread that asks; ends the program where there is none. */
const bench_device *device_here(void);
/* Ends the program if a call of the driver failed. */
void device_check(fr_cu_result result, const char *what);

fr_cu_device_ptr device_memory(size_t size_bytes);
void *device_pinned(size_t size_bytes);
void device_free(fr_cu_device_ptr memory);
void device_free_pinned(void *memory);
fr_cu_stream device_stream(void);
fr_cu_event device_event(void);
/* All work of the stream is done. */
void device_finish(fr_cu_stream stream);

extern const bench_theme bench_theme_device;

#endif
