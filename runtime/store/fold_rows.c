#include "runtime/store/fold_rows.h"

#include "runtime/store/slices.h"
#include "runtime/write/rows_width.h"

/* Runs body(row, place) for each row of the set; ask_for(row) some way ahead. */
#define FR_FOLD_EACH(set, ask_for, body) \
    do { \
        if (!fr_row_set_is_bitmap(set)) { \
            const uint32_t *rows = (set)->rows; \
            const size_t count = (set)->count; \
            for (size_t k = 0; k < count; k++) { \
                ask_for((size_t)fr_rows_ahead(rows, k, count)); \
                body((size_t)rows[k], k); \
            } \
        } else { \
            for (uint32_t word = 0; word < ((set)->universe + 63) / 64; word++) \
                for (uint64_t bits = (set)->bitmap[word]; bits; bits &= bits - 1) { \
                    size_t row = 64 * (size_t)word + (uint32_t)__builtin_ctzll(bits); \
                    body(row, row); \
                } \
        } \
    } while (0)

/* Pieces that each fit a register: arrays of a whole row would be written to the stack as well. */
typedef struct fr_row_piece {
    uint64_t words[2];
} fr_row_piece;

#define FR_ROW_PIECES(width, move) \
    do { \
        size_t at = 0; \
        for (; (width)-at >= 16; at += 16) \
            move(fr_row_piece, at); \
        if ((width)&8) { \
            move(uint64_t, at); \
            at += 8; \
        } \
        if ((width)&4) { \
            move(uint32_t, at); \
            at += 4; \
        } \
        if ((width)&2) { \
            move(uint16_t, at); \
            at += 2; \
        } \
        if ((width)&1) \
            move(uint8_t, at); \
    } while (0)

static inline __attribute__((always_inline)) void fr_row_swap(unsigned char *a, unsigned char *b,
                                                              size_t width)
{
#define FR_SWAP_PIECE(type, at) \
    do { \
        type of_a, of_b; \
        memcpy(&of_a, a + (at), sizeof(type)); \
        memcpy(&of_b, b + (at), sizeof(type)); \
        memcpy(a + (at), &of_b, sizeof(type)); \
        memcpy(b + (at), &of_a, sizeof(type)); \
    } while (0)
    FR_ROW_PIECES(width, FR_SWAP_PIECE);
#undef FR_SWAP_PIECE
}

void fr_fold_rows_swap(const fr_row_set *set, unsigned char *full, unsigned char *part,
                       uint32_t row_bytes)
{
#define FR_ASK_FOR_ROW(row) fr_row_ask_to_write(full + (row)*width, width)
#define FR_SWAP_ROW(row, place) fr_row_swap(full + (row)*width, part + (place)*width, width)
#define FR_SWAP(w) \
    do { \
        const size_t width = (w); \
        FR_FOLD_EACH(set, FR_ASK_FOR_ROW, FR_SWAP_ROW); \
    } while (0)
    FR_ROWS_BY_WIDTH(row_bytes, FR_SWAP);
#undef FR_SWAP
#undef FR_SWAP_ROW
#undef FR_ASK_FOR_ROW
}

/* --- copies ----------------------------------------------------------------------------------- */

/* Where a row of the set is copied from and to: at its place, or as a row of a full payload. */
typedef enum fr_fold_side { FR_FOLD_AT_PLACE, FR_FOLD_AT_ROW } fr_fold_side;

static inline size_t fr_fold_at(fr_fold_side side, size_t row, size_t place)
{
    return side == FR_FOLD_AT_ROW ? row : place;
}

static void fr_fold_slices(const fr_row_set *set, fr_buffer *to, fr_fold_side to_side,
                           const fr_buffer *from, fr_fold_side from_side, fr_buffer **let_go)
{
    fr_slice_copier copier;
    fr_slice *targets = fr_slices_of(to);
    const fr_slice *sources = fr_slices_of(from);
    fr_slice_copier_begin(&copier, let_go);
#define FR_ASK_FOR_SLICES(row) \
    (fr_row_ask_for(&targets[fr_fold_at(to_side, (row), 0)]), \
     __builtin_prefetch(&sources[fr_fold_at(from_side, (row), 0)]))
#define FR_COPY_SLICE(row, place) \
    fr_slice_copy(&copier, &targets[fr_fold_at(to_side, (row), (place))], \
                  &sources[fr_fold_at(from_side, (row), (place))])
    FR_FOLD_EACH(set, FR_ASK_FOR_SLICES, FR_COPY_SLICE);
#undef FR_COPY_SLICE
#undef FR_ASK_FOR_SLICES
    fr_slice_copier_end(&copier);
}

