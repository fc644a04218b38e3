#include "tests/unit/placing_cases.h"

#include <string.h>

#include "runtime/device/devices.h"
#include "runtime/store/store_state.h"
#include "tests/support/fake_backend.h"

enum { PLACING_KEYS = 2 };

static fr_devices *devices;
static fr_opened *opened;
static fr_store *store;
static fr_attribute *attribute;
static const ovx_primpath_t low[PLACING_KEYS] = {3, 4}, high[PLACING_KEYS] = {5, 6};
static fr_query queries[2];

static void begin(void)
{
    fr_device_fault fault;
    devices = fr_devices_create(&fr_allocator_default, fake_backend_open(1), NULL);
    opened = fr_devices_open(devices, 0, &fault);
    const fr_store_config config = {.allocator = &fr_allocator_default,
                                    .history_versions = 2,
                                    .history_limit_bytes = UINT64_MAX / 2,
                                    .cache_limit_bytes = UINT64_MAX / 2,
                                    .pending_limit_bytes = UINT64_MAX / 2};
    store = fr_store_create(&config);
    attribute = fr_store_attribute_enter(store, 10);
}

/* A plan of the write at the ordinal. */
static ovstage_api_status_t plan(uint32_t q, const ovx_primpath_t *prims, uint64_t ordinal,
                                 fr_write_plan *out)
{
    static const unsigned char rows[PLACING_KEYS * sizeof(float)];
    static const fr_row_source source = {.base = rows,
                                         .row_bytes = sizeof(float),
                                         .row_count = PLACING_KEYS,
                                         .count = PLACING_KEYS,
                                         .compact = true,
                                         .selected_count = PLACING_KEYS,
                                         .row_stride_bytes = sizeof(float)};
    queries[q].count = PLACING_KEYS;
    queries[q].prims = prims;
    const fr_write write = {.attribute = attribute,
                            .schema = {.code = kDLFloat,
                                       .bits = 32,
                                       .lanes = 1,
                                       .row_bytes = sizeof(float),
                                       .semantic = OVSTAGE_SEMANTIC_NONE},
                            .query = &queries[q],
                            .ordinal = ordinal,
                            .op_id = ordinal,
                            .prim_mode = OVSTAGE_PRIM_MODE_UPSERT,
                            .rows = &source,
                            .device = opened};
    fr_device_fault fault;
    fr_device_entry entry;
    (void)fr_opened_enter(opened, &entry, &fault);
    ovstage_api_status_t status = fr_store_write_reserve(store, &write, out);
    fr_opened_leave(opened, &entry);
    return status;
}

static void commit(fr_write_plan *made)
{
    fr_store_write_enter(store, made);
    fr_store_write_commit(store, made);
}

static const char *end(const char *wrong)
{
    for (uint32_t q = 0; q < 2; q++)
        fr_store_query_forget(store, &queries[q]);
    fr_store_destroy(store);
    memset(queries, 0, sizeof(queries));
    fake_backend_fire(0);
    fr_devices_drain(devices);
    fr_devices_destroy(devices);
    return wrong ? wrong : fake_backend_alive() ? "something is left on the device" : NULL;
}

const char *placing_case_other_keys(void)
{
    fr_write_plan first, second;
    begin();
    if (plan(0, low, 1, &first) != OVSTAGE_OK)
        return end("the first is not planned");
    if (plan(1, high, 2, &second) != OVSTAGE_ERROR_NOT_SUPPORTED)
        return end("other keys are planned while the first are under way");
    commit(&first);
    if (plan(1, high, 2, &second) != OVSTAGE_ERROR_NOT_SUPPORTED)
        return end("other keys are planned when the first are written");
    return end(NULL);
}

const char *placing_case_the_same_keys(void)
{
    fr_write_plan first, second;
    begin();
    if (plan(0, low, 1, &first) != OVSTAGE_OK || plan(1, low, 2, &second) != OVSTAGE_OK)
        return end("the same keys are not planned twice");
    commit(&second);
    commit(&first);
    return end(NULL);
}

const char *placing_case_after_one_was_given_up(void)
{
    fr_write_plan first, second;
    begin();
    if (plan(0, low, 1, &first) != OVSTAGE_OK)
        return end("the first is not planned");
    fr_store_write_cancel(store, &first);
    if (plan(1, high, 2, &second) != OVSTAGE_OK)
        return end("keys that were given up stand in the way of others");
    commit(&second);
    return end(NULL);
}
