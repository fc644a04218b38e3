/* The movers of fold_rows.h against loops that look at one byte at a time. */
#ifndef FR_TESTS_UNIT_FOLD_ROWS_CASES_H
#define FR_TESTS_UNIT_FOLD_ROWS_CASES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fold_rows_mover {
    FOLD_ROWS_SWAP,
    FOLD_ROWS_APPLY,
    FOLD_ROWS_SAVE,
    FOLD_ROWS_CATCH_UP,
    FOLD_ROWS_RELIEVE,
} fold_rows_mover;

/* NULL, or what is wrong. Rows of so many bytes; so many of them change, listed or in a bitmap. */
const char *fold_rows_move(fold_rows_mover mover, uint32_t row_bytes, uint32_t change_count,
                           bool bitmap);

#ifdef __cplusplus
}
#endif

#endif
