// Pages for payloads, from the system or from jemalloc.
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cstring>
#include <thread>
#include <vector>

extern "C" {
#include "runtime/store/buffers_pages.h"
}

namespace
{

bool JemallocIsLinked()
{
    return dlsym(RTLD_DEFAULT, "mallocx") != nullptr;
}

void Use(size_t size_bytes)
{
    bool from_arena = false;
    auto *pages = static_cast<unsigned char *>(fr_pages_get(size_bytes, &from_arena));
    ASSERT_NE(pages, nullptr);
    bool huge = size_bytes >= FR_HUGE_PAGE_BYTES;
    EXPECT_EQ(from_arena, !huge && JemallocIsLinked()) << size_bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pages) % (huge ? FR_HUGE_PAGE_BYTES : 4096), 0u);
    std::memset(pages, 0x3c, size_bytes);
    EXPECT_EQ(pages[size_bytes - 1], 0x3c);
    fr_pages_give(pages, size_bytes, from_arena);
}

TEST(Pages, ComeAndGo)
{
    for (size_t size_bytes : {1ul, 4096ul, 65536ul, 100001ul, FR_HUGE_PAGE_BYTES - 1,
                              FR_HUGE_PAGE_BYTES, FR_HUGE_PAGE_BYTES + 1, 9000000ul})
        Use(size_bytes);
}

// The first ones at the same time: there is one arena, whoever makes it.
TEST(Pages, ThreadsMakeOneArena)
{
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([] {
            for (int k = 0; k < 50; k++)
                Use(65536);
        });
    for (std::thread &thread : threads)
        thread.join();
}

TEST(Pages, AreRefusedWhenThereAreNone)
{
    bool from_arena = true;
    EXPECT_EQ(fr_pages_get(SIZE_MAX, &from_arena), nullptr);
    EXPECT_FALSE(from_arena);
    EXPECT_EQ(fr_pages_get(SIZE_MAX / 4, &from_arena), nullptr);
}

} // namespace
