/* The part of the CUDA driver's binary interface that this library calls, in words of our own, so
 * that nothing of NVIDIA's toolkit is needed to build it.
 *
 * Owns: handles, numbers, structures, and one function type for each entry point at one fixed
 * version of its interface ("_v11020" is the driver version that brought that form). Where the
 * toolkit is installed, tests/cuda compares all of it with <cuda.h>.
 *
 * An enumeration is an unsigned int here: that is the type which compilers give to one without
 * negative values, and values that a newer driver answers stay representable. */
#ifndef FR_CUDA_ABI_H
#define FR_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Handles. The tags are those of cuda.h: whoever includes both has one type. --- */
typedef struct CUctx_st *fr_cu_context;
typedef struct CUstream_st *fr_cu_stream;
typedef struct CUevent_st *fr_cu_event;
typedef struct CUmod_st *fr_cu_module;
typedef struct CUfunc_st *fr_cu_function;
typedef struct CUmemPoolHandle_st *fr_cu_memory_pool;
typedef struct CUgraph_st *fr_cu_graph;
typedef int fr_cu_device;                    /* an ordinal */
typedef unsigned long long fr_cu_device_ptr; /* an address of the device */
typedef void (*fr_cu_host_function)(void *user);

/* Streams that are not handles but names; they mean one of the current context. */
#define FR_CU_STREAM_LEGACY ((fr_cu_stream)(uintptr_t)1)
#define FR_CU_STREAM_PER_THREAD ((fr_cu_stream)(uintptr_t)2)

/* --- Results. cuda/error.h has all of their names; here are those that code looks at. --- */
typedef unsigned int fr_cu_result;
enum {
    FR_CU_SUCCESS = 0,
    FR_CU_ERROR_INVALID_VALUE = 1,
    FR_CU_ERROR_OUT_OF_MEMORY = 2,
    FR_CU_ERROR_NOT_INITIALIZED = 3,
    FR_CU_ERROR_DEINITIALIZED = 4,
    FR_CU_ERROR_STUB_LIBRARY = 34,
    FR_CU_ERROR_INSUFFICIENT_DRIVER = 35, /* of the runtime library only, but seen */
    FR_CU_ERROR_NO_DEVICE = 100,
    FR_CU_ERROR_INVALID_DEVICE = 101,
    FR_CU_ERROR_INVALID_IMAGE = 200,
    FR_CU_ERROR_INVALID_CONTEXT = 201,
    FR_CU_ERROR_NO_BINARY_FOR_GPU = 209,
    FR_CU_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
    FR_CU_ERROR_INVALID_PTX = 218,
    FR_CU_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    FR_CU_ERROR_CONTAINED = 226,
    FR_CU_ERROR_INVALID_HANDLE = 400,
    FR_CU_ERROR_NOT_FOUND = 500,
    FR_CU_ERROR_NOT_READY = 600,
    FR_CU_ERROR_ILLEGAL_ADDRESS = 700,
    FR_CU_ERROR_LAUNCH_TIMEOUT = 702,
    FR_CU_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
    FR_CU_ERROR_CONTEXT_IS_DESTROYED = 709,
    FR_CU_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    FR_CU_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    FR_CU_ERROR_HARDWARE_STACK_ERROR = 714,
    FR_CU_ERROR_ILLEGAL_INSTRUCTION = 715,
    FR_CU_ERROR_MISALIGNED_ADDRESS = 716,
    FR_CU_ERROR_INVALID_ADDRESS_SPACE = 717,
    FR_CU_ERROR_INVALID_PC = 718,
    FR_CU_ERROR_LAUNCH_FAILED = 719,
    FR_CU_ERROR_TENSOR_MEMORY_LEAK = 721,
    FR_CU_ERROR_NOT_PERMITTED = 800,
    FR_CU_ERROR_NOT_SUPPORTED = 801,
    FR_CU_ERROR_MPS_CLIENT_TERMINATED = 810,
    FR_CU_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    FR_CU_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    FR_CU_ERROR_STREAM_CAPTURE_MERGE = 902,
    FR_CU_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
    FR_CU_ERROR_STREAM_CAPTURE_UNJOINED = 904,
    FR_CU_ERROR_STREAM_CAPTURE_ISOLATION = 905,
    FR_CU_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
    FR_CU_ERROR_CAPTURED_EVENT = 907,
    FR_CU_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
    FR_CU_ERROR_EXTERNAL_DEVICE = 911,
    FR_CU_ERROR_UNKNOWN = 999
};

