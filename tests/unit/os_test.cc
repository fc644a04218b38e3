#include "tests/unit/os_cases.h"

#include <gtest/gtest.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace
{

TEST(Os, FutexWaitsEndByValueAndByTime)
{
    EXPECT_STREQ(os_futex(), nullptr);
}

TEST(Os, ThreadsHaveNamesAndNoSignals)
{
    EXPECT_STREQ(os_threads(), nullptr);
}

TEST(Os, TheClockIsMonotonic)
{
    EXPECT_STREQ(os_clock(), nullptr);
}

TEST(Os, TheMutexExcludes)
{
    EXPECT_STREQ(os_mutex(), nullptr);
}

TEST(Os, AThreadCanBePinned)
{
    EXPECT_STREQ(os_pin(), nullptr);
}

/* A folder that looks like /proc/self/cgroup and /sys/fs/cgroup. */
class CpuQuota : public testing::Test
{
  protected:
    void SetUp() override
    {
        const char *base = std::getenv("TEST_TMPDIR");
        root_ = std::filesystem::path(base ? base : testing::TempDir()) / "cgroups";
        std::filesystem::remove_all(root_);
        std::filesystem::create_directories(root_);
    }
    void TearDown() override
    {
        std::filesystem::remove_all(root_);
    }
    void Write(const std::string &path, const std::string &text)
    {
        std::filesystem::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text;
    }
    unsigned Quota(const std::string &groups)
    {
        Write("list", groups);
        return cpu_quota((root_ / "list").c_str(), root_.c_str());
    }

  private:
    std::filesystem::path root_;
};

TEST_F(CpuQuota, Version2RoundsUp)
{
    Write("pod/cpu.max", "150000 100000\n");
    EXPECT_EQ(Quota("0::/pod\n"), 2u);
    Write("pod/cpu.max", "200000 100000\n");
    EXPECT_EQ(Quota("0::/pod\n"), 2u);
    Write("pod/cpu.max", "1000 100000\n");
    EXPECT_EQ(Quota("0::/pod\n"), 1u);
    Write("pod/cpu.max", "max 100000\n");
    EXPECT_EQ(Quota("0::/pod\n"), UINT_MAX);
}

TEST_F(CpuQuota, TheSmallestOfAllAboveCounts)
{
    Write("a/b/c/cpu.max", "800000 100000\n");
    Write("a/cpu.max", "300000 100000\n");
    Write("cpu.max", "500000 100000\n");
    EXPECT_EQ(Quota("0::/a/b/c\n"), 3u);
    EXPECT_EQ(Quota("0::/\n"), 5u);
    EXPECT_EQ(Quota("0::/not/mounted/here\n"), 5u); /* a container sees its own group as the root */
}

TEST_F(CpuQuota, Version1)
{
    Write("cpu/box/cpu.cfs_quota_us", "400000\n");
    Write("cpu/box/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(Quota("9:pids:/box\n4:cpu,cpuacct:/box\n0::/\n"), 4u);
    EXPECT_EQ(Quota("4:cpuacct,cpu:/box\n"), 4u);
    EXPECT_EQ(Quota("4:cpuset:/box\n5:cpuacct:/box\n"), UINT_MAX); /* only "cpu" itself */
    Write("cpu/box/cpu.cfs_quota_us", "-1\n");
    EXPECT_EQ(Quota("4:cpu:/box\n"), UINT_MAX);
}

TEST_F(CpuQuota, BesideVersion1)
{
    Write("unified/box/cpu.max", "600000 100000\n");
    EXPECT_EQ(Quota("4:cpu:/box\n0::/box\n"), 6u);
}

TEST_F(CpuQuota, NothingUsefulIsNoLimit)
{
    EXPECT_EQ(cpu_quota("/nowhere/at/all", "/nowhere"), UINT_MAX);
    EXPECT_EQ(Quota(""), UINT_MAX);
    EXPECT_EQ(Quota("garbage\n\n::\n0::" + std::string(3000, 'x') + "\n"), UINT_MAX);
    Write("odd/cpu.max", "");
    EXPECT_EQ(Quota("0::/odd\n"), UINT_MAX);
    Write("odd/cpu.max", "100000 0\n");
    EXPECT_EQ(Quota("0::/odd\n"), UINT_MAX);
    Write("odd/cpu.max", "99999999999999999999999 1\n");
    EXPECT_EQ(Quota("0::/odd\n"), UINT_MAX);
}

TEST(CpuCount, FollowsTheAffinityMask)
{
    unsigned one = cpu_count_with_mask(1);
    EXPECT_EQ(one, 1u);
    EXPECT_GE(cpu_count_with_mask(1000), one);
}

} // namespace
