/* Modules, functions, launches. The code in an image is not run: functions are found by their names
 * among the kernels that are registered. */
#include "tests/sim/sim_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 1024, MOST_GRID_YZ = 65535, MOST_BLOCK_Z = 64, ALIGNMENT = 16 };

/* What the program has a handle of: a kernel in a module. */
typedef struct loaded {
    uintptr_t handle;
    const fr_sim_context *context;
    const fr_sim_function *function;
    struct loaded *next;
} loaded;

typedef struct module {
    uintptr_t handle;
    const fr_sim_context *context;
    loaded *functions;
    struct module *next;
} module;

static fr_sim_function *kernels; /* that were registered: for good */
static module *modules;

static void module_free(module *gone)
{
    while (gone->functions) {
        loaded *next = gone->functions->next;
        fr_sim_handle_drop(gone->functions->handle);
        free(gone->functions);
        gone->functions = next;
    }
    fr_sim_handle_drop(gone->handle);
    free(gone);
}

void fr_sim_modules_drop(const fr_sim_context *context)
{
    module **link = &modules;
    while (*link) {
        module *gone = *link;
        if (context && gone->context != context) {
            link = &gone->next;
            continue;
        }
        *link = gone->next;
        module_free(gone);
    }
}

static fr_sim_function *find_kernel(const char *name)
{
    for (fr_sim_function *kernel = kernels; kernel; kernel = kernel->next)
        if (strcmp(kernel->name, name) == 0)
            return kernel;
    return NULL;
}

