// What the loader says of drivers that are missing, broken, old, or fine. The fine one is the
// simulated driver, as a library: the environment makes it answer badly.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "cuda/loader.h"

namespace
{

// Tests run in the folder that has the tree's files.
const char *const simulated = "tests/sim/libcuda.so.1";

class CudaLoader : public ::testing::Test
{
  protected:
    fr_cuda_library library = {};

    void TearDown() override
    {
        Without("FR_SIM_INIT_RESULT");
        Without("FR_SIM_DEVICES");
        Without("FR_SIM_HIDE");
        Without("FR_SIM_DRIVER_VERSION");
        fr_cuda_library_close(&library);
        Forget();
    }

    // The simulator stays in the process; it reads the environment when it is opened again.
    void Forget()
    {
        void *handle = dlopen(simulated, RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(handle, nullptr) << dlerror();
        void (*close)(void) = reinterpret_cast<void (*)(void)>(dlsym(handle, "fr_sim_close"));
        ASSERT_NE(close, nullptr);
        close();
        dlclose(handle);
    }

    void With(const char *variable, const std::string &value)
    {
        setenv(variable, value.c_str(), 1);
    }

    void Without(const char *variable)
    {
        unsetenv(variable);
    }

    void ExpectNone(const std::string &part)
    {
        EXPECT_FALSE(fr_cuda_library_open_file(&library, simulated));
        ExpectEmpty(part);
    }

    void ExpectEmpty(const std::string &part)
    {
        EXPECT_NE(std::string(library.why).find(part), std::string::npos) << library.why;
        EXPECT_EQ(library.handle, nullptr);
        EXPECT_EQ(library.driver.cuInit, nullptr);
        EXPECT_EQ(library.device_count, 0);
    }
};

TEST_F(CudaLoader, FillsTheTable)
{
    ASSERT_TRUE(fr_cuda_library_open_file(&library, simulated)) << library.why;
    EXPECT_STREQ(library.why, "");
    EXPECT_EQ(library.version, 13000);
    EXPECT_EQ(library.device_count, 2);
    void *const *entries = reinterpret_cast<void *const *>(&library.driver);
    for (size_t i = 0; i < sizeof library.driver / sizeof(void *); i++)
        EXPECT_NE(entries[i], nullptr) << i;
}

TEST_F(CudaLoader, MakesNoContext)
{
    ASSERT_TRUE(fr_cuda_library_open_file(&library, simulated)) << library.why;
    unsigned int flags = 0;
    int active = 1;
    EXPECT_EQ(library.driver.cuDevicePrimaryCtxGetState(0, &flags, &active), 0u);
    EXPECT_EQ(active, 0);
}

TEST_F(CudaLoader, NoLibrary)
{
    EXPECT_FALSE(fr_cuda_library_open_file(&library, "libfr_no_such_driver.so.1"));
    ExpectEmpty("libfr_no_such_driver.so.1");
}

TEST_F(CudaLoader, NoDriver)
{
    EXPECT_FALSE(fr_cuda_library_open_file(&library, "libm.so.6"));
    ExpectEmpty("libm.so.6 has no cuGetProcAddress_v2");
}

TEST_F(CudaLoader, InitAnswersAnError)
{
    With("FR_SIM_INIT_RESULT", "34");
    ExpectNone("cuInit answered 34 CUDA_ERROR_STUB_LIBRARY");
    Forget();
    With("FR_SIM_INIT_RESULT", "100");
    ExpectNone("cuInit answered 100 CUDA_ERROR_NO_DEVICE");
    Forget();
    With("FR_SIM_INIT_RESULT", "3");
    ExpectNone("cuInit answered 3 CUDA_ERROR_NOT_INITIALIZED");
    Forget();
    With("FR_SIM_INIT_RESULT", "35");
    ExpectNone("cuInit answered 35");
    Forget();
    With("FR_SIM_INIT_RESULT", "999");
    ExpectNone("cuInit answered 999 CUDA_ERROR_UNKNOWN");
}

TEST_F(CudaLoader, NoDevices)
{
    With("FR_SIM_DEVICES", "0");
    ExpectNone("CUDA_ERROR_NO_DEVICE");
}

TEST_F(CudaLoader, AMissingEntryPointIsNamed)
{
    With("FR_SIM_HIDE", "cuMemPoolTrimTo");
    ExpectNone("has no cuMemPoolTrimTo of version 11020");
}

TEST_F(CudaLoader, AnOptionalEntryPointMayBeMissing)
{
    With("FR_SIM_HIDE", "cuStreamWriteValue32");
    ASSERT_TRUE(fr_cuda_library_open_file(&library, simulated)) << library.why;
    EXPECT_EQ(library.driver.cuStreamWriteValue32, nullptr);
    EXPECT_NE(library.driver.cuLaunchHostFunc, nullptr);
}

TEST_F(CudaLoader, AnOldDriverIsNone)
{
    With("FR_SIM_DRIVER_VERSION", "11080");
    ExpectNone("version 11080, less than 12000");
}

TEST_F(CudaLoader, ThePlaceholderOfTheToolkitIsNone)
{
    const char *placeholder = "/usr/local/cuda/lib64/stubs/libcuda.so"; // the toolkit's own path
    if (FILE *file = std::fopen(placeholder, "rb")) {
        std::fclose(file);
        EXPECT_FALSE(fr_cuda_library_open_file(&library, placeholder));
        ExpectEmpty("cuGetProcAddress answered 34 CUDA_ERROR_STUB_LIBRARY");
    }
    EXPECT_EQ(library.driver.cuInit, nullptr);
}

// What another process prints that knows the driver by its name alone.
std::string Probe(const std::string &environment)
{
    std::string text;
    FILE *pipe = popen((environment + " tests/cuda/loader_probe").c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    char line[400];
    while (pipe && std::fgets(line, sizeof line, pipe))
        text += line;
    EXPECT_EQ(pclose(pipe), 0) << text;
    return text;
}

TEST_F(CudaLoader, AProgramFindsTheSimulatorInPlaceOfTheDriver)
{
    EXPECT_EQ(Probe("LD_LIBRARY_PATH=tests/sim FR_SIM_DEVICES=3"), "driver 13000, 3 devices\n");
    EXPECT_EQ(Probe("LD_LIBRARY_PATH=tests/sim FR_SIM_INIT_RESULT=100"),
              "no CUDA: cuInit answered 100 CUDA_ERROR_NO_DEVICE\n");
}

TEST_F(CudaLoader, AProgramWithoutADriverIsTold)
{
    const std::string said = Probe("LD_LIBRARY_PATH=");
    const bool none = said.rfind("no CUDA: libcuda.so.1", 0) == 0;
    const bool found = said.rfind("driver ", 0) == 0; // this machine has one
    const bool broken = said.rfind("no CUDA: cuInit answered", 0) == 0;
    EXPECT_TRUE(none || found || broken) << said;
}

} // namespace