/* --- Flags and attributes. --- */
typedef unsigned int fr_cu_device_attribute;
enum {
    FR_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    FR_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    FR_CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
    FR_CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
    FR_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    FR_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    FR_CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
    FR_CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115
};

enum { FR_CU_STREAM_DEFAULT = 0, FR_CU_STREAM_NON_BLOCKING = 1 };
enum { FR_CU_EVENT_DEFAULT = 0, FR_CU_EVENT_BLOCKING_SYNC = 1, FR_CU_EVENT_DISABLE_TIMING = 2 };
enum { FR_CU_MEMHOSTALLOC_PORTABLE = 1, FR_CU_MEMHOSTALLOC_DEVICEMAP = 2 };
enum { FR_CU_MEMHOSTREGISTER_PORTABLE = 1, FR_CU_MEMHOSTREGISTER_DEVICEMAP = 2 };

typedef unsigned int fr_cu_memory_type;
enum {
    FR_CU_MEMORYTYPE_HOST = 1,
    FR_CU_MEMORYTYPE_DEVICE = 2,
    FR_CU_MEMORYTYPE_ARRAY = 3,
    FR_CU_MEMORYTYPE_UNIFIED = 4
};

typedef unsigned int fr_cu_pointer_attribute;
enum {
    FR_CU_POINTER_ATTRIBUTE_CONTEXT = 1,
    FR_CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
    FR_CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
    FR_CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
    FR_CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
    FR_CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
    FR_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
    FR_CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
    FR_CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
    FR_CU_POINTER_ATTRIBUTE_MAPPED = 13,
    FR_CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17
};

typedef unsigned int fr_cu_function_attribute;
enum { FR_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0, FR_CU_FUNC_ATTRIBUTE_NUM_REGS = 4 };

typedef unsigned int fr_cu_jit_option;

typedef unsigned int fr_cu_pool_attribute;
enum {
    FR_CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1, /* int */
    FR_CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC = 2,
    FR_CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
    FR_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4, /* uint64_t, and what follows */
    FR_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
    FR_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
    FR_CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
    FR_CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8
};
enum { FR_CU_MEM_ALLOCATION_TYPE_PINNED = 1 };
enum { FR_CU_MEM_LOCATION_TYPE_DEVICE = 1 };
enum { FR_CU_MEM_ACCESS_NONE = 0, FR_CU_MEM_ACCESS_READ = 1, FR_CU_MEM_ACCESS_READWRITE = 3 };

typedef unsigned int fr_cu_capture_status;
enum {
    FR_CU_CAPTURE_STATUS_NONE = 0,
    FR_CU_CAPTURE_STATUS_ACTIVE = 1,
    FR_CU_CAPTURE_STATUS_INVALIDATED = 2
};
typedef unsigned int fr_cu_capture_mode;
enum {
    FR_CU_CAPTURE_MODE_GLOBAL = 0,
    FR_CU_CAPTURE_MODE_THREAD_LOCAL = 1,
    FR_CU_CAPTURE_MODE_RELAXED = 2
};

/* For cuGetProcAddress: NULL as a stream means the legacy default stream. */
enum { FR_CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1 };
typedef unsigned int fr_cu_proc_address_result;
enum {
    FR_CU_PROC_ADDRESS_SUCCESS = 0,
    FR_CU_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
    FR_CU_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2
};

/* --- Structures. FR_CUDA_TOOLKIT_STRUCTURES takes those of cuda.h, included before, so that a
 * test can compare the function types; it compares the layouts in another file. --- */
#ifdef FR_CUDA_TOOLKIT_STRUCTURES
typedef struct CUuuid_st fr_cu_uuid;
typedef struct CUmemLocation_st fr_cu_memory_location;
typedef struct CUmemPoolProps_st fr_cu_pool_properties;
typedef struct CUmemAccessDesc_st fr_cu_memory_access;
typedef struct CUDA_MEMCPY2D_st fr_cu_copy_2d;
#else
typedef struct fr_cu_uuid {
    char bytes[16];
} fr_cu_uuid;

