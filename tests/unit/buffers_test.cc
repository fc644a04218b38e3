// Payload buffers, pooled and on their own.
#include <gtest/gtest.h>

#include <dlpack/dlpack.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/heap.h"
#include "tests/unit/buffers_cases.h"

namespace
{

constexpr size_t kMiB = size_t{1} << 20;

// The parameter: whether there is a pool.
class Buffers : public ::testing::TestWithParam<bool>
{
  protected:
    void SetUp() override
    {
        heap = fr_test_heap_create();
        buffers = buffers_case_open(fr_test_heap_allocator(heap), GetParam());
        ASSERT_NE(buffers, nullptr);
    }

    void TearDown() override
    {
        EXPECT_EQ(buffers_case_payload_bytes(buffers), 0u);
        buffers_case_close(buffers);
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
        buffers_case_clock(0);
    }

    fr_buffer *Get(size_t size_bytes)
    {
        return buffers_case_get(buffers, size_bytes);
    }

    void Release(fr_buffer *buffer)
    {
        buffers_case_release(buffers, buffer);
    }

    fr_test_heap *heap = nullptr;
    fr_buffers *buffers = nullptr;
};

class Pool : public Buffers
{
};

INSTANTIATE_TEST_SUITE_P(Both, Buffers, ::testing::Bool(),
                         [](const auto &made) { return made.param ? "Pooled" : "Plain"; });
INSTANTIATE_TEST_SUITE_P(Only, Pool, ::testing::Values(true));

TEST(BufferClasses, CoverEverySizeOnce)
{
    uint32_t last = buffers_case_classes() - 1;
    EXPECT_EQ(buffers_case_class_of(0), 1u);
    EXPECT_EQ(buffers_case_class_of(1), 1u);
    for (uint32_t k = 1; k <= last; k++) {
        size_t bytes = buffers_case_class_bytes(k);
        EXPECT_EQ(bytes % 64, 0u);
        EXPECT_EQ(buffers_case_class_of(bytes), k);
        EXPECT_EQ(buffers_case_class_of(bytes - 1), k);
        EXPECT_EQ(buffers_case_class_of(bytes + 1), k == last ? UINT32_MAX : k + 1);
        if (k > 1) {
            EXPECT_LE(bytes, std::max(buffers_case_class_bytes(k - 1) / 4 * 5,
                                      buffers_case_class_bytes(k - 1) + 64));
        }
    }
    EXPECT_EQ(buffers_case_class_of(SIZE_MAX), UINT32_MAX);
}

TEST_P(Buffers, HaveRoomAndAlignment)
{
    for (size_t size = 0; size < 5 * kMiB; size += 1 + size / 3) {
        fr_buffer *buffer = Get(size);
        ASSERT_NE(buffer, nullptr);
        unsigned char *data = buffers_case_data(buffer);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
        EXPECT_GE(buffers_case_capacity(buffer), size);
        EXPECT_LE(buffers_case_capacity(buffer), size + size / 4 + 64);
        std::memset(data, 0x5a, size);
        EXPECT_TRUE(buffers_case_writable(buffer));
        Release(buffer);
    }
    Release(nullptr);
}

TEST_P(Buffers, DoNotOverlap)
{
    std::mt19937 random(5);
    struct Held {
        fr_buffer *buffer;
        size_t size;
        unsigned char value;
    };
    std::vector<Held> held;
    for (uint32_t turn = 0; turn < 6000; turn++) {
        if (held.size() > 300 || (random() % 3 == 0 && !held.empty())) {
            std::swap(held[random() % held.size()], held.back());
            const Held &one = held.back();
            const unsigned char *data = buffers_case_data(one.buffer);
            EXPECT_EQ(std::count(data, data + one.size, one.value),
                      static_cast<ptrdiff_t>(one.size));
            Release(one.buffer);
            held.pop_back();
        } else {
            size_t size = random() % (random() % 20 == 0 ? 100000 : 700);
            Held one = {Get(size), size, static_cast<unsigned char>(turn)};
            ASSERT_NE(one.buffer, nullptr);
            std::memset(buffers_case_data(one.buffer), one.value, size);
            held.push_back(one);
        }
    }
    for (const Held &one : held)
        Release(one.buffer);
}

TEST_P(Buffers, LiveAsLongAsAReference)
{
    fr_buffer *buffer = Get(100);
    EXPECT_TRUE(buffers_case_writable(buffer));
    buffers_case_retain(buffer);
    EXPECT_FALSE(buffers_case_writable(buffer)) << "somebody else may read it";
    fr_buffer *other = Get(100);
    EXPECT_NE(buffers_case_data(other), buffers_case_data(buffer));
    Release(buffer);
    EXPECT_TRUE(buffers_case_writable(buffer));
    EXPECT_GE(buffers_case_payload_bytes(buffers), 200u);
    Release(buffer);
    Release(other);
}

TEST_P(Buffers, CountTheirBytes)
{
    EXPECT_EQ(buffers_case_payload_bytes(buffers), 0u);
    EXPECT_EQ(buffers_case_pooled_bytes(buffers), 0u);
    fr_buffer *large = Get(4 * kMiB);
    fr_buffer *small = Get(64);
    EXPECT_EQ(buffers_case_payload_bytes(buffers), 4 * kMiB + 64);
    Release(large);
    EXPECT_EQ(buffers_case_payload_bytes(buffers), 64u);
    EXPECT_EQ(buffers_case_pooled_bytes(buffers), GetParam() ? 4 * kMiB + 65536 - 64 : 0u);
    Release(small);
}

// --- adopted tensors -------------------------------------------------------------------------

struct Tensor {
    DLManagedTensorVersioned managed{};
    fr_buffers *buffers = nullptr;
    int deleted = 0;
    bool calls_back = false;

