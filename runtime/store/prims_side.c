#include "runtime/store/prims_side.h"

#include <string.h>

/* A chunk of this size is kept when it is not used. */
#define FR_PRIMS_CHUNK_LEAST 64u

struct fr_prims_chunk {
    fr_prims_chunk *next, *previous;
    fr_prims_pair *free_list;
    uint64_t used, carved, count; /* records: handed out, ever handed out, in all */
    fr_prims_pair records[];
};

static size_t fr_prims_chunk_bytes(uint64_t count)
{
    return sizeof(fr_prims_chunk) + (size_t)count * sizeof(fr_prims_pair);
}

fr_prims_chunk *fr_prims_chunk_make(const fr_allocator *allocator, uint64_t count)
{
    if (count < FR_PRIMS_CHUNK_LEAST)
        count = FR_PRIMS_CHUNK_LEAST;
    fr_prims_chunk *chunk =
        fr_memory_allocate(allocator, fr_prims_chunk_bytes(count), FR_CACHE_LINE_BYTES);
    if (!chunk)
        return NULL;
    memset(chunk, 0, sizeof(*chunk)); /* not the records: most are given back untouched */
    chunk->count = count;
    return chunk;
}

void fr_prims_chunk_free(const fr_allocator *allocator, fr_prims_chunk *chunk)
{
    if (chunk)
        fr_memory_release(allocator, chunk, fr_prims_chunk_bytes(chunk->count));
}

/* --- lists ------------------------------------------------------------------------------------ */

static void fr_prims_side_open(fr_prims_side *side, fr_prims_chunk *chunk)
{
    chunk->previous = NULL;
    chunk->next = side->open;
    if (chunk->next)
        chunk->next->previous = chunk;
    else
        side->open_last = chunk;
    side->open = chunk;
}

/* At the end: a large chunk, made for one reservation, is used last and so goes again soon. */
static void fr_prims_side_open_last(fr_prims_side *side, fr_prims_chunk *chunk)
{
    chunk->next = NULL;
    chunk->previous = side->open_last;
    if (chunk->previous)
        chunk->previous->next = chunk;
    else
        side->open = chunk;
    side->open_last = chunk;
}

static void fr_prims_side_close(fr_prims_side *side, fr_prims_chunk *chunk)
{
    if (chunk->previous)
        chunk->previous->next = chunk->next;
    else
        side->open = chunk->next;
    if (chunk->next)
        chunk->next->previous = chunk->previous;
    else
        side->open_last = chunk->previous;
}

static void fr_prims_side_full_add(fr_prims_side *side, fr_prims_chunk *chunk)
{
    chunk->previous = NULL;
    chunk->next = side->full;
    if (chunk->next)
        chunk->next->previous = chunk;
    side->full = chunk;
}

static void fr_prims_side_full_remove(fr_prims_side *side, fr_prims_chunk *chunk)
{
    if (chunk->previous)
        chunk->previous->next = chunk->next;
    else
        side->full = chunk->next;
    if (chunk->next)
        chunk->next->previous = chunk->previous;
}

/* --- promises --------------------------------------------------------------------------------- */

void fr_prims_side_init(fr_prims_side *side, const fr_allocator *allocator)
{
    memset(side, 0, sizeof(*side));
    side->allocator = allocator;
}

void fr_prims_side_destroy(fr_prims_side *side)
{
    fr_prims_chunk *lists[2] = {side->open, side->full};
    for (int l = 0; l < 2; l++) {
        for (fr_prims_chunk *chunk = lists[l], *next; chunk; chunk = next) {
            next = chunk->next;
            fr_prims_chunk_free(side->allocator, chunk);
        }
    }
}

void fr_prims_side_add(fr_prims_side *side, fr_prims_chunk *chunk)
{
    fr_prims_side_open_last(side, chunk);
    side->free += chunk->count;
    side->bytes += fr_prims_chunk_bytes(chunk->count);
}

bool fr_prims_side_promise(fr_prims_side *side, uint64_t count)
{
    if (side->free < side->promised + count)
        return false;
    side->promised += count;
    return true;
}

fr_prims_chunk *fr_prims_side_settle(fr_prims_side *side, uint64_t count)
{
    side->promised -= count;
    fr_prims_chunk *chunk = side->open_last;
    if (!chunk || chunk->used != 0 || chunk->count == FR_PRIMS_CHUNK_LEAST ||
        side->free - chunk->count < side->promised)
        return NULL;
    fr_prims_side_close(side, chunk);
    side->free -= chunk->count;
    side->bytes -= fr_prims_chunk_bytes(chunk->count);
    return chunk;
}

/* --- records ---------------------------------------------------------------------------------- */

fr_prims_pair *fr_prims_side_take(fr_prims_side *side)
{
    fr_prims_chunk *chunk = side->open;
    fr_prims_pair *pair = chunk->free_list;
    if (pair) {
        chunk->free_list = pair->next;
    } else {
        pair = &chunk->records[chunk->carved++];
        pair->chunk = chunk;
    }
    side->free--;
    if (++chunk->used == chunk->count) {
        fr_prims_side_close(side, chunk);
        fr_prims_side_full_add(side, chunk);
    }
    return pair;
}

void fr_prims_side_put(fr_prims_side *side, fr_prims_pair *pair)
{
    fr_prims_chunk *chunk = pair->chunk;
    if (chunk->used == chunk->count) {
        fr_prims_side_full_remove(side, chunk);
        fr_prims_side_open(side, chunk);
    }
    chunk->used--;
    side->free++;
    pair->next = chunk->free_list;
    chunk->free_list = pair;
}
