#include "runtime/device/blocks.h"

#include "runtime/device/devices.h"
#include "runtime/store/buffers_pool.h"

#define FR_BLOCKS_PER_SLAB 32
#define FR_BLOCK_LEAST_BYTES ((size_t)256)

_Static_assert(FR_BLOCK_CLASSES == FR_BUFFER_CLASSES, "sizes are those of payloads of the host");

void fr_blocks_init(fr_opened *opened, const fr_allocator *allocator)
{
    fr_slabs_open(&opened->blocks.records, allocator, sizeof(fr_block), FR_BLOCKS_PER_SLAB);
}

/* The stream of all allocations and frees, which carries no other work: so what is put into it
 * waits for nothing. Made with the first block. */
static bool fr_blocks_open(fr_opened *opened, fr_device_fault *fault)
{
    fr_blocks *blocks = &opened->blocks;
    if (fr_load_relaxed(&blocks->has_stream))
        return true;
    fr_device_stream stream;
    if (!opened->devices->table->stream_make(opened->device, &stream, fault)) {
        fr_opened_note(opened, fault);
        return false;
    }
    fr_mutex_lock(&opened->lock);
    bool first = !fr_load_relaxed(&blocks->has_stream);
    if (first) {
        blocks->stream.stream = stream;
#ifndef FR_MUTATE_DEVICE_MEMORY_STALLS
        blocks->stream.kind = FR_STREAM_WORK; /* who waits for memory is not stalled by that */
#endif
        fr_store_relaxed(&blocks->has_stream, true);
    }
    fr_mutex_unlock(&opened->lock);
    if (!first)
        opened->devices->table->stream_end(stream);
    return true;
}

/* Gives all free ones back to the device. Returns whether there were any. */
static bool fr_blocks_trim(fr_opened *opened)
{
    fr_blocks *blocks = &opened->blocks;
    bool any = false;
    if (fr_load_relaxed(&opened->given_up))
        return false; /* something may still use them */
    for (uint32_t k = 0; k < FR_BLOCK_CLASSES; k++) {
        fr_mutex_lock(&opened->lock);
        fr_block *list = blocks->free[k];
        blocks->free[k] = NULL;
        fr_mutex_unlock(&opened->lock);
        while (list) {
            fr_block *next = list->next;
            opened->devices->table->release(blocks->stream.stream, list->address, list->size_bytes);
            (void)fr_sub_relaxed(&opened->devices->device_bytes, list->size_bytes);
            fr_slabs_put(&blocks->records, list);
            list = next;
            any = true;
        }
    }
    return any;
}

void fr_blocks_destroy(fr_opened *opened)
{
    (void)fr_blocks_trim(opened);
    if (fr_load_relaxed(&opened->blocks.has_stream))
        opened->devices->table->stream_end(opened->blocks.stream.stream);
    fr_slabs_close(&opened->blocks.records, NULL);
}

static bool fr_blocks_allocate(fr_opened *opened, fr_block *block, fr_device_fault *fault)
{
    const fr_device_table *table = opened->devices->table;
    fr_device_stream stream = opened->blocks.stream.stream;
    bool enough = table->allocate(stream, block->size_bytes, &block->address, fault) ||
                  (fault->kind == FR_DEVICE_MEMORY && fr_blocks_trim(opened) &&
                   table->allocate(stream, block->size_bytes, &block->address, fault));
    if (!enough)
        fr_opened_note(opened, fault);
    return enough;
}

/* A new one, and the fence behind its allocation. */
static bool fr_blocks_make(fr_opened *opened, fr_block *block, fr_fence **made,
                           fr_device_fault *fault)
{
    if (!fr_blocks_open(opened, fault))
        return false;
    fr_fence *fence = fr_fence_get(opened, fault);
    if (!fence)
        return false;
    if (!fr_blocks_allocate(opened, block, fault)) {
        fr_fence_release(fence);
        return false;
    }
    fr_own_stream *own = &opened->blocks.stream;
    if (!fr_fence_record(fence, own->stream, own, fault)) {
        opened->devices->table->release(own->stream, block->address, block->size_bytes);
        fr_fence_release(fence);
        return false;
    }
    (void)fr_add_relaxed(&opened->devices->device_bytes, block->size_bytes);
#ifdef FR_MUTATE_DEVICE_MEMORY_IS_THERE_AT_ONCE
    fr_fence_release(fence);
    fence = NULL;
#endif
    *made = fence;
    return true;
}

fr_block *fr_blocks_take(fr_opened *opened, size_t size_bytes, fr_fence **made,
                         fr_device_fault *fault)
{
    fr_blocks *blocks = &opened->blocks;
    uint32_t size_class =
        fr_buffer_class_of(size_bytes > FR_BLOCK_LEAST_BYTES ? size_bytes : FR_BLOCK_LEAST_BYTES);
    *made = NULL;
    if (size_class == FR_BUFFER_CLASS_NONE) {
        fr_device_fault_memory(fault, size_bytes);
        return NULL;
    }
    fr_mutex_lock(&opened->lock);
    fr_block *block = blocks->free[size_class];
    if (block)
        blocks->free[size_class] = block->next;
    fr_mutex_unlock(&opened->lock);
    if (block)
        return block;
    block = fr_slabs_get(&blocks->records);
    if (!block) {
        fr_device_fault_memory(fault, sizeof(*block));
        return NULL;
    }
    block->size_class = size_class;
    block->size_bytes = fr_buffer_class_bytes(size_class);
    if (fr_blocks_make(opened, block, made, fault))
        return block;
    fr_slabs_put(&blocks->records, block);
    return NULL;
}

void fr_blocks_give(fr_opened *opened, fr_block *block)
{
    fr_mutex_lock(&opened->lock);
    block->next = opened->blocks.free[block->size_class];
    opened->blocks.free[block->size_class] = block;
    fr_mutex_unlock(&opened->lock);
}
