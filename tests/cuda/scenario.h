// One use of a device that makes every call of the table, each between an enter and a leave of its
// own, and gives back what it got, also after a call that failed. C++ only.
#ifndef FR_TESTS_CUDA_SCENARIO_H
#define FR_TESTS_CUDA_SCENARIO_H

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "runtime/device/table.h"

class Scenario
{
  public:
    const fr_device_table *table;
    std::function<void()> after_leave = [] {};
    std::function<void()> drain = [] {}; // until no work is left
    std::function<void()> before_close = [] {};
    // Handles of a client on device 0.
    uintptr_t users_stream = 0, users_event = 0;
    fr_device_fault fault = {}; // the first
    bool right = true;          // the bytes that came back

    explicit Scenario(const fr_device_table *t) : table(t)
    {
    }

    // True if all calls did what they were asked to.
    bool Run()
    {
        failed_ = false;
        bool ran = Open() && Make() && Work() && Bring();
        End();
        return ran && !failed_;
    }

  private:
    enum { ROWS = 16, ROW = 12, BYTES = ROWS * ROW };
    fr_device *devices_[2] = {};
    fr_device_stream streams_[2] = {}, users_ = {};
    fr_device_event events_[2] = {};
    uint64_t memory_[2] = {}, list_ = 0, moved_ = 0;
    void *pinned_ = nullptr;
    bool failed_ = false;

    // One call, entered. What it frees is freed in any case.
    bool Call(int device, const std::function<bool(fr_device_fault *)> &call)
    {
        fr_device_entry entry = {};
        fr_device_fault own = {};
        bool entered = table->enter(devices_[device], &entry, &own);
        bool done = entered && call(&own);
        if (entered)
            table->leave(&entry);
        after_leave();
        if (!done && !failed_)
            fault = own;
        failed_ = failed_ || !done;
        return done;
    }

    bool Open()
    {
        fr_device_fault own = {};
        bool open = table->count(&own) >= 2;
        for (uint32_t i = 0; i < 2 && open; i++) {
            open = table->open(i, &devices_[i], &own);
            after_leave();
            right = right && (!open || table->memory_bytes(devices_[i]) > 0);
        }
        if (!open)
            fault = own;
        return open;
    }

    bool Make()
    {
        for (int i = 0; i < 2; i++)
            if (!Call(i,
                      [&](fr_device_fault *f) {
                          return table->stream_make(devices_[i], &streams_[i], f);
                      }) ||
                !Call(i,
                      [&](fr_device_fault *f) {
                          return table->event_make(devices_[i], &events_[i], f);
                      }) ||
                !Call(i, [&](fr_device_fault *f) {
                    return table->allocate(streams_[i], BYTES, &memory_[i], f);
                }))
                return false;
        return Call(0,
                    [&](fr_device_fault *f) {
                        return table->allocate(streams_[0], 4 * ROWS, &list_, f);
                    }) &&
               Call(0,
                    [&](fr_device_fault *f) {
                        return table->allocate(streams_[0], BYTES, &moved_, f);
                    }) &&
               Call(0,
                    [&](fr_device_fault *f) {
                        return table->pin(devices_[0], 2 * BYTES, &pinned_, f);
                    }) &&
               Call(0, [&](fr_device_fault *f) {
                   return table->stream_of_client(devices_[0], users_stream, &users_, f);
               });
    }

    bool Copy(int device, fr_address to, fr_address from, size_t size_bytes)
    {
        return Call(device, [&](fr_device_fault *f) {
            return table->copy(streams_[device], to, from, size_bytes, f);
        });
    }

    fr_address Pinned(size_t at)
    {
        return {FR_PLACE_HOST, (uintptr_t)pinned_ + at};
    }

