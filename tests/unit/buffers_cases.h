/* Cases over runtime/store/buffers.h, which C++ cannot include. */
#ifndef FR_TESTS_UNIT_BUFFERS_CASES_H
#define FR_TESTS_UNIT_BUFFERS_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fr_allocator;
struct DLManagedTensorVersioned;
typedef struct fr_buffers fr_buffers;
typedef struct fr_buffer fr_buffer;

fr_buffers *buffers_case_open(const struct fr_allocator *allocator, bool pooled);
/* As the store opens them. */
fr_buffers *buffers_case_open_builtin(const struct fr_allocator *allocator);
void buffers_case_close(fr_buffers *buffers);
fr_buffer *buffers_case_get(fr_buffers *buffers, size_t size_bytes);
fr_buffer *buffers_case_adopt(fr_buffers *buffers, const struct DLManagedTensorVersioned *managed,
                              const void *data, size_t size_bytes);
void buffers_case_retain(fr_buffer *buffer);
void buffers_case_release(fr_buffers *buffers, fr_buffer *buffer);
bool buffers_case_writable(const fr_buffer *buffer);
unsigned char *buffers_case_data(const fr_buffer *buffer);
size_t buffers_case_capacity(const fr_buffer *buffer);
uint64_t buffers_case_payload_bytes(const fr_buffers *buffers);
uint64_t buffers_case_pooled_bytes(const fr_buffers *buffers);

uint32_t buffers_case_class_of(size_t size_bytes); /* UINT32_MAX: none */
size_t buffers_case_class_bytes(uint32_t size_class);
uint32_t buffers_case_classes(void);

bool buffers_case_shrinks(void); /* FR_SHRINK is defined */

/* From here on the clock of the library stands at this time; 0: the real one. */
void buffers_case_clock(uint64_t now_ns);

#ifdef __cplusplus
}
#endif

#endif
