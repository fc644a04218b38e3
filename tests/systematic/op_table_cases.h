/* Bodies for the table of ids: blocks are packed and used again while others read and release. */
#ifndef FR_TESTS_SYSTEMATIC_OP_TABLE_CASES_H
#define FR_TESTS_SYSTEMATIC_OP_TABLE_CASES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct op_table_shape {
    uint32_t ids;           /* given out and completed by the body */
    uint32_t hold_one_in;   /* of so many ids one is not released at once */
    uint32_t readers;       /* at most 3 */
    uint32_t reads;         /* of each */
    uint32_t releases_held; /* the last reader releases what is held */
} op_table_shape;

void body_op_table(void *shape);

#ifdef __cplusplus
}
#endif

#endif