    Tensor()
    {
        managed.manager_ctx = this;
        managed.deleter = [](DLManagedTensorVersioned *self) {
            auto *it = static_cast<Tensor *>(self->manager_ctx);
            it->deleted++;
            if (it->calls_back) {
                static const DLManagedTensorVersioned without_deleter{};
                fr_buffer *buffer = buffers_case_adopt(it->buffers, &without_deleter, "x", 1);
                buffers_case_release(it->buffers, buffer);
            }
        };
    }
};

TEST_P(Buffers, AdoptedOnesAreDeletedOnce)
{
    static const unsigned char rows[13] = "twelve bytes";
    Tensor tensor;
    tensor.buffers = buffers;
    tensor.calls_back = true;
    for (int turn = 1; turn <= 100; turn++) {
        fr_buffer *buffer = buffers_case_adopt(buffers, &tensor.managed, rows + 1, 11);
        ASSERT_NE(buffer, nullptr);
        EXPECT_EQ(buffers_case_data(buffer), rows + 1);
        EXPECT_EQ(buffers_case_capacity(buffer), 11u);
        EXPECT_FALSE(buffers_case_writable(buffer)) << "it is the client's memory";
        EXPECT_EQ(buffers_case_payload_bytes(buffers), 11u);
        buffers_case_retain(buffer);
        Release(buffer);
        EXPECT_EQ(tensor.deleted, turn - 1);
        Release(buffer);
        EXPECT_EQ(tensor.deleted, turn);
        EXPECT_EQ(buffers_case_payload_bytes(buffers), 0u);
    }
}

TEST_P(Buffers, WithoutMemoryATensorIsNotAdopted)
{
    Tensor tensor;
    fr_test_heap_fail(heap, 1, 1);
    EXPECT_EQ(buffers_case_adopt(buffers, &tensor.managed, "x", 1), nullptr);
    EXPECT_EQ(tensor.deleted, 0);
    fr_test_heap_fail(heap, 0, 0);
    fr_buffer *buffer = buffers_case_adopt(buffers, &tensor.managed, "x", 1);
    Release(buffer);
    EXPECT_EQ(tensor.deleted, 1);
}

// --- memory ----------------------------------------------------------------------------------

TEST_P(Buffers, WithoutMemoryThereIsNone)
{
    for (size_t size : {size_t{64}, size_t{100000}, 3 * kMiB}) {
        for (uint64_t k = 1;; k++) {
            uint64_t pooled = buffers_case_pooled_bytes(buffers);
            fr_test_heap_fail(heap, k, 1);
            fr_buffer *buffer = Get(size);
            fr_test_heap_fail(heap, 0, 0);
            if (buffer) {
                Release(buffer);
                EXPECT_GT(k, 1u);
                break;
            }
            EXPECT_EQ(buffers_case_payload_bytes(buffers), 0u);
            EXPECT_LE(buffers_case_pooled_bytes(buffers), pooled) << "what was free is tried";
        }
    }
    EXPECT_EQ(Get(SIZE_MAX), nullptr);
    fr_test_heap_fail(heap, 1, 0);
    EXPECT_EQ(buffers_case_open(fr_test_heap_allocator(heap), GetParam()), nullptr);
    fr_test_heap_fail(heap, 0, 0);
}

TEST_P(Buffers, ThreadsShareThem)
{
    constexpr int kThreads = 4;
    std::mutex lock;
    std::vector<fr_buffer *> shelf;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; t++) {
        threads.emplace_back([&, t] {
            std::mt19937 random(static_cast<unsigned>(t));
            for (int turn = 0; turn < 4000; turn++) {
                size_t size = 64 + random() % 4 * 64;
                fr_buffer *buffer = Get(size);
                ASSERT_NE(buffer, nullptr);
                ASSERT_TRUE(buffers_case_writable(buffer));
                auto value = static_cast<unsigned char>(t * 64 + turn % 64);
                std::memset(buffers_case_data(buffer), value, 64);
                // Another thread looks at it and lets go of it, maybe as the last one.
                buffers_case_retain(buffer);
                fr_buffer *other = nullptr;
                {
                    std::lock_guard<std::mutex> held(lock);
                    shelf.push_back(buffer);
                    if (shelf.size() > 8) {
                        std::swap(shelf[random() % shelf.size()], shelf.back());
                        other = shelf.back();
                        shelf.pop_back();
                    }
                }
                const unsigned char *data = buffers_case_data(buffer);
                EXPECT_EQ(std::count(data, data + 64, value), 64);
                Release(buffer);
                if (other) {
                    data = buffers_case_data(other);
                    EXPECT_EQ(std::count(data, data + 64, data[0]), 64);
                    Release(other);
                }
            }
        });
    }
    for (std::thread &thread : threads)
        thread.join();
    for (fr_buffer *buffer : shelf)
        Release(buffer);
}