typedef struct fr_cu_memory_location {
    unsigned int type;
    int id;
} fr_cu_memory_location;

typedef struct fr_cu_pool_properties {
    unsigned int allocation_type;
    unsigned int handle_types;
    fr_cu_memory_location location;
    void *win32_security_attributes;
    size_t max_size;
    unsigned short usage;
    unsigned char reserved[54]; /* zeros */
} fr_cu_pool_properties;

typedef struct fr_cu_memory_access {
    fr_cu_memory_location location;
    unsigned int flags;
} fr_cu_memory_access;

typedef struct fr_cu_copy_2d {
    size_t src_x_bytes;
    size_t src_y;
    fr_cu_memory_type src_type;
    const void *src_host;
    fr_cu_device_ptr src_device;
    void *src_array;
    size_t src_pitch;
    size_t dst_x_bytes;
    size_t dst_y;
    fr_cu_memory_type dst_type;
    void *dst_host;
    fr_cu_device_ptr dst_device;
    void *dst_array;
    size_t dst_pitch;
    size_t width_bytes;
    size_t height;
} fr_cu_copy_2d;
#endif

/* --- Function types: fr_<entry point>_v<version>. --- */
typedef fr_cu_result (*fr_cuGetProcAddress_v12000)(const char *symbol, void **function, int version,
                                                   uint64_t flags,
                                                   fr_cu_proc_address_result *result);

typedef fr_cu_result (*fr_cuInit_v2000)(unsigned int flags);
typedef fr_cu_result (*fr_cuDriverGetVersion_v2020)(int *version);
typedef fr_cu_result (*fr_cuGetErrorName_v6000)(fr_cu_result error, const char **text);
typedef fr_cu_result (*fr_cuGetErrorString_v6000)(fr_cu_result error, const char **text);

typedef fr_cu_result (*fr_cuDeviceGetCount_v2000)(int *count);
typedef fr_cu_result (*fr_cuDeviceGet_v2000)(fr_cu_device *device, int ordinal);
typedef fr_cu_result (*fr_cuDeviceGetName_v2000)(char *name, int length, fr_cu_device device);
typedef fr_cu_result (*fr_cuDeviceGetUuid_v11040)(fr_cu_uuid *uuid, fr_cu_device device);
typedef fr_cu_result (*fr_cuDeviceGetAttribute_v2000)(int *value, fr_cu_device_attribute attribute,
                                                      fr_cu_device device);
typedef fr_cu_result (*fr_cuDeviceTotalMem_v3020)(size_t *size_bytes, fr_cu_device device);

typedef fr_cu_result (*fr_cuDevicePrimaryCtxRetain_v7000)(fr_cu_context *context,
                                                          fr_cu_device device);
typedef fr_cu_result (*fr_cuDevicePrimaryCtxRelease_v11000)(fr_cu_device device);
typedef fr_cu_result (*fr_cuDevicePrimaryCtxGetState_v7000)(fr_cu_device device,
                                                            unsigned int *flags, int *active);
typedef fr_cu_result (*fr_cuCtxGetCurrent_v4000)(fr_cu_context *context);
typedef fr_cu_result (*fr_cuCtxSetCurrent_v4000)(fr_cu_context context);
typedef fr_cu_result (*fr_cuCtxPushCurrent_v4000)(fr_cu_context context);
typedef fr_cu_result (*fr_cuCtxPopCurrent_v4000)(fr_cu_context *context);
typedef fr_cu_result (*fr_cuCtxGetDevice_v2000)(fr_cu_device *device);
typedef fr_cu_result (*fr_cuCtxSynchronize_v2000)(void);
typedef fr_cu_result (*fr_cuCtxGetStreamPriorityRange_v5050)(int *least, int *greatest);
typedef fr_cu_result (*fr_cuThreadExchangeStreamCaptureMode_v10010)(fr_cu_capture_mode *mode);

typedef fr_cu_result (*fr_cuDeviceCanAccessPeer_v4000)(int *can, fr_cu_device device,
                                                       fr_cu_device peer);
