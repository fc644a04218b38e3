/* The one table of entry points through which everything here reaches CUDA.
 *
 * The real driver fills it (cuda/loader.h), and so does the simulated one (tests/sim). Fields have
 * CUDA's own names. A table is written once, before anybody uses it, and then only read. */
#ifndef FR_CUDA_DRIVER_H
#define FR_CUDA_DRIVER_H

#include "cuda/abi.h"

/* X(entry point, version of its interface, name that libcuda.so.1 exports that version by).
 * A driver that lacks a required one is as good as none. */
#define FR_CUDA_REQUIRED(X) \
    X(cuInit, 2000, cuInit) \
    X(cuDriverGetVersion, 2020, cuDriverGetVersion) \
    X(cuGetErrorName, 6000, cuGetErrorName) \
    X(cuGetErrorString, 6000, cuGetErrorString) \
    X(cuDeviceGetCount, 2000, cuDeviceGetCount) \
    X(cuDeviceGet, 2000, cuDeviceGet) \
    X(cuDeviceGetName, 2000, cuDeviceGetName) \
    X(cuDeviceGetUuid, 11040, cuDeviceGetUuid_v2) \
    X(cuDeviceGetAttribute, 2000, cuDeviceGetAttribute) \
    X(cuDeviceTotalMem, 3020, cuDeviceTotalMem_v2) \
    X(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain) \
    X(cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2) \
    X(cuDevicePrimaryCtxGetState, 7000, cuDevicePrimaryCtxGetState) \
    X(cuCtxGetCurrent, 4000, cuCtxGetCurrent) \
    X(cuCtxSetCurrent, 4000, cuCtxSetCurrent) \
    X(cuCtxPushCurrent, 4000, cuCtxPushCurrent_v2) \
    X(cuCtxPopCurrent, 4000, cuCtxPopCurrent_v2) \
    X(cuCtxGetDevice, 2000, cuCtxGetDevice) \
    X(cuCtxSynchronize, 2000, cuCtxSynchronize) \
    X(cuCtxGetStreamPriorityRange, 5050, cuCtxGetStreamPriorityRange) \
    X(cuThreadExchangeStreamCaptureMode, 10010, cuThreadExchangeStreamCaptureMode) \
    X(cuDeviceCanAccessPeer, 4000, cuDeviceCanAccessPeer) \
    X(cuCtxEnablePeerAccess, 4000, cuCtxEnablePeerAccess) \
    X(cuMemPoolSetAccess, 11020, cuMemPoolSetAccess) \
    X(cuMemAlloc, 3020, cuMemAlloc_v2) \
    X(cuMemFree, 3020, cuMemFree_v2) \
    X(cuMemGetInfo, 3020, cuMemGetInfo_v2) \
    X(cuMemAllocFromPoolAsync, 11020, cuMemAllocFromPoolAsync) \
    X(cuMemFreeAsync, 11020, cuMemFreeAsync) \
    X(cuMemPoolCreate, 11020, cuMemPoolCreate) \
    X(cuMemPoolDestroy, 11020, cuMemPoolDestroy) \
    X(cuMemPoolSetAttribute, 11020, cuMemPoolSetAttribute) \
    X(cuMemPoolGetAttribute, 11020, cuMemPoolGetAttribute) \
    X(cuMemPoolTrimTo, 11020, cuMemPoolTrimTo) \
    X(cuMemHostAlloc, 2020, cuMemHostAlloc) \
    X(cuMemFreeHost, 2000, cuMemFreeHost) \
    X(cuMemHostRegister, 6050, cuMemHostRegister_v2) \
    X(cuMemHostUnregister, 4000, cuMemHostUnregister) \
    X(cuMemHostGetDevicePointer, 3020, cuMemHostGetDevicePointer_v2) \
    X(cuPointerGetAttribute, 4000, cuPointerGetAttribute) \
    X(cuPointerGetAttributes, 7000, cuPointerGetAttributes) \
    X(cuMemcpyHtoDAsync, 3020, cuMemcpyHtoDAsync_v2) \
    X(cuMemcpyDtoHAsync, 3020, cuMemcpyDtoHAsync_v2) \
    X(cuMemcpyDtoDAsync, 3020, cuMemcpyDtoDAsync_v2) \
    X(cuMemcpy2DAsync, 3020, cuMemcpy2DAsync_v2) \
    X(cuMemcpyAsync, 4000, cuMemcpyAsync) \
    X(cuMemcpyPeerAsync, 4000, cuMemcpyPeerAsync) \
    X(cuMemsetD8Async, 3020, cuMemsetD8Async) \
    X(cuMemsetD16Async, 3020, cuMemsetD16Async) \
    X(cuMemsetD32Async, 3020, cuMemsetD32Async) \
    X(cuStreamCreateWithPriority, 5050, cuStreamCreateWithPriority) \
    X(cuStreamDestroy, 4000, cuStreamDestroy_v2) \
    X(cuStreamSynchronize, 2000, cuStreamSynchronize) \
    X(cuStreamQuery, 2000, cuStreamQuery) \
    X(cuStreamWaitEvent, 3020, cuStreamWaitEvent) \
    X(cuStreamGetCtx, 9020, cuStreamGetCtx) \
    X(cuStreamGetFlags, 5050, cuStreamGetFlags) \
    X(cuStreamIsCapturing, 10000, cuStreamIsCapturing) \
    X(cuEventCreate, 2000, cuEventCreate) \
    X(cuEventDestroy, 4000, cuEventDestroy_v2) \
    X(cuEventRecord, 2000, cuEventRecord) \
    X(cuEventQuery, 2000, cuEventQuery) \
    X(cuEventSynchronize, 2000, cuEventSynchronize) \
    X(cuModuleLoadDataEx, 2010, cuModuleLoadDataEx) \
    X(cuModuleUnload, 2000, cuModuleUnload) \
    X(cuModuleGetFunction, 2000, cuModuleGetFunction) \
    X(cuLaunchKernel, 4000, cuLaunchKernel) \
    X(cuFuncGetAttribute, 2020, cuFuncGetAttribute)

/* NULL where the driver has none: the library does without, only tests and the bench need them. */
#define FR_CUDA_OPTIONAL(X) \
    X(cuLaunchHostFunc, 10000, cuLaunchHostFunc) \
    X(cuStreamWriteValue32, 11070, cuStreamWriteValue32_v2) \
    X(cuEventElapsedTime, 2000, cuEventElapsedTime) \
    X(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2) \
    X(cuStreamEndCapture, 10000, cuStreamEndCapture) \
    X(cuGraphDestroy, 10000, cuGraphDestroy)

#define FR_CUDA_ENTRY_POINTS(X) FR_CUDA_REQUIRED(X) FR_CUDA_OPTIONAL(X)

typedef struct fr_cuda_driver {
#define FR_CUDA_FIELD(name, version, symbol) fr_##name##_v##version name;
    FR_CUDA_ENTRY_POINTS(FR_CUDA_FIELD)
#undef FR_CUDA_FIELD
} fr_cuda_driver;

#endif
