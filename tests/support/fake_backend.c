#include "tests/support/fake_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_EVENTS 1024u

typedef struct fake_event {
    bool made, pending;
    uintptr_t stream; /* of the last record */
} fake_event;

/* The backend's type. */
struct fr_device {
    uint32_t index;
};

static struct {
    uint32_t count;
    struct fr_device devices[8];
    fake_event events[FAKE_EVENTS]; /* handle k + 1 */
    uintptr_t streams;              /* handles 1000 + .. that were made */
    uint64_t alive, faults, fails_in;
    void (*meanwhile)(void);
    int64_t entered;
    bool dead;
    fake_call calls[FAKE_BACKEND_CALLS];
    uint32_t call_count;
} fake;

static void fake_note(fake_call_kind kind, uintptr_t stream, uintptr_t event)
{
    if (fake.call_count < FAKE_BACKEND_CALLS)
        fake.calls[fake.call_count++] = (fake_call){kind, stream, event};
}

/* True: the call fails. */
static bool fake_fails(fr_device_fault *fault)
{
    fake.faults += fake.entered <= 0;
    bool fails = fake.dead || (fake.fails_in > 0 && --fake.fails_in == 0);
    if (!fails)
        return false;
    *fault = (fr_device_fault){.kind = fake.dead ? FR_DEVICE_DEAD : FR_DEVICE_FAILED, .code = 700};
    (void)snprintf(fault->text, sizeof(fault->text), "the test wants it to fail");
    return true;
}

static uint32_t fake_count(fr_device_fault *fault)
{
    (void)fault;
    return fake.count;
}

static bool fake_open(uint32_t index, fr_device **out, fr_device_fault *fault)
{
    (void)fault;
    fake.devices[index].index = index;
    *out = &fake.devices[index];
    fake.alive++;
    return true;
}

static void fake_close(fr_device *device)
{
    (void)device;
    fake.alive--;
}

static uint64_t fake_memory_bytes(const fr_device *device)
{
    (void)device;
    return UINT64_MAX;
}

static bool fake_enter(fr_device *device, fr_device_entry *entry, fr_device_fault *fault)
{
    if (fake.dead) {
        *fault = (fr_device_fault){.kind = FR_DEVICE_DEAD, .code = 700};
        return false;
    }
    entry->device = device;
    fake.entered++;
    return true;
}

static void fake_leave(fr_device_entry *entry)
{
    (void)entry;
    fake.entered--;
}

static bool fake_allocate(fr_device_stream stream, size_t size_bytes, uint64_t *out,
                          fr_device_fault *fault)
{
    if (fake_fails(fault))
        return false;
    *out = (uint64_t)(uintptr_t)malloc(size_bytes);
    fake.alive++;
    fake_note(FAKE_ALLOCATE, stream.handle, 0);
    return *out != 0;
}

static void fake_release(fr_device_stream stream, uint64_t address, size_t size_bytes)
{
    (void)size_bytes;
    free((void *)(uintptr_t)address);
    fake.alive--;
    fake_note(FAKE_RELEASE, stream.handle, 0);
}

static bool fake_pin(fr_device *device, size_t size_bytes, void **out, fr_device_fault *fault)
{
    (void)device;
    if (fake_fails(fault))
        return false;
    *out = malloc(size_bytes);
    fake.alive++;
    return true;
}

static void fake_unpin(fr_device *device, void *memory, size_t size_bytes)
{
    (void)device;
    (void)size_bytes;
    free(memory);
    fake.alive--;
}

static bool fake_stream_make(fr_device *device, fr_device_stream *out, fr_device_fault *fault)
{
    if (fake_fails(fault))
        return false;
    *out = (fr_device_stream){device, 1000 + fake.streams++};
    fake.alive++;
    void (*meanwhile)(void) = fake.meanwhile;
    fake.meanwhile = NULL;
    if (meanwhile)
        meanwhile();
    return true;
}

static void fake_stream_end(fr_device_stream stream)
{
    (void)stream;
    fake.alive--;
}

static bool fake_stream_is_idle(fr_device_stream stream)
{
    (void)stream;
    fake.faults += fake.entered <= 0;
    return false; /* only its events tell */
}

