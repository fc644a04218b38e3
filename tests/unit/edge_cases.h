/* Edges and their blocks. */
#ifndef FR_TESTS_UNIT_EDGE_CASES_H
#define FR_TESTS_UNIT_EDGE_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

const char *edge_blocks(void);
const char *edge_link_and_take(void);

#ifdef __cplusplus
}
#endif

#endif
