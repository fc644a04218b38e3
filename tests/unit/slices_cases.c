#include "tests/unit/slices_cases.h"

#include <string.h>

#include "runtime/store/compact.h"
#include "runtime/store/pending.h"
#include "runtime/store/slices.h"

#define CHECK(condition) \
    do { \
        if (!(condition)) \
            return #condition; \
    } while (0)

enum { ROWS = 8 };

static uint64_t references(const fr_buffer *buffer)
{
    return fr_load_relaxed(&buffer->references);
}

/* Row r: count elements of 4 bytes of the payload, from r * count on. Takes the payload's first
 * reference. */
static fr_buffer *slices_over(fr_buffers *buffers, fr_buffer *payload, uint64_t count)
{
    fr_buffer *slices = fr_slices_get(buffers, ROWS * sizeof(fr_slice));
    for (uint32_t row = 0; slices && row < ROWS; row++)
        fr_slices_of(slices)[row] = (fr_slice){payload, row * count * 4, count};
    fr_buffer_retain_many(payload, ROWS - 1);
    return slices;
}

const char *slices_copies_count_references(void)
{
    fr_buffers *buffers = fr_buffers_create(&fr_allocator_default, true);
    fr_buffer *a = fr_buffer_get(buffers, ROWS * 16), *b = fr_buffer_get(buffers, ROWS * 16);
    fr_buffer *from = slices_over(buffers, a, 4), *to = slices_over(buffers, b, 4);
    fr_buffer *let_go = NULL;
    const uint32_t to_rows[3] = {1, 5, 6}, from_rows[3] = {0, 0, 7};
    fr_slices_copy(to, to_rows, from, from_rows, 3, &let_go);
    CHECK(let_go == NULL);
    CHECK(references(a) == ROWS + 3);
    CHECK(references(b) == ROWS - 3);
    CHECK(fr_slices_of(to)[6].payload == a && fr_slices_of(to)[6].offset_bytes == 7 * 16);
    /* All of it: the other payload has nobody left. */
    fr_slices_copy(to, NULL, from, NULL, ROWS, &let_go);
    CHECK(let_go == b && b->next_free == NULL);
    CHECK(references(a) == 2 * ROWS);
    fr_buffers_let_go(buffers, let_go);
    fr_buffer_release(buffers, from);
    CHECK(references(a) == ROWS);
    fr_buffer_release(buffers, to);
    fr_buffers_statistics figures;
    fr_buffers_statistics_read(buffers, &figures);
    CHECK(figures.payload_bytes == 0);
    fr_buffers_destroy(buffers);
    return NULL;
}

const char *slices_copying_again_does_no_harm(void)
{
    fr_buffers *buffers = fr_buffers_create(&fr_allocator_default, true);
    fr_buffer *payload = fr_buffer_get(buffers, ROWS * 16);
    fr_buffer *from = slices_over(buffers, payload, 4);
    fr_buffer *to = fr_slices_get(buffers, ROWS * sizeof(fr_slice));
    fr_buffer *let_go = NULL;
    fr_slices_of(from)[2].offset_bytes = 0;
    for (uint32_t again = 0; again < 3; again++)
        fr_slices_copy(to, NULL, from, NULL, ROWS, &let_go);
    CHECK(let_go == NULL);
    CHECK(references(payload) == 2 * ROWS);
    fr_slices_of(from)[2].count = 1; /* the same payload, another piece */
    fr_slices_copy(to, NULL, from, NULL, ROWS, &let_go);
    CHECK(references(payload) == 2 * ROWS);
    CHECK(fr_slices_of(to)[2].count == 1);
    fr_buffer_release(buffers, from);
    fr_buffer_release(buffers, to);
    fr_buffers_destroy(buffers);
    return NULL;
}

static void count_deleted(struct DLManagedTensorVersioned *self)
{
    (*(int *)self->manager_ctx)++;
}

const char *slices_last_release_lets_go(void)
{
    fr_buffers *buffers = fr_buffers_create(&fr_allocator_default, true);
    float memory[ROWS * 4] = {0};
    int deleted = 0;
    struct DLManagedTensorVersioned managed = {.manager_ctx = &deleted, .deleter = count_deleted};
    fr_buffer *payload = fr_buffer_adopt(buffers, &managed, memory, sizeof(memory));
    fr_buffer *slices = slices_over(buffers, payload, 4);
    fr_buffer_retain(slices);
    fr_buffer_release(buffers, slices);
    CHECK(deleted == 0);
    fr_slices_of(slices)[0] = (fr_slice){0};
    fr_buffer_release(buffers, payload);
    CHECK(deleted == 0);
    fr_buffer_release(buffers, slices);
    CHECK(deleted == 1);
    /* What is used again is empty. */
    slices = fr_slices_get(buffers, ROWS * sizeof(fr_slice));
    for (size_t k = 0; k < fr_slices_capacity(slices); k++)
        CHECK(fr_slices_of(slices)[k].payload == NULL);
    fr_buffer_release(buffers, slices);
    CHECK(deleted == 1);
    fr_buffers_destroy(buffers);
    return NULL;
}

