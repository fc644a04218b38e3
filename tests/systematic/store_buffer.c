#include "tests/systematic/store_buffer.h"

#include <string.h>

void fr_store_buffer_write(const fr_buffered_store *store)
{
    if (store->size_bytes == 1)
        *(volatile uint8_t *)store->word = (uint8_t)store->value;
    else if (store->size_bytes == 2)
        *(volatile uint16_t *)store->word = (uint16_t)store->value;
    else if (store->size_bytes == 4)
        *(volatile uint32_t *)store->word = (uint32_t)store->value;
    else
        *(volatile uint64_t *)store->word = store->value;
}

static void take_out(fr_store_buffer *buffer, uint32_t at)
{
    fr_buffered_store store = buffer->stores[at];
    buffer->count--;
    memmove(&buffer->stores[at], &buffer->stores[at + 1], (buffer->count - at) * sizeof(store));
    fr_store_buffer_write(&store);
}

void fr_store_buffer_drain(fr_store_buffer *buffer)
{
    while (buffer->count > 0)
        take_out(buffer, 0);
}

void fr_store_buffer_drain_word(fr_store_buffer *buffer, const volatile void *word)
{
    uint32_t land = 0; /* so many of the oldest */
    for (uint32_t k = 0; k < buffer->count; k++)
        if (buffer->stores[k].word == word)
            land = k + 1;
    for (; land > 0; land--)
        take_out(buffer, 0);
}

static bool may_land(const fr_store_buffer *buffer, uint32_t at)
{
    if (buffer->stores[at].release)
        return at == 0;
    for (uint32_t k = 0; k < at; k++)
        if (buffer->stores[k].word == buffer->stores[at].word)
            return false;
    return true;
}

void fr_store_buffer_land(fr_store_buffer *buffer, uint32_t at)
{
    take_out(buffer, may_land(buffer, at) ? at : 0);
}

void fr_store_buffer_put(fr_store_buffer *buffer, const fr_buffered_store *store)
{
    if (buffer->count == FR_STORE_BUFFER_SLOTS)
        take_out(buffer, 0);
    buffer->stores[buffer->count++] = *store;
}