bool fr_sim_kernel_add(const char *name, fr_sim_kernel kernel, uint32_t argument_count,
                       const uint32_t *argument_bytes)
{
    uint64_t total = 0;
    fr_sim_function *made = find_kernel(name);
    if (argument_count > FR_SIM_MAX_ARGUMENTS || strlen(name) >= sizeof made->name)
        return false;
    for (uint32_t i = 0; i < argument_count; i++)
        total += (argument_bytes[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (total > FR_SIM_ARGUMENT_BYTES)
        return false;
    if (!made) {
        made = fr_sim_allocate(sizeof *made);
        snprintf(made->name, sizeof made->name, "%s", name);
        made->next = kernels;
        kernels = made;
    }
    made->kernel = kernel;
    made->argument_count = argument_count;
    if (argument_count > 0)
        memcpy(made->argument_bytes, argument_bytes, argument_count * sizeof *argument_bytes);
    return true;
}

bool fr_sim_register_kernel(const char *name, fr_sim_kernel kernel, uint32_t argument_count,
                            const uint32_t *argument_bytes)
{
    pthread_mutex_lock(&fr_sim_state.lock);
    bool added = fr_sim_kernel_add(name, kernel, argument_count, argument_bytes);
    pthread_mutex_unlock(&fr_sim_state.lock);
    return added;
}

/* --- Modules. --- */

/* A fat binary, a cubin, or text that can be PTX. No image says how long it is: a byte is looked at
 * only after those before it. */
static bool is_image(const char *image)
{
    if (strncmp(image, "\x50\xed\x55\xba", 4) == 0 || strncmp(image, "\x7f\x45\x4c\x46", 4) == 0)
        return true;
    while (*image == ' ' || *image == '\n' || *image == '\t' || *image == '\r')
        image++;
    return strncmp(image, "//", 2) == 0 || strncmp(image, ".version", 8) == 0;
}

static fr_cu_result load(fr_cu_module *handle, const void *image)
{
    if (!handle || !image)
        return FR_CU_ERROR_INVALID_VALUE;
    if (!is_image(image))
        return FR_CU_ERROR_INVALID_IMAGE;
    module *made = fr_sim_allocate(sizeof *made);
    made->handle = fr_sim_handle_new(FR_SIM_MODULE, made);
    made->context = fr_sim_current();
    made->next = modules;
    modules = made;
    *handle = (fr_cu_module)made->handle;
    return FR_CU_SUCCESS;
}

fr_cu_result cuModuleLoadDataEx(fr_cu_module *handle, const void *image, unsigned int option_count,
                                fr_cu_jit_option *options, void **option_values)
{
    (void)option_count;
    (void)options;
    (void)option_values;
    FR_SIM_ENTRY(cuModuleLoadDataEx, FR_SIM_NEEDS_CONTEXT | FR_SIM_NO_CAPTURE, load(handle, image));
}

/* The code may be running in any stream of the context. That the driver waits for all of them is
 * not said, and neither is that it does not. */
static fr_cu_result unload(fr_cu_module handle)
{
    module *gone = fr_sim_handle_find(FR_SIM_MODULE, handle);
    if (!gone)
        return FR_CU_ERROR_INVALID_HANDLE;
#ifndef FR_MUTATE_SIM_UNLOAD_DOES_NOT_WAIT
    fr_sim_run_work(gone->context->device);
#endif
    module **link = &modules;
    while (*link != gone)
        link = &(*link)->next;
    *link = gone->next;
    module_free(gone);
    return FR_CU_SUCCESS;
}

fr_cu_result cuModuleUnload(fr_cu_module handle)
{
    FR_SIM_ENTRY(cuModuleUnload, FR_SIM_NEEDS_CONTEXT, unload(handle));
}

static fr_cu_result get_function(fr_cu_function *handle, fr_cu_module module_handle,
                                 const char *name)
{
    if (!handle || !name)
        return FR_CU_ERROR_INVALID_VALUE;
    module *in = fr_sim_handle_find(FR_SIM_MODULE, module_handle);
    if (!in)
        return FR_CU_ERROR_INVALID_HANDLE;
    const fr_sim_function *kernel = find_kernel(name);
    if (!kernel)
        return FR_CU_ERROR_NOT_FOUND;
    for (const loaded *function = in->functions; function; function = function->next) {
        if (function->function != kernel)
            continue;
        *handle = (fr_cu_function)function->handle;
        return FR_CU_SUCCESS;
    }
    loaded *made = fr_sim_allocate(sizeof *made);
    *made = (loaded){fr_sim_handle_new(FR_SIM_FUNCTION, made), in->context, kernel, in->functions};
    in->functions = made;
    *handle = (fr_cu_function)made->handle;
    return FR_CU_SUCCESS;
}

fr_cu_result cuModuleGetFunction(fr_cu_function *function, fr_cu_module handle, const char *name)
{
    FR_SIM_ENTRY(cuModuleGetFunction, FR_SIM_NEEDS_CONTEXT, get_function(function, handle, name));
}

static fr_cu_result function_attribute(int *value, fr_cu_function_attribute attribute,
                                       fr_cu_function handle)
{
    if (!value)
        return FR_CU_ERROR_INVALID_VALUE;
    if (!fr_sim_handle_find(FR_SIM_FUNCTION, handle))
        return FR_CU_ERROR_INVALID_HANDLE;
    *value = attribute == FR_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? MOST_THREADS : 0;
    return FR_CU_SUCCESS;
}

fr_cu_result cuFuncGetAttribute(int *value, fr_cu_function_attribute attribute,
                                fr_cu_function function)
{
    FR_SIM_ENTRY(cuFuncGetAttribute, FR_SIM_NEEDS_CONTEXT,
                 function_attribute(value, attribute, function));
}

/* --- Launches. --- */

static bool is_good_grid(const unsigned int *grid)
{
    for (int i = 0; i < 6; i++)
        if (grid[i] == 0)
            return false;
    return grid[0] <= INT32_MAX && grid[1] <= MOST_GRID_YZ && grid[2] <= MOST_GRID_YZ &&
           grid[3] <= MOST_THREADS && grid[4] <= MOST_THREADS && grid[5] <= MOST_BLOCK_Z &&
           (uint64_t)grid[3] * grid[4] * grid[5] <= MOST_THREADS;
}

/* Arguments are taken at the call: what they point to may change as soon as it returns. */
static void take_arguments(fr_sim_operation *operation, void **arguments)
{
    const fr_sim_function *function = operation->function;
    uint64_t at = 0;
    if (function->argument_count == 0)
        return;
    operation->argument_bytes = fr_sim_allocate(FR_SIM_ARGUMENT_BYTES);
    for (uint32_t i = 0; i < function->argument_count; i++) {
        operation->arguments[i] = operation->argument_bytes + at;
#ifdef FR_MUTATE_SIM_ARGUMENTS_STAY_THE_CALLERS
        operation->arguments[i] = arguments[i];
#endif
        memcpy(operation->arguments[i], arguments[i], function->argument_bytes[i]);
        at += (function->argument_bytes[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}

static fr_cu_result launch(fr_cu_function handle, const unsigned int *grid, fr_cu_stream handle_of,
                           void **arguments, void **extra)
{
    fr_sim_stream *stream = NULL;
    const loaded *function = fr_sim_handle_find(FR_SIM_FUNCTION, handle);
    if (!function)
        return FR_CU_ERROR_INVALID_HANDLE;
    if (!is_good_grid(grid) || (function->function->argument_count > 0 && !arguments))
        return FR_CU_ERROR_INVALID_VALUE;
    if (extra)
        return FR_CU_ERROR_NOT_SUPPORTED;
    fr_cu_result result = fr_sim_stream_find(handle_of, &stream);
    if (result != FR_CU_SUCCESS)
        return result;
    if (stream->context != function->context) {
        fr_sim_tell(FR_SIM_BAD_HANDLE,
                    "cuLaunchKernel: %s was loaded on device %d, the stream is of device %d",
                    function->function->name, function->context->device, stream->context->device);
        return FR_CU_ERROR_INVALID_HANDLE;
    }
    result = fr_sim_stream_for_work(handle_of, &stream);
    if (result != FR_CU_SUCCESS || !stream)
        return result;
    fr_sim_operation *operation = fr_sim_push(stream, FR_SIM_DO_KERNEL);
    operation->function = function->function;
    memcpy(operation->grid, grid, sizeof operation->grid);
    take_arguments(operation, arguments);
    fr_sim_trace_kernel(operation->trace, function->function->name);
    return FR_CU_SUCCESS;
}

fr_cu_result cuLaunchKernel(fr_cu_function function, unsigned int grid_x, unsigned int grid_y,
                            unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                            unsigned int block_z, unsigned int shared_bytes, fr_cu_stream stream,
                            void **arguments, void **extra)
{
    const unsigned int grid[6] = {grid_x, grid_y, grid_z, block_x, block_y, block_z};
    (void)shared_bytes;
    FR_SIM_ENTRY(cuLaunchKernel, FR_SIM_NEEDS_CONTEXT,
                 launch(function, grid, stream, arguments, extra));
}

void fr_sim_do_kernel(fr_sim_operation *operation)
{
    fr_sim_launch running = {.operation = operation};
    operation->function->kernel(&running, operation->arguments);
}

const void *fr_sim_read(fr_sim_launch *running, fr_cu_device_ptr address, size_t size_bytes)
{
    return fr_sim_touch(running, address, size_bytes, FR_SIM_READ);
}

void *fr_sim_write(fr_sim_launch *running, fr_cu_device_ptr address, size_t size_bytes)
{
    return fr_sim_touch(running, address, size_bytes, FR_SIM_WRITE);
}

const unsigned int *fr_sim_grid(const fr_sim_launch *running)
{
    return running->operation->grid;
}
