#include "runtime/write/access.h"

#include "runtime/clone/clone_work.h"
#include "runtime/dictionary/dictionary.h"
#include "runtime/map/map.h"
#include "runtime/read/read.h"
#include "runtime/write/write_op.h"

#include <string.h>

#define FR_ACCESS_OBJECTS_PER_SLAB 16

static const size_t fr_access_block_bytes[FR_ACCESS_BLOCK_CLASSES] = {1u << 10, 8u << 10,
                                                                      64u << 10};

static const char *const fr_reserved_names[FR_RESERVED_COUNT] = {
    [FR_RESERVED_NONE] = "",
    [FR_RESERVED_PATH] = "usd-path",
    [FR_RESERVED_PARENT] = "usd-parent",
    [FR_RESERVED_CHILDREN] = "usd-children",
    [FR_RESERVED_ACTIVE] = "usd-active",
    [FR_RESERVED_PRIM_TYPE] = "usd-prim-type",
    [FR_RESERVED_SCHEMAS] = "usd-schemas",
};

const char *fr_reserved_name(fr_reserved reserved)
{
    return fr_reserved_names[reserved];
}

ovstage_api_status_t fr_access_open(fr_stage *stage)
{
    fr_access *access = fr_memory_allocate_zero(&stage->allocator, sizeof(fr_access), 16);
    if (!access)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    for (fr_reserved name = FR_RESERVED_PATH; name < FR_RESERVED_COUNT; name++) {
        ovx_string_t text = {fr_reserved_names[name], strlen(fr_reserved_names[name])};
        if (fr_dictionary_token_intern(stage->dictionary, text, &access->reserved[name]) !=
            OVSTAGE_OK) {
            fr_memory_release(&stage->allocator, access, sizeof(fr_access));
            return OVSTAGE_ERROR_OUT_OF_MEMORY;
        }
        access->reserved_bits |= (uint64_t)1 << access->reserved[name] % 64;
    }
    fr_slabs_open(&access->reads, &stage->allocator, sizeof(fr_read), FR_ACCESS_OBJECTS_PER_SLAB);
    fr_slabs_open(&access->groups, &stage->allocator, sizeof(fr_group), FR_ACCESS_OBJECTS_PER_SLAB);
    fr_slabs_open(&access->maps, &stage->allocator, sizeof(fr_map), FR_ACCESS_OBJECTS_PER_SLAB);
    fr_slabs_open(&access->splits, &stage->allocator, sizeof(fr_write_split),
                  FR_ACCESS_OBJECTS_PER_SLAB);
    fr_slabs_open(&access->clones, &stage->allocator, sizeof(fr_clone_work), 2);
    for (uint32_t c = 0; c < FR_ACCESS_BLOCK_CLASSES; c++)
        fr_slabs_open(&access->blocks[c], &stage->allocator, fr_access_block_bytes[c], 4);
    stage->access = access;
    return OVSTAGE_OK;
}

void fr_access_split_ended(fr_access *access)
{
    /* Of what follows only the address may be used: an instance that is being destroyed goes on.
     * [access.splits.less] pairs [access.splits.read] : the object was put back before */
    if (fr_sub_acq_rel(&access->splits_out, 1) == 1)
        fr_os_current->futex_wake(&access->splits_out, UINT32_MAX);
}

/* An op may be complete while a token that invited helpers for it is still on its way to a worker.
 */
static void fr_access_drain(fr_access *access)
{
    uint32_t out;
    /* [access.splits.read] pairs [access.splits.less] : nothing refers to the objects any more */
    while ((out = fr_load_acquire(&access->splits_out)) > 0)
        (void)fr_os_current->futex_wait(&access->splits_out, out, FR_TIMEOUT_INFINITE);
}

void fr_access_close(fr_stage *stage)
{
    fr_access *access = stage->access;
    if (!access)
        return;
    fr_access_drain(access);
    stage->access = NULL;
    fr_slabs_close(&access->reads, fr_read_dispose);
    fr_slabs_close(&access->groups, NULL);
    fr_slabs_close(&access->splits, NULL);
    fr_slabs_close(&access->maps, NULL);
    fr_slabs_close(&access->clones, NULL);
    for (uint32_t c = 0; c < FR_ACCESS_BLOCK_CLASSES; c++)
        fr_slabs_close(&access->blocks[c], NULL);
    fr_memory_release(&stage->allocator, access, sizeof(fr_access));
}

void fr_access_drop_handle(fr_handle_kind kind, void *object)
{
    if (kind == FR_HANDLE_READ)
        fr_read_unref(object);
    else if (kind == FR_HANDLE_GROUP)
        fr_group_release(object);
    else if (kind == FR_HANDLE_MAP)
        fr_map_unref(object);
}

fr_reserved fr_access_reserved_named(const fr_access *access, ovx_token_t token)
{
    for (fr_reserved name = FR_RESERVED_PATH; name < FR_RESERVED_COUNT; name++) {
        if (access->reserved[name] == token)
            return name;
    }
    return FR_RESERVED_NONE;
}

static fr_slabs *fr_access_block_class(fr_stage *stage, size_t size_bytes)
{
    for (uint32_t c = 0; c < FR_ACCESS_BLOCK_CLASSES; c++) {
        if (size_bytes <= fr_access_block_bytes[c])
            return &stage->access->blocks[c];
    }
    return NULL;
}

void *fr_access_block_get(fr_stage *stage, size_t size_bytes)
{
    fr_slabs *slabs = fr_access_block_class(stage, size_bytes);
    return slabs ? fr_slabs_get(slabs) : fr_memory_allocate(&stage->allocator, size_bytes, 16);
}

void fr_access_block_put(fr_stage *stage, void *block, size_t size_bytes)
{
    fr_slabs *slabs = fr_access_block_class(stage, size_bytes);
    if (slabs)
        fr_slabs_put(slabs, block);
    else
        fr_memory_release(&stage->allocator, block, size_bytes);
}
