// Moves of rows and strided copies against the plain meaning of runtime/device/table.h, over random
// shapes. Runs on a real driver, too: then it is the device code that is compared.
#include <algorithm>
#include <numeric>
#include <random>

#include "tests/cuda/backend_fixture.h"

namespace
{

class Rows : public OrderedBackendTest
{
  protected:
    std::mt19937_64 random;
    fr_device_stream stream = {};
    std::vector<std::pair<uint64_t, size_t>> held;

    void SetUp() override
    {
        OrderedBackendTest::SetUp();
        random.seed(GetParam().seed);
        stream = Stream();
    }

    void TearDown() override
    {
        table->stream_end(stream);
        OrderedBackendTest::TearDown();
    }

    uint64_t Below(uint64_t limit)
    {
        return random() % limit;
    }

    static bool IsLong()
    {
        return std::getenv("FR_TEST_LONG") != nullptr;
    }

    static int Runs()
    {
        return IsLong() ? 400 : 40;
    }

    // Memory of the device with these bytes in it.
    uint64_t Put(const void *bytes, size_t size_bytes)
    {
        uint64_t address = Memory(stream, size_bytes);
        held.push_back({address, size_bytes});
        uint8_t *staged = Pinned(size_bytes);
        std::memcpy(staged, bytes, size_bytes);
        Upload(stream, address, staged, size_bytes);
        Finish(stream);
        table->unpin(devices[0], staged, size_bytes);
        return address;
    }

    // All that was put.
    void Drop()
    {
        for (const std::pair<uint64_t, size_t> &memory : held)
            table->release(stream, memory.first, memory.second);
        held.clear();
    }

    std::vector<uint8_t> Get(uint64_t address, size_t size_bytes)
    {
        uint8_t *staged = Pinned(size_bytes);
        Download(stream, staged, address, size_bytes);
        Finish(stream);
        std::vector<uint8_t> bytes(staged, staged + size_bytes);
        table->unpin(devices[0], staged, size_bytes);
        return bytes;
    }

    std::vector<uint8_t> Bytes(size_t size_bytes)
    {
        std::vector<uint8_t> bytes(size_bytes);
        for (uint8_t &byte : bytes)
            byte = (uint8_t)random();
        return bytes;
    }

    // `count` different numbers below `limit`.
    std::vector<uint32_t> Different(uint32_t count, uint32_t limit)
    {
        std::vector<uint32_t> all(limit);
        std::iota(all.begin(), all.end(), 0u);
        std::shuffle(all.begin(), all.end(), random);
        all.resize(count);
        return all;
    }

    // A size whose greatest power of two varies.
    uint64_t Size(uint64_t most)
    {
        return std::max<uint64_t>(1, (1 + Below(most)) & ~((1ull << Below(6)) - 1));
    }

    struct Move {
        uint32_t count, row_bytes, to_row_count, from_row_count;
        uint64_t to_pitch, from_pitch, to_offset, from_offset;
        std::vector<uint32_t> to_rows, from_rows;
        std::vector<uint64_t> mask;
    };

    Move AnyMove(uint32_t most_rows)
    {
        Move m = {};
        m.count = (uint32_t)Below(most_rows) + 1;
        m.row_bytes = (uint32_t)Size(80);
        m.to_pitch = m.row_bytes + (Below(2) ? 0 : Size(20) - 1);
        m.from_pitch = m.row_bytes + (Below(2) ? 0 : Size(20) - 1);
        m.to_offset = Below(2) ? 0 : Below(17);
        m.from_offset = Below(2) ? 0 : Below(17);
        m.to_row_count = m.count + (uint32_t)Below(most_rows);
        m.from_row_count = m.count + (uint32_t)Below(most_rows);
        if (Below(2))
            m.to_rows = Different(m.count, m.to_row_count);
        if (Below(2)) // a row may be the source of several
            for (uint32_t i = 0; i < m.count; i++)
                m.from_rows.push_back((uint32_t)Below(m.from_row_count));
        else if (Below(4) == 0)
            m.from_pitch = 0;
        if (Below(2))
            for (uint32_t i = 0; i < (m.count + 63) / 64; i++)
                m.mask.push_back(Below(8) ? random() : 0);
        return m;
    }