const char *slices_pending_bytes_leave_once(void)
{
    fr_buffers *buffers = fr_buffers_create(&fr_allocator_default, true);
    _Atomic uint64_t total = 0;
    fr_pending *pending = fr_pending_create(&fr_allocator_default, &total);
    fr_buffer *early = fr_buffer_get(buffers, 1000), *late = fr_buffer_get(buffers, 3000);
    fr_pending_add(pending, early);
    fr_pending_add(pending, late);
    uint64_t late_bytes = late->capacity_bytes;
    CHECK(fr_load_relaxed(&total) == early->capacity_bytes + late_bytes);
    fr_buffer_release(buffers, early);
    CHECK(fr_load_relaxed(&total) == late_bytes);
    fr_pending_seal(pending);
    CHECK(fr_load_relaxed(&total) == 0);
    fr_pending_release(pending);
    fr_buffer_release(buffers, late);
    CHECK(fr_load_relaxed(&total) == 0);
    fr_buffers_destroy(buffers);
    return NULL;
}

/* As much of a store as a seal of one segment needs. */
typedef struct slices_world {
    fr_store store;
    fr_column column;
    fr_segment segment;
    fr_version *head;
    fr_buffer *payload;
} slices_world;

static void slices_world_open(slices_world *world)
{
    memset(world, 0, sizeof(*world));
    world->store.allocator = &fr_allocator_default;
    world->store.buffers = fr_buffers_create(&fr_allocator_default, true);
    fr_versions_init(&world->store.versions, &fr_allocator_default, world->store.buffers);
    world->column.schema = (fr_schema){kDLFloat, 32, 1, 4, OVSTAGE_SEMANTIC_NONE, true};
    world->column.row_bytes = sizeof(fr_slice);
    world->segment.column = &world->column;
    world->segment.row_count = ROWS;
    world->payload = fr_buffer_get(world->store.buffers, 64 * ROWS * 16);
    memset(world->payload->data, 7, 64 * ROWS * 16);
    world->head = fr_version_get(&world->store.versions, &world->segment, 1, FR_VERSION_FULL);
    world->head->buffer = slices_over(world->store.buffers, world->payload, 4);
    world->segment.sealed = world->segment.newest = world->segment.oldest = world->head;
    world->segment.replaced_bytes = 1 << 20;
}

static void slices_world_close(slices_world *world)
{
    fr_version_put(&world->store.versions, world->head);
    fr_buffers_let_go(world->store.buffers, world->store.seal_let_go);
    fr_versions_destroy(&world->store.versions);
    fr_buffers_destroy(world->store.buffers);
}

const char *slices_a_pinned_head_is_not_compacted(void)
{
    static slices_world world;
    slices_world_open(&world);
    CHECK(fr_pin_take(&world.head->pin));
    fr_compact_segment(&world.store, &world.segment);
    for (uint32_t row = 0; row < ROWS; row++)
        CHECK(fr_slices_of(world.head->buffer)[row].payload == world.payload);
    CHECK(world.segment.replaced_bytes > 0); /* to be tried again */
    fr_version_unpin(&world.store.versions, world.head);
    fr_compact_segment(&world.store, &world.segment);
    fr_buffer *made = fr_slices_of(world.head->buffer)[0].payload;
    CHECK(made != world.payload);
    CHECK(world.store.seal_let_go == world.payload);
    CHECK(references(made) == ROWS);
    for (uint32_t row = 0; row < ROWS; row++) {
        const fr_slice *slice = &fr_slices_of(world.head->buffer)[row];
        CHECK(slice->payload == made && slice->count == 4);
        CHECK(slice->offset_bytes == row * 16);
        for (uint32_t byte = 0; byte < 16; byte++)
            CHECK(made->data[slice->offset_bytes + byte] == 7);
    }
    CHECK(world.segment.replaced_bytes == 0);
    slices_world_close(&world);
    return NULL;
}
