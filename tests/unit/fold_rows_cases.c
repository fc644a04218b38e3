#include "tests/unit/fold_rows_cases.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/store/fold_rows.h"

enum { UNIVERSE = 150 };

/* Three payloads, as the movers see them and as the loops make them. */
typedef struct case_payloads {
    unsigned char *full, *part, *other;
    size_t size_bytes;
} case_payloads;

static void case_open(case_payloads *payloads, uint32_t row_bytes)
{
    payloads->size_bytes = (size_t)UNIVERSE * row_bytes;
    payloads->full = malloc(3 * payloads->size_bytes);
    if (!payloads->full)
        abort();
    payloads->part = payloads->full + payloads->size_bytes;
    payloads->other = payloads->part + payloads->size_bytes;
    for (size_t k = 0; k < 3 * payloads->size_bytes; k++)
        payloads->full[k] = (unsigned char)(k * 131 + k / 251);
}

static void case_expect(const case_payloads *p, fold_rows_mover mover, size_t row, size_t place,
                        size_t width)
{
    for (size_t k = 0; k < width; k++) {
        unsigned char *full = &p->full[row * width + k], *part = &p->part[place * width + k];
        unsigned char was = *full;
        if (mover == FOLD_ROWS_SWAP || mover == FOLD_ROWS_APPLY)
            *full = *part;
        if (mover == FOLD_ROWS_CATCH_UP || mover == FOLD_ROWS_RELIEVE)
            *full = p->other[row * width + k];
        if (mover == FOLD_ROWS_SWAP || mover == FOLD_ROWS_SAVE || mover == FOLD_ROWS_RELIEVE)
            *part = was;
    }
}

static void case_move(const case_payloads *p, fold_rows_mover mover, const fr_row_set *set,
                      uint32_t row_bytes)
{
    fr_buffer full = {.data = p->full}, part = {.data = p->part}, other = {.data = p->other};
    fr_buffer *none = NULL;
    switch (mover) {
    case FOLD_ROWS_SWAP:
        fr_fold_rows_swap(set, p->full, p->part, row_bytes);
        break;
    case FOLD_ROWS_APPLY:
        fr_fold_rows_apply(set, &full, &part, row_bytes, &none);
        break;
    case FOLD_ROWS_SAVE:
        fr_fold_rows_save(set, &part, &full, row_bytes, &none);
        break;
    case FOLD_ROWS_CATCH_UP:
        fr_fold_rows_catch_up(set, &full, &other, row_bytes, &none);
        break;
    case FOLD_ROWS_RELIEVE:
        fr_fold_rows_relieve(set, &part, &full, &other, row_bytes, &none);
        break;
    }
}

const char *fold_rows_move(fold_rows_mover mover, uint32_t row_bytes, uint32_t change_count,
                           bool bitmap)
{
    uint32_t rows[UNIVERSE];
    uint64_t bits[UNIVERSE / 64 + 1] = {0};
    fr_row_set set = {.universe = UNIVERSE, .count = change_count, .rows = rows};
    case_payloads moved, expected;
    case_open(&moved, row_bytes);
    case_open(&expected, row_bytes);
    for (uint32_t k = 0; k < change_count; k++) {
        rows[k] = (k * 67 + 149) % UNIVERSE; /* 67 has no divisor with 150: each row once */
        bits[rows[k] / 64] |= UINT64_C(1) << rows[k] % 64;
        case_expect(&expected, mover, rows[k], bitmap ? rows[k] : k, row_bytes);
    }
    if (bitmap) {
        set.bitmap = bits;
        set.rows = NULL;
    }
    case_move(&moved, mover, &set, row_bytes);
    bool same = memcmp(moved.full, expected.full, 3 * moved.size_bytes) == 0;
    free(moved.full);
    free(expected.full);
    return same ? NULL : "other bytes than a plain loop leaves";
}
