/* A store buffer as a real machine has one: stores of a thread that others do not see yet.
 *
 * Invariants: stores of one word land in their order; a releasing store lands after all before it;
 * otherwise any order. Threads: one at a time, see systematic.h. */
#ifndef FR_TESTS_STORE_BUFFER_H
#define FR_TESTS_STORE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FR_STORE_BUFFER_SLOTS 8

typedef struct fr_buffered_store {
    volatile void *word;
    size_t size_bytes; /* 1, 2, 4 or 8 */
    uint64_t value;
    bool release;
} fr_buffered_store;

typedef struct fr_store_buffer {
    fr_buffered_store stores[FR_STORE_BUFFER_SLOTS]; /* oldest first */
    uint32_t count;
} fr_store_buffer;

/* A full buffer lands its oldest first. */
void fr_store_buffer_put(fr_store_buffer *buffer, const fr_buffered_store *store);
/* Lands everything. */
void fr_store_buffer_drain(fr_store_buffer *buffer);
/* Lands what the thread itself must see in this word, and all before it. */
void fr_store_buffer_drain_word(fr_store_buffer *buffer, const volatile void *word);
/* Lands the store at this place if it may, else the oldest. The buffer is not empty. */
void fr_store_buffer_land(fr_store_buffer *buffer, uint32_t at);
/* Writes it to memory now. */
void fr_store_buffer_write(const fr_buffered_store *store);

#endif
