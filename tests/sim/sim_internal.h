/* The objects of the simulated driver, and what its files call of each other.
 *
 * Everything here is used with the simulation's lock held, unless said otherwise. */
#ifndef FR_TESTS_SIM_SIM_INTERNAL_H
#define FR_TESTS_SIM_SIM_INTERNAL_H

#include <pthread.h>

#include "tests/sim/sim.h"

#define FR_SIM_MAX_DEVICES 8
#define FR_SIM_ARENA_BYTES ((uint64_t)4 << 30)
#define FR_SIM_MAX_ARGUMENTS 16
#define FR_SIM_ARGUMENT_BYTES 1024
#define FR_SIM_MAX_CONTEXTS 64 /* on the stack of one thread */

/* --- Numbers of entry points. --- */
enum fr_sim_call {
#define FR_SIM_NUMBER(name, version, symbol) FR_SIM_CALL_##name,
    FR_CUDA_ENTRY_POINTS(FR_SIM_NUMBER)
#undef FR_SIM_NUMBER
        FR_SIM_CALL_COUNT
};
extern const char *const fr_sim_call_names[FR_SIM_CALL_COUNT];

/* The definitions; each file that defines some includes this, so that types must agree. */
#define FR_SIM_DECLARE(name, version, symbol) \
    FR_SIM_PUBLIC __typeof__(*(fr_##name##_v##version)0) symbol;
FR_CUDA_ENTRY_POINTS(FR_SIM_DECLARE)
#undef FR_SIM_DECLARE
FR_SIM_PUBLIC __typeof__(*(fr_cuGetProcAddress_v12000)0) cuGetProcAddress_v2;

/* --- Clocks. --- */
/* What has happened before, by slot. Slots beyond `count` are at 0. */
typedef struct fr_sim_clock {
    uint32_t *times;
    uint32_t count;
} fr_sim_clock;

void fr_sim_clock_join(fr_sim_clock *clock, const fr_sim_clock *other);
void fr_sim_clock_copy(fr_sim_clock *clock, const fr_sim_clock *other);
void fr_sim_clock_set(fr_sim_clock *clock, uint32_t slot, uint32_t time);
uint32_t fr_sim_clock_at(const fr_sim_clock *clock, uint32_t slot);
void fr_sim_clock_free(fr_sim_clock *clock);

enum { FR_SIM_HOST_SLOT = 0 };

/* --- Objects. --- */
typedef struct fr_sim_context fr_sim_context;
typedef struct fr_sim_stream fr_sim_stream;
typedef struct fr_sim_operation fr_sim_operation;
typedef struct fr_sim_pool fr_sim_pool;
typedef struct fr_sim_memory fr_sim_memory;

typedef enum fr_sim_object {
    FR_SIM_CONTEXT = 1,
    FR_SIM_STREAM,
    FR_SIM_EVENT,
    FR_SIM_POOL,
    FR_SIM_MODULE,
    FR_SIM_FUNCTION,
    FR_SIM_GRAPH,
    FR_SIM_OBJECT_COUNT
} fr_sim_object;

/* A place in a stream: all of its operations up to that number. */
typedef struct fr_sim_point {
    fr_sim_stream *stream;
    uint64_t number;
} fr_sim_point;

typedef struct fr_sim_device {
    char *base; /* what the program sees: no access */
    char *view; /* the same memory for the simulator */
    uint64_t brk;
    uint64_t used_bytes;
    fr_sim_context *context; /* the primary one; NULL: not active */
    uint32_t references;     /* to that; a reset leaves them */
    fr_sim_memory **memory;  /* by address, freed ones too until their place is used again */
    uint32_t memory_count, memory_capacity;
    uint64_t fail_operation; /* counts down */
    fr_cu_result fail_result;
} fr_sim_device;

struct fr_sim_context {
    uintptr_t handle;
    int device;
    fr_cu_result sticky;
    uint32_t peers; /* bits of devices whose plain memory may be used */
    fr_sim_stream *legacy;
    fr_sim_stream *streams; /* all that were made here */
    /* Of streams that are gone, the blocking ones and all. */
    fr_sim_clock buried_blocking, buried;
    fr_sim_context *next;
};

typedef struct fr_sim_capture {
    struct fr_sim_capture *next;
    fr_sim_stream *origin;
    fr_cu_capture_mode mode;
    uint64_t thread;
    bool invalid;
    bool ended;
} fr_sim_capture;

struct fr_sim_stream {
    uintptr_t handle;
    fr_sim_context *context;
    fr_sim_stream *next; /* in the context */
    fr_sim_stream *next_all;
    fr_sim_operation *head, *tail;
    uint64_t submitted, done; /* numbers of the last operation */
    fr_sim_clock clock;       /* of what was submitted */
    uint32_t slot, time;
    /* How far this one waits for the legacy stream, and that one for this. */
    uint64_t legacy_joined, joined_by_legacy;
    uint64_t thread; /* of a per-thread default stream */
    unsigned int flags;
    int priority;
    uint32_t number;
    uint32_t refusals; /* of queries since the last that answered yes */
    bool destroyed, held;
    bool in_host_function;
    fr_sim_capture *capture;
    fr_sim_clock capture_clock;
    char name[32];
};

typedef struct fr_sim_event {
    uintptr_t handle;
    fr_sim_context *context;
    unsigned int flags;
    bool recorded;
    fr_sim_point point;
    fr_sim_clock clock;
    uint64_t time;           /* when the record ran: 0 before */
    fr_sim_capture *capture; /* the last record was in it */
    fr_sim_clock capture_clock;
    struct fr_sim_event *next, *previous; /* all */
} fr_sim_event;

struct fr_sim_pool {
    uintptr_t handle;
    int device;
    bool reuse_events, reuse_opportunistic, reuse_internal;
    uint64_t release_threshold;
    uint64_t reserved_bytes, reserved_high, used_bytes, used_high;
    uint32_t access; /* bits of devices that may use it */
    bool destroyed;
    fr_sim_pool *next;
};

typedef enum fr_sim_memory_kind {
    FR_SIM_MEMORY_PLAIN,
    FR_SIM_MEMORY_POOL,
    FR_SIM_MEMORY_HOST,
    FR_SIM_MEMORY_REGISTERED
} fr_sim_memory_kind;

/* One allocation. Those of a pool are kept by it when they are freed, and given again. */
struct fr_sim_memory {
    uint64_t base;
    uint64_t size;     /* as asked for */
    uint64_t capacity; /* of the place */
    fr_sim_memory_kind kind;
    int device;              /* -1: host */
    fr_sim_context *context; /* of pinned memory: it goes with that */
    uint32_t number;
    bool live;     /* to the program: false once the call to free it was made */
    bool reserved; /* by a pool that has it free */
    fr_sim_pool *pool;
    fr_sim_point freed; /* where a pool's memory was freed */
    fr_sim_clock freed_clock;
    uint32_t freed_slot, freed_time;
    uint32_t block_count;
    uint32_t *blocks; /* a state each, if not split */
    uint32_t **cells; /* a state for each byte */
    char name[32];
};

/* --- Operations. --- */
typedef enum fr_sim_operation_kind {
    FR_SIM_DO_NOTHING, /* a wait, a record */
    FR_SIM_DO_RECORD,
    FR_SIM_DO_COPY,
    FR_SIM_DO_SET,
    FR_SIM_DO_ALLOCATE,
    FR_SIM_DO_FREE,
    FR_SIM_DO_KERNEL,
    FR_SIM_DO_HOST_FUNCTION
} fr_sim_operation_kind;

typedef struct fr_sim_copy {
    uint64_t dst, src; /* host addresses or of a device */
    uint64_t dst_pitch, src_pitch, width, height;
    uint32_t value, value_bytes; /* of a fill */
    void *staged;                /* a copy of the source, owned */
    bool check_source;
    uint64_t checksum; /* of the source at the call */
    uint64_t writes;   /* to host memory, by then */
} fr_sim_copy;

typedef struct fr_sim_function fr_sim_function;

struct fr_sim_operation {
    fr_sim_operation *next;
    fr_sim_operation_kind kind;
    fr_sim_stream *stream;
    uint64_t number;
    uint32_t trace;
    fr_sim_clock clock;
    fr_sim_point *waits;
    uint32_t wait_count, wait_capacity;
    fr_sim_copy copy;
    fr_sim_memory *memory;
    uint64_t memory_bytes; /* of an allocation */
    fr_cu_event event;     /* of a record */
    uint64_t event_number;
    fr_cu_host_function host_function;
    void *user;
    const fr_sim_function *function;
    unsigned int grid[6];
    void *arguments[FR_SIM_MAX_ARGUMENTS];
    unsigned char *argument_bytes;
    uint64_t spins_since_ns;
};

struct fr_sim_function {
    char name[48];
    fr_sim_kernel kernel;
    uint32_t argument_count;
    uint32_t argument_bytes[FR_SIM_MAX_ARGUMENTS];
    struct fr_sim_function *next;
};

/* What a kernel gets; a copy uses one, too. */
struct fr_sim_launch {
    fr_sim_operation *operation;
    fr_sim_memory *last; /* that was found */
    uint32_t memo_in[64], memo_out[64];
    uint32_t memo_kind[64];
    uint32_t write_state;
    uint32_t reported;
};

/* --- The simulation. --- */
typedef struct fr_sim {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t generation; /* of fr_sim_open */
    bool is_open, initialized;
    fr_sim_options options;
    uint64_t random;
    fr_sim_device devices[FR_SIM_MAX_DEVICES];
    fr_sim_device host; /* pinned memory: no arena */
    fr_sim_context *contexts;
    fr_sim_stream *streams;      /* that are alive or have work */
    fr_sim_stream *dead_streams; /* the others: points still name them */
    fr_sim_event *events;
    fr_sim_pool *pools;
    fr_sim_capture *captures;
    fr_sim_clock host_clock;
    uint32_t host_time;
    uint32_t slot_count, memory_count, stream_count;
    uint64_t thread_count, pending, operations_run, ticks;
    fr_sim_stream *host_stream; /* whose head is a host function that was handed over */
    bool host_function_is_slow; /* nobody waits for it by the way */
} fr_sim;
extern fr_sim fr_sim_state;

/* sim_core.c */
void fr_sim_open_if_closed(void); /* with the environment's options; without the lock */
uint64_t fr_sim_random(void);
uint32_t fr_sim_random_below(uint32_t limit);
void *fr_sim_allocate(size_t size_bytes); /* zeros; ends the process without memory */
uintptr_t fr_sim_handle_new(fr_sim_object kind, void *object);
void fr_sim_handle_drop(uintptr_t handle);
/* NULL and a report when it is none. */
void *fr_sim_handle_find(fr_sim_object kind, const void *handle);
void *fr_sim_handle_peek(fr_sim_object kind, uintptr_t handle); /* no report */
uint64_t fr_sim_handles_alive(fr_sim_object kind);

/* sim_call.c. Each entry point: enter, work, leave. Enter takes the lock, leave gives it back. */
enum {
    FR_SIM_NEEDS_NOTHING = 0,
    FR_SIM_NEEDS_INIT = 1,
    FR_SIM_NEEDS_CONTEXT = 3, /* a current one, without a sticky error */
    FR_SIM_NO_CAPTURE = 4, /* not while somebody captures, see cuThreadExchangeStreamCaptureMode */
    FR_SIM_HOST_OK = 8     /* also in host functions */
};
fr_cu_result fr_sim_enter(enum fr_sim_call call, unsigned int needs);
fr_cu_result fr_sim_leave(enum fr_sim_call call, fr_cu_result result);
const char *fr_sim_call_name(void); /* of the call that runs */
#define FR_SIM_ENTRY(name, needs, work) \
    do { \
        fr_cu_result entry_result = fr_sim_enter(FR_SIM_CALL_##name, (needs)); \
        if (entry_result == FR_CU_SUCCESS) \
            entry_result = (work); \
        return fr_sim_leave(FR_SIM_CALL_##name, entry_result); \
    } while (0)

typedef struct fr_sim_thread {
    uint64_t generation, number;
    uintptr_t contexts[FR_SIM_MAX_CONTEXTS];
    uint32_t context_count;
    fr_cu_capture_mode capture_mode;
    bool in_host_function;
    enum fr_sim_call call;
} fr_sim_thread;
fr_sim_thread *fr_sim_this_thread(void);
fr_sim_context *fr_sim_current(void); /* NULL when there is none */
void fr_sim_calls_reset(void);

/* sim_report.c */
void fr_sim_tell(fr_sim_kind kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
void fr_sim_reports_reset(void);
void fr_sim_describe_memory(char *text, size_t size_bytes, const fr_sim_memory *memory);
void fr_sim_describe_stream(char *text, size_t size_bytes, const fr_sim_stream *stream);

/* sim_check.c */
typedef enum fr_sim_access { FR_SIM_READ, FR_SIM_WRITE, FR_SIM_MAKE, FR_SIM_FREE } fr_sim_access;
/* `stream` is NULL for the host; `kernel` stays as it is. */
uint32_t fr_sim_trace(enum fr_sim_call call, const fr_sim_stream *stream, uint32_t slot,
                      uint32_t time);
void fr_sim_trace_kernel(uint32_t number, const char *kernel);
void fr_sim_check(fr_sim_launch *launch, fr_sim_memory *memory, uint64_t offset, uint64_t size,
                  fr_sim_access access);
void fr_sim_check_host(fr_sim_memory *memory, fr_sim_access access); /* by the host, all of it */
void fr_sim_shadow_new(fr_sim_memory *memory);
void fr_sim_shadow_free(fr_sim_memory *memory);
void fr_sim_check_reset(void);

/* sim_context.c */
void fr_sim_contexts_reset(void);

/* sim_memory.c */
fr_sim_memory *fr_sim_memory_find(uint64_t address); /* freed ones, too */
int fr_sim_device_of(uint64_t address);              /* -1: none */
bool fr_sim_memory_add(fr_sim_device *device, fr_sim_memory *memory);
void fr_sim_memory_remove(fr_sim_device *device, fr_sim_memory *memory);
fr_sim_memory *fr_sim_memory_new(int device, uint64_t size, fr_sim_memory_kind kind);
void fr_sim_memory_release(fr_sim_memory *memory); /* the place may be used again */
void *fr_sim_memory_view(const fr_sim_memory *memory, uint64_t address);
/* Where an operation finds bytes; NULL after a report, and the context has failed. */
void *fr_sim_touch(fr_sim_launch *launch, uint64_t address, uint64_t size, fr_sim_access access);
bool fr_sim_devices_open(void);
void fr_sim_devices_close(void);
void fr_sim_context_fail(fr_sim_context *context, fr_cu_result result);

/* sim_host.c */
void fr_sim_host_reset(void);
void fr_sim_host_drop(const fr_sim_context *context); /* what was pinned in it */

/* sim_pool.c */
void fr_sim_pools_reset(void);
void fr_sim_pools_synchronized(int device);
void fr_sim_do_allocate(fr_sim_operation *operation);
void fr_sim_do_free(fr_sim_operation *operation);

/* sim_copy.c */
void fr_sim_do_copy(fr_sim_operation *operation);
void fr_sim_do_set(fr_sim_operation *operation);
void fr_sim_host_written(uint64_t address, uint64_t size); /* by an operation */

/* sim_stream.c */
fr_sim_stream *fr_sim_stream_new(fr_sim_context *context, unsigned int flags, int priority);
/* The stream that a handle or a name means; NULL: see the result. */
fr_cu_result fr_sim_stream_find(fr_cu_stream handle, fr_sim_stream **stream);
/* The same for new work: where the stream captures, *stream is NULL after success. */
fr_cu_result fr_sim_stream_for_work(fr_cu_stream handle, fr_sim_stream **stream);
fr_sim_operation *fr_sim_push(fr_sim_stream *stream, fr_sim_operation_kind kind);
void fr_sim_wait_for(fr_sim_operation *operation, fr_sim_point point, const fr_sim_clock *clock);
void fr_sim_operation_free(fr_sim_operation *operation);
void fr_sim_streams_drop(fr_sim_context *context); /* with the context */
void fr_sim_stream_bury(fr_sim_stream *stream);    /* destroyed, and without work */
void fr_sim_streams_reset(void);

/* sim_run.c */
void fr_sim_run_until(fr_sim_point point); /* waits for the outside, too */
void fr_sim_run_all(int device);           /* -1: of all; the same */
/* The same without an order: by calls that are not said to wait, and do. */
void fr_sim_run_work(int device);
bool fr_sim_poll(fr_sim_point point);
void fr_sim_run_after_call(void);
void fr_sim_host_joins(const fr_sim_clock *clock);
void fr_sim_run_wait_host_function(void); /* before everything is forgotten */
void fr_sim_run_start(void);              /* the thread of the simulator, if there is none */

/* sim_event.c */
void fr_sim_do_record(fr_sim_operation *operation);
void fr_sim_events_drop(fr_sim_context *context);

/* sim_capture.c */
fr_cu_result fr_sim_capture_forbids(void); /* a call that is unsafe while somebody captures */
void fr_sim_capture_invalidate(fr_sim_capture *capture);
fr_cu_result fr_sim_capture_implicit(fr_sim_context *context); /* by work of the legacy stream */
void fr_sim_capture_node(fr_sim_stream *stream);
void fr_sim_captures_reset(void);

/* sim_module.c */
void fr_sim_do_kernel(fr_sim_operation *operation);
bool fr_sim_kernel_ready(fr_sim_operation *operation); /* a spin kernel is when it may end */
bool fr_sim_kernel_spins(const fr_sim_operation *operation);
void fr_sim_modules_drop(const fr_sim_context *context); /* NULL: of all */

/* sim_builtin.c */
void fr_sim_builtin_register(void);

/* sim_kernels.c */
void fr_sim_kernels_register(void);
/* The kernel that holds its stream until a word is not 0; its arguments: address, most ns. */
void fr_sim_builtin_spin(fr_sim_launch *launch, void **arguments);
/* With the lock held. */
bool fr_sim_kernel_add(const char *name, fr_sim_kernel kernel, uint32_t argument_count,
                       const uint32_t *argument_bytes);

#endif
