#include "tests/unit/placing_cases.h"

#include <string.h>

#include "runtime/device/devices.h"
#include "runtime/store/latest.h"
#include "runtime/store/store_state.h"
#include "tests/support/fake_backend.h"

enum { PLACING_KEYS = 6 };

static fr_devices *devices;
static fr_opened *opened;
static fr_store *store;
static fr_attribute *attribute;
static const ovx_primpath_t low[PLACING_KEYS] = {3, 4, 5, 6, 7, 8},
                            high[PLACING_KEYS] = {7, 8, 9, 10, 11, 12};
static fr_query queries[2];

/* The store's memory: before the allocation that makes `allocations_left` 0, `meanwhile` runs. */
static uint64_t allocations_left;
static void (*meanwhile)(void);

static void *allocate(size_t size_bytes, size_t alignment_bytes, void *user)
{
    if (allocations_left > 0 && --allocations_left == 0)
        meanwhile();
    return fr_allocator_default.allocate(size_bytes, alignment_bytes, user);
}

static void release(void *memory, size_t size_bytes, void *user)
{
    fr_allocator_default.release(memory, size_bytes, user);
}

static fr_allocator allocator;

static void begin(void)
{
    fr_device_fault fault;
    devices = fr_devices_create(&fr_allocator_default, fake_backend_open(1), NULL);
    opened = fr_devices_open(devices, 0, &fault);
    allocator = (fr_allocator){allocate, release, fr_allocator_default.user};
    allocations_left = 0;
    const fr_store_config config = {.allocator = &allocator,
                                    .history_versions = 2,
                                    .history_limit_bytes = UINT64_MAX / 2,
                                    .cache_limit_bytes = UINT64_MAX / 2,
                                    .pending_limit_bytes = UINT64_MAX / 2};
    store = fr_store_create(&config);
    attribute = fr_store_attribute_enter(store, 10);
}

/* A plan of the write at the ordinal, of rows on the device or, NULL, on the host. */
static ovstage_api_status_t plan_some(fr_opened *device, uint32_t q, const ovx_primpath_t *prims,
                                      uint32_t count, uint64_t ordinal, fr_write_plan *out)
{
    static const unsigned char rows[PLACING_KEYS * sizeof(float)];
    const fr_row_source source = {.base = rows,
                                  .row_bytes = sizeof(float),
                                  .row_count = count,
                                  .count = count,
                                  .compact = true,
                                  .selected_count = count,
                                  .row_stride_bytes = sizeof(float)};
    queries[q].count = count;
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
                            .device = device};
    fr_device_fault fault;
    fr_device_entry entry;
    (void)fr_opened_enter(opened, &entry, &fault);
    ovstage_api_status_t status = fr_store_write_reserve(store, &write, out);
    fr_opened_leave(opened, &entry);
    return status;
}

static ovstage_api_status_t plan_on(fr_opened *device, uint32_t q, const ovx_primpath_t *prims,
                                    uint64_t ordinal, fr_write_plan *out)
{
    return plan_some(device, q, prims, PLACING_KEYS, ordinal, out);
}

static ovstage_api_status_t plan(uint32_t q, const ovx_primpath_t *prims, uint64_t ordinal,
                                 fr_write_plan *out)
{
    return plan_on(opened, q, prims, ordinal, out);
}

static void commit(fr_write_plan *made)
{
    fr_store_write_enter(store, made);
    fr_store_write_commit(store, made);
}

