// Random work on buffers of all devices, over many streams that only events order: each buffer ends
// up with what the same work gives one after the other. On the simulated driver no access is
// unordered.
#include <random>

#include "tests/cuda/backend_fixture.h"

namespace
{

class Streams : public OrderedBackendTest
{
  protected:
    enum { STREAMS = 6, BUFFERS = 8, ROW = 12, ROWS = 64, BYTES = ROW * ROWS };

    // Written once `written` is done; not to be written or freed before `readers` are.
    struct Buffer {
        int device;
        uint64_t address;
        fr_device_event written;
        std::vector<fr_device_event> readers;
        std::vector<uint8_t> expected;
    };
    struct Download {
        const uint8_t *bytes;
        std::vector<uint8_t> expected;
    };

    std::mt19937_64 random;
    int device_count = 1;
    std::vector<fr_device_stream> streams[2];
    std::vector<Buffer> buffers;
    std::vector<Download> downloads;
    uint8_t *pinned = nullptr;
    size_t pinned_used = 0;

    uint32_t Below(uint32_t limit)
    {
        return (uint32_t)(random() % limit);
    }

    static size_t Operations()
    {
        return std::getenv("FR_TEST_LONG") ? 20000 : 400;
    }

    static size_t PinnedBytes()
    {
        return (Operations() + BUFFERS) * BYTES;
    }

    template <class Work> void Entered(int device, Work work)
    {
        fr_device_entry inside = {};
        BACKEND_OK(table->enter(devices[device], &inside, &fault));
        work();
        table->leave(&inside);
    }

    void SetUp() override
    {
        OrderedBackendTest::SetUp();
        random.seed(GetParam().seed);
        if (table->count(&fault) > 1) {
            BACKEND_OK(table->open(1, &devices[1], &fault));
            device_count = 2;
        }
        pinned = Pinned(PinnedBytes());
        for (int d = 0; d < device_count; d++)
            Entered(d, [&] {
                for (int i = 0; i < STREAMS; i++) {
                    streams[d].push_back({});
                    BACKEND_OK(table->stream_make(devices[d], &streams[d].back(), &fault));
                }
            });
        for (int i = 0; i < BUFFERS; i++)
            buffers.push_back(Allocated((int)Below((uint32_t)device_count)));
    }

    fr_device_stream AnyStream(int device)
    {
        return streams[device][Below(STREAMS)];
    }

    // Bytes that no other work uses.
    uint8_t *Staging()
    {
        uint8_t *at = pinned + pinned_used;
        pinned_used += BYTES;
        return at;
    }

    fr_device_event Recorded(fr_device_stream stream)
    {
        fr_device_event event = {};
        EXPECT_TRUE(table->event_make(stream.device, &event, &fault)) << fault.text;
        EXPECT_TRUE(table->record(stream, event, &fault)) << fault.text;
        return event;
    }

    void WaitFor(fr_device_stream stream, fr_device_event event)
    {
        EXPECT_TRUE(table->wait(stream, event, &fault)) << fault.text;
    }

    void End(fr_device_event event)
    {
        Entered(event.device == devices[0] ? 0 : 1, [&] { table->event_end(event); });
    }

    void BeforeRead(fr_device_stream stream, const Buffer &buffer)
    {
        WaitFor(stream, buffer.written);
    }

    void AfterRead(fr_device_stream stream, Buffer &buffer)
    {
        buffer.readers.push_back(Recorded(stream));
    }

    void BeforeWrite(fr_device_stream stream, const Buffer &buffer)
    {
        WaitFor(stream, buffer.written);
        for (fr_device_event reader : buffer.readers)
            WaitFor(stream, reader);
    }

    void AfterWrite(fr_device_stream stream, Buffer &buffer)
    {
        End(buffer.written);
        for (fr_device_event reader : buffer.readers)
            End(reader);
        buffer.readers.clear();
        buffer.written = Recorded(stream);
    }

    Buffer Allocated(int device)
    {
        Buffer made = {device, 0, {}, {}, std::vector<uint8_t>(BYTES, 0)};
        Entered(device, [&] {
            fr_device_stream stream = AnyStream(device);
            made.address = Memory(stream, BYTES);
            EXPECT_TRUE(table->fill(stream, made.address, 0, BYTES, &fault)) << fault.text;
            made.written = Recorded(stream);
        });
        return made;
    }

