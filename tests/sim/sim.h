/* Control of the simulated CUDA driver.
 *
 * A test opens it with options, takes the table, runs, drains, and looks at the reports. A program
 * that loads the simulator as libcuda.so.1 sets the options by environment variables (FR_SIM_MODE,
 * FR_SIM_SEED, FR_SIM_DEVICES, ...) and finds these functions with dlsym.
 *
 * Threads: any. Opening and closing: when no other thread uses the simulator. */
#ifndef FR_TESTS_SIM_SIM_H
#define FR_TESTS_SIM_SIM_H

#include <stdbool.h>

#include "cuda/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FR_SIM_PUBLIC __attribute__((visibility("default")))

typedef enum fr_sim_mode {
    FR_SIM_LAZY,   /* work runs when a host call needs it */
    FR_SIM_RANDOM, /* the seed decides after each call */
    FR_SIM_EAGER   /* work runs before the call that made it returns, if it can */
} fr_sim_mode;

/* What a copy from pageable host memory does. */
typedef enum fr_sim_pageable {
    FR_SIM_PAGEABLE_SEED, /* the seed decides for each copy */
    FR_SIM_PAGEABLE_STAGED,
    FR_SIM_PAGEABLE_LATE, /* read when the copy runs: a change until then is reported */
    FR_SIM_PAGEABLE_SYNCHRONOUS
} fr_sim_pageable;

typedef struct fr_sim_options {
    uint32_t device_count; /* at most 8; 0: cuInit answers 100 */
    fr_sim_mode mode;
    uint64_t seed;
    bool no_peer_access;   /* devices cannot reach each other's memory */
    uint64_t memory_bytes; /* of each device; 0: 4 GiB */
    fr_sim_pageable pageable;
    bool background;          /* work goes on while the program makes no calls */
    bool verbose;             /* reports are printed, too */
    fr_cu_result init_result; /* what cuInit answers, if not 0 */
    int driver_version;       /* 0: 13000 */
} fr_sim_options;

/* Two devices, lazy, seed 1. */
FR_SIM_PUBLIC fr_sim_options fr_sim_default_options(void);
/* The same, changed by the environment. Names and values: docs/simulated-driver.md. */
FR_SIM_PUBLIC fr_sim_options fr_sim_environment_options(void);

/* Forgets everything of the last simulation: handles and addresses of it are stale. */
FR_SIM_PUBLIC void fr_sim_open(const fr_sim_options *options);
FR_SIM_PUBLIC void fr_sim_close(void);
FR_SIM_PUBLIC const fr_cuda_driver *fr_sim_driver(void);

/* Runs all work that is in a stream, and what it waits for. A test ends with it: what never ran was
 * never checked. False when something is blocked: a held stream, a spin kernel, a host function
 * that does not end within 10 s. */
FR_SIM_PUBLIC bool fr_sim_drain(void);

/* --- Reports. --- */
typedef enum fr_sim_kind {
    FR_SIM_RACE,           /* two accesses that nothing orders */
    FR_SIM_UNINITIALIZED,  /* a read of bytes that nothing wrote */
    FR_SIM_USE_AFTER_FREE, /* of memory before it is made, or after it is freed */
    FR_SIM_OUT_OF_BOUNDS,  /* outside of any allocation, or without access to a peer */
    FR_SIM_SOURCE_CHANGED, /* host memory that changed before the copy had read it */
    FR_SIM_NEVER_RECORDED, /* a wait for an event without a record: it orders nothing */
    FR_SIM_BAD_HANDLE,     /* stale, or of another kind, or of another device */
    FR_SIM_BAD_CALL,       /* a call where none is allowed, or without a context */
    FR_SIM_LEAK,           /* what is left when a context ends or fr_sim_check_leaks is called */
    FR_SIM_KIND_COUNT
} fr_sim_kind;

