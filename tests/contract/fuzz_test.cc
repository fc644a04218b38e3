// Programs from bytes of a generator: FR_FUZZ_SEED runs one again, FR_FUZZ_TIMES times.
// FR_FUZZ_FIRST, FR_FUZZ_SECONDS: others, for so long. FR_FUZZ_TELL: names each before it runs.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "tests/contract/fuzz_cases.h"

namespace
{

uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

std::vector<uint8_t> bytes_of(uint64_t seed, size_t most)
{
    uint64_t state = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
    auto next = [&state] {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        return state >> 24;
    };
    next();
    std::vector<uint8_t> made(32 + next() % most);
    for (uint8_t &byte : made)
        byte = static_cast<uint8_t>(next());
    return made;
}

// Far beyond what a busy machine needs under a sanitizer.
constexpr unsigned hang_s = 100;

// What runs, for the end of one that hangs.
char now_running[200];

void hangs(int)
{
    (void)!write(STDERR_FILENO, now_running, std::strlen(now_running));
    _exit(1);
}

// Runs seed after seed while there is time.
template <typename Run> void seeds(const char *test, Run run)
{
    const bool one = std::getenv("FR_FUZZ_SEED") != nullptr;
    const bool tell = std::getenv("FR_FUZZ_TELL") != nullptr;
    uint64_t seed = number_from("FR_FUZZ_SEED", number_from("FR_FUZZ_FIRST", 0));
    const uint64_t last = one ? seed : UINT64_MAX - 1, times = number_from("FR_FUZZ_TIMES", 1);
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::milliseconds(number_from("FR_FUZZ_SECONDS", 1) * 1000);
    std::signal(SIGALRM, hangs);
    uint64_t done = 0;
    for (; seed <= last && (one || std::chrono::steady_clock::now() < end); seed++, done++) {
        fuzz::program(std::string("FR_FUZZ_SEED=") + std::to_string(seed) +
                      " --gtest_filter=Fuzz." + test);
        std::snprintf(now_running, sizeof(now_running), "hangs: FR_FUZZ_SEED=%llu of %s\n",
                      static_cast<unsigned long long>(seed), test);
        if (tell)
            std::fprintf(stderr, "FR_FUZZ_SEED=%llu\n", static_cast<unsigned long long>(seed));
        for (uint64_t i = 0; i < (one ? times : 1); i++) {
            alarm(hang_s);
            run(seed);
        }
    }
    alarm(0);
    testing::Test::RecordProperty("programs", std::to_string(done));
    std::printf("%llu programs, up to seed %llu\n", static_cast<unsigned long long>(done),
                static_cast<unsigned long long>(seed));
    EXPECT_GT(done, 0u);
}

TEST(Fuzz, programs_from_bytes)
{
    seeds("programs_from_bytes", [](uint64_t seed) {
        const std::vector<uint8_t> bytes = bytes_of(seed, seed % 4 ? 1000 : 5000);
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    });
}

// Short ones, without workers, so that each allocation of one comes in its turn.
TEST(Fuzz, each_allocation_fails_in_turn)
{
    seeds("each_allocation_fails_in_turn", [](uint64_t seed) {
        const std::vector<uint8_t> bytes = bytes_of(seed, 150);
        fuzz::Way way;
        way.fails_ever_after = seed % 4 == 0;
        way.tidies_up = seed % 8 != 1;
        for (way.fails_at = 1; fuzz::run(bytes.data(), bytes.size(), way); way.fails_at++)
            ;
    });
}

} // namespace