/* Of a store that was sealed up to one below, or not at all. */
static void seal(uint64_t ordinal)
{
    const fr_floor_record before_it = {
        .base = ordinal - 1, .serial = ordinal, .least_own = UINT64_MAX};
    const fr_floor_record next = {.base = ordinal, .serial = ordinal + 1, .least_own = UINT64_MAX};
    fr_store_seal_layout(store, &next);
    fr_store_seal(store, &next, &before_it);
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

/* NULL: all that is written is sealed. */
static const char *seal_all(void)
{
    seal(1);
    seal(2);
    return fr_column_first(attribute)->unplaced ? "what is written cannot be sealed" : NULL;
}

const char *placing_case_two_writes(bool others, bool first_is_last)
{
    fr_write_plan first, second;
    begin();
    if (plan(0, low, 1, &first) != OVSTAGE_OK || plan(1, others ? high : low, 2, &second))
        return end("new keys are not planned twice");
    commit(first_is_last ? &second : &first);
    commit(first_is_last ? &first : &second);
    return end(seal_all());
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
    return end(seal_all());
}

static ovstage_api_status_t plan_of_host(uint64_t ordinal, fr_write_plan *out)
{
    return plan_on(NULL, 1, high, ordinal, out);
}

const char *placing_case_what_is_given_up_decides_nothing(void)
{
    fr_write_plan first, second, third;
    begin();
    if (plan(0, low, 1, &first) != OVSTAGE_OK || plan(0, low, 2, &second) != OVSTAGE_OK)
        return end("rows of a device are not planned");
    if (plan_of_host(3, &third) != OVSTAGE_ERROR_NOT_SUPPORTED)
        return end("rows of the host go where those of a device are under way");
    fr_store_write_cancel(store, &first);
    if (plan_of_host(3, &third) != OVSTAGE_ERROR_NOT_SUPPORTED)
        return end("a write that is given up speaks for another one");
    fr_store_write_cancel(store, &second);
    if (plan_of_host(3, &third) != OVSTAGE_OK)
        return end("writes that were given up have decided where the column lies");
    fr_store_write_cancel(store, &third);
    if (plan(0, low, 1, &first) != OVSTAGE_OK)
        return end("one of the host that was given up has decided where the column lies");
    commit(&first);
    return end(NULL);
}

const char *placing_case_what_is_written_decides(void)
{
    fr_write_plan first, second;
    begin();
    if (plan(0, low, 1, &first) != OVSTAGE_OK || plan(0, low, 2, &second) != OVSTAGE_OK)
        return end("rows of a device are not planned");
    commit(&first);
    fr_store_write_cancel(store, &second);
    if (plan_of_host(3, &second) != OVSTAGE_ERROR_NOT_SUPPORTED)
        return end("a write that is given up takes the column from the rows that it has");
    return end(NULL);
}

static const ovx_primpath_t *keys_before;
static ovstage_api_status_t status_before;

static void write_before(void)
{
    fr_write_plan made;
    status_before = plan(0, keys_before, 1, &made);
    if (status_before == OVSTAGE_OK)
        commit(&made);
    seal(1);
}

/* While a write of new keys is planned, others are written below it and sealed: whenever that
 * happens, both are done, and can be sealed. */
const char *placing_case_a_seal_meanwhile(bool others)
{
    bool happened = true;
    keys_before = others ? low : high;
    meanwhile = write_before;
    for (uint64_t k = 1; happened; k++) {
        fr_write_plan made;
        begin();
        allocations_left = k;
        ovstage_api_status_t status = plan(1, high, 2, &made);
        happened = allocations_left == 0;
        allocations_left = 0;
        if (status != OVSTAGE_OK || (happened && status_before != OVSTAGE_OK))
            return end("a seal meanwhile stands in the way of new keys");
        commit(&made);
        const char *wrong = end(seal_all());
        if (wrong)
            return wrong;
    }
    return NULL;
}

/* --- a filter meanwhile ----------------------------------------------------------------------- */

static fr_latest taken; /* by a filter that looks for what was written first */

static void take_first(void)
{
    (void)fr_latest_read(fr_column_first(attribute), (uint32_t)low[0], 1, &taken);
}

/* Sealed, and all that is put into streams is done. */
static bool write_some(uint32_t q, uint32_t count, uint64_t ordinal)
{
    fr_write_plan made;
    if (plan_some(opened, q, low, count, ordinal, &made) != OVSTAGE_OK)
        return false;
    commit(&made);
    fake_backend_fire(0);
    (void)fr_devices_look(devices);
    return true;
}

static bool seal_some(uint32_t q, uint32_t count, uint64_t ordinal)
{
    bool written = write_some(q, count, ordinal);
    seal(ordinal);
    fake_backend_fire(0);
    (void)fr_devices_look(devices);
    return written;
}

const char *placing_case_a_filter_takes_an_older_state(void)
{
    bool happened = true, reused = false;
    meanwhile = take_first;
    for (uint64_t k = 1; happened; k++) {
        begin();
        taken.away = NULL;
        if (!seal_some(0, PLACING_KEYS, 1) || !seal_some(1, 2, 2) || !write_some(1, 2, 3))
            return end("a state is not written");
        const fr_segment *segment = fr_column_first(attribute)->segments[0];
        const fr_buffer *first = segment->sealed->older ? segment->sealed->older->buffer : NULL;
        allocations_left = k;
        seal(3);
        happened = allocations_left == 0;
        allocations_left = 0;
        const fr_buffer *head = segment->sealed->buffer;
        reused = reused || head == first;
        bool written = taken.away == head;
        if (taken.away)
            fr_latest_release(store->buffers, &taken);
        const char *wrong = end(written ? "what a filter has taken is written" : NULL);
        if (wrong)
            return wrong;
    }
    return reused ? NULL : "no older state is used again";
}