static bool fake_stream_of_client(fr_device *device, uintptr_t handle, fr_device_stream *out,
                                  fr_device_fault *fault)
{
    if (fake_fails(fault))
        return false;
    *out = (fr_device_stream){device, handle};
    return true;
}

static bool fake_event_make(fr_device *device, fr_device_event *out, fr_device_fault *fault)
{
    uint32_t k = 0;
    if (fake_fails(fault))
        return false;
    while (fake.events[k].made)
        k++;
    fake.events[k] = (fake_event){.made = true};
    *out = (fr_device_event){device, k + 1};
    fake.alive++;
    return true;
}

static void fake_event_end(fr_device_event event)
{
    fake.events[event.handle - 1].made = false;
    fake.alive--;
}

static bool fake_record_handle(fr_device_stream stream, uintptr_t event, fr_device_fault *fault)
{
    if (fake_fails(fault))
        return false;
    fake_note(FAKE_RECORD, stream.handle, event);
    if (event <= FAKE_EVENTS) {
        fake.events[event - 1].pending = true;
        fake.events[event - 1].stream = stream.handle;
    }
    return true;
}

static bool fake_record(fr_device_stream stream, fr_device_event event, fr_device_fault *fault)
{
    return fake_record_handle(stream, event.handle, fault);
}

static bool fake_wait_handle(fr_device_stream stream, uintptr_t event, fr_device_fault *fault)
{
    if (fake_fails(fault))
        return false;
    fake_note(FAKE_WAIT, stream.handle, event);
    return true;
}

static bool fake_wait(fr_device_stream stream, fr_device_event event, fr_device_fault *fault)
{
    return fake_wait_handle(stream, event.handle, fault);
}

static fr_device_event_state fake_look(fr_device_event event, fr_device_fault *fault)
{
    if (fake.dead) {
        *fault = (fr_device_fault){.kind = FR_DEVICE_DEAD, .code = 700};
        return FR_EVENT_LOST;
    }
    fake.faults += fake.entered <= 0;
    return fake.events[event.handle - 1].pending ? FR_EVENT_PENDING : FR_EVENT_DONE;
}

static bool fake_copy(fr_device_stream stream, fr_address to, fr_address from, size_t size_bytes,
                      fr_device_fault *fault)
{
    if (fake_fails(fault))
        return false;
    memcpy((void *)(uintptr_t)to.address, (const void *)(uintptr_t)from.address, size_bytes);
    fake_note(FAKE_COPY, stream.handle, 0);
    return true;
}

static const fr_device_table fake_table = {
    .count = fake_count,
    .open = fake_open,
    .close = fake_close,
    .memory_bytes = fake_memory_bytes,
    .enter = fake_enter,
    .leave = fake_leave,
    .allocate = fake_allocate,
    .release = fake_release,
    .pin = fake_pin,
    .unpin = fake_unpin,
    .stream_make = fake_stream_make,
    .stream_end = fake_stream_end,
    .stream_is_idle = fake_stream_is_idle,
    .stream_of_client = fake_stream_of_client,
    .event_make = fake_event_make,
    .event_end = fake_event_end,
    .record = fake_record,
    .wait = fake_wait,
    .look = fake_look,
    .record_client = fake_record_handle,
    .wait_client = fake_wait_handle,
    .copy = fake_copy,
};

const fr_device_table *fake_backend_open(uint32_t count)
{
    memset(&fake, 0, sizeof(fake));
    fake.count = count;
    return &fake_table;
}

void fake_backend_fire(uintptr_t stream)
{
    for (uint32_t k = 0; k < FAKE_EVENTS; k++)
        if (stream == 0 || fake.events[k].stream == stream)
            fake.events[k].pending = false;
}

void fake_backend_kill(void)
{
    fake.dead = true;
}

void fake_backend_fail(uint64_t k)
{
    fake.fails_in = k;
}

void fake_backend_meanwhile(void (*then)(void))
{
    fake.meanwhile = then;
}

uint32_t fake_backend_call_count(void)
{
    return fake.call_count;
}

fake_call fake_backend_call(uint32_t index)
{
    return fake.calls[index];
}

uint64_t fake_backend_faults(void)
{
    return fake.faults + (uint64_t)(fake.entered != 0);
}

uint64_t fake_backend_alive(void)
{
    return fake.alive;
}