FR_SIM_PUBLIC uint64_t fr_sim_report_count(void); /* of all kinds */
FR_SIM_PUBLIC uint64_t fr_sim_report_count_of(fr_sim_kind kind);
/* The index-th text, from 0, of those that were kept (the first 256); NULL if there is none. */
FR_SIM_PUBLIC const char *fr_sim_report(uint64_t index);
FR_SIM_PUBLIC void fr_sim_clear_reports(void);

/* Names for reports. An empty text takes the name away. */
FR_SIM_PUBLIC void fr_sim_name_stream(fr_cu_stream stream, const char *name);
FR_SIM_PUBLIC void fr_sim_name_memory(fr_cu_device_ptr address, const char *name);

/* --- Faults. --- */
/* The k-th call from now on, counted from 1, of that entry point ("cuMemAlloc"; NULL: of any)
 * answers `result` and does nothing else. Several rules hold at the same time, at most 16; each
 * strikes once. */
FR_SIM_PUBLIC bool fr_sim_fail_call(const char *entry_point, uint64_t k, fr_cu_result result);
/* The k-th operation that runs from now on on a device fails, and its context with it. */
FR_SIM_PUBLIC void fr_sim_fail_operation(fr_cu_device device, uint64_t k, fr_cu_result result);
FR_SIM_PUBLIC void fr_sim_clear_faults(void);
FR_SIM_PUBLIC bool fr_sim_faults_pending(void); /* a rule has not struck yet */

/* What cuDevicePrimaryCtxReset does, which is not in the table: a client's call takes away all that
 * is in the device's context, whoever has made it. References stay to be released. */
FR_SIM_PUBLIC void fr_sim_reset_device(fr_cu_device device);

/* --- Figures. --- */
FR_SIM_PUBLIC uint64_t fr_sim_calls(const char *entry_point); /* NULL: of any, since opening */
FR_SIM_PUBLIC uint64_t fr_sim_operations_run(void);
FR_SIM_PUBLIC uint64_t fr_sim_memory_used(fr_cu_device device); /* bytes, pools included */
/* Everything that is alive: streams, events, allocations, ... Each is reported as FR_SIM_LEAK if
 * `report`. */
FR_SIM_PUBLIC uint64_t fr_sim_check_leaks(bool report);
/* The last calls, newest last, one a line; the number of bytes needed. */
FR_SIM_PUBLIC size_t fr_sim_log(char *text, size_t size_bytes);

/* --- Time. --- */
/* A held stream runs nothing more: a producer that stalls. */
FR_SIM_PUBLIC void fr_sim_hold(fr_cu_stream stream, bool held);

/* --- Kernels. --- */
typedef struct fr_sim_launch fr_sim_launch;
/* `arguments` as given to cuLaunchKernel, copied then. */
typedef void (*fr_sim_kernel)(fr_sim_launch *launch, void **arguments);
/* Modules find it by name from then on, also after fr_sim_open. At most 16 arguments of at most
 * 1,024 bytes in all. */
FR_SIM_PUBLIC bool fr_sim_register_kernel(const char *name, fr_sim_kernel kernel,
                                          uint32_t argument_count, const uint32_t *argument_bytes);
/* Where a kernel finds memory of a device, or pinned memory. NULL, and the context fails with 700,
 * when the kernel has no right to it. Every access counts for the checker. */
FR_SIM_PUBLIC const void *fr_sim_read(fr_sim_launch *launch, fr_cu_device_ptr address,
                                      size_t size_bytes);
FR_SIM_PUBLIC void *fr_sim_write(fr_sim_launch *launch, fr_cu_device_ptr address,
                                 size_t size_bytes);
/* x, y, z of the grid, then of the block. */
FR_SIM_PUBLIC const unsigned int *fr_sim_grid(const fr_sim_launch *launch);

/* A look at memory of a device by the test, which no checker sees; NULL outside of allocations. */
FR_SIM_PUBLIC void *fr_sim_peek(fr_cu_device_ptr address, size_t size_bytes);

#ifdef __cplusplus
}
#endif

#endif
