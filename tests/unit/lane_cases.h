/* A lane's word, step by step; the list of lanes. */
#ifndef FR_TESTS_UNIT_LANE_CASES_H
#define FR_TESTS_UNIT_LANE_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

const char *lane_join_and_drain(void);
const char *lane_join_while_draining(void);
const char *lane_blocking(void);
const char *lane_waiters(void);
const char *lane_token_without_work(void);
const char *lane_map_order(void);
const char *lane_map_reuse(void);
const char *lane_map_reuse_before_token(void);

#ifdef __cplusplus
}
#endif

#endif
