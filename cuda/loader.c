#include "cuda/loader.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cuda/error.h"

/* cuGetProcAddress_v2 and memory pools: both are there from this version on. */
enum { MINIMUM_VERSION = 12000 };

/* One row for each entry point of the table. */
typedef struct fr_cuda_symbol {
    const char *name;
    int version;
    bool required;
    size_t offset; /* in fr_cuda_driver */
} fr_cuda_symbol;

static const fr_cuda_symbol symbols[] = {
#define FR_CUDA_ROW(name, version, symbol) {#name, version, true, offsetof(fr_cuda_driver, name)},
    FR_CUDA_REQUIRED(FR_CUDA_ROW)
#undef FR_CUDA_ROW
#define FR_CUDA_ROW(name, version, symbol) {#name, version, false, offsetof(fr_cuda_driver, name)},
        FR_CUDA_OPTIONAL(FR_CUDA_ROW)
#undef FR_CUDA_ROW
};

_Static_assert(sizeof(void *) == sizeof(fr_cuInit_v2000), "dlsym answers functions as pointers");

static bool answer_is_fine(fr_cuda_library *library, const char *call, fr_cu_result result)
{
    if (result == FR_CU_SUCCESS)
        return true;
    const char *name = fr_cuda_error_name(result);
    snprintf(library->why, sizeof library->why, "%s answered %u%s%s", call, result, name ? " " : "",
             name ? name : "");
    return false;
}

static bool find_symbols(fr_cuda_library *library, const char *file)
{
    /* Not "cuGetProcAddress": that name is the form with one argument less. */
    void *found = dlsym(library->handle, "cuGetProcAddress_v2");
    if (!found) {
        snprintf(library->why, sizeof library->why,
                 "%s has no cuGetProcAddress_v2: a driver older than 12.0", file);
        return false;
    }
    fr_cuGetProcAddress_v12000 get;
    memcpy(&get, &found, sizeof get);
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        const fr_cuda_symbol *symbol = &symbols[i];
        void *function = NULL;
        fr_cu_proc_address_result answer = FR_CU_PROC_ADDRESS_SYMBOL_NOT_FOUND;
#ifdef FR_MUTATE_LOADER_ASKS_FOR_THE_NEWEST
        const int version = 13000;
#else
        const int version = symbol->version;
#endif
        fr_cu_result result =
            get(symbol->name, &function, version, FR_CU_GET_PROC_ADDRESS_LEGACY_STREAM, &answer);
        /* The placeholder that comes with the toolkit answers here already. */
        if (result != FR_CU_ERROR_NOT_FOUND && !answer_is_fine(library, "cuGetProcAddress", result))
            return false;
        if (result != FR_CU_SUCCESS || answer != FR_CU_PROC_ADDRESS_SUCCESS)
            function = NULL;
        if (!function && symbol->required) {
            snprintf(library->why, sizeof library->why, "%s has no %s of version %d", file,
                     symbol->name, symbol->version);
            return false;
        }
        memcpy((char *)&library->driver + symbol->offset, &function, sizeof function);
    }
    return true;
}

static bool start(fr_cuda_library *library)
{
    const fr_cuda_driver *driver = &library->driver;
    if (!answer_is_fine(library, "cuInit", driver->cuInit(0)) ||
        !answer_is_fine(library, "cuDriverGetVersion",
                        driver->cuDriverGetVersion(&library->version)) ||
        !answer_is_fine(library, "cuDeviceGetCount",
                        driver->cuDeviceGetCount(&library->device_count)))
        return false;
    if (library->version < MINIMUM_VERSION) {
        snprintf(library->why, sizeof library->why, "the driver is version %d, less than %d",
                 library->version, MINIMUM_VERSION);
        return false;
    }
    if (library->device_count < 1) {
        snprintf(library->why, sizeof library->why, "the driver has %d devices",
                 library->device_count);
        return false;
    }
    return true;
}

bool fr_cuda_library_open_file(fr_cuda_library *library, const char *file)
{
    *library = (fr_cuda_library){0};
    library->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library->handle) {
        const char *text = dlerror();
        snprintf(library->why, sizeof library->why, "%s", text ? text : "dlopen failed");
        return false;
    }
    if (find_symbols(library, file) && start(library))
        return true;
#ifndef FR_MUTATE_LOADER_LEAVES_THE_TABLE
    dlclose(library->handle);
    fr_cuda_library_close(library);
#endif
    return false;
}

bool fr_cuda_library_adopt(fr_cuda_library *library, const fr_cuda_driver *driver)
{
    *library = (fr_cuda_library){.driver = *driver};
    if (start(library))
        return true;
    fr_cuda_library_close(library);
    return false;
}

bool fr_cuda_library_open(fr_cuda_library *library)
{
    return fr_cuda_library_open_file(library, "libcuda.so.1");
}

void fr_cuda_library_close(fr_cuda_library *library)
{
    library->driver = (fr_cuda_driver){0};
    library->handle = NULL;
    library->version = library->device_count = 0;
}
