/* The table, and the way by which a loader fills one. */
#include "tests/sim/sim_internal.h"

#include <stdlib.h>
#include <string.h>

static const fr_cuda_driver table = {
#define FR_SIM_FIELD(name, version, symbol) .name = symbol,
    FR_CUDA_ENTRY_POINTS(FR_SIM_FIELD)
#undef FR_SIM_FIELD
};

const fr_cuda_driver *fr_sim_driver(void)
{
    return &table;
}

/* Forms of the same entry points that came later and are called in another way: who asks for "the
 * newest" gets one of them from a real driver, and nothing here. */
typedef struct newer_form {
    const char *name;
    int version;
} newer_form;

static const newer_form newer_forms[] = {{"cuCtxGetDevice", 13000},
                                         {"cuCtxSynchronize", 13000},
                                         {"cuStreamGetCtx", 12050},
                                         {"cuEventElapsedTime", 12080}};

static bool has_newer_form(const char *symbol, int version)
{
    for (size_t i = 0; i < sizeof newer_forms / sizeof newer_forms[0]; i++)
        if (strcmp(symbol, newer_forms[i].name) == 0 && version >= newer_forms[i].version)
            return true;
    return false;
}

/* A test hides an entry point by the environment, as an old driver would. */
static bool is_hidden(const char *symbol)
{
    const char *hidden = getenv("FR_SIM_HIDE");
    return hidden && strcmp(hidden, symbol) == 0;
}

fr_cu_result cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
                                 fr_cu_proc_address_result *result)
{
    static const struct {
        const char *name;
        int version;
        size_t offset;
    } rows[] = {
#define FR_SIM_ROW(name, version, symbol) {#name, version, offsetof(fr_cuda_driver, name)},
        FR_CUDA_ENTRY_POINTS(FR_SIM_ROW)
#undef FR_SIM_ROW
    };
    fr_cu_proc_address_result found = FR_CU_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!symbol || !function || flags > 2)
        return FR_CU_ERROR_INVALID_VALUE;
    *function = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(symbol, rows[i].name) != 0 || is_hidden(symbol) ||
            has_newer_form(symbol, version))
            continue;
        found = FR_CU_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        if (version < rows[i].version)
            continue;
        found = FR_CU_PROC_ADDRESS_SUCCESS;
        memcpy(function, (const char *)&table + rows[i].offset, sizeof *function);
    }
    if (result)
        *result = found;
    return found == FR_CU_PROC_ADDRESS_SUCCESS ? FR_CU_SUCCESS : FR_CU_ERROR_NOT_FOUND;
}