typedef fr_cu_result (*fr_cuCtxEnablePeerAccess_v4000)(fr_cu_context peer, unsigned int flags);
typedef fr_cu_result (*fr_cuMemPoolSetAccess_v11020)(fr_cu_memory_pool pool,
                                                     const fr_cu_memory_access *access,
                                                     size_t count);

typedef fr_cu_result (*fr_cuMemAlloc_v3020)(fr_cu_device_ptr *address, size_t size_bytes);
typedef fr_cu_result (*fr_cuMemFree_v3020)(fr_cu_device_ptr address);
typedef fr_cu_result (*fr_cuMemGetInfo_v3020)(size_t *free_bytes, size_t *total_bytes);
typedef fr_cu_result (*fr_cuMemAllocFromPoolAsync_v11020)(fr_cu_device_ptr *address,
                                                          size_t size_bytes, fr_cu_memory_pool pool,
                                                          fr_cu_stream stream);
typedef fr_cu_result (*fr_cuMemFreeAsync_v11020)(fr_cu_device_ptr address, fr_cu_stream stream);
typedef fr_cu_result (*fr_cuMemPoolCreate_v11020)(fr_cu_memory_pool *pool,
                                                  const fr_cu_pool_properties *properties);
typedef fr_cu_result (*fr_cuMemPoolDestroy_v11020)(fr_cu_memory_pool pool);
typedef fr_cu_result (*fr_cuMemPoolSetAttribute_v11020)(fr_cu_memory_pool pool,
                                                        fr_cu_pool_attribute attribute,
                                                        void *value);
typedef fr_cu_result (*fr_cuMemPoolGetAttribute_v11020)(fr_cu_memory_pool pool,
                                                        fr_cu_pool_attribute attribute,
                                                        void *value);
typedef fr_cu_result (*fr_cuMemPoolTrimTo_v11020)(fr_cu_memory_pool pool, size_t keep_bytes);
typedef fr_cu_result (*fr_cuMemHostAlloc_v2020)(void **memory, size_t size_bytes,
                                                unsigned int flags);
typedef fr_cu_result (*fr_cuMemFreeHost_v2000)(void *memory);
typedef fr_cu_result (*fr_cuMemHostRegister_v6050)(void *memory, size_t size_bytes,
                                                   unsigned int flags);
typedef fr_cu_result (*fr_cuMemHostUnregister_v4000)(void *memory);
typedef fr_cu_result (*fr_cuMemHostGetDevicePointer_v3020)(fr_cu_device_ptr *address, void *memory,
                                                           unsigned int flags);
typedef fr_cu_result (*fr_cuPointerGetAttribute_v4000)(void *value,
                                                       fr_cu_pointer_attribute attribute,
                                                       fr_cu_device_ptr address);
typedef fr_cu_result (*fr_cuPointerGetAttributes_v7000)(unsigned int count,
                                                        fr_cu_pointer_attribute *attributes,
                                                        void **values, fr_cu_device_ptr address);

typedef fr_cu_result (*fr_cuMemcpyHtoDAsync_v3020)(fr_cu_device_ptr dst, const void *src,
                                                   size_t size_bytes, fr_cu_stream stream);
typedef fr_cu_result (*fr_cuMemcpyDtoHAsync_v3020)(void *dst, fr_cu_device_ptr src,
                                                   size_t size_bytes, fr_cu_stream stream);
typedef fr_cu_result (*fr_cuMemcpyDtoDAsync_v3020)(fr_cu_device_ptr dst, fr_cu_device_ptr src,
                                                   size_t size_bytes, fr_cu_stream stream);
typedef fr_cu_result (*fr_cuMemcpy2DAsync_v3020)(const fr_cu_copy_2d *copy, fr_cu_stream stream);
typedef fr_cu_result (*fr_cuMemcpyAsync_v4000)(fr_cu_device_ptr dst, fr_cu_device_ptr src,
                                               size_t size_bytes, fr_cu_stream stream);
typedef fr_cu_result (*fr_cuMemcpyPeerAsync_v4000)(fr_cu_device_ptr dst, fr_cu_context dst_context,
                                                   fr_cu_device_ptr src, fr_cu_context src_context,
                                                   size_t size_bytes, fr_cu_stream stream);