    // Rows turned round on device 0.
    bool Work()
    {
        uint8_t *bytes = static_cast<uint8_t *>(pinned_);
        for (uint32_t i = 0; i < ROWS; i++) {
            uint32_t row = ROWS - 1 - i;
            std::memcpy(bytes + BYTES + 4 * i, &row, 4);
        }
        for (uint32_t i = 0; i < BYTES; i++)
            bytes[i] = (uint8_t)(i / ROW);
        fr_row_move move = {};
        move.to = moved_;
        move.from = memory_[0];
        move.to_pitch = move.from_pitch = ROW;
        move.row_bytes = ROW;
        move.count = ROWS;
        move.from_rows = list_;
        fr_strided_copy strided = {};
        strided.to = memory_[0];
        strided.from = moved_;
        strided.dims = 1;
        strided.element_bytes = ROW;
        strided.shape[0] = ROWS;
        strided.to_stride[0] = strided.from_stride[0] = ROW;
        return Copy(0, {0, memory_[0]}, Pinned(0), BYTES) &&
               Copy(0, {0, list_}, Pinned(BYTES), 4 * ROWS) &&
               Call(0,
                    [&](fr_device_fault *f) {
                        return table->fill(streams_[0], moved_, 0, BYTES, f);
                    }) &&
               Call(0,
                    [&](fr_device_fault *f) { return table->move_rows(streams_[0], &move, f); }) &&
               Call(0,
                    [&](fr_device_fault *f) {
                        return table->copy_strided(streams_[0], &strided, f);
                    }) &&
               Copy(0, {0, moved_}, {0, memory_[0]}, BYTES) && Call(0, [&](fr_device_fault *f) {
                   return table->record_client(streams_[0], users_event, f);
               });
    }

    // From there to device 1, in the order that the client's event gives, and to the host.
    bool Bring()
    {
        fr_pointer pointer = {};
        if (!Call(1,
                  [&](fr_device_fault *f) {
                      return table->wait_client(streams_[1], users_event, f);
                  }) ||
            !Copy(1, {1, memory_[1]}, {0, moved_}, BYTES) ||
            !Copy(1, Pinned(0), {1, memory_[1]}, BYTES) ||
            !Call(1,
                  [&](fr_device_fault *f) { return table->record(streams_[1], events_[1], f); }) ||
            !Call(0, [&](fr_device_fault *f) { return table->wait(users_, events_[1], f); }) ||
            !Call(0,
                  [&](fr_device_fault *f) {
                      return table->describe(devices_[0], pinned_, &pointer, f);
                  }) ||
            !Until(1, events_[1].handle))
            return false;
        right = right && pointer.kind == FR_POINTER_PINNED;
        const uint8_t *bytes = static_cast<const uint8_t *>(pinned_);
        for (uint32_t i = 0; i < BYTES; i++)
            right = right && bytes[i] == ROWS - 1 - i / ROW;
        return true;
    }

    // Done with both kinds of look.
    bool Until(int device, uintptr_t event)
    {
        fr_device_event_state state = FR_EVENT_PENDING;
        auto look = [&](fr_device_fault *f, bool as_clients) {
            state = as_clients ? table->look_client(devices_[device], event, f)
                               : table->look({devices_[device], event}, f);
            return state != FR_EVENT_LOST;
        };
        for (bool as_clients : {false, true})
            do {
                if (!Call(device, [&](fr_device_fault *f) { return look(f, as_clients); }))
                    return false;
            } while (state == FR_EVENT_PENDING);
        return true;
    }

    // Memory goes when all work is done, whatever failed.
    void End()
    {
        drain();
        for (int i = 0; i < 2; i++)
            if (devices_[i])
                EndOf(i);
        before_close();
        for (fr_device *&device : devices_) {
            if (device)
                table->close(device);
            device = nullptr;
            after_leave();
        }
        pinned_ = nullptr;
        list_ = moved_ = 0;
    }

    void EndOf(int i)
    {
        Free(i, [&] {
            for (uint64_t *memory :
                 {&memory_[i], i == 0 ? &list_ : nullptr, i == 0 ? &moved_ : nullptr})
                if (memory && *memory)
                    table->release(streams_[i], *memory, memory == &list_ ? 4 * ROWS : BYTES);
            memory_[i] = 0;
        });
        Free(i, [&] {
            if (i == 0 && pinned_)
                table->unpin(devices_[0], pinned_, 2 * BYTES);
        });
        Free(i, [&] {
            if (events_[i].device)
                table->event_end(events_[i]);
        });
        Free(i, [&] {
            if (streams_[i].device)
                table->stream_end(streams_[i]);
        });
        events_[i] = {};
        streams_[i] = {};
    }

    // Where entering fails for once, it is entered again: what was made has to go.
    void Free(int device, const std::function<void()> &free)
    {
        auto call = [&](fr_device_fault *) {
            free();
            return true;
        };
        if (!Call(device, call))
            Call(device, call);
    }
};

#endif