    void Check(const Move &m)
    {
        std::vector<uint8_t> to = Bytes(m.to_offset + m.to_row_count * m.to_pitch);
        std::vector<uint8_t> from =
            Bytes(m.from_offset + m.from_row_count * m.from_pitch + m.row_bytes);
        fr_row_move move = {};
        uint64_t to_memory = Put(to.data(), to.size()), from_memory = Put(from.data(), from.size());
        move.to = to_memory + m.to_offset;
        move.from = from_memory + m.from_offset;
        move.to_pitch = m.to_pitch;
        move.from_pitch = m.from_pitch;
        move.row_bytes = m.row_bytes;
        move.count = m.count;
        if (!m.to_rows.empty())
            move.to_rows = Put(m.to_rows.data(), 4 * m.to_rows.size());
        if (!m.from_rows.empty())
            move.from_rows = Put(m.from_rows.data(), 4 * m.from_rows.size());
        if (!m.mask.empty())
            move.mask = Put(m.mask.data(), 8 * m.mask.size());
        BACKEND_OK(table->move_rows(stream, &move, &fault));
        for (uint32_t i = 0; i < m.count; i++) {
            if (!m.mask.empty() && (m.mask[i / 64] >> i % 64 & 1) == 0)
                continue;
            uint64_t to_row = m.to_rows.empty() ? i : m.to_rows[i];
            uint64_t from_row = m.from_rows.empty() ? i : m.from_rows[i];
            std::memcpy(&to[m.to_offset + to_row * m.to_pitch],
                        &from[m.from_offset + from_row * m.from_pitch], m.row_bytes);
        }
        EXPECT_TRUE(Get(to_memory, to.size()) == to)
            << m.count << " rows of " << m.row_bytes << " bytes, pitches " << m.to_pitch << " and "
            << m.from_pitch << ", lists of " << m.to_rows.size() << " and " << m.from_rows.size()
            << ", mask of " << m.mask.size();
        EXPECT_TRUE(Get(from_memory, from.size()) == from);
        Drop();
    }

    struct Shape {
        fr_strided_copy copy;
        std::vector<uint64_t> to_at, from_at; // of the elements, in order
        uint64_t to_bytes, from_bytes;        // that the copy spans
    };

    // Dimensions in some order in memory, with gaps or without; a source may also repeat, or go
    // backwards.
    static void Lay(std::mt19937_64 &random, fr_strided_copy *copy, bool is_source)
    {
        int64_t *stride = is_source ? copy->from_stride : copy->to_stride;
        std::vector<uint32_t> order(copy->dims);
        std::iota(order.begin(), order.end(), 0u);
        if (random() % 2)
            std::shuffle(order.begin(), order.end(), random);
        int64_t next = copy->element_bytes;
        for (uint32_t i = copy->dims; i-- > 0;) {
            uint32_t k = order[i];
            if (random() % 4 == 0)
                next += (int64_t)(random() % 3) * (1 << random() % 5);
            stride[k] = next;
            next *= copy->shape[k];
            if (random() % 8 == 0)
                stride[k] = -stride[k];
            else if (is_source && random() % 8 == 0)
                stride[k] = 0;
        }
    }

    // Where the elements are, counted from the lowest byte; sets `span` to the bytes between.
    static std::vector<uint64_t> Places(const fr_strided_copy &copy, const int64_t *stride,
                                        uint64_t *span)
    {
        std::vector<int64_t> places = {0};
        for (uint32_t k = 0; k < copy.dims; k++) {
            std::vector<int64_t> more;
            for (int64_t place : places)
                for (int64_t i = 0; i < copy.shape[k]; i++)
                    more.push_back(place + i * stride[k]);
            places = more;
        }
        int64_t low = 0, high = 0;
        for (int64_t place : places) {
            low = std::min(low, place);
            high = std::max(high, place);
        }
        *span = (uint64_t)(high - low) + copy.element_bytes;
        std::vector<uint64_t> from_low;
        for (int64_t place : places)
            from_low.push_back((uint64_t)(place - low));
        return from_low;
    }