TEST(BuiltinPool, RecyclesForUsers)
{
    fr_test_heap *heap = fr_test_heap_create();
    fr_buffers *buffers = buffers_case_open_builtin(fr_test_heap_allocator(heap));
    buffers_case_release(buffers, buffers_case_get(buffers, 64));
    // Under sanitizers each buffer is on its own, of its exact size.
    EXPECT_EQ(buffers_case_pooled_bytes(buffers), buffers_case_shrinks() ? 0u : 65536u);
    buffers_case_close(buffers);
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
}

// --- the pool --------------------------------------------------------------------------------

TEST_P(Pool, WhatWasUsedIsUsedAgain)
{
    for (size_t size : {size_t{0}, size_t{64}, size_t{100000}, size_t{300000}, 3 * kMiB}) {
        std::vector<fr_buffer *> all;
        for (int k = 0; k < 3; k++)
            all.push_back(Get(size));
        EXPECT_EQ(std::set<fr_buffer *>(all.begin(), all.end()).size(), all.size());
        for (fr_buffer *buffer : all)
            Release(buffer);
        for (int turn = 0; turn < 10; turn++) {
            fr_buffer *one = Get(size);
            EXPECT_EQ(std::count(all.begin(), all.end(), one), 1) << size;
            Release(one);
        }
        // Large ones: the last used first, since the first ones may be in no cache any more.
        std::vector<fr_buffer *> again(all.size());
        for (size_t k = all.size(); k-- > 0 && size >= 300000;)
            EXPECT_EQ(again[k] = Get(size), all[k]) << size;
        for (fr_buffer *buffer : again)
            Release(buffer);
    }
}

TEST_P(Pool, LargeOnesLieAtHugePages)
{
    fr_buffer *buffer = Get(5 * kMiB);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffers_case_data(buffer)) % (2 * kMiB), 0u);
    Release(buffer);
}

TEST_P(Pool, ManySmallOnesAreCheap)
{
    std::vector<fr_buffer *> all;
    std::set<unsigned char *> places;
    uint64_t before = fr_test_heap_live_bytes(heap);
    uint64_t calls = fr_test_heap_calls(heap);
    for (int k = 0; k < 6000; k++) {
        all.push_back(Get(12));
        places.insert(buffers_case_data(all.back()));
    }
    EXPECT_EQ(places.size(), all.size());
    EXPECT_LE(fr_test_heap_calls(heap) - calls, 7u);
    EXPECT_LE(fr_test_heap_live_bytes(heap) - before, 6 * 1024 * 64 + 2048u);
    EXPECT_LE(buffers_case_payload_bytes(buffers) + buffers_case_pooled_bytes(buffers),
              6 * 1024 * 64u);
    std::mt19937 random(1);
    std::shuffle(all.begin(), all.end(), random);
    for (fr_buffer *buffer : all)
        Release(buffer);
}

