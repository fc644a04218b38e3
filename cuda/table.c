#include "cuda/table.h"

#include "cuda/copy.h"
#include "cuda/device.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/process.h"
#include "cuda/stream.h"

const fr_device_table fr_cuda_table = {
    .count = fr_cuda_count,
    .open = fr_cuda_open,
    .close = fr_cuda_close,
    .memory_bytes = fr_cuda_memory_bytes,
    .enter = fr_cuda_enter,
    .leave = fr_cuda_leave,
    .allocate = fr_cuda_allocate,
    .release = fr_cuda_release,
    .pin = fr_cuda_pin,
    .unpin = fr_cuda_unpin,
    .kept_bytes = fr_cuda_kept_bytes,
    .describe = fr_cuda_describe,
    .stream_make = fr_cuda_stream_make,
    .stream_end = fr_cuda_stream_end,
    .place_of_client = fr_cuda_place_of_client,
    .stream_is_idle = fr_cuda_stream_is_idle,
    .stream_of_client = fr_cuda_stream_of_client,
    .event_make = fr_cuda_event_make,
    .event_end = fr_cuda_event_end,
    .record = fr_cuda_record,
    .wait = fr_cuda_wait,
    .look = fr_cuda_look,
    .record_client = fr_cuda_record_client,
    .wait_client = fr_cuda_wait_client,
    .look_client = fr_cuda_look_client,
    .copy = fr_cuda_copy,
    .fill = fr_cuda_fill,
    .move_rows = fr_cuda_move_rows,
    .copy_strided = fr_cuda_copy_strided,
};
