/* The table of ids on one thread. */
#ifndef FR_TESTS_UNIT_OP_TABLE_CASES_H
#define FR_TESTS_UNIT_OP_TABLE_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

const char *op_table_life_of_an_id(void);
const char *op_table_packed_blocks(void);
const char *op_table_failures_stay(void);
const char *op_table_pending_ids_stay(void);
const char *op_table_without_memory(void);
/* 16 bytes an id that is never released; 64 for one in 256; nothing for released ones. */
const char *op_table_never_released(void);
const char *op_table_few_unreleased(void);
const char *op_table_all_released(void);

#ifdef __cplusplus
}
#endif

#endif