/* Inlined for each pair of sides, so that a loop asks for and computes what its own needs. */
static inline __attribute__((always_inline)) void fr_fold_copy(
    const fr_row_set *set, fr_buffer *to, fr_fold_side to_side, const fr_buffer *from,
    fr_fold_side from_side, uint32_t row_bytes, fr_buffer **let_go)
{
    if (to->holds_slices) {
        fr_fold_slices(set, to, to_side, from, from_side, let_go);
        return;
    }
    unsigned char *targets = to->data;
    const unsigned char *sources = from->data;
#define FR_ASK_FOR_ROWS(row) \
    ((void)(to_side == FR_FOLD_AT_ROW ? fr_row_ask_to_write(targets + (row)*width, width) \
                                      : (void)0), \
     (void)(from_side == FR_FOLD_AT_ROW ? fr_row_ask_to_read(sources + (row)*width, width) \
                                        : (void)0))
#define FR_COPY_ROW(row, place) \
    fr_row_copy(targets + fr_fold_at(to_side, (row), (place)) * width, \
                sources + fr_fold_at(from_side, (row), (place)) * width, width)
#define FR_COPY(w) \
    do { \
        const size_t width = (w); \
        FR_FOLD_EACH(set, FR_ASK_FOR_ROWS, FR_COPY_ROW); \
    } while (0)
    FR_ROWS_BY_WIDTH(row_bytes, FR_COPY);
#undef FR_COPY
#undef FR_COPY_ROW
#undef FR_ASK_FOR_ROWS
}

void fr_fold_rows_apply(const fr_row_set *set, fr_buffer *full, const fr_buffer *part,
                        uint32_t row_bytes, fr_buffer **let_go)
{
    fr_fold_copy(set, full, FR_FOLD_AT_ROW, part, FR_FOLD_AT_PLACE, row_bytes, let_go);
}

void fr_fold_rows_save(const fr_row_set *set, fr_buffer *part, const fr_buffer *full,
                       uint32_t row_bytes, fr_buffer **let_go)
{
    fr_fold_copy(set, part, FR_FOLD_AT_PLACE, full, FR_FOLD_AT_ROW, row_bytes, let_go);
}

void fr_fold_rows_catch_up(const fr_row_set *set, fr_buffer *full, const fr_buffer *from,
                           uint32_t row_bytes, fr_buffer **let_go)
{
    fr_fold_copy(set, full, FR_FOLD_AT_ROW, from, FR_FOLD_AT_ROW, row_bytes, let_go);
}

static inline __attribute__((always_inline)) void fr_row_relieve(unsigned char *saved,
                                                                 unsigned char *full,
                                                                 const unsigned char *from,
                                                                 size_t width)
{
#define FR_RELIEVE_PIECE(type, at) \
    do { \
        type old, next; \
        memcpy(&old, full + (at), sizeof(type)); \
        memcpy(&next, from + (at), sizeof(type)); \
        memcpy(saved + (at), &old, sizeof(type)); \
        memcpy(full + (at), &next, sizeof(type)); \
    } while (0)
    FR_ROW_PIECES(width, FR_RELIEVE_PIECE);
#undef FR_RELIEVE_PIECE
}

void fr_fold_rows_relieve(const fr_row_set *set, fr_buffer *saved, fr_buffer *full,
                          const fr_buffer *from, uint32_t row_bytes, fr_buffer **let_go)
{
    if (full->holds_slices) {
        fr_fold_rows_save(set, saved, full, row_bytes, let_go);
        fr_fold_rows_catch_up(set, full, from, row_bytes, let_go);
        return;
    }
    unsigned char *places = saved->data, *targets = full->data;
    const unsigned char *sources = from->data;
#define FR_ASK_FOR_BOTH(row) \
    (fr_row_ask_to_write(targets + (row)*width, width), \
     fr_row_ask_to_read(sources + (row)*width, width))
#define FR_RELIEVE_ROW(row, place) \
    fr_row_relieve(places + (place)*width, targets + (row)*width, sources + (row)*width, width)
#define FR_RELIEVE(w) \
    do { \
        const size_t width = (w); \
        FR_FOLD_EACH(set, FR_ASK_FOR_BOTH, FR_RELIEVE_ROW); \
    } while (0)
    FR_ROWS_BY_WIDTH(row_bytes, FR_RELIEVE);
#undef FR_RELIEVE
#undef FR_RELIEVE_ROW
#undef FR_ASK_FOR_BOTH
}

uint64_t fr_fold_rows_elements(const fr_row_set *set, const fr_buffer *buffer, bool full)
{
    const fr_slice *slices = fr_slices_of(buffer);
    fr_fold_side side = full ? FR_FOLD_AT_ROW : FR_FOLD_AT_PLACE;
    uint64_t elements = 0;
#define FR_ASK_FOR_SLICE(row) __builtin_prefetch(&slices[fr_fold_at(side, (row), 0)])
#define FR_ADD_SLICE(row, place) elements += slices[fr_fold_at(side, (row), (place))].count
    FR_FOLD_EACH(set, FR_ASK_FOR_SLICE, FR_ADD_SLICE);
#undef FR_ADD_SLICE
#undef FR_ASK_FOR_SLICE
    return elements;
}
