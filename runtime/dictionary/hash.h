/* A hash of short texts. Not proof against texts made to collide: those cost time, no more. */
#ifndef FR_RUNTIME_DICTIONARY_HASH_H
#define FR_RUNTIME_DICTIONARY_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 fr_hash_wide;

/* The two halves of a product folded: each input bit reaches most output bits. */
static inline uint64_t fr_hash_fold(uint64_t a, uint64_t b)
{
    const fr_hash_wide product = (fr_hash_wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t fr_hash_word(const char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

static inline uint32_t fr_hash_text(const char *text, size_t length)
{
    const uint64_t odd_a = 0x9e3779b97f4a7c15u, odd_b = 0xd1b54a32d192ed03u;
    uint64_t sum = length * odd_b, a = 0, b = 0;
    const char *end = text + length;
    for (; length > 16; length -= 16, text += 16)
        sum = fr_hash_fold(fr_hash_word(text) ^ odd_a, fr_hash_word(text + 8) ^ sum);
    if (length >= 8) { /* the last 16 bytes, which may overlap in the middle */
        a = fr_hash_word(text);
        b = fr_hash_word(end - 8);
    } else if (length > 0) {
        memcpy(&a, text, length);
    }
    sum = fr_hash_fold(a ^ odd_a, b ^ sum);
    sum = fr_hash_fold(sum, odd_b);
    return (uint32_t)(sum >> 32) ^ (uint32_t)sum;
}

#endif