typedef fr_cu_result (*fr_cuMemsetD8Async_v3020)(fr_cu_device_ptr dst, unsigned char value,
                                                 size_t count, fr_cu_stream stream);
typedef fr_cu_result (*fr_cuMemsetD16Async_v3020)(fr_cu_device_ptr dst, unsigned short value,
                                                  size_t count, fr_cu_stream stream);
typedef fr_cu_result (*fr_cuMemsetD32Async_v3020)(fr_cu_device_ptr dst, unsigned int value,
                                                  size_t count, fr_cu_stream stream);

typedef fr_cu_result (*fr_cuStreamCreateWithPriority_v5050)(fr_cu_stream *stream,
                                                            unsigned int flags, int priority);
typedef fr_cu_result (*fr_cuStreamDestroy_v4000)(fr_cu_stream stream);
typedef fr_cu_result (*fr_cuStreamSynchronize_v2000)(fr_cu_stream stream);
typedef fr_cu_result (*fr_cuStreamQuery_v2000)(fr_cu_stream stream);
typedef fr_cu_result (*fr_cuStreamWaitEvent_v3020)(fr_cu_stream stream, fr_cu_event event,
                                                   unsigned int flags);
typedef fr_cu_result (*fr_cuStreamGetCtx_v9020)(fr_cu_stream stream, fr_cu_context *context);
typedef fr_cu_result (*fr_cuStreamGetFlags_v5050)(fr_cu_stream stream, unsigned int *flags);
typedef fr_cu_result (*fr_cuStreamIsCapturing_v10000)(fr_cu_stream stream,
                                                      fr_cu_capture_status *status);
typedef fr_cu_result (*fr_cuStreamBeginCapture_v10010)(fr_cu_stream stream,
                                                       fr_cu_capture_mode mode);
typedef fr_cu_result (*fr_cuStreamEndCapture_v10000)(fr_cu_stream stream, fr_cu_graph *graph);
typedef fr_cu_result (*fr_cuGraphDestroy_v10000)(fr_cu_graph graph);
typedef fr_cu_result (*fr_cuLaunchHostFunc_v10000)(fr_cu_stream stream,
                                                   fr_cu_host_function function, void *user);
typedef fr_cu_result (*fr_cuStreamWriteValue32_v11070)(fr_cu_stream stream,
                                                       fr_cu_device_ptr address, uint32_t value,
                                                       unsigned int flags);

typedef fr_cu_result (*fr_cuEventCreate_v2000)(fr_cu_event *event, unsigned int flags);
typedef fr_cu_result (*fr_cuEventDestroy_v4000)(fr_cu_event event);
typedef fr_cu_result (*fr_cuEventRecord_v2000)(fr_cu_event event, fr_cu_stream stream);
typedef fr_cu_result (*fr_cuEventQuery_v2000)(fr_cu_event event);
typedef fr_cu_result (*fr_cuEventSynchronize_v2000)(fr_cu_event event);
typedef fr_cu_result (*fr_cuEventElapsedTime_v2000)(float *milliseconds, fr_cu_event start,
                                                    fr_cu_event end);

typedef fr_cu_result (*fr_cuModuleLoadDataEx_v2010)(fr_cu_module *module, const void *image,
                                                    unsigned int option_count,
                                                    fr_cu_jit_option *options,
                                                    void **option_values);
typedef fr_cu_result (*fr_cuModuleUnload_v2000)(fr_cu_module module);
typedef fr_cu_result (*fr_cuModuleGetFunction_v2000)(fr_cu_function *function, fr_cu_module module,
                                                     const char *name);
typedef fr_cu_result (*fr_cuLaunchKernel_v4000)(fr_cu_function function, unsigned int grid_x,
                                                unsigned int grid_y, unsigned int grid_z,
                                                unsigned int block_x, unsigned int block_y,
                                                unsigned int block_z, unsigned int shared_bytes,
                                                fr_cu_stream stream, void **arguments,
                                                void **extra);
typedef fr_cu_result (*fr_cuFuncGetAttribute_v2020)(int *value, fr_cu_function_attribute attribute,
                                                    fr_cu_function function);

#ifdef __cplusplus
}
#endif

#endif