    Shape AnyShape()
    {
        Shape s = {};
        s.copy.dims = (uint32_t)Below(FR_STRIDED_DIMS + 1);
        s.copy.element_bytes = (uint32_t)Size(24);
        uint64_t left = 600;
        for (uint32_t k = 0; k < s.copy.dims; k++) {
            s.copy.shape[k] = (int64_t)(1 + Below(std::min<uint64_t>(left, 9)));
            if (Below(60) == 0)
                s.copy.shape[k] = 0;
            left /= std::max<uint64_t>(1, (uint64_t)s.copy.shape[k]);
        }
        Lay(random, &s.copy, false);
        Lay(random, &s.copy, true);
        s.to_at = Places(s.copy, s.copy.to_stride, &s.to_bytes);
        s.from_at = Places(s.copy, s.copy.from_stride, &s.from_bytes);
        return s;
    }
};

TEST_P(Rows, MoveAsListsAndMaskSay)
{
    for (int i = 0; i < Runs() && !HasFailure(); i++)
        Check(AnyMove(150));
}

// More rows than a grid has threads.
TEST_P(Rows, MoveByTheThousand)
{
    for (int i = 0; i < 2 && !HasFailure(); i++)
        Check(AnyMove(IsLong() ? 1000000 : 3000));
}

TEST_P(Rows, OfEachWidth)
{
    for (uint32_t row_bytes : {1u, 2u, 4u, 8u, 16u, 3u, 6u, 12u, 24u, 48u, 4096u}) {
        Move m = {};
        m.count = 100;
        m.row_bytes = row_bytes;
        m.to_pitch = m.from_pitch = row_bytes;
        m.to_row_count = m.from_row_count = 130;
        m.to_rows = Different(m.count, m.to_row_count);
        m.from_rows = Different(m.count, m.from_row_count);
        Check(m);
    }
}

TEST_P(Rows, OfNothingAreNone)
{
    fr_row_move move = {};
    move.row_bytes = 4;
    EXPECT_TRUE(table->move_rows(stream, &move, &fault));
    move.row_bytes = 0;
    move.count = 4;
    EXPECT_TRUE(table->move_rows(stream, &move, &fault));
    fr_strided_copy copy = {};
    copy.dims = 2;
    copy.element_bytes = 4;
    copy.shape[0] = 3;
    EXPECT_TRUE(table->copy_strided(stream, &copy, &fault));
    Finish(stream);
}

TEST_P(Rows, StridedCopiesPutEachElementWhereItBelongs)
{
    for (int i = 0; i < Runs() && !HasFailure(); i++) {
        Shape s = AnyShape();
        uint64_t to_offset = Below(2) ? 0 : Below(17), from_offset = Below(2) ? 0 : Below(17);
        std::vector<uint8_t> to = Bytes(to_offset + s.to_bytes + 16),
                             from = Bytes(from_offset + s.from_bytes);
        uint64_t to_memory = Put(to.data(), to.size()), from_memory = Put(from.data(), from.size());
        s.copy.to = to_memory + to_offset + (s.to_at.empty() ? 0 : s.to_at[0]);
        s.copy.from = from_memory + from_offset + (s.from_at.empty() ? 0 : s.from_at[0]);
        BACKEND_OK(table->copy_strided(stream, &s.copy, &fault));
        for (size_t e = 0; e < s.to_at.size(); e++)
            std::memcpy(&to[to_offset + s.to_at[e]], &from[from_offset + s.from_at[e]],
                        s.copy.element_bytes);
        EXPECT_TRUE(Get(to_memory, to.size()) == to)
            << s.copy.dims << " dimensions, elements of " << s.copy.element_bytes << " bytes";
        Drop();
    }
}

INSTANTIATE_TEST_SUITE_P(Order, Rows, ::testing::ValuesIn(Orders()), OrderName);

} // namespace
