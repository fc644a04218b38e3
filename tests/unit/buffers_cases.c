#include "tests/unit/buffers_cases.h"

#include "runtime/store/buffers_pool.h"

fr_buffers *buffers_case_open(const struct fr_allocator *allocator, bool pooled)
{
    return pooled ? fr_buffers_create_pooled(allocator) : fr_buffers_create(allocator, false);
}

fr_buffers *buffers_case_open_builtin(const struct fr_allocator *allocator)
{
    return fr_buffers_create(allocator, true);
}

void buffers_case_close(fr_buffers *buffers)
{
    fr_buffers_destroy(buffers);
}

fr_buffer *buffers_case_get(fr_buffers *buffers, size_t size_bytes)
{
    return fr_buffer_get(buffers, size_bytes);
}

fr_buffer *buffers_case_adopt(fr_buffers *buffers, const struct DLManagedTensorVersioned *managed,
                              const void *data, size_t size_bytes)
{
    return fr_buffer_adopt(buffers, managed, data, size_bytes);
}

void buffers_case_retain(fr_buffer *buffer)
{
    fr_buffer_retain(buffer);
}

void buffers_case_release(fr_buffers *buffers, fr_buffer *buffer)
{
    fr_buffer_release(buffers, buffer);
}

bool buffers_case_writable(const fr_buffer *buffer)
{
    return fr_buffer_writable(buffer);
}

unsigned char *buffers_case_data(const fr_buffer *buffer)
{
    return buffer->data;
}

size_t buffers_case_capacity(const fr_buffer *buffer)
{
    return buffer->capacity_bytes;
}

uint64_t buffers_case_payload_bytes(const fr_buffers *buffers)
{
    fr_buffers_statistics figures;
    fr_buffers_statistics_read(buffers, &figures);
    return figures.payload_bytes;
}

uint64_t buffers_case_pooled_bytes(const fr_buffers *buffers)
{
    fr_buffers_statistics figures;
    fr_buffers_statistics_read(buffers, &figures);
    return figures.pooled_bytes;
}

uint32_t buffers_case_class_of(size_t size_bytes)
{
    return fr_buffer_class_of(size_bytes);
}

size_t buffers_case_class_bytes(uint32_t size_class)
{
    return fr_buffer_class_bytes(size_class);
}

uint32_t buffers_case_classes(void)
{
    return FR_BUFFER_CLASSES;
}

bool buffers_case_shrinks(void)
{
#ifdef FR_SHRINK
    return true;
#else
    return false;
#endif
}

static uint64_t clock_now_ns;
static fr_os clock_os;

static uint64_t clock_read(void)
{
    return clock_now_ns;
}

void buffers_case_clock(uint64_t now_ns)
{
    clock_now_ns = now_ns;
    clock_os = fr_os_linux;
    clock_os.now_ns = clock_read;
    fr_os_current = now_ns == 0 ? &fr_os_linux : &clock_os;
}
