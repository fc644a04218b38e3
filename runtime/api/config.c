#include "runtime/api/config.h"

#include "runtime/api/process.h"

#include "runtime/api/error.h"
#include "scheduler/os.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FR_DEFAULT_SPIN_NS 50000u
#define FR_DEFAULT_OP_LIMIT 1000000u
#define FR_DEFAULT_HISTORY_VERSIONS 2u
#define FR_FALLBACK_MEMORY_BYTES (UINT64_C(4) << 30) /* when the system does not say */

static uint64_t fr_config_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page_bytes <= 0)
        return FR_FALLBACK_MEMORY_BYTES;
    return (uint64_t)pages * (uint64_t)page_bytes;
}

static void fr_config_defaults(flyrail_config_t *out)
{
    uint64_t memory_bytes = fr_config_memory_bytes();
    memset(out, 0, sizeof(*out));
    out->struct_size = sizeof(*out);
    out->worker_count = FLYRAIL_WORKERS_AUTO;
    out->caller_runs = true;
    out->spin_ns = FR_DEFAULT_SPIN_NS;
    out->op_limit = FR_DEFAULT_OP_LIMIT;
    out->pending_limit_bytes = memory_bytes / 4;
    out->history_limit_bytes = memory_bytes / 8;
    out->history_versions = FR_DEFAULT_HISTORY_VERSIONS;
    out->cache_limit_bytes = memory_bytes / 16;
}

static ovstage_api_status_t fr_config_size_check(uint32_t struct_size)
{
    if (struct_size != sizeof(flyrail_config_t))
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "struct_size %u is not that of a flyrail_config_t (%zu)", struct_size,
                            sizeof(flyrail_config_t));
    return OVSTAGE_OK;
}

ovstage_api_status_t flyrail_get_default_config(flyrail_config_t *out)
{
    if (!out)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the configuration is NULL");
    if (fr_process_forked())
        return fr_process_forked_error();
    ovstage_api_status_t status = fr_config_size_check(out->struct_size);
    if (status == OVSTAGE_OK)
        fr_config_defaults(out);
    return status;
}

static ovstage_api_status_t fr_config_check(const flyrail_config_t *config)
{
    ovstage_api_status_t status = fr_config_size_check(config->struct_size);
    if (status != OVSTAGE_OK)
        return status;
    if (config->worker_count != FLYRAIL_WORKERS_AUTO &&
        config->worker_count > FR_CONFIG_WORKERS_MAX)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "worker_count %u is above %u",
                            config->worker_count, FR_CONFIG_WORKERS_MAX);
    if (config->op_limit == 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "op_limit is 0, at least 1 is needed: nothing could be done");
    if (config->pending_limit_bytes == 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "pending_limit_bytes is 0, at least 1 is needed: nothing could be "
                            "written");
    if (!config->allocator.allocate != !config->allocator.release)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "the allocator has one of allocate and release only");
    return OVSTAGE_OK;
}

/* FLYRAIL_WORKERS=n wins over the program. */
static ovstage_api_status_t fr_config_environment(flyrail_config_t *config)
{
    const char *text = getenv("FLYRAIL_WORKERS");
    if (!text || !*text)
        return OVSTAGE_OK;
    uint64_t value = 0;
    const char *digit = text;
    for (; *digit >= '0' && *digit <= '9' && value <= FR_CONFIG_WORKERS_MAX; digit++)
        value = value * 10 + (uint64_t)(*digit - '0');
    if (*digit || value > FR_CONFIG_WORKERS_MAX)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "FLYRAIL_WORKERS=%s is not a number from 0 to %u", text,
                            FR_CONFIG_WORKERS_MAX);
    config->worker_count = (uint32_t)value;
    return OVSTAGE_OK;
}

ovstage_api_status_t fr_config_resolve(const flyrail_config_t *given, flyrail_config_t *out)
{
    ovstage_api_status_t status = given ? fr_config_check(given) : OVSTAGE_OK;
    if (status != OVSTAGE_OK)
        return status;
    if (given)
        *out = *given;
    else
        fr_config_defaults(out);
    status = fr_config_environment(out);
    if (status != OVSTAGE_OK)
        return status;
    if (out->worker_count == FLYRAIL_WORKERS_AUTO)
        out->worker_count = fr_os_current->cpu_count();
    if (out->worker_count == 0)
        out->own_pool = true;
    return OVSTAGE_OK;
}