// What is free goes when it was free for a second and is more than 64 MiB.
TEST_P(Pool, FreeOnesGoAfterASecond)
{
    constexpr uint64_t kSecond = 1000000000;
    buffers_case_clock(10 * kSecond);
    std::vector<fr_buffer *> all;
    for (int k = 0; k < 40; k++)
        all.push_back(Get(4 * kMiB));
    for (fr_buffer *buffer : all)
        Release(buffer);
    EXPECT_EQ(buffers_case_pooled_bytes(buffers), 160 * kMiB) << "they were used just now";
    buffers_case_clock(10 * kSecond + kSecond / 2);
    Release(Get(4 * kMiB));
    EXPECT_EQ(buffers_case_pooled_bytes(buffers), 160 * kMiB);
    buffers_case_clock(11 * kSecond + kSecond / 4);
    Release(Get(3 * kMiB)); // of another class
    EXPECT_GE(buffers_case_pooled_bytes(buffers), 60 * kMiB);
    EXPECT_LE(buffers_case_pooled_bytes(buffers), 64 * kMiB);
    EXPECT_EQ(Get(4 * kMiB), all.back()) << "the coldest went, not the last used";
    Release(all.back());
}

// The end puts back what lies at hand, and with the last of it goes what was free for long: also of
// smaller classes, once.
TEST_P(Pool, FreeOnesGoOnceAtTheEnd)
{
    constexpr uint64_t kSecond = 1000000000;
    buffers_case_clock(10 * kSecond);
    fr_buffer *free = Get(kMiB / 16), *at_hand = Get(kMiB / 16), *larger = Get(kMiB / 4);
    std::vector<fr_buffer *> all;
    for (int k = 0; k < 17; k++)
        all.push_back(Get(4 * kMiB));
    Release(at_hand);
    Release(free);
    Release(larger); // at hand too
    for (fr_buffer *buffer : all)
        Release(buffer);
    EXPECT_GT(buffers_case_pooled_bytes(buffers), 68 * kMiB);
    buffers_case_clock(20 * kSecond);
}

TEST_P(Pool, AQuarterOfWhatIsInUseMayBeFree)
{
    constexpr uint64_t kSecond = 1000000000;
    buffers_case_clock(10 * kSecond);
    std::vector<fr_buffer *> all;
    for (int k = 0; k < 125; k++)
        all.push_back(Get(4 * kMiB));
    for (int k = 0; k < 25; k++)
        Release(all[k]);
    buffers_case_clock(20 * kSecond);
    Release(Get(3 * kMiB));
    EXPECT_LE(buffers_case_pooled_bytes(buffers), 100 * kMiB) << "400 MiB are in use";
    EXPECT_GE(buffers_case_pooled_bytes(buffers), 96 * kMiB);
    for (int k = 25; k < 40; k++)
        Release(all[k]);
    buffers_case_clock(22 * kSecond);
    Release(Get(3 * kMiB));
    EXPECT_LE(buffers_case_pooled_bytes(buffers), 85 * kMiB) << "340 MiB are in use";
    EXPECT_GE(buffers_case_pooled_bytes(buffers), 80 * kMiB);
    for (int k = 40; k < 125; k++)
        Release(all[k]);
}

TEST_P(Pool, WithoutPagesFreeOnesAreGivenBack)
{
    fr_buffer *kept = Get(4 * kMiB);
    Release(Get(3 * kMiB));
    Release(Get(6 * kMiB));
    EXPECT_EQ(buffers_case_pooled_bytes(buffers), 9 * kMiB);
    EXPECT_EQ(Get(buffers_case_class_bytes(buffers_case_classes() - 1)), nullptr);
    EXPECT_EQ(buffers_case_pooled_bytes(buffers), 0u);
    EXPECT_EQ(buffers_case_payload_bytes(buffers), 4 * kMiB);
    Release(kept);
}

} // namespace