    void Free(Buffer &buffer)
    {
        Entered(buffer.device, [&] {
            fr_device_stream stream = AnyStream(buffer.device);
            BeforeWrite(stream, buffer);
            table->release(stream, buffer.address, BYTES);
        });
        End(buffer.written);
        for (fr_device_event reader : buffer.readers)
            End(reader);
    }

    void Write(Buffer &to)
    {
        fr_device_stream stream = AnyStream(to.device);
        BeforeWrite(stream, to);
        if (Below(2)) {
            uint8_t value = (uint8_t)random();
            EXPECT_TRUE(table->fill(stream, to.address, value, BYTES, &fault)) << fault.text;
            to.expected.assign(BYTES, value);
        } else {
            uint8_t *bytes = Staging();
            for (size_t i = 0; i < BYTES; i++)
                bytes[i] = to.expected[i] = (uint8_t)(random() >> 8);
            EXPECT_TRUE(table->copy(stream, On(to.device, to.address), Host(bytes), BYTES, &fault))
                << fault.text;
        }
        AfterWrite(stream, to);
    }

    void Read(Buffer &from)
    {
        fr_device_stream stream = AnyStream(from.device);
        uint8_t *bytes = Staging();
        BeforeRead(stream, from);
        EXPECT_TRUE(table->copy(stream, Host(bytes), On(from.device, from.address), BYTES, &fault))
            << fault.text;
        AfterRead(stream, from);
        downloads.push_back({bytes, from.expected});
    }

    // All of it, or some rows within a device.
    void Copy(Buffer &to, Buffer &from)
    {
        fr_device_stream stream = AnyStream(to.device);
        BeforeWrite(stream, to);
        BeforeRead(stream, from);
        if (to.device != from.device || Below(2)) {
            EXPECT_TRUE(table->copy(stream, On(to.device, to.address),
                                    On(from.device, from.address), BYTES, &fault))
                << fault.text;
            to.expected = from.expected;
        } else {
            uint32_t first = Below(ROWS), other = Below(ROWS),
                     count = 1 + Below(ROWS - std::max(first, other));
            fr_row_move move = {};
            move.to = to.address + first * ROW;
            move.from = from.address + other * ROW;
            move.to_pitch = move.from_pitch = move.row_bytes = ROW;
            move.count = count;
            EXPECT_TRUE(table->move_rows(stream, &move, &fault)) << fault.text;
            std::copy_n(from.expected.begin() + other * ROW, count * ROW,
                        to.expected.begin() + first * ROW);
        }
        AfterRead(stream, from);
        AfterWrite(stream, to);
    }

    void Any()
    {
        uint32_t which = Below(BUFFERS), other = (which + 1 + Below(BUFFERS - 1)) % BUFFERS;
        Buffer &buffer = buffers[which];
        switch (Below(8)) {
        case 0:
            Free(buffer);
            buffer = Allocated((int)Below((uint32_t)device_count));
            break;
        case 1:
        case 2:
            Entered(buffer.device, [&] { Write(buffer); });
            break;
        case 3:
            Entered(buffer.device, [&] { Read(buffer); });
            break;
        default:
            Entered(buffer.device, [&] { Copy(buffer, buffers[other]); });
        }
    }

    void TearDown() override
    {
        for (Buffer &buffer : buffers)
            Free(buffer);
        for (int d = 0; d < device_count; d++)
            Entered(d, [&] {
                for (fr_device_stream stream : streams[d]) {
                    Finish(stream);
                    table->stream_end(stream);
                }
            });
        table->unpin(devices[0], pinned, PinnedBytes());
        OrderedBackendTest::TearDown();
    }
};

TEST_P(Streams, WorkThatEventsOrderIsAsGoodAsInARow)
{
    for (size_t i = 0; i < Operations() && !HasFailure(); i++)
        Any();
    for (Buffer &buffer : buffers)
        Entered(buffer.device, [&] { Read(buffer); });
    for (int d = 0; d < device_count; d++)
        Entered(d, [&] {
            for (fr_device_stream stream : streams[d])
                Finish(stream);
        });
    for (const Download &download : downloads)
        ASSERT_EQ(std::memcmp(download.bytes, download.expected.data(), BYTES), 0);
}

INSTANTIATE_TEST_SUITE_P(Order, Streams, ::testing::ValuesIn(Orders()), OrderName);

} // namespace
