// The kernels' text that is kept with the sources: its entry points take what the host hands them,
// and, where the same compiler is installed, it is what that makes of the sources.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>

#include "cuda/image.h"
#include "cuda/kernels/kernels.h"

namespace
{

std::string Text(const char *file)
{
    std::ifstream stream(file, std::ios::binary);
    EXPECT_TRUE(stream.good()) << file;
    return std::string(std::istreambuf_iterator<char>(stream), {});
}

const char *const kept = "cuda/kernels/kernels.ptx";

std::string Compiler(const std::string &text)
{
    std::smatch match;
    return std::regex_search(text, match, std::regex("// (Cuda compilation tools, [^\n]*)"))
               ? match[1].str()
               : "";
}

TEST(Kernels, TheLastImageIsTheTextThatIsKept)
{
    ASSERT_GE(fr_cuda_image_count, 1u);
    const fr_cuda_image &last = fr_cuda_images[fr_cuda_image_count - 1];
    EXPECT_STREQ(last.name, "text");
    EXPECT_EQ(std::string((const char *)last.bytes, last.size_bytes), Text(kept));
    EXPECT_EQ(last.bytes[last.size_bytes], 0);
    for (uint32_t i = 0; i + 1 < fr_cuda_image_count; i++)
        EXPECT_EQ(std::string((const char *)fr_cuda_images[i].bytes, 4), "\x50\xed\x55\xba")
            << "a fat binary begins so";
}

// Any driver that the loader takes can compile it, for any device that has memory pools.
TEST(Kernels, TheTextIsForOldDriversAndDevices)
{
    EXPECT_NE(Text(kept).find("\n.version 7.0\n.target sm_80\n.address_size 64\n"),
              std::string::npos);
}

TEST(Kernels, EachEntryPointTakesTheStructureOfItsName)
{
    std::map<std::string, std::string> expected, found;
#define EXPECTED(width) \
    expected["fr_rows_b" #width] = std::to_string(sizeof(fr_kernel_rows)); \
    expected["fr_strided_b" #width] = std::to_string(sizeof(fr_kernel_strided));
    FR_KERNEL_WIDTHS(EXPECTED)
    const std::string text = Text(kept);
    const std::regex entry(
        "\\.entry (\\w+)\\(\\s*\\.param \\.align 8 \\.b8 \\w+\\[(\\d+)\\]\\s*\\)");
    for (std::sregex_iterator i(text.begin(), text.end(), entry), end; i != end; ++i)
        found[(*i)[1]] = (*i)[2];
    EXPECT_EQ(found, expected);
    size_t entries = 0;
    for (size_t at = text.find(".entry"); at != std::string::npos; at = text.find(".entry", at + 1))
        entries++;
    EXPECT_EQ(entries, expected.size()) << "one of other parameters";
}

// FR_CUDA_NVCC: there is one, and its text is built with this test.
TEST(Kernels, TheTextIsWhatTheSameCompilerMakes)
{
#ifdef FR_CUDA_NVCC
    const std::string is = Text(kept), fresh = Text("cuda/kernels.ptx");
    ASSERT_NE(Compiler(is), "");
    ASSERT_NE(Compiler(fresh), "");
    if (Compiler(is) == Compiler(fresh))
        EXPECT_TRUE(is == fresh) << "cuda/kernels/make.sh ptx NVCC " << kept << " makes it anew";
    else
        std::printf("not compared: kept from %s, here is %s\n", Compiler(is).c_str(),
                    Compiler(fresh).c_str());
#else
    std::printf("not compared: nvcc is not installed\n");
    EXPECT_NE(Compiler(Text(kept)), "");
#endif
}

} // namespace
